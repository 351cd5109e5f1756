//! The command line: arguments to typed values, values to what a user reads.

mod args;
mod cache;
mod clean;
mod compare;
mod doctor;
mod exit;
mod explain;
mod image;
mod interrupt;
mod log;
mod plot;
mod profiles;
mod repro;
mod scenarios;
mod wait_for;

use std::ffi::OsString;

use clap::Parser as _;

pub use exit::Exit;

use args::{Cli, Command};

/// Runs the command line and tells how the process should end. Messages go to stderr, results to stdout.
#[must_use]
pub fn run(args: impl IntoIterator<Item = OsString>) -> Exit {
    let args: Vec<OsString> = args.into_iter().collect();
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(help_or_error) => {
            let exit = if help_or_error.use_stderr() { Exit::Usage } else { Exit::Success };
            // Nothing is left to do when even this cannot be printed.
            let _ = help_or_error.print();
            return exit;
        }
    };
    let command_line = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    match dispatch(cli.command, command_line) {
        Ok(exit) => exit,
        Err(error) => {
            eprintln!("{} {error:#}", exit::error_prefix());
            exit::of_error(&error)
        }
    }
}

fn dispatch(command: Command, command_line: Vec<String>) -> anyhow::Result<Exit> {
    // One thread: the lab waits nearly all the time, and must not take what it measures.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match command {
            Command::Repro(args) => repro::run(args, command_line).await,
            Command::Explain(args) => explain::run(args).await,
            Command::WaitFor(args) => wait_for::run(args, command_line).await,
            Command::Plot(args) => plot::run(&args),
            Command::Compare(args) => compare::run(&args),
            Command::Profiles(args) => profiles::run(&args),
            Command::Scenarios => scenarios::run(),
            Command::Image(args) => image::run(args).await,
            Command::Cache(args) => cache::run(args).await,
            Command::Clean => clean::run().await,
            Command::Doctor => doctor::run().await,
        }
    })
}
