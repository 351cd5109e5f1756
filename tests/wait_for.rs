//! `stall-lab wait-for all` on real servers: a short one on PostgreSQL 19.
//!
//! Without an engine, or without PostgreSQL 19 to be had, the test says that it is skipped; with
//! `STALL_LAB_REQUIRE_DOCKER` set that is a failure.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::path::Path;
use std::process::Command;

use common::engine_or_skip;
use stall_lab::docker::Engine;
use stall_lab::docker::labels::Selector;
use stall_lab::image::{self, ImageRequest};
use stall_lab::store::{WaitForFolder, WaitForSummary};

/// An engine that has, or can be given, PostgreSQL 19.
async fn engine_with_19() -> Option<Engine> {
    let engine = engine_or_skip().await?;
    match image::resolve(&engine, &ImageRequest::Version(19), &mut |_| ()).await {
        Ok(_) => Some(engine),
        Err(error) if std::env::var_os("STALL_LAB_REQUIRE_DOCKER").is_none() => {
            eprintln!("SKIPPED: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn short_all(results: &Path) -> std::process::Output {
    let flags = "--trials 20 --workers 4 --seconds 1 --sweep 1 --repeat 3 --waiters 2,15 --seed 7";
    Command::new(env!("CARGO_BIN_EXE_stall-lab"))
        .args(["wait-for", "all"])
        .args(flags.split(' '))
        .arg("--results")
        .arg(results)
        .output()
        .unwrap()
}

#[tokio::test]
async fn a_short_run_of_everything_on_19_is_whole_true_and_leaves_nothing() {
    let Some(engine) = engine_with_19().await else { return };
    let results = tempfile::tempdir().unwrap();
    let output = short_all(results.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let folder = WaitForFolder::at(results.path().join("wait-for/latest"));
    let (info, summary) = (folder.info().unwrap(), folder.summary().unwrap());
    for file in ["latency.png", "load.png", "README.md", "logs/primary.log", "logs/standby.log"] {
        assert!(folder.path().join(file).exists(), "{file}");
    }
    assert_eq!(info.finished, ["latency", "load", "wake", "refusals"]);
    assert!(info.server.version_num >= 190_000 && summary.conclusive, "{}", summary.server_version);
    latency(&summary);
    load(&summary);
    wake(&summary);
    refusals(&summary);
    let headline = String::from_utf8(output.stdout).unwrap();
    assert!(headline.contains("WAIT FOR LSN against a busy poll with 4 sessions"), "{headline}");
    let run = Selector::run(&info.run_id);
    assert!(engine.containers(&run).await.unwrap().is_empty());
    assert!(engine.volumes(&run).await.unwrap().is_empty());
    assert!(engine.networks(&run).await.unwrap().is_empty());
}

/// Nobody knows of a commit faster than an empty query is answered, and a sleeping poll sleeps.
fn latency(summary: &WaitForSummary) {
    let round_trip = summary.empty_round_trip_ms.unwrap();
    let whole: Vec<_> = summary.latency.iter().filter(|row| row.repeat.is_none()).collect();
    // The round trip, two ways of polling, four modes.
    assert_eq!(whole.len(), 7);
    for row in &whole {
        assert_eq!(row.trials, 60, "{row:?}");
        assert!(row.min_ms > 0.0 && row.min_ms <= row.median_ms && row.median_ms <= row.max_ms, "{row:?}");
        assert!(row.method == "round-trip" || row.median_ms > round_trip * 0.5, "{row:?}");
    }
    let of = |method: &str| whole.iter().find(|row| row.method == method).unwrap();
    assert!(of("wait-for").queries_mean == 1.0 && of("busy-poll").slept_mean_ms == 0.0);
    let poll = of("poll");
    // What is slept follows from the questions: a millisecond or more after each but the last.
    assert!(poll.slept_mean_ms >= (poll.queries_mean - 1.0) * 0.999, "{poll:?}");
}

/// Every window completed something, and the standby used CPU for it.
fn load(summary: &WaitForSummary) {
    // Three rounds of three methods: closed, open, and the sweep.
    assert_eq!(summary.load.len(), 27);
    for window in &summary.load {
        assert!(window.completions_per_s > 1.0, "{window:?}");
        let cpu = window.cpu_us_per_completion.unwrap();
        assert!(cpu > 1.0 && cpu < 1e5, "{window:?}");
        assert!(window.cpu_peak_pct.unwrap() >= window.cpu_mean_pct.unwrap() * 0.999, "{window:?}");
        let questions = window.standby_queries_per_s / window.completions_per_s;
        // Workers that are between two counters at the window's edges make the difference.
        assert!(questions > 0.8 && (window.method != "wait-for" || questions < 1.2), "{window:?}");
        assert!(window.client_cpu_pct.unwrap() > 0.0 && window.p50_ms.unwrap() > 0.0, "{window:?}");
    }
    assert_eq!(summary.ratios.len(), 3);
    assert!(summary.ratios.iter().all(|ratio| ratio.rounds == 3 && ratio.completions_per_s.low.is_some()));
}

fn wake(summary: &WaitForSummary) {
    let waiters: Vec<u32> = summary.wake.iter().map(|row| row.waiters).collect();
    assert_eq!(waiters, [2, 15]);
    for row in &summary.wake {
        assert_eq!((row.rounds, row.wait_event.as_str()), (3, "IPC/WaitForWalReplay"));
        assert!(row.first_ms > 0.0 && row.spread_ms >= 0.0 && row.spread_max_ms >= row.spread_ms, "{row:?}");
    }
}

/// The stored answers are of 19rc1; a newer 19 that differs is worth knowing of.
fn refusals(summary: &WaitForSummary) {
    assert!(summary.refusals.len() > 200, "{}", summary.refusals.len());
    let differing: Vec<_> = summary.refusals.iter().filter(|row| row.as_expected != Some(true)).collect();
    assert!(differing.is_empty(), "{differing:#?}");
}
