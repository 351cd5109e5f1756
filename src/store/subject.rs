//! What a run is of: a lab that was built after a profile, or servers that were only watched.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::profile::Profile;

/// What a run is of. In `run.json` it is the key `profile`, or else the key `observed`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Subject {
    /// A lab that was built after this profile, all overrides applied.
    #[serde(rename = "profile")]
    Profile(Box<Profile>),
    /// Servers that the lab did not build. Nothing is known of their disks' caps, and what happened was not its doing.
    #[serde(rename = "observed")]
    Observed(Observed),
}

/// Servers that were only watched, and what was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// The servers, the primary first.
    pub servers: Vec<ObservedServer>,
    /// The primary's `synchronous_standby_names` at the start.
    pub synchronous_standby_names: Option<String>,
    /// How long they were to be watched.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub length: Duration,
    /// A stretch without a commit of at least this length is called a stall.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub stall_after: Duration,
    /// Writes a second that the lab made itself, to see whether they are acknowledged; none if it only watched.
    pub probe_per_s: Option<f64>,
}

/// A server that was watched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedServer {
    /// Name of its node.
    pub node: String,
    /// Where it was reached: host and port, nothing that lets anyone in.
    pub address: String,
    /// Its `server_version`.
    pub version: String,
    /// Of a standby, the name it connects to its primary by; none where that was not to be seen.
    pub application_name: Option<String>,
    /// What this role was not shown, for want of `pg_monitor`; empty when it saw all.
    #[serde(default)]
    pub hidden: Vec<String>,
}
