//! `stall-lab sweep` on real containers: the profile `smoke` at two caps, stopped in the middle and taken up again.
//!
//! Without an engine the test says that it is skipped; with `STALL_LAB_REQUIRE_DOCKER` set that is a failure.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::engine_or_skip;
use stall_lab::docker::labels::Selector;
use stall_lab::store::RunFolder;
use stall_lab::sweep::{Record, Results, Status, SweepFolder};

fn lab(out: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stall-lab"));
    let vary = ["--vary", "standby.read_iops=150,220", "--prefetch", "try", "--repeat", "1"];
    command.args(["sweep", "--profile", "smoke", "--out"]).arg(out).args(vary);
    command
}

/// Rows, and folders of runs with a row of their timeline.
fn state(out: &Path) -> (Vec<Record>, usize) {
    let records = SweepFolder::read(out).map(|folder| folder.records().to_vec()).unwrap_or_default();
    let runs = std::fs::read_dir(out.join("smoke")).into_iter().flatten().flatten().map(|entry| entry.path());
    let recording =
        |run: &Path| RunFolder::at(run).timeline().is_ok_and(|timeline| !timeline.rows.is_empty());
    (records, runs.filter(|run| !run.is_symlink() && recording(run)).count())
}

/// Waits until a run records and one before it has its row; fails when the lab ends before.
fn wait_for_a_later_run(child: &mut Child, out: &Path) {
    let deadline = Instant::now() + Duration::from_secs(300);
    loop {
        let (records, recording) = state(out);
        if !records.is_empty() && recording > records.len() {
            return;
        }
        assert!(Instant::now() < deadline, "no second run began: {records:?}");
        assert_eq!(child.try_wait().unwrap(), None, "{records:?}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[tokio::test]
async fn a_sweep_over_the_cap_hangs_as_predicted_and_goes_on_where_it_was_stopped() {
    let Some(engine) = engine_or_skip().await else { return };
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("caps");
    let mut child = lab(&out).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    wait_for_a_later_run(&mut child, &out);
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));

    let stopped = state(&out).0.pop().unwrap();
    assert_eq!((stopped.status, stopped.problem.as_deref()), (Status::Broken, Some("stopped by the user")));

    // A machine that is busy with other things may break a run; that is what the same command again is for.
    let again = |_| lab(&out).output().unwrap();
    let ended = (0..3).map(again).find(|output| output.status.success());
    assert!(ended.is_some(), "{:?}", state(&out).0);
    let folder = SweepFolder::read(&out).unwrap();
    let finished = folder.records().iter().filter(|record| record.status == Status::Finished);
    assert_eq!((finished.count(), folder.pending().len()), (2, 0), "{:?}", folder.records());
    for point in &Results::of(folder.design(), folder.records()).points {
        let ratio = point.to_prediction().unwrap();
        assert!((0.8..1.2).contains(&ratio), "{point:?}");
        assert_eq!((point.stalled, point.interval()), (1, None));
    }
    for file in ["sweep.json", "sweep.csv", "sweep.png", "README.md"] {
        assert!(out.join(file).exists(), "{file}");
    }
    for record in folder.records() {
        let run = RunFolder::at(out.join(record.folder.as_ref().unwrap())).run().unwrap();
        let left = engine.containers(&Selector::run(&run.run_id)).await.unwrap();
        assert_eq!(left.len(), 0, "{left:?}");
    }
}
