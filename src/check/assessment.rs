//! What is found of a cluster: what `--json` prints.

use serde::Serialize;

use super::forecast::{Forecast, Pace};
use super::remedy::Remedy;

/// Would commits hang.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Not for longer than is tolerated.
    NotExposed,
    /// What would have to be known is not visible.
    Unknown,
    /// For longer than is tolerated.
    Exposed,
}

/// Whether commits go on when a standby's walreceiver is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Commits {
    /// They do not wait for this standby.
    DoNotWait,
    /// Enough others stream.
    GoOn,
    /// They hang until it is back.
    Hang,
    /// They hang already: too few stream.
    HangNow,
}

/// What was found. The layout is stable: fields may be added, and `schema` counts when one changes its meaning. Null is
/// not known.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assessment {
    /// Layout of this object: 1.
    pub schema: u32,
    /// The worst of the standbys' verdicts: `exposed`, `unknown` or `not-exposed`.
    pub verdict: Verdict,
    /// For how long commits may hang, seconds.
    pub tolerated_hang_s: f64,
    /// IOPS of the standbys' disks, as given.
    pub iops: Option<u64>,
    /// The primary.
    pub primary: PrimaryAssessment,
    /// The standbys: those that were asked, in the order in which they were named, then those that only the primary
    /// knows.
    pub standbys: Vec<StandbyAssessment>,
    /// What limits this.
    pub notes: Vec<String>,
}

/// What was found of the primary.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PrimaryAssessment {
    /// Host and port, or socket.
    pub place: String,
    /// `server_version`
    pub version: String,
    /// `synchronous_standby_names` as understood; null where commits wait for nobody.
    pub rule: Option<String>,
    /// `synchronous_commit` of the session that asked; others may have their own.
    pub synchronous_commit: Option<String>,
    /// How many that count stream.
    pub streaming_synchronous: Option<usize>,
    /// Sessions whose commit waits for a standby now.
    pub waiting_commits: Option<u64>,
    /// `full_page_writes`
    pub full_page_writes: Option<bool>,
    /// WAL written a second over the interval, bytes.
    pub wal_bytes_per_s: Option<f64>,
    /// Full-page images a second over the interval, as `pg_stat_wal` counts them: when a statement ends.
    pub page_images_per_s: Option<f64>,
    /// Bytes of WAL for a full-page image since the statistics' reset.
    pub wal_bytes_per_page_image: Option<f64>,
    /// `max_wal_size`, bytes.
    pub max_wal_size_bytes: Option<i64>,
    /// `checkpoint_timeout`, seconds.
    pub checkpoint_timeout_s: Option<f64>,
    /// `max_slot_wal_keep_size`, bytes; -1 is no limit.
    pub max_slot_wal_keep_size_bytes: Option<i64>,
    /// WAL that its slots hold back, bytes: that of the slot which holds most.
    pub slots_keep_bytes: Option<u64>,
    /// What is not visible, and why.
    pub not_visible: Vec<NotVisible>,
}

/// What was found of a standby.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StandbyAssessment {
    /// Its name at the primary; its place where that is not known.
    pub name: String,
    /// Host and port, or socket; null for one that was not asked.
    pub place: Option<String>,
    /// `server_version`
    pub version: Option<String>,
    /// `exposed`, `unknown` or `not-exposed`.
    pub verdict: Verdict,
    /// Why, in a sentence.
    pub why: String,
    /// What commits do when its walreceiver is gone.
    pub commits: Option<Commits>,
    /// `recovery_prefetch`; null for 14 too, which has none.
    pub recovery_prefetch: Option<String>,
    /// `maintenance_io_concurrency`
    pub maintenance_io_concurrency: Option<i64>,
    /// Does it prefetch, by version and by both settings.
    pub prefetches: Option<bool>,
    /// `wal_decode_buffer_size`, bytes.
    pub wal_decode_buffer_bytes: Option<i64>,
    /// `data_checksums`
    pub data_checksums: Option<bool>,
    /// `recovery_min_apply_delay`, seconds.
    pub apply_delay_s: Option<f64>,
    /// Is replay paused.
    pub replay_paused: Option<bool>,
    /// Does it stream.
    pub streaming: Option<bool>,
    /// What its startup process waited for at the second look.
    pub startup_wait: Option<String>,
    /// WAL that it has and has not replayed, bytes.
    pub lag_bytes: Option<u64>,
    /// What replay did in the interval.
    pub pace: Option<Pace>,
    /// Reads of the backlog as it is now.
    pub predicted_reads: Option<u64>,
    /// How long commits would hang if its walreceiver died now, seconds.
    pub predicted_hang_s: Option<f64>,
    /// Reads of the worst credible backlog.
    pub worst_reads: Option<u64>,
    /// How long commits would hang at the worst, seconds.
    pub worst_hang_s: Option<f64>,
    /// The reckoning of the backlog as it is now.
    pub now: Option<Forecast>,
    /// That of the worst credible one.
    pub worst: Option<Forecast>,
    /// What would help, if anything has to be done.
    pub remedies: Vec<Remedy>,
    /// What is not visible, and why.
    pub not_visible: Vec<NotVisible>,
}

/// Something that is not visible.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotVisible {
    /// What.
    pub what: String,
    /// Why.
    pub why: String,
}

impl NotVisible {
    /// Of these.
    pub(super) fn new(what: &str, why: &str) -> Self {
        Self { what: what.to_owned(), why: why.to_owned() }
    }
}
