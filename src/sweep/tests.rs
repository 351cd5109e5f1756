//! Sweeps on a fake site.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::testing::design;
use super::*;
use crate::analysis;
use crate::fake::FakeSite;
use crate::image::ImageRequest;
use crate::profile::Template;
use crate::progress::Progress;
use crate::repro::Arm;

fn request(folder: &Path, axes: &[&str], repeat: u32) -> Request {
    let design = design(axes, repeat);
    let template = Template::find("smoke").unwrap();
    let sets = ["watch.deadline=2m".parse().unwrap()];
    let arms: Vec<Arm> = arms(&template, "smoke", &sets, &design.axes, &ImageRequest::Default).unwrap();
    Request { design, seed: None, arms, folder: folder.join("sweep") }
}

async fn carry_out(site: &FakeSite, request: &Request, stop_after: Option<u64>) -> Outcome {
    let stop = CancellationToken::new();
    if let Some(seconds) = stop_after {
        let stop = stop.clone();
        tokio::spawn(async move {
            sleep(Duration::from_secs(seconds)).await;
            stop.cancel();
        });
    }
    sweep(site, request, &Progress::silent(), &stop).await.unwrap()
}

fn raised(site: &FakeSite) -> Vec<String> {
    site.calls().into_iter().filter(|call| call.starts_with("raise")).collect()
}

fn rows(request: &Request) -> Vec<Record> {
    SweepFolder::read(&request.folder).unwrap().records().to_vec()
}

const AXES: [&str; 2] = ["standby.read_iops=100,200", "prefetch=try,off"];

#[tokio::test(start_paused = true)]
async fn a_sweep_runs_every_point_as_often_as_it_should_each_repeat_before_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let (site, request) = (FakeSite::default(), request(dir.path(), &AXES, 2));
    let outcome = carry_out(&site, &request, None).await;
    assert_eq!((outcome.finished, outcome.broken, outcome.pending, outcome.interrupted), (8, 0, 0, false));
    let rows = rows(&request);
    let runs: Vec<Run> = rows.iter().map(|row| row.run).collect();
    assert_eq!(runs, request.design.runs().collect::<Vec<_>>());
    for row in &rows {
        let stalls = request.design.values(row.run.point)[1] == "try";
        assert_eq!(row.hang_s.unwrap() > 15.0, stalls, "{row:?}");
        let folder = request.folder.join(row.folder.as_ref().unwrap());
        assert!(folder.join("timeline.png").exists(), "{row:?}");
    }
    for file in ["sweep.json", "sweep.csv", "sweep.png", "README.md"] {
        assert!(request.folder.join(file).exists(), "{file}");
    }
    // The same command again has nothing to do, and does nothing.
    let again = FakeSite::default();
    assert_eq!(carry_out(&again, &request, None).await.finished, 8);
    assert_eq!(again.calls(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_broken_run_is_counted_and_made_again_by_the_same_command_and_no_other_is() {
    let dir = tempfile::tempdir().unwrap();
    let request = request(dir.path(), &["prefetch=try,off"], 1);
    let site = FakeSite { broken_arm: Some("off".to_owned()), ..FakeSite::default() };
    let outcome = carry_out(&site, &request, None).await;
    assert_eq!((outcome.finished, outcome.broken, outcome.pending), (1, 1, 1));
    let problem = rows(&request).into_iter().find_map(|row| row.problem).unwrap();
    assert!(problem.contains("no room for shared memory"), "{problem}");
    let healthy = FakeSite::default();
    let outcome = carry_out(&healthy, &request, None).await;
    assert_eq!((outcome.finished, outcome.broken, outcome.pending), (2, 0, 0));
    assert_eq!(raised(&healthy), ["raise off"]);
    let rows = rows(&request);
    let broken = rows.iter().filter(|row| row.status == Status::Broken).count();
    assert_eq!((rows.len(), broken), (3, 1));
    let results = Results::of(&request.design, &rows);
    assert_eq!((results.points[1].broken, results.points[1].hangs_s.len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_sweep_that_is_stopped_goes_on_where_it_was_and_the_run_it_was_in_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let request = request(dir.path(), &["standby.read_iops=100,200"], 2);
    let stopped = carry_out(&FakeSite::default(), &request, Some(100)).await;
    assert!(stopped.interrupted && stopped.finished > 0 && stopped.pending > 0, "{stopped:?}");
    let before = rows(&request);
    assert_eq!(before.last().unwrap().problem.as_deref(), Some("stopped by the user"));
    let site = FakeSite::default();
    let outcome = carry_out(&site, &request, None).await;
    assert_eq!((outcome.finished, outcome.pending), (4, 0));
    assert_eq!(raised(&site).len(), stopped.pending);
    assert_eq!(rows(&request)[..before.len()], before);
}

#[tokio::test(start_paused = true)]
async fn what_breaks_every_run_ends_the_sweep_instead_of_breaking_all() {
    let dir = tempfile::tempdir().unwrap();
    let request = request(dir.path(), &["standby.read_iops=100,200,300,400,500"], 3);
    let site = FakeSite { broken_arm: Some("try".to_owned()), ..FakeSite::default() };
    let outcome = carry_out(&site, &request, None).await;
    assert_eq!((outcome.broken, outcome.pending), (3, 15));
    assert!(outcome.given_up.unwrap().contains("no room for shared memory"));
    assert!(request.folder.join("README.md").exists());
}

#[tokio::test(start_paused = true)]
async fn a_run_that_a_killed_lab_has_left_is_counted_as_broken_and_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let request = request(dir.path(), &["prefetch=try,off"], 1);
    carry_out(&FakeSite::default(), &request, None).await;
    let csv = request.folder.join("sweep.csv");
    let text = std::fs::read_to_string(&csv).unwrap();
    let (kept, _) = text.trim_end().rsplit_once('\n').unwrap();
    std::fs::write(&csv, format!("{kept}\n")).unwrap();
    let site = FakeSite::default();
    carry_out(&site, &request, None).await;
    assert_eq!(raised(&site).len(), 1);
    let problems: Vec<_> = rows(&request).into_iter().filter_map(|row| row.problem).collect();
    assert_eq!(problems, ["the lab was ended while it ran"]);
}

#[tokio::test(start_paused = true)]
async fn a_sweep_is_summed_up_again_from_its_files_also_where_a_run_is_not_there() {
    let dir = tempfile::tempdir().unwrap();
    let request = request(dir.path(), &["prefetch=try,off"], 1);
    carry_out(&FakeSite::default(), &request, None).await;
    let files = ["sweep.csv", "sweep.png", "README.md"].map(|file| request.folder.join(file));
    let read = || files.each_ref().map(|file| std::fs::read(file).unwrap());
    let before = read();
    std::fs::remove_file(&files[1]).unwrap();
    let gone = rows(&request).remove(0).folder.unwrap();
    std::fs::remove_dir_all(request.folder.join(gone)).unwrap();
    assert!(matches!(analysis::redraw(&request.folder), Ok(analysis::Redrawn::Sweep(2))));
    assert!(read() == before);
}
