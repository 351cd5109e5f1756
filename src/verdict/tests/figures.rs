//! Figures that are missing, and why.
#![allow(clippy::unwrap_used)]

use crate::store::{EventKind, Metric};
use crate::verdict::testing::Story;

use super::*;

#[test]
fn reads_that_were_not_sampled_are_null_with_a_reason() {
    let mut story = Story::stalled();
    story.blank("standby", &Metric::ReadsTotal, 1..=140);
    let summary = judged(&story);
    assert_eq!(summary.verdict, Verdict::Inconclusive);
    assert_eq!((summary.hang_reads, summary.hang_read_iops_mean, summary.amplification), (None, None, None));
    assert_eq!(
        summary.reasons,
        [
            "whether the cap held is not known: reads_total of standby was never read",
            "the reads of standby in the hang are not known: reads_total was never read",
            "what the update cost standby is known only in part: reads_total was never read",
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
        ["what the update cost primary is known only in part: writes_total was not read near t = 10 s"]
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
    story.counter("standby", &skip_seen, |t_s| (t_s.clamp(12.0, 121.0) - 12.0) * 570.0);
    assert_eq!(judged(&story).prefetched_share, rounded(Some(210.0 / 2000.0)));
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
