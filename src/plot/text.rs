//! Words in pixels. The font is in the binary, so that pictures are drawn on machines without fonts.
//!
//! Glyphs are set here rather than by plotters, which ignores a glyph's own offset and so spaces letters unevenly.

use ab_glyph::{Font, FontRef, PxScale, ScaleFont, point};

use super::PlotError;

/// How heavy the letters are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// DejaVu Sans.
    Regular,
    /// DejaVu Sans Bold.
    Bold,
}

/// Both weights of the font.
#[derive(Debug)]
pub struct Fonts {
    regular: FontRef<'static>,
    bold: FontRef<'static>,
}

impl Fonts {
    /// Loads the font from the binary.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn load() -> Result<Self, PlotError> {
        let load = |bytes| FontRef::try_from_slice(bytes).map_err(PlotError::Font);
        Ok(Self { regular: load(dejavu::sans::regular())?, bold: load(dejavu::sans::bold())? })
    }

    fn of(&self, weight: Weight) -> &FontRef<'static> {
        match weight {
            Weight::Regular => &self.regular,
            Weight::Bold => &self.bold,
        }
    }

    /// Width of `text`, in the unit of `size`.
    pub fn width(&self, text: &str, size: f64, weight: Weight) -> f64 {
        let mut end = 0.0;
        self.set(text, size, weight, |_, _, right| end = right);
        f64::from(end)
    }

    /// The largest size from `largest` down to `smallest` at which `text` is at most `room` wide.
    pub fn fitting(&self, text: &str, weight: Weight, room: f64, largest: f64, smallest: f64) -> f64 {
        let width = self.width(text, largest, weight);
        if width <= room {
            largest
        } else {
            // Widths are sums of rounded advances: a hair less, so that the smaller words fit as well.
            (largest * room / width * 0.998).max(smallest)
        }
    }

    /// `text`, or as much of its begin as fits in `room`, with an ellipsis.
    pub fn shortened(&self, text: &str, size: f64, weight: Weight, room: f64) -> String {
        if self.width(text, size, weight) <= room {
            return text.to_owned();
        }
        let mut kept: String = text.to_owned();
        while kept.pop().is_some() {
            let short = format!("{}\u{2026}", kept.trim_end());
            if self.width(&short, size, weight) <= room {
                return short;
            }
        }
        String::new()
    }

    /// The coverage (0 to 1) of each pixel that `text` touches, with its baseline starting at the origin.
    pub fn pixels(&self, text: &str, size: f64, weight: Weight, mut paint: impl FnMut(i32, i32, f32)) {
        let font = self.of(weight);
        self.set(text, size, weight, |id, left, _| {
            let glyph = id.with_scale_and_position(scale(font, size), point(left, 0.0));
            if let Some(outline) = font.outline_glyph(glyph) {
                let bounds = outline.px_bounds();
                outline.draw(|x, y, coverage| {
                    paint(bounds.min.x as i32 + x as i32, bounds.min.y as i32 + y as i32, coverage);
                });
            }
        });
    }

    /// Walks over the glyphs with the left and right end of each.
    fn set(&self, text: &str, size: f64, weight: Weight, mut glyph: impl FnMut(ab_glyph::GlyphId, f32, f32)) {
        let font = self.of(weight);
        let scaled = font.as_scaled(scale(font, size));
        let mut x = 0.0;
        let mut before = None;
        for id in text.chars().map(|letter| font.glyph_id(letter)) {
            x += before.map_or(0.0, |before| scaled.kern(before, id));
            let right = x + scaled.h_advance(id);
            glyph(id, x, right);
            x = right;
            before = Some(id);
        }
    }
}

/// The scale at which an em is `size` pixels.
fn scale(font: &FontRef<'_>, size: f64) -> PxScale {
    let em = font.units_per_em().unwrap_or(2048.0);
    PxScale::from(size as f32 * font.height_unscaled() / em)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_sign_the_pictures_use_is_in_the_font() {
        let fonts = Fonts::load().unwrap();
        for sign in "\u{2212}\u{b7}\u{2265}\u{2026}\u{2079}".chars() {
            for weight in [Weight::Regular, Weight::Bold] {
                assert_ne!(fonts.of(weight).glyph_id(sign).0, 0, "{sign}");
            }
        }
    }

    #[test]
    fn long_words_are_drawn_smaller_then_cut() {
        let fonts = Fonts::load().unwrap();
        let text = "no commit for 38 min 31 s";
        let width = fonts.width(text, 20.0, Weight::Bold);
        assert_eq!(fonts.fitting(text, Weight::Bold, width + 1.0, 20.0, 10.0), 20.0);
        let smaller = fonts.fitting(text, Weight::Bold, width * 0.75, 20.0, 10.0);
        assert!((14.9..15.0).contains(&smaller), "{smaller}");
        assert!(fonts.width(text, smaller, Weight::Bold) <= width * 0.75);
        assert_eq!(fonts.fitting(text, Weight::Bold, width * 0.1, 20.0, 10.0), 10.0);
        assert_eq!(fonts.shortened(text, 20.0, Weight::Bold, width + 1.0), text);
        let cut = fonts.shortened(text, 20.0, Weight::Bold, width * 0.6);
        assert!(cut.starts_with("no commit") && cut.ends_with('\u{2026}'), "{cut}");
        assert_eq!(fonts.shortened(text, 20.0, Weight::Bold, 1.0), "");
    }
}
