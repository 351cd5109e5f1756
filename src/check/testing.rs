//! Facts that are close to those of the profile `quick` just before its fault, for tests to change.

use super::facts::{Asked, Facts, Identity, Primary, ReplaySample, Seen, Standby, WalSample, Walsender};
use super::{Assessment, Terms, judge};
use crate::profile::Settings;

pub(super) const MB: u64 = 1 << 20;

/// A primary with one synchronous standby that keeps up.
pub(super) fn quiet() -> Facts {
    let primary = Primary {
        identity: identity(
            "db1:5432",
            &[
                ("synchronous_standby_names", "standby"),
                ("synchronous_commit", "on"),
                ("full_page_writes", "on"),
                ("wal_compression", "off"),
                ("max_wal_size", "4294967296"),
                ("checkpoint_timeout", "300000"),
                ("max_slot_wal_keep_size", "-1"),
            ],
        ),
        walsenders: Seen::Value(vec![streaming("standby")]),
        waiters: Seen::Value(0),
        slots: Seen::Value(vec![]),
        samples: (Seen::Value(wal(0.0, 200 * MB)), Seen::Value(wal(5.0, 205 * MB))),
    };
    let mut standby = standby("standby");
    standby.identity.in_recovery = true;
    let asked = Asked { place: "db2:5432".to_owned(), standby: Seen::Value(standby) };
    Facts { primary, standbys: vec![asked] }
}

/// The same standby 133 MB behind, prefetching at 200/s.
pub(super) fn behind() -> Facts {
    let mut facts = quiet();
    change(&mut facts, |standby| {
        let sample = |at_s, replayed, prefetched| ReplaySample {
            at_s,
            receive_lsn: Some(205 * MB),
            replay_lsn: Some(replayed),
            prefetched: Some(prefetched),
            startup_wait: Some("IO/DataFilePrefetch".to_owned()),
            ..replay(0.0)
        };
        standby.samples =
            (Seen::Value(sample(0.0, 64 * MB, 4_000)), Seen::Value(sample(5.0, 72 * MB, 5_000)));
    });
    facts
}

pub(super) fn identity(place: &str, settings: &[(&str, &str)]) -> Identity {
    Identity {
        place: place.to_owned(),
        version: "18.6".to_owned(),
        version_num: 180_006,
        in_recovery: false,
        system_identifier: Seen::Value(7),
        settings: settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
    }
}

pub(super) fn standby(name: &str) -> Standby {
    Standby {
        identity: identity(
            "db2:5432",
            &[
                ("recovery_prefetch", "try"),
                ("maintenance_io_concurrency", "16"),
                ("wal_decode_buffer_size", "524288"),
                ("recovery_min_apply_delay", "0"),
                ("data_checksums", "on"),
            ],
        ),
        name: Seen::Value(name.to_owned()),
        redo_lsn: Seen::Value(190 * MB),
        samples: (Seen::Value(replay(0.0)), Seen::Value(replay(5.0))),
    }
}

pub(super) fn replay(at_s: f64) -> ReplaySample {
    ReplaySample {
        at_s,
        receive_lsn: Some(205 * MB),
        replay_lsn: Some(205 * MB),
        streaming: Some(true),
        paused: Some(false),
        startup_wait: Some("Activity/RecoveryWalStream".to_owned()),
        prefetched: Some(0),
        images: Some(0),
        startup_reads: Some(0),
    }
}

pub(super) fn streaming(name: &str) -> Walsender {
    Walsender { name: name.to_owned(), state: Some("streaming".to_owned()) }
}

fn wal(at_s: f64, lsn: u64) -> WalSample {
    WalSample { at_s, lsn, bytes: lsn, images: 20_000 }
}

/// Changes what the first standby says.
pub(super) fn change(facts: &mut Facts, how: impl FnOnce(&mut Standby)) {
    if let Seen::Value(standby) = &mut facts.standbys[0].standby {
        how(standby);
    }
}

/// Sets settings of the first standby.
pub(super) fn set(facts: &mut Facts, settings: &[(&str, &str)]) {
    change(facts, |standby| extend(&mut standby.identity.settings, settings));
}

/// Sets settings of the primary.
pub(super) fn set_primary(facts: &mut Facts, settings: &[(&str, &str)]) {
    extend(&mut facts.primary.identity.settings, settings);
}

fn extend(into: &mut Settings, settings: &[(&str, &str)]) {
    into.extend(settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
}

/// At this many IOPS, tolerating 15 s.
pub(super) fn judged(facts: &Facts, iops: Option<u64>) -> Assessment {
    judge(facts, &Terms { iops, tolerated_s: 15.0 })
}
