//! What an experiment needs of the world.

use async_trait::async_trait;
use tokio::time::Instant;

use crate::measure::Source;
use crate::profile::Fault;

/// A primary, its standbys and the load, set up and streaming.
///
/// The real one is made of containers; tests have one of scripted counters and virtual time. Errors are the lab's
/// own; the experiment adds the phase and hands them on.
#[async_trait]
pub trait Lab: Send + Sync {
    /// Name of the primary.
    fn primary(&self) -> &str;

    /// Names of the standbys, in the order of the profile.
    fn standbys(&self) -> Vec<String>;

    /// Opens everything that is asked once a tick, and asks it once, so that no first question has to read its
    /// catalogues behind a full queue.
    async fn sources(&self) -> anyhow::Result<Vec<Box<dyn Source>>>;

    /// `CHECKPOINT` on the primary: the next touch of every page writes its full-page image.
    async fn checkpoint(&self) -> anyhow::Result<()>;

    /// Starts the load on the primary.
    async fn start_load(&self) -> anyhow::Result<()>;

    /// Stops the load, if it runs.
    async fn stop_load(&self) -> anyhow::Result<()>;

    /// How the load ended, if it was started and has ended.
    fn load_end(&self) -> Option<String>;

    /// End of the primary's WAL, bytes from 0/0.
    async fn wal_lsn(&self) -> anyhow::Result<u64>;

    /// Begins a transaction, runs this batch of the update in it and leaves it open.
    async fn execute_update(&self, batch: u32) -> anyhow::Result<()>;

    /// Commits what [`Lab::execute_update`] left open; returns when the commit is acknowledged.
    async fn commit_update(&self) -> anyhow::Result<()>;

    /// Makes the fault happen and returns when it is certain that it did.
    async fn inject(&self, fault: &Fault) -> anyhow::Result<FaultReport>;

    /// Puts right what a fault that lasts has broken: starts the server, restores the network.
    async fn mend(&self, fault: &Fault) -> anyhow::Result<FaultReport>;

    /// What is wrong now that would make further waiting senseless: a container that ended, unless the fault ended it.
    async fn ailments(&self) -> anyhow::Result<Vec<Finding>>;

    /// What the servers' logs and states have to say when all is over.
    async fn findings(&self) -> anyhow::Result<Vec<Finding>>;
}

/// A fault that has happened, or that has been put right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultReport {
    /// When it had been done; of what takes long, when it began to take effect.
    pub at: Instant,
    /// What was done: `SIGTERM to walreceiver, pid 41`.
    pub done: String,
    /// What shows that it worked: the server's log line, the process that is gone.
    pub evidence: String,
    /// Of a server that was started again: where its replay begins, bytes from 0/0.
    pub redo_lsn: Option<u64>,
}

/// Something that was found out about a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The node.
    pub node: String,
    /// What it means for the run.
    pub severity: Severity,
    /// What was found.
    pub what: String,
}

/// What a finding means for the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// To be known when reading the result.
    Note,
    /// No verdict can be given.
    Disqualifying,
}
