//! What ran, on what, and what the figures do not say.

use std::collections::BTreeSet;

use crate::report::markdown::Table;
use crate::report::setup::{platform, software};
use crate::store::WaitForInfo;

pub(super) fn lines(info: &WaitForInfo) -> String {
    let server = &info.server;
    let nodes: Vec<&str> = info.nodes.iter().map(|node| node.name.as_str()).collect();
    let mut lines = vec![
        software(server),
        format!(
            "nodes: {}; {} CPUs each, asynchronous replication, fsync on, disks without caps{}",
            nodes.join(", "),
            info.node_cpus,
            if nodes.contains(&"follower") {
                "; the follower is cut off while anything is measured, and follows the standby when that is promoted"
            } else {
                ""
            }
        ),
        format!(
            "client: the lab itself, {} threads, over TCP from the engine's host; poll and insert prepared, WAIT FOR by the \
             simple protocol since it takes no parameters; seed {}",
            info.client_threads, info.request.seed
        ),
    ];
    lines.extend(platform(&info.platform));
    lines.push(format!(
        "stall-lab {}{}, run `{}`, started {}",
        info.lab_version,
        info.git_revision.as_deref().map(|revision| format!(" ({revision})")).unwrap_or_default(),
        info.run_id,
        info.started
    ));
    lines.extend(server.note.clone());
    let lines: String = lines.iter().map(|line| format!("- {line}\n")).collect();
    match settings(info) {
        Some(settings) => format!("{lines}\n{settings}"),
        None => lines,
    }
}

/// The settings that differ from the server's built-in defaults, by node.
fn settings(info: &WaitForInfo) -> Option<String> {
    let names: BTreeSet<&String> = info.nodes.iter().flat_map(|node| node.settings.keys()).collect();
    let header = std::iter::once("setting").chain(info.nodes.iter().map(|node| node.name.as_str()));
    let mut table = Table::new(header);
    for name in names {
        let values = info.nodes.iter().map(|node| match node.settings.get(name) {
            Some(value) => format!("`{value}`"),
            None => "default".to_owned(),
        });
        table.row(std::iter::once(format!("`{name}`")).chain(values));
    }
    (!table.is_empty()).then(|| table.render())
}

pub(super) const READING: &str = "\
- A busy poll asks again as soon as it has its answer; a poll sleeps between; `WAIT FOR LSN` is one question that the \
server answers when it has replayed the LSN. A comparison with a sleeping poll measures the sleep: the busy poll is the \
one to compare with.
- The LSN is what the primary has flushed when the insert's commit has returned (`pg_current_wal_flush_lsn()`). Often \
the standby has replayed it by the time the client knows it: then the first question is answered yes, whatever the method.
- A closed loop's times are those of completed operations: the more a method completes, the more load it measures \
itself under. An open loop has the same work for all, and its times leave nothing out.
- CPU is the standby's whole container, replay and walreceiver included, from cumulative counters at the window's edges; \
the busiest second is from the same counters, read once a second.
- CPU for each completion carries over to other machines better than completions a second, which depend on the disk that \
the primary flushes to.
- `latency.csv` has every trial, `load.csv` every window, `wake.csv` every return, `summary.json` every figure.
";

pub(super) fn limitations(info: &WaitForInfo) -> String {
    let cpus = info.platform.cpus.map_or_else(|| "the CPUs".to_owned(), |cpus| format!("{cpus} CPUs"));
    format!(
        "- Client, primary and standby share {cpus} of one machine. When it is full, a method that takes less CPU anywhere \
         completes more: that is a result of this machine, and the CPU for each is the one to carry away.\n\
         - Rounds are repetitions on one pair of servers in one run. Intervals are of the spread between them, not between \
         machines.\n\
         - The network is the engine's own, between containers and host: a real one adds its round trip to every question, \
         so to a poll once for each time it asks.\n\
         - The client reaches the servers through the ports that the engine publishes. Where a process of the engine's \
         forwards these, it adds to every round trip, and its CPU is among that of others.\n\
         - Times are the client's, its runtime and socket included: an empty query's time is shown beside them.\n"
    )
}

/// The command, as one would type it again.
pub(super) fn command(info: &WaitForInfo) -> String {
    let quoted = |word: &String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,".contains(c);
        if word.chars().all(plain) && !word.is_empty() {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    };
    let words: Vec<String> = info.command_line.iter().skip(1).map(quoted).collect();
    let seed = if info.command_line.iter().any(|word| word.starts_with("--seed")) {
        String::new()
    } else {
        format!(" --seed {}", info.request.seed)
    };
    format!("stall-lab {}{seed}", words.join(" "))
}
