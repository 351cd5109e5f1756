//! The scene of one run.

use super::Recorded;
use super::axis::thousands;
use super::marks;
use super::panels;
use super::scene::{Scene, Words};
use super::style::{Ink, LEFT, RIGHT};
use super::time::TimeAxis;
use crate::store::{Observed, Platform, RunInfo, Subject, Verdict};

/// Below this many pixels a row, rows share a sample.
const PIXELS_PER_ROW: f64 = 2.0;
/// Pixels of a sample that stands for several rows.
const PIXELS_PER_SAMPLE: f64 = 3.0;

/// The scene of one run.
#[must_use]
pub fn scene(run: &Recorded<'_>) -> Scene {
    let (origin_kind, _) = marks::origin(run);
    let (from, to) = marks::extent(run);
    let time = TimeAxis::new(from, to, origin_kind);
    let bucket = bucket(&time, run.timeline.rows.len());
    Scene {
        title: title(run),
        subtitles: subtitles(run),
        legend: Vec::new(),
        phases: marks::phases(run),
        marks: marks::marks(run),
        hang: marks::hang(run),
        panels: panels::of_run(run, bucket),
        footer: vec![origin_line(run.run), reading_line(bucket)],
        time,
    }
}

/// How many seconds share a sample: none while the picture resolves every row.
pub fn bucket(time: &TimeAxis, rows: usize) -> Option<f64> {
    let width = RIGHT - LEFT;
    (rows as f64 * PIXELS_PER_ROW > width).then(|| (time.span() / (width / PIXELS_PER_SAMPLE)).ceil())
}

fn title(run: &Recorded<'_>) -> String {
    let info = run.run;
    let outcome = match (run.summary.verdict, marks::hang_words(run)) {
        (Verdict::Inconclusive, _) | (_, None) => run.summary.verdict.to_string(),
        (verdict, Some(words)) => format!("{verdict}, {words}"),
    };
    if info.observed().is_some() {
        return format!("observed servers: {outcome}");
    }
    let uncapped = if info.is_uncapped() { ", UNCAPPED" } else { "" };
    format!("{}, {}{uncapped}: {outcome}", info.profile_name, info.arm_in_words())
}

fn subtitles(run: &Recorded<'_>) -> Vec<Words> {
    let mut lines = vec![Words { text: setup(run.run), ink: Ink::Muted }];
    if run.run.is_uncapped() {
        lines.push(Words {
            text: "The disks had no limit: this run can show neither a stall nor its absence.".to_owned(),
            ink: Ink::Alarm,
        });
    }
    if run.summary.verdict == Verdict::Inconclusive {
        lines.extend(
            run.summary
                .reasons
                .iter()
                .take(1)
                .map(|reason| Words { text: format!("inconclusive: {reason}"), ink: Ink::Alarm }),
        );
    }
    lines
}

/// Server, size, load and caps.
pub fn setup(info: &RunInfo) -> String {
    let version = info.server.version.split(' ').next().unwrap_or_default();
    let mut parts = vec![format!("PostgreSQL {version}")];
    match &info.subject {
        Subject::Profile(profile) => {
            let workload = &profile.workload;
            parts.push(format!("scale {}", workload.scale));
            parts.push(format!("{} TPS offered", workload.rate_tps));
            parts.extend(caps(info));
        }
        Subject::Observed(observed) => parts.extend(watched(observed)),
    }
    parts.join(" \u{b7} ")
}

/// What is known of servers that the lab did not build.
fn watched(observed: &Observed) -> Vec<String> {
    let rule = match observed.synchronous_standby_names.as_deref() {
        None => "synchronous rule not known".to_owned(),
        Some("") => "no synchronous standby".to_owned(),
        Some(rule) => format!("synchronous: {rule}"),
    };
    let probe = observed.probe_per_s.map(|rate| format!("{rate} writes/s by the lab"));
    std::iter::once("watched, not built by the lab".to_owned()).chain([rule]).chain(probe).collect()
}

/// The caps of the standbys, once where they are all the same.
fn caps(info: &RunInfo) -> Vec<String> {
    let capped: Vec<_> =
        info.standbys().filter_map(|node| Some((node.name.as_str(), node.read_iops_cap?))).collect();
    let per_second = |cap: u64| format!("capped at {} reads/s", thousands(cap as f64));
    match capped.as_slice() {
        [(_, first), _, ..] if capped.iter().all(|(_, cap)| cap == first) => {
            vec![format!("{} standbys, each {}", capped.len(), per_second(*first))]
        }
        _ => capped.iter().map(|(name, cap)| format!("{name} {}", per_second(*cap))).collect(),
    }
}

/// The lab, the run and the machine.
pub fn origin_line(info: &RunInfo) -> String {
    let revision = info.git_revision.as_ref().map(|revision| {
        let short: String = revision.chars().take(10).collect();
        format!(" ({short})")
    });
    let platform = info.platform.as_ref().map(|platform| {
        let Platform { kernel, cgroup_version, engine, .. } = platform;
        format!(" \u{b7} kernel {kernel}, cgroup v{cgroup_version}, {engine}")
    });
    format!(
        "stall-lab {}{} \u{b7} run {}{}",
        info.lab_version,
        revision.unwrap_or_default(),
        info.run_id,
        platform.unwrap_or_default(),
    )
}

/// How the curves are to be read.
pub fn reading_line(bucket: Option<f64>) -> String {
    match bucket {
        Some(seconds) => format!(
            "Lines: mean of {seconds:.0} s; bands behind them: lowest and highest second of it. Gaps: not recorded. GB = 1,024 MB."
        ),
        None => "One value a second. Gaps: not recorded. GB = 1,024 MB.".to_owned(),
    }
}
