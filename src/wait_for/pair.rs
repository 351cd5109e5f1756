//! The servers that are measured, as this room sees them: in Docker, or in tests nowhere.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::postgres::{Answer, SqlError};
use crate::profile::Profile;
use crate::progress::Progress;
use crate::repro::Ground;
use crate::store::NodeInfo;

/// One of the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Node {
    /// Takes the writes.
    Primary,
    /// Replays them, and is waited on.
    Standby,
    /// A second standby. It is cut off while anything is measured, and follows the first one when that is promoted.
    Follower,
}

impl Node {
    /// Its name in the profile.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Primary => crate::profile::PRIMARY,
            Self::Standby => "standby",
            Self::Follower => "follower",
        }
    }
}

/// Cumulative counters, read together. One that cannot be read is none.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// CPU seconds of all processes in the primary's container.
    pub primary_s: Option<f64>,
    /// CPU seconds of all processes in the standby's container.
    pub standby_s: Option<f64>,
    /// CPU seconds of the lab itself, which is the client.
    pub client_s: Option<f64>,
    /// Time that the machine's CPUs were busy, all of them together; in the unit of `machine_all`.
    pub machine_busy: Option<f64>,
    /// Time that the machine's CPUs were busy or idle.
    pub machine_all: Option<f64>,
}

/// A session on one of the servers. Statements have no deadline of their own.
#[async_trait]
pub trait Session: Send + Sync {
    /// Inserts a row and commits.
    async fn insert(&self) -> Result<(), SqlError>;

    /// The end of the WAL that the primary has flushed, bytes from 0/0.
    async fn flushed(&self) -> Result<u64, SqlError>;

    /// Has the standby replayed its WAL up to `lsn`.
    async fn has_replayed(&self, lsn: u64) -> Result<bool, SqlError>;

    /// An empty query and its answer.
    async fn ping(&self) -> Result<(), SqlError>;

    /// Statements by the simple protocol, as one message.
    async fn simple(&self, sql: &str) -> Result<Answer, SqlError>;

    /// One statement by the extended protocol.
    async fn extended(&self, sql: &str) -> Result<Answer, SqlError>;
}

/// A primary, its standby, and the machine they share with the client.
#[async_trait]
pub trait Pair: Send + Sync {
    /// Opens a session. It belongs to the runtime that this is called on.
    async fn session(&self, node: Node) -> anyhow::Result<Arc<dyn Session>>;

    /// Reads the counters.
    async fn usage(&self) -> anyhow::Result<Usage>;

    /// Sleeps as exactly as the system can: a runtime's timer may be a millisecond late.
    async fn nap(&self, length: Duration);

    /// The nodes as they are, for the record.
    async fn describe(&self) -> anyhow::Result<Vec<NodeInfo>>;

    /// Saves each server's log in the folder for logs.
    async fn save_logs(&self) -> anyhow::Result<()>;
}

/// What is to be set up. Disks have no caps.
#[derive(Debug, Clone)]
pub struct PairOrder {
    /// Label of everything that is made.
    pub run_id: String,
    /// The nodes.
    pub profile: Profile,
    /// Folder for what is logged.
    pub logs: PathBuf,
}

/// A place where pairs can be set up.
#[async_trait]
pub trait PairSite: Send + Sync {
    /// Finds the server that is asked for, and gets ready what `profile` needs.
    async fn prepare(&self, profile: &Profile, progress: &Progress) -> anyhow::Result<Ground>;

    /// The server's version, as in `19rc1`; nothing is loaded for it.
    async fn version(&self, profile: &Profile, progress: &Progress) -> anyhow::Result<String>;

    /// Sets up the servers.
    async fn raise(&self, order: PairOrder, progress: &Progress) -> anyhow::Result<Arc<dyn Pair>>;

    /// Removes what carries this run's label.
    async fn tear_down(&self, run_id: &str, progress: &Progress);

    /// Removes what a [`PairSite::prepare`] that was dropped has left.
    async fn abandon(&self, progress: &Progress);
}
