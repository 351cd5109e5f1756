//! `summary.json`: the verdict and its figures. A figure that is not known is null.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a run showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// After the fault commits stood still for at least the profile's `watch.stall_after`.
    #[serde(rename = "stalled")]
    Stalled,
    /// They did not.
    #[serde(rename = "no stall")]
    NoStall,
    /// The run cannot tell, and `reasons` says why.
    #[serde(rename = "inconclusive")]
    Inconclusive,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stalled => "stalled",
            Self::NoStall => "no stall",
            Self::Inconclusive => "inconclusive",
        })
    }
}

/// The verdict of a run and its figures. "The hang" is the longest gap without a commit after the fault, of one that began before it the part after it;
/// reads and blocks "of the hang" are those of the faulted standby within it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// What the run showed.
    pub verdict: Verdict,
    /// Why it is inconclusive, or what limits it.
    pub reasons: Vec<String>,
    /// Of servers that were only watched, the standby that "the faulted standby" stands for: the one that was away for
    /// most of the hang. Left out of a run of the lab, whose profile says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standby: Option<String>,
    /// Of servers that were only watched, what the startup process was seen waiting for in most rows of a hang long enough
    /// to be a stall. Left out otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hang_wait: Option<HangWait>,
    /// What became of the writes of `observe --probe`. Left out of a run without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeSummary>,
    /// Length of the hang: from the first second without a commit after the fault to the first commit, seconds; 0 when
    /// every second had one.
    pub hang_s: Option<f64>,
    /// False when the run ended before the hang did: then `hang_s` is a lower bound.
    pub hang_ended: Option<bool>,
    /// Start of the hang on the run's clock, seconds.
    pub hang_start_s: Option<f64>,
    /// Longest gap without a commit before the fault, from the start of the update, seconds.
    pub longest_gap_before_fault_s: Option<f64>,
    /// From the fault until the standby streamed again, seconds.
    pub time_to_streaming_s: Option<f64>,
    /// Cap on reads of the faulted standby, a second.
    pub read_iops_cap: Option<u64>,
    /// Reads of the hang divided by its length, a second.
    pub hang_read_iops_mean: Option<f64>,
    /// Median of the hang's one-second read rates.
    pub hang_read_iops_median: Option<f64>,
    /// Greatest of the hang's one-second read rates.
    pub hang_read_iops_peak: Option<f64>,
    /// Reads of the hang.
    pub hang_reads: Option<u64>,
    /// Bytes read in the hang.
    pub hang_read_bytes: Option<u64>,
    /// Mean size of a read of the hang, bytes.
    pub hang_read_bytes_mean: Option<f64>,
    /// Blocks prefetched by the faulted standby from the start of the update to the end of the hang; of the run, when
    /// no gap was as long as the profile's `watch.stall_after`.
    pub prefetched_blocks: Option<u64>,
    /// Of the block references seen in that time, the share that was prefetched.
    pub prefetched_share: Option<f64>,
    /// Reads of relations by the startup process itself (`pg_stat_io`) from the start of the update to the end of the
    /// run. It tells of them only when it replays a snapshot of running transactions, which the primary logs every 15 s
    /// while it writes: what it read last may be missing.
    pub startup_reads: Option<u64>,
    /// WAL of the primary that the faulted standby had not replayed at the fault, bytes.
    pub lag_at_fault_bytes: Option<u64>,
    /// From the update's start until its statements had run, seconds.
    pub update_executed_s: Option<f64>,
    /// From the update's start until its commit was acknowledged, seconds.
    pub update_s: Option<f64>,
    /// WAL written on the primary from the update's start until its statements had run, bytes.
    pub update_wal_bytes: Option<u64>,
    /// The same update on each node: the primary until the update was committed, a standby until it had replayed it.
    pub nodes: Vec<NodeSummary>,
    /// Reads of the faulted standby for the update, divided by the primary's.
    pub amplification: Option<f64>,
    /// Rows in the timeline.
    pub rows: u64,
    /// Ticks of the sampler for which there is no row.
    pub missed_ticks: u64,
}

/// A wait event, and how often it was seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HangWait {
    /// As `type/event`.
    pub event: String,
    /// Of the rows that showed one, the share that showed this.
    pub share: f64,
}

/// What became of the writes that the lab made itself on servers it watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeSummary {
    /// Acknowledged by the primary, with whatever its rule asks of standbys.
    pub acknowledged: u64,
    /// Cancelled at their deadline while they waited for a standby: these have committed on the primary.
    pub committed_locally: u64,
    /// Without a commit: refused, cancelled before it, or the connection was lost.
    pub failed: u64,
}

/// What the update cost one node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeSummary {
    /// Name of the node.
    pub name: String,
    /// Reads its disk made.
    pub reads: Option<u64>,
    /// Bytes it read.
    pub read_bytes: Option<u64>,
    /// Writes its disk made.
    pub writes: Option<u64>,
    /// Bytes it wrote.
    pub write_bytes: Option<u64>,
    /// CPU seconds it used.
    pub cpu_s: Option<f64>,
    /// How long that took, seconds.
    pub seconds: Option<f64>,
}
