//! The page of servers that were only watched, where it differs from that of a lab.

use crate::human;
use crate::store::{Event, EventKind, Observed, ObservedServer, ProbeSummary, RunInfo, Summary};

use super::markdown::Table;
use super::page::{hang_rates, hang_reads, prefetched, size};
use super::{faulted, hang_in_words, or_not_known};

/// How to read such a record, beside the mechanism.
pub(super) const READING: &str = "\
- A stall is told where sessions wait for a synchronous standby (or the lab's own writes are not acknowledged) while \
that standby does not stream. What its startup process waited for meanwhile tells what held replay up: \
`IO/DataFilePrefetch` is the stall described here, `Timeout/RecoveryApplyDelay` or a conflict is another.
- Transactions per second are those that write. Sessions with `synchronous_commit` at `local` or `off` go on in a hang.
- 1 kB is 1,024 bytes. `timeline.csv` has every second, `summary.json` every figure.
";

/// What such a record cannot show.
pub(super) const LIMITATIONS: &str = "\
- The lab only watched: what broke, what else went on, and what the disks are held to, it does not know. A mark is \
where somebody pressed a key.
- Without `--probe`, commits are seen by who waits for a standby and by the transaction ids that ended, once a second: \
where nobody wants to write, nothing is known. The hang is known to about a second at each end.
- Of transactions that ended, those are counted too that were rolled back after they had written, and subtransactions.
- Statistics reach the views some time after what they count: the startup process tells of its reads only now and then.
- Reads of disks are there only where `--disk-command` gave them, with that source's own resolution and delay.
";

/// What was watched, a line each.
pub(crate) fn setup(watched: &Observed) -> Vec<String> {
    let rule = match watched.synchronous_standby_names.as_deref() {
        None => "not known".to_owned(),
        Some("") => "none, no commit waits for a standby".to_owned(),
        Some(rule) => format!("`{rule}`"),
    };
    let probe = match watched.probe_per_s {
        None => "nothing was written by the lab".to_owned(),
        Some(rate) => format!("the lab wrote itself, {rate} rows a second, into a table of its own"),
    };
    vec![
        format!("synchronous replication: {rule}"),
        format!(
            "watched for at most {}; a stretch without a commit from {} on is called a stall; {probe}",
            human::seconds(watched.length.as_secs_f64()),
            human::seconds(watched.stall_after.as_secs_f64())
        ),
    ]
}

/// The servers, a row each.
pub(crate) fn servers(watched: &Observed) -> String {
    let mut table = Table::new(["node", "at", "version", "connects as", "not shown to this role"]);
    for server in &watched.servers {
        let ObservedServer { node, address, version, application_name, hidden } = server;
        table.row([
            node.clone(),
            address.clone(),
            version.clone(),
            application_name.clone().unwrap_or_default(),
            hidden.join(", "),
        ]);
    }
    table.render()
}

/// The figures, a row each, with their units.
pub(crate) fn figures(run: &RunInfo, summary: &Summary, events: &[Event]) -> String {
    let is_marked = events.iter().any(|event| event.kind == EventKind::Fault);
    let (after, at) =
        if is_marked { (" after the mark", "at the mark") } else { ("", "when commits stopped") };
    let standby = faulted(run, summary);
    let seconds = |value| or_not_known(value, human::seconds);
    let mut table = Table::new(["figure", "value"]);
    let mut row = |name: &str, value: String| table.row([name.to_owned(), value]);
    row("verdict", summary.verdict.to_string());
    row(&format!("longest time without a commit{after}"), hang_in_words(summary));
    row(
        &format!("... what the startup process of {standby} waited for in it"),
        or_not_known(summary.hang_wait.as_ref(), |wait| {
            format!("{}, {} of the time", wait.event, human::percent(wait.share))
        }),
    );
    row(&format!("... reads by the disk of {standby} in it"), hang_reads(summary));
    row("... a second: mean, median, peak", hang_rates(summary));
    if is_marked {
        row("longest time without a commit before the mark", seconds(summary.longest_gap_before_fault_s));
    }
    row(&format!("until {standby} streamed again, from then"), seconds(summary.time_to_streaming_s));
    row(&format!("WAL not replayed by {standby} {at}"), size(summary.lag_at_fault_bytes));
    row(&format!("blocks prefetched by {standby} from then on"), prefetched(summary));
    row(
        "... reads by its startup process itself (`pg_stat_io`)",
        or_not_known(summary.startup_reads, human::count),
    );
    if let Some(ProbeSummary { acknowledged, committed_locally, failed }) = summary.probe {
        row("writes of the lab's probe, acknowledged", human::count(acknowledged));
        row(
            "... cancelled waiting for a standby: committed on the primary alone",
            human::count(committed_locally),
        );
        row("... not committed, or not known to be", human::count(failed));
    }
    row("rows of the timeline", human::count(summary.rows));
    row("... missed", human::count(summary.missed_ticks));
    table.render()
}
