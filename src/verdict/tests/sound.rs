//! What a sound run shows.
#![allow(clippy::unwrap_used)]

use crate::store::{Metric, NodeSummary};
use crate::verdict::testing::{CAP, FAULT_S, Story};

use super::*;

#[test]
fn a_stall_has_all_of_its_figures() {
    let summary = judged(&Story::stalled());
    let node = |name: &str, reads, read_bytes, seconds: f64| NodeSummary {
        name: name.to_owned(),
        reads: Some(reads),
        read_bytes: Some(read_bytes),
        writes: Some(seconds as u64 * 50),
        write_bytes: Some(seconds as u64 * 50 * 16_384),
        cpu_s: Some(seconds * 0.25),
        seconds: Some(seconds),
    };
    let expected = Summary {
        verdict: Verdict::Stalled,
        reasons: vec![],
        standby: None,
        hang_wait: None,
        probe: None,
        hang_s: Some(80.0),
        hang_ended: Some(true),
        hang_start_s: Some(41.0),
        longest_gap_before_fault_s: Some(0.0),
        time_to_streaming_s: rounded(Some(121.3 - FAULT_S)),
        read_iops_cap: Some(CAP),
        hang_read_iops_mean: Some(200.0),
        hang_read_iops_median: Some(200.0),
        hang_read_iops_peak: Some(200.0),
        hang_reads: Some(16_000),
        hang_read_bytes: Some(16_000 * 8192),
        hang_read_bytes_mean: Some(8192.0),
        prefetched_blocks: Some(109 * 210),
        prefetched_share: rounded(Some(210.0 / 1430.0)),
        startup_reads: Some(0),
        lag_at_fault_bytes: Some(233_765_108),
        update_executed_s: Some(19.0),
        update_s: Some(20.0),
        update_wal_bytes: Some(300 << 20),
        nodes: vec![node("primary", 800, 800 * 131_072, 20.0), node("standby", 21_800, 21_800 * 8192, 111.0)],
        amplification: Some(27.25),
        rows: 140,
        missed_ticks: 0,
    };
    assert_eq!(summary, expected);
}

#[test]
fn no_stall_has_no_reasons_and_counts_prefetches_to_the_end_of_the_run() {
    let mut story = Story::no_stall();
    story.counter("standby", &Metric::prefetched(), |t_s| t_s);
    let summary = judged(&story);
    assert_eq!(summary.verdict, Verdict::NoStall);
    assert_eq!(summary.reasons, [""; 0]);
    assert_eq!(summary.hang_s, Some(1.0));
    assert_eq!(summary.time_to_streaming_s, rounded(Some(41.7 - FAULT_S)));
    assert_eq!(summary.prefetched_blocks, Some(130));
    assert_eq!(summary.lag_at_fault_bytes, Some(0), "a standby ahead by a race is level");
    assert_eq!(summary.amplification, Some(0.0));
}

#[test]
fn commits_in_every_second_are_a_hang_of_length_0_without_a_start() {
    let mut story = Story::no_stall();
    story.number("primary", &Metric::Tps, 1..=140, 5.0);
    let summary = judged(&story);
    assert_eq!(summary.verdict, Verdict::NoStall);
    assert_eq!((summary.hang_s, summary.hang_start_s, summary.hang_ended), (Some(0.0), None, None));
    assert_eq!(summary.hang_reads, None);
}

#[test]
fn the_hang_is_a_stall_from_the_profiles_length_on() {
    for (length, verdict) in [(9, Verdict::NoStall), (10, Verdict::Stalled)] {
        let mut story = Story::no_stall();
        story.number("primary", &Metric::Tps, 42..=41 + length, 0.0);
        story.number("standby", &Metric::WalreceiverStreaming, 41..=60, 0.0);
        story.counter("standby", &Metric::ReadsTotal, |t_s| t_s * 200.0);
        assert_eq!(judged(&story).verdict, verdict, "{length} s");
    }
}

#[test]
fn the_longest_gap_after_the_fault_is_the_hang_wherever_it_begins() {
    let mut story = Story::stalled();
    story.number("primary", &Metric::Tps, 45..=46, 5.0);
    let summary = judged(&story);
    assert_eq!((summary.hang_start_s, summary.hang_s), (Some(46.0), Some(75.0)));
}

#[test]
fn a_gap_before_the_fault_is_told_apart_from_the_hang() {
    let mut story = Story::no_stall();
    story.number("primary", &Metric::Tps, 5..=37, 0.0);
    let summary = judged(&story);
    assert_eq!(summary.verdict, Verdict::NoStall);
    assert_eq!(summary.hang_s, Some(1.0));
    assert_eq!(summary.longest_gap_before_fault_s, Some(27.0), "counted from the update on");
}

#[test]
fn a_gap_that_goes_on_through_the_fault_counts_from_the_fault_and_says_so() {
    let mut story = Story::stalled();
    story.number("primary", &Metric::Tps, 36..=41, 0.0);
    assert_limited(
        &story,
        Verdict::Stalled,
        "commits had stood still for 5.5 s when the fault came; only the time from the fault on is counted",
    );
    let summary = judged(&story);
    assert_eq!((summary.hang_start_s, summary.hang_s), (Some(FAULT_S), Some(80.5)));
    assert_eq!(summary.longest_gap_before_fault_s, Some(5.5));
    assert_eq!(summary.hang_reads, Some(16_000), "from the first row after the fault");
}

#[test]
fn a_second_without_a_commit_that_holds_the_fault_is_nothing_to_speak_of() {
    let mut story = Story::stalled();
    story.number("primary", &Metric::Tps, 41..=41, 0.0);
    assert_eq!(judged(&story).reasons, [""; 0]);
    assert_eq!(judged(&story).hang_s, Some(80.5));
}
