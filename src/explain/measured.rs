//! What a run measured of the same.

use serde::Serialize;

use super::cost::PAGE;
use crate::store::{Event, Metric, RunInfo, Timeline};
use crate::wal::Replayed;

/// What the faulted standby did from the fault until it had replayed its backlog.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Measured {
    /// Seconds.
    pub replay_s: Option<f64>,
    /// Reads of its disk.
    pub reads: Option<u64>,
    /// Those of them that were of WAL, by their size: what the bytes read come to beyond a page each.
    pub wal_reads: Option<u64>,
    /// Its own counters: `prefetch`, `hit`, `skip_init`, `skip_new`, `skip_fpw`, `skip_rep`.
    pub prefetch: Option<Counters>,
}

/// Counters of `pg_stat_recovery_prefetch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counters {
    /// `skip_fpw`
    pub image: u64,
    /// `skip_init`
    pub init: u64,
    /// `skip_new`
    pub new: u64,
    /// `skip_rep`
    pub repeated: u64,
    /// `hit`
    pub hit: u64,
    /// `prefetch`
    pub prefetches: u64,
}

impl Measured {
    /// Of this standby of a run; what it does not show is none.
    #[must_use]
    pub fn of(run: &RunInfo, standby: &str, timeline: &Timeline, events: &[Event]) -> Self {
        let Some(backlog) = Replayed::backlog(standby, timeline, events) else { return Self::default() };
        let reads = backlog.growth(&Metric::ReadsTotal);
        let bytes = backlog.growth(&Metric::ReadBytesTotal);
        let node = run.standbys().find(|node| node.name == standby);
        let read_ahead = node.and_then(|node| node.read_ahead_kb).map(|kb| u64::from(kb) << 10);
        let wal_reads = match (reads, bytes, read_ahead) {
            (Some(reads), Some(bytes), Some(large)) if large > PAGE => {
                Some(((bytes - reads * PAGE as f64) / (large - PAGE) as f64).max(0.0))
            }
            _ => None,
        };
        Self {
            replay_s: backlog.seconds(),
            reads: reads.map(whole),
            wal_reads: wal_reads.map(whole),
            prefetch: counters(&backlog),
        }
    }
}

fn counters(backlog: &Replayed<'_>) -> Option<Counters> {
    let grown = |name: &str| backlog.growth(&Metric::RecoveryPrefetch(name.to_owned())).map(whole);
    Some(Counters {
        image: grown("skip_fpw")?,
        init: grown("skip_init")?,
        new: grown("skip_new")?,
        repeated: grown("skip_rep")?,
        hit: grown("hit")?,
        prefetches: grown("prefetch")?,
    })
}

/// To the nearest whole; a cast from f64 ends at the integer's bounds.
fn whole(count: f64) -> u64 {
    count.round() as u64
}
