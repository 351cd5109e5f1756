//! The files of `stall-lab wait-for`: `results/wait-for/<UTC time>/`.
//!
//! The parts write raw rows, one file each; summary, plots and page are made of those. An empty cell is a figure that
//! is not known.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::folder::{read_json, save_json};
use super::{NodeInfo, Platform, RunFolder, Server, StoreError};
use crate::wait_for::{Estimate, Request};

/// `wait-for.json`: what was run, on what. Saved before the start; holds no secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitForInfo {
    /// Version of the files' layout.
    pub schema: u32,
    /// Label of everything the run made.
    pub run_id: String,
    /// When it was started.
    pub started: Timestamp,
    /// The command as it was typed.
    pub command_line: Vec<String>,
    /// Version of the lab.
    pub lab_version: String,
    /// Git revision the lab was built from, if known.
    pub git_revision: Option<String>,
    /// Was the lab built with debug assertions: its client is slow then.
    pub debug_build: bool,
    /// What was asked for, the seed of all random orders included.
    pub request: Request,
    /// The server.
    pub server: Server,
    /// Where it ran.
    pub platform: Platform,
    /// CPUs that each node may use.
    pub node_cpus: f64,
    /// Threads that the clients ran on.
    pub client_threads: usize,
    /// The nodes, the primary first.
    pub nodes: Vec<NodeInfo>,
    /// Parts that ended, by name; what is missing was stopped or failed.
    pub finished: Vec<String>,
}

impl WaitForInfo {
    /// Version of the layout this lab writes.
    pub const SCHEMA: u32 = 1;
}

/// A row of `latency.csv`: one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Place in the order in which trials were made, from 1.
    pub order: u32,
    /// Round that it belongs to, from 1.
    pub repeat: u32,
    /// Name of the method; `round-trip` for an empty query on the standby.
    pub method: String,
    /// Time of the insert and its commit on the primary, milliseconds.
    pub insert_ms: Option<f64>,
    /// Time of the question for its LSN, milliseconds.
    pub lsn_ms: Option<f64>,
    /// From when the client knew the LSN to when it knew that it is there, milliseconds.
    pub wait_ms: f64,
    /// Questions that the wait took.
    pub queries: u32,
    /// Time of the wait that was slept, milliseconds.
    pub slept_ms: f64,
}

/// A row of `load.csv`: one window of load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadWindow {
    /// Place in the order in which windows were run, from 1.
    pub order: u32,
    /// Round, from 1.
    pub repeat: u32,
    /// `closed`: each worker begins when it has ended the one before. `open`: they begin at a rate.
    pub shape: String,
    /// Name of the method.
    pub method: String,
    /// Sessions that insert and wait.
    pub workers: u32,
    /// Operations a second that were due, of an open loop.
    pub rate_per_s: Option<f64>,
    /// Length of the window, seconds.
    pub window_s: f64,
    /// Inserts whose wait ended in the window.
    pub completions: u64,
    /// Median time of insert, LSN and wait, milliseconds; of an open loop from when it was due.
    pub p50_ms: Option<f64>,
    /// 95th percentile of the same.
    pub p95_ms: Option<f64>,
    /// 99th percentile of the same.
    pub p99_ms: Option<f64>,
    /// The longest.
    pub max_ms: Option<f64>,
    /// Median time of the wait alone, milliseconds.
    pub wait_p50_ms: Option<f64>,
    /// 99th percentile of the wait alone.
    pub wait_p99_ms: Option<f64>,
    /// Queries that the standby answered in the window.
    pub standby_queries: u64,
    /// CPU seconds that the standby's container used.
    pub standby_cpu_s: Option<f64>,
    /// The most in one second of the window, percent of one CPU.
    pub standby_cpu_peak_pct: Option<f64>,
    /// CPU seconds that the primary's container used.
    pub primary_cpu_s: Option<f64>,
    /// CPU seconds that the lab used.
    pub client_cpu_s: Option<f64>,
    /// Share of the machine's CPUs that was busy with anything, 0 to 1.
    pub machine_busy: Option<f64>,
}

/// A row of `wake.csv`: one waiter's return.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WakeReturn {
    /// How many waited.
    pub waiters: u32,
    /// Round, from 1.
    pub round: u32,
    /// Which of them, from 1.
    pub waiter: u32,
    /// From the write on the primary, when it was sent, to the waiter's answer, milliseconds.
    pub returned_ms: f64,
    /// The wait event that `pg_stat_activity` showed of the waiters: `IPC/WaitForWalReplay`.
    pub wait_event: String,
}

/// A row of `refusals.csv`: what the server answered in one case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Name of the case.
    pub case: String,
    /// Role of the server.
    pub role: String,
    /// With `NO_THROW`.
    pub no_throw: bool,
    /// SQLSTATE of the error; empty if there was none.
    pub sqlstate: String,
    /// The row that was returned: `success`, `timeout`, `not in recovery`; empty with an error.
    pub status: String,
    /// The wait event that was seen meanwhile, of cases that wait.
    pub wait_event: String,
    /// How long it waited before somebody ended it, milliseconds; of cases that wait without end.
    pub waited_ms: Option<u64>,
    /// The error's message.
    pub message: String,
    /// Its detail.
    pub detail: String,
    /// Its hint.
    pub hint: String,
    /// What was run, with the case's own LSN and pids.
    pub sql: String,
}

/// `summary.json`. A figure that is not known is null.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitForSummary {
    /// `server_version`, as in `19rc1 (Debian 19~rc1-1)`.
    pub server_version: String,
    /// Was anything concluded: not from pre-releases before 19rc1, nor without `WAIT FOR`.
    pub conclusive: bool,
    /// Median time of an empty query on the standby, milliseconds.
    pub empty_round_trip_ms: Option<f64>,
    /// One wait, by method, and by round; `repeat` is null for all rounds together.
    pub latency: Vec<LatencySummary>,
    /// Load, by window.
    pub load: Vec<LoadSummary>,
    /// `wait-for` over `busy-poll`, each pair of one round.
    pub ratios: Vec<LoadRatio>,
    /// Many waiters on one LSN.
    pub wake: Vec<WakeSummary>,
    /// What the server refuses.
    pub refusals: Vec<RefusalSummary>,
}

/// Figures of one method's trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencySummary {
    /// Name of the method.
    pub method: String,
    /// Round; null for all.
    pub repeat: Option<u32>,
    /// How many trials.
    pub trials: usize,
    /// The shortest, milliseconds.
    pub min_ms: f64,
    /// The median.
    pub median_ms: f64,
    /// 95 % bootstrap interval of the median.
    pub median_interval_ms: Option<[f64; 2]>,
    /// The median of the time from the commit's return, so with the question for the LSN; null for a round trip.
    pub from_commit_median_ms: Option<f64>,
    /// The mean.
    pub mean_ms: f64,
    /// 95 % bootstrap interval of the mean.
    pub mean_interval_ms: Option<[f64; 2]>,
    /// 95th percentile.
    pub p95_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// The longest.
    pub max_ms: f64,
    /// Mean number of questions.
    pub queries_mean: f64,
    /// Mean time slept, milliseconds.
    pub slept_mean_ms: f64,
    /// An empty round trip's share of the median, 0 to 1.
    pub round_trip_share: Option<f64>,
}

/// Figures of one window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadSummary {
    /// Name of the method.
    pub method: String,
    /// Sessions.
    pub workers: u32,
    /// Round.
    pub repeat: u32,
    /// `closed` or `open`.
    pub shape: String,
    /// Operations a second that were due, of an open loop.
    pub rate_per_s: Option<f64>,
    /// Inserts whose wait ended, a second.
    pub completions_per_s: f64,
    /// CPU time of the standby for each, microseconds.
    pub cpu_us_per_completion: Option<f64>,
    /// CPU of the standby, percent of one CPU.
    pub cpu_mean_pct: Option<f64>,
    /// The most in one second.
    pub cpu_peak_pct: Option<f64>,
    /// CPU of the client, percent of one CPU.
    pub client_cpu_pct: Option<f64>,
    /// CPU of the primary, percent of one CPU.
    pub primary_cpu_pct: Option<f64>,
    /// Share of the machine's CPUs that was busy, percent of all of them.
    pub machine_busy_pct: Option<f64>,
    /// CPU that neither client nor servers used, percent of one CPU: other programs, and what the kernel does for disk and
    /// network in its own threads.
    pub other_cpu_pct: Option<f64>,
    /// Was the client what limited the figures; null where its CPU is not known.
    pub client_bound: Option<bool>,
    /// Queries a second that the standby answered.
    pub standby_queries_per_s: f64,
    /// Median of insert, LSN and wait, milliseconds.
    pub p50_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
    /// The longest.
    pub max_ms: Option<f64>,
    /// Median of the wait alone.
    pub wait_p50_ms: Option<f64>,
    /// 99th percentile of the wait alone.
    pub wait_p99_ms: Option<f64>,
}

/// `wait-for` against `busy-poll` with as many workers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadRatio {
    /// `closed` or `open`.
    pub shape: String,
    /// Sessions.
    pub workers: u32,
    /// Rounds that had both.
    pub rounds: usize,
    /// Completions a second, as a ratio.
    pub completions_per_s: Estimate,
    /// Standby's CPU for each completion, as a ratio.
    pub cpu_us_per_completion: Option<Estimate>,
    /// Standby's mean CPU, as a ratio.
    pub cpu_mean: Option<Estimate>,
}

/// How far apart waiters on one LSN return.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WakeSummary {
    /// How many waited.
    pub waiters: u32,
    /// Rounds.
    pub rounds: usize,
    /// From the first return to the last, milliseconds; the median of the rounds.
    pub spread_ms: f64,
    /// The same, of the worst round.
    pub spread_max_ms: f64,
    /// Standard deviation of the returns, milliseconds; the median of the rounds.
    pub stddev_ms: f64,
    /// From the write to the first return, milliseconds; the median of the rounds.
    pub first_ms: f64,
    /// The wait event that was seen of them.
    pub wait_event: String,
}

/// One case, and whether it is as expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalSummary {
    /// Name of the case.
    pub case: String,
    /// Role of the server.
    pub role: String,
    /// With `NO_THROW`.
    pub no_throw: bool,
    /// SQLSTATE of the error; empty if there was none.
    pub sqlstate: String,
    /// The row that was returned; empty with an error.
    pub status: String,
    /// Is it what this version is expected to answer; null where there is no expectation.
    pub as_expected: Option<bool>,
}

/// The folder of a run of `wait-for`.
#[derive(Debug, Clone)]
pub struct WaitForFolder {
    folder: RunFolder,
}

/// All rows of a folder.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WaitForRows {
    /// `latency.csv`
    pub latency: Vec<Trial>,
    /// `load.csv`
    pub load: Vec<LoadWindow>,
    /// `wake.csv`
    pub wake: Vec<WakeReturn>,
    /// `refusals.csv`
    pub refusals: Vec<Refusal>,
}

impl WaitForFolder {
    /// Name of the file that makes a folder one of `wait-for`.
    pub const MARK: &'static str = "wait-for.json";

    /// Makes `results/wait-for/<name>` and points `latest` at it.
    ///
    /// # Errors
    /// When it is there already or cannot be made.
    pub fn create(results: &Path, name: &str) -> Result<Self, StoreError> {
        Ok(Self { folder: RunFolder::create(results, "wait-for", name)? })
    }

    /// The folder at this path; nothing is read yet.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { folder: RunFolder::at(path) }
    }

    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// `README.md`
    #[must_use]
    pub fn page_path(&self) -> PathBuf {
        self.folder.page_path()
    }

    /// `logs/`, made if it is not there.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn logs_path(&self) -> Result<PathBuf, StoreError> {
        self.folder.logs_path()
    }

    /// Saves `wait-for.json`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save_info(&self, info: &WaitForInfo) -> Result<(), StoreError> {
        save_json(&self.path().join(Self::MARK), info)
    }

    /// Reads `wait-for.json`.
    ///
    /// # Errors
    /// When it is missing, not the lab's, or newer than this lab.
    pub fn info(&self) -> Result<WaitForInfo, StoreError> {
        let path = self.path().join(Self::MARK);
        let value: serde_json::Value = read_json(&path)?;
        let schema = value.get("schema").and_then(serde_json::Value::as_u64);
        if let Some(found) = schema.filter(|found| *found > u64::from(WaitForInfo::SCHEMA)) {
            return Err(StoreError::Newer { path, found, known: WaitForInfo::SCHEMA });
        }
        serde_json::from_value(value).map_err(StoreError::json(&path))
    }

    /// Saves `summary.json`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save_summary(&self, summary: &WaitForSummary) -> Result<(), StoreError> {
        save_json(&self.path().join("summary.json"), summary)
    }

    /// Reads `summary.json`.
    ///
    /// # Errors
    /// When it is missing or not the lab's.
    pub fn summary(&self) -> Result<WaitForSummary, StoreError> {
        read_json(&self.path().join("summary.json"))
    }

    /// Saves `latency.csv`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save_latency(&self, trials: &[Trial]) -> Result<(), StoreError> {
        save_rows(&self.path().join("latency.csv"), trials)
    }

    /// Saves `load.csv`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save_load(&self, windows: &[LoadWindow]) -> Result<(), StoreError> {
        save_rows(&self.path().join("load.csv"), windows)
    }

    /// Saves `wake.csv`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save_wake(&self, returns: &[WakeReturn]) -> Result<(), StoreError> {
        save_rows(&self.path().join("wake.csv"), returns)
    }

    /// Saves `refusals.csv`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save_refusals(&self, refusals: &[Refusal]) -> Result<(), StoreError> {
        save_rows(&self.path().join("refusals.csv"), refusals)
    }

    /// Reads the rows of whatever parts there are.
    ///
    /// # Errors
    /// When a file is not the lab's.
    pub fn rows(&self) -> Result<WaitForRows, StoreError> {
        Ok(WaitForRows {
            latency: rows(&self.path().join("latency.csv"))?,
            load: rows(&self.path().join("load.csv"))?,
            wake: rows(&self.path().join("wake.csv"))?,
            refusals: rows(&self.path().join("refusals.csv"))?,
        })
    }
}

fn save_rows<T: Serialize>(path: &Path, rows: &[T]) -> Result<(), StoreError> {
    let mut csv = csv::Writer::from_path(path).map_err(StoreError::csv(path))?;
    rows.iter().try_for_each(|row| csv.serialize(row)).map_err(StoreError::csv(path))?;
    csv.flush().map_err(StoreError::io(path))
}

/// The rows of a file; none of one that is not there.
fn rows<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, StoreError> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let mut csv = csv::Reader::from_path(path).map_err(StoreError::csv(path))?;
    csv.deserialize().collect::<Result<_, _>>().map_err(StoreError::csv(path))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn rows_are_read_back_as_written_and_a_missing_figure_stays_missing() {
        let dir = tempfile::tempdir().unwrap();
        let folder = WaitForFolder::at(dir.path());
        assert_eq!(folder.rows().unwrap(), WaitForRows::default());
        let trial = Trial {
            order: 1,
            repeat: 2,
            method: "round-trip".to_owned(),
            insert_ms: None,
            lsn_ms: Some(0.25),
            wait_ms: 0.125,
            queries: 1,
            slept_ms: 0.0,
        };
        folder.save_latency(std::slice::from_ref(&trial)).unwrap();
        let refusal = Refusal {
            case: "garbage-lsn".to_owned(),
            role: "standby".to_owned(),
            no_throw: true,
            sqlstate: "22P02".to_owned(),
            status: String::new(),
            wait_event: String::new(),
            waited_ms: None,
            message: "invalid input syntax, \"x\"".to_owned(),
            detail: String::new(),
            hint: String::new(),
            sql: "WAIT FOR LSN 'x'".to_owned(),
        };
        folder.save_refusals(std::slice::from_ref(&refusal)).unwrap();
        let rows = folder.rows().unwrap();
        assert_eq!((rows.latency, rows.refusals), (vec![trial], vec![refusal]));
    }
}
