#![allow(clippy::unwrap_used)]

use super::testing::{UPDATE, account, explained, no_stall, stalled};
use super::*;
use crate::profile::{Override, Prefetch, Profile};
use crate::store::{EventKind, Metric, OwnBuild, Stretch, WalRange};

const CAPPED: Machine =
    Machine { read_iops: Some(200), cache_bytes: Some(2 << 30), read_ahead_bytes: 128 << 10 };

fn backlog() -> WalRange {
    account().ranges.into_iter().find(|range| range.stretch == Stretch::Backlog).unwrap()
}

#[test]
fn time_is_reads_divided_by_the_cap_and_unknown_without_one() {
    let cost = Cost::of(&backlog(), Prefetch::Try, &CAPPED);
    assert_eq!((cost.reads, cost.wal_reads, cost.replay_s), (16_200, 0, Some(81.0)));
    let uncapped = Cost::of(&backlog(), Prefetch::On, &Machine { read_iops: None, ..CAPPED });
    assert_eq!((uncapped.reads, uncapped.replay_s), (16_200, None));
}

#[test]
fn without_prefetching_only_what_replay_needs_is_read() {
    assert_eq!(Cost::of(&backlog(), Prefetch::Off, &CAPPED).reads, 81);
}

#[test]
fn wal_is_read_again_when_it_does_not_fit_beside_the_pages() {
    // 220 MB of WAL and 127 MB of pages.
    let with = |cache: Option<u64>| {
        Cost::of(&backlog(), Prefetch::Try, &Machine { cache_bytes: cache, ..CAPPED }).wal_reads
    };
    assert_eq!(with(Some(300 << 20)), 220 << 3);
    assert_eq!(with(Some(400 << 20)), 0);
    assert_eq!(with(None), 0);
}

#[test]
fn an_arm_that_prefetches_is_explained_as_it_ran() {
    let explanation = explained(&stalled(), Some(&account()));
    assert_eq!(explanation.needless_prefetches, Some(15_400 + 2_420));
    assert_eq!(explanation.useful_prefetches, Some(280 + 44));
    assert_eq!(explanation.needless_bytes, Some(17_820 * 8192));
    assert_eq!(explanation.needless_read_share, Some(0.99));
    assert_eq!((explanation.predicted_reads, explanation.predicted_replay_s), (Some(16_200), Some(81.0)));
    // The fault is at 40.5 s, and the last of the WAL is replayed at 121 s.
    let measured = (explanation.measured_reads.unwrap(), explanation.measured_replay_s.unwrap());
    assert_eq!(measured.0, 16_100);
    assert!((measured.1 - 80.5).abs() < 0.01, "{measured:?}");
    assert_eq!(explanation.notes, Vec::<String>::new());
}

#[test]
fn the_model_is_not_of_a_patched_server_and_the_explanation_says_so() {
    let mut story = stalled();
    story.run.server.build = Some(OwnBuild { prefix: "patched".to_owned(), version: None, configure: None });
    let notes = explained(&story, Some(&account())).notes;
    assert!(notes.iter().any(|note| note.contains("build of its user's own")), "{notes:?}");
}

#[test]
fn a_standby_that_was_started_again_reads_its_wal_too() {
    let mut story = stalled();
    story.event(43.0, EventKind::FaultEnded, Some("standby"), Some(UPDATE.0), "it was started");
    let explanation = explained(&story, Some(&account()));
    let backlog = explanation.backlog.unwrap();
    assert_eq!(backlog.with_prefetch.wal_reads, backlog.range.bytes().div_ceil(128 << 10));
    assert_eq!(
        (explanation.measured_replay_s, explanation.update.unwrap().measured_reads),
        (Some(78.0), None)
    );
}

#[test]
fn wal_that_is_replayed_as_it_arrives_is_not_read_again_however_little_memory_there_is() {
    let mut story = no_stall();
    for standby in &mut story.run.profile_mut().standby {
        standby.machine.memory.0 = 200 << 20;
    }
    let update = explained(&story, Some(&account())).update.unwrap();
    assert_eq!(update.without_prefetch.wal_reads, 0);
    assert_eq!(update.with_prefetch.wal_reads, (300_u64 << 20).div_ceil(128 << 10));
}

#[test]
fn an_arm_that_does_not_prefetch_made_no_prefetch() {
    let mut level = account();
    level.ranges.retain(|range| range.stretch == Stretch::Update);
    level.ranges.push(WalRange {
        from_lsn: level.to_lsn,
        to_lsn: level.to_lsn,
        total: Default::default(),
        relations: vec![],
        records: 0,
        stretch: Stretch::Backlog,
    });
    let explanation = explained(&no_stall(), Some(&level));
    assert_eq!((explanation.needless_prefetches, explanation.useful_prefetches), (Some(0), Some(0)));
    assert_eq!((explanation.predicted_reads, explanation.predicted_replay_s), (Some(0), Some(0.0)));
    assert_eq!(explanation.measured_replay_s, Some(0.0));
    assert_eq!(explanation.update.unwrap().with_prefetch.reads, 22_000);
}

#[test]
fn a_run_without_an_account_says_so_and_still_has_its_measurements() {
    let explanation = explained(&stalled(), None);
    assert!(explanation.notes[0].contains("no wal.json"), "{:?}", explanation.notes);
    assert_eq!((explanation.needless_prefetches, explanation.predicted_reads), (None, None));
    assert_eq!(explanation.measured_reads, Some(16_100));
}

#[test]
fn the_json_has_its_keys_whether_known_or_not() {
    for known in [Some(account()), None] {
        let json = serde_json::to_value(explained(&stalled(), known.as_ref())).unwrap();
        for key in ["needless_prefetches", "useful_prefetches", "predicted_reads", "predicted_replay_s"] {
            assert_eq!(json[key].is_number(), known.is_some(), "{key}: {}", json[key]);
            assert!(json.get(key).is_some(), "{key}");
        }
        assert!(json["measured_replay_s"].is_number());
    }
}

#[test]
fn a_disk_that_reads_more_than_the_wal_makes_for_is_told_with_the_reads_of_wal() {
    let mut story = stalled();
    let grown = |t: f64| (t.clamp(12.0, 121.0) - 12.0) * 400.0;
    story.counter("standby", &Metric::ReadsTotal, grown);
    // Half of the reads are of a page, half of 128 kB of WAL.
    story.counter("standby", &Metric::ReadBytesTotal, |t| grown(t) / 2.0 * (8_192.0 + 131_072.0));
    let notes = explained(&story, Some(&account())).notes;
    assert!(notes[0].contains("32,200 reads where the WAL makes for 16,200"), "{notes:?}");
    assert!(notes[0].contains("about 16,100 of them were of WAL"), "{notes:?}");
}

#[test]
fn replay_that_did_not_wait_for_the_cap_is_told() {
    let mut story = stalled();
    story.counter("standby", &Metric::ReadsTotal, |t| (t.clamp(12.0, 121.0) - 12.0) * 100.0);
    let mut halved = account();
    for range in &mut halved.ranges {
        range.total.needless_reads /= 2;
    }
    let notes = explained(&story, Some(&halved)).notes;
    assert!(notes.iter().any(|note| note.contains("it read 100.0/s of 200/s")), "{notes:?}");
}

fn outage(overrides: &[&str]) -> Profile {
    let overrides: Vec<Override> = overrides.iter().map(|text| text.parse().unwrap()).collect();
    Profile::load("outage", &overrides).unwrap()
}

#[test]
fn a_larger_run_reads_as_much_more_as_its_update_changes_rows_less_what_is_replayed_meanwhile() {
    let prediction = Prediction::of(&stalled().run, &account(), &outage(&[])).unwrap();
    // Scale 640 to 20. 9.4 GB of WAL and 5.4 GB of pages do not fit into 8 GB.
    assert!((prediction.factor - 32.0).abs() < 1e-9);
    assert_eq!(prediction.page_reads, 704_000);
    // The primary reads the same pages 16 at a time, and the fault comes 3 s later.
    assert!((prediction.until_fault_s - (44_000.0 / 500.0 + 3.0)).abs() < 1e-9);
    let left = 704_000 - 91 * 500;
    let wal_left = (32_u64 * (300 << 20)) as f64 * f64::from(left) / 704_000.0;
    assert_eq!(prediction.wal_reads, (wal_left / f64::from(128 << 10)).ceil() as u64);
    assert_eq!(prediction.predicted_reads, left as u64 + prediction.wal_reads);
    assert!((prediction.predicted_replay_s - prediction.predicted_reads as f64 / 500.0).abs() < 1e-9);
}

#[test]
fn a_standby_that_keeps_up_has_nothing_to_read_again_however_large_the_wal() {
    let prediction = Prediction::of(&no_stall().run, &account(), &outage(&[])).unwrap();
    // Without prefetching replay needs few pages; it is done with them, and with their WAL, before the fault.
    assert!(prediction.page_reads < 91 * 500, "{}", prediction.page_reads);
    assert_eq!((prediction.wal_reads, prediction.predicted_reads), (0, 0));
    assert_eq!(prediction.predicted_replay_s, 0.0);
}

#[test]
fn a_profile_whose_reads_are_of_another_kind_is_refused_with_what_differs() {
    for (change, what) in [
        ("update.fraction=0.5", "update.fraction is 0.5 and the run's was 0.05"),
        ("postgres.common.full_page_writes=off", "full_page_writes is off"),
        ("standby.read_ahead_kb=256", "read_ahead_kb is 256"),
    ] {
        let error = Prediction::of(&stalled().run, &account(), &outage(&[change])).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
    let nothing = crate::store::WalAccount { ranges: vec![], ..account() };
    assert_eq!(Prediction::of(&stalled().run, &nothing, &outage(&[])), Err(NotComparable::NoAccount));
}
