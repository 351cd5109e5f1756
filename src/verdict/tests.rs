//! Every branch of the judgement, on runs made up for it, and on one that was real.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use super::testing::{CAP, FAULT_S, Story};
use super::*;
use crate::store::{EventKind, Metric, NodeSummary, RunFolder};

fn judged(story: &Story) -> Summary {
    judge(&story.run, &story.timeline, &story.events)
}

/// The verdict is `inconclusive` and the first reason is this one.
#[track_caller]
fn assert_disqualified(story: &Story, reason: &str) {
    let summary = judged(story);
    assert_eq!(summary.verdict, Verdict::Inconclusive, "{:?}", summary.reasons);
    assert_eq!(summary.reasons.first().map(String::as_str), Some(reason));
}

/// The verdict stands, and this is the only reason.
#[track_caller]
fn assert_limited(story: &Story, verdict: Verdict, reason: &str) {
    let summary = judged(story);
    assert_eq!(summary.reasons, [reason]);
    assert_eq!(summary.verdict, verdict);
}

#[track_caller]
fn assert_near(value: Option<f64>, expected: f64, tolerance: f64) {
    let value = value.unwrap();
    assert!(
        (value - expected).abs() <= tolerance * expected,
        "{value} is not {expected}"
    );
}

// What a sound run shows.

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
        hang_s: Some(80.0),
        hang_ended: Some(true),
        hang_start_s: Some(41.0),
        longest_gap_before_fault_s: Some(0.0),
        time_to_streaming_s: Some(121.3 - FAULT_S),
        read_iops_cap: Some(CAP),
        hang_read_iops_mean: Some(200.0),
        hang_read_iops_median: Some(200.0),
        hang_read_iops_peak: Some(200.0),
        hang_reads: Some(16_000),
        hang_read_bytes: Some(16_000 * 8192),
        hang_read_bytes_mean: Some(8192.0),
        prefetched_blocks: Some(109 * 210),
        prefetched_share: Some(210.0 / 1430.0),
        startup_reads: Some(0),
        lag_at_fault_bytes: Some(233_765_108),
        update_executed_s: Some(19.0),
        update_s: Some(20.0),
        update_wal_bytes: Some(300 << 20),
        nodes: vec![
            node("primary", 800, 800 * 131_072, 20.0),
            node("standby", 21_800, 21_800 * 8192, 111.0),
        ],
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
    assert_eq!(summary.time_to_streaming_s, Some(41.7 - FAULT_S));
    assert_eq!(summary.prefetched_blocks, Some(130));
    assert_eq!(
        summary.lag_at_fault_bytes,
        Some(0),
        "a standby ahead by a race is level"
    );
    assert_eq!(summary.amplification, Some(0.0));
}

#[test]
fn commits_in_every_second_are_a_hang_of_length_0_without_a_start() {
    let mut story = Story::no_stall();
    story.number("primary", &Metric::Tps, 1..=140, 5.0);
    let summary = judged(&story);
    assert_eq!(summary.verdict, Verdict::NoStall);
    assert_eq!(
        (summary.hang_s, summary.hang_start_s, summary.hang_ended),
        (Some(0.0), None, None)
    );
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
    assert_eq!(
        summary.longest_gap_before_fault_s,
        Some(27.0),
        "counted from the update on"
    );
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
    assert_eq!(
        (summary.hang_start_s, summary.hang_s),
        (Some(FAULT_S), Some(80.5))
    );
    assert_eq!(summary.longest_gap_before_fault_s, Some(5.5));
    assert_eq!(
        summary.hang_reads,
        Some(16_000),
        "from the first row after the fault"
    );
}

#[test]
fn a_second_without_a_commit_that_holds_the_fault_is_nothing_to_speak_of() {
    let mut story = Story::stalled();
    story.number("primary", &Metric::Tps, 41..=41, 0.0);
    assert_eq!(judged(&story).reasons, [""; 0]);
    assert_eq!(judged(&story).hang_s, Some(80.5));
}

// Runs that ended early.

#[test]
fn a_run_that_ends_in_a_long_hang_is_a_stall_of_at_least_that_length() {
    let mut story = Story::stalled().cut_after(100.0);
    story.event(100.0, EventKind::Deadline, None, None, "commits and streaming");
    assert_limited(
        &story,
        Verdict::Stalled,
        "the run ended before the hang did: its length and its reads are lower bounds",
    );
    let summary = judged(&story);
    assert_eq!((summary.hang_s, summary.hang_ended), (Some(59.0), Some(false)));
    assert_eq!(summary.time_to_streaming_s, None);
    assert_eq!(
        summary.amplification, None,
        "the standby had not replayed the update"
    );
}

#[test]
fn a_run_that_ends_too_soon_after_the_fault_tells_nothing() {
    assert_disqualified(
        &Story::no_stall().cut_after(46.0),
        "the run ended 5.5 s after the fault: a stall can be told only after 10 s",
    );
}

#[test]
fn a_run_that_ends_in_a_gap_that_might_have_grown_tells_nothing() {
    let mut story = Story::no_stall();
    story.number("primary", &Metric::Tps, 136..=140, 0.0);
    assert_disqualified(
        &story,
        "no commit in the last 5.0 s of the run: whether that would have become a stall was not seen",
    );
}

#[test]
fn a_run_may_end_in_a_second_without_a_commit() {
    let mut story = Story::no_stall();
    story.number("primary", &Metric::Tps, 139..=140, 0.0);
    assert_eq!(judged(&story).verdict, Verdict::NoStall);
}

#[test]
fn a_run_that_ends_before_the_standby_streams_again_tells_nothing() {
    let mut story = Story::no_stall().without(EventKind::StreamingAgain);
    story.number("standby", &Metric::WalreceiverStreaming, 41..=140, 0.0);
    assert_disqualified(&story, "standby did not stream again before the run ended");
}

#[test]
fn a_standby_never_seen_since_the_fault_is_not_taken_to_stream() {
    let mut story = Story::no_stall().without(EventKind::StreamingAgain);
    story.blank("standby", &Metric::WalreceiverStreaming, 41..=140);
    assert_disqualified(&story, "whether standby streamed again is not known");
}

#[test]
fn a_standby_never_seen_to_stop_streams() {
    let mut story = Story::no_stall().without(EventKind::StreamingAgain);
    story.number("standby", &Metric::WalreceiverStreaming, 1..=140, 1.0);
    let summary = judged(&story);
    assert_eq!(
        (summary.verdict, summary.time_to_streaming_s),
        (Verdict::NoStall, None)
    );
}

#[test]
fn without_its_event_streaming_again_is_read_from_the_rows() {
    let story = Story::stalled().without(EventKind::StreamingAgain);
    assert_eq!(judged(&story).time_to_streaming_s, Some(122.0 - FAULT_S));
}

#[test]
fn another_standbys_streaming_is_not_the_faulted_ones() {
    let mut story = Story::stalled();
    story.event(50.0, EventKind::StreamingAgain, Some("standby_2"), None, "");
    assert_eq!(judged(&story).time_to_streaming_s, Some(121.3 - FAULT_S));
}

// Stalls that need a word.

#[test]
fn a_long_hang_with_a_streaming_standby_is_another_illness() {
    let mut story = Story::stalled();
    story.number("standby", &Metric::WalreceiverStreaming, 45..=140, 1.0);
    assert_disqualified(
        &story,
        "commits stood still for 80 s, but standby streamed for 77 s of it: something other than replay held them back",
    );
    story.number("standby", &Metric::SentLsn, 1..=140, 4096.0);
    story.number("standby", &Metric::FlushLsn, 1..=140, 4096.0);
    assert_disqualified(
        &story,
        "commits stood still for 80 s, but standby streamed for 77 s of it and had flushed all that was sent to it: \
         something other than replay held them back",
    );
    story.number("standby", &Metric::FlushLsn, 1..=140, 2048.0);
    assert_disqualified(
        &story,
        "commits stood still for 80 s, but standby streamed for 77 s of it, with 2.0 kB sent to it and not yet \
         flushed: something other than replay held them back",
    );
}

#[test]
fn a_stall_stands_by_its_length_when_streaming_was_not_seen() {
    let mut story = Story::stalled();
    story.blank("standby", &Metric::WalreceiverStreaming, 1..=140);
    assert_limited(
        &story,
        Verdict::Stalled,
        "whether standby streamed in the hang is not known: the hang is taken for a stall by its length alone",
    );
}

#[test]
fn a_stall_below_the_cap_says_what_the_standby_waited_for() {
    let mut story = Story::stalled();
    story.counter("standby", &Metric::ReadsTotal, |t_s| t_s * 100.0);
    story.text("standby", &Metric::StartupWait, 42..=61, "IO/WalRead");
    assert_limited(
        &story,
        Verdict::Stalled,
        "reads were below the cap in the hang: 100.0/s of 200/s (50 %); the startup process was seen waiting most \
         often for IO/DataFilePrefetch (75 %)",
    );
    story.blank("standby", &Metric::StartupWait, 1..=140);
    assert_limited(
        &story,
        Verdict::Stalled,
        "reads were below the cap in the hang: 100.0/s of 200/s (50 %); the startup process was not seen waiting for \
         anything",
    );
}

#[test]
fn an_uncapped_run_is_judged_and_marked_first() {
    let mut story = Story::stalled();
    story.run.capped = false;
    for node in &mut story.run.nodes {
        node.read_iops_cap = None;
    }
    story.counter("standby", &Metric::ReadsTotal, |t_s| t_s * 9000.0);
    assert_limited(
        &story,
        Verdict::Stalled,
        "the disks were not capped: this says nothing of a server whose disk is",
    );
    assert_eq!(judged(&story).read_iops_cap, None);
}

// Runs that cannot be trusted.

#[test]
fn without_a_fault_nothing_is_known_of_a_hang_but_the_update_is() {
    let story = Story::stalled().cut_after(35.0);
    assert_disqualified(&story, "the run ended before the fault was injected");
    let summary = judged(&story);
    assert_eq!(
        (summary.hang_s, summary.hang_ended, summary.lag_at_fault_bytes),
        (None, None, None)
    );
    assert_eq!(summary.longest_gap_before_fault_s, Some(0.0));
    assert_eq!(summary.update_s, Some(20.0));
}

#[test]
fn an_interruption_before_the_fault_is_the_reason() {
    let mut story = Story::stalled().cut_after(35.0);
    story.event(35.0, EventKind::Interrupted, None, None, "Ctrl-C");
    assert_disqualified(&story, "the run was interrupted before the fault: Ctrl-C");
}

#[test]
fn a_fault_that_nothing_confirms_is_no_fault() {
    assert_disqualified(
        &Story::stalled().without(EventKind::FaultVerified),
        "nothing confirms that the fault did what it should: SIGTERM to the walreceiver, pid 41",
    );
}

#[test]
fn what_the_run_itself_held_against_it_is_held_against_it() {
    let mut story = Story::stalled();
    story.event(
        50.0,
        EventKind::Disqualified,
        Some("standby"),
        None,
        "a recovery conflict",
    );
    assert_disqualified(&story, "a recovery conflict");
}

#[test]
fn a_note_is_not_held_against_it() {
    let mut story = Story::stalled();
    story.event(50.0, EventKind::Note, None, None, "a checkpoint");
    assert_eq!(judged(&story).reasons, [""; 0]);
}

#[test]
fn a_deadline_before_the_fault_is_told() {
    let mut story = Story::stalled();
    story.event(
        39.0,
        EventKind::Deadline,
        None,
        None,
        "standby had not flushed the update",
    );
    assert_limited(
        &story,
        Verdict::Stalled,
        "a deadline passed before the fault: standby had not flushed the update",
    );
}

#[test]
fn a_cap_that_did_not_hold_disqualifies_a_run_with_a_hang_or_without() {
    for mut story in [Story::stalled(), Story::no_stall()] {
        story.counter("standby", &Metric::ReadsTotal, |t_s| t_s * 211.0);
        assert_disqualified(
            &story,
            "the cap did not hold: standby read 211.0/s over 10 s under a cap of 200/s",
        );
    }
}

#[test]
fn a_burst_shorter_than_the_throttle_averages_over_is_within_the_cap() {
    let mut story = Story::stalled();
    story.counter("standby", &Metric::ReadsTotal, |t_s| {
        t_s * 200.0 + if t_s >= 50.0 { 90.0 } else { 0.0 }
    });
    assert_eq!(judged(&story).verdict, Verdict::Stalled);
    assert_eq!(judged(&story).hang_read_iops_peak, Some(290.0));
}

#[test]
fn paused_replay_fakes_a_stall() {
    let mut story = Story::stalled();
    story.number("standby", &Metric::ReplayPaused, 50..=52, 1.0);
    assert_disqualified(&story, "replay was paused on standby from t = 50 s on, in 3 rows");
}

#[test]
fn a_load_that_died_leaves_commits_unknown() {
    let mut story = Story::stalled();
    story.blank("primary", &Metric::Tps, 60..=140);
    assert_disqualified(
        &story,
        "the load did not report in 81 of 100 rows after the fault, 81 of them in a row: see the log of pgbench",
    );
}

#[test]
fn a_load_that_never_reported_after_the_fault_leaves_the_hang_unknown() {
    let mut story = Story::no_stall();
    story.blank("primary", &Metric::Tps, 41..=140);
    let summary = judged(&story);
    assert_eq!((summary.verdict, summary.hang_s), (Verdict::Inconclusive, None));
}

#[test]
fn reports_missing_here_and_there_do_no_harm_up_to_a_tenth() {
    for (missing, verdict) in [(10, Verdict::Stalled), (11, Verdict::Inconclusive)] {
        let mut story = Story::stalled();
        for at in 0..missing {
            story.blank("primary", &Metric::Tps, 45 + 5 * at..=45 + 5 * at);
        }
        let summary = judged(&story);
        assert_eq!(summary.verdict, verdict, "{:?}", summary.reasons);
        assert_eq!(summary.hang_s, Some(80.0));
    }
}

#[test]
fn rows_missing_here_and_there_do_no_harm_up_to_a_tenth() {
    for (missing, verdict) in [(10, Verdict::Stalled), (11, Verdict::Inconclusive)] {
        let mut story = Story::stalled();
        story
            .timeline
            .rows
            .retain(|row| !(row.tick > 50 && row.tick <= 50 + missing));
        let summary = judged(&story);
        assert_eq!(summary.verdict, verdict, "{:?}", summary.reasons);
        assert_eq!((summary.missed_ticks, summary.rows), (missing, 140 - missing));
        assert_eq!(summary.hang_s, Some(80.0));
        assert_eq!(summary.hang_reads, Some(16_000));
    }
}

#[test]
fn a_server_that_was_started_anew_disqualifies_the_run_and_its_figures_are_not_known() {
    let mut story = Story::stalled();
    story.counter("standby", &Metric::prefetched(), |t_s| {
        if t_s < 70.0 { t_s } else { t_s - 70.0 }
    });
    assert_disqualified(
        &story,
        "recovery_prefetch_prefetch of standby went backwards at t = 70 s: the server was started anew or its \
         statistics were reset",
    );
    let summary = judged(&story);
    assert_eq!(
        (summary.prefetched_blocks, summary.prefetched_share),
        (None, None)
    );
    assert_eq!(
        summary.reasons.get(1).map(String::as_str),
        Some(
            "how many blocks standby prefetched is not known: of recovery_prefetch_prefetch, it went backwards at t = 70 s"
        )
    );
}

#[test]
fn a_gauge_of_the_prefetcher_may_fall() {
    let mut story = Story::stalled();
    let io_depth = Metric::RecoveryPrefetch("io_depth".to_owned());
    story.counter("standby", &io_depth, |t_s| 200.0 - t_s);
    assert_eq!(judged(&story).reasons, [""; 0]);
    assert_eq!(judged(&story).prefetched_share, Some(210.0 / 1430.0));
}

#[test]
fn a_step_of_the_wall_clock_is_told() {
    let mut story = Story::stalled();
    for row in story.timeline.rows.iter_mut().filter(|row| row.t_s >= 60.0) {
        row.unix_s -= 3600.0;
    }
    assert_limited(
        &story,
        Verdict::Stalled,
        "the wall clock stepped by -3600.0 s at t = 60 s: from there on the times in the servers' logs are not those \
         of the timeline",
    );
}

// Figures that are missing.

#[test]
fn reads_that_were_not_sampled_are_null_with_a_reason() {
    let mut story = Story::stalled();
    story.blank("standby", &Metric::ReadsTotal, 1..=140);
    let summary = judged(&story);
    assert_eq!(summary.verdict, Verdict::Stalled);
    assert_eq!(
        (
            summary.hang_reads,
            summary.hang_read_iops_mean,
            summary.amplification
        ),
        (None, None, None)
    );
    assert_eq!(
        summary.reasons,
        [
            "the reads of standby in the hang are not known: of reads_total, it was never read",
            "what the update cost standby is known only in part: of reads_total, it was never read",
        ]
    );
}

#[test]
fn sources_this_server_does_not_have_are_null_without_a_reason() {
    let mut story = Story::stalled();
    story.blank("standby", &Metric::StartupReadsTotal, 1..=140);
    story.blank("primary", &Metric::CpuSecondsTotal, 1..=140);
    let summary = judged(&story);
    assert_eq!(summary.reasons, [""; 0]);
    assert_eq!(summary.startup_reads, None);
    assert_eq!(summary.nodes.first().unwrap().cpu_s, None);
}

#[test]
fn a_counter_that_vanished_at_an_edge_is_null_with_a_reason() {
    let mut story = Story::stalled();
    story.blank("primary", &Metric::WritesTotal, 1..=28);
    let summary = judged(&story);
    assert_eq!(summary.nodes.first().unwrap().writes, None);
    assert_eq!(
        summary.reasons,
        [
            "what the update cost primary is known only in part: of writes_total, it was not read near t = 10 s"
        ]
    );
}

#[test]
fn a_lag_last_seen_long_before_the_fault_is_not_the_lag_at_the_fault() {
    let mut story = Story::stalled();
    story.blank("standby", &Metric::LagBytes, 37..=40);
    assert!(judged(&story).lag_at_fault_bytes.is_some());
    story.blank("standby", &Metric::LagBytes, 35..=40);
    assert_eq!(judged(&story).lag_at_fault_bytes, None);
}

#[test]
fn a_primary_that_read_nothing_gives_no_ratio() {
    let mut story = Story::stalled();
    story.counter("primary", &Metric::ReadsTotal, |_| 7.0);
    assert_eq!(judged(&story).amplification, None);
}

#[test]
fn columns_of_a_patched_server_count_among_the_references_seen() {
    let mut story = Story::stalled();
    let skip_seen = Metric::RecoveryPrefetch("skip_seen".to_owned());
    story.counter("standby", &skip_seen, |t_s| {
        (t_s.clamp(12.0, 121.0) - 12.0) * 570.0
    });
    assert_eq!(judged(&story).prefetched_share, Some(210.0 / 2000.0));
}

#[test]
fn an_update_whose_lsns_run_backwards_wrote_an_unknown_amount() {
    let mut story = Story::stalled().without(EventKind::UpdateExecuted);
    story.event(29.0, EventKind::UpdateExecuted, None, Some(5), "");
    assert_eq!(judged(&story).update_wal_bytes, None);
}

#[test]
fn an_empty_run_is_inconclusive_and_all_unknown() {
    let mut story = Story::stalled();
    story.timeline.rows.clear();
    story.events.clear();
    let summary = judged(&story);
    assert_eq!(summary.verdict, Verdict::Inconclusive);
    assert_eq!((summary.hang_s, summary.update_s, summary.rows), (None, None, 0));
}

// The real thing.

#[test]
fn the_outage_recorded_by_hand_is_found_as_it_was_by_hand() {
    let folder = RunFolder::at(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/outage-try"));
    let summary = judge(
        &folder.run().unwrap(),
        &folder.timeline().unwrap(),
        &folder.events().unwrap(),
    );
    assert_eq!(summary.verdict, Verdict::Stalled, "{:?}", summary.reasons);
    assert_near(summary.hang_s, 2311.0, 0.01);
    assert_near(summary.time_to_streaming_s, 2311.0, 0.01);
    // Counter of the loop device: 1,154,436 reads from the kill to streaming.
    assert_near(summary.hang_reads.map(|reads| reads as f64), 1_154_436.0, 0.01);
    assert_near(summary.hang_read_iops_mean, 499.8, 0.01);
    assert_near(summary.hang_read_bytes_mean, 16.2 * 1024.0, 0.01);
    assert_near(
        summary.prefetched_blocks.map(|blocks| blocks as f64),
        1_400_000.0,
        0.01,
    );
    assert_near(
        summary.lag_at_fault_bytes.map(|bytes| bytes as f64),
        10.017e9,
        0.01,
    );
    assert_eq!(summary.longest_gap_before_fault_s.map(f64::round), Some(23.0));
}
