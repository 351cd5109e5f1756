//! `stall-lab repro`: every arm from one loaded database, then side by side.

mod arm;
#[cfg(test)]
mod mishaps;
mod request;
mod servers;
mod site;
#[cfg(test)]
mod tests;

pub(crate) use arm::fresh_run_id;
pub use arm::{ArmError, ArmOutcome, run_arm};
pub use request::{Arm, ArmsError, Expectation, Request, Teardown};
pub use servers::server_names;
pub use site::{ArmOrder, Ground, Raised, Site};

use std::path::PathBuf;

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::analysis::{self, AnalysisError};
use crate::experiment::Ending;
use crate::progress::Progress;
use crate::report;
use crate::store::StoreError;

/// What came of a request.
#[derive(Debug)]
pub struct Outcome {
    /// The arms that ran, in order.
    pub arms: Vec<ArmOutcome>,
    /// Folder of the comparison, if there was more than one arm to compare.
    pub comparison: Option<PathBuf>,
    /// Did the user stop it.
    pub interrupted: bool,
}

impl Outcome {
    /// Where the arms are not what was expected of them: one line each.
    #[must_use]
    pub fn surprises(&self, expectations: &[Expectation]) -> Vec<String> {
        self.arms
            .iter()
            .flat_map(|arm| expectations.iter().map(move |expectation| (arm, expectation)))
            .filter(|(arm, expectation)| expectation.covers(&arm.analysed.run.arm))
            .filter(|(arm, expectation)| arm.analysed.summary.verdict != expectation.verdict)
            .map(|(arm, expectation)| {
                let (name, verdict) = (&arm.analysed.run.arm, arm.analysed.summary.verdict);
                format!("{name}: expected {}, got {verdict}", expectation.verdict)
            })
            .collect()
    }
}

/// Why a request could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum ReproError {
    /// What all arms share could not be got ready.
    #[error("getting ready")]
    Prepare(#[source] anyhow::Error),
    /// An arm failed.
    #[error(transparent)]
    Arm(#[from] ArmError),
    /// The comparison could not be made.
    #[error("comparing the arms")]
    Compare(#[source] AnalysisError),
    /// A folder could not be made.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Carries out a request: gets ready, runs the arms one after the other, compares them.
///
/// A cancelled `stop` ends the arm under way with a valid result and starts no other.
///
/// # Errors
/// When getting ready fails, or an arm does; the arms before it stay as they are.
pub async fn repro(
    site: &dyn Site,
    request: &Request,
    progress: &Progress,
    stop: &CancellationToken,
) -> Result<Outcome, ReproError> {
    let mut outcome = Outcome { arms: vec![], comparison: None, interrupted: true };
    let grounds = match stop.run_until_cancelled(site.prepare(&request.arms, progress)).await {
        Some(Ok(grounds)) => grounds,
        failed => {
            site.abandon(progress).await;
            return match failed {
                Some(Err(error)) => Err(ReproError::Prepare(error)),
                _ => Ok(outcome),
            };
        }
    };
    for (arm, ground) in request.arms.iter().zip(&grounds) {
        if stop.is_cancelled() {
            return Ok(outcome);
        }
        let Some(ran) = run_arm(site, request, arm, ground, progress, stop).await? else {
            return Ok(outcome);
        };
        let interrupted = ran.ending == Ending::Interrupted;
        outcome.arms.push(ran);
        if interrupted {
            return Ok(outcome);
        }
    }
    outcome.interrupted = false;
    if outcome.arms.len() > 1 {
        outcome.comparison = Some(compare(request, &outcome.arms)?);
    }
    Ok(outcome)
}

fn compare(request: &Request, arms: &[ArmOutcome]) -> Result<PathBuf, ReproError> {
    let folder = request.results.join(&request.profile_name).join(comparison_name(Timestamp::now()));
    std::fs::create_dir_all(&folder)
        .map_err(|source| ReproError::Store(StoreError::Io { path: folder.clone(), source }))?;
    let runs: Vec<_> = arms.iter().map(|arm| &arm.analysed).collect();
    let on_purpose = on_purpose(&request.arms);
    analysis::compare(&folder, &runs, &on_purpose).map_err(ReproError::Compare)?;
    Ok(folder)
}

/// What the arms of a request are asked to differ in, as a comparison calls it.
fn on_purpose(arms: &[Arm]) -> Vec<String> {
    let profiles: Vec<_> = arms.iter().map(|arm| &arm.profile).collect();
    let mut varied = report::varied(&profiles);
    if arms.iter().any(|arm| Some(&arm.server) != arms.first().map(|first| &first.server)) {
        varied.push(report::SERVER.to_owned());
    }
    varied
}

/// Name of the folder of a comparison made at this time.
#[must_use]
pub fn comparison_name(time: Timestamp) -> String {
    format!("{}-comparison", utc_name(time))
}

/// A time as the name of a folder: `20261130T191500Z`.
pub(crate) fn utc_name(time: Timestamp) -> String {
    time.strftime("%Y%m%dT%H%M%SZ").to_string()
}
