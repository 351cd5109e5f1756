//! From the files of a run to its verdict, its picture and its page. Needs no Docker and can be done again.

mod sweep;
mod wait_for;

pub use sweep::{redraw_sweep, sum_up};
pub use wait_for::{WaitForAnalysed, wait_for};

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::explain::Explanation;
use crate::plot::{self, PlotError, Recorded};
use crate::report::{self, Arm};
use crate::store::{self, Event, RunFolder, RunInfo, StoreError, Summary, Timeline, WaitForFolder};
use crate::sweep::{SweepFolder, SweepFolderError};
use crate::verdict;

/// Why a run could not be analysed.
#[derive(Debug, thiserror::Error)]
pub enum AnalysisError {
    /// Its files cannot be read, or the new ones not written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The picture cannot be drawn.
    #[error(transparent)]
    Plot(#[from] PlotError),
    /// A page or table cannot be written.
    #[error("{path}: {source}", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A table cannot be made.
    #[error("comparison.csv: {0}")]
    Table(#[from] csv::Error),
    /// The list of a comparison's runs is none.
    #[error("{path}: a comparison is of two runs or more, this lists {listed}", path = path.display())]
    TooFew {
        /// The list.
        path: PathBuf,
        /// How many it lists.
        listed: usize,
    },
    /// The folder of a sweep cannot be read or written.
    #[error(transparent)]
    Sweep(#[from] SweepFolderError),
    /// The folder is neither of a run nor of a comparison nor of a sweep nor of wait-for.
    #[error(
        "{path} has neither run.json nor comparison.json nor sweep.json nor wait-for.json: it is no folder of results",
        path = path.display()
    )]
    NoResults {
        /// The folder.
        path: PathBuf,
    },
}

/// A run and what it showed.
#[derive(Debug, Clone)]
pub struct Analysed {
    /// Where it is.
    pub folder: RunFolder,
    /// What was run.
    pub run: RunInfo,
    /// What was seen.
    pub timeline: Timeline,
    /// What happened.
    pub events: Vec<Event>,
    /// What it showed.
    pub summary: Summary,
}

impl Analysed {
    /// Why it is so, by the account of its WAL; none without one.
    ///
    /// # Errors
    /// When `wal.json` is there and not the lab's.
    pub fn explanation(&self) -> Result<Option<Explanation>, StoreError> {
        let explain = |account| {
            Explanation::of_run(&self.run, &self.timeline, &self.events, &self.summary, Some(&account))
        };
        Ok(self.folder.wal()?.map(explain))
    }

    fn recorded(&self) -> Recorded<'_> {
        Recorded { run: &self.run, timeline: &self.timeline, events: &self.events, summary: &self.summary }
    }
}

/// The folder of a run at this path.
///
/// # Errors
/// [`AnalysisError::NoResults`] when there is none.
pub fn run_folder(path: impl Into<PathBuf>) -> Result<RunFolder, AnalysisError> {
    let path = path.into();
    if path.join("run.json").exists() {
        Ok(RunFolder::at(path))
    } else {
        Err(AnalysisError::NoResults { path })
    }
}

/// Judges a run, and writes `summary.json`, `timeline.png` and `README.md` into its folder.
///
/// # Errors
/// When its files cannot be read or the new ones not written.
pub fn analyse(folder: RunFolder) -> Result<Analysed, AnalysisError> {
    let analysed = judge(folder)?;
    let explanation = analysed.explanation()?;
    let page = report::page(&analysed.run, &analysed.summary, &analysed.events, explanation.as_ref());
    write(&analysed.folder.page_path(), &page)?;
    Ok(analysed)
}

/// Judges a run, and writes `summary.json` and `timeline.png` into its folder.
///
/// # Errors
/// When its files cannot be read or the new ones not written.
pub fn judge(folder: RunFolder) -> Result<Analysed, AnalysisError> {
    let (run, timeline, events) = (folder.run()?, folder.timeline()?, folder.events()?);
    let summary = verdict::judge(&run, &timeline, &events);
    folder.save_summary(&summary)?;
    let analysed = Analysed { folder, run, timeline, events, summary };
    plot::timeline(&analysed.recorded(), &analysed.folder.plot_path())?;
    Ok(analysed)
}

/// `comparison.json`: which runs a comparison is of.
#[derive(Debug, Serialize, Deserialize)]
struct Members {
    /// Their folders, relative to the comparison's.
    runs: Vec<PathBuf>,
    /// What they were asked to differ in, where they were run for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    on_purpose: Vec<String>,
}

/// Name of the file that makes a folder one of a comparison.
const MEMBERS: &str = "comparison.json";

/// Puts runs side by side in `folder`, which must be there: `comparison.json`, `.png`, `.csv` and `README.md`. Returns
/// what is to be said when they differ in more than one thing, and more than they were asked to (`on_purpose`).
///
/// # Errors
/// When a file cannot be written.
pub fn compare(
    folder: &Path,
    runs: &[&Analysed],
    on_purpose: &[String],
) -> Result<Option<String>, AnalysisError> {
    let folders: Vec<PathBuf> = runs.iter().map(|run| relative(run.folder.path(), folder)).collect();
    let members =
        serde_json::to_string_pretty(&Members { runs: folders.clone(), on_purpose: on_purpose.to_vec() });
    let members = members.map_err(|error| unwritten(folder, error.into()))?;
    write(&folder.join(MEMBERS), &(members + "\n"))?;
    let infos = told_apart(runs);
    let recorded: Vec<Recorded<'_>> =
        runs.iter().zip(&infos).map(|(run, info)| Recorded { run: info, ..run.recorded() }).collect();
    plot::comparison(&recorded, &folder.join("comparison.png"))?;
    let arms: Vec<Arm<'_>> = recorded
        .iter()
        .zip(&folders)
        .map(|(recorded, folder)| Arm { run: recorded.run, summary: recorded.summary, folder })
        .collect();
    write(&folder.join("comparison.csv"), &report::comparison_csv(&arms)?)?;
    write(&folder.join("README.md"), &report::comparison(&arms, on_purpose))?;
    Ok(report::caution(&arms, on_purpose))
}

/// What was run, with the arms' names told apart: where two are the same, by their folders.
fn told_apart(runs: &[&Analysed]) -> Vec<RunInfo> {
    let is_alone = |name: &str| runs.iter().filter(|run| run.run.arm == name).count() == 1;
    let named = |run: &&Analysed| {
        let mut info = run.run.clone();
        if !is_alone(&info.arm) {
            let folder = run.folder.path().file_name().unwrap_or_default();
            info.arm = format!("{} ({})", info.arm, folder.to_string_lossy());
        }
        info
    };
    runs.iter().map(named).collect()
}

/// What a folder of results turned out to be.
#[derive(Debug)]
pub enum Redrawn {
    /// A run.
    Run(Box<Analysed>),
    /// A comparison of so many runs.
    Comparison(usize),
    /// A sweep of so many runs.
    Sweep(usize),
    /// A run of `wait-for`.
    WaitFor(Box<WaitForAnalysed>),
}

/// Judges and draws again what is in a folder of results: a run, or a comparison or sweep and all its runs.
///
/// # Errors
/// When it is neither, or its files cannot be read or written.
pub fn redraw(path: &Path) -> Result<Redrawn, AnalysisError> {
    if SweepFolder::is_one(path) {
        return Ok(Redrawn::Sweep(redraw_sweep(path)?));
    }
    if path.join(WaitForFolder::MARK).exists() {
        return Ok(Redrawn::WaitFor(Box::new(wait_for(WaitForFolder::at(path))?)));
    }
    match results_in(path)? {
        Results::Run(run) => Ok(Redrawn::Run(Box::new(analyse(run)?))),
        Results::Comparison { runs, on_purpose } => {
            let runs: Vec<Analysed> = runs.into_iter().map(analyse).collect::<Result<_, _>>()?;
            compare(path, &runs.iter().collect::<Vec<_>>(), &on_purpose)?;
            Ok(Redrawn::Comparison(runs.len()))
        }
    }
}

/// What is in a folder of results; nothing of the runs is read yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Results {
    /// A run.
    Run(RunFolder),
    /// A comparison.
    Comparison {
        /// What it is of.
        runs: Vec<RunFolder>,
        /// What they were asked to differ in, where they were run for it.
        on_purpose: Vec<String>,
    },
}

/// Tells a run from a comparison.
///
/// # Errors
/// When it is neither, or the list of what was compared cannot be read.
pub fn results_in(path: &Path) -> Result<Results, AnalysisError> {
    let members = path.join(MEMBERS);
    if !members.exists() {
        return Ok(Results::Run(run_folder(path)?));
    }
    let text = std::fs::read_to_string(&members).map_err(|source| unwritten(&members, source))?;
    let listed: Members = serde_json::from_str(&text).map_err(|error| unwritten(&members, error.into()))?;
    if listed.runs.len() < 2 {
        return Err(AnalysisError::TooFew { path: members, listed: listed.runs.len() });
    }
    let runs = listed.runs.iter().map(|run| run_folder(path.join(run))).collect::<Result<_, _>>()?;
    Ok(Results::Comparison { runs, on_purpose: listed.on_purpose })
}

/// The way from one folder to another beside it; to one elsewhere, the whole way.
fn relative(to: &Path, from: &Path) -> PathBuf {
    // As they really are: a folder may have been named by a way with `..` or a link in it.
    let whole = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (to, from) = (whole(to), whole(from));
    match (to.parent(), to.file_name()) {
        (parent, Some(name)) if parent == from.parent() => Path::new("..").join(name),
        _ => to,
    }
}

fn write(path: &Path, text: &str) -> Result<(), AnalysisError> {
    store::replace(path, text).map_err(|source| unwritten(path, source))
}

fn unwritten(path: &Path, source: std::io::Error) -> AnalysisError {
    AnalysisError::Write { path: path.to_owned(), source }
}
