//! Runs that ended before they had shown everything.
#![allow(clippy::unwrap_used)]

use crate::store::{EventKind, Metric};
use crate::verdict::testing::{FAULT_S, Story};

use super::*;

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
    assert_eq!(summary.amplification, None, "the standby had not replayed the update");
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
    assert_eq!((summary.verdict, summary.time_to_streaming_s), (Verdict::NoStall, None));
}

#[test]
fn without_its_event_streaming_again_is_read_from_the_rows() {
    let story = Story::stalled().without(EventKind::StreamingAgain);
    assert_eq!(judged(&story).time_to_streaming_s, rounded(Some(122.0 - FAULT_S)));
}

#[test]
fn another_standbys_streaming_is_not_the_faulted_ones() {
    let mut story = Story::stalled();
    story.event(50.0, EventKind::StreamingAgain, Some("standby_2"), None, "");
    assert_eq!(judged(&story).time_to_streaming_s, rounded(Some(121.3 - FAULT_S)));
}

#[test]
fn streaming_before_the_fault_is_not_streaming_again() {
    let mut story = Story::stalled();
    story.event(2.0, EventKind::StreamingAgain, Some("standby"), None, "");
    assert_eq!(judged(&story).time_to_streaming_s, rounded(Some(121.3 - FAULT_S)));
}
