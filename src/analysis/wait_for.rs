//! The same for a run of `wait-for`.

use super::{AnalysisError, write};
use crate::plot::chart;
use crate::report;
use crate::store::{WaitForFolder, WaitForInfo, WaitForRows, WaitForSummary};
use crate::wait_for::judge;

/// A run of `wait-for` and what it showed.
#[derive(Debug, Clone)]
pub struct WaitForAnalysed {
    /// Where it is.
    pub folder: WaitForFolder,
    /// What was run.
    pub info: WaitForInfo,
    /// What was measured.
    pub rows: WaitForRows,
    /// What it showed.
    pub summary: WaitForSummary,
}

/// Judges a run of `wait-for`, and writes `summary.json`, its pictures and `README.md` into its folder.
///
/// # Errors
/// When its files cannot be read or the new ones not written.
pub fn wait_for(folder: WaitForFolder) -> Result<WaitForAnalysed, AnalysisError> {
    let (info, rows) = (folder.info()?, folder.rows()?);
    let summary = judge(&info, &rows);
    folder.save_summary(&summary)?;
    if !rows.latency.is_empty() {
        chart::latency(&info, &rows.latency, &folder.path().join("latency.png"))?;
    }
    if !rows.load.is_empty() {
        chart::load(&info, &summary, &folder.path().join("load.png"))?;
    }
    write(&folder.page_path(), &report::wait_for::page(&info, &rows, &summary))?;
    Ok(WaitForAnalysed { folder, info, rows, summary })
}
