//! `stall-lab repro`

use std::io::IsTerminal as _;
use std::path::Path;

use super::args::ReproArgs;
use super::exit::UsageError;
use super::{Exit, interrupt};
use crate::cluster::DockerSite;
use crate::disk::Caps;
use crate::docker::Engine;
use crate::plan::Plan;
use crate::profile::Template;
use crate::progress::Progress;
use crate::report;
use crate::repro::{self, Arm, Outcome, Request, Teardown};

pub(super) async fn run(args: ReproArgs, command_line: Vec<String>) -> anyhow::Result<Exit> {
    let request = request(&args, command_line)?;
    if args.dry_run {
        if let Some(plan) = Plan::of(&request) {
            say!("{plan}")?;
        }
        return Ok(Exit::Success);
    }
    let progress = Progress::for_terminal();
    log_to(&progress);
    let stop = interrupt::stop_on_signal(&progress)?;
    progress.step("connecting to the Docker engine");
    let site = DockerSite::new(Engine::connect().await?);
    let outcome = repro::repro(&site, &request, &progress, &stop).await;
    progress.finish();
    let outcome = outcome?;
    tell(&outcome)?;
    Ok(exit_of(&outcome, &args.expect))
}

/// The arguments as a request.
fn request(args: &ReproArgs, command_line: Vec<String>) -> anyhow::Result<Request> {
    let template = Template::find(&args.profile)?;
    let arms = Arm::of(&template, &args.set, &args.arm, &args.prefetch)?;
    let arms = Arm::on_servers(arms, &args.servers.requests());
    let twice =
        arms.iter().enumerate().find(|(at, arm)| arms[..*at].iter().any(|earlier| earlier.name == arm.name));
    if let Some((_, arm)) = twice {
        return Err(UsageError(format!("the arm {} is there twice", arm.name)).into());
    }
    if args.keep && arms.len() > 1 {
        let what =
            "--keep: with more than one arm the nodes of one would disturb the next; keep one arm at a time";
        return Err(UsageError(what.to_owned()).into());
    }
    let known = |name: &str| arms.iter().any(|arm| arm.name == name);
    if let Some(unknown) =
        args.expect.iter().filter_map(|expected| expected.arm.as_deref()).find(|arm| !known(arm))
    {
        let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
        return Err(UsageError(format!(
            "--expect: there is no arm {unknown}; there is {}",
            names.join(", ")
        ))
        .into());
    }
    Ok(Request {
        profile_name: name_of(&args.profile),
        arms,
        results: args.results.clone(),
        caps: if args.uncapped { Caps::Off } else { Caps::On },
        teardown: if args.keep { Teardown::Keep } else { Teardown::Remove },
        command_line,
    })
}

/// A built-in profile's name, or a file's without its folders and ending.
pub(super) fn name_of(profile: &str) -> String {
    Path::new(profile)
        .file_stem()
        .map_or_else(|| profile.to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// The lab's own log: warnings, or what `STALL_LAB_LOG` says, as in `debug`.
pub(super) fn log_to(progress: &Progress) {
    let asked_for = std::env::var("STALL_LAB_LOG").ok().and_then(|level| level.parse().ok());
    let coloured = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let log = tracing_subscriber::fmt()
        .with_max_level(asked_for.unwrap_or(tracing::Level::WARN))
        .with_ansi(coloured);
    // Only a second subscriber in one process could fail this.
    let _ = log.with_writer(progress.clone()).try_init();
}

fn tell(outcome: &Outcome) -> std::io::Result<()> {
    for arm in &outcome.arms {
        say!("{}: {}", arm.analysed.run.arm, report::headline(&arm.analysed.run, &arm.analysed.summary))?;
        say!("  {}", arm.analysed.folder.path().display())?;
    }
    if let Some(comparison) = &outcome.comparison {
        say!("comparison: {}", comparison.display())?;
    }
    Ok(())
}

fn exit_of(outcome: &Outcome, expected: &[repro::Expectation]) -> Exit {
    if outcome.interrupted {
        return Exit::Interrupted;
    }
    let surprises = outcome.surprises(expected);
    surprises.iter().for_each(|surprise| eprintln!("{surprise}"));
    if surprises.is_empty() { Exit::Success } else { Exit::Unexpected }
}
