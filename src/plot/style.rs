//! Colours and sizes. The colours are Okabe and Ito's, which stay apart for every common kind of colour blindness.

use plotters::style::RGBColor;

/// Width of every picture, pixels.
pub const WIDTH: u32 = 1400;
/// Left edge of the panels, pixels; what is left of it holds the labels of the values.
pub const LEFT: f64 = 112.0;
/// Right edge of the panels, pixels.
pub const RIGHT: f64 = 1372.0;
/// Height of a panel's plot, pixels.
pub const PLOT_HEIGHT: f64 = 215.0;

/// Size of the title, pixels an em; a long one is drawn smaller.
pub const TITLE: f64 = 34.0;
/// Size of panel titles and captions.
pub const HEADING: f64 = 23.0;
/// Size of axis labels, legends and marks: still 10 pixels when the picture is scaled to half.
pub const LABEL: f64 = 21.0;
/// Size of the footer.
pub const FOOTER: f64 = 17.0;

/// What a colour stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// Words, frames and marks.
    Text,
    /// Words of less weight.
    Muted,
    /// The grid.
    Grid,
    /// Every second phase.
    Shade,
    /// The hang.
    Hang,
    /// What must not be missed.
    Alarm,
    /// The primary.
    Primary,
    /// A standby, by its place in the profile.
    Standby(usize),
    /// Blocks prefetched.
    Prefetched,
    /// Blocks read by the startup process.
    StartupReads,
    /// An arm of a comparison, by its place in it.
    Arm(usize),
}

const BLACK: RGBColor = RGBColor(0, 0, 0);
const BLUE: RGBColor = RGBColor(0, 114, 178);
const VERMILLION: RGBColor = RGBColor(213, 94, 0);
const GREEN: RGBColor = RGBColor(0, 158, 115);
const PURPLE: RGBColor = RGBColor(204, 121, 167);
const ORANGE: RGBColor = RGBColor(230, 159, 0);
const SKY: RGBColor = RGBColor(86, 180, 233);
// Darker than any of the above, so that eight arms stay apart: four versions, with prefetching and without.
const BROWN: RGBColor = RGBColor(120, 72, 20);

impl Ink {
    /// The colour.
    #[must_use]
    pub fn colour(self) -> RGBColor {
        match self {
            Self::Text | Self::StartupReads => BLACK,
            Self::Muted => RGBColor(90, 90, 90),
            Self::Grid => RGBColor(214, 214, 214),
            Self::Shade => RGBColor(244, 244, 246),
            Self::Hang => RGBColor(254, 247, 212),
            Self::Alarm => RGBColor(190, 50, 0),
            Self::Primary => BLUE,
            Self::Prefetched => SKY,
            Self::Standby(place) => cycle(&[VERMILLION, GREEN, PURPLE, ORANGE], place),
            Self::Arm(place) => cycle(&[VERMILLION, BLUE, GREEN, PURPLE, ORANGE, SKY, BROWN, BLACK], place),
        }
    }
}

fn cycle(colours: &[RGBColor], place: usize) -> RGBColor {
    colours.iter().cycle().nth(place).copied().unwrap_or(BLACK)
}
