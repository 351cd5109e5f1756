//! What nobody saw, and what looks like a result for want of it.
#![allow(clippy::unwrap_used)]

use crate::store::{CapProof, EventKind, Metric, NodeInfo, Phase, Role};
use crate::verdict::testing::{FAULT_S, Story};

use super::*;

const NO_LAST_WORD: &str = "the run has no last word: the lab was killed, or its own disk was full; nobody looked at \
                            the servers' logs";

#[test]
fn a_run_that_was_killed_has_no_verdict_however_clear_its_picture() {
    for story in [Story::stalled(), Story::no_stall()] {
        assert_disqualified(&story.killed_after(135.0), NO_LAST_WORD);
    }
}

#[test]
fn an_error_that_ended_the_run_is_the_reason_and_not_the_missing_word() {
    let mut story = Story::stalled().killed_after(135.0);
    story.event(135.0, EventKind::Disqualified, None, None, "timeline.csv: No space left on device");
    let summary = judged(&story);
    assert_eq!(summary.verdict, Verdict::Inconclusive);
    assert_eq!(summary.reasons, ["timeline.csv: No space left on device"]);
}

#[test]
fn runs_of_the_first_layout_had_no_last_word_and_need_none() {
    let mut story = Story::stalled().without(EventKind::Concluded);
    story.run.schema = 1;
    assert_eq!(judged(&story).verdict, Verdict::Stalled);
}

#[test]
fn a_cap_that_no_probe_has_proved_is_none() {
    for mut story in [Story::stalled(), Story::no_stall()] {
        story.run.nodes[1].cap_proof = None;
        assert_disqualified(&story, "nothing proves the cap of standby: run.json has no probe of it");
        story.run.capped = Some(false);
        story.run.nodes[1].read_iops_cap = None;
        assert_ne!(judged(&story).verdict, Verdict::Inconclusive);
    }
}

#[test]
fn a_cap_that_the_probe_went_past_was_not_there() {
    for (read_iops, verdict) in [(209.0, Verdict::NoStall), (5_000.0, Verdict::Inconclusive)] {
        let mut story = Story::no_stall();
        story.run.nodes[1].cap_proof = Some(CapProof { read_iops, reads: 600, seconds: 3.0 });
        assert_eq!(judged(&story).verdict, verdict, "{read_iops}");
    }
}

#[test]
fn a_disk_that_was_not_watched_to_the_end_may_have_lost_its_cap() {
    let mut story = Story::no_stall();
    story.blank("standby", &Metric::ReadsTotal, 60..=70);
    assert_eq!(judged(&story).verdict, Verdict::NoStall, "its counter goes on over a hole");
    story.blank("standby", &Metric::ReadsTotal, 120..=140);
    assert_disqualified(
        &story,
        "whether the cap held is not known: reads_total of standby was not read near t = 140 s",
    );
}

#[test]
fn a_short_run_is_held_to_its_cap_as_a_long_one_is() {
    let mut story = Story::no_stall().without(EventKind::UpdateStarted).cut_after(60.0);
    story.event(35.0, EventKind::UpdateStarted, None, None, "");
    story.counter("standby", &Metric::ReadsTotal, |t_s| t_s * 260.0);
    assert_disqualified(&story, "the cap did not hold: standby read 260.0/s over 23 s under a cap of 200/s");
}

#[test]
fn a_hang_in_which_the_standby_was_not_seen_may_have_any_cause() {
    let mut story = Story::stalled();
    story.blank("standby", &Metric::WalreceiverStreaming, 1..=140);
    assert_disqualified(
        &story,
        "commits stood still for 80 s, and whether standby streamed meanwhile is known of 0 s alone: what held them \
         back was not seen",
    );
}

#[test]
fn a_glance_at_the_standby_is_not_enough() {
    let mut story = Story::stalled();
    story.blank("standby", &Metric::WalreceiverStreaming, 45..=121);
    assert_disqualified(
        &story,
        "commits stood still for 80 s, and whether standby streamed meanwhile is known of 3.0 s alone: what held them \
         back was not seen",
    );
}

#[test]
fn of_a_standby_that_does_not_answer_the_primary_knows_whether_it_is_connected() {
    let mut story = Story::stalled();
    story.blank("standby", &Metric::WalreceiverStreaming, 45..=121);
    story.counter("primary", &Metric::WalLsn, |t_s| t_s);
    story.text("standby", &Metric::SyncState, 1..=40, "sync");
    story.text("standby", &Metric::SyncState, 122..=140, "sync");
    assert_eq!(judged(&story).verdict, Verdict::Stalled);
}

#[test]
fn a_hang_in_which_no_commit_waited_for_a_standby_is_another_illness() {
    let mut story = Story::stalled();
    story.number("primary", &Metric::SyncRepWaiters, 1..=140, 0.0);
    assert_disqualified(
        &story,
        "commits stood still for 80 s, and none of them was seen waiting for a synchronous standby",
    );
    story.number("primary", &Metric::SyncRepWaiters, 50..=60, 3.0);
    assert_eq!(judged(&story).verdict, Verdict::Stalled);
}

#[test]
fn a_stall_may_lie_where_rows_or_reports_are_missing() {
    let reason = "no commit was seen for 10 s from t = 50 s on, partly for want of rows or reports: a stall may lie in \
                  it";
    let mut story = Story::no_stall();
    story.timeline.rows.retain(|row| !(51..=60).contains(&row.tick));
    assert_disqualified(&story, reason);
    let mut story = Story::no_stall();
    story.number("primary", &Metric::Tps, 51..=60, 0.0);
    [51, 53, 55, 57].into_iter().for_each(|tick| story.blank("primary", &Metric::Tps, tick..=tick));
    story.blank("primary", &Metric::Tps, 60..=60);
    assert_disqualified(&story, reason);
    let mut story = Story::no_stall();
    story.timeline.rows.retain(|row| !(51..=59).contains(&row.tick));
    assert_eq!(judged(&story).verdict, Verdict::NoStall, "none of its length fits");
}

#[test]
fn a_primary_that_was_started_anew_disqualifies_the_run() {
    for metric in [Metric::CpuSecondsTotal, Metric::WalLsn] {
        let mut story = Story::no_stall();
        story.counter("primary", &metric, |t_s| if t_s < 70.0 { t_s } else { t_s - 70.0 });
        let reason = format!(
            "{} of primary went backwards at t = 70 s: the server was started anew or its statistics were reset",
            metric.name()
        );
        assert_disqualified(&story, &reason);
    }
}

#[test]
fn a_walreceiver_that_came_back_by_itself_before_the_fault_disqualifies_the_run() {
    for mut story in [Story::stalled(), Story::no_stall()] {
        story.number("standby", &Metric::WalreceiverStreaming, 25..=26, 0.0);
        assert_disqualified(
            &story,
            "the walreceiver of standby did not stream at t = 25 s, before the fault, and came back by itself",
        );
    }
}

#[test]
fn a_row_made_between_a_fault_and_its_note_shows_the_fault() {
    let mut story = Story::stalled();
    let last = story.timeline.rows.iter_mut().rfind(|row| row.t_s < FAULT_S).unwrap();
    last.phase = Phase::Recovery;
    let tick = last.tick;
    story.number("standby", &Metric::WalreceiverStreaming, tick..=tick, 0.0);
    let summary = judged(&story);
    assert_eq!(summary.verdict, Verdict::Stalled, "{:?}", summary.reasons);
}

#[test]
fn another_standby_that_is_paused_can_hold_a_commit_as_well() {
    let mut story = Story::stalled();
    story.run.nodes.push(NodeInfo {
        name: "other".to_owned(),
        role: Role::Standby,
        ..story.run.nodes[1].clone()
    });
    story.number("other", &Metric::ReplayPaused, 1..=140, 0.0);
    story.number("other", &Metric::ReplayPaused, 90..=91, 1.0);
    assert_disqualified(&story, "replay was paused on other from t = 90 s on, in 2 rows");
}

#[test]
fn a_last_row_at_the_fault_tells_nothing_of_what_came_after() {
    for story in [Story::stalled(), Story::no_stall()] {
        let summary = judged(&story.cut_after(FAULT_S));
        assert_eq!((summary.verdict, summary.hang_s), (Verdict::Inconclusive, None));
    }
}
