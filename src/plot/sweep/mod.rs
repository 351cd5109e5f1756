//! The picture of a sweep: lengths of the hang against what is varied, and where they were predicted.

mod chart;
mod draw;

use super::PlotError;
use crate::sweep::{Design, Results};
use std::path::Path;

/// Draws `sweep.png`: a dot a run, a median with its interval a point, a line a series, and the prediction as a dashed line.
///
/// # Errors
/// When the file cannot be written.
pub fn sweep(design: &Design, results: &Results, path: &Path) -> Result<(), PlotError> {
    draw::picture(&chart::of(design, results))?.write(path)
}
