//! Every branch of the judgement, on runs made up for it, and on one that was real.
#![allow(clippy::unwrap_used)]

mod ended_early;
mod faults;
mod figures;
mod sound;
mod stalls;
mod unseen;
mod untrustworthy;
mod watched;

use std::path::Path;

use super::testing::Story;
use super::*;
use crate::store::RunFolder;

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
    assert!((value - expected).abs() <= tolerance * expected, "{value} is not {expected}");
}

#[test]
fn the_outage_recorded_by_hand_is_found_as_it_was_by_hand() {
    let folder = RunFolder::at(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/outage-try"));
    let summary = judge(&folder.run().unwrap(), &folder.timeline().unwrap(), &folder.events().unwrap());
    assert_eq!(summary.verdict, Verdict::Stalled, "{:?}", summary.reasons);
    assert_near(summary.hang_s, 2311.0, 0.01);
    assert_near(summary.time_to_streaming_s, 2311.0, 0.01);
    // Counter of the loop device: 1,154,436 reads from the kill to streaming.
    assert_near(summary.hang_reads.map(|reads| reads as f64), 1_154_436.0, 0.01);
    assert_near(summary.hang_read_iops_mean, 499.8, 0.01);
    assert_near(summary.hang_read_bytes_mean, 16.2 * 1024.0, 0.01);
    assert_near(summary.prefetched_blocks.map(|blocks| blocks as f64), 1_400_000.0, 0.01);
    assert_near(summary.lag_at_fault_bytes.map(|bytes| bytes as f64), 10.017e9, 0.01);
    assert_eq!(summary.longest_gap_before_fault_s.map(f64::round), Some(23.0));
}

/// Folders of runs below this one.
fn runs_below(folder: &Path) -> Vec<RunFolder> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let folders = entries.filter(|path| path.is_dir() && !path.is_symlink());
    folders
        .flat_map(
            |path| {
                if path.join("run.json").exists() { vec![RunFolder::at(path)] } else { runs_below(&path) }
            },
        )
        .collect()
}

#[test]
fn every_result_that_is_kept_here_is_judged_as_when_it_was_measured() {
    let runs = runs_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("results"));
    assert!(runs.len() >= 14);
    for folder in runs {
        let summary = judge(&folder.run().unwrap(), &folder.timeline().unwrap(), &folder.events().unwrap());
        assert_eq!(summary, folder.summary().unwrap(), "{}", folder.path().display());
    }
}
