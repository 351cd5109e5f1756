//! The columns of `timeline.csv`: one list for the writer, the reader and the documentation.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// What one column of a node holds. Totals are cumulative counters as the source gives them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Metric {
    /// Transactions a second of the load; of servers that are only watched, writing transactions that ended.
    Tps,
    /// Mean latency of the load's transactions.
    LatencyMs,
    /// Transactions of the load that failed since the row before.
    FailedTransactions,
    /// Reads completed by the node's disk.
    ReadsTotal,
    /// Bytes read by the node's disk.
    ReadBytesTotal,
    /// Writes completed by the node's disk.
    WritesTotal,
    /// Bytes written by the node's disk.
    WriteBytesTotal,
    /// Requests in flight on the node's disk.
    InFlight,
    /// Reads a second since the row before.
    ReadIops,
    /// Writes a second since the row before.
    WriteIops,
    /// CPU time used by the node.
    CpuSecondsTotal,
    /// CPU used since the row before; 100 is one core.
    CpuPct,
    /// End of the WAL written by the primary.
    WalLsn,
    /// Backends of the primary that wait for a synchronous standby.
    SyncRepWaiters,
    /// How long one of them has been seen to wait, that which has waited longest.
    SyncRepWaitS,
    /// When the server was started, by its own clock.
    StartedUnixS,
    /// Standbys that are connected and that a commit may wait for; empty where the rule asks for none.
    SyncStandbys,
    /// Transactions that the primary has committed, those that only read included, the lab's own left out.
    CommitsTotal,
    /// Commits a second since the row before.
    CommitsPerS,
    /// Writes of the lab's probe since the row before that were acknowledged.
    ProbeAcknowledged,
    /// Mean latency of those.
    ProbeLatencyMs,
    /// Writes of the probe since the row before that were cancelled while they waited for a standby: they have committed
    /// on the primary.
    ProbeLocalCommits,
    /// Writes of the probe since the row before that did not commit.
    ProbeFailed,
    /// WAL sent to the standby.
    SentLsn,
    /// WAL the standby has written.
    WriteLsn,
    /// WAL the standby has flushed.
    FlushLsn,
    /// What the standby is to the primary: `sync`, `quorum`, `potential`, `async`.
    SyncState,
    /// WAL received and flushed, as the standby says.
    ReceiveLsn,
    /// WAL replayed, as the standby says.
    ReplayLsn,
    /// WAL of the primary that the standby has not replayed.
    LagBytes,
    /// Is there a walreceiver process.
    Walreceiver,
    /// Does the walreceiver stream.
    WalreceiverStreaming,
    /// Is replay paused.
    ReplayPaused,
    /// What the startup process waits for, as `type/event`.
    StartupWait,
    /// Blocks read by the startup process itself.
    StartupReadsTotal,
    /// A column of `pg_stat_recovery_prefetch`; patched servers may have more than stock ones.
    RecoveryPrefetch(String),
}

/// Prefix of the columns that come from `pg_stat_recovery_prefetch`.
const RECOVERY_PREFETCH: &str = "recovery_prefetch_";

impl Metric {
    /// Every metric with a fixed name, in the order of the file.
    pub const FIXED: [Self; 35] = [
        Self::Tps,
        Self::LatencyMs,
        Self::FailedTransactions,
        Self::CommitsPerS,
        Self::CommitsTotal,
        Self::ProbeAcknowledged,
        Self::ProbeLatencyMs,
        Self::ProbeLocalCommits,
        Self::ProbeFailed,
        Self::ReadIops,
        Self::WriteIops,
        Self::InFlight,
        Self::ReadsTotal,
        Self::ReadBytesTotal,
        Self::WritesTotal,
        Self::WriteBytesTotal,
        Self::CpuPct,
        Self::CpuSecondsTotal,
        Self::WalLsn,
        Self::SyncRepWaiters,
        Self::SyncRepWaitS,
        Self::SyncStandbys,
        Self::StartedUnixS,
        Self::SentLsn,
        Self::WriteLsn,
        Self::FlushLsn,
        Self::SyncState,
        Self::ReceiveLsn,
        Self::ReplayLsn,
        Self::LagBytes,
        Self::Walreceiver,
        Self::WalreceiverStreaming,
        Self::ReplayPaused,
        Self::StartupWait,
        Self::StartupReadsTotal,
    ];

    /// The prefetched blocks: `pg_stat_recovery_prefetch.prefetch`.
    #[must_use]
    pub fn prefetched() -> Self {
        Self::RecoveryPrefetch("prefetch".to_owned())
    }

    /// Name of the column without its node, unit included.
    #[must_use]
    pub fn name(&self) -> String {
        self.describe().0.to_owned() + if let Self::RecoveryPrefetch(column) = self { column } else { "" }
    }

    /// What the column holds, its unit and where it comes from.
    #[must_use]
    pub fn doc(&self) -> &'static str {
        self.describe().1
    }

    fn describe(&self) -> (&'static str, &'static str) {
        match self {
            Self::Tps => (
                "tps",
                "transactions a second of the load (pgbench -P 1); of servers that are only watched, writing transactions and subtransactions that ended, committed or not (pg_snapshot_xmax): pg_stat_database counts those that only read too, and up to 10 s late",
            ),
            Self::LatencyMs => {
                ("latency_ms", "mean latency in ms, waiting behind the rate limit included (pgbench -P 1)")
            }
            Self::FailedTransactions => {
                ("failed_transactions", "failed transactions since the row before (pgbench -P 1)")
            }
            Self::ReadIops => ("read_iops", "reads completed a second since the row before"),
            Self::WriteIops => ("write_iops", "writes completed a second since the row before"),
            Self::InFlight => ("in_flight", "requests in flight (block device stat, field 9)"),
            Self::ReadsTotal => {
                ("reads_total", "reads completed since the device was made (block device stat, field 1)")
            }
            Self::ReadBytesTotal => {
                ("read_bytes_total", "bytes read (block device stat, field 3, times 512)")
            }
            Self::WritesTotal => ("writes_total", "writes completed (block device stat, field 5)"),
            Self::WriteBytesTotal => {
                ("write_bytes_total", "bytes written (block device stat, field 7, times 512)")
            }
            Self::CpuPct => ("cpu_pct", "CPU since the row before, 100 is one core"),
            Self::CpuSecondsTotal => {
                ("cpu_seconds_total", "CPU seconds of the node's cgroup (cpuacct.usage or cpu.stat)")
            }
            Self::WalLsn => ("wal_lsn", "end of WAL on the primary, bytes from 0/0 (pg_current_wal_lsn)"),
            Self::SyncRepWaiters => (
                "sync_rep_waiters",
                "backends waiting for a synchronous standby (pg_stat_activity, IPC/SyncRep)",
            ),
            Self::SyncRepWaitS => (
                "sync_rep_wait_s",
                "seconds for which the same transaction has been seen to wait for a synchronous standby, of the one seen longest; commits are released in the order of their WAL, so none that came after it was (pg_stat_activity, by backend_xid)",
            ),
            Self::StartedUnixS => (
                "started_unix_s",
                "when the server was started, seconds since 1970 by its own clock (pg_postmaster_start_time)",
            ),
            Self::SyncStandbys => (
                "sync_standbys",
                "standbys that are connected and that a commit may wait for (pg_stat_replication, sync_state sync or quorum); empty where synchronous_standby_names is",
            ),
            Self::CommitsTotal => (
                "commits_total",
                "transactions committed in all databases, those that only read included, the lab's own statements left out (pg_stat_database.xact_commit)",
            ),
            Self::CommitsPerS => ("commits_per_s", "commits a second since the row before, of commits_total"),
            Self::ProbeAcknowledged => (
                "probe_acknowledged",
                "the lab's own writes since the row before that were acknowledged (observe --probe)",
            ),
            Self::ProbeLatencyMs => ("probe_latency_ms", "mean latency of those in ms (observe --probe)"),
            Self::ProbeLocalCommits => (
                "probe_local_commits",
                "the lab's own writes since the row before whose wait for a standby was cancelled at the deadline: committed on the primary alone (observe --probe)",
            ),
            Self::ProbeFailed => (
                "probe_failed",
                "the lab's own writes since the row before that did not commit, or of which nothing is known (observe --probe)",
            ),
            Self::SentLsn => ("sent_lsn", "WAL sent to this standby, bytes from 0/0 (pg_stat_replication)"),
            Self::WriteLsn => {
                ("write_lsn", "WAL this standby has written, bytes from 0/0 (pg_stat_replication)")
            }
            Self::FlushLsn => {
                ("flush_lsn", "WAL this standby has flushed, bytes from 0/0 (pg_stat_replication)")
            }
            Self::SyncState => (
                "sync_state",
                "sync, quorum, potential or async; empty when not connected (pg_stat_replication)",
            ),
            Self::ReceiveLsn => {
                ("receive_lsn", "WAL received and flushed, bytes from 0/0 (pg_last_wal_receive_lsn)")
            }
            Self::ReplayLsn => ("replay_lsn", "WAL replayed, bytes from 0/0 (pg_last_wal_replay_lsn)"),
            Self::LagBytes => ("lag_bytes", "the primary's wal_lsn less this standby's replay_lsn"),
            Self::Walreceiver => {
                ("walreceiver", "1 if there is a walreceiver, else 0 (pg_stat_wal_receiver)")
            }
            Self::WalreceiverStreaming => {
                ("walreceiver_streaming", "1 if the walreceiver streams, else 0 (pg_stat_wal_receiver)")
            }
            Self::ReplayPaused => (
                "replay_paused",
                "1 if replay is paused or about to be, else 0 (pg_get_wal_replay_pause_state)",
            ),
            Self::StartupWait => {
                ("startup_wait", "wait event of the startup process as type/event (pg_stat_activity)")
            }
            Self::StartupReadsTotal => (
                "startup_reads_total",
                "reads of relations by the startup process itself (pg_stat_io, 16 and later), as it last told them: it does so only when it replays a snapshot of running transactions, every 15 s at most",
            ),
            Self::RecoveryPrefetch(_) => (RECOVERY_PREFETCH, "a column of pg_stat_recovery_prefetch"),
        }
    }

    /// The metric of this column name, if it is one of the lab's.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        if let Some(column) = name.strip_prefix(RECOVERY_PREFETCH) {
            return Some(Self::RecoveryPrefetch(column.to_owned()));
        }
        Self::FIXED.into_iter().find(|metric| metric.describe().0 == name)
    }
}

/// A column of the timeline: a metric of a node. Its name in the file is `<node>_<metric>`.
///
/// Cheap to clone: every cell of a timeline names its column.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Column(Arc<NodeMetric>);

/// What a [`Column`] is.
#[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeMetric {
    /// Name of the node.
    pub node: String,
    /// What is measured.
    pub metric: Metric,
}

impl Deref for Column {
    type Target = NodeMetric;

    fn deref(&self) -> &NodeMetric {
        &self.0
    }
}

impl Column {
    /// The column of `metric` on `node`.
    #[must_use]
    pub fn new(node: &str, metric: Metric) -> Self {
        Self(Arc::new(NodeMetric { node: node.to_owned(), metric }))
    }

    /// Finds node and metric in a column's name. Node names may hold `_`, so every split is tried, the shortest
    /// node first, and the rest must be a metric.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        name.match_indices('_').find_map(|(at, _)| {
            let (node, metric) = (&name[..at], &name[at + 1..]);
            (!node.is_empty()).then(|| Metric::parse(metric)).flatten().map(|metric| Self::new(node, metric))
        })
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.node, self.metric.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::is_standby_name;

    #[test]
    fn every_column_name_is_read_back_as_what_it_was() {
        let metrics = Metric::FIXED.into_iter().chain([Metric::prefetched()]);
        for metric in metrics {
            for node in ["primary", "standby", "standby_2"] {
                let column = Column::new(node, metric.clone());
                assert_eq!(Column::parse(&column.to_string()), Some(column));
            }
        }
    }

    #[test]
    fn a_name_whose_columns_would_be_read_as_another_nodes_is_none_for_a_standby() {
        let metrics: Vec<Metric> = Metric::FIXED.into_iter().chain([Metric::prefetched()]).collect();
        let words = metrics.iter().flat_map(|metric| {
            let name = metric.name();
            let cuts: Vec<String> = name
                .match_indices('_')
                .map(|(at, _)| name.get(..at).unwrap_or_default().to_owned())
                .collect();
            cuts.into_iter().chain([name])
        });
        let mut names: Vec<String> =
            words.flat_map(|word| [format!("a_{word}"), format!("a_{word}_b"), word]).collect();
        names.sort();
        names.dedup();
        assert!(names.len() > 100);
        for name in names {
            let is_read_back = metrics.iter().all(|metric| {
                let column = Column::new(&name, metric.clone());
                Column::parse(&column.to_string()) == Some(column)
            });
            assert!(is_read_back || !is_standby_name(&name), "{name}");
        }
    }

    #[test]
    fn a_foreign_column_is_no_metric() {
        for name in ["t_s", "phase", "standby", "_tps", "standby_tps_", "standby_iops", ""] {
            assert_eq!(Column::parse(name), None, "{name}");
        }
    }
}
