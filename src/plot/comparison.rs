//! The scene of several arms, overlaid with their faults at the same moment.

use super::Recorded;
use super::axis::ValueAxis;
use super::load::{self, catch_up, offered};
use super::marks;
use super::panels::{CAP_CEILING, bursts, cap_level, clipped_axis, faulted, highest, peak, series};
use super::scene::{Burst, Curve, Mark, Panel, Scene, Shape, Stroke, Words};
use super::series::Series;
use super::style::Ink;
use super::time::{Origin, TimeAxis};
use super::timeline::{bucket, origin_line, reading_line, setup};
use crate::profile::Prefetch;
use crate::store::{Metric, NodeInfo};

/// The scene of several arms. An arm without a fault begins at its start.
#[must_use]
pub fn scene(arms: &[Recorded<'_>]) -> Scene {
    let (from, to) =
        arms.iter().map(marks::extent).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or((0.0, 0.0));
    let broken = arms.iter().map(|arm| marks::origin(arm).0).find(|origin| *origin != Origin::Start);
    let time = TimeAxis::new(from, to, broken.unwrap_or(Origin::Start));
    let rows = arms.iter().map(|arm| arm.timeline.rows.len()).max().unwrap_or(0);
    let bucket = bucket(&time, rows);
    let fault = Mark { at: 0.0, label: "fault".to_owned(), stroke: Stroke::Solid };
    Scene {
        title: title(arms),
        subtitles: subtitles(arms),
        legend: arms.iter().enumerate().map(legend).collect(),
        time,
        phases: Vec::new(),
        marks: broken.map(|_| fault).into_iter().collect(),
        hang: None,
        panels: vec![tps(arms, bucket), reads(arms, bucket), lag(arms, bucket), prefetched(arms, bucket)],
        footer: arms.iter().map(|arm| origin_line(arm.run)).chain([reading_line(bucket)]).collect(),
    }
}

fn title(arms: &[Recorded<'_>]) -> String {
    let mut profiles: Vec<_> = arms.iter().map(|arm| arm.run.profile_name.as_str()).collect();
    profiles.dedup();
    let mut names: Vec<_> = arms.iter().map(|arm| arm.run.arm.as_str()).collect();
    names.dedup();
    let profiles = profiles.join(" and ");
    if names.iter().all(|name| name.parse::<Prefetch>().is_ok()) {
        format!("{profiles}: recovery_prefetch {} compared", names.join(" and "))
    } else {
        // The legend names them.
        format!("{profiles}: {} arms compared", arms.len())
    }
}

/// What the arms share, or one line each where they differ.
fn subtitles(arms: &[Recorded<'_>]) -> Vec<Words> {
    let mut lines: Vec<_> = arms.iter().map(|arm| setup(arm.run)).collect();
    lines.dedup();
    lines.into_iter().map(|text| Words { text, ink: Ink::Muted }).collect()
}

fn legend((place, arm): (usize, &Recorded<'_>)) -> Words {
    let mut text = format!("{}: {}", arm.run.arm_in_words(), arm.summary.verdict);
    if let Some(words) = marks::hang_words(arm) {
        text = format!("{text}, {words}");
    }
    if arm.run.is_uncapped() {
        text = format!("{text} (UNCAPPED)");
    }
    if marks::origin(arm).0 == Origin::Start {
        text = format!("{text} (no fault: from its start)");
    }
    Words { text, ink: Ink::Arm(place) }
}

fn tps(arms: &[Recorded<'_>], bucket: Option<f64>) -> Panel {
    let raw: Vec<_> = arms.iter().map(|arm| series(arm, arm.run.primary(), &Metric::Tps)).collect();
    let mut rates: Vec<_> = arms.iter().filter_map(|arm| load::load_rate(arm.run)).collect();
    rates.dedup();
    let axis = load::axis(&raw.iter().collect::<Vec<_>>(), rates.iter().copied().reduce(f64::max));
    Panel {
        title: "Primary: commits per second (TPS)".to_owned(),
        bursts: bursts_of_arms(arms, &raw, axis.top, &catch_up),
        axis,
        levels: rates.into_iter().map(offered).collect(),
        notes: Vec::new(),
        spans: arms
            .iter()
            .enumerate()
            .filter(|(_, arm)| arm.summary.verdict == crate::store::Verdict::Stalled)
            .filter_map(|(place, arm)| marks::hang_span(arm, Ink::Arm(place)))
            .collect(),
        curves: curves(raw, Shape::Steps, bucket),
    }
}

fn reads(arms: &[Recorded<'_>], bucket: Option<f64>) -> Panel {
    let raw = per_standby(arms, &Metric::ReadIops);
    let mut caps: Vec<_> =
        arms.iter().filter_map(|arm| broken_standby(arm)?.read_iops_cap).map(|cap| cap as f64).collect();
    caps.sort_by(f64::total_cmp);
    caps.dedup();
    let all = raw.iter().collect::<Vec<_>>();
    let axis = match caps.last() {
        Some(cap) => clipped_axis(&all, *cap, cap * CAP_CEILING),
        None => ValueAxis::counts(highest(&all)),
    };
    Panel {
        title: "Standby: disk reads per second".to_owned(),
        bursts: bursts_of_arms(arms, &raw, axis.top, &peak),
        axis,
        levels: caps.into_iter().map(|cap| cap_level(cap, "cap")).collect(),
        notes: Vec::new(),
        spans: Vec::new(),
        curves: curves(raw, Shape::Steps, bucket),
    }
}

fn bursts_of_arms(
    arms: &[Recorded<'_>],
    raw: &[Series],
    top: f64,
    words: &dyn Fn(f64) -> String,
) -> Vec<Burst> {
    let arms = arms.iter().zip(raw).enumerate();
    arms.flat_map(|(place, (arm, raw))| bursts(arm, raw, top, Ink::Arm(place), words)).collect()
}

fn lag(arms: &[Recorded<'_>], bucket: Option<f64>) -> Panel {
    let raw = per_standby(arms, &Metric::LagBytes);
    let axis = ValueAxis::bytes(highest(&raw.iter().collect::<Vec<_>>()));
    plain(format!("Standby: WAL of the primary not replayed, {}", axis.unit), axis, raw, bucket)
}

fn prefetched(arms: &[Recorded<'_>], bucket: Option<f64>) -> Panel {
    let raw: Vec<_> = per_standby(arms, &Metric::prefetched()).into_iter().map(Series::since_first).collect();
    let axis = ValueAxis::counts(highest(&raw.iter().collect::<Vec<_>>()));
    let unit = if axis.unit.is_empty() { String::new() } else { format!(", {}", axis.unit) };
    plain(format!("Standby: blocks prefetched since the start{unit}"), axis, raw, bucket)
}

fn plain(title: String, axis: ValueAxis, raw: Vec<Series>, bucket: Option<f64>) -> Panel {
    Panel {
        title,
        axis,
        levels: Vec::new(),
        notes: Vec::new(),
        bursts: Vec::new(),
        spans: Vec::new(),
        curves: curves(raw, Shape::Line, bucket),
    }
}

/// A metric of the standby each arm breaks; empty for an arm without standbys.
fn per_standby(arms: &[Recorded<'_>], metric: &Metric) -> Vec<Series> {
    arms.iter()
        .map(|arm| broken_standby(arm).map(|node| series(arm, &node.name, metric)).unwrap_or_default())
        .collect()
}

fn broken_standby<'a>(arm: &Recorded<'a>) -> Option<&'a NodeInfo> {
    let standbys: Vec<_> = arm.run.standbys().collect();
    faulted(&standbys, arm.faulted()).map(|(_, node)| node)
}

fn curves(raw: Vec<Series>, shape: Shape, bucket: Option<f64>) -> Vec<Curve> {
    raw.into_iter()
        .enumerate()
        .filter(|(_, series)| !series.is_empty())
        .map(|(place, series)| Curve {
            label: None,
            ink: Ink::Arm(place),
            shape,
            series: series.thinned(bucket),
        })
        .collect()
}
