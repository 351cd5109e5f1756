//! How much room a run needs on the engine's disk.

use crate::profile::{PRIMARY, Profile};

/// Bytes a freshly loaded database takes for each unit of scale: heap, primary key and their share of the rest
/// (measured: 9.8 GB at scale 640, 0.16 GB at scale 10).
const DATABASE_PER_SCALE: f64 = 15.6e6;

/// Bytes of an empty cluster, its first WAL segments and the file system's own structures.
const DATABASE_FIXED: f64 = 250e6;

/// WAL of an updated page: its image, the new versions of its rows, the index's share (measured: 10.8 GB for 1.05
/// million pages).
const WAL_PER_PAGE: f64 = 10_300.0;

/// WAL of an updated row where no images are written: its new version and its entries in the index (measured: 15.1 MB
/// for 50,000 rows).
const WAL_PER_ROW: f64 = 303.0;

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
    /// Size of each node's sparse image file, the same for all profiles that share a loaded database.
    pub image: u64,
}

impl Room {
    /// What this profile takes.
    #[must_use]
    pub fn of(profile: &Profile) -> Self {
        let scale = f64::from(profile.workload.scale);
        let golden = DATABASE_FIXED + DATABASE_PER_SCALE * scale;
        let with_images = profile.updated_pages() * WAL_PER_PAGE;
        let update_wal = if writes_images(profile) {
            with_images
        } else {
            profile.accounts() as f64 * profile.update.fraction * WAL_PER_ROW
        };
        let growth = DATABASE_PER_SCALE * scale * profile.update.fraction;
        let node = |wal: f64| ((golden + wal + growth) * MARGIN) as u64;
        Self {
            golden: (golden * MARGIN) as u64,
            node: node(update_wal),
            update_wal: update_wal as u64,
            // As much again as it can grow to, so that a full disk is never what ends a run.
            image: node(with_images) * 2 + (1 << 30),
        }
    }
}

/// Does the first change of a page after a checkpoint write the page into the WAL.
fn writes_images(profile: &Profile) -> bool {
    let settings = profile.effective_settings(PRIMARY);
    settings.get("full_page_writes").is_none_or(|setting| setting != "off")
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
    fn without_full_page_images_the_wal_is_small_and_the_loaded_database_the_same() {
        let images = Room::of(&Profile::load("quick", &[]).unwrap());
        let off = "postgres.common.full_page_writes=off".parse().unwrap();
        let none = Room::of(&Profile::load("quick", &[off]).unwrap());
        assert!((10_000_000..20_000_000).contains(&none.update_wal), "{none:?}");
        assert!(none.node < images.node);
        assert_eq!((none.golden, none.image), (images.golden, images.image));
    }

    #[test]
    fn a_smaller_share_of_the_rows_touches_fewer_pages() {
        let mut profile = Profile::load("quick", &[]).unwrap();
        let all_pages = Room::of(&profile).update_wal;
        profile.update.fraction = 0.001;
        assert!(Room::of(&profile).update_wal < all_pages / 10);
    }
}
