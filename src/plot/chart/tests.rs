#![allow(clippy::unwrap_used)]

use super::scene::{Curve, Shape};
use super::*;
use crate::wait_for::testing;

fn labels(curves: &[Curve]) -> Vec<&str> {
    curves.iter().map(|curve| curve.label.as_str()).collect()
}

#[test]
fn a_distribution_ends_at_all_of_its_trials_and_steps_at_each() {
    let info = testing::info("19rc1");
    let trials = [
        testing::trial("busy-poll", 0.4),
        testing::trial("busy-poll", 0.2),
        testing::trial("round-trip", 0.1),
    ];
    let chart = latency::scene(&info, &trials);
    assert_eq!(chart.panels.len(), 1);
    let panel = &chart.panels[0];
    assert_eq!(labels(&panel.curves), ["busy poll"]);
    assert_eq!(panel.curves[0].shape, Shape::Line(vec![(0.2, 0.0), (0.2, 50.0), (0.4, 50.0), (0.4, 100.0)]));
    assert_eq!(panel.mark, Some((0.1, "empty query".to_owned())));
    let ticks: Vec<&str> = chart.axis.ticks.iter().map(|tick| tick.label.as_str()).collect();
    assert_eq!(ticks, ["0.1", "0.2"]);
}

#[test]
fn the_modes_have_a_panel_of_their_own() {
    let trials = ["wait-for", "wait-for:standby_write", "poll"].map(|method| testing::trial(method, 1.0));
    let chart = latency::scene(&testing::info("19rc1"), &trials);
    assert_eq!(labels(&chart.panels[0].curves), ["poll, 1 ms sleep", "WAIT FOR LSN"]);
    assert_eq!(labels(&chart.panels[1].curves), ["standby_replay", "standby_write"]);
}

#[test]
fn rounds_are_a_median_between_whiskers_and_what_is_not_known_is_left_out() {
    let window = |workers, rate, cpu| {
        let mut window = testing::load("wait-for", workers, 1);
        (window.completions_per_s, window.cpu_us_per_completion) = (rate, cpu);
        window
    };
    let windows = [window(1, 100.0, None), window(1, 300.0, None), window(8, 700.0, Some(80.0))];
    let chart = load::scene(&testing::info("19rc1"), &windows.iter().collect::<Vec<_>>());
    let shapes: Vec<&Shape> = chart.panels.iter().map(|panel| &panel.curves[0].shape).collect();
    assert_eq!(*shapes[0], Shape::Whiskers(vec![(1.0, 100.0, 200.0, 300.0), (8.0, 700.0, 700.0, 700.0)]));
    assert_eq!(*shapes[1], Shape::Whiskers(vec![(8.0, 80.0, 80.0, 80.0)]));
}

#[test]
fn windows_that_the_client_limited_are_told_on_the_chart() {
    let mut window = testing::load("wait-for", 1, 1);
    let subtitles = |window: &LoadSummary| load::scene(&testing::info("19rc1"), &[window]).subtitles.len();
    assert_eq!(subtitles(&window), 1);
    window.client_bound = Some(true);
    assert_eq!(subtitles(&window), 2);
}

#[test]
fn charts_of_nothing_and_of_little_can_be_drawn() {
    let dir = tempfile::tempdir().unwrap();
    let info = testing::info("19rc1");
    let path = dir.path().join("chart.png");
    super::latency(&info, &[], &path).unwrap();
    super::latency(&info, &[testing::trial("wait-for", 0.3)], &path).unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() > 1000);
}
