//! The page of a run: what a person pastes into a bug report.

use jiff::Timestamp;

use crate::human;
use crate::store::{Event, EventKind, NodeSummary, RunInfo, Summary};

use super::markdown::Table;
use super::{hang_in_words, headline, or_not_known, setup};

/// The run's `README.md`.
#[must_use]
pub fn page(run: &RunInfo, summary: &Summary, events: &[Event]) -> String {
    let sections = [
        format!("# {}\n", title(run)),
        uncapped(run),
        format!("**{}**\n", headline(run, summary)),
        reasons(summary),
        "![Timeline of the run](timeline.png)\n".to_owned(),
        format!("## Figures\n\n{}", figures(run, summary).render()),
        format!("What the update cost each node:\n\n{}", costs(run, summary)),
        format!("## What happened\n\n{}", happened(events)),
        format!("## Setup\n\n{}\n{}", setup::lines(run), setup::limits(run)),
        settings(run),
        format!("## How to read it\n\n{READING}"),
        format!("## Limitations\n\n{}", limitations(run)),
        format!("## To repeat it\n\n```\n{}\n```\n", command(run)),
    ];
    let sections: Vec<String> = sections
        .into_iter()
        .filter(|section| !section.is_empty())
        .collect();
    sections.join("\n")
}

fn title(run: &RunInfo) -> String {
    let major = run.server.version_num / 10_000;
    format!(
        "PostgreSQL {major}, profile {}, recovery_prefetch={}",
        run.profile_name, run.arm
    )
}

fn uncapped(run: &RunInfo) -> String {
    if run.capped {
        return String::new();
    }
    "> **UNCAPPED.** The disks had no limit in this run. It shows what this machine's own disk does, nothing of a \
     server whose reads are capped; do not set its figures beside those of capped runs.\n"
        .to_owned()
}

fn reasons(summary: &Summary) -> String {
    summary
        .reasons
        .iter()
        .map(|reason| format!("- {reason}\n"))
        .collect()
}

/// The figures of the run, a row each, with their units.
fn figures(run: &RunInfo, summary: &Summary) -> Table {
    let standby = &run.profile.fault.node;
    let seconds = |value| or_not_known(value, human::seconds);
    let mut table = Table::new(["figure", "value"]);
    table.row(["verdict".to_owned(), summary.verdict.to_string()]);
    table.row([
        "longest time without a commit after the fault".to_owned(),
        hang_in_words(summary),
    ]);
    table.row([
        "longest time without a commit before it, from the update on".to_owned(),
        seconds(summary.longest_gap_before_fault_s),
    ]);
    table.row([
        format!("fault until {standby} streamed again"),
        seconds(summary.time_to_streaming_s),
    ]);
    table.row([
        format!("WAL not replayed by {standby} at the fault"),
        size(summary.lag_at_fault_bytes),
    ]);
    table.row([format!("reads of {standby} in the hang"), hang_reads(summary)]);
    table.row(["... a second: mean, median, peak".to_owned(), hang_rates(summary)]);
    table.row([
        "... cap".to_owned(),
        summary
            .read_iops_cap
            .map_or_else(|| "none".to_owned(), |cap| format!("{cap}/s")),
    ]);
    table.row([
        format!("blocks prefetched by {standby} since the update began"),
        prefetched(summary),
    ]);
    table.row([
        "reads of its startup process itself in that time (`pg_stat_io`)".to_owned(),
        or_not_known(summary.startup_reads, human::count),
    ]);
    table.row([
        "update, until its statements had run".to_owned(),
        seconds(summary.update_executed_s),
    ]);
    table.row([
        "update, until its commit was acknowledged".to_owned(),
        seconds(summary.update_s),
    ]);
    table.row(["WAL of the update".to_owned(), size(summary.update_wal_bytes)]);
    table.row([
        format!(
            "amplification: reads of {standby} to reads of {} for it",
            run.primary()
        ),
        or_not_known(summary.amplification, human::ratio),
    ]);
    table.row(["rows of the timeline, missed".to_owned(), {
        format!(
            "{}, {}",
            human::count(summary.rows),
            human::count(summary.missed_ticks)
        )
    }]);
    table
}

fn size(bytes: Option<u64>) -> String {
    or_not_known(bytes, |bytes| human::bytes(bytes as f64))
}

fn hang_reads(summary: &Summary) -> String {
    let Some(reads) = summary.hang_reads else {
        return or_not_known(None::<u64>, human::count);
    };
    let sizes = match (summary.hang_read_bytes, summary.hang_read_bytes_mean) {
        (Some(bytes), Some(mean)) => {
            format!(
                ", {} in all, {} a read",
                human::bytes(bytes as f64),
                human::bytes(mean)
            )
        }
        _ => String::new(),
    };
    format!("{}{sizes}", human::count(reads))
}

fn hang_rates(summary: &Summary) -> String {
    [
        summary.hang_read_iops_mean,
        summary.hang_read_iops_median,
        summary.hang_read_iops_peak,
    ]
    .map(|value| or_not_known(value, human::rate))
    .join(", ")
}

fn prefetched(summary: &Summary) -> String {
    or_not_known(summary.prefetched_blocks, |blocks| {
        let share = summary
            .prefetched_share
            .map(|share| format!(", {} of the block references it looked at", human::percent(share)));
        format!("{}{}", human::count(blocks), share.unwrap_or_default())
    })
}

fn costs(run: &RunInfo, summary: &Summary) -> String {
    let nodes = &summary.nodes;
    let names = nodes.iter().map(|node| node.name.clone());
    let mut table =
        Table::new(std::iter::once("until it was committed, or replayed".to_owned()).chain(names));
    let mut row = |name: &str, value: &dyn Fn(&NodeSummary) -> String| {
        table.row(std::iter::once(name.to_owned()).chain(nodes.iter().map(value)));
    };
    row("time", &|node| or_not_known(node.seconds, human::seconds));
    row("reads", &|node| or_not_known(node.reads, human::count));
    row("... bytes", &|node| size(node.read_bytes));
    row("writes", &|node| or_not_known(node.writes, human::count));
    row("... bytes", &|node| size(node.write_bytes));
    row("CPU", &|node| or_not_known(node.cpu_s, human::seconds));
    let _ = run;
    table.render()
}

/// The events, with the time since the fault and the time of day: the clock of the servers' logs.
fn happened(events: &[Event]) -> String {
    let fault = events
        .iter()
        .find(|event| event.kind == EventKind::Fault)
        .map(|event| event.t_s);
    let since = if fault.is_some() {
        "since the fault"
    } else {
        "since the start"
    };
    let mut table = Table::new([since, "UTC", "what"]);
    for event in events {
        let t_s = event.t_s - fault.unwrap_or_default();
        table.row([format!("{t_s:+.1} s"), time_of_day(event.unix_s), told(event)]);
    }
    if table.is_empty() {
        return "No event was recorded.\n".to_owned();
    }
    table.render()
}

fn time_of_day(unix_s: f64) -> String {
    // The cast saturates, and a time that is none is said to be.
    let time = Timestamp::from_millisecond((unix_s * 1000.0) as i64).ok();
    or_not_known(time, |time| time.strftime("%H:%M:%S%.1f").to_string())
}

fn told(event: &Event) -> String {
    let what = match event.kind {
        EventKind::Phase => "phase",
        EventKind::UpdateStarted => "update started",
        EventKind::UpdateExecuted => "update executed",
        EventKind::UpdateCommitted => "update committed",
        EventKind::Fault => "**fault**",
        EventKind::FaultVerified => "fault verified",
        EventKind::StreamingAgain => "streaming again",
        EventKind::CommitsAgain => "commits again",
        EventKind::Deadline => "deadline passed",
        EventKind::Interrupted => "interrupted",
        EventKind::Note => "note",
        EventKind::Disqualified => "disqualified",
    };
    let node = event
        .node
        .as_deref()
        .map(|node| format!(" ({node})"))
        .unwrap_or_default();
    let detail = if event.detail.is_empty() {
        String::new()
    } else {
        format!(": {}", event.detail)
    };
    format!("{what}{node}{detail}")
}

fn settings(run: &RunInfo) -> String {
    setup::settings(run).map_or_else(String::new, |table| {
        format!("Settings that differ from the server's built-in defaults:\n\n{table}")
    })
}

const READING: &str = "\
- A commit waits until its standby has flushed its WAL. While the walreceiver lives, slow replay holds no commit up. \
Once it is gone, the startup process first replays all WAL it has and only then asks for a new one; until then every \
commit waits (`IPC/SyncRep`). So the hang is the WAL left to replay divided by the speed of replay.
- With `recovery_prefetch` on, replay is as fast as the disk serves prefetches. Prefetched blocks and reads of the \
disk climb together; the reads of the startup process itself stay flat, because `pg_stat_io` does not count advice.
- Prefetches are no reads one to one: advice for neighbouring blocks is merged into one read, hence reads of more \
than 8 kB.
- Slow commits before the fault are a different thing from the hang: then a commit's WAL waits in the stream behind \
the update's. The two are never added up.
- After a hang pgbench works off what its rate limit had let queue up: the burst is no throughput of the server.
- 1 kB is 1,024 bytes here. `timeline.csv` has every second, `summary.json` every figure, `logs/` both servers' logs.
";

fn limitations(run: &RunInfo) -> String {
    let mut text = String::new();
    if run.capped {
        text +=
            "- Reads and writes are capped apart; a cloud volume usually counts both against one limit.\n";
        if run.platform.cgroup_version == "1" {
            text += "- cgroup v1 does not throttle buffered write-back: reads, direct and synchronous writes are held \
                     to their cap, what the kernel writes back later is not.\n";
        }
    } else {
        text += "- UNCAPPED: no disk of this run was held to anything.\n";
    }
    text += "- The nodes share one machine: its CPUs and its disk can limit them before their own caps do. Times \
             belong to this machine; ratios, counters and shapes carry over.\n\
             - Commits are seen once a second: the hang is known to about a second at each end.\n";
    text
}

/// The command as it was typed, the path to the binary left out, quoted for a shell.
fn command(run: &RunInfo) -> String {
    let arguments = run.command_line.iter().skip(1).map(|argument| quoted(argument));
    std::iter::once("stall-lab".to_owned())
        .chain(arguments)
        .collect::<Vec<_>>()
        .join(" ")
}

fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:@%+".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_a_shell_would_take_apart_is_quoted() {
        for (argument, text) in [
            ("--set", "--set"),
            ("standby.read_iops=1000", "standby.read_iops=1000"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
            ("$HOME", "'$HOME'"),
        ] {
            assert_eq!(quoted(argument), text);
        }
    }
}
