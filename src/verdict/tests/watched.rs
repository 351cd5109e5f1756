//! Servers that were only watched: what is known of them, and what is not.
#![allow(clippy::unwrap_used)]

use crate::store::{EventKind, HangWait, Metric, NodeInfo, ProbeSummary, Subject};
use crate::verdict::testing::{FAULT_S, Story};

use super::*;

#[test]
fn a_marked_hang_has_its_figures_and_what_nobody_told_is_null_without_a_reason() {
    let summary = judged(&Story::watched());
    assert_eq!((summary.verdict, summary.reasons.as_slice()), (Verdict::Stalled, [].as_slice()));
    assert_eq!((summary.hang_s, summary.time_to_streaming_s), (Some(80.0), rounded(Some(121.3 - FAULT_S))));
    assert_eq!(summary.standby.as_deref(), Some("standby"));
    let wait = HangWait { event: "IO/DataFilePrefetch".to_owned(), share: 1.0 };
    assert_eq!(summary.hang_wait, Some(wait));
    assert_eq!((summary.hang_reads, summary.read_iops_cap, summary.amplification), (None, None, None));
    assert_eq!((summary.probe, summary.update_s), (None, None));
    // From the last row before the mark to the first after the hang.
    assert_eq!(summary.prefetched_blocks, Some(81 * 210));
}

#[test]
fn without_a_mark_it_is_about_the_longest_gap() {
    let mut story = Story::watched().without(EventKind::Fault);
    story.number("primary", &Metric::SyncRepWaitS, 10..=13, 3.0);
    let summary = judged(&story);
    assert_eq!((summary.verdict, summary.hang_s), (Verdict::Stalled, Some(80.0)));
    assert_eq!(summary.hang_start_s, Some(41.0));
    assert!(summary.lag_at_fault_bytes.is_some());
    assert_eq!(summary.longest_gap_before_fault_s, None);
}

#[test]
fn the_figures_are_those_of_the_standby_that_was_away() {
    let mut story = Story::watched();
    let other = NodeInfo { name: "healthy".to_owned(), ..story.run.nodes.last().unwrap().clone() };
    story.run.nodes.insert(1, other);
    story.number("healthy", &Metric::WalreceiverStreaming, 1..=140, 1.0);
    assert_eq!(story.run.faulted(), "healthy");
    let summary = judged(&story);
    assert_eq!((summary.verdict, summary.standby.as_deref()), (Verdict::Stalled, Some("standby")));
}

#[test]
fn a_standby_that_answers_nobody_is_away_where_its_primary_knew_it_and_no_more_does() {
    let mut story = Story::watched();
    story.blank("standby", &Metric::WalreceiverStreaming, 41..=121);
    assert_disqualified(
        &story,
        "commits stood still for 80 s, and whether standby streamed meanwhile is known of 0 s alone: what held them back was not seen",
    );
    story.text("standby", &Metric::SyncState, 1..=40, "quorum");
    story.text("standby", &Metric::SyncState, 122..=140, "quorum");
    assert_eq!(judged(&story).verdict, Verdict::Stalled);
}

#[test]
fn a_standby_that_was_started_anew_limits_what_is_counted_and_not_the_verdict() {
    let mut story = Story::watched();
    story.counter("standby", &Metric::prefetched(), |t| if t < 50.0 { t * 10.0 } else { t - 50.0 });
    let summary = judged(&story);
    assert_eq!((summary.verdict, summary.prefetched_blocks), (Verdict::Stalled, None));
    assert!(summary.reasons[0].contains("went backwards at t = 50 s"), "{:?}", summary.reasons);
}

#[test]
fn a_pause_of_replay_counts_only_where_commits_stood_still_in_it() {
    let mut story = Story::watched();
    story.number("standby", &Metric::ReplayPaused, 125..=130, 1.0);
    assert_eq!(judged(&story).verdict, Verdict::Stalled);
    story.number("standby", &Metric::ReplayPaused, 60..=70, 1.0);
    assert_disqualified(&story, "replay was paused on standby from t = 60 s on, in 11 rows");
}

#[test]
fn a_disk_that_tells_only_rates_has_a_mean_and_no_count() {
    let mut story = Story::watched();
    story.number("standby", &Metric::ReadIops, 1..=140, 500.0);
    story.number("standby", &Metric::ReadIops, 60..=60, 620.0);
    let summary = judged(&story);
    assert_eq!((summary.hang_reads, summary.hang_read_iops_peak), (None, Some(620.0)));
    assert_eq!(summary.hang_read_iops_mean, rounded(Some((79.0 * 500.0 + 620.0) / 80.0)));
}

#[test]
fn the_probe_is_the_witness_where_there_is_one() {
    let mut story = Story::watched();
    if let Subject::Observed(observed) = &mut story.run.subject {
        observed.probe_per_s = Some(5.0);
    }
    for (metric, hung, else_) in [
        (Metric::ProbeAcknowledged, 0.0, 5.0),
        (Metric::ProbeLocalCommits, 0.0, 0.0),
        (Metric::ProbeFailed, 0.0, 0.0),
    ] {
        story.number("primary", &metric, 1..=140, else_);
        story.number("primary", &metric, 42..=121, hung);
    }
    story.number("primary", &Metric::ProbeLocalCommits, 52..=52, 1.0);
    // What the cancelled write ended as is not taken for a commit.
    story.number("primary", &Metric::Tps, 52..=52, 1.0);
    let summary = judged(&story);
    assert_eq!((summary.verdict, summary.hang_s), (Verdict::Stalled, Some(80.0)));
    assert_eq!(summary.probe, Some(ProbeSummary { acknowledged: 300, committed_locally: 1, failed: 0 }));
}

#[test]
fn a_record_too_short_to_tell_says_so() {
    let story = Story::watched().without(EventKind::Fault).cut_after(8.0);
    assert_disqualified(&story, "the record is 8.0 s long: a stall can be told only after 10 s");
}
