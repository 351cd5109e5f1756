//! The chart of latencies: for each method the share of its trials that had ended by a time.

use std::collections::BTreeSet;

use super::axis::LogAxis;
use super::scene::{Chart, Curve, Panel, Shape};
use super::{footer, in_words, ink};
use crate::plot::axis::Tick;
use crate::plot::scene::Words;
use crate::plot::style::Ink;
use crate::store::{Trial, WaitForInfo};

/// The rest of the name of an empty query on the standby.
const ROUND_TRIP: &str = "round-trip";

/// Heights of the plots: what is compared, and beside it the modes.
const HEIGHT: f64 = 380.0;
const HEIGHT_OF_MODES: f64 = 240.0;

/// Room above 100 %, so that a curve there is not taken for the frame.
const TOP: f64 = 104.0;

/// The chart of these trials.
pub fn scene(info: &WaitForInfo, trials: &[Trial]) -> Chart {
    let methods: BTreeSet<&str> = trials.iter().map(|trial| trial.method.as_str()).collect();
    let is_mode = |method: &str| method.starts_with("wait-for");
    let compared: Vec<&str> = methods
        .iter()
        .copied()
        .filter(|method| *method != ROUND_TRIP && (!is_mode(method) || *method == "wait-for"))
        .collect();
    let modes: Vec<&str> = methods.iter().copied().filter(|method| is_mode(method)).collect();
    let round_trip = middle(trials, ROUND_TRIP);
    let mut panels = Vec::new();
    if !compared.is_empty() {
        let mark = round_trip.map(|at| (at, "empty query".to_owned()));
        panels.push(panel("trials that had ended, %", HEIGHT, trials, &compared, mark));
    }
    if modes.len() > 1 {
        panels.push(panel("the modes of WAIT FOR LSN, %", HEIGHT_OF_MODES, trials, &modes, None));
    }
    Chart {
        title: "How long a commit takes to be known on the standby, one at a time".to_owned(),
        subtitles: vec![Words {
            text: "From when the client knows the commit's LSN; each curve is all trials of a method, in random order among \
                   each other"
                .to_owned(),
            ink: Ink::Muted,
        }],
        panels,
        axis: LogAxis::decades(
            trials.iter().map(|trial| trial.wait_ms),
            "milliseconds (logarithmic)",
        ),
        footer: vec![footer(info)],
    }
}

fn panel(title: &str, height: f64, trials: &[Trial], methods: &[&str], mark: Option<(f64, String)>) -> Panel {
    let curve = |method: &&str| Curve {
        label: if title.starts_with("the modes") && *method == "wait-for" {
            "standby_replay".to_owned()
        } else {
            in_words(method)
        },
        ink: ink(method),
        shape: Shape::Line(distribution(&times(trials, method))),
    };
    Panel {
        title: title.to_owned(),
        height,
        top: TOP,
        ticks: [0.0, 25.0, 50.0, 75.0, 100.0].map(|at| Tick { at, label: format!("{at:.0}") }).to_vec(),
        curves: methods.iter().map(curve).collect(),
        mark,
    }
}

fn times(trials: &[Trial], method: &str) -> Vec<f64> {
    let mut times: Vec<f64> =
        trials.iter().filter(|trial| trial.method == method).map(|trial| trial.wait_ms).collect();
    times.sort_by(f64::total_cmp);
    times
}

fn middle(trials: &[Trial], method: &str) -> Option<f64> {
    let times = times(trials, method);
    times.get(times.len() / 2).copied().filter(|at| *at > 0.0)
}

/// The corners of the empirical distribution: at each time the share steps up.
fn distribution(sorted: &[f64]) -> Vec<(f64, f64)> {
    let share = |count: usize| count as f64 / sorted.len() as f64 * 100.0;
    sorted.iter().enumerate().flat_map(|(at, time)| [(*time, share(at)), (*time, share(at + 1))]).collect()
}
