//! `stall-lab observe`

use std::path::PathBuf;

use anyhow::Context as _;

use super::args::ObserveArgs;
use super::exit::UsageError;
use super::interrupt::Words;
use super::{Exit, interrupt, marks, repro};
use crate::experiment::Ending;
use crate::observe::{self, Out, ProbeRate, Request};
use crate::postgres::{Endpoint, Environment};
use crate::profile::PRIMARY;
use crate::progress::Progress;
use crate::report;

/// What is said when the user stops it.
const WORDS: Words = Words {
    stopping: "stopping: what was recorded is kept and judged (again to stop at once)",
    at_once: "stopped at once: `stall-lab plot DIR` judges what was recorded; with --probe, a table stall_lab_probe_... \
              may be left on the primary",
};

pub(super) async fn run(args: ObserveArgs, command_line: Vec<String>) -> anyhow::Result<Exit> {
    let request = request(args, &command_line)?;
    let progress = Progress::for_terminal();
    repro::log_to(&progress);
    let stop = interrupt::stop_on_signal_saying(&progress, WORDS)?;
    let marks = marks::of_user(&progress)?;
    let outcome = observe::observe(request, marks, &progress, &stop).await;
    progress.finish();
    let Some(outcome) = outcome? else { return Ok(Exit::Interrupted) };
    let (run, summary) = (&outcome.analysed.run, &outcome.analysed.summary);
    say!("{}\n  {}", report::headline(run, summary), outcome.analysed.folder.path().display())?;
    if let Some(left) = outcome.left_behind {
        anyhow::bail!(left);
    }
    Ok(match outcome.ending {
        Ending::Completed => Exit::Success,
        Ending::Interrupted => Exit::Interrupted,
        Ending::GaveUp => Exit::Failure,
    })
}

/// The arguments as a request.
fn request(args: ObserveArgs, command_line: &[String]) -> anyhow::Result<Request> {
    let environment = Environment::of_process();
    let endpoint = |flag: &str, node: &str, conninfo: &str| {
        Endpoint::server(node, conninfo, &environment).with_context(|| format!("--{flag}"))
    };
    let primary = endpoint("primary", PRIMARY, &args.primary)?;
    let names = standby_names(args.standby.len());
    let standbys = names.iter().zip(&args.standby);
    let standbys = standbys.map(|(name, conninfo)| endpoint("standby", name, conninfo));
    let standbys = standbys.collect::<Result<Vec<_>, _>>()?;
    let known = |node: &str| node == PRIMARY || names.iter().any(|name| name == node);
    if let Some(disk) = args.disk_command.iter().find(|disk| !known(&disk.node)) {
        let names = names.join(", ");
        return Err(UsageError(format!(
            "--disk-command: there is no node {}; there is {PRIMARY}, {names}",
            disk.node
        ))
        .into());
    }
    let places: Vec<(&str, String)> = std::iter::once((args.primary.as_str(), primary.place()))
        .chain(args.standby.iter().map(String::as_str).zip(standbys.iter().map(Endpoint::place)))
        .collect();
    Ok(Request {
        command_line: told(command_line, &places),
        primary,
        standbys,
        length: args.length,
        stall_after: args.stall_after,
        probe: args.probe.map(|rate| ProbeRate { per_s: rate.0, deadline: args.probe_deadline }),
        disks: args.disk_command,
        out: args.out.map_or_else(|| Out::Below(PathBuf::from("results")), Out::Folder),
    })
}

/// `standby`, or `standby_1`, `standby_2` ...
fn standby_names(number: usize) -> Vec<String> {
    match number {
        1 => vec!["standby".to_owned()],
        _ => (1..=number).map(|place| format!("standby_{place}")).collect(),
    }
}

/// The command line without what may hold a secret: of a connection string only where it leads to, of a command for a
/// disk only whose.
fn told(command_line: &[String], places: &[(&str, String)]) -> Vec<String> {
    const DISK: &str = "--disk-command";
    let mut before = "";
    let mut told = Vec::new();
    for argument in command_line {
        let (flag, value) = match argument.split_once('=') {
            Some((flag, value)) if flag == "--primary" || flag == "--standby" || flag == DISK => {
                (Some(flag), value)
            }
            _ => (None, argument.as_str()),
        };
        let is_of_disk = flag == Some(DISK) || (flag.is_none() && before == DISK);
        let shown = match places.iter().find(|(conninfo, _)| *conninfo == value) {
            Some((_, place)) => format!("<{place}>"),
            None if is_of_disk => {
                format!("{}=<command>", value.split_once('=').map_or("", |(node, _)| node))
            }
            None => value.to_owned(),
        };
        told.push(flag.map_or_else(|| shown.clone(), |flag| format!("{flag}={shown}")));
        before = argument;
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_and_no_command_stays_in_the_command_line_that_is_stored() {
        let uri = "postgresql://u:hunter2@db2/";
        let places = [("host=db1 password=hunter2", "db1:5432".to_owned()), (uri, "db2:5432".to_owned())];
        let given = [
            "stall-lab",
            "observe",
            "--primary",
            "host=db1 password=hunter2",
            &format!("--standby={uri}"),
            "--disk-command",
            "standby=curl -H 'token: hunter2' x",
            "--disk-command=primary=echo hunter2",
            "--for",
            "5m",
        ]
        .map(str::to_owned);
        let expected = [
            "stall-lab",
            "observe",
            "--primary",
            "<db1:5432>",
            "--standby=<db2:5432>",
            "--disk-command",
            "standby=<command>",
            "--disk-command=primary=<command>",
            "--for",
            "5m",
        ];
        assert_eq!(told(&given, &places), expected);
    }

    #[test]
    fn one_standby_has_no_number() {
        assert_eq!(standby_names(1), ["standby"]);
        assert_eq!(standby_names(2), ["standby_1", "standby_2"]);
    }
}
