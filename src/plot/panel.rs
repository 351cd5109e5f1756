//! Draws one panel: its title and legend, the grid, the curves, and the words in it.

use super::PlotError;
use super::pen::{Pen, Side, Type};
use super::picture::Picture;
use super::scene::{Curve, Level, Panel, Scene, Shape, Stroke, Told};
use super::series::Sample;
use super::style::{HEADING, Ink, LABEL, LEFT, PLOT_HEIGHT, RIGHT};
use super::text::{Fonts, Weight};
use super::time::TimeAxis;
use super::words;

/// Height of a line above the plot, pixels.
const LINE: f64 = 34.0;
/// Length of a tick below the plot.
const TICK: f64 = 6.0;
/// White below the plot.
const BELOW: f64 = 12.0;
/// Pixels between zero and the frame, so that a line at zero is not taken for the frame.
const FLOOR: f64 = 4.0;
/// Width of a curve.
const CURVE: f64 = 2.5;
/// Length of the stroke in a legend, and the white around it.
const SWATCH: (f64, f64) = (30.0, 8.0);
/// White between two entries of a legend.
const ENTRY_GAP: f64 = 26.0;

/// Turns times and values into pixels of a band.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    from: f64,
    span: f64,
    /// Upper edge of the plot.
    pub top: f64,
    /// Its lower edge.
    pub bottom: f64,
}

impl Place {
    /// The place between `top` and `bottom` of a band.
    pub fn new(time: &TimeAxis, top: f64, bottom: f64) -> Self {
        Self { from: time.from, span: time.span(), top, bottom }
    }

    /// The pixel of a moment.
    pub fn x(&self, at: f64) -> f64 {
        LEFT + ((at - self.from) / self.span).clamp(0.0, 1.0) * (RIGHT - LEFT)
    }

    /// The pixel of a value on an axis up to `highest`.
    pub fn y(&self, value: f64, highest: f64) -> f64 {
        let share = (value / highest).clamp(0.0, 1.0);
        self.bottom - FLOOR - share * (self.bottom - FLOOR - self.top)
    }
}

/// Draws the panel as a band of its own.
///
/// # Errors
/// When the canvas fails.
pub fn panel(picture: &mut Picture, scene: &Scene, panel: &Panel) -> Result<(), PlotError> {
    let legend = legend_width(picture.fonts(), panel);
    let title = picture.fonts().width(&panel.title, HEADING, Weight::Bold);
    let lines = if LEFT + title + ENTRY_GAP + legend <= RIGHT { 1.0 } else { 2.0 };
    let top = lines * LINE + 4.0;
    let height = top + PLOT_HEIGHT + BELOW;
    picture.band(height.ceil() as u32, |pen| {
        let how = Type::heading(Side::Right, Ink::Text);
        pen.write(&panel.title, (LEFT, LINE / 2.0 + 2.0), how)?;
        let left = if lines > 1.0 { LEFT } else { RIGHT - legend };
        draw_legend(pen, panel, (left, LINE * (lines - 0.5) + 2.0))?;
        let place = Place::new(&scene.time, top, top + PLOT_HEIGHT);
        ground(pen, &place, scene)?;
        grid(pen, &place, scene, panel)?;
        draw_values(pen, &place, panel)?;
        lines_of_marks(pen, &place, scene)?;
        words::draw(pen, &place, scene, panel)?;
        frame(pen, &place)
    })
}

/// The curves between the levels that lie under them and those that lie over them.
fn draw_values(pen: &Pen<'_>, place: &Place, panel: &Panel) -> Result<(), PlotError> {
    let levels = |told| panel.levels.iter().filter(move |level| level.told == told);
    for level in levels(Told::InTheLegend) {
        level_line(pen, place, level, panel.axis.top)?;
    }
    for curve in &panel.curves {
        draw_curve(pen, place, curve, panel.axis.top)?;
    }
    for level in levels(Told::AtTheLine) {
        level_line(pen, place, level, panel.axis.top)?;
    }
    Ok(())
}

fn legend_width(fonts: &Fonts, panel: &Panel) -> f64 {
    let curves = panel.curves.iter().filter_map(|curve| curve.label.as_ref());
    let levels = panel.levels.iter().filter(|level| level.told == Told::InTheLegend);
    let entries: Vec<f64> = curves
        .chain(levels.map(|level| &level.label))
        .map(|label| SWATCH.0 + SWATCH.1 + fonts.width(label, LABEL, Weight::Regular))
        .collect();
    entries.iter().sum::<f64>() + ENTRY_GAP * entries.len().saturating_sub(1) as f64
}

fn draw_legend(pen: &Pen<'_>, panel: &Panel, (mut x, y): (f64, f64)) -> Result<(), PlotError> {
    for curve in &panel.curves {
        let Some(label) = &curve.label else { continue };
        let (thick, opacity) = if curve.shape == Shape::Area { (8.0, 0.4) } else { (2.5, 1.0) };
        pen.fill((x, y - thick), (x + SWATCH.0, y + thick), curve.ink, opacity)?;
        x = legend_words(pen, label, x, y)?;
    }
    for level in panel.levels.iter().filter(|level| level.told == Told::InTheLegend) {
        pen.line((x, y), (x + SWATCH.0, y), 2.0, level.ink, Stroke::Dashed)?;
        x = legend_words(pen, &level.label, x, y)?;
    }
    Ok(())
}

/// Writes behind the swatch at `x`; returns where the next entry begins.
fn legend_words(pen: &Pen<'_>, label: &str, x: f64, y: f64) -> Result<f64, PlotError> {
    let how = Type::label(Side::Right, Ink::Text);
    let (_, end) = pen.write(label, (x + SWATCH.0 + SWATCH.1, y), how)?;
    Ok(end + ENTRY_GAP)
}

/// Every second phase, and over it the hang.
fn ground(pen: &Pen<'_>, place: &Place, scene: &Scene) -> Result<(), PlotError> {
    let shade = |from, to, ink| pen.fill((place.x(from), place.top), (place.x(to), place.bottom), ink, 1.0);
    for phase in scene.phases.iter().skip(1).step_by(2).filter(|phase| phase.to > phase.from) {
        shade(phase.from, phase.to, Ink::Shade)?;
    }
    scene.hang.map_or(Ok(()), |(from, to)| shade(from, to, Ink::Hang))
}

fn grid(pen: &Pen<'_>, place: &Place, scene: &Scene, panel: &Panel) -> Result<(), PlotError> {
    for tick in &scene.time.ticks {
        let x = place.x(tick.at);
        pen.line((x, place.top), (x, place.bottom), 1.0, Ink::Grid, Stroke::Solid)?;
        pen.line((x, place.bottom), (x, place.bottom + TICK), 2.0, Ink::Muted, Stroke::Solid)?;
    }
    let how = Type::label(Side::Left, Ink::Text);
    for tick in &panel.axis.ticks {
        let y = place.y(tick.at, panel.axis.top);
        pen.line((LEFT, y), (RIGHT, y), 1.0, Ink::Grid, Stroke::Solid)?;
        pen.write(&tick.label, (LEFT - 10.0, y), how)?;
    }
    Ok(())
}

fn frame(pen: &Pen<'_>, place: &Place) -> Result<(), PlotError> {
    let corners = [
        (LEFT, place.top),
        (RIGHT, place.top),
        (RIGHT, place.bottom),
        (LEFT, place.bottom),
        (LEFT, place.top),
    ];
    pen.path(&corners, 1.0, Ink::Muted)
}

fn draw_curve(pen: &Pen<'_>, place: &Place, curve: &Curve, highest: f64) -> Result<(), PlotError> {
    for run in &curve.series.runs {
        let y = |value| place.y(value, highest);
        for sample in run.iter().filter(|sample| curve.shape == Shape::Steps && sample.high > sample.low) {
            let (from, to) = ((place.x(sample.from), y(sample.high)), (place.x(sample.to), y(sample.low)));
            pen.fill(from, to, curve.ink, 0.25)?;
        }
        let points = joined(run, curve.shape);
        let points: Vec<_> = points.into_iter().map(|(t, value)| (place.x(t), y(value))).collect();
        if curve.shape == Shape::Area {
            pen.area(&points, place.bottom, curve.ink, 0.25)?;
        }
        pen.path(&points, CURVE, curve.ink)?;
        if let [point, rest @ ..] = points.as_slice()
            && rest.iter().all(|other| other == point)
        {
            pen.dot(*point, CURVE, curve.ink)?;
        }
    }
    Ok(())
}

/// The corners of a run's line.
fn joined(run: &[Sample], shape: Shape) -> Vec<(f64, f64)> {
    match shape {
        Shape::Steps => {
            run.iter().flat_map(|sample| [(sample.from, sample.mean), (sample.to, sample.mean)]).collect()
        }
        Shape::Line | Shape::Area => run.iter().map(|sample| (sample.to, sample.mean)).collect(),
    }
}

fn level_line(pen: &Pen<'_>, place: &Place, level: &Level, highest: f64) -> Result<(), PlotError> {
    let y = place.y(level.at, highest);
    pen.line((LEFT, y), (RIGHT, y), 2.0, level.ink, Stroke::Dashed)
}

fn lines_of_marks(pen: &Pen<'_>, place: &Place, scene: &Scene) -> Result<(), PlotError> {
    scene.marks.iter().try_for_each(|mark| {
        let x = place.x(mark.at);
        pen.line((x, place.top), (x, place.bottom), 2.0, Ink::Text, mark.stroke)
    })
}
