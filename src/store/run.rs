//! `run.json`: what was run, on what. Saved before the experiment starts; holds no secret.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Observed, Subject};
use crate::profile::{FaultKind, Prefetch, Profile, Settings};

/// Everything about a run that is known when it starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Version of the files' layout.
    pub schema: u32,
    /// Unique name of the run: the label of everything it makes.
    pub run_id: String,
    /// Name of the profile; `observed` where there was none.
    pub profile_name: String,
    /// Name of the arm, as its folder ends: `try`, `off` or `on`, or that of a scenario's arm; `observed` where nothing
    /// was varied.
    pub arm: String,
    /// When the run was started.
    pub started: Timestamp,
    /// The command as it was typed.
    pub command_line: Vec<String>,
    /// Version of the lab.
    pub lab_version: String,
    /// Git revision the lab was built from, if known.
    pub git_revision: Option<String>,
    /// Were the disks capped; not known of servers that the lab did not build. A run without caps is judged by the same
    /// rule, and marked wherever it is shown.
    pub capped: Option<bool>,
    /// What was run, or watched.
    #[serde(flatten)]
    pub subject: Subject,
    /// The server; of an observed run, the primary's.
    pub server: Server,
    /// Where it ran; not known of servers that the lab did not build.
    pub platform: Option<Platform>,
    /// The nodes, the primary first.
    pub nodes: Vec<NodeInfo>,
}

impl RunInfo {
    /// Version of the layout this lab writes.
    pub const SCHEMA: u32 = 2;

    /// Does a run of this layout have a last word, [`EventKind::Concluded`](super::EventKind::Concluded), when it ended
    /// as it should. Those of layout 1 have none.
    #[must_use]
    pub fn has_last_word(&self) -> bool {
        self.schema >= 2
    }

    /// What cannot be so of any run of the lab; whoever judged it all the same would look for columns that are not
    /// there.
    pub(super) fn contradiction(&self) -> Option<String> {
        let primaries = self.nodes.iter().filter(|node| node.role == Role::Primary).count();
        if primaries != 1 {
            return Some(format!("nodes: a run has one primary, this has {primaries}"));
        }
        let twice = self
            .nodes
            .iter()
            .enumerate()
            .find(|(at, node)| self.nodes.iter().take(*at).any(|earlier| earlier.name == node.name));
        if let Some((_, node)) = twice {
            return Some(format!("nodes: {:?} is there twice", node.name));
        }
        let faulted = self.faulted();
        if self.profile().is_some() && !self.standbys().any(|node| node.name == faulted) {
            return Some(format!("profile.fault.node: there is no standby {faulted:?} among the nodes"));
        }
        let uncapped = self.nodes.iter().find(|node| node.read_iops_cap == Some(0));
        uncapped.map(|node| format!("nodes: {:?} is capped at 0 reads a second", node.name))
    }

    /// The profile; none of servers that were only watched.
    #[must_use]
    pub fn profile(&self) -> Option<&Profile> {
        match &self.subject {
            Subject::Profile(profile) => Some(profile),
            Subject::Observed(_) => None,
        }
    }

    /// What was watched; none of a run of the lab.
    #[must_use]
    pub fn observed(&self) -> Option<&Observed> {
        match &self.subject {
            Subject::Profile(_) => None,
            Subject::Observed(observed) => Some(observed),
        }
    }

    /// The profile, for a test to change.
    #[cfg(test)]
    pub(crate) fn profile_mut(&mut self) -> &mut Profile {
        match &mut self.subject {
            Subject::Profile(profile) => profile,
            Subject::Observed(_) => panic!("an observed run has no profile"),
        }
    }

    /// Is it known that its disks were not capped.
    #[must_use]
    pub fn is_uncapped(&self) -> bool {
        self.capped == Some(false)
    }

    /// What the lab broke; none where it only watched.
    #[must_use]
    pub fn fault_kind(&self) -> Option<FaultKind> {
        Some(self.profile()?.fault.kind)
    }

    /// The standby that the fault is for. Of servers that were only watched it is the first, unless what happened to
    /// them tells otherwise: see [`Summary::standby`](super::Summary::standby).
    #[must_use]
    pub fn faulted(&self) -> &str {
        match &self.subject {
            Subject::Profile(profile) => &profile.fault.node,
            Subject::Observed(_) => self.standbys().next().map_or("standby", |node| &node.name),
        }
    }

    /// From how long on a stretch without a commit is called a stall.
    #[must_use]
    pub fn stall_after(&self) -> Duration {
        match &self.subject {
            Subject::Profile(profile) => profile.watch.stall_after,
            Subject::Observed(observed) => observed.stall_after,
        }
    }

    /// Name of the primary.
    #[must_use]
    pub fn primary(&self) -> &str {
        self.nodes.iter().find(|node| node.role == Role::Primary).map_or("primary", |node| &node.name)
    }

    /// What the arm is: `recovery_prefetch=try` where it is named after its way of prefetching, else its name.
    #[must_use]
    pub fn arm_in_words(&self) -> String {
        match self.arm.parse::<Prefetch>() {
            Ok(prefetch) => format!("recovery_prefetch={prefetch}"),
            Err(_) => self.arm.clone(),
        }
    }

    /// The standbys, in the order of the profile.
    pub fn standbys(&self) -> impl Iterator<Item = &NodeInfo> {
        self.nodes.iter().filter(|node| node.role == Role::Standby)
    }
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Takes the writes.
    Primary,
    /// Replays them.
    Standby,
}

/// One node, as it was when the experiment began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeInfo {
    /// Its name; the prefix of its columns.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// Cap on reads a second; none on an uncapped run.
    pub read_iops_cap: Option<u64>,
    /// Cap on writes a second; none on an uncapped run.
    pub write_iops_cap: Option<u64>,
    /// What the probe measured before the experiment; none on an uncapped run.
    pub cap_proof: Option<CapProof>,
    /// Read-ahead of the data disk as the kernel reports it, kB.
    pub read_ahead_kb: Option<u32>,
    /// Settings of its configuration, as the server reports them.
    pub settings: Settings,
    /// Settings that its configuration leaves to the server and whose default is not the same in all versions, as the
    /// server reports them.
    #[serde(default, skip_serializing_if = "Settings::is_empty")]
    pub defaults: Settings,
}

/// What a probe of a capped disk measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CapProof {
    /// Reads a second that the disk gave.
    pub read_iops: f64,
    /// Reads the probe made.
    pub reads: u64,
    /// Seconds it took.
    pub seconds: f64,
}

/// The PostgreSQL that ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Server {
    /// `server_version`, as in `18.6 (Debian 18.6-3)`.
    pub version: String,
    /// `server_version_num`, as in 180006.
    pub version_num: u32,
    /// Image the nodes ran; none where they were only watched.
    pub image: Option<String>,
    /// Its digest.
    pub image_id: Option<String>,
    /// Where the server came from.
    pub source: String,
    /// Said when it is not what was asked for by default.
    pub note: Option<String>,
    /// Of a build of the user's own: where it is from and how it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<OwnBuild>,
    /// Settings of the profile that this server does not know: they were left out of its configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_settings: Vec<String>,
}

/// A build of the user's own, as its `pg_config` tells of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnBuild {
    /// The prefix it was taken from.
    pub prefix: String,
    /// What `pg_config --version` says.
    pub version: Option<String>,
    /// What `pg_config --configure` says: the options it was built with.
    pub configure: Option<String>,
}

/// Where the nodes ran.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Platform {
    /// Engine's name and version.
    pub engine: String,
    /// API version agreed with the engine.
    pub api_version: String,
    /// Kernel of the engine's machine.
    pub kernel: String,
    /// Its operating system.
    pub os: String,
    /// Its architecture.
    pub arch: String,
    /// `1` or `2`.
    pub cgroup_version: String,
    /// `cgroupfs` or `systemd`.
    pub cgroup_driver: String,
    /// The engine's storage driver.
    pub storage_driver: String,
    /// CPUs of the engine's machine.
    pub cpus: Option<u64>,
    /// Memory of the engine's machine, bytes.
    pub memory_bytes: Option<u64>,
}
