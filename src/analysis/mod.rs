//! From the files of a run to its verdict, its picture and its page. Needs no Docker and can be done again.

mod wait_for;

pub use wait_for::{WaitForAnalysed, wait_for};

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::explain::Explanation;
use crate::plot::{self, PlotError, Recorded};
use crate::report::{self, Arm};
use crate::store::{Event, RunFolder, RunInfo, StoreError, Summary, Timeline, WaitForFolder};
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
    /// The folder is neither of a run nor of a comparison.
    #[error("{path} has neither run.json nor comparison.json nor wait-for.json: it is no folder of results", path = path.display())]
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

/// Judges a run, and writes `summary.json`, `timeline.png` and `README.md` into its folder.
///
/// # Errors
/// When its files cannot be read or the new ones not written.
pub fn analyse(folder: RunFolder) -> Result<Analysed, AnalysisError> {
    let (run, timeline, events) = (folder.run()?, folder.timeline()?, folder.events()?);
    let summary = verdict::judge(&run, &timeline, &events);
    folder.save_summary(&summary)?;
    let analysed = Analysed { folder, run, timeline, events, summary };
    plot::timeline(&analysed.recorded(), &analysed.folder.plot_path())?;
    let explanation = analysed.explanation()?;
    let page = report::page(&analysed.run, &analysed.summary, &analysed.events, explanation.as_ref());
    write(&analysed.folder.page_path(), &page)?;
    Ok(analysed)
}

/// `comparison.json`: which runs a comparison is of.
#[derive(Debug, Serialize, Deserialize)]
struct Members {
    /// Their folders, relative to the comparison's.
    runs: Vec<PathBuf>,
}

/// Name of the file that makes a folder one of a comparison.
const MEMBERS: &str = "comparison.json";

/// Puts runs side by side in `folder`, which must be there: `comparison.json`, `.png`, `.csv` and `README.md`. Returns
/// what is to be said when they differ in more than one thing.
///
/// # Errors
/// When a file cannot be written.
pub fn compare(folder: &Path, runs: &[&Analysed]) -> Result<Option<String>, AnalysisError> {
    let folders: Vec<PathBuf> = runs.iter().map(|run| relative(run.folder.path(), folder)).collect();
    let members = serde_json::to_string_pretty(&Members { runs: folders.clone() });
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
    write(&folder.join("README.md"), &report::comparison(&arms))?;
    Ok(report::caution(&arms))
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
    /// A run of `wait-for`.
    WaitFor(Box<WaitForAnalysed>),
}

/// Judges and draws again what is in a folder of results: a run, or a comparison and all its runs.
///
/// # Errors
/// When it is neither, or its files cannot be read or written.
pub fn redraw(path: &Path) -> Result<Redrawn, AnalysisError> {
    let members = path.join(MEMBERS);
    if !members.exists() {
        if path.join(WaitForFolder::MARK).exists() {
            return Ok(Redrawn::WaitFor(Box::new(wait_for(WaitForFolder::at(path))?)));
        }
        if !path.join("run.json").exists() {
            return Err(AnalysisError::NoResults { path: path.to_owned() });
        }
        return Ok(Redrawn::Run(Box::new(analyse(RunFolder::at(path))?)));
    }
    let text = std::fs::read_to_string(&members).map_err(|source| unwritten(&members, source))?;
    let listed: Members = serde_json::from_str(&text).map_err(|error| unwritten(&members, error.into()))?;
    let runs: Vec<Analysed> =
        listed.runs.iter().map(|run| analyse(RunFolder::at(path.join(run)))).collect::<Result<_, _>>()?;
    compare(path, &runs.iter().collect::<Vec<_>>())?;
    Ok(Redrawn::Comparison(runs.len()))
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
    std::fs::write(path, text).map_err(|source| unwritten(path, source))
}

fn unwritten(path: &Path, source: std::io::Error) -> AnalysisError {
    AnalysisError::Write { path: path.to_owned(), source }
}
