//! Faults that last: what they do to the faulted standby themselves is not held against the run.
#![allow(clippy::unwrap_used)]

use crate::profile::FaultKind;
use crate::store::{EventKind, Metric};
use crate::verdict::testing::{FAULT_S, Story};

use super::*;

/// A standby that was shut down at the fault and started at 50 s: it answers nobody until 80 s, and its counters start
/// anew.
fn restarted(kind: FaultKind) -> Story {
    let mut story = Story::stalled();
    story.run.profile_mut().fault.kind = kind;
    story.event(50.0, EventKind::FaultEnded, Some("standby"), None, "standby was started");
    let prefetched = Metric::prefetched();
    story.counter("standby", &prefetched, |t_s| if t_s < 50.0 { t_s * 10.0 } else { (t_s - 50.0) * 20.0 });
    story.counter("standby", &Metric::CpuSecondsTotal, |t_s| if t_s < 50.0 { t_s } else { t_s - 50.0 });
    story.counter("primary", &Metric::WalLsn, |t_s| t_s);
    let by_sql = [Metric::WalreceiverStreaming, Metric::Walreceiver, Metric::ReplayLsn, prefetched];
    by_sql.iter().for_each(|metric| story.blank("standby", metric, 41..=80));
    story.text("standby", &Metric::SyncState, 122..=140, "sync");
    story
}

#[test]
fn a_restart_that_is_the_fault_is_none_that_disqualifies_and_counters_go_on_across_it() {
    for kind in [FaultKind::RestartStandby, FaultKind::CrashStandby] {
        let summary = judged(&restarted(kind));
        assert_eq!((summary.verdict, summary.reasons.as_slice()), (Verdict::Stalled, [].as_slice()));
        assert_eq!(summary.hang_s, Some(80.0));
        // From 10 s to the last reading before the fault at 40 s, and from the start at 50 s to the hang's end.
        assert_eq!(summary.prefetched_blocks, Some(30 * 10 + 71 * 20));
        // A server that is down reads nothing: from 50 s on.
        assert_eq!(summary.hang_reads, Some(71 * 200));
        assert_eq!(summary.hang_read_iops_mean, Some(200.0));
    }
}

#[test]
fn a_second_restart_is_one_that_nobody_asked_for() {
    let mut story = restarted(FaultKind::RestartStandby);
    story.counter("standby", &Metric::CpuSecondsTotal, |t_s| t_s % 35.0);
    assert_disqualified(
        &story,
        "cpu_seconds_total of standby went backwards at t = 35 s: the server was started anew or its statistics were \
         reset",
    );
}

#[test]
fn a_fault_of_a_moment_restarts_nothing() {
    assert_disqualified(
        &restarted(FaultKind::KillWalsender),
        "cpu_seconds_total of standby went backwards at t = 50 s: the server was started anew or its statistics were \
         reset",
    );
}

#[test]
fn a_walreceiver_that_is_cut_off_does_not_stream_whatever_it_believes() {
    let mut story = Story::stalled();
    story.run.profile_mut().fault.kind = FaultKind::CutNetwork;
    story.event(FAULT_S + 60.0, EventKind::FaultEnded, Some("standby"), None, "");
    story.number("standby", &Metric::WalreceiverStreaming, 41..=100, 1.0);
    let summary = judged(&story);
    assert_eq!((summary.verdict, summary.reasons.as_slice()), (Verdict::Stalled, [].as_slice()));
}

#[test]
fn commits_that_a_second_standby_keeps_flowing_are_no_stall_though_the_first_replays_as_long() {
    let mut story = Story::stalled();
    story.number("primary", &Metric::Tps, 1..=140, 5.0);
    let summary = judged(&story);
    assert_eq!((summary.verdict, summary.reasons.as_slice()), (Verdict::NoStall, [].as_slice()));
    assert_eq!((summary.hang_s, summary.time_to_streaming_s), (Some(0.0), rounded(Some(121.3 - FAULT_S))));
}
