//! Pictures of a run, drawn from its files alone.
//!
//! What is drawn is a scene, a value built from the files (`timeline`, `comparison`) and tested as such. Drawing it is
//! separate (`draw`, `panel`, `words`, `pen`) and knows nothing of runs.

mod axis;
pub mod chart;
mod comparison;
mod draw;
mod lag;
mod load;
mod marks;
mod panel;
mod panels;
mod pen;
mod picture;
mod scene;
mod series;
mod style;
mod sweep;
mod text;
mod time;
mod timeline;
mod words;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use sweep::sweep;

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use crate::store::{Event, RunInfo, Summary, Timeline};

/// The files of a run that a picture is drawn from.
#[derive(Debug, Clone, Copy)]
pub struct Recorded<'a> {
    /// `run.json`
    pub run: &'a RunInfo,
    /// `timeline.csv`
    pub timeline: &'a Timeline,
    /// `events.csv`
    pub events: &'a [Event],
    /// `summary.json`
    pub summary: &'a Summary,
}

impl Recorded<'_> {
    /// The standby that was broken; of servers that were only watched, the one that was away.
    fn faulted(&self) -> &str {
        self.summary.standby.as_deref().unwrap_or_else(|| self.run.faulted())
    }
}

/// Why a picture could not be drawn.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// The file could not be made.
    #[error("{path}: {source}", path = path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The picture could not be written to its file.
    #[error("{path}: cannot write the picture: {source}", path = path.display())]
    Encode {
        /// The file.
        path: PathBuf,
        /// Why.
        source: png::EncodingError,
    },
    /// The font in the binary is damaged.
    #[error("the built-in font cannot be read: {0}")]
    Font(#[source] ab_glyph::InvalidFont),
    /// The canvas refused.
    #[error("cannot draw: {0}")]
    Canvas(#[source] Box<dyn Error + Send + Sync>),
}

impl PlotError {
    fn canvas(source: impl Error + Send + Sync + 'static) -> Self {
        Self::Canvas(Box::new(source))
    }
}

/// Draws `timeline.png`: 1,400 pixels wide, one panel each for TPS, the reads of every standby, lag, and the counters that
/// tell the story.
///
/// # Errors
/// When the file cannot be written.
pub fn timeline(run: &Recorded<'_>, path: &Path) -> Result<(), PlotError> {
    draw::picture(&timeline::scene(run))?.write(path)
}

/// Draws `comparison.png`: the arms over each other, aligned at their faults.
///
/// # Errors
/// When the file cannot be written.
pub fn comparison(arms: &[Recorded<'_>], path: &Path) -> Result<(), PlotError> {
    draw::picture(&comparison::scene(arms))?.write(path)
}
