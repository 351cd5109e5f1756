//! What servers say about themselves, and what they do not let be seen.

use crate::profile::Settings;

/// A value, or why it is not visible.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen<T> {
    /// What was seen.
    Value(T),
    /// Why nothing was.
    Hidden(String),
}

impl<T> Seen<T> {
    /// What was seen, if anything was.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Hidden(_) => None,
        }
    }

    /// Why nothing was seen.
    pub fn why_hidden(&self) -> Option<&str> {
        match self {
            Self::Value(_) => None,
            Self::Hidden(why) => Some(why),
        }
    }
}

/// All that was found out.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// The primary.
    pub primary: Primary,
    /// The standbys that were asked, in the order in which they were named.
    pub standbys: Vec<Asked>,
}

/// A standby that was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// Where it is.
    pub place: String,
    /// What it said, or why it said nothing.
    pub standby: Seen<Standby>,
}

/// What every server says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity {
    /// Hosts and ports, or sockets.
    pub place: String,
    /// `server_version`
    pub version: String,
    /// `server_version_num`
    pub version_num: u32,
    /// Is it a standby.
    pub in_recovery: bool,
    /// Of the cluster; the same for a primary and its standbys.
    pub system_identifier: Seen<i64>,
    /// The settings that matter, by name. Sizes are in bytes, times in milliseconds; -1 and words are as they are.
    pub settings: Settings,
}

impl Identity {
    /// A setting that is a number: bytes, milliseconds, or a count.
    #[must_use]
    pub fn number(&self, setting: &str) -> Option<i64> {
        self.settings.get(setting)?.parse().ok()
    }

    /// A setting as it was shown.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(String::as_str)
    }
}

/// The primary.
#[derive(Debug, Clone, PartialEq)]
pub struct Primary {
    /// What it says of itself.
    pub identity: Identity,
    /// Who streams from it.
    pub walsenders: Seen<Vec<Walsender>>,
    /// Sessions whose commit waits for a standby.
    pub waiters: Seen<u64>,
    /// Its replication slots.
    pub slots: Seen<Vec<Slot>>,
    /// Its WAL before the interval, and after.
    pub samples: (Seen<WalSample>, Seen<WalSample>),
}

/// One that streams from the primary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walsender {
    /// `application_name`, by which synchronous_standby_names knows it.
    pub name: String,
    /// `streaming`, `catchup` ...; none where it may not be seen.
    pub state: Option<String>,
}

/// A replication slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// Its name.
    pub name: String,
    /// Is somebody connected to it.
    pub active: bool,
    /// WAL it holds back, bytes.
    pub kept_bytes: Option<u64>,
}

/// The primary's WAL at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WalSample {
    /// When, seconds on the check's clock.
    pub at_s: f64,
    /// Its end, bytes from 0/0.
    pub lsn: u64,
    /// `pg_stat_wal.wal_bytes`, since its reset.
    pub bytes: u64,
    /// `pg_stat_wal.wal_fpi`, since its reset.
    pub images: u64,
}

/// A standby.
#[derive(Debug, Clone, PartialEq)]
pub struct Standby {
    /// What it says of itself.
    pub identity: Identity,
    /// Its name at the primary: `application_name` of its walreceiver.
    pub name: Seen<String>,
    /// Where replay would begin after a restart, bytes from 0/0: the redo point of its last restartpoint.
    pub redo_lsn: Seen<u64>,
    /// Its replay before the interval, and after.
    pub samples: (Seen<ReplaySample>, Seen<ReplaySample>),
}

/// A standby's replay at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReplaySample {
    /// When, seconds on the check's clock.
    pub at_s: f64,
    /// End of the WAL it has received, bytes from 0/0; none before its walreceiver has received any.
    pub receive_lsn: Option<u64>,
    /// End of the WAL it has replayed, bytes from 0/0.
    pub replay_lsn: Option<u64>,
    /// Does it have a walreceiver that streams; none where that may not be seen.
    pub streaming: Option<bool>,
    /// Is replay paused.
    pub paused: Option<bool>,
    /// What its startup process waits for; none where that may not be seen.
    pub startup_wait: Option<String>,
    /// `pg_stat_recovery_prefetch.prefetch`
    pub prefetched: Option<u64>,
    /// `pg_stat_recovery_prefetch.skip_fpw`
    pub images: Option<u64>,
    /// Pages of relations that replay read itself (`pg_stat_io`).
    pub startup_reads: Option<u64>,
}
