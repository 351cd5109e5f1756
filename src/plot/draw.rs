//! Draws a scene: bands from the top, header, panels, axis of time, footer.

use super::PlotError;
use super::panel::{Place, panel};
use super::pen::{Pen, Side, Type};
use super::picture::Picture;
use super::scene::{Mark, PhaseSpan, Scene, Words};
use super::style::{FOOTER, HEADING, Ink, LABEL, LEFT, RIGHT, TITLE, WIDTH};
use super::text::{Fonts, Weight};
use super::time::TimeAxis;

/// Left edge of the words of header and footer, pixels.
pub(super) const MARGIN: f64 = 24.0;
/// Room for words from margin to margin.
pub(super) const ROOM: f64 = WIDTH as f64 - 2.0 * MARGIN;
/// Height of a line of labels, pixels.
const LINE: f64 = 29.0;
/// Height of the strip with the phases' names.
const STRIP: f64 = 30.0;

/// Draws the scene.
///
/// # Errors
/// When the font or the canvas fails.
pub fn picture(scene: &Scene) -> Result<Picture, PlotError> {
    let mut picture = Picture::new(Fonts::load()?);
    header(&mut picture, scene)?;
    for each in &scene.panels {
        panel(&mut picture, scene, each)?;
    }
    time_axis(&mut picture, &scene.time)?;
    footer(&mut picture, &scene.footer)?;
    Ok(picture)
}

fn header(picture: &mut Picture, scene: &Scene) -> Result<(), PlotError> {
    let marks = marks_in_rows(picture.fonts(), scene);
    let rows = marks.iter().map(|(row, _, _)| row + 1).max().unwrap_or(0);
    let lines = scene.subtitles.len() + scene.legend.len();
    let words_end = 62.0 + lines as f64 * LINE;
    let strip = if scene.phases.is_empty() { 0.0 } else { STRIP };
    let height = words_end + rows as f64 * LINE + strip + 8.0;
    picture.band(height.ceil() as u32, |pen| {
        let size = pen.fonts().fitting(&scene.title, Weight::Bold, ROOM, TITLE, HEADING);
        title(pen, &scene.title, size)?;
        let mut y = 62.0 + LINE / 2.0 - 4.0;
        for words in &scene.subtitles {
            subtitle(pen, words, y)?;
            y += LINE;
        }
        for words in &scene.legend {
            pen.fill((MARGIN, y - 3.0), (MARGIN + 34.0, y + 3.0), words.ink, 1.0)?;
            line_of_words(pen, &words.text, MARGIN + 44.0, y, Ink::Text)?;
            y += LINE;
        }
        let place = Place::new(&scene.time, words_end, height);
        for (row, mark, side) in &marks {
            mark_label(pen, &place, mark, words_end + (*row as f64 + 0.5) * LINE, *side, height)?;
        }
        phase_strip(pen, &place, &scene.phases, height - strip)
    })
}

fn title(pen: &Pen<'_>, text: &str, size: f64) -> Result<(), PlotError> {
    let text = pen.fonts().shortened(text, size, Weight::Bold, ROOM);
    let how = Type { size, weight: Weight::Bold, side: Side::Right, ink: Ink::Text };
    pen.write(&text, (MARGIN, 36.0), how).map(|_| ())
}

fn subtitle(pen: &Pen<'_>, words: &Words, y: f64) -> Result<(), PlotError> {
    let weight = if words.ink == Ink::Alarm { Weight::Bold } else { Weight::Regular };
    let size = pen.fonts().fitting(&words.text, weight, ROOM, HEADING, LABEL);
    let text = pen.fonts().shortened(&words.text, size, weight, ROOM);
    let how = Type { size, weight, side: Side::Right, ink: words.ink };
    pen.write(&text, (MARGIN, y), how).map(|_| ())
}

fn line_of_words(pen: &Pen<'_>, text: &str, x: f64, y: f64, ink: Ink) -> Result<(), PlotError> {
    let room = WIDTH as f64 - MARGIN - x;
    let size = pen.fonts().fitting(text, Weight::Regular, room, HEADING, FOOTER);
    let text = pen.fonts().shortened(text, size, Weight::Regular, room);
    let how = Type { size, weight: Weight::Regular, side: Side::Right, ink };
    pen.write(&text, (x, y), how).map(|_| ())
}

/// Each mark in the first row where its words touch no other's, and on the side of its line where they fit.
fn marks_in_rows<'a>(fonts: &Fonts, scene: &'a Scene) -> Vec<(usize, &'a Mark, Side)> {
    let place = Place::new(&scene.time, 0.0, 0.0);
    let mut placed: Vec<(usize, f64, f64)> = Vec::new();
    let mut marks = Vec::new();
    for mark in &scene.marks {
        let x = place.x(mark.at);
        let width = fonts.width(&mark.label, LABEL, Weight::Regular) + 12.0;
        let side = if x + width <= RIGHT + 20.0 { Side::Right } else { Side::Left };
        let (left, right) = if side == Side::Right { (x, x + width) } else { (x - width, x) };
        let free = |row: &usize| placed.iter().all(|(r, l, t)| r != row || right < *l || left > *t);
        let row = (0..).find(free).unwrap_or(0);
        placed.push((row, left - 8.0, right + 8.0));
        marks.push((row, mark, side));
    }
    marks
}

fn mark_label(
    pen: &Pen<'_>,
    place: &Place,
    mark: &Mark,
    y: f64,
    side: Side,
    end: f64,
) -> Result<(), PlotError> {
    let x = place.x(mark.at);
    pen.line((x, y - LINE * 0.38), (x, end), 2.0, Ink::Text, mark.stroke)?;
    let gap = if side == Side::Right { 8.0 } else { -8.0 };
    let how = Type::label(side, Ink::Text);
    pen.write_on_white(&mark.label, (x + gap, y), how)
}

fn phase_strip(pen: &Pen<'_>, place: &Place, phases: &[PhaseSpan], top: f64) -> Result<(), PlotError> {
    for (number, phase) in phases.iter().enumerate() {
        let (left, right) = (place.x(phase.from), place.x(phase.to));
        if right <= left {
            continue;
        }
        let opacity = if number.is_multiple_of(2) { 0.45 } else { 0.9 };
        pen.fill((left, top), (right, top + STRIP - 4.0), Ink::Grid, opacity)?;
        let width = pen.fonts().width(phase.name, LABEL, Weight::Regular);
        if width + 10.0 <= right - left {
            let how = Type::label(Side::Middle, Ink::Muted);
            pen.write(phase.name, ((left + right) / 2.0, top + STRIP / 2.0 - 2.0), how)?;
        }
    }
    Ok(())
}

fn time_axis(picture: &mut Picture, time: &TimeAxis) -> Result<(), PlotError> {
    picture.band(62, |pen| {
        let place = Place::new(time, 0.0, 0.0);
        let how = Type::label(Side::Middle, Ink::Text);
        for tick in &time.ticks {
            let x = place.x(tick.at);
            pen.write(&tick.label, (x, 10.0), how)?;
        }
        pen.write(&time.title, ((LEFT + RIGHT) / 2.0, 40.0), how).map(|_| ())
    })
}

/// Small lines below everything else.
pub(super) fn footer(picture: &mut Picture, lines: &[String]) -> Result<(), PlotError> {
    let step = 25.0;
    picture.band((lines.len() as f64 * step + 14.0) as u32, |pen| {
        for (number, line) in lines.iter().enumerate() {
            let text = pen.fonts().shortened(line, FOOTER, Weight::Regular, ROOM);
            let how = Type { size: FOOTER, weight: Weight::Regular, side: Side::Right, ink: Ink::Muted };
            pen.write(&text, (MARGIN, (number as f64 + 0.5) * step), how)?;
        }
        Ok(())
    })
}
