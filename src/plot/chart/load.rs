//! The chart of load: each method against the number of sessions.

use std::collections::{BTreeMap, BTreeSet};

use super::axis::LogAxis;
use super::scene::{Chart, Curve, Panel, Shape};
use super::{footer, in_words, ink};
use crate::plot::scene::Words;
use crate::plot::style::Ink;
use crate::store::{LoadSummary, WaitForInfo};

/// Height of each plot.
const HEIGHT: f64 = 230.0;

/// The chart of these windows.
pub fn scene(info: &WaitForInfo, windows: &[&LoadSummary]) -> Chart {
    let workers: Vec<u32> =
        windows.iter().map(|window| window.workers).collect::<BTreeSet<_>>().into_iter().collect();
    let panel = |title: &str, of: &dyn Fn(&LoadSummary) -> Option<f64>| {
        let methods: BTreeSet<&str> = windows.iter().map(|window| window.method.as_str()).collect();
        let curves = methods.into_iter().map(|method| Curve {
            label: in_words(method),
            ink: ink(method),
            shape: Shape::Whiskers(points(windows, method, of)),
        });
        Panel::of_counts(title, HEIGHT, curves.collect())
    };
    let mut subtitles = vec![Words {
        text: "Closed loop: insert on the primary, wait on the standby, again. Dots are medians of rounds, whiskers the \
               least and greatest"
            .to_owned(),
        ink: Ink::Muted,
    }];
    let bound = windows.iter().filter(|window| window.client_bound == Some(true)).count();
    if bound > 0 {
        subtitles.push(Words {
            text: format!("In {bound} of {} windows the client was what limited the figures", windows.len()),
            ink: Ink::Alarm,
        });
    }
    Chart {
        title: "Waiting for the standby: throughput and the standby's CPU".to_owned(),
        subtitles,
        panels: vec![
            panel("completions a second", &|window| Some(window.completions_per_s)),
            panel("standby's CPU for each, microseconds", &|window| window.cpu_us_per_completion),
            panel("standby's CPU, % of one", &|window| window.cpu_mean_pct),
        ],
        axis: LogAxis::values(&workers, "sessions (logarithmic)"),
        footer: vec![footer(info)],
    }
}

/// Least, median and greatest value for each number of sessions; without those that have none.
fn points(
    windows: &[&LoadSummary],
    method: &str,
    of: &dyn Fn(&LoadSummary) -> Option<f64>,
) -> Vec<(f64, f64, f64, f64)> {
    let mut values: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for window in windows.iter().filter(|window| window.method == method) {
        values.entry(window.workers).or_default().extend(of(window));
    }
    let point = |(workers, mut values): (u32, Vec<f64>)| {
        values.sort_by(f64::total_cmp);
        let (least, greatest) = (*values.first()?, *values.last()?);
        let (low, high) = (values.get((values.len() - 1) / 2)?, values.get(values.len() / 2)?);
        Some((f64::from(workers), least, (low + high) / 2.0, greatest))
    };
    values.into_iter().filter_map(point).collect()
}
