//! One arm, from an empty folder to its page.

use jiff::Timestamp;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{Arm, ArmOrder, Ground, Raised, Request, Site, Teardown, utc_name};
use crate::analysis::{self, Analysed, AnalysisError};
use crate::disk::Caps;
use crate::experiment::{self, Ending, ExperimentError};
use crate::measure::Clock;
use crate::profile::{Iops, Profile};
use crate::progress::{Progress, View};
use crate::store::{NodeInfo, Role, RunFolder, RunInfo, StoreError, Subject};
use crate::wal::{Ranges, StandbySettings};

/// An arm that was run and judged.
#[derive(Debug)]
pub struct ArmOutcome {
    /// Its files, and what they show.
    pub analysed: Analysed,
    /// How it ended.
    pub ending: Ending,
}

/// Why an arm failed.
#[derive(Debug, thiserror::Error)]
pub enum ArmError {
    /// Its lab could not be set up.
    #[error("{arm}: setting up the nodes")]
    Raise {
        /// The arm.
        arm: String,
        /// Why.
        source: anyhow::Error,
    },
    /// The experiment failed; what was recorded is in the folder.
    #[error("{arm}: {}\nwhat was recorded until then is in {folder}", crate::human::in_full(source))]
    Experiment {
        /// The arm.
        arm: String,
        /// Where its files are.
        folder: String,
        /// Why.
        source: ExperimentError,
    },
    /// A file could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The result could not be made of the files.
    #[error("{arm}: the run could not be judged")]
    Analyse {
        /// The arm.
        arm: String,
        /// Why.
        source: AnalysisError,
    },
}

/// Runs an arm. None when the user stopped it before there was anything to judge.
///
/// # Errors
/// When it cannot be set up, or its experiment or its result fails; what was recorded stays in its folder.
pub async fn run_arm(
    site: &dyn Site,
    request: &Request,
    arm: &Arm,
    ground: &Ground,
    progress: &Progress,
    stop: &CancellationToken,
) -> Result<Option<ArmOutcome>, ArmError> {
    let started = Timestamp::now();
    let name = format!("{}-{}", utc_name(started), arm.name);
    let folder = RunFolder::create(&request.results, &request.profile_name, &name)?;
    let mut info = run_info(request, arm, ground, started);
    // Before anything is made: whatever happens from here on, the folder says what was meant to be.
    folder.save_run(&info)?;
    let logs = folder.logs_path()?;
    let order = ArmOrder {
        run_id: info.run_id.clone(),
        profile: arm.profile.clone(),
        server: arm.server.clone(),
        caps: request.caps,
        logs,
    };

    let raised = match stop.run_until_cancelled(site.raise(order, progress)).await {
        Some(Ok(raised)) => raised,
        failed => {
            site.tear_down(&info.run_id, progress).await;
            return match failed {
                Some(Err(source)) => Err(ArmError::Raise { arm: arm.name.clone(), source }),
                _ => Ok(None),
            };
        }
    };
    let ending =
        conduct(&*raised, &arm.profile, site.start_clock(), &mut info, &folder, progress, stop).await;
    account_for_wal(&*raised, &info, &folder, progress, stop).await;
    if let Err(error) = raised.save_logs().await {
        progress.note(&format!("the servers' logs could not be saved: {error:#}"));
    }
    match request.teardown {
        Teardown::Keep => progress.note(&raised.how_to_connect()),
        Teardown::Remove => {
            drop(raised);
            site.tear_down(&info.run_id, progress).await;
        }
    }
    judge(arm, folder, ending, progress).map(Some)
}

/// Describes the nodes in `run.json` and runs the experiment on them.
async fn conduct(
    raised: &dyn Raised,
    profile: &Profile,
    clock: Clock,
    info: &mut RunInfo,
    folder: &RunFolder,
    progress: &Progress,
    stop: &CancellationToken,
) -> Result<Ending, ExperimentError> {
    match raised.describe().await {
        Ok(nodes) => info.nodes = nodes,
        Err(error) => progress.note(&format!("run.json lacks what the servers say of themselves: {error:#}")),
    }
    folder.save_run(info)?;
    progress.step(&format!("{}: the experiment", info.arm));
    let (rows, newest) = watch::channel(None);
    let standbys = info.standbys().map(|node| (node.name.clone(), node.read_iops_cap)).collect();
    let view = View { primary: info.primary().to_owned(), standbys, faulted: info.faulted().to_owned() };
    let _following = progress.follow(newest, view);
    experiment::run(raised, profile, folder, clock, &rows, stop).await
}

/// Writes `wal.json` while the WAL is still there. A run is worth as much without: what fails is told and no more.
async fn account_for_wal(
    raised: &dyn Raised,
    info: &RunInfo,
    folder: &RunFolder,
    progress: &Progress,
    stop: &CancellationToken,
) {
    let (Ok(timeline), Ok(events)) = (folder.timeline(), folder.events()) else { return };
    let Some(ranges) = Ranges::of(info.faulted(), &timeline, &events) else { return };
    if stop.is_cancelled() {
        return;
    }
    progress.step(&format!("{}: accounting for the WAL", info.arm));
    let model = StandbySettings::of_run(info, info.faulted()).model;
    let account = raised.account_for_wal(&ranges, model, progress, stop).await;
    let saved = account.and_then(|account| Ok(folder.save_wal(&account)?));
    if let Err(error) = saved {
        progress
            .note(&format!("the WAL could not be accounted for, so `explain` cannot tell why: {error:#}"));
    }
}

fn judge(
    arm: &Arm,
    folder: RunFolder,
    ending: Result<Ending, ExperimentError>,
    progress: &Progress,
) -> Result<ArmOutcome, ArmError> {
    progress.step(&format!("{}: judging and drawing", arm.name));
    let path = folder.path().display().to_string();
    let analysed = analysis::analyse(folder);
    // The experiment's error says more than that its files are not whole.
    let ending =
        ending.map_err(|source| ArmError::Experiment { arm: arm.name.clone(), folder: path, source })?;
    let analysed = analysed.map_err(|source| ArmError::Analyse { arm: arm.name.clone(), source })?;
    Ok(ArmOutcome { analysed, ending })
}

fn run_info(request: &Request, arm: &Arm, ground: &Ground, started: Timestamp) -> RunInfo {
    let profile = &arm.profile;
    let standbys =
        profile.standby.iter().map(|standby| (standby.name.as_str(), Role::Standby, &standby.machine));
    let nodes = std::iter::once((crate::profile::PRIMARY, Role::Primary, &profile.primary)).chain(standbys);
    let cap = |iops: Iops| iops.cap().filter(|_| request.caps == Caps::On);
    RunInfo {
        schema: RunInfo::SCHEMA,
        run_id: fresh_run_id(started),
        profile_name: request.profile_name.clone(),
        arm: arm.name.clone(),
        started,
        command_line: request.command_line.clone(),
        lab_version: env!("CARGO_PKG_VERSION").to_owned(),
        git_revision: option_env!("STALL_LAB_GIT_REVISION").map(str::to_owned),
        capped: Some(request.caps == Caps::On),
        subject: Subject::Profile(Box::new(profile.clone())),
        server: ground.server.clone(),
        platform: Some(ground.platform.clone()),
        nodes: nodes
            .map(|(name, role, machine)| NodeInfo {
                name: name.to_owned(),
                role,
                read_iops_cap: cap(machine.read_iops),
                write_iops_cap: cap(machine.write_iops),
                cap_proof: None,
                read_ahead_kb: None,
                settings: [].into(),
                defaults: [].into(),
            })
            .collect(),
    }
}

/// Unique on an engine, short enough to be part of every name.
pub(crate) fn fresh_run_id(started: Timestamp) -> String {
    format!("{}-{:06x}", started.strftime("%H%M%S"), rand::random::<u32>() & 0xff_ffff)
}
