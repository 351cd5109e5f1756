//! `wal.json`: what the WAL of a run made its standby do, counted by relation.

use serde::{Deserialize, Serialize};

/// What a standby does with the WAL of a run. Counted by a model of its prefetcher and its buffers that was fed with
/// the WAL itself; the lab's sampled counters have no part in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WalAccount {
    /// What the model took the standby for.
    pub model: WalModel,
    /// Where the WAL was read from and to, bytes from 0/0.
    pub from_lsn: u64,
    /// The end of the last record that was read, or its beginning where its end is not known.
    pub to_lsn: u64,
    /// Records that were read.
    pub records: u64,
    /// Lines of `pg_waldump` that are no records, or not such as are known here.
    pub unknown_lines: u64,
    /// How long it took, seconds.
    pub seconds: f64,
    /// The stretches of WAL that were counted.
    pub ranges: Vec<WalRange>,
}

/// The last place in WAL that is believed, bytes from 0/0: as far as an `int8` counts.
pub const LAST_LSN: u64 = i64::MAX as u64;

/// More than anything here counts: beyond it a double skips numbers.
const MOST: u64 = 1 << 53;

impl WalAccount {
    /// What cannot be so of any account: figures so large that sums of them would have no meaning.
    pub(super) fn contradiction(&self) -> Option<String> {
        let of_range = |range: &WalRange| {
            let relations = range.relations.iter().map(|relation| relation.counts.all());
            let counts = relations.chain([range.total.all(), [range.records; 12]]).flatten();
            (counts.max(), range.from_lsn.max(range.to_lsn))
        };
        let ranges = || self.ranges.iter().map(of_range);
        let model = &self.model;
        let own =
            [self.records, self.unknown_lines, model.shared_buffers_pages, model.wal_decode_buffer_bytes];
        let counted = ranges().filter_map(|(counts, _)| counts).chain(own).max().unwrap_or_default();
        let lsn = ranges().map(|(_, lsn)| lsn).chain([self.from_lsn, self.to_lsn]).max().unwrap_or_default();
        if counted > MOST {
            return Some(format!("{counted} is more than can be counted in WAL"));
        }
        (lsn > LAST_LSN).then(|| format!("{lsn} is no place in WAL"))
    }
}

/// What the model took the standby for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WalModel {
    /// `shared_buffers`, pages of 8 kB.
    pub shared_buffers_pages: u64,
    /// `maintenance_io_concurrency`, at least 1: where it is 0 nothing is prefetched, and the model says what the
    /// server's default would do.
    pub maintenance_io_concurrency: u32,
    /// `wal_decode_buffer_size`, bytes.
    pub wal_decode_buffer_bytes: u64,
    /// The disk's read-ahead, pages of 8 kB.
    pub read_ahead_pages: u32,
}

/// Which stretch of WAL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stretch {
    /// What was written from the update's start until its commit was acknowledged.
    Update,
    /// What the standby had and had not replayed at the fault.
    Backlog,
    /// All of it.
    Whole,
}

/// A stretch of WAL and what it made the standby do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WalRange {
    /// Which one.
    pub stretch: Stretch,
    /// Its records begin here or later, bytes from 0/0.
    pub from_lsn: u64,
    /// Its records begin before this.
    pub to_lsn: u64,
    /// Records in it.
    pub records: u64,
    /// All block references together.
    pub total: BlockCounts,
    /// By relation, those with the most reads first.
    pub relations: Vec<RelationCounts>,
}

impl WalRange {
    /// Its length, bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.to_lsn.saturating_sub(self.from_lsn)
    }
}

/// What became of the block references of one relation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RelationCounts {
    /// Its name, or tablespace, database and relfilenumber where that is not known.
    pub relation: String,
    /// Its share.
    #[serde(flatten)]
    pub counts: BlockCounts,
}

/// What became of block references. The first seven are told apart as `pg_stat_recovery_prefetch` does, of a standby
/// that prefetches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockCounts {
    /// They carried a full-page image (`skip_fpw`).
    pub image: u64,
    /// Their page was to be initialised (`skip_init`).
    pub init: u64,
    /// Their page was not there yet (`skip_new`).
    pub new: u64,
    /// Their page had been looked up a moment before (`skip_rep`).
    pub repeated: u64,
    /// Their page was in the buffer pool (`hit`).
    pub hit: u64,
    /// Prefetched, although a record before them replaces the page whole (part of `prefetch`).
    pub needless_prefetches: u64,
    /// Prefetched, and the page was of use (the rest of `prefetch`).
    pub useful_prefetches: u64,
    /// Reads from the disk that the needless prefetches made: of a page that the operating system has, none is made.
    pub needless_reads: u64,
    /// Reads from the disk that the useful prefetches made.
    pub useful_reads: u64,
    /// Pages that replay read from the disk itself, since nothing had prefetched them.
    pub replay_reads: u64,
    /// Pages that replay would have had to read without any prefetching.
    pub needed_pages: u64,
    /// Reads from the disk that would have taken: fewer, where the pages follow each other and the kernel reads ahead.
    pub needed_reads: u64,
}

impl BlockCounts {
    fn all(&self) -> [u64; 12] {
        [
            self.image,
            self.init,
            self.new,
            self.repeated,
            self.hit,
            self.needless_prefetches,
            self.useful_prefetches,
            self.needless_reads,
            self.useful_reads,
            self.replay_reads,
            self.needed_pages,
            self.needed_reads,
        ]
    }

    /// `pg_stat_recovery_prefetch.prefetch`
    #[must_use]
    pub fn prefetches(&self) -> u64 {
        self.needless_prefetches + self.useful_prefetches
    }

    /// Reads of a standby that prefetches.
    #[must_use]
    pub fn reads_with_prefetch(&self) -> u64 {
        self.needless_reads + self.useful_reads + self.replay_reads
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            image: self.image + other.image,
            init: self.init + other.init,
            new: self.new + other.new,
            repeated: self.repeated + other.repeated,
            hit: self.hit + other.hit,
            needless_prefetches: self.needless_prefetches + other.needless_prefetches,
            useful_prefetches: self.useful_prefetches + other.useful_prefetches,
            needless_reads: self.needless_reads + other.needless_reads,
            useful_reads: self.useful_reads + other.useful_reads,
            replay_reads: self.replay_reads + other.replay_reads,
            needed_pages: self.needed_pages + other.needed_pages,
            needed_reads: self.needed_reads + other.needed_reads,
        }
    }
}
