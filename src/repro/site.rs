//! Where arms are run: Docker, or in tests nowhere.

use std::path::PathBuf;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::Arm;
use crate::disk::Caps;
use crate::experiment::Lab;
use crate::image::ImageRequest;
use crate::measure::Clock;
use crate::postgres::Endpoint;
use crate::profile::Profile;
use crate::progress::Progress;
use crate::store::{NodeInfo, Platform, Role, Server, WalAccount, WalModel};
use crate::wal::Ranges;

/// What an arm stands on.
#[derive(Debug, Clone, PartialEq)]
pub struct Ground {
    /// The PostgreSQL its nodes run.
    pub server: Server,
    /// The machine they run on.
    pub platform: Platform,
}

/// What is to be set up for an arm.
#[derive(Debug, Clone)]
pub struct ArmOrder {
    /// Label of everything that is made.
    pub run_id: String,
    /// The arm's profile.
    pub profile: Profile,
    /// The server its nodes run.
    pub server: ImageRequest,
    /// Are the disks capped.
    pub caps: Caps,
    /// Folder for what is logged while it runs.
    pub logs: PathBuf,
}

/// A place where arms can be run.
#[async_trait]
pub trait Site: Send + Sync {
    /// Gets ready what these arms need: server images, room, loaded databases. Returns what each stands on, in their
    /// order.
    async fn prepare(&self, arms: &[Arm], progress: &Progress) -> anyhow::Result<Vec<Ground>>;

    /// Removes what a [`Site::prepare`] that was dropped has left.
    async fn abandon(&self, progress: &Progress);

    /// Sets up an arm's lab.
    async fn raise(&self, order: ArmOrder, progress: &Progress) -> anyhow::Result<Box<dyn Raised>>;

    /// Starts the clock of a run.
    fn start_clock(&self) -> Clock {
        Clock::start()
    }

    /// Removes all that carries this run's label, whether it was set up whole or in part. What cannot be removed is
    /// told.
    async fn tear_down(&self, run_id: &str, progress: &Progress);
}

/// A lab that is set up.
#[async_trait]
pub trait Raised: Lab {
    /// The nodes as they are, for `run.json`.
    async fn describe(&self) -> anyhow::Result<Vec<NodeInfo>>;

    /// The servers of its nodes, the primary first, for whoever looks at them from outside.
    fn endpoints(&self) -> Vec<(Role, Endpoint)>;

    /// Saves each server's log in the folder for logs.
    async fn save_logs(&self) -> anyhow::Result<()>;

    /// What the WAL of these ranges made the faulted standby do; the servers still run. A cancelled `stop` ends it.
    async fn account_for_wal(
        &self,
        ranges: &Ranges,
        model: WalModel,
        progress: &Progress,
        stop: &CancellationToken,
    ) -> anyhow::Result<WalAccount>;

    /// How to connect to the nodes, and how to be rid of them, for a user who keeps them.
    fn how_to_connect(&self) -> String;
}
