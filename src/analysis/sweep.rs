//! From the runs of a sweep to its page and its picture.

use std::path::Path;

use super::{AnalysisError, analyse, write};
use crate::plot;
use crate::report;
use crate::store::{RunFolder, Verdict};
use crate::sweep::{Record, Results, Status, SweepFolder};

/// Writes `README.md` and `sweep.png` of the runs so far.
///
/// # Errors
/// When a file cannot be written.
pub fn sum_up(folder: &SweepFolder) -> Result<(), AnalysisError> {
    let results = Results::of(folder.design(), folder.records());
    plot::sweep(folder.design(), &results, &folder.path().join("sweep.png"))?;
    let page = report::sweep(folder.design(), folder.records(), &results);
    write(&folder.path().join("README.md"), &page)
}

/// Judges the runs of a sweep again, one at a time, and sums them up again. The row of a run whose folder is not there stays
/// as it is. Returns the number of rows.
///
/// # Errors
/// When a file cannot be read or written.
pub fn redraw_sweep(path: &Path) -> Result<usize, AnalysisError> {
    let mut folder = SweepFolder::read(path)?;
    let records: Vec<Record> =
        folder.records().iter().map(|record| again(record, path)).collect::<Result<_, _>>()?;
    folder.replace(records)?;
    sum_up(&folder)?;
    Ok(folder.records().len())
}

/// A row made again from its run's files.
fn again(record: &Record, path: &Path) -> Result<Record, AnalysisError> {
    let run =
        record.folder.as_ref().map(|run| path.join(run)).filter(|run| run.join("timeline.csv").exists());
    // One that broke before it could be judged has nothing to be judged by now.
    let (Some(run), Some(verdict)) = (run, record.verdict) else { return Ok(record.clone()) };
    let analysed = analyse(RunFolder::at(run))?;
    // What broke it stands; that it could not tell is found anew.
    let judged_alone = record.status == Status::Broken && verdict == Verdict::Inconclusive;
    let problem = record.problem.clone().filter(|_| !judged_alone);
    Ok(Record::of(record.run, &analysed, path, problem)?)
}
