//! The experiment: a sequence of phases on a lab that somebody else has set up.
//!
//! What happens here is told by two files, the timeline and the events, and by nothing else: the verdict is another
//! room's. The loop knows no Docker and no SQL; everything it waits for is a state of the sampled rows, with a
//! deadline.

mod lab;
mod phases;
mod recorder;
mod recovery;
#[cfg(test)]
mod tests;

pub use lab::{FaultReport, Finding, Lab, Severity};
pub(crate) use recorder::record;
pub use recorder::{EventRecorder, SharedRow};

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::human::in_full;
use crate::measure::{Clock, Sampler};
use crate::profile::Profile;
use crate::store::{EventKind, Phase, RunFolder, StoreError};
use phases::{Experiment, Halt};

/// How long opening the monitoring connections and asking each its first question may take.
const OPENING: Duration = Duration::from_secs(300);

/// How an experiment ended, when nothing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All phases ran.
    Completed,
    /// A deadline passed, or something disqualified the run; `events.csv` says what.
    GaveUp,
    /// The user stopped it.
    Interrupted,
}

/// Why an experiment failed.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The lab could not do what a phase needs.
    #[error("phase {}: {doing}", phase.name())]
    Lab {
        /// The phase.
        phase: Phase,
        /// What was being done.
        doing: &'static str,
        /// Why it could not be.
        source: anyhow::Error,
    },
    /// A file of the run could not be made or added to.
    #[error("the run cannot be recorded")]
    Store(#[from] StoreError),
}

/// Runs the experiment and writes `timeline.csv` and `events.csv` as it goes.
///
/// `rows` is sent every row when it is made. A cancelled `stop` ends the run at once, with a valid result.
///
/// # Errors
/// When the lab fails or a file cannot be written; what was recorded until then stays, with the reason as its last
/// event.
pub async fn run(
    lab: &dyn Lab,
    profile: &Profile,
    folder: &RunFolder,
    clock: Clock,
    rows: &watch::Sender<SharedRow>,
    stop: &CancellationToken,
) -> Result<Ending, ExperimentError> {
    let mut events = EventRecorder::create(folder, clock)?;
    let (phase, phase_seen) = watch::channel(Phase::Settle);
    let Some(opened) = stop.run_until_cancelled(timeout(OPENING, lab.sources())).await else {
        events.record(EventKind::Interrupted, None, None, "stopped by the user")?;
        return Ok(Ending::Interrupted);
    };
    let opened = opened.unwrap_or_else(|_| Err(anyhow::anyhow!("not done after {OPENING:?}")));
    let sources = opened.map_err(|source| ExperimentError::Lab {
        phase: Phase::Settle,
        doing: "opening the monitoring connections",
        source,
    });
    if let Err(error) = &sources {
        events.record(EventKind::Disqualified, None, None, in_full(error))?;
    }
    let sources = sources?;
    let sampler = Sampler::new(clock, lab.primary(), sources);
    let mut experiment = Experiment::new(lab, profile, events, phase, rows.subscribe(), stop);
    // What the load does after the last phase is no part of the run: nothing is recorded any more.
    let outcome = tokio::select! {
        outcome = experiment.conduct() => outcome,
        error = recorder::record(sampler, folder, phase_seen, rows) => Err(Halt::Failed(error)),
    };
    experiment.conclude(outcome).await
}
