//! The faults, each with the evidence that it happened, and that it was put right.

mod evidence;
mod network;
mod process;
mod server;

use std::time::Duration;

use anyhow::Context as _;

use super::node::Node;
use super::raise::Cluster;
use crate::experiment::FaultReport;
use crate::profile::{Course, Fault, FaultKind};

/// How long may take what is a matter of a moment.
const PROMPT: Duration = Duration::from_secs(15);

impl Cluster {
    /// Makes the fault happen and returns when it is certain that it did.
    pub(super) async fn break_by(&self, fault: &Fault) -> anyhow::Result<FaultReport> {
        let node = self.standby(&fault.node)?;
        for standby in &self.standbys {
            evidence::has_streamed_throughout(&self.engine, standby).await?;
        }
        match fault.kind {
            FaultKind::KillWalreceiver => {
                let control = self.standby_control.get(&node.name).context("it has no connection")?;
                process::kill_walreceiver(&self.engine, node, control).await
            }
            FaultKind::KillWalsender => {
                process::kill_walsender(&self.engine, &self.primary, &self.control, &node.name).await
            }
            FaultKind::RestartStandby => {
                self.down.send_replace(Some(node.name.clone()));
                // As long as the run would wait for the standby to come back.
                server::shut_down(&self.engine, node, self.order.profile.watch.deadline).await
            }
            FaultKind::CrashStandby => {
                self.down.send_replace(Some(node.name.clone()));
                server::crash(&self.engine, node).await
            }
            FaultKind::CutNetwork => network::cut(self, node).await,
        }
    }

    /// Puts right what the fault has broken.
    pub(super) async fn mend_after(&self, fault: &Fault) -> anyhow::Result<FaultReport> {
        let node = self.standby(&fault.node)?;
        match fault.kind.course() {
            Course::Moment => anyhow::bail!("{} has nothing that could be put right", fault.kind),
            Course::Down => {
                let report = server::start(&self.engine, node).await?;
                self.down.send_replace(None);
                Ok(report)
            }
            Course::CutOff => network::restore(self, node).await,
        }
    }

    fn standby(&self, name: &str) -> anyhow::Result<&Node> {
        let mut standbys = self.standbys.iter();
        standbys.find(|node| node.name == name).with_context(|| format!("there is no standby {name}"))
    }
}
