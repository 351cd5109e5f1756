//! The chart of a sweep as a value.

use crate::human;
use crate::plot::axis::{Tick, ValueAxis};
use crate::sweep::{Axis, Design, PointResult, Results};

/// A chart, before anything is drawn.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Chart {
    pub title: String,
    pub subtitles: Vec<String>,
    /// The axis along the bottom.
    pub across: Across,
    /// Seconds.
    pub up: ValueAxis,
    pub series: Vec<Series>,
    pub footer: Vec<String>,
}

/// The axis along the bottom.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Across {
    pub from: f64,
    pub to: f64,
    pub ticks: Vec<Tick>,
    pub title: String,
}

/// The points that differ in the bottom axis alone.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Series {
    /// What they share; none where there is only one series.
    pub label: Option<String>,
    pub marks: Vec<Mark>,
    /// Joins the medians, left to right; nothing where the bottom axis is not one of numbers.
    pub line: Vec<(f64, f64)>,
    /// The predictions: a line of the same kind, or a place for each point.
    pub predicted: Vec<(f64, f64)>,
}

/// A point.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mark {
    pub across: f64,
    /// Seconds.
    pub median: f64,
    /// The interval of the median, seconds; none of a single run.
    pub interval: Option<(f64, f64)>,
    /// Each run, seconds.
    pub runs: Vec<f64>,
}

/// Points of a line between two caps: so many reads divided by the cap are a hyperbola, and look like one.
const STEPS: u32 = 24;

/// The chart of these results.
pub(super) fn of(design: &Design, results: &Results) -> Chart {
    let bottom =
        results.numeric_axis().or_else(|| results.axes.iter().position(|axis| axis.values.len() > 1));
    let numbers = bottom.and_then(|at| results.axes.get(at)).and_then(Axis::numbers);
    let across = across(bottom.and_then(|at| results.axes.get(at)), numbers.as_deref());
    let place = |point: &PointResult| {
        let axis = bottom.and_then(|at| results.axes.get(at).zip(point.values.get(at)));
        let at = axis.and_then(|(axis, value)| axis.values.iter().position(|known| known == value));
        let at = at.unwrap_or_default();
        numbers.as_ref().and_then(|numbers| numbers.get(at).copied()).unwrap_or(at as f64)
    };
    let mut groups: Vec<(String, Vec<&PointResult>)> = Vec::new();
    for point in &results.points {
        let label = label(results, point, bottom);
        match groups.iter_mut().find(|(known, _)| *known == label) {
            Some((_, points)) => points.push(point),
            None => groups.push((label, vec![point])),
        }
    }
    let alone = groups.len() == 1;
    let by_cap = bottom.and_then(|at| results.axes.get(at)).is_some_and(|axis| axis.short() == "read_iops");
    let series: Vec<Series> = groups
        .into_iter()
        .map(|(label, mut points)| {
            points.sort_by(|one, other| place(one).total_cmp(&place(other)));
            let known =
                |points: &[&PointResult], figure: &dyn Fn(&PointResult) -> Option<f64>| -> Vec<(f64, f64)> {
                    points.iter().filter_map(|point| Some((place(point), figure(point)?))).collect()
                };
            let predicted = known(&points, &|point| point.predicted_s);
            Series {
                label: (!alone).then_some(label),
                marks: points.iter().filter_map(|point| mark(point, place(point))).collect(),
                line: if numbers.is_some() {
                    joined(&known(&points, &PointResult::median_s), by_cap)
                } else {
                    vec![]
                },
                predicted: if numbers.is_some() { joined(&predicted, by_cap) } else { predicted },
            }
        })
        .collect();
    let highest = series.iter().flat_map(highest).fold(0.0, f64::max);
    Chart {
        title: title(design),
        subtitles: subtitles(design, results),
        across,
        up: ValueAxis::counts(highest),
        series,
        footer: footer(design, results),
    }
}

fn highest(series: &Series) -> impl Iterator<Item = f64> {
    let runs = series.marks.iter().flat_map(|mark| mark.runs.iter().copied());
    runs.chain(series.predicted.iter().map(|(_, seconds)| *seconds))
}

fn mark(point: &PointResult, across: f64) -> Option<Mark> {
    Some(Mark {
        across,
        median: point.median_s()?,
        interval: point.interval().map(|interval| (interval.low, interval.high)),
        runs: point.hangs_s.clone(),
    })
}

/// A line through the points; between caps, the reads there are divided by the cap between.
fn joined(known: &[(f64, f64)], by_cap: bool) -> Vec<(f64, f64)> {
    let mut line: Vec<(f64, f64)> = known.first().copied().into_iter().collect();
    for (from, to) in known.iter().zip(known.iter().skip(1)) {
        for step in 1..=STEPS {
            let share = f64::from(step) / f64::from(STEPS);
            let at = from.0 + (to.0 - from.0) * share;
            let between = |a: f64, b: f64| a + (b - a) * share;
            let seconds = if by_cap && at > 0.0 {
                between(from.1 * from.0, to.1 * to.0) / at
            } else {
                between(from.1, to.1)
            };
            line.push((at, seconds));
        }
    }
    line
}

/// What a point has in common with its series: its values of the other axes.
fn label(results: &Results, point: &PointResult, bottom: Option<usize>) -> String {
    let words: Vec<String> = results
        .axes
        .iter()
        .zip(&point.values)
        .enumerate()
        .filter(|(at, (axis, _))| Some(*at) != bottom && axis.values.len() > 1)
        .map(|(_, (axis, value))| format!("{}={value}", axis.short()))
        .collect();
    words.join(", ")
}

/// White to both sides of the outermost points, as a share of what is between them.
const MARGIN: f64 = 0.12;

fn across(axis: Option<&Axis>, numbers: Option<&[f64]>) -> Across {
    let title = axis.map(|axis| axis.key.clone()).unwrap_or_default();
    let labels = axis.map(|axis| axis.values.as_slice()).unwrap_or_default();
    let places: Vec<f64> =
        numbers.map_or_else(|| (0..labels.len()).map(|at| at as f64).collect(), <[f64]>::to_vec);
    let ends = places
        .iter()
        .copied()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |ends, at| (ends.0.min(at), ends.1.max(at)));
    let (low, high) = if ends.0 <= ends.1 { ends } else { (0.0, 0.0) };
    let margin = if high > low { (high - low) * MARGIN } else { 1.0 };
    let tick = |(at, label): (&f64, &String)| Tick { at: *at, label: label.clone() };
    Across {
        from: low - margin,
        to: high + margin,
        ticks: places.iter().zip(labels).map(tick).collect(),
        title,
    }
}

fn title(design: &Design) -> String {
    format!(
        "{}: length of the hang at {} points, {} runs each",
        design.profile_name,
        design.size(),
        design.repeat
    )
}

fn subtitles(design: &Design, results: &Results) -> Vec<String> {
    let fixed: Vec<String> = results
        .axes
        .iter()
        .filter(|axis| axis.values.len() == 1)
        .map(|axis| format!("{}={}", axis.short(), axis.values.concat()))
        .collect();
    let mut lines = vec![format!("profile {}: {}", design.profile_name, design.profile.description)];
    if !fixed.is_empty() {
        lines.push(fixed.join(", "));
    }
    if !design.capped {
        lines.push("UNCAPPED: the disks had no limit".to_owned());
    }
    lines
}

fn footer(design: &Design, results: &Results) -> Vec<String> {
    let mut confidences: Vec<f64> =
        results.points.iter().filter_map(|point| Some(point.interval()?.confidence)).collect();
    confidences.sort_by(f64::total_cmp);
    let bars = match (confidences.first(), confidences.last()) {
        (Some(least), Some(most)) if human::percent(*least) == human::percent(*most) => {
            format!("bars: {} confidence interval of the median, by order statistics", human::percent(*least))
        }
        (Some(least), Some(most)) => format!(
            "bars: {} to {} confidence intervals of the median, by order statistics",
            human::percent(*least),
            human::percent(*most)
        ),
        _ => "no bars: one run a point".to_owned(),
    };
    let revision = design.git_revision.as_ref().map(|revision| format!(" ({revision})")).unwrap_or_default();
    vec![
        format!("Small squares: runs; large: medians; {bars}. Dashed: predicted, reads by the WAL / cap."),
        format!("stall-lab {}{revision}, begun {}, seed {}", design.lab_version, design.started, design.seed),
    ]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::sweep::Record;
    use crate::sweep::testing::{design, finished};

    fn chart(axes: &[&str], records: &[Record]) -> Chart {
        let design = design(axes, 3);
        of(&design, &Results::of(&design, records))
    }

    fn records() -> Vec<Record> {
        let of = |point, cap: u64, hangs: [f64; 3]| {
            (1..).zip(hangs).map(move |(repeat, hang_s)| Record {
                read_iops_cap: Some(cap),
                predicted_hang_s: Some(17_600.0 / cap as f64),
                ..finished(repeat, point, hang_s)
            })
        };
        of(0, 400, [44.0, 45.0, 43.0]).chain(of(2, 100, [170.0, 180.0, 176.0])).collect()
    }

    #[test]
    fn a_number_goes_along_the_bottom_and_every_other_value_is_a_series() {
        let chart = chart(&["standby.read_iops=400,100", "prefetch=try,off"], &records());
        let [prefetching, other] = chart.series.as_slice() else { panic!("{chart:?}") };
        assert_eq!(prefetching.label.as_deref(), Some("prefetch=try"));
        let marks: Vec<_> = prefetching.marks.iter().map(|mark| (mark.across, mark.median)).collect();
        assert_eq!(marks, [(100.0, 176.0), (400.0, 44.0)], "left to right");
        assert_eq!(prefetching.marks[0].interval, Some((170.0, 180.0)));
        assert!(other.marks.is_empty() && other.predicted.is_empty(), "nothing was run there");
        assert!(chart.footer[0].contains("75 % confidence interval"), "{:?}", chart.footer);
        assert_eq!(chart.across.title, "standby.read_iops");
    }

    #[test]
    fn between_caps_the_prediction_is_the_reads_divided_by_the_cap() {
        let chart = chart(&["standby.read_iops=400,100", "prefetch=try,off"], &records());
        for (cap, seconds) in &chart.series[0].predicted {
            assert!((cap * seconds - 17_600.0).abs() < 1e-6, "{cap} {seconds}");
        }
        assert!(chart.series[0].predicted.len() > 20);
        // The line through the medians is of the same kind, and ends in them.
        let line = &chart.series[0].line;
        assert_eq!((line.first(), line.last()), (Some(&(100.0, 176.0)), Some(&(400.0, 44.0))));
        assert!(line.iter().all(|(cap, seconds)| (cap * seconds - 17_600.0).abs() < 1e-6), "{line:?}");
    }

    #[test]
    fn words_stand_side_by_side_and_one_series_needs_no_name() {
        let chart = chart(&["prefetch=try,off"], &[finished(1, 0, 80.0), finished(1, 1, 1.0)]);
        let [series] = chart.series.as_slice() else { panic!("{chart:?}") };
        assert_eq!((series.label.as_ref(), series.line.len(), series.marks.len()), (None, 0, 2));
        assert_eq!(series.marks[0].interval, None);
        let ticks: Vec<_> = chart.across.ticks.iter().map(|tick| (tick.at, tick.label.as_str())).collect();
        assert_eq!(ticks, [(0.0, "try"), (1.0, "off")]);
        assert!(chart.footer[0].contains("no bars"));
    }
}
