//! The command line: arguments to typed values, values to what a user reads.

#[macro_use]
mod say;

mod args;
mod bundle;
mod cache;
mod check;
mod clean;
mod compare;
mod doctor;
mod exit;
mod explain;
mod image;
mod interrupt;
mod marks;
mod observe;
mod plot;
mod profiles;
mod repro;
mod scenarios;
mod sweep;
mod wait_for;

use std::ffi::OsString;

use clap::Parser as _;

pub use exit::Exit;

use crate::human::in_full;
use args::{Cli, Command};

/// Runs the command line and tells how the process should end. Messages go to stderr, results to stdout.
#[must_use]
pub fn run(args: impl IntoIterator<Item = OsString>) -> Exit {
    let args: Vec<OsString> = args.into_iter().collect();
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(help_or_error) => {
            let is_check = args.get(1).is_some_and(|command| command == "check");
            let exit = match help_or_error.use_stderr() {
                false => Exit::Success,
                // 2 is a verdict there.
                true if is_check => Exit::CannotCheck,
                true => Exit::Usage,
            };
            // Nothing is left to do when even this cannot be printed.
            let _ = help_or_error.print();
            return exit;
        }
    };
    let command_line = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    match dispatch(cli.command, command_line) {
        Ok(exit) => exit,
        Err(error) => {
            eprintln!("{} {}", exit::error_prefix(), in_full(error.as_ref()));
            exit::of_error(&error)
        }
    }
}

fn dispatch(command: Command, command_line: Vec<String>) -> anyhow::Result<Exit> {
    // One thread: the lab waits nearly all the time, and must not take what it measures.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(async {
        match command {
            Command::Repro(args) => repro::run(args, command_line).await,
            Command::Sweep(args) => sweep::run(args, command_line).await,
            Command::Explain(args) => explain::run(args).await,
            Command::WaitFor(args) => wait_for::run(args, command_line).await,
            Command::Plot(args) => plot::run(&args),
            Command::Compare(args) => compare::run(&args),
            Command::Check(args) => check::run(args).await,
            Command::Observe(args) => observe::run(args, command_line).await,
            Command::Bundle(args) => bundle::run(&args),
            Command::Profiles(args) => profiles::run(&args),
            Command::Scenarios => scenarios::run(),
            Command::Image(args) => image::run(args).await,
            Command::Cache(args) => cache::run(args).await,
            Command::Clean => clean::run().await,
            Command::Doctor => doctor::run().await,
        }
    });
    // A host name that is still being resolved would keep the process for as long as that takes.
    runtime.shutdown_background();
    ended
}
