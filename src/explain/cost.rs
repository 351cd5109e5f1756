//! What replaying a stretch of WAL costs a machine.

use serde::Serialize;

use crate::profile::{self, Prefetch};
use crate::store::WalRange;

/// Bytes of a page.
pub(super) const PAGE: u64 = 8192;

/// What of a standby's machine decides how long replay takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// Cap on reads a second, if there is one.
    pub read_iops: Option<u64>,
    /// Memory that is left for caching files, bytes; none when it is not known, and then all WAL is taken to be
    /// cached.
    pub cache_bytes: Option<u64>,
    /// Bytes that one sequential read of WAL brings: the disk's read-ahead.
    pub read_ahead_bytes: u64,
}

impl Machine {
    /// The machine of a profile, with `shared_buffers` of so many pages. A cap that was not kept is none.
    #[must_use]
    pub fn of(machine: &profile::Machine, shared_buffers_pages: u64, read_iops: Option<u64>) -> Self {
        Self {
            read_iops,
            cache_bytes: Some(machine.memory.0.saturating_sub(shared_buffers_pages * PAGE)),
            read_ahead_bytes: (u64::from(machine.read_ahead_kb) << 10).max(PAGE),
        }
    }

    /// The same, when its disk has just been mounted: whatever WAL waits has to be read.
    #[must_use]
    pub fn cold(self) -> Self {
        Self { cache_bytes: Some(0), ..self }
    }
}

/// Reads from the disk, and the time they take at the cap.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cost {
    /// Reads of pages.
    pub page_reads: u64,
    /// Reads of WAL that memory could not keep from its arrival to its replay.
    pub wal_reads: u64,
    /// Both.
    pub reads: u64,
    /// Seconds, if there is a cap.
    pub replay_s: Option<f64>,
}

impl Cost {
    /// Of a stretch of WAL, with recovery prefetch as given.
    #[must_use]
    pub fn of(range: &WalRange, prefetch: Prefetch, machine: &Machine) -> Self {
        let page_reads = match prefetch {
            Prefetch::Off => range.total.needed_reads,
            Prefetch::Try | Prefetch::On => range.total.reads_with_prefetch(),
        };
        Self::new(page_reads, range.bytes(), machine)
    }

    /// Of so many reads of pages, for so many bytes of WAL.
    #[must_use]
    pub fn new(page_reads: u64, wal_bytes: u64, machine: &Machine) -> Self {
        let wal_reads = wal_reads(page_reads, wal_bytes, machine);
        let reads = page_reads + wal_reads;
        let replay_s = machine.read_iops.filter(|cap| *cap > 0).map(|cap| reads as f64 / cap as f64);
        Self { page_reads, wal_reads, reads, replay_s }
    }
}

/// WAL that waits to be replayed and the pages that replay brings in compete for memory, and the kernel gives up first
/// what came first. Where both fit nothing is read twice; where they do not, WAL is always gone when its turn comes.
fn wal_reads(page_reads: u64, wal_bytes: u64, machine: &Machine) -> u64 {
    let needed = wal_bytes.saturating_add(page_reads.saturating_mul(PAGE));
    match machine.cache_bytes {
        Some(cache) if needed > cache => wal_bytes.div_ceil(machine.read_ahead_bytes),
        Some(_) | None => 0,
    }
}
