//! The panels of one run.

use super::Recorded;
use super::axis::{ValueAxis, thousands};
use super::lag;
use super::load;
use super::marks;
use super::scene::{Burst, Curve, Level, Panel, Shape, Told};
use super::series::Series;
use super::style::Ink;
use crate::store::{Metric, NodeInfo};

/// The axis of reads ends at this many times the cap.
pub const CAP_CEILING: f64 = 2.0;
/// Bursts closer than this share of the picture's time are one.
const BURST_APART: f64 = 0.04;

/// All panels of a run, from the top.
#[must_use]
pub fn of_run(run: &Recorded<'_>, bucket: Option<f64>) -> Vec<Panel> {
    let mut panels = vec![load::tps(run, bucket)];
    let standbys: Vec<_> = run.run.standbys().collect();
    if run.run.observed().is_some() {
        panels.push(load::waiters(run, bucket));
    }
    // Of servers that were only watched, reads are known only where the user gave a source of them.
    let is_known = |node: &NodeInfo| {
        run.run.observed().is_none() || !series(run, &node.name, &Metric::ReadIops).is_empty()
    };
    let known = standbys.iter().enumerate().filter(|(_, node)| is_known(node));
    panels.extend(known.map(|(place, node)| reads(run, node, place, bucket)));
    panels.push(lag::panel(run, &standbys, bucket));
    panels.extend(faulted(&standbys, run.faulted()).map(|(place, node)| totals(run, node, place, bucket)));
    panels
}

/// The standby the fault is for, else the first.
pub fn faulted<'a>(standbys: &[&'a NodeInfo], name: &str) -> Option<(usize, &'a NodeInfo)> {
    let place = standbys.iter().position(|node| node.name == name).unwrap_or(0);
    standbys.get(place).map(|node| (place, *node))
}

/// A series on the picture's clock.
pub fn series(run: &Recorded<'_>, node: &str, metric: &Metric) -> Series {
    let (_, origin) = marks::origin(run);
    Series::metric(run.timeline, origin, node, metric)
}

/// `peak 1,900/s`
pub fn peak(peak: f64) -> String {
    format!("peak {}/s", thousands(peak))
}

fn reads(run: &Recorded<'_>, node: &NodeInfo, place: usize, bucket: Option<f64>) -> Panel {
    let primary = run.run.nodes.iter().find(|node| node.name == run.run.primary());
    let cap = node.read_iops_cap.map(|cap| cap as f64);
    let standby = series(run, &node.name, &Metric::ReadIops);
    let beside = series(run, run.run.primary(), &Metric::ReadIops);
    let axis = match cap {
        Some(cap) => clipped_axis(&[&standby, &beside], cap, cap * CAP_CEILING),
        None => ValueAxis::counts(highest(&[&standby, &beside])),
    };
    let mut levels: Vec<_> = cap.map(|cap| cap_level(cap, "cap")).into_iter().collect();
    let primary_cap = primary.and_then(|primary| primary.read_iops_cap).map(|cap| cap as f64);
    levels.extend(
        primary_cap
            .filter(|other| Some(*other) != cap && *other < axis.top)
            .map(|other| Level { ink: Ink::Primary, ..cap_level(other, "primary's cap") }),
    );
    let mut bursts_here = Vec::new();
    for (series, ink) in [(&standby, Ink::Standby(place)), (&beside, Ink::Primary)] {
        bursts_here.extend(bursts(run, series, axis.top, ink, &peak));
    }
    Panel {
        title: format!("{}: disk reads per second", node.name),
        axis,
        bursts: bursts_here,
        levels,
        notes: Vec::new(),
        spans: Vec::new(),
        curves: drawn(vec![
            (run.run.primary().to_owned(), Ink::Primary, Shape::Steps, beside.thinned(bucket)),
            (node.name.clone(), Ink::Standby(place), Shape::Steps, standby.thinned(bucket)),
        ]),
    }
}

/// A cap as a line with its value.
pub fn cap_level(cap: f64, name: &str) -> Level {
    Level { at: cap, label: format!("{name} {}/s", thousands(cap)), ink: Ink::Text, told: Told::AtTheLine }
}

fn totals(run: &Recorded<'_>, node: &NodeInfo, place: usize, bucket: Option<f64>) -> Panel {
    let counters = [
        ("blocks prefetched", Ink::Prefetched, Metric::prefetched()),
        ("disk reads", Ink::Standby(place), Metric::ReadsTotal),
        ("the startup process's own reads", Ink::StartupReads, Metric::StartupReadsTotal),
    ];
    let counters: Vec<_> = counters
        .into_iter()
        .map(|(name, ink, metric)| (name, ink, series(run, &node.name, &metric).since_first()))
        .collect();
    let axis = ValueAxis::counts(highest(&counters.iter().map(|(_, _, series)| series).collect::<Vec<_>>()));
    let unit = if axis.unit.is_empty() { String::new() } else { format!(", {}", axis.unit) };
    Panel {
        title: format!("{}: totals since the start{unit}", node.name),
        axis,
        levels: Vec::new(),
        notes: Vec::new(),
        bursts: Vec::new(),
        spans: Vec::new(),
        curves: drawn(
            counters
                .into_iter()
                .map(|(name, ink, series)| {
                    let total = thousands(series.last().unwrap_or_default());
                    (format!("{name} {total}"), ink, Shape::Line, series.thinned(bucket))
                })
                .collect(),
        ),
    }
}

/// The curves that have something to draw.
pub fn drawn(curves: Vec<(String, Ink, Shape, Series)>) -> Vec<Curve> {
    curves
        .into_iter()
        .filter(|(_, _, _, series)| !series.is_empty())
        .map(|(label, ink, shape, series)| Curve { label: Some(label), ink, shape, series })
        .collect()
}

/// The only curve of a panel, which the panel's title names; none when there is nothing to draw.
pub fn alone(ink: Ink, shape: Shape, series: Series) -> Vec<Curve> {
    let curve = Curve { label: None, ink, shape, series };
    Vec::from_iter((!curve.series.is_empty()).then_some(curve))
}

/// The highest value of all, zero when there is none.
pub fn highest(series: &[&Series]) -> f64 {
    series.iter().filter_map(|series| series.highest()).fold(0.0, f64::max)
}

/// An axis with room for `least` and for the highest value, unless that is beyond `ceiling` by more than half; a
/// ceiling of zero is none.
pub fn clipped_axis(series: &[&Series], least: f64, ceiling: f64) -> ValueAxis {
    let highest = highest(series).max(least);
    ValueAxis::counts(if ceiling > 0.0 && highest > ceiling * 1.5 { ceiling } else { highest })
}

/// Where a series is beyond `top`: one burst for what lies close together, at its peak.
pub fn bursts(
    run: &Recorded<'_>,
    series: &Series,
    top: f64,
    ink: Ink,
    words: &dyn Fn(f64) -> String,
) -> Vec<Burst> {
    let (from, to) = marks::extent(run);
    let apart = (to - from) * BURST_APART;
    let beyond: Vec<_> = series.samples().filter(|sample| sample.high > top).collect();
    beyond
        .chunk_by(|a, b| b.to - a.to < apart)
        .filter_map(|burst| burst.iter().max_by(|a, b| a.high.total_cmp(&b.high)))
        .map(|peak| Burst { at: (peak.from + peak.to) / 2.0, label: words(peak.high), ink })
        .collect()
}
