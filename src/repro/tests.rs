#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::sleep;

use super::*;
use crate::disk::Caps;
use crate::fake::{FakeSite, Mishap, Script};
use crate::image::ImageRequest;
use crate::profile::{Prefetch, Profile};
use crate::store::{RunFolder, Verdict};

pub(super) fn request(results: &Path, prefetch: &[Prefetch]) -> Request {
    let mut profile = Profile::load("smoke", &[]).unwrap();
    profile.watch.deadline = Duration::from_secs(120);
    Request {
        profile_name: "smoke".to_owned(),
        arms: Arm::of_prefetch(&profile, prefetch),
        results: results.to_owned(),
        caps: Caps::On,
        teardown: Teardown::Remove,
        command_line: vec!["stall-lab".to_owned(), "repro".to_owned()],
    }
}

pub(super) async fn carry_out(
    site: &FakeSite,
    request: &Request,
    stop_after: Option<u64>,
) -> Result<Outcome, ReproError> {
    let stop = CancellationToken::new();
    if let Some(seconds) = stop_after {
        let stop = stop.clone();
        tokio::spawn(async move {
            sleep(Duration::from_secs(seconds)).await;
            stop.cancel();
        });
    }
    repro(site, request, &Progress::silent(), &stop).await
}

pub(super) fn folders(results: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(results.path().join("smoke")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test(start_paused = true)]
async fn two_arms_give_two_complete_folders_and_a_comparison() {
    let results = tempfile::tempdir().unwrap();
    let (site, request) = (FakeSite::default(), request(results.path(), &[Prefetch::Try, Prefetch::Off]));
    let outcome = carry_out(&site, &request, None).await.unwrap();
    let verdicts: Vec<Verdict> = outcome.arms.iter().map(|arm| arm.analysed.summary.verdict).collect();
    assert_eq!(verdicts, [Verdict::Stalled, Verdict::NoStall]);
    for arm in &outcome.arms {
        for file in
            ["run.json", "timeline.csv", "events.csv", "summary.json", "timeline.png", "README.md", "logs"]
        {
            assert!(arm.analysed.folder.path().join(file).exists(), "{file}");
        }
    }
    let comparison = outcome.comparison.as_ref().unwrap();
    for file in ["comparison.json", "comparison.png", "comparison.csv", "README.md"] {
        assert!(comparison.join(file).exists(), "{file}");
    }
    assert_eq!(site.calls(), ["prepare 2", "raise try", "tear down", "raise off", "tear down"]);
    let latest = std::fs::read_link(results.path().join("smoke/latest")).unwrap();
    assert!(latest.to_str().unwrap().ends_with("-off"));
}

#[tokio::test(start_paused = true)]
async fn several_servers_give_an_arm_each_that_tells_of_its_own_and_a_comparison_without_caution() {
    let results = tempfile::tempdir().unwrap();
    let mut request = request(results.path(), &[Prefetch::Try, Prefetch::Off]);
    request.arms = Arm::on_servers(request.arms, &[ImageRequest::Version(15), ImageRequest::Version(19)]);
    let outcome = carry_out(&FakeSite::default(), &request, None).await.unwrap();
    let ran: Vec<_> = outcome
        .arms
        .iter()
        .map(|arm| (arm.analysed.run.arm.as_str(), arm.analysed.run.server.version_num / 10_000))
        .collect();
    assert_eq!(ran, [("pg15-try", 15), ("pg15-off", 15), ("pg19-try", 19), ("pg19-off", 19)]);
    let folder = outcome.comparison.unwrap();
    let page = || std::fs::read_to_string(folder.join("README.md")).unwrap();
    let written = page();
    assert!(!written.contains("Caution"), "{written}");
    assert!(written.contains("Varied on purpose: recovery_prefetch, server."), "{written}");
    // What was meant is in the files, so a comparison that is drawn again says the same.
    analysis::redraw(&folder).unwrap();
    assert_eq!(page(), written);
}

#[tokio::test(start_paused = true)]
async fn what_was_drawn_is_drawn_again_from_the_files_alone() {
    let results = tempfile::tempdir().unwrap();
    let (site, request) = (FakeSite::default(), request(results.path(), &[Prefetch::Try, Prefetch::Off]));
    let outcome = carry_out(&site, &request, None).await.unwrap();
    let run = outcome.arms[0].analysed.folder.path();
    let comparison = outcome.comparison.unwrap();
    let files = [run.join("timeline.png"), run.join("summary.json"), comparison.join("comparison.png")];
    let lists = ["comparison.json", "README.md"].map(|name| comparison.join(name));
    let listed = lists.each_ref().map(|list| std::fs::read_to_string(list).unwrap());
    let before: Vec<_> = files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    files.iter().for_each(|file| std::fs::remove_file(file).unwrap());
    analysis::redraw(&comparison).unwrap();
    // Once more, since the first time has written the list of its runs anew.
    analysis::redraw(&comparison).unwrap();
    let after: Vec<_> = files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    assert!(before == after);
    assert_eq!(lists.map(|list| std::fs::read_to_string(list).unwrap()), listed);
}

#[tokio::test(start_paused = true)]
async fn an_arm_that_cannot_be_set_up_is_torn_down_and_named() {
    let results = tempfile::tempdir().unwrap();
    let site = FakeSite { broken_arm: Some("off".to_owned()), ..FakeSite::default() };
    let request = request(results.path(), &[Prefetch::Try, Prefetch::Off]);
    let error = anyhow::Error::from(carry_out(&site, &request, None).await.unwrap_err());
    assert_eq!(
        format!("{error:#}"),
        "off: setting up the nodes: standby did not start: no room for shared memory"
    );
    assert_eq!(site.calls().last().map(String::as_str), Some("tear down"));
    // What was meant to be is on disk, whatever came of it.
    let broken = folders(&results).into_iter().find(|name| name.ends_with("-off")).unwrap();
    let run = RunFolder::at(results.path().join("smoke").join(broken)).run().unwrap();
    assert_eq!((run.arm.as_str(), run.nodes.len()), ("off", 2));
}

#[tokio::test(start_paused = true)]
async fn stopping_while_getting_ready_leaves_nothing_and_says_so() {
    let results = tempfile::tempdir().unwrap();
    let site = FakeSite { prepare_hangs: true, ..FakeSite::default() };
    let outcome = carry_out(&site, &request(results.path(), &[Prefetch::Try]), Some(5)).await.unwrap();
    assert!(outcome.interrupted && outcome.arms.is_empty());
    assert_eq!(site.calls(), ["prepare 1", "abandon"]);
}

#[tokio::test(start_paused = true)]
async fn stopping_in_the_hang_keeps_a_valid_result_and_starts_no_other_arm() {
    let results = tempfile::tempdir().unwrap();
    let (site, request) = (FakeSite::default(), request(results.path(), &[Prefetch::Try, Prefetch::Off]));
    let outcome = carry_out(&site, &request, Some(45)).await.unwrap();
    assert!(outcome.interrupted);
    let summary = &outcome.arms[0].analysed.summary;
    assert_eq!((summary.verdict, summary.hang_ended), (Verdict::Stalled, Some(false)));
    assert_eq!(site.calls(), ["prepare 2", "raise try", "tear down"]);
    assert_eq!(outcome.comparison, None);
}

#[tokio::test(start_paused = true)]
async fn kept_nodes_are_not_torn_down() {
    let results = tempfile::tempdir().unwrap();
    let site = FakeSite::default();
    let request = Request { teardown: Teardown::Keep, ..request(results.path(), &[Prefetch::Off]) };
    carry_out(&site, &request, None).await.unwrap();
    assert_eq!(site.calls(), ["prepare 1", "raise off"]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_experiment_is_an_error_and_its_folder_is_judged_all_the_same() {
    let results = tempfile::tempdir().unwrap();
    let script = Script::stalling().with(Mishap::FaultFails);
    let site = FakeSite { script: Some(script), ..FakeSite::default() };
    let error = carry_out(&site, &request(results.path(), &[Prefetch::Try]), None).await.unwrap_err();
    let error = format!("{:#}", anyhow::Error::from(error));
    assert!(error.contains("phase recovery: the fault: there is no walreceiver on standby"), "{error}");
    let folder = folders(&results).into_iter().find(|name| name.ends_with("-try")).unwrap();
    let folder = RunFolder::at(results.path().join("smoke").join(folder));
    assert_eq!(folder.summary().unwrap().verdict, Verdict::Inconclusive);
    assert!(folder.plot_path().exists());
    assert_eq!(site.calls().last().map(String::as_str), Some("tear down"));
}

#[tokio::test(start_paused = true)]
async fn an_expectation_that_is_not_met_is_a_surprise_of_its_arm() {
    let results = tempfile::tempdir().unwrap();
    let (site, request) = (FakeSite::default(), request(results.path(), &[Prefetch::Try, Prefetch::Off]));
    let outcome = carry_out(&site, &request, None).await.unwrap();
    let expect = |text: &str| text.parse::<Expectation>().unwrap();
    assert_eq!(outcome.surprises(&[expect("try=stall"), expect("off=no-stall")]), [""; 0]);
    assert_eq!(outcome.surprises(&[expect("stall")]), ["off: expected stalled, got no stall"]);
}

#[tokio::test(start_paused = true)]
async fn the_columns_of_a_timeline_are_these() {
    let results = tempfile::tempdir().unwrap();
    let request = request(results.path(), &[Prefetch::Off]);
    let outcome = carry_out(&FakeSite::default(), &request, None).await.unwrap();
    let csv = std::fs::read_to_string(outcome.arms[0].analysed.folder.timeline_path()).unwrap();
    insta::assert_snapshot!(csv.lines().next().unwrap_or_default().replace(',', "\n"));
}
