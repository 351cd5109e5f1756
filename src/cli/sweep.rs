//! `stall-lab sweep`

use jiff::Timestamp;

use super::args::SweepArgs;
use super::exit::UsageError;
use super::repro::{log_to, name_of};
use super::{Exit, interrupt};
use crate::cluster::DockerSite;
use crate::docker::Engine;
use crate::plan::SweepPlan;
use crate::profile::Template;
use crate::progress::Progress;
use crate::sweep::{self, Axis, Design, Outcome, POSTGRES, PREFETCH, Request, SweepFolder};

pub(super) async fn run(args: SweepArgs, command_line: Vec<String>) -> anyhow::Result<Exit> {
    let request = request(&args, command_line)?;
    if args.dry_run {
        let pending = match SweepFolder::is_one(&request.folder) {
            true => SweepFolder::read(&request.folder)?.pending(),
            false => request.design.runs().collect(),
        };
        say!("{}", SweepPlan::of(&request, &pending))?;
        return Ok(Exit::Success);
    }
    let progress = Progress::for_terminal();
    log_to(&progress);
    let stop = interrupt::stop_on_signal(&progress)?;
    progress.step("connecting to the Docker engine");
    let site = DockerSite::new(Engine::connect().await?);
    let outcome = sweep::sweep(&site, &request, &progress, &stop).await;
    progress.finish();
    let outcome = outcome?;
    say!("{}\n  {}", in_words(&outcome), request.folder.display())?;
    Ok(exit_of(&outcome))
}

/// The arguments as a request.
fn request(args: &SweepArgs, command_line: Vec<String>) -> anyhow::Result<Request> {
    let template = Template::find(&args.profile)?;
    let profile_name = name_of(&args.profile);
    let axes = axes(args);
    let given = args.server.postgres.is_some() || args.server.pg_prefix.is_some();
    if given && axes.iter().any(|axis| axis.key == POSTGRES) {
        let what = format!("--vary {POSTGRES} says which servers run: leave --postgres and --pg-prefix out");
        return Err(UsageError(what).into());
    }
    let server = args.server.clone().request();
    let arms = sweep::arms(&template, &profile_name, &args.set, &axes, &server)?;
    let design = Design {
        schema: Design::SCHEMA,
        profile: template.profile(&args.set)?,
        profile_name,
        server,
        capped: !args.uncapped,
        axes,
        repeat: args.repeat,
        seed: args.seed.unwrap_or_else(rand::random),
        started: Timestamp::now(),
        command_line,
        lab_version: env!("CARGO_PKG_VERSION").to_owned(),
        git_revision: option_env!("STALL_LAB_GIT_REVISION").map(str::to_owned),
    };
    let default = || args.results.join(&design.profile_name).join(design.folder_name());
    let folder = args.out.clone().unwrap_or_else(default);
    Ok(Request { seed: args.seed, arms, folder, design })
}

/// What is varied; `--prefetch` is short for an axis of its own.
fn axes(args: &SweepArgs) -> Vec<Axis> {
    let prefetch =
        || Axis { key: PREFETCH.to_owned(), values: args.prefetch.iter().map(ToString::to_string).collect() };
    args.vary.iter().cloned().chain((!args.prefetch.is_empty()).then(prefetch)).collect()
}

fn in_words(outcome: &Outcome) -> String {
    let mut text = format!("{} runs finished", outcome.finished);
    if outcome.broken > 0 {
        text += &format!(", {} broken", outcome.broken);
    }
    if outcome.pending > 0 {
        text += &format!(", {} left: the same command goes on", outcome.pending);
    }
    text
}

fn exit_of(outcome: &Outcome) -> Exit {
    if let Some(problem) = &outcome.given_up {
        eprintln!("given up, since one run after the other broke; the last one: {problem}");
    }
    match outcome {
        Outcome { interrupted: true, .. } => Exit::Interrupted,
        Outcome { pending: 0, .. } => Exit::Success,
        _ => Exit::Failure,
    }
}
