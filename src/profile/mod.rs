//! What a run is made of, as one value: the profile.
//!
//! A profile says everything an experiment depends on and nothing about where it runs. It is read from TOML (a
//! file, or one built into the binary), changed by `--set`, checked as a whole, and stored resolved in `run.json`.

mod arm;
mod builtin;
mod bytes;
mod check;
mod checksums;
mod error;
mod fault;
mod iops;
mod load;
mod overlay;
mod overrides;
mod prefetch;
mod read;
mod replication;
mod schema;
mod setting;
mod template;
#[cfg(test)]
mod tests;
mod tree;
mod update;
mod versions;

pub use arm::{ArmSpec, NotAnArm};
pub use builtin::{BUILTINS, Builtin, SCENARIOS};
pub use bytes::Bytes;
pub use checksums::Checksums;
pub use error::{Problems, ProfileError};
pub use fault::{Course, Fault, FaultKind};
pub use iops::Iops;
pub use overrides::{NotAnOverride, Override};
pub use prefetch::{NotAPrefetch, Prefetch};
#[cfg(test)]
pub(crate) use read::is_standby_name;
pub use setting::size as setting_size;
pub use template::Template;
pub use update::{AidRange, Share};
pub use versions::{VERSION_DEPENDENT, is_not_in_every_version};

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Name of the primary, wherever a node is named.
pub const PRIMARY: &str = "primary";

/// Accounts of the pgbench database for each unit of its scale factor (pgbench's `naccounts`).
pub const ACCOUNTS_PER_SCALE: u64 = 100_000;

/// PostgreSQL settings of one kind of node, by name. Values are what would stand in `postgresql.conf`, unquoted, or
/// [`SERVER_DEFAULT`].
pub type Settings = BTreeMap<String, String>;

/// The value that leaves a setting, or data checksums, to the server: what its version has by default. As in SQL's
/// `SET x TO DEFAULT`.
pub const SERVER_DEFAULT: &str = "DEFAULT";

/// Everything one experiment depends on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// One line for `stall-lab profiles`.
    pub description: String,
    /// Data and background load.
    pub workload: Workload,
    /// The statement that makes the backlog.
    pub update: Update,
    /// What breaks, and when.
    pub fault: Fault,
    /// How the primary waits for its standbys.
    pub synchronous: Synchronous,
    /// Server settings and what is fixed at `initdb`.
    pub postgres: Postgres,
    /// The primary's machine.
    pub primary: Machine,
    /// The standbys, in the order in which they stand in `synchronous_standby_names`.
    pub standby: Vec<Standby>,
    /// How long the experiment looks, and what it calls a stall.
    pub watch: Watch,
}

/// The pgbench database and the load that runs beside the update.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// pgbench scale factor (`-s`): 100,000 accounts each.
    pub scale: u32,
    /// Target rate of the load, transactions a second (`pgbench -R`).
    pub rate_tps: f64,
    /// Connections of the load (`pgbench -c`).
    pub clients: u32,
    /// How long the load runs alone before the update.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub baseline: Duration,
    /// pgbench script of the load; empty for pgbench's own, which is like TPC-B.
    #[serde(default)]
    pub script: String,
    /// What each batch of the update runs; empty for the `UPDATE` of [`Update::fraction`]. See
    /// [`Profile::update_statement`].
    #[serde(default)]
    pub update_sql: String,
}

/// `UPDATE pgbench_accounts` over an evenly spread share of the rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// Share of the rows that is updated, above 0 and up to 1.
    pub fraction: f64,
    /// Number of transactions the update is split into, by ranges of `aid`.
    pub batches: u32,
    /// Least time from the start of one batch to the start of the next: paces the update.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub batch_interval: Duration,
    /// How long each transaction of the update may take, and after the last the standbys to have flushed all of its
    /// WAL.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub flush_deadline: Duration,
}

/// The primary's side of synchronous replication.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Synchronous {
    /// `FIRST` (by priority) or `ANY` (quorum).
    pub method: SyncMethod,
    /// How many standbys a commit waits for; 0 makes replication asynchronous.
    pub count: u32,
    /// Names of the standbys that count, in order; empty means all of them in the order of the profile.
    #[serde(default)]
    pub standbys: Vec<String>,
}

/// How `synchronous_standby_names` chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum SyncMethod {
    /// The first `count` names that are connected.
    First,
    /// Any `count` of the names.
    Any,
}

/// Server settings, and what `initdb` fixes for the life of a database.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Postgres {
    /// Data checksums; pinned because the default changed in PostgreSQL 18.
    pub data_checksums: Checksums,
    /// Settings of every node.
    #[serde(default)]
    pub common: Settings,
    /// Settings of the primary, over the common ones.
    #[serde(default)]
    pub primary: Settings,
    /// Settings of every standby, over the common ones.
    #[serde(default)]
    pub standby: Settings,
}

/// The limits of one node's machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// CPUs the node may use, in whole or part.
    pub cpus: f64,
    /// Memory limit; there is no swap beyond it.
    pub memory: Bytes,
    /// Size of `/dev/shm`.
    pub shm: Bytes,
    /// Cap on read operations of the node's data disk, a second.
    pub read_iops: Iops,
    /// Cap on write operations of the node's data disk, a second. Reads and writes are capped apart.
    pub write_iops: Iops,
    /// Read-ahead of the data disk, kB.
    pub read_ahead_kb: u32,
}

/// A standby: its name, its machine, and settings of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Standby {
    /// Name of the node, its `application_name`, and the prefix of its columns: `[a-z][a-z0-9_]{0,30}`.
    pub name: String,
    /// Its machine.
    #[serde(flatten)]
    pub machine: Machine,
    /// Settings of this standby alone, over those of every standby.
    #[serde(default)]
    pub settings: Settings,
}

/// How long the experiment looks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watch {
    /// The longest time from the fault that the run waits for commits and streaming to return.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub deadline: Duration,
    /// How long to go on recording after they have; longer if need be, until `stall_after` has passed since the fault.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub tail: Duration,
    /// A gap without a commit that begins after the fault and lasts at least this long is called a stall.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub stall_after: Duration,
}
