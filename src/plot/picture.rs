//! A picture: pixels and their file.
//!
//! It is drawn in bands from the top, each at twice its size and then averaged down: the lines are smooth, and no
//! more than one band is ever in memory at that size.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use super::PlotError;
use super::pen::{OVERSAMPLING, Pen};
use super::style::WIDTH;
use super::text::Fonts;

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
        Self { fonts, pixels: Vec::new() }
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
        let mut large = vec![u8::MAX; (WIDTH * OVERSAMPLING * height * OVERSAMPLING) as usize * 3];
        draw(&Pen::on(&mut large, height, &self.fonts)?)?;
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
        let file =
            File::create(path).map_err(|source| PlotError::Create { path: path.to_owned(), source })?;
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
        encode().map_err(|source| PlotError::Encode { path: path.to_owned(), source })
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
