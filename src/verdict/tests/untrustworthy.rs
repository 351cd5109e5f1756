//! Runs that cannot be trusted, and what is harmless though it looks alike.
#![allow(clippy::unwrap_used)]

use crate::store::{EventKind, Metric};
use crate::verdict::testing::Story;

use super::*;

#[test]
fn without_a_fault_nothing_is_known_of_a_hang_but_the_update_is() {
    let story = Story::stalled().cut_after(35.0);
    assert_disqualified(&story, "the run ended before the fault was injected");
    let summary = judged(&story);
    assert_eq!((summary.hang_s, summary.hang_ended, summary.lag_at_fault_bytes), (None, None, None));
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
    story.event(50.0, EventKind::Disqualified, Some("standby"), None, "a recovery conflict");
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
    story.event(39.0, EventKind::Deadline, None, None, "standby had not flushed the update");
    assert_limited(
        &story,
        Verdict::Stalled,
        "a deadline passed before the fault: standby had not flushed the update",
    );
}

#[test]
fn a_cap_that_did_not_hold_disqualifies_a_run_with_a_hang_or_without() {
    for mut story in [Story::stalled(), Story::no_stall()] {
        story.counter("standby", &Metric::ReadsTotal, |t_s| t_s * 220.0);
        assert_disqualified(
            &story,
            "the cap did not hold: standby read 220.0/s over 30 s under a cap of 200/s",
        );
    }
}

#[test]
fn a_burst_shorter_than_the_throttle_averages_over_is_within_the_cap() {
    let mut story = Story::stalled();
    story.counter("standby", &Metric::ReadsTotal, |t_s| t_s * 200.0 + if t_s >= 50.0 { 90.0 } else { 0.0 });
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
        story.timeline.rows.retain(|row| !(row.tick > 50 && row.tick <= 50 + missing));
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
    story.counter("standby", &Metric::prefetched(), |t_s| if t_s < 70.0 { t_s } else { t_s - 70.0 });
    assert_disqualified(
        &story,
        "recovery_prefetch_prefetch of standby went backwards at t = 70 s: the server was started anew or its \
         statistics were reset",
    );
    let summary = judged(&story);
    assert_eq!((summary.prefetched_blocks, summary.prefetched_share), (None, None));
    assert_eq!(
        summary.reasons.get(1).map(String::as_str),
        Some(
            "how many blocks standby prefetched is not known: recovery_prefetch_prefetch went backwards at t = 70 s"
        )
    );
}

#[test]
fn a_gauge_of_the_prefetcher_may_fall() {
    let mut story = Story::stalled();
    let io_depth = Metric::RecoveryPrefetch("io_depth".to_owned());
    story.counter("standby", &io_depth, |t_s| 200.0 - t_s);
    assert_eq!(judged(&story).reasons, [""; 0]);
    assert_eq!(judged(&story).prefetched_share, rounded(Some(210.0 / 1430.0)));
}

#[test]
fn a_step_of_the_wall_clock_disqualifies_the_run() {
    let mut story = Story::stalled();
    for row in story.timeline.rows.iter_mut().filter(|row| row.t_s >= 60.0) {
        row.unix_s -= 3600.0;
    }
    assert_disqualified(
        &story,
        "the wall clock stepped by -3600.0 s at t = 60 s: the servers' timeouts and delays go by it",
    );
}

#[test]
fn what_happened_before_the_update_does_no_harm() {
    let mut story = Story::stalled();
    story.number("standby", &Metric::ReplayPaused, 3..=5, 1.0);
    story.counter("standby", &Metric::CpuSecondsTotal, |t_s| if t_s < 5.0 { 100.0 } else { t_s });
    for row in story.timeline.rows.iter_mut().filter(|row| row.t_s < 5.0) {
        row.unix_s += 60.0;
    }
    assert_eq!(judged(&story).reasons, [""; 0]);
}
