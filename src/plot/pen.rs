//! Shapes and words on pixels: the one place that knows plotters and PNG.
//!
//! A picture is drawn in bands from the top, each at twice its size and then averaged down: the lines are smooth,
//! and no more than one band is ever in memory at that size.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use plotters::backend::BitMapBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Drawable, PathElement, PointCollection, Rectangle};
use plotters::style::{Color, RGBColor, ShapeStyle};

use super::PlotError;
use super::scene::Stroke;
use super::style::{Ink, WIDTH};
use super::text::{Fonts, Weight};

/// How many times larger a band is drawn than it ends up; [`append_averaged`] is written for two.
const OVERSAMPLING: u32 = 2;
/// Length of a dash and of the gap behind it, pixels.
const DASH: (f64, f64) = (9.0, 6.0);

/// A picture, from the top down to where it has been drawn.
#[derive(Debug)]
pub struct Picture {
    fonts: Fonts,
    pixels: Vec<u8>,
}

impl Picture {
    /// An empty picture.
    #[must_use]
    pub fn new(fonts: Fonts) -> Self {
        Self {
            fonts,
            pixels: Vec::new(),
        }
    }

    /// The fonts it is drawn with, to measure words.
    #[must_use]
    pub fn fonts(&self) -> &Fonts {
        &self.fonts
    }

    /// Adds a white band of this height below what is there, and draws on it.
    ///
    /// # Errors
    /// When drawing fails.
    pub fn band(
        &mut self,
        height: u32,
        draw: impl FnOnce(&Pen<'_>) -> Result<(), PlotError>,
    ) -> Result<(), PlotError> {
        let size = (WIDTH * OVERSAMPLING, height * OVERSAMPLING);
        let mut large = vec![u8::MAX; size.0 as usize * size.1 as usize * 3];
        let backend = BitMapBackend::with_buffer_and_format(&mut large, size).map_err(PlotError::canvas)?;
        draw(&Pen {
            area: backend.into_drawing_area(),
            fonts: &self.fonts,
        })?;
        append_averaged(&mut self.pixels, &large);
        Ok(())
    }

    /// Height so far, pixels.
    #[must_use]
    pub fn height(&self) -> u32 {
        (self.pixels.len() / (WIDTH as usize * 3)) as u32
    }

    /// Writes it as PNG.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), PlotError> {
        let file = File::create(path).map_err(|source| PlotError::Create {
            path: path.to_owned(),
            source,
        })?;
        let encode = || {
            let mut encoder = png::Encoder::new(BufWriter::new(file), WIDTH, self.height());
            encoder.set_color(png::ColorType::Rgb);
            encoder.set_depth(png::BitDepth::Eight);
            // Flat colours: filters cost time and gain nothing.
            encoder.set_filter(png::Filter::NoFilter);
            let mut writer = encoder.write_header()?;
            writer.write_image_data(&self.pixels)?;
            writer.finish()
        };
        encode().map_err(|source| PlotError::Encode {
            path: path.to_owned(),
            source,
        })
    }
}

/// The mean of every square of two by two pixels, row by row.
fn append_averaged(pixels: &mut Vec<u8>, large: &[u8]) {
    let stride = (WIDTH * OVERSAMPLING) as usize * 3;
    for rows in large.chunks_exact(stride * 2) {
        let (upper, lower) = rows.split_at(stride);
        for (upper, lower) in upper.chunks_exact(6).zip(lower.chunks_exact(6)) {
            if let ([a, b, c, d, e, f], [g, h, i, j, k, l]) = (upper, lower) {
                pixels.extend_from_slice(&[mean(*a, *d, *g, *j), mean(*b, *e, *h, *k), mean(*c, *f, *i, *l)]);
            }
        }
    }
}

fn mean(a: u8, b: u8, c: u8, d: u8) -> u8 {
    ((u16::from(a) + u16::from(b) + u16::from(c) + u16::from(d)) / 4) as u8
}

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

/// Draws on one band. Coordinates are pixels of the finished picture, from the band's upper left corner.
pub struct Pen<'a> {
    area: DrawingArea<BitMapBackend<'a>, Shift>,
    fonts: &'a Fonts,
}

impl Pen<'_> {
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
        self.draw(&Rectangle::new(
            [(left, top), corner],
            colour.mix(opacity).filled(),
        ))
    }

    /// Draws a straight line.
    pub fn line(
        &self,
        from: (f64, f64),
        to: (f64, f64),
        width: f64,
        ink: Ink,
        stroke: Stroke,
    ) -> Result<(), PlotError> {
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
        self.fill(
            (at.0 - radius, at.1 - radius),
            (at.0 + radius, at.1 + radius),
            ink,
            1.0,
        )
    }

    /// Draws a triangle that points up, its tip at `tip`.
    pub fn arrow_up(&self, tip: (f64, f64), size: f64, ink: Ink) -> Result<(), PlotError> {
        let step = 1.0 / f64::from(OVERSAMPLING);
        let rows = (size / step) as u32;
        (0..rows).map(|row| f64::from(row) * step).try_for_each(|down| {
            let half = down * 0.6;
            self.fill(
                (tip.0 - half, tip.1 + down),
                (tip.0 + half, tip.1 + down + step),
                ink,
                1.0,
            )
        })
    }

    /// Writes `text` with its middle at the height of `at`; returns its left and right end.
    pub fn write(&self, text: &str, at: (f64, f64), how: Type) -> Result<(f64, f64), PlotError> {
        let width = self.fonts.width(text, how.size, how.weight);
        let left = match how.side {
            Side::Right => at.0,
            Side::Middle => at.0 - width / 2.0,
            Side::Left => at.0 - width,
        };
        // Capitals are 0.73 em high, so this centres them.
        let (x, baseline) = large((left, at.1 + how.size * 0.365));
        let colour = how.ink.colour();
        let mut result = Ok(());
        self.fonts.pixels(
            text,
            how.size * f64::from(OVERSAMPLING),
            how.weight,
            |dx, dy, coverage| {
                if result.is_ok() && coverage > 0.0 {
                    let pixel = colour.mix(f64::from(coverage.min(1.0)));
                    result = self
                        .area
                        .draw_pixel((x + dx, baseline + dy), &pixel)
                        .map_err(PlotError::canvas);
                }
            },
        );
        result.map(|()| (left, left + width))
    }

    /// The same on a patch of white, where words stand in the midst of curves.
    pub fn write_on_white(&self, text: &str, at: (f64, f64), how: Type) -> Result<(), PlotError> {
        let width = self.fonts.width(text, how.size, how.weight);
        let left = match how.side {
            Side::Right => at.0,
            Side::Middle => at.0 - width / 2.0,
            Side::Left => at.0 - width,
        };
        let (pad, half) = (5.0, how.size * 0.62);
        let white = RGBColor(255, 255, 255);
        self.fill_with(
            (left - pad, at.1 - half),
            (left + width + pad, at.1 + half),
            white,
            0.88,
        )?;
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
