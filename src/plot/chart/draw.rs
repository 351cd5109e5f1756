//! Draws a chart: header, panels, axis, footer.

use super::axis::LogAxis;
use super::scene::{Chart, Curve, Panel, Shape};
use crate::plot::PlotError;
use crate::plot::draw::{MARGIN, ROOM, footer};
use crate::plot::pen::{Pen, Side, Type};
use crate::plot::picture::Picture;
use crate::plot::scene::{Stroke, Words};
use crate::plot::style::{HEADING, Ink, LABEL, LEFT, RIGHT, TITLE};
use crate::plot::text::{Fonts, Weight};

/// Height of a line of words.
const LINE: f64 = 30.0;
/// Height of the title's line.
const TITLE_LINE: f64 = 62.0;
/// White above and below a plot.
const AROUND: f64 = 10.0;
/// Length of the stroke in a legend, and the white behind it.
const SWATCH: (f64, f64) = (30.0, 8.0);
/// White between two entries of a legend.
const ENTRY_GAP: f64 = 26.0;
/// How far apart the whiskers of two curves stand at one place, so that none hides another.
const DODGE: f64 = 7.0;
/// Pixels between zero and the frame, so that a line at zero is not taken for the frame.
const FLOOR: f64 = 4.0;

/// Draws the chart.
///
/// # Errors
/// When the font or the canvas fails.
pub fn picture(chart: &Chart) -> Result<Picture, PlotError> {
    let mut picture = Picture::new(Fonts::load()?);
    header(&mut picture, &chart.title, &chart.subtitles)?;
    for each in &chart.panels {
        panel(&mut picture, &chart.axis, each)?;
    }
    axis(&mut picture, &chart.axis)?;
    footer(&mut picture, &chart.footer)?;
    Ok(picture)
}

fn header(picture: &mut Picture, title: &str, subtitles: &[Words]) -> Result<(), PlotError> {
    let height = TITLE_LINE + subtitles.len() as f64 * LINE;
    picture.band(height as u32, |pen| {
        let size = pen.fonts().fitting(title, Weight::Bold, ROOM, TITLE, HEADING);
        let text = pen.fonts().shortened(title, size, Weight::Bold, ROOM);
        let how = Type { size, weight: Weight::Bold, side: Side::Right, ink: Ink::Text };
        pen.write(&text, (MARGIN, 36.0), how)?;
        for (number, words) in subtitles.iter().enumerate() {
            let size = pen.fonts().fitting(&words.text, Weight::Regular, ROOM, HEADING, LABEL);
            let text = pen.fonts().shortened(&words.text, size, Weight::Regular, ROOM);
            let how = Type { size, weight: Weight::Regular, side: Side::Right, ink: words.ink };
            pen.write(&text, (MARGIN, TITLE_LINE + (number as f64 + 0.4) * LINE), how)?;
        }
        Ok(())
    })
}

/// Turns values into pixels of a panel's band.
struct Place<'a> {
    axis: &'a LogAxis,
    highest: f64,
    top: f64,
    bottom: f64,
}

impl Place<'_> {
    fn x(&self, at: f64) -> f64 {
        LEFT + self.axis.share(at) * (RIGHT - LEFT)
    }

    fn y(&self, value: f64) -> f64 {
        let share = (value / self.highest).clamp(0.0, 1.0);
        self.bottom - FLOOR - share * (self.bottom - FLOOR - self.top)
    }
}

fn panel(picture: &mut Picture, axis: &LogAxis, panel: &Panel) -> Result<(), PlotError> {
    // Title and legend on one line if they fit.
    let title = picture.fonts().width(&panel.title, HEADING, Weight::Bold);
    let legend = legend_width(picture.fonts(), panel);
    let lines = if LEFT + title + ENTRY_GAP + legend <= RIGHT { 1.0 } else { 2.0 };
    let top = AROUND + lines * LINE + 4.0;
    let height = top + panel.height + AROUND;
    picture.band(height.ceil() as u32, |pen| {
        pen.write(&panel.title, (LEFT, AROUND + LINE / 2.0), Type::heading(Side::Right, Ink::Text))?;
        let left = if lines > 1.0 { LEFT } else { RIGHT - legend };
        draw_legend(pen, panel, left, AROUND + LINE * (lines - 0.5))?;
        let place = Place { axis, highest: panel.top, top, bottom: top + panel.height };
        grid(pen, &place, panel)?;
        if let Some((at, words)) = &panel.mark {
            mark(pen, &place, *at, words)?;
        }
        let middle = panel.curves.len().saturating_sub(1) as f64 / 2.0;
        for (number, curve) in panel.curves.iter().enumerate() {
            draw_curve(pen, &place, curve, (number as f64 - middle) * DODGE)?;
        }
        frame(pen, &place)
    })
}

fn legend_width(fonts: &Fonts, panel: &Panel) -> f64 {
    let entry = |curve: &Curve| SWATCH.0 + SWATCH.1 + fonts.width(&curve.label, LABEL, Weight::Regular);
    let entries: f64 = panel.curves.iter().map(entry).sum();
    entries + ENTRY_GAP * panel.curves.len().saturating_sub(1) as f64
}

fn draw_legend(pen: &Pen<'_>, panel: &Panel, mut x: f64, y: f64) -> Result<(), PlotError> {
    for curve in &panel.curves {
        pen.fill((x, y - 2.5), (x + SWATCH.0, y + 2.5), curve.ink, 1.0)?;
        let how = Type::label(Side::Right, Ink::Text);
        let (_, end) = pen.write(&curve.label, (x + SWATCH.0 + SWATCH.1, y), how)?;
        x = end + ENTRY_GAP;
    }
    Ok(())
}

fn grid(pen: &Pen<'_>, place: &Place<'_>, panel: &Panel) -> Result<(), PlotError> {
    for tick in &place.axis.ticks {
        let x = place.x(tick.at);
        pen.line((x, place.top), (x, place.bottom), 1.0, Ink::Grid, Stroke::Solid)?;
    }
    for tick in &panel.ticks {
        let y = place.y(tick.at);
        pen.line((LEFT, y), (RIGHT, y), 1.0, Ink::Grid, Stroke::Solid)?;
        pen.write(&tick.label, (LEFT - 10.0, y), Type::label(Side::Left, Ink::Text))?;
    }
    Ok(())
}

fn mark(pen: &Pen<'_>, place: &Place<'_>, at: f64, words: &str) -> Result<(), PlotError> {
    let x = place.x(at);
    pen.line((x, place.top), (x, place.bottom), 2.0, Ink::Muted, Stroke::Dashed)?;
    let how = Type::label(Side::Right, Ink::Muted);
    pen.write_on_white(words, (x + 10.0, place.top + 18.0), how)
}

fn draw_curve(pen: &Pen<'_>, place: &Place<'_>, curve: &Curve, dodge: f64) -> Result<(), PlotError> {
    match &curve.shape {
        Shape::Line(points) => {
            let points: Vec<_> = points.iter().map(|(x, y)| (place.x(*x), place.y(*y))).collect();
            pen.path(&points, 2.5, curve.ink)
        }
        Shape::Whiskers(points) => {
            let middles: Vec<_> =
                points.iter().map(|(x, _, value, _)| (place.x(*x) + dodge, place.y(*value))).collect();
            pen.path(&middles, 2.5, curve.ink)?;
            for (x, least, value, greatest) in points {
                let x = place.x(*x) + dodge;
                let ends = [place.y(*least), place.y(*greatest)];
                pen.line((x, ends[0]), (x, ends[1]), 2.0, curve.ink, Stroke::Solid)?;
                for y in ends {
                    pen.line((x - 5.0, y), (x + 5.0, y), 2.0, curve.ink, Stroke::Solid)?;
                }
                pen.dot((x, place.y(*value)), 4.5, curve.ink)?;
            }
            Ok(())
        }
    }
}

fn frame(pen: &Pen<'_>, place: &Place<'_>) -> Result<(), PlotError> {
    let (top, bottom) = (place.top, place.bottom);
    pen.path(&[(LEFT, top), (RIGHT, top), (RIGHT, bottom), (LEFT, bottom), (LEFT, top)], 1.0, Ink::Muted)
}

fn axis(picture: &mut Picture, axis: &LogAxis) -> Result<(), PlotError> {
    picture.band(66, |pen| {
        for tick in &axis.ticks {
            let x = LEFT + axis.share(tick.at) * (RIGHT - LEFT);
            pen.write(&tick.label, (x, 8.0), Type::label(Side::Middle, Ink::Text))?;
        }
        let middle = (LEFT + RIGHT) / 2.0;
        pen.write(&axis.title, (middle, 40.0), Type::label(Side::Middle, Ink::Text)).map(|_| ())
    })
}
