//! Draws the chart of a sweep.

use super::chart::{Across, Chart, Mark, Series};
use crate::plot::PlotError;
use crate::plot::draw::{MARGIN, ROOM, footer};
use crate::plot::pen::{Pen, Side, Type};
use crate::plot::picture::Picture;
use crate::plot::scene::Stroke;
use crate::plot::style::{FOOTER, HEADING, Ink, LABEL, LEFT, RIGHT, TITLE, WIDTH};
use crate::plot::text::{Fonts, Weight};

/// Height of a line of words.
const LINE: f64 = 29.0;
/// Height of the plot.
const HEIGHT: f64 = 560.0;
/// White above the plot, for the name of its axis.
const ABOVE: f64 = 40.0;
/// Pixels between zero and the frame, so that what lies at zero is not taken for the frame.
const FLOOR: f64 = 6.0;

/// Draws the chart.
pub(super) fn picture(chart: &Chart) -> Result<Picture, PlotError> {
    let mut picture = Picture::new(Fonts::load()?);
    header(&mut picture, chart)?;
    picture.band((ABOVE + HEIGHT + 74.0) as u32, |pen| {
        let place = Place { across: &chart.across, highest: chart.up.top };
        pen.write(
            "seconds without a commit after the fault",
            (LEFT, ABOVE / 2.0),
            Type::heading(Side::Right, Ink::Text),
        )?;
        grid(pen, &place, chart)?;
        for (number, series) in chart.series.iter().enumerate() {
            draw_series(pen, &place, series, Ink::Arm(number))?;
        }
        frame(pen)
    })?;
    footer(&mut picture, &chart.footer)?;
    Ok(picture)
}

/// Turns values into pixels.
struct Place<'a> {
    across: &'a Across,
    highest: f64,
}

impl Place<'_> {
    fn x(&self, at: f64) -> f64 {
        let Across { from, to, .. } = self.across;
        LEFT + ((at - from) / (to - from)).clamp(0.0, 1.0) * (RIGHT - LEFT)
    }

    fn y(&self, seconds: f64) -> f64 {
        let share = (seconds / self.highest).clamp(0.0, 1.0);
        ABOVE + HEIGHT - FLOOR - share * (HEIGHT - FLOOR)
    }

    fn at(&self, (across, seconds): (f64, f64)) -> (f64, f64) {
        (self.x(across), self.y(seconds))
    }
}

fn header(picture: &mut Picture, chart: &Chart) -> Result<(), PlotError> {
    let named: Vec<(usize, &String)> = chart
        .series
        .iter()
        .enumerate()
        .filter_map(|(at, series)| Some((at, series.label.as_ref()?)))
        .collect();
    let lines = chart.subtitles.len() + named.len();
    picture.band((62.0 + lines as f64 * LINE + 8.0) as u32, |pen| {
        let size = pen.fonts().fitting(&chart.title, Weight::Bold, ROOM, TITLE, HEADING);
        let how = Type { size, weight: Weight::Bold, side: Side::Right, ink: Ink::Text };
        pen.write(&pen.fonts().shortened(&chart.title, size, Weight::Bold, ROOM), (MARGIN, 36.0), how)?;
        let mut y = 62.0 + LINE / 2.0 - 4.0;
        for text in &chart.subtitles {
            words(pen, text, MARGIN, y, Ink::Muted)?;
            y += LINE;
        }
        for (at, label) in named {
            pen.fill((MARGIN, y - 3.0), (MARGIN + 34.0, y + 3.0), Ink::Arm(at), 1.0)?;
            words(pen, label, MARGIN + 44.0, y, Ink::Text)?;
            y += LINE;
        }
        Ok(())
    })
}

fn words(pen: &Pen<'_>, text: &str, x: f64, y: f64, ink: Ink) -> Result<(), PlotError> {
    let room = WIDTH as f64 - MARGIN - x;
    let size = pen.fonts().fitting(text, Weight::Regular, room, HEADING, FOOTER);
    let text = pen.fonts().shortened(text, size, Weight::Regular, room);
    let how = Type { size, weight: Weight::Regular, side: Side::Right, ink };
    pen.write(&text, (x, y), how).map(|_| ())
}

fn grid(pen: &Pen<'_>, place: &Place<'_>, chart: &Chart) -> Result<(), PlotError> {
    let (top, bottom) = (ABOVE, ABOVE + HEIGHT);
    for tick in &chart.up.ticks {
        let y = place.y(tick.at);
        pen.line((LEFT, y), (RIGHT, y), 1.0, Ink::Grid, Stroke::Solid)?;
        pen.write(&tick.label, (LEFT - 10.0, y), Type::label(Side::Left, Ink::Text))?;
    }
    let mut free_from = f64::NEG_INFINITY;
    for tick in &place.across.ticks {
        let x = place.x(tick.at);
        pen.line((x, top), (x, bottom), 1.0, Ink::Grid, Stroke::Solid)?;
        pen.line((x, bottom), (x, bottom + 6.0), 2.0, Ink::Muted, Stroke::Solid)?;
        // Labels that would run into each other are left out; their lines stay.
        let half = pen.fonts().width(&tick.label, LABEL, Weight::Regular) / 2.0;
        if x - half > free_from {
            pen.write(&tick.label, (x, bottom + 20.0), Type::label(Side::Middle, Ink::Text))?;
            free_from = x + half + 12.0;
        }
    }
    let title = Type::label(Side::Middle, Ink::Text);
    pen.write(&place.across.title, ((LEFT + RIGHT) / 2.0, bottom + 52.0), title).map(|_| ())
}

fn frame(pen: &Pen<'_>) -> Result<(), PlotError> {
    let (top, bottom) = (ABOVE, ABOVE + HEIGHT);
    let corners = [(LEFT, top), (RIGHT, top), (RIGHT, bottom), (LEFT, bottom), (LEFT, top)];
    pen.path(&corners, 1.0, Ink::Muted)
}

fn draw_series(pen: &Pen<'_>, place: &Place<'_>, series: &Series, ink: Ink) -> Result<(), PlotError> {
    let pixels = |line: &[(f64, f64)]| line.iter().map(|point| place.at(*point)).collect::<Vec<_>>();
    pen.path(&pixels(&series.line), 3.0, ink)?;
    // Over it and in black: where both agree, both are seen.
    if series.line.is_empty() {
        for (x, y) in pixels(&series.predicted) {
            pen.line((x - 34.0, y), (x + 34.0, y), 2.0, Ink::Text, Stroke::Dashed)?;
        }
    } else {
        dashed(pen, &pixels(&series.predicted), Ink::Text)?;
    }
    series.marks.iter().try_for_each(|mark| draw_mark(pen, place, mark, ink))
}

/// The interval as a bar with feet, the median as a square, the runs as small dots beside it.
fn draw_mark(pen: &Pen<'_>, place: &Place<'_>, mark: &Mark, ink: Ink) -> Result<(), PlotError> {
    let (x, y) = place.at((mark.across, mark.median));
    if let Some((low, high)) = mark.interval {
        let (low, high) = (place.y(low), place.y(high));
        pen.line((x, high), (x, low), 2.5, ink, Stroke::Solid)?;
        for end in [low, high] {
            pen.line((x - 9.0, end), (x + 9.0, end), 2.5, ink, Stroke::Solid)?;
        }
    }
    for run in &mark.runs {
        pen.dot((x + 16.0, place.y(*run)), 3.0, ink)?;
    }
    pen.dot((x, y), 6.0, ink)
}

/// A dashed line along a curve: every second piece of some pixels' length.
fn dashed(pen: &Pen<'_>, points: &[(f64, f64)], ink: Ink) -> Result<(), PlotError> {
    const DASH: f64 = 9.0;
    let mut drawn = 0.0;
    for (from, to) in points.iter().zip(points.iter().skip(1)) {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let length = dx.hypot(dy);
        let pieces = (length / 3.0).ceil().max(1.0) as u32;
        for piece in 0..pieces {
            let along = |piece: u32| {
                let share = f64::from(piece) / f64::from(pieces);
                (from.0 + dx * share, from.1 + dy * share)
            };
            let at = drawn + length * f64::from(piece) / f64::from(pieces);
            if ((at / DASH) as u64).is_multiple_of(2) {
                pen.path(&[along(piece), along(piece + 1)], 2.0, ink)?;
            }
        }
        drawn += length;
    }
    Ok(())
}
