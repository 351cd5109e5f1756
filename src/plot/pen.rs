//! Shapes and words on pixels: the one place that knows plotters.

use plotters::backend::BitMapBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Drawable, PathElement, PointCollection, Rectangle};
use plotters::style::{Color, RGBColor, ShapeStyle};

use super::PlotError;
use super::scene::Stroke;
use super::style::{HEADING, Ink, LABEL, WIDTH};
use super::text::{Fonts, Weight};

/// How many times larger everything is drawn than it ends up.
pub const OVERSAMPLING: u32 = 2;
/// Length of a dash and of the gap behind it, pixels.
const DASH: (f64, f64) = (9.0, 6.0);

/// Where words stand in relation to their point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// To the right of it.
    Right,
    /// On both sides.
    Middle,
    /// To the left of it.
    Left,
}

/// How words are written.
#[derive(Debug, Clone, Copy)]
pub struct Type {
    /// Pixels an em.
    pub size: f64,
    /// How heavy.
    pub weight: Weight,
    /// Where, in relation to the point.
    pub side: Side,
    /// In which colour.
    pub ink: Ink,
}

impl Type {
    /// As labels are written.
    pub fn label(side: Side, ink: Ink) -> Self {
        Self { size: LABEL, weight: Weight::Regular, side, ink }
    }

    /// As titles of panels are written.
    pub fn heading(side: Side, ink: Ink) -> Self {
        Self { size: HEADING, weight: Weight::Bold, side, ink }
    }
}

/// Draws on one band. Coordinates are pixels of the finished picture, from the band's upper left corner.
pub struct Pen<'a> {
    area: DrawingArea<BitMapBackend<'a>, Shift>,
    fonts: &'a Fonts,
}

impl<'a> Pen<'a> {
    /// A pen on a band of this height; `large` holds its pixels, `OVERSAMPLING` times as wide and as high.
    ///
    /// # Errors
    /// When `large` is too small.
    pub fn on(large: &'a mut [u8], height: u32, fonts: &'a Fonts) -> Result<Self, PlotError> {
        let size = (WIDTH * OVERSAMPLING, height * OVERSAMPLING);
        let backend = BitMapBackend::with_buffer_and_format(large, size).map_err(PlotError::canvas)?;
        Ok(Self { area: backend.into_drawing_area(), fonts })
    }

    /// The fonts, to measure words.
    pub fn fonts(&self) -> &Fonts {
        self.fonts
    }

    /// Fills a rectangle; `opacity` from 0 to 1.
    pub fn fill(&self, from: (f64, f64), to: (f64, f64), ink: Ink, opacity: f64) -> Result<(), PlotError> {
        self.fill_with(from, to, ink.colour(), opacity)
    }

    fn fill_with(
        &self,
        from: (f64, f64),
        to: (f64, f64),
        colour: RGBColor,
        opacity: f64,
    ) -> Result<(), PlotError> {
        let (left, top) = large(from);
        let (right, bottom) = large(to);
        // The backend leaves the right and bottom edge out; what is thinner than a pixel is still to be seen.
        let corner = (right.max(left + 1), bottom.max(top + 1));
        self.draw(&Rectangle::new([(left, top), corner], colour.mix(opacity).filled()))
    }

    /// Draws a straight line; one along an axis is moved to whole pixels, which keeps it sharp.
    pub fn line(
        &self,
        from: (f64, f64),
        to: (f64, f64),
        width: f64,
        ink: Ink,
        stroke: Stroke,
    ) -> Result<(), PlotError> {
        let snap = |at: f64| (at - width / 2.0).round() + width / 2.0;
        let (from, to) = match (from, to) {
            ((left, y), (right, other)) if y == other => ((left, snap(y)), (right, snap(y))),
            ((x, top), (other, bottom)) if x == other => ((snap(x), top), (snap(x), bottom)),
            slanted => slanted,
        };
        match stroke {
            Stroke::Solid => self.path(&[from, to], width, ink),
            Stroke::Dashed => {
                let (dx, dy) = (to.0 - from.0, to.1 - from.1);
                let length = dx.hypot(dy).max(1.0);
                let along = |at: f64| {
                    let share = (at / length).min(1.0);
                    (from.0 + dx * share, from.1 + dy * share)
                };
                let dashes = (length / (DASH.0 + DASH.1)).ceil() as u32;
                (0..dashes)
                    .map(|dash| f64::from(dash) * (DASH.0 + DASH.1))
                    .try_for_each(|at| self.path(&[along(at), along(at + DASH.0)], width, ink))
            }
        }
    }

    /// Joins the points, with round corners.
    pub fn path(&self, points: &[(f64, f64)], width: f64, ink: Ink) -> Result<(), PlotError> {
        let style = ShapeStyle {
            color: ink.colour().to_rgba(),
            filled: true,
            stroke_width: (width * f64::from(OVERSAMPLING)).round().max(1.0) as u32,
        };
        let half = width / 2.0;
        for (from, to) in points.iter().zip(points.iter().skip(1)) {
            if from.0 == to.0 || from.1 == to.1 {
                let low = (from.0.min(to.0) - half, from.1.min(to.1) - half);
                let high = (from.0.max(to.0) + half, from.1.max(to.1) + half);
                self.fill(low, high, ink, 1.0)?;
            } else {
                self.draw(&PathElement::new([large(*from), large(*to)], style))?;
                self.dot(*to, half, ink)?;
            }
        }
        Ok(())
    }

    /// Fills what lies between the points, in the order of x, and `bottom`.
    pub fn area(&self, points: &[(f64, f64)], bottom: f64, ink: Ink, opacity: f64) -> Result<(), PlotError> {
        let step = 1.0 / f64::from(OVERSAMPLING);
        for (from, to) in points.iter().zip(points.iter().skip(1)) {
            let columns = large(*to).0 - large(*from).0;
            for column in 0..columns {
                let share = f64::from(column) / f64::from(columns);
                let x = from.0 + f64::from(column) * step;
                let y = from.1 + (to.1 - from.1) * share;
                self.fill((x, y), (x + step, bottom), ink, opacity)?;
            }
        }
        Ok(())
    }

    /// Draws a dot.
    pub fn dot(&self, at: (f64, f64), radius: f64, ink: Ink) -> Result<(), PlotError> {
        self.fill((at.0 - radius, at.1 - radius), (at.0 + radius, at.1 + radius), ink, 1.0)
    }

    /// Draws a triangle that points up, its tip at `tip`.
    pub fn arrow_up(&self, tip: (f64, f64), size: f64, ink: Ink) -> Result<(), PlotError> {
        let step = 1.0 / f64::from(OVERSAMPLING);
        let rows = (size / step) as u32;
        (0..rows).map(|row| f64::from(row) * step).try_for_each(|down| {
            let half = down * 0.6;
            self.fill((tip.0 - half, tip.1 + down), (tip.0 + half, tip.1 + down + step), ink, 1.0)
        })
    }

    /// The left and right end of `text` where it stands.
    fn ends(&self, text: &str, x: f64, how: Type) -> (f64, f64) {
        let width = self.fonts.width(text, how.size, how.weight);
        let left = match how.side {
            Side::Right => x,
            Side::Middle => x - width / 2.0,
            Side::Left => x - width,
        };
        (left, left + width)
    }

    /// Writes `text` with its middle at the height of `at`; returns its left and right end.
    pub fn write(&self, text: &str, at: (f64, f64), how: Type) -> Result<(f64, f64), PlotError> {
        let ends = self.ends(text, at.0, how);
        // Capitals are 0.73 em high, so this centres them.
        let (x, baseline) = large((ends.0, at.1 + how.size * 0.365));
        let colour = how.ink.colour();
        let size = how.size * f64::from(OVERSAMPLING);
        let mut result = Ok(());
        self.fonts.pixels(text, size, how.weight, |dx, dy, coverage| {
            if result.is_ok() && coverage > 0.0 {
                let pixel = colour.mix(f64::from(coverage.min(1.0)));
                result = self.area.draw_pixel((x + dx, baseline + dy), &pixel).map_err(PlotError::canvas);
            }
        });
        result.map(|()| ends)
    }

    /// The same on a patch of white, where words stand in the midst of curves.
    pub fn write_on_white(&self, text: &str, at: (f64, f64), how: Type) -> Result<(), PlotError> {
        let (left, right) = self.ends(text, at.0, how);
        let (pad, half) = (5.0, how.size * 0.62);
        let white = RGBColor(255, 255, 255);
        self.fill_with((left - pad, at.1 - half), (right + pad, at.1 + half), white, 0.88)?;
        self.write(text, at, how).map(|_| ())
    }

    fn draw<'e, E>(&self, element: &'e E) -> Result<(), PlotError>
    where
        &'e E: PointCollection<'e, (i32, i32)>,
        E: for<'b> Drawable<BitMapBackend<'b>>,
    {
        self.area.draw(element).map_err(PlotError::canvas)
    }
}

fn large((x, y): (f64, f64)) -> (i32, i32) {
    let scale = f64::from(OVERSAMPLING);
    ((x * scale).round() as i32, (y * scale).round() as i32)
}
