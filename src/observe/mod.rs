//! `stall-lab observe`: the record of a run, of servers that the lab did not build.
//!
//! The lab's own sampler asks them over SQL alone, and changes nothing, unless it is asked to write itself. Where what
//! broke is not its doing, the user marks it, or the record's longest stretch without a commit is what it is about. The
//! files are those of a run, and are judged and drawn as such.

mod disk;
mod probe;
mod servers;
mod session;
#[cfg(test)]
mod tests;
mod watcher;

pub use disk::DiskCommand;

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::analysis::{self, Analysed, AnalysisError};
use crate::experiment::{Ending, ExperimentError};
use crate::measure::Clock;
use crate::postgres::{Endpoint, OwnStatements, PostgresError};
use crate::profile::PRIMARY;
use crate::progress::{Progress, View};
use crate::repro::{fresh_run_id, utc_name};
use crate::store::{RunFolder, RunInfo, StoreError, Subject};
use servers::Servers;
use session::{Session, Watched};

/// What stands for a profile's and an arm's name.
const OBSERVED: &str = "observed";

/// What the user asked for.
#[derive(Debug)]
pub struct Request {
    /// The primary; its name is [`PRIMARY`].
    pub primary: Endpoint,
    /// The standbys, each named as its columns are.
    pub standbys: Vec<Endpoint>,
    /// How long to watch.
    pub length: Duration,
    /// From how long on a stretch without a commit is called a stall.
    pub stall_after: Duration,
    /// Writes of the lab's own.
    pub probe: Option<ProbeRate>,
    /// Commands that tell of disks.
    pub disks: Vec<DiskCommand>,
    /// Where the record goes.
    pub out: Out,
    /// The command as it was typed, less what is nobody's business.
    pub command_line: Vec<String>,
}

/// Where a record goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Out {
    /// Into this folder, which has no record yet.
    Folder(PathBuf),
    /// Into one of its own below this one, by its time.
    Below(PathBuf),
}

/// How often the lab writes, and how long each write may take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProbeRate {
    /// Writes a second.
    pub per_s: f64,
    /// After which time one is cancelled.
    pub deadline: Duration,
}

/// Writes a second: `5/s`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PerSecond(pub f64);

impl FromStr for PerSecond {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rate = text.strip_suffix("/s").and_then(|rate| rate.parse::<f64>().ok());
        // Fewer, and a second without one is no news; more are a load.
        rate.filter(|rate| (1.0..=100.0).contains(rate))
            .map(Self)
            .ok_or_else(|| "it is from 1/s to 100/s, as in 5/s".to_owned())
    }
}

/// "It happens now", said by the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// When.
    pub at: Instant,
    /// How: "Enter", "SIGUSR1".
    pub by: &'static str,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// The record, and what it shows.
    pub analysed: Analysed,
    /// How watching ended.
    pub ending: Ending,
    /// What is left behind, and what to do about it.
    pub left_behind: Option<String>,
}

/// Why servers could not be watched.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// One lets nobody in, or does not say what it is. At the start each has to, so that it is known what it can tell.
    #[error("at the start every server has to answer once")]
    Meet(#[from] PostgresError),
    /// The primary is none.
    #[error("--primary: the server at {place} is a standby (pg_is_in_recovery)")]
    NoPrimary {
        /// Where it is.
        place: String,
    },
    /// A standby is none.
    #[error("--standby: the server at {place} is no standby (pg_is_in_recovery)")]
    NoStandby {
        /// Where it is.
        place: String,
    },
    /// One does not know what is asked every second.
    #[error("{node}: the first question")]
    Ask {
        /// The node.
        node: String,
        /// Why.
        source: anyhow::Error,
    },
    /// The probe's table cannot be made.
    #[error("--probe: the role needs a schema in its search_path in which it may make a table")]
    Probe(#[source] PostgresError),
    /// The record could not be written to its end.
    #[error("{}\nwhat was recorded until then is in {folder}", crate::human::in_full(source))]
    Record {
        /// Where it is.
        folder: String,
        /// Why.
        source: ExperimentError,
    },
    /// A file could not be made.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The result could not be made of the record.
    #[error("the record could not be judged")]
    Analyse(#[from] AnalysisError),
}

/// Watches until the time is over or there is a `stop`, and judges what it saw. None when the user stopped it before
/// there was anything to judge.
///
/// # Errors
/// When a server cannot be asked at the start, or a file not be written. A server that goes away later costs its own
/// cells and is looked for again.
pub async fn observe(
    request: Request,
    mut marks: mpsc::Receiver<Mark>,
    progress: &Progress,
    stop: &CancellationToken,
) -> Result<Option<Outcome>, ObserveError> {
    progress.step("asking the servers what they are");
    let Some(servers) = stop.run_until_cancelled(Servers::meet(&request)).await else { return Ok(None) };
    let servers = servers?;
    servers.cautions().iter().for_each(|caution| progress.note(caution));
    let started = Timestamp::now();
    let own = Arc::new(OwnStatements::default());
    let Some(sources) = stop.run_until_cancelled(servers.sources(&request, &own, progress)).await else {
        return Ok(None);
    };
    let sources = sources?;
    let folder = folder(&request.out, started)?;
    let run = run_info(&request, &servers, started);
    folder.save_run(&run)?;
    // Last, so that nothing that fails before it leaves a table behind; it ends by itself and is not cut short.
    let probe = servers.probe(&request, &run.run_id, &own).await?;

    progress.step(&format!("watching for {}", crate::human::seconds(request.length.as_secs_f64())));
    let (rows, newest) = watch::channel(None);
    let standbys: Vec<String> = run.standbys().map(|node| node.name.clone()).collect();
    let view = View {
        primary: PRIMARY.to_owned(),
        standbys: standbys.iter().map(|name| (name.clone(), None)).collect(),
        faulted: run.faulted().to_owned(),
    };
    let following = progress.follow(newest, view);
    let session = Session { primary: PRIMARY.to_owned(), standbys, sources, probe, length: request.length };
    let watched = session.watch(&folder, Clock::start(), &rows, &mut marks, stop).await;
    following.finish();
    progress.step("judging and drawing");
    let path = folder.path().display().to_string();
    let analysed = analysis::analyse(folder);
    let Watched { ending, left_behind } =
        watched.map_err(|source| ObserveError::Record { folder: path, source })?;
    Ok(Some(Outcome { analysed: analysed?, ending, left_behind }))
}

fn folder(out: &Out, started: Timestamp) -> Result<RunFolder, StoreError> {
    match out {
        Out::Folder(path) => RunFolder::create_at(path),
        Out::Below(results) => RunFolder::create(results, OBSERVED, &utc_name(started)),
    }
}

fn run_info(request: &Request, servers: &Servers, started: Timestamp) -> RunInfo {
    RunInfo {
        schema: RunInfo::SCHEMA,
        run_id: fresh_run_id(started),
        profile_name: OBSERVED.to_owned(),
        arm: OBSERVED.to_owned(),
        started,
        command_line: request.command_line.clone(),
        lab_version: env!("CARGO_PKG_VERSION").to_owned(),
        git_revision: option_env!("STALL_LAB_GIT_REVISION").map(str::to_owned),
        capped: None,
        subject: Subject::Observed(servers.observed(request)),
        server: servers.server(),
        platform: None,
        nodes: servers.nodes(),
    }
}
