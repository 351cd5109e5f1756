//! Carrying a sweep out.

use std::path::PathBuf;

use tokio_util::sync::CancellationToken;

use super::{Design, Record, Run, Status, SweepFolder, SweepFolderError};
use crate::analysis::{self, AnalysisError};
use crate::disk::Caps;
use crate::experiment::Ending;
use crate::human;
use crate::progress::Progress;
use crate::repro::{self, Arm, ArmError, Ground, Site, Teardown};
use crate::store::StoreError;

/// After so many runs in a row that broke, something is wrong that the next ones would meet as well.
const GIVE_UP_AFTER: usize = 3;

/// A whole sweep.
#[derive(Debug, Clone)]
pub struct Request {
    /// What is run.
    pub design: Design,
    /// The seed, if the user gave one.
    pub seed: Option<u64>,
    /// The arm of each point, in the order of the design.
    pub arms: Vec<Arm>,
    /// The sweep's folder.
    pub folder: PathBuf,
}

/// What came of a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Runs that are finished, those of earlier commands included.
    pub finished: usize,
    /// Runs that broke in this command.
    pub broken: usize,
    /// Runs that are still to be made.
    pub pending: usize,
    /// Did the user stop it.
    pub interrupted: bool,
    /// Why it was given up, if it was: what broke the last run.
    pub given_up: Option<String>,
}

/// Why a sweep could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// Its folder.
    #[error(transparent)]
    Folder(#[from] SweepFolderError),
    /// What all points share could not be got ready.
    #[error("getting ready")]
    Prepare(#[source] anyhow::Error),
    /// A run's file is not the lab's.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The page or the picture could not be made.
    #[error("summing the sweep up")]
    Analyse(#[from] AnalysisError),
}

/// Carries a sweep out, or what is left of it: gets ready, makes the runs one after the other, and sums up. A run that
/// breaks is noted and the next one is made. No more of a run is kept in memory than its row.
///
/// A cancelled `stop` ends the run under way and starts no other.
///
/// # Errors
/// When the folder is not the sweep's, getting ready fails, or a result cannot be written.
pub async fn sweep(
    site: &dyn Site,
    request: &Request,
    progress: &Progress,
    stop: &CancellationToken,
) -> Result<Outcome, SweepError> {
    let mut folder = SweepFolder::open(&request.folder, request.design.clone(), request.seed)?;
    let pending = folder.pending();
    let finished = folder.design().runs().count() - pending.len();
    if finished > 0 {
        progress.note(&format!("taken up again: {finished} runs are finished, {} are left", pending.len()));
    }
    let mut outcome =
        Outcome { finished, broken: 0, pending: pending.len(), interrupted: false, given_up: None };
    let grounds = match pending.as_slice() {
        [] => vec![],
        _ => match stop.run_until_cancelled(site.prepare(&request.arms, progress)).await {
            Some(Ok(grounds)) => grounds,
            failed => {
                site.abandon(progress).await;
                outcome.interrupted = failed.is_none();
                return match failed {
                    Some(Err(error)) => Err(SweepError::Prepare(error)),
                    _ => Ok(outcome),
                };
            }
        },
    };
    let mut in_a_row = 0;
    for (number, run) in pending.iter().enumerate() {
        let (Some(arm), Some(ground)) = (request.arms.get(run.point), grounds.get(run.point)) else {
            continue;
        };
        if stop.is_cancelled() {
            break;
        }
        progress.note(&format!(
            "run {} of {}: {}, repeat {}",
            number + 1,
            pending.len(),
            folder.design().point_in_words(run.point),
            run.repeat
        ));
        let record = carry_out(site, &folder, *run, arm, ground, progress, stop).await?;
        in_a_row = note(&record, in_a_row, &mut outcome, progress, stop);
        folder.add(record)?;
        if in_a_row == GIVE_UP_AFTER {
            outcome.given_up = folder.records().last().and_then(|record| record.problem.clone());
            break;
        }
    }
    outcome.interrupted = stop.is_cancelled();
    analysis::sum_up(&folder)?;
    Ok(outcome)
}

/// Counts a run; returns how many broke in a row.
fn note(
    record: &Record,
    in_a_row: usize,
    outcome: &mut Outcome,
    progress: &Progress,
    stop: &CancellationToken,
) -> usize {
    match (&record.problem, record.status) {
        (_, Status::Finished) => {
            outcome.finished += 1;
            outcome.pending -= 1;
            0
        }
        (problem, Status::Broken) => {
            outcome.broken += 1;
            let problem = problem.as_deref().unwrap_or("it cannot tell");
            progress.note(&format!("this run is broken: {problem}"));
            if stop.is_cancelled() { in_a_row } else { in_a_row + 1 }
        }
    }
}

/// Makes one run.
async fn carry_out(
    site: &dyn Site,
    folder: &SweepFolder,
    run: Run,
    arm: &Arm,
    ground: &Ground,
    progress: &Progress,
    stop: &CancellationToken,
) -> Result<Record, SweepError> {
    let design = folder.design();
    let arm = Arm { name: design.run_name(run, folder.tried(run)), ..arm.clone() };
    let request = repro::Request {
        profile_name: design.profile_name.clone(),
        arms: vec![],
        results: folder.path().to_owned(),
        caps: if design.capped { Caps::On } else { Caps::Off },
        teardown: Teardown::Remove,
        command_line: design.command_line.clone(),
    };
    let stopped = || "stopped by the user".to_owned();
    Ok(match repro::run_arm(site, &request, &arm, ground, progress, stop).await {
        Ok(Some(ran)) => {
            let problem = (ran.ending == Ending::Interrupted).then(stopped);
            Record::of(run, &ran.analysed, folder.path(), problem)?
        }
        Ok(None) => Record::broken(run, folder.folder_of(&arm.name), stopped()),
        // It holds its causes itself.
        Err(error @ ArmError::Experiment { .. }) => {
            Record::broken(run, folder.folder_of(&arm.name), error.to_string())
        }
        Err(error) => Record::broken(run, folder.folder_of(&arm.name), human::in_full(&error)),
    })
}
