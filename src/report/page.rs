//! The page of a run: what a person pastes into a bug report.

use jiff::Timestamp;

use crate::explain::Explanation;
use crate::human;
use crate::store::{Event, EventKind, NodeSummary, RunInfo, Summary, Verdict};

use super::markdown::Table;
use super::{attribution, hang_in_words, headline, observed, or_none, or_not_known, reading, setup};

/// The run's `README.md`.
#[must_use]
pub fn page(run: &RunInfo, summary: &Summary, events: &[Event], explanation: Option<&Explanation>) -> String {
    let sections = [
        format!("# {}\n", title(run)),
        uncapped(run),
        format!("**{}**\n", headline(run, summary)),
        reasons(summary),
        "![Timeline of the run](timeline.png)\n".to_owned(),
        format!("## Figures\n\n{}", figures(run, summary, events)),
        match run.observed() {
            Some(_) => String::new(),
            None => format!("What the update cost each node:\n\n{}", costs(summary)),
        },
        explanation.map(|why| format!("## Why\n\n{}", attribution(why))).unwrap_or_default(),
        format!("## What happened\n\n{}", happened(run, events)),
        format!("## Setup\n\n{}\n{}", setup::lines(run), nodes(run)),
        settings(run),
        format!("## How to read it\n\n{}", reading::reading(run)),
        format!("## Limitations\n\n{}", reading::limitations(run)),
        format!("## To repeat it\n\n```\n{}\n```\n", command(run)),
    ];
    let sections: Vec<String> = sections.into_iter().filter(|section| !section.is_empty()).collect();
    sections.join("\n")
}

fn title(run: &RunInfo) -> String {
    let major = run.server.version_num / 10_000;
    if run.observed().is_some() {
        return format!("PostgreSQL {major}, servers watched, not built by the lab");
    }
    format!("PostgreSQL {major}, profile {}, {}", run.profile_name, run.arm_in_words())
}

fn uncapped(run: &RunInfo) -> String {
    if !run.is_uncapped() {
        return String::new();
    }
    "> **UNCAPPED.** The disks had no limit in this run. It shows what this machine's own disk does, nothing of a \
     server whose reads are capped; do not set its figures beside those of capped runs.\n"
        .to_owned()
}

/// The reasons, if there are more than the headline has.
fn reasons(summary: &Summary) -> String {
    let lead = match (summary.verdict, summary.reasons.as_slice()) {
        (_, []) | (Verdict::Inconclusive, [_]) => return String::new(),
        (Verdict::Inconclusive, _) => "Why, and what else limits the figures:",
        (Verdict::Stalled | Verdict::NoStall, _) => "What limits this:",
    };
    let reasons: String = summary.reasons.iter().map(|reason| format!("- {reason}\n")).collect();
    format!("{lead}\n\n{reasons}")
}

/// What the nodes were held to; of servers that the lab did not build, which they are.
fn nodes(run: &RunInfo) -> String {
    run.observed().map_or_else(|| setup::limits(run), observed::servers)
}

/// The figures of the run, a row each, with their units.
fn figures(run: &RunInfo, summary: &Summary, events: &[Event]) -> String {
    if run.observed().is_some() {
        return observed::figures(run, summary, events);
    }
    let standby = run.faulted();
    let primary = run.primary();
    let seconds = |value| or_not_known(value, human::seconds);
    let mut table = Table::new(["figure", "value"]);
    let mut row = |name: &str, value: String| table.row([name.to_owned(), value]);
    row("verdict", summary.verdict.to_string());
    row("longest time without a commit after the fault", hang_in_words(summary));
    row(&format!("... reads by {standby} in it"), hang_reads(summary));
    row("... a second: mean, median, peak", hang_rates(summary));
    row("... cap", or_none(summary.read_iops_cap));
    row(&format!("from the fault until {standby} streamed again"), seconds(summary.time_to_streaming_s));
    row(&format!("WAL not replayed by {standby} at the fault"), size(summary.lag_at_fault_bytes));
    row(&format!("blocks prefetched by {standby} since the update began"), prefetched(summary));
    row(
        "... reads by its startup process itself (`pg_stat_io`)",
        or_not_known(summary.startup_reads, human::count),
    );
    row("update, until its statements had run", seconds(summary.update_executed_s));
    row("... until its commit was acknowledged", seconds(summary.update_s));
    row("... WAL", size(summary.update_wal_bytes));
    row(
        "... longest time without a commit from its start to the fault",
        seconds(summary.longest_gap_before_fault_s),
    );
    row(
        &format!("... amplification: reads by {standby} for each by {primary}"),
        or_not_known(summary.amplification, human::ratio),
    );
    row("rows of the timeline", human::count(summary.rows));
    row("... missed", human::count(summary.missed_ticks));
    table.render()
}

pub(super) fn size(bytes: Option<u64>) -> String {
    or_not_known(bytes, |bytes| human::bytes(bytes as f64))
}

pub(super) fn hang_reads(summary: &Summary) -> String {
    let Some(reads) = summary.hang_reads else {
        return or_not_known(None::<u64>, human::count);
    };
    let sizes = match (summary.hang_read_bytes, summary.hang_read_bytes_mean) {
        (Some(bytes), Some(mean)) => {
            format!(", {} in all, {} a read", human::bytes(bytes as f64), human::bytes(mean))
        }
        _ => String::new(),
    };
    format!("{}{sizes}", human::count(reads))
}

pub(super) fn hang_rates(summary: &Summary) -> String {
    [summary.hang_read_iops_mean, summary.hang_read_iops_median, summary.hang_read_iops_peak]
        .map(|value| or_not_known(value, human::rate))
        .join(", ")
}

pub(super) fn prefetched(summary: &Summary) -> String {
    or_not_known(summary.prefetched_blocks, |blocks| {
        let share = summary
            .prefetched_share
            .filter(|_| blocks > 0)
            .map(|share| format!(", {} of the block references decoded", human::percent(share)));
        format!("{}{}", human::count(blocks), share.unwrap_or_default())
    })
}

fn costs(summary: &Summary) -> String {
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
    table.render()
}

/// The events, with the time since the fault and the time of day: the clock of the servers' logs.
fn happened(run: &RunInfo, events: &[Event]) -> String {
    let fault = events.iter().find(|event| event.kind == EventKind::Fault).map(|event| event.t_s);
    let since = match (fault, run.observed()) {
        (Some(_), None) => "since the fault",
        (Some(_), Some(_)) => "since the mark",
        (None, _) => "since the start",
    };
    let mut table = Table::new([since, "UTC", "what"]);
    for event in events {
        let t_s = event.t_s - fault.unwrap_or_default();
        table.row([format!("{t_s:+.1} s"), time_of_day(event.unix_s), told(run, event)]);
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

fn told(run: &RunInfo, event: &Event) -> String {
    let what = match event.kind {
        EventKind::Phase => "phase",
        EventKind::UpdateStarted => "update started",
        EventKind::UpdateExecuted => "update executed",
        EventKind::UpdateCommitted => "update committed",
        EventKind::Fault if run.observed().is_some() => "**mark**",
        EventKind::Fault => "**fault**",
        EventKind::FaultVerified => "fault verified",
        EventKind::FaultEnded => "fault ended",
        EventKind::StreamingAgain => "streaming again",
        EventKind::CommitsAgain => "commits again",
        EventKind::Deadline => "deadline passed",
        EventKind::Interrupted => "interrupted",
        EventKind::Note => "note",
        EventKind::Disqualified => "disqualified",
        EventKind::Concluded => "concluded",
    };
    let node = event.node.as_deref().map(|node| format!(" ({node})")).unwrap_or_default();
    let detail = if event.detail.is_empty() { String::new() } else { format!(": {}", event.detail) };
    format!("{what}{node}{detail}")
}

fn settings(run: &RunInfo) -> String {
    setup::settings(run).map_or_else(String::new, |table| {
        format!("Settings of each node's configuration, and defaults that depend on the version:\n\n{table}")
    })
}

/// The command as it was typed, the path to the binary left out, quoted for a shell.
fn command(run: &RunInfo) -> String {
    let arguments = run.command_line.iter().skip(1).map(|argument| human::shell_word(argument));
    std::iter::once("stall-lab".to_owned()).chain(arguments).collect::<Vec<_>>().join(" ")
}
