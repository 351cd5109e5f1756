//! Disks that are really capped: an image file under two stacked loop devices, mounted as a volume.
//!
//! The cap is put on the lower device. The upper one bounds the requests in flight, as a real volume's queue does;
//! a cap on a single loop device does not, and what replay asks for in advance would then starve the standby's own
//! writes. Image files live in two volumes: loaded databases in the cache, which outlives runs, and their copies in
//! a volume of the run.

mod golden;
mod helper;
mod parse;
mod room;

pub use golden::{
    CACHE_VOLUME, Cache, CachedDatabase, GoldenKey, LOADING, OnStep, PGDATA, data_mount, mount_as_volume,
};
pub use helper::{DiskError, DiskHelper};
pub use room::Room;

use serde::{Deserialize, Serialize};

/// Are the disks capped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caps {
    /// As the profile says, and proved.
    On,
    /// Not at all.
    Off,
}

/// A disk that is attached and can be mounted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedDisk {
    /// Name of the node it belongs to.
    pub node: String,
    /// The lower device, which takes the cap: `/dev/loop4`.
    pub lower: String,
    /// The upper device, which is mounted and whose counters are read: `/dev/loop5`.
    pub upper: String,
    /// Read-ahead of the upper device as the kernel reports it, kB.
    pub read_ahead_kb: u32,
    /// Does the lower device go past the page cache of the host's file system.
    pub direct_io: bool,
}

impl AttachedDisk {
    /// Name of the upper device as `/sys/block` has it: `loop5`.
    #[must_use]
    pub fn upper_name(&self) -> &str {
        self.upper.strip_prefix("/dev/").unwrap_or(&self.upper)
    }
}
