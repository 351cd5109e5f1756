//! A whole run: the nodes, the parts in their order, the files.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::clients::Clients;
use super::{Node, Pair, PairOrder, PairSite, Part, Request, Support, latency, load, refusals, wake};
use crate::analysis::{self, AnalysisError, WaitForAnalysed};
use crate::postgres::CREATE_TABLE;
use crate::profile::{Problems, Profile, Template};
use crate::progress::Progress;
use crate::repro::Ground;
use crate::store::{StoreError, WaitForFolder, WaitForInfo};

/// The nodes of every run.
const PROFILE: &str = include_str!("../../profiles/wait-for.toml");

/// `max_connections` as servers have it by themselves.
const SERVERS_OWN: u32 = 100;

/// What came of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Its files and what they show; none when it was stopped before there were any.
    pub analysed: Option<WaitForAnalysed>,
    /// Did the user stop it.
    pub interrupted: bool,
}

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum WaitForError {
    /// The server cannot do what is asked for.
    #[error("{0}")]
    Server(String),
    /// The built-in profile is wrong.
    #[error(transparent)]
    Profile(#[from] Problems),
    /// The server could not be got ready.
    #[error("getting ready")]
    Prepare(#[source] anyhow::Error),
    /// The nodes could not be set up.
    #[error("setting up the nodes")]
    Raise(#[source] anyhow::Error),
    /// A part failed; what was measured until then is in the folder.
    #[error("{part}: {}\nwhat was measured until then is in {folder}", crate::human::in_full(source.as_ref()))]
    Part {
        /// Name of the part.
        part: &'static str,
        /// Where the files are.
        folder: String,
        /// Why.
        source: anyhow::Error,
    },
    /// A file could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The result could not be made of the files.
    #[error("the run could not be judged")]
    Analyse(#[from] AnalysisError),
}

/// What is run, and where to.
#[derive(Debug)]
pub struct Order<'a> {
    /// What was asked for.
    pub request: &'a Request,
    /// Folder for results.
    pub results: &'a Path,
    /// The command as it was typed.
    pub command_line: Vec<String>,
    /// Where the clients run.
    pub clients: Clients,
}

/// What a run is carried out with.
#[derive(Debug, Clone, Copy)]
struct Means<'a> {
    request: &'a Request,
    clients: &'a Clients,
    progress: &'a Progress,
    stop: &'a CancellationToken,
}

/// Carries out an order in a new folder of its results. A cancelled `stop` ends it; what was measured is kept.
///
/// # Errors
/// When a step fails. The nodes are removed in any case.
pub async fn run(
    site: &dyn PairSite,
    order: Order<'_>,
    progress: &Progress,
    stop: &CancellationToken,
) -> Result<Outcome, WaitForError> {
    let Order { request, results, command_line, clients } = order;
    let means = Means { request, clients: &clients, progress, stop };
    let mut profile = profile(request)?;
    let ground = match stop.run_until_cancelled(ground(site, &mut profile, means)).await {
        Some(Ok(ground)) => ground,
        failed => {
            site.abandon(progress).await;
            return match failed {
                Some(Err(error)) => Err(error),
                _ => Ok(Outcome { analysed: None, interrupted: true }),
            };
        }
    };
    let started = Timestamp::now();
    let folder = WaitForFolder::create(results, &started.strftime("%Y%m%dT%H%M%SZ").to_string())?;
    let mut info = info(means, command_line, &profile, ground, started);
    folder.save_info(&info)?;
    let logs = folder.logs_path()?;
    let order = PairOrder { run_id: info.run_id.clone(), profile: profile.clone(), logs };
    let ended = match stop.run_until_cancelled(site.raise(order, progress)).await {
        Some(Ok(pair)) => Some(conduct(pair, &folder, &mut info, means).await),
        Some(Err(error)) => Some(Err(WaitForError::Raise(error))),
        None => None,
    };
    site.tear_down(&info.run_id, progress).await;
    progress.step("judging and drawing");
    let analysed = analysis::wait_for(folder);
    // A failure of a part says more than that its files are not whole.
    if let Some(ended) = ended {
        ended?;
    }
    Ok(Outcome { analysed: Some(analysed?), interrupted: stop.is_cancelled() })
}

/// The nodes, with room for all sessions.
fn profile(request: &Request) -> Result<Profile, Problems> {
    let mut profile = Template::of_text("profiles/wait-for.toml", PROFILE).profile(&[])?;
    // And for the lab's own and those that a server keeps to itself. Not fewer than the server that loaded the database
    // had, or a standby refuses to start.
    let connections = (request.most_sessions() + 30).max(SERVERS_OWN);
    profile.postgres.common.insert("max_connections".to_owned(), connections.to_string());
    if !request.parts.contains(&Part::Refusals) {
        profile.standby.retain(|standby| standby.name == Node::Standby.name());
    }
    Ok(profile)
}

/// The server, refused at once if it cannot do what is asked for, before anything is loaded.
async fn ground(
    site: &dyn PairSite,
    profile: &mut Profile,
    Means { request, progress, .. }: Means<'_>,
) -> Result<Ground, WaitForError> {
    let version = site.version(profile, progress).await.map_err(WaitForError::Prepare)?;
    let support = Support::of(&version);
    let methods = [request.latency_methods.as_slice(), &request.load_methods].concat();
    if let Some(objection) = support.objection(&version, &request.parts, &methods) {
        return Err(WaitForError::Server(objection));
    }
    if support == Support::Buggy {
        progress.note(&format!(
            "PostgreSQL {version} is older than 19rc1, and has a bug that loses wake-ups: what is measured is kept, \
             nothing is concluded from it"
        ));
    }
    let ground = site.prepare(profile, progress).await.map_err(WaitForError::Prepare)?;
    // An engine refuses more than it has.
    if let Some(cpus) = ground.platform.cpus {
        let cpus = cpus as f64;
        profile.primary.cpus = profile.primary.cpus.min(cpus);
        profile.standby.iter_mut().for_each(|standby| standby.machine.cpus = standby.machine.cpus.min(cpus));
    }
    Ok(ground)
}

fn info(
    Means { request, clients, .. }: Means<'_>,
    command_line: Vec<String>,
    profile: &Profile,
    ground: Ground,
    started: Timestamp,
) -> WaitForInfo {
    WaitForInfo {
        schema: WaitForInfo::SCHEMA,
        run_id: format!("{}-{:06x}", started.strftime("%H%M%S"), rand::random::<u32>() & 0xff_ffff),
        started,
        command_line,
        lab_version: env!("CARGO_PKG_VERSION").to_owned(),
        git_revision: option_env!("STALL_LAB_GIT_REVISION").map(str::to_owned),
        debug_build: cfg!(debug_assertions),
        request: request.clone(),
        server: ground.server,
        platform: ground.platform,
        node_cpus: profile.primary.cpus,
        client_threads: clients.threads(),
        nodes: Vec::new(),
        finished: Vec::new(),
    }
}

/// Runs the parts. Their rows are in the folder whatever comes of them.
async fn conduct(
    pair: Arc<dyn Pair>,
    folder: &WaitForFolder,
    info: &mut WaitForInfo,
    means: Means<'_>,
) -> Result<(), WaitForError> {
    let ended = carry_out(&pair, folder, info, means).await;
    if let Err(error) = pair.save_logs().await {
        means.progress.note(&format!("the servers' logs could not be saved: {error:#}"));
    }
    ended.map_err(|(part, source)| WaitForError::Part {
        part,
        folder: folder.path().display().to_string(),
        source,
    })
}

async fn carry_out(
    pair: &Arc<dyn Pair>,
    folder: &WaitForFolder,
    info: &mut WaitForInfo,
    means: Means<'_>,
) -> Result<(), (&'static str, anyhow::Error)> {
    const SETUP: &str = "setting up";
    let Means { request, clients, progress, stop } = means;
    let in_setup = |error| (SETUP, error);
    info.nodes = pair.describe().await.map_err(in_setup)?;
    folder.save_info(info).map_err(|error| in_setup(error.into()))?;
    let set_up = async {
        let making = Arc::clone(pair);
        clients
            .run(async move { anyhow::Ok(making.session(Node::Primary).await?.simple(CREATE_TABLE).await?) })
            .await
            .context("making the table")??;
        match request.parts.contains(&Part::Refusals) {
            true => refusals::park(pair, clients).await.context("cutting the follower off").map(Some),
            false => Ok(None),
        }
    };
    let Some(upstream) = stop.run_until_cancelled(set_up).await else { return Ok(()) };
    let upstream = upstream.map_err(in_setup)?;
    for part in &request.parts {
        progress.step(&format!(
            "{} (about {})",
            part.name(),
            crate::human::seconds(request.seconds_of(*part))
        ));
        let run = run_part(*part, pair, upstream.as_deref(), folder, means);
        match stop.run_until_cancelled(run).await {
            None => return Ok(()),
            Some(ended) => ended.map_err(|error| (part.name(), error))?,
        }
        info.finished.push(part.name().to_owned());
        folder.save_info(info).map_err(|error| (part.name(), error.into()))?;
    }
    Ok(())
}

async fn run_part(
    part: Part,
    pair: &Arc<dyn Pair>,
    upstream: Option<&str>,
    folder: &WaitForFolder,
    Means { request, clients, progress, .. }: Means<'_>,
) -> anyhow::Result<()> {
    match part {
        Part::Latency => {
            let measuring = latency::measure(Arc::clone(pair), request.clone(), progress.clone());
            Ok(folder.save_latency(&clients.run(measuring).await??)?)
        }
        Part::Load => {
            let mut keep = |windows: &[_]| Ok(folder.save_load(windows)?);
            load::measure(pair, clients, request, progress, &mut keep).await
        }
        Part::Wake => {
            let mut keep = |returns: &[_]| Ok(folder.save_wake(returns)?);
            wake::measure(pair, clients, request, progress, &mut keep).await
        }
        Part::Refusals => {
            let mut keep = |answers: &[_]| Ok(folder.save_refusals(answers)?);
            refusals::measure(pair, clients, upstream, progress, &mut keep).await
        }
    }
}
