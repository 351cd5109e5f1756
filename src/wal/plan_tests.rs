#![allow(clippy::unwrap_used)]

use super::*;
use crate::verdict::testing::{FAULT_S, Story};

const MB: u64 = 1 << 20;
const START: u64 = 1 << 30;

/// A stalled run whose standby had all 300 MB of the update at the fault.
fn stalled() -> Story {
    let mut story = Story::stalled();
    story.number("standby", &Metric::ReceiveLsn, 1..=140, (START + 300 * MB) as f64);
    story
}

fn backlog(story: &Story) -> Option<Replayed<'_>> {
    Replayed::backlog("standby", &story.timeline, &story.events)
}

fn backlog_of_stalled() -> (u64, u64) {
    backlog(&stalled()).unwrap().wal
}

#[test]
fn the_backlog_is_what_was_there_and_not_replayed_at_the_fault() {
    let story = stalled();
    let backlog = backlog(&story).unwrap();
    // Replay began at 12 s and takes 109 s for 300 MB.
    let replayed = (START as f64 + (FAULT_S - 12.0) * (300 * MB) as f64 / 109.0) as u64;
    assert_eq!(backlog.wal, (replayed, START + 300 * MB));
    assert!((backlog.to_s.unwrap() - 121.0).abs() < 1e-6, "{:?}", backlog.to_s);
    assert!((backlog.growth(&Metric::ReadsTotal).unwrap() - 80.5 * 200.0).abs() < 1e-6);
}

#[test]
fn a_standby_that_was_started_again_replays_from_its_restartpoint_on() {
    let mut story = stalled();
    let redo = START - MB;
    story.event(FAULT_S + 6.0, EventKind::FaultEnded, Some("standby"), Some(redo), "it was started");
    let backlog = backlog(&story).unwrap();
    assert_eq!((backlog.wal, backlog.from_s), ((redo, START + 300 * MB), FAULT_S + 6.0));
    let ranges = Ranges::of("standby", &story.timeline, &story.events).unwrap();
    assert!(ranges.start.unwrap() <= redo);
}

#[test]
fn a_network_that_was_restored_left_what_had_been_replayed() {
    let mut story = stalled();
    story.event(FAULT_S + 6.0, EventKind::FaultEnded, Some("standby"), None, "the network is back");
    assert_eq!(backlog(&story).unwrap().wal, backlog_of_stalled());
}

#[test]
fn replay_that_ends_between_two_rows_is_taken_to_have_gone_on_as_fast() {
    let mut story = stalled();
    // 4 MB a second from 100 s on, to the end 20.25 s later; the row after shows more, which came by streaming.
    let end = (START + 300 * MB) as f64;
    let step = (4 * MB) as f64;
    story.counter("standby", &Metric::ReplayLsn, |t| {
        if t > 120.5 { end + 100.0 * step } else { end - (120.25 - t) * step }
    });
    assert!((backlog(&story).unwrap().to_s.unwrap() - 120.25).abs() < 1e-6);
}

#[test]
fn a_run_that_did_not_see_the_end_has_none_and_one_without_a_fault_no_backlog() {
    let cut = stalled().cut_after(100.0);
    let seen = backlog(&cut).unwrap();
    assert_eq!((seen.to_s, seen.seconds(), seen.growth(&Metric::ReadsTotal)), (None, None, None));
    assert!(backlog(&stalled().without(EventKind::Fault)).is_none());
}

#[test]
fn a_standby_that_was_level_had_nothing_to_replay() {
    let mut story = Story::no_stall();
    story.number("standby", &Metric::ReceiveLsn, 1..=140, (START + 300 * MB) as f64);
    let level = backlog(&story).unwrap();
    assert_eq!((level.wal.1 - level.wal.0, level.seconds()), (0, Some(0.0)));
}

#[test]
fn ranges_begin_before_the_update_and_hold_it_and_the_backlog() {
    let story = stalled();
    let ranges = Ranges::of("standby", &story.timeline, &story.events).unwrap();
    assert_eq!((ranges.start, ranges.end), (Some(START), Some(START + 300 * MB)));
    let stretches: Vec<Stretch> = ranges.stretches().map(|(stretch, ..)| stretch).collect();
    assert_eq!(stretches, [Stretch::Update, Stretch::Backlog]);
    let early = story.without(EventKind::UpdateStarted);
    assert_eq!(Ranges::of("standby", &early.timeline, &early.events), None);
}

fn of(settings: &[(&str, &str)], version_num: u32) -> StandbySettings {
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    StandbySettings::of(&settings, version_num, 128)
}

#[test]
fn what_is_not_set_is_the_servers_default() {
    let model = WalModel {
        shared_buffers_pages: 16_384,
        maintenance_io_concurrency: 16,
        wal_decode_buffer_bytes: 512 << 10,
        read_ahead_pages: 16,
    };
    assert_eq!(of(&[], 180_006), StandbySettings { prefetch: Prefetch::Try, model });
    assert_eq!(of(&[], 170_010).model.maintenance_io_concurrency, 10);
}

#[test]
fn settings_are_read_as_the_server_writes_them() {
    let set = of(
        &[
            ("shared_buffers", "1GB"),
            ("maintenance_io_concurrency", "32"),
            ("wal_decode_buffer_size", "1MB"),
            ("recovery_prefetch", "off"),
        ],
        180_006,
    );
    assert_eq!((set.prefetch, set.model.shared_buffers_pages), (Prefetch::Off, 131_072));
    assert_eq!((set.model.maintenance_io_concurrency, set.model.wal_decode_buffer_bytes), (32, 1 << 20));
    assert_eq!(of(&[("wal_decode_buffer_size", "65536")], 180_006).model.wal_decode_buffer_bytes, 65_536);
    assert_eq!(of(&[("shared_buffers", "1000")], 180_006).model.shared_buffers_pages, 1_000);
}

#[test]
fn no_concurrency_is_no_prefetching_and_the_model_says_what_the_default_would_do() {
    let set = of(&[("maintenance_io_concurrency", "0"), ("recovery_prefetch", "on")], 180_006);
    assert_eq!((set.prefetch, set.model.maintenance_io_concurrency), (Prefetch::Off, 16));
}
