//! Stalls that need a word.
#![allow(clippy::unwrap_used)]

use crate::store::Metric;
use crate::verdict::testing::Story;

use super::*;

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
    story.run.capped = Some(false);
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
