//! How much room a run needs on the engine's disk.

use crate::profile::Profile;

/// Bytes a freshly loaded database takes for each unit of scale: heap, primary key and their share of the rest
/// (measured: 9.8 GB at scale 640, 0.16 GB at scale 10).
const DATABASE_PER_SCALE: f64 = 15.6e6;

/// Bytes of an empty cluster, its first WAL segments and the file system's own structures.
const DATABASE_FIXED: f64 = 250e6;

/// WAL of an updated page: its image, the new versions of its rows, the index's share (measured: 10.8 GB for 1.05
/// million pages).
const WAL_PER_PAGE: f64 = 10_300.0;

/// Room for what is not foreseen, as a factor.
const MARGIN: f64 = 1.15;

/// The room a run takes, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// The loaded database in the cache.
    pub golden: u64,
    /// Each node: its copy, and what the experiment writes to it.
    pub node: u64,
    /// WAL the update is expected to write.
    pub update_wal: u64,
}

impl Room {
    /// What this profile takes.
    #[must_use]
    pub fn of(profile: &Profile) -> Self {
        let scale = f64::from(profile.workload.scale);
        let golden = DATABASE_FIXED + DATABASE_PER_SCALE * scale;
        let update_wal = profile.updated_pages() * WAL_PER_PAGE;
        let growth = DATABASE_PER_SCALE * scale * profile.update.fraction;
        let node = golden + update_wal + growth;
        let bytes = |bytes: f64| (bytes * MARGIN) as u64;
        Self { golden: bytes(golden), node: bytes(node), update_wal: update_wal as u64 }
    }

    /// Size of the sparse image file: what it can grow to, with as much again so that a full disk is never what
    /// ends a run.
    #[must_use]
    pub fn image_bytes(&self) -> u64 {
        self.node * 2 + (1 << 30)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_reference_outage_needs_about_what_was_measured() {
        let room = Room::of(&Profile::load("outage", &[]).unwrap());
        let gb = |bytes: u64| bytes as f64 / 1e9;
        assert!((10.0..13.0).contains(&gb(room.golden)), "{room:?}");
        assert!((10.0..12.0).contains(&gb(room.update_wal)), "{room:?}");
        assert!((20.0..27.0).contains(&gb(room.node)), "{room:?}");
    }

    #[test]
    fn a_smaller_share_of_the_rows_touches_fewer_pages() {
        let mut profile = Profile::load("quick", &[]).unwrap();
        let all_pages = Room::of(&profile).update_wal;
        profile.update.fraction = 0.001;
        assert!(Room::of(&profile).update_wal < all_pages / 10);
    }
}
