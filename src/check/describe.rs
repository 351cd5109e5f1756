//! What servers say, as the assessment has it.

use super::assessment::{Commits, NotVisible, PrimaryAssessment, StandbyAssessment, Verdict};
use super::commits::Synchrony;
use super::facts::{Primary, ReplaySample, Seen, Standby};
use super::forecast::latest;

/// The first version that prefetches in recovery.
const FIRST_TO_PREFETCH: u32 = 150_000;

/// A standby of which nothing is known but its name.
pub(super) fn blank(name: &str, commits: &Seen<Commits>) -> StandbyAssessment {
    let not_visible = commits.why_hidden().map(|why| NotVisible::new("whether commits wait for it", why));
    StandbyAssessment {
        name: name.to_owned(),
        place: None,
        version: None,
        verdict: Verdict::Unknown,
        why: String::new(),
        commits: commits.value().copied(),
        recovery_prefetch: None,
        maintenance_io_concurrency: None,
        prefetches: None,
        wal_decode_buffer_bytes: None,
        data_checksums: None,
        apply_delay_s: None,
        replay_paused: None,
        streaming: None,
        startup_wait: None,
        lag_bytes: None,
        pace: None,
        predicted_reads: None,
        predicted_hang_s: None,
        worst_reads: None,
        worst_hang_s: None,
        now: None,
        worst: None,
        remedies: vec![],
        not_visible: not_visible.into_iter().collect(),
    }
}

/// What the standby says of itself.
pub(super) fn describe(found: &mut StandbyAssessment, standby: &Standby) {
    let identity = &standby.identity;
    found.place = Some(identity.place.clone());
    found.version = Some(identity.version.clone());
    found.recovery_prefetch = identity.setting("recovery_prefetch").map(str::to_owned);
    found.maintenance_io_concurrency = identity.number("maintenance_io_concurrency");
    found.prefetches = prefetches(standby);
    found.wal_decode_buffer_bytes = identity.number("wal_decode_buffer_size");
    found.data_checksums = identity.setting("data_checksums").map(|setting| setting == "on");
    found.apply_delay_s = identity.number("recovery_min_apply_delay").map(|ms| ms as f64 / 1000.0);
    let mut hide = |what: &str, why: Option<&str>| {
        found.not_visible.extend(why.map(|why| NotVisible::new(what, why)));
    };
    hide("its name at the primary", standby.name.why_hidden());
    hide("its last restartpoint", standby.redo_lsn.why_hidden());
    hide("its replay", standby.samples.0.why_hidden());
    hide("its replay after the interval", standby.samples.1.why_hidden());
    if let Some(sample) = latest(&standby.samples) {
        let needs = |known: bool| (!known).then_some("the role is not a member of pg_monitor");
        hide("what its startup process waits for", needs(sample.startup_wait.is_some() || sees_all(sample)));
        hide("whether it streams", needs(sample.streaming.is_some()));
        found.replay_paused = sample.paused;
        found.streaming = sample.streaming;
        found.startup_wait = sample.startup_wait.clone();
    }
}

/// A startup process that works waits for nothing; a role that sees whether the walreceiver streams would see it wait.
fn sees_all(sample: &ReplaySample) -> bool {
    sample.streaming.is_some()
}

/// By its version and by both settings; none where one of them is not visible.
fn prefetches(standby: &Standby) -> Option<bool> {
    let identity = &standby.identity;
    if identity.version_num < FIRST_TO_PREFETCH {
        return Some(false);
    }
    let prefetch = identity.setting("recovery_prefetch").map(|setting| setting != "off");
    let concurrency = identity.number("maintenance_io_concurrency").map(|number| number > 0);
    match (prefetch, concurrency) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// What the primary says of itself.
pub(super) fn primary(primary: &Primary, synchrony: &Synchrony) -> PrimaryAssessment {
    let identity = &primary.identity;
    let samples = primary.samples.0.value().zip(primary.samples.1.value());
    let rate = |from: u64, to: u64, seconds: f64| {
        to.checked_sub(from).filter(|_| seconds > 0.0).map(|grown| grown as f64 / seconds)
    };
    let not_visible = [
        ("who streams from it", primary.walsenders.why_hidden()),
        ("whose commit waits", primary.waiters.why_hidden()),
        ("its replication slots", primary.slots.why_hidden()),
        ("its WAL", primary.samples.0.why_hidden()),
        ("its WAL after the interval", primary.samples.1.why_hidden()),
        ("free room on its disk", Some("SQL does not tell")),
    ];
    PrimaryAssessment {
        place: identity.place.clone(),
        version: identity.version.clone(),
        rule: synchrony.rule().map(ToString::to_string),
        synchronous_commit: identity.setting("synchronous_commit").map(str::to_owned),
        streaming_synchronous: synchrony.streaming,
        waiting_commits: primary.waiters.value().copied(),
        full_page_writes: identity.setting("full_page_writes").map(|setting| setting == "on"),
        wal_bytes_per_s: samples.and_then(|(from, to)| rate(from.lsn, to.lsn, to.at_s - from.at_s)),
        page_images_per_s: samples.and_then(|(from, to)| rate(from.images, to.images, to.at_s - from.at_s)),
        wal_bytes_per_page_image: latest(&primary.samples)
            .filter(|wal| wal.images > 0)
            .map(|wal| wal.bytes as f64 / wal.images as f64),
        max_wal_size_bytes: identity.number("max_wal_size"),
        checkpoint_timeout_s: identity.number("checkpoint_timeout").map(|ms| ms as f64 / 1000.0),
        max_slot_wal_keep_size_bytes: identity.number("max_slot_wal_keep_size"),
        slots_keep_bytes: primary
            .slots
            .value()
            .and_then(|slots| slots.iter().filter_map(|slot| slot.kept_bytes).max()),
        not_visible: not_visible
            .into_iter()
            .filter_map(|(what, why)| Some(NotVisible::new(what, why?)))
            .collect(),
    }
}
