//! The words as a reader gets them. The runs are made up; what they show is judged, not written down here.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use super::*;
use crate::explain::testing as explain;
use crate::store::{EventKind, Metric, RunFolder};
use crate::verdict::judge;
use crate::verdict::testing::Story;

fn judged(story: &Story) -> Summary {
    judge(&story.run, &story.timeline, &story.events)
}

fn page_of(story: &Story) -> String {
    page(&story.run, &judged(story), &story.events, None)
}

fn headline_of(story: &Story) -> String {
    headline(&story.run, &judged(story))
}

fn uncapped() -> Story {
    let mut story = Story::stalled();
    story.run.capped = Some(false);
    for node in &mut story.run.nodes {
        node.read_iops_cap = None;
        node.write_iops_cap = None;
        node.cap_proof = None;
    }
    story.run.command_line.push("--uncapped".to_owned());
    story
}

fn inconclusive() -> Story {
    let mut story = Story::stalled().without(EventKind::FaultVerified).cut_after(60.0);
    story.event(60.0, EventKind::Interrupted, None, None, "Ctrl-C");
    story.blank("standby", &Metric::ReadsTotal, 1..=140);
    story.run.server.note =
        Some("not the image asked for by default: the registry did not answer".to_owned());
    story
}

#[test]
fn the_page_of_a_stall() {
    insta::assert_snapshot!(page_of(&Story::stalled()));
}

#[test]
fn the_page_of_no_stall() {
    insta::assert_snapshot!(page_of(&Story::no_stall()));
}

#[test]
fn the_page_of_an_inconclusive_run() {
    insta::assert_snapshot!(page_of(&inconclusive()));
}

#[test]
fn the_page_of_an_uncapped_run() {
    insta::assert_snapshot!(page_of(&uncapped()));
}

#[test]
fn the_page_of_servers_that_were_only_watched() {
    insta::assert_snapshot!(page_of(&Story::watched()));
}

#[test]
fn a_run_beside_servers_that_were_only_watched_is_compared_by_what_both_have() {
    let text = compared(&[Story::stalled(), Story::watched()], comparison);
    assert!(text.contains("| verdict ") && text.contains("| cap on reads "), "{text}");
    assert!(!text.contains("UNCAPPED"), "{text}");
    let csv = compared(&[Story::watched()], |arms| comparison_csv(arms).unwrap());
    let row = csv.lines().last().unwrap();
    assert!(
        row.starts_with("observed,../20261130T173320Z-observed,18.6 (Debian 18.6-3),,stalled,80.0,"),
        "{row}"
    );
}

#[test]
fn a_page_of_nothing_says_that_nothing_is_known() {
    let mut story = Story::stalled();
    story.timeline.rows.clear();
    story.events.clear();
    let page = page_of(&story);
    assert!(page.contains("No event was recorded."), "{page}");
    assert!(page.contains("inconclusive: the run ended before the fault was injected (and 1 more"), "{page}");
}

#[test]
fn headlines_carry_verdict_and_figures() {
    let lower_bound = Story::stalled().cut_after(100.0);
    let headlines = [Story::stalled(), lower_bound, uncapped(), Story::no_stall(), inconclusive()];
    insta::assert_snapshot!(headlines.map(|story| headline_of(&story)).join("\n"));
}

/// Of runs that were put together later.
fn comparison(arms: &[Arm]) -> String {
    super::comparison(arms, &[])
}

fn compared(stories: &[Story], words: impl FnOnce(&[Arm]) -> String) -> String {
    let summaries: Vec<Summary> = stories.iter().map(judged).collect();
    let folders: Vec<String> =
        stories.iter().map(|story| format!("../20261130T173320Z-{}", story.run.arm)).collect();
    let arms: Vec<Arm> = stories
        .iter()
        .zip(&summaries)
        .zip(&folders)
        .map(|((story, summary), folder)| Arm { run: &story.run, summary, folder: Path::new(folder) })
        .collect();
    words(&arms)
}

#[test]
fn the_comparison_of_two_arms() {
    insta::assert_snapshot!(compared(&[Story::stalled(), Story::no_stall()], comparison));
}

#[test]
fn the_comparison_of_three_arms_has_no_ratio_and_marks_the_uncapped_one() {
    let mut third = uncapped();
    third.run.arm = "on".to_owned();
    third.run.server.version = "17.2".to_owned();
    insta::assert_snapshot!(compared(&[Story::stalled(), Story::no_stall(), third], comparison));
}

#[test]
fn arms_that_differ_in_nothing_are_repetitions() {
    let text = compared(&[Story::stalled(), Story::stalled()], comparison);
    assert!(text.contains("Nothing: the arms are repetitions of one run."), "{text}");
}

#[test]
fn what_runs_were_asked_to_differ_in_needs_no_caution_and_anything_else_does() {
    let of_19 = |scale| {
        let mut newer = Story::no_stall();
        newer.run.server.version = "19.1".to_owned();
        newer.run.profile_mut().workload.scale += scale;
        [Story::stalled(), newer]
    };
    let caution_of = |stories: &[Story], on_purpose: &[&str]| {
        let on_purpose: Vec<String> = on_purpose.iter().map(|subject| (*subject).to_owned()).collect();
        compared(stories, |arms| caution(arms, &on_purpose).unwrap_or_default())
    };
    let varied = ["recovery_prefetch", "server"];
    assert_eq!(caution_of(&of_19(0), &varied), "");
    assert!(caution_of(&of_19(0), &[]).starts_with("Caution: these runs differ in 2 things"));
    let said = caution_of(&of_19(1), &varied);
    let expected = "Caution: these runs differ in workload.scale and not only in what was varied";
    assert!(said.starts_with(expected), "{said}");
    let on_purpose = varied.map(str::to_owned);
    let page = compared(&of_19(0), |arms| super::comparison(arms, &on_purpose));
    assert!(page.contains("Varied on purpose: recovery_prefetch, server."), "{page}");
}

#[test]
fn a_patched_server_and_what_a_version_lacks_or_has_by_default_are_on_the_page() {
    let mut story = Story::stalled();
    story.run.server.build = Some(crate::store::OwnBuild {
        prefix: "/opt/patched".to_owned(),
        version: Some("PostgreSQL 18.6-patched".to_owned()),
        configure: Some("'--prefix=/opt/patched' 'CFLAGS=-O2'".to_owned()),
    });
    story.run.server.unknown_settings = vec!["io_method".to_owned()];
    for node in &mut story.run.nodes {
        node.defaults.insert("effective_io_concurrency".to_owned(), "16".to_owned());
    }
    let page = page_of(&story);
    for line in [
        "- built by its user, from `/opt/patched`: PostgreSQL 18.6-patched, `'--prefix=/opt/patched' 'CFLAGS=-O2'`\n",
        "- settings of the profile that this server does not know and that were left out: `io_method`\n",
        "| `effective_io_concurrency` | default: `16` | default: `16` |\n",
    ] {
        let unpadded = page.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        assert!(unpadded.contains(line), "{line}\n{page}");
    }
}

#[test]
fn a_comparison_as_csv_leaves_empty_what_is_not_known() {
    let stories = [Story::stalled(), inconclusive()];
    insta::assert_snapshot!(compared(&stories, |arms| comparison_csv(arms).unwrap()));
}

#[test]
fn a_lower_bound_and_times_of_a_few_seconds_make_no_ratio() {
    let text = compared(&[Story::stalled(), Story::stalled().cut_after(100.0)], comparison);
    assert!(text.contains("| 80 s    | at least 59 s |           |"), "{text}");
}

#[test]
fn the_page_of_the_outage_recorded_by_hand() {
    let folder = RunFolder::at(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/outage-try"));
    let run = folder.run().unwrap();
    let summary = judge(&run, &folder.timeline().unwrap(), &folder.events().unwrap());
    insta::assert_snapshot!(page(&run, &summary, &folder.events().unwrap(), None));
}

#[test]
fn the_attribution_of_a_stall_and_its_place_on_the_page() {
    let story = explain::stalled();
    let why = explain::explained(&story, Some(&explain::account()));
    insta::assert_snapshot!(attribution(&why));
    let page = page(&story.run, &judged(&story), &story.events, Some(&why));
    assert!(page.contains(&format!("## Why\n\n{}", attribution(&why))), "{page}");
}

#[test]
fn the_attribution_of_an_arm_without_prefetching() {
    let why = explain::explained(&explain::no_stall(), Some(&explain::account()));
    insta::assert_snapshot!(attribution(&why));
}

#[test]
fn the_attribution_of_a_run_without_an_account() {
    insta::assert_snapshot!(attribution(&explain::explained(&explain::stalled(), None)));
}

#[test]
fn what_a_run_says_of_a_larger_one() {
    let larger = crate::profile::Profile::load("outage", &[]).unwrap();
    let run = explain::stalled().run;
    let predicted = crate::explain::Prediction::of(&run, &explain::account(), &larger).unwrap();
    insta::assert_snapshot!(prediction("outage", &predicted));
}
