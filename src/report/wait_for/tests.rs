#![allow(clippy::unwrap_used)]

use super::*;
use crate::store::LoadWindow;
use crate::wait_for::{judge, testing};

fn rows() -> WaitForRows {
    let window = |method: &str, repeat, completions| LoadWindow {
        completions,
        ..testing::window(method, testing::request().workers, repeat)
    };
    let wobble = |repeat: u64| repeat * 7;
    let load = (1..=3).flat_map(|repeat| {
        let round = u32::try_from(repeat).unwrap();
        [window("busy-poll", round, 1_000), window("wait-for", round, 1_300 + wobble(repeat))]
    });
    let mut latency: Vec<_> = [("poll", 1.2), ("busy-poll", 0.4), ("wait-for", 0.3), ("round-trip", 0.08)]
        .iter()
        .flat_map(|(method, at)| (0..5).map(move |n| testing::trial(method, at + f64::from(n) / 100.0)))
        .collect();
    latency.iter_mut().filter(|trial| trial.method == "poll").for_each(|trial| {
        (trial.queries, trial.slept_ms) = (2, 0.9);
    });
    WaitForRows {
        latency,
        load: load.collect(),
        wake: (1..=2).map(|waiter| testing::returned(15, 1, waiter, f64::from(waiter))).collect(),
        refusals: vec![
            testing::refusal("reached", "standby", false, "", "success"),
            testing::refusal("timeout", "standby", false, "57014", ""),
        ],
    }
}

fn page_of(version: &str, rows: &WaitForRows) -> String {
    let info = testing::info(version);
    page(&info, rows, &judge(&info, rows))
}

#[test]
fn the_page_has_the_ratio_with_its_interval_and_which_way_it_goes() {
    let page = page_of("19rc1", &rows());
    assert!(
        page.contains("with 4 sessions: 1.31 (1.30 to 1.33) times the completions a second (more)"),
        "{page}"
    );
    assert!(page.contains("standby's CPU for each (less CPU); 3 rounds"), "{page}");
    for part in
        ["![", "## Under load", "## One wait", "## Wake-up", "## What it refuses", "## Setup", "--seed 7"]
    {
        assert!(page.contains(part), "{part} is not in:\n{page}");
    }
    assert!(!page.contains("> **"), "{page}");
}

#[test]
fn a_sleeping_polls_time_is_explained_by_its_sleep() {
    let page = page_of("19rc1", &rows());
    let words =
        "Of the mean of 1.22 ms of a poll, 1 ms sleep, 0.900 ms (74 %) were slept, 0.900 ms at a time";
    assert!(page.contains(words), "{page}");
    assert!(page.contains("| empty query on the standby"), "{page}");
}

#[test]
fn nothing_is_concluded_from_a_beta() {
    let page = page_of("19beta4", &rows());
    assert!(page.contains("**NO CONCLUSIONS.**"), "{page}");
    assert!(!page.contains("times the completions") && !page.contains("write-up"), "{page}");
}

#[test]
fn a_server_without_wait_for_is_called_one() {
    let mut rows = rows();
    rows.load.clear();
    rows.refusals.clear();
    let page = page_of("18.6", &rows);
    assert!(page.starts_with("# Polling a standby: PostgreSQL 18.6, which has no WAIT FOR LSN"), "{page}");
    assert!(!page.contains("## What it refuses") && !page.contains("## Under load"), "{page}");
}

#[test]
fn what_limits_a_run_stands_before_its_figures() {
    let mut rows = rows();
    rows.load
        .iter_mut()
        .for_each(|window| (window.client_cpu_s, window.machine_busy) = (Some(3.0), Some(1.0)));
    rows.refusals[1].sqlstate = "57P05".to_owned();
    let mut info = testing::info("19rc1");
    info.debug_build = true;
    info.finished.pop();
    let page = page(&info, &rows, &judge(&info, &rows));
    let cautions: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("> **")).collect();
    let starts = ["DEBUG BUILD", "CLIENT-BOUND", "NOT WHOLE", "A FINDING"];
    assert_eq!(cautions.len(), starts.len(), "{page}");
    assert!(cautions.iter().zip(starts).all(|(line, start)| line.starts_with(start)), "{page}");
    assert!(page.contains("- timeout on the standby: expected `57014`, got `57P05`"), "{page}");
    assert!(page.contains("**`57P05` (not expected)**"), "{page}");
}

#[test]
fn a_ratio_whose_interval_holds_one_goes_no_way() {
    let estimate = |value, low, high| Estimate { value, low: Some(low), high: Some(high) };
    assert_eq!(which_way(estimate(1.1, 0.9, 1.3), "more", "less"), "no clear difference");
    assert_eq!(which_way(estimate(1.1, 1.05, 1.2), "more", "less"), "more");
    assert_eq!(which_way(estimate(0.5, 0.4, 0.6), "more", "less"), "less");
    assert_eq!(
        which_way(Estimate { value: 3.0, low: None, high: None }, "more", "less"),
        "no clear difference"
    );
}

#[test]
fn a_run_of_nothing_says_so() {
    let info = testing::info("19rc1");
    let rows = WaitForRows::default();
    assert_eq!(headline(&info, &judge(&info, &rows)), "- Nothing was measured.\n");
}
