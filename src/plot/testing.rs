//! Runs to draw in tests: the recorded outage, and short ones made up after the mechanism.
#![allow(clippy::unwrap_used, reason = "only in tests")]

use std::collections::HashMap;

use super::Recorded;
use crate::profile::Standby;
use crate::store::{
    Cell, Column, Event, EventKind, Metric, NodeInfo, Phase, Role, Row, RunFolder, RunInfo, Summary,
    Timeline, Verdict,
};

/// The files of a run, to be changed by a test.
#[derive(Debug, Clone)]
pub struct Files {
    pub run: RunInfo,
    pub timeline: Timeline,
    pub events: Vec<Event>,
    pub summary: Summary,
}

impl Files {
    pub fn recorded(&self) -> Recorded<'_> {
        Recorded { run: &self.run, timeline: &self.timeline, events: &self.events, summary: &self.summary }
    }

    /// Takes away the standby's cap, and what is known of it.
    pub fn uncap(&mut self) {
        self.run.capped = Some(false);
        for node in &mut self.run.nodes {
            node.read_iops_cap = None;
        }
    }
}

/// The outage at scale 640, recorded by hand: 2,493 rows.
pub fn outage() -> Files {
    let folder = RunFolder::at(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/outage-try"));
    Files {
        run: folder.run().unwrap(),
        timeline: folder.timeline().unwrap(),
        events: folder.events().unwrap(),
        summary: Summary {
            hang_s: Some(2309.0),
            hang_ended: Some(true),
            hang_start_s: Some(178.874),
            lag_at_fault_bytes: Some(10_017_020_232),
            ..summary(Verdict::Stalled)
        },
    }
}

/// A summary that knows nothing but the verdict.
pub fn summary(verdict: Verdict) -> Summary {
    Summary {
        verdict,
        reasons: Vec::new(),
        standby: None,
        hang_wait: None,
        probe: None,
        hang_s: None,
        hang_ended: None,
        hang_start_s: None,
        longest_gap_before_fault_s: None,
        time_to_streaming_s: None,
        read_iops_cap: None,
        hang_read_iops_mean: None,
        hang_read_iops_median: None,
        hang_read_iops_peak: None,
        hang_reads: None,
        hang_read_bytes: None,
        hang_read_bytes_mean: None,
        prefetched_blocks: None,
        prefetched_share: None,
        startup_reads: None,
        lag_at_fault_bytes: None,
        update_executed_s: None,
        update_s: None,
        update_wal_bytes: None,
        nodes: Vec::new(),
        amplification: None,
        rows: 0,
        missed_ticks: 0,
    }
}

/// A timeline of one column, the first row at second 1.
pub fn timeline_of(node: &str, metric: &Metric, values: &[Option<f64>]) -> Timeline {
    let column = Column::new(node, metric.clone());
    let row = |(tick, value): (u64, &Option<f64>)| Row {
        tick,
        t_s: tick as f64,
        unix_s: tick as f64,
        phase: Phase::Baseline,
        cells: value.iter().map(|value| (column.clone(), Cell::Number(*value))).collect(),
    };
    Timeline { columns: vec![column.clone()], rows: (1..).zip(values).map(row).collect() }
}

/// The course of a made-up run, in seconds of its clock.
#[derive(Debug, Clone, Copy)]
pub struct Course {
    pub update: f64,
    pub flush: f64,
    pub fault: f64,
    pub back: f64,
    pub end: f64,
}

/// A minute: baseline 10 s, update 8 s, fault at 21 s, a hang of 25 s.
pub const MINUTE: Course = Course { update: 10.0, flush: 18.0, fault: 21.0, back: 46.0, end: 60.0 };
/// The `quick` profile: about three minutes, a hang of 88 s.
pub const QUICK: Course = Course { update: 30.0, flush: 45.0, fault: 50.0, back: 138.0, end: 170.0 };

/// A made-up run of this course with these standbys, the first of them broken; capped at 200 reads a second.
pub fn made_up(course: Course, standbys: &[&str]) -> Files {
    let mut run = outage().run;
    run.profile_name = "quick".to_owned();
    run.profile_mut().workload.scale = 20;
    name_standbys(&mut run, standbys);
    let rows = (1..=course.end as u64).map(|tick| row(tick, course, standbys)).collect();
    Files {
        run,
        timeline: Timeline { columns: Vec::new(), rows },
        events: events(course, standbys),
        summary: Summary {
            hang_s: Some(course.back - course.fault),
            hang_ended: Some(true),
            hang_start_s: Some(course.fault),
            lag_at_fault_bytes: Some(
                (300e6 * (course.back - course.fault) / (course.back - course.update)) as u64,
            ),
            ..summary(Verdict::Stalled)
        },
    }
}

/// The other arm of the same run: no prefetching, no reads, no hang.
pub fn made_up_off(course: Course) -> Files {
    let mut files =
        made_up(Course { back: course.fault + 1.0, end: course.fault + 20.0, ..course }, &["standby"]);
    files.run.arm = "off".to_owned();
    for row in &mut files.timeline.rows {
        for (column, cell) in &mut row.cells {
            if matches!(column.metric, Metric::LagBytes | Metric::RecoveryPrefetch(_))
                || (column.node == "standby" && column.metric == Metric::ReadIops)
            {
                *cell = Cell::Number(0.0);
            }
        }
    }
    files.summary = Summary {
        hang_s: Some(1.0),
        hang_ended: Some(true),
        hang_start_s: Some(course.fault),
        lag_at_fault_bytes: Some(0),
        ..summary(Verdict::NoStall)
    };
    files
}

fn name_standbys(run: &mut RunInfo, names: &[&str]) {
    let machine = run.profile_mut().primary.clone();
    run.nodes.retain(|node| node.role == Role::Primary);
    let primary = run.nodes.first().unwrap().clone();
    run.nodes.extend(names.iter().map(|name| NodeInfo {
        name: (*name).to_owned(),
        role: Role::Standby,
        read_iops_cap: Some(200),
        ..primary.clone()
    }));
    run.profile_mut().standby = names
        .iter()
        .map(|name| Standby {
            name: (*name).to_owned(),
            machine: machine.clone(),
            settings: HashMap::new().into_iter().collect(),
        })
        .collect();
    run.profile_mut().fault.node = names.first().unwrap_or(&"standby").to_string();
}

/// What the mechanism gives at a second of the course: reads at the cap from the update on, commits never while the
/// receiver is gone, twenty times the rate for a few seconds after it.
fn row(tick: u64, course: Course, standbys: &[&str]) -> Row {
    let t = tick as f64;
    let hangs = t > course.fault && t <= course.back;
    let tps = match t - course.back {
        _ if hangs => 0.0,
        after if after > 0.0 && after <= 2.0 => 180.0,
        _ => 3.0 + (tick * 7 % 5) as f64,
    };
    let replaying = t > course.update && t <= course.back;
    let progress = ((t - course.update) / (course.back - course.update)).clamp(0.0, 1.0);
    let written = ((t - course.update) / (course.flush - course.update)).clamp(0.0, 1.0) * 300e6;
    let mut cells = vec![
        ("primary", Metric::Tps, tps),
        ("primary", Metric::ReadIops, if t > course.update && t <= course.flush { 60.0 } else { 1.0 }),
    ];
    for name in standbys {
        let received = written.min(40e6 * (t - course.update).max(0.0));
        let replayed = (300e6 * progress).min(received);
        cells.extend([
            (*name, Metric::ReadIops, if replaying { 195.0 + (tick * 3 % 11) as f64 } else { 2.0 }),
            (*name, Metric::ReadsTotal, 500.0 + 200.0 * progress * (course.back - course.update)),
            (*name, Metric::LagBytes, written - replayed),
            (*name, Metric::ReceiveLsn, received),
            (*name, Metric::ReplayLsn, replayed),
            (*name, Metric::prefetched(), 230.0 * progress * (course.back - course.update)),
            (*name, Metric::StartupReadsTotal, 40.0 + progress * 30.0),
        ]);
    }
    let phase = if hangs { Phase::Recovery } else { Phase::Baseline };
    let cells =
        cells.into_iter().map(|(node, metric, value)| (Column::new(node, metric), Cell::Number(value)));
    Row { tick, t_s: t, unix_s: 1_796_061_000.0 + t, phase, cells: cells.collect() }
}

fn events(course: Course, standbys: &[&str]) -> Vec<Event> {
    let event = |t_s, kind, detail: &str| Event {
        t_s,
        unix_s: 1_796_061_000.0 + t_s,
        kind,
        node: standbys.first().map(|name| (*name).to_owned()),
        lsn: None,
        detail: detail.to_owned(),
    };
    vec![
        event(0.0, EventKind::Phase, "baseline"),
        event(course.update, EventKind::Phase, "update"),
        event(course.flush, EventKind::Phase, "flush"),
        event(course.fault, EventKind::Phase, "recovery"),
        event(course.fault, EventKind::Fault, "SIGTERM to the walreceiver"),
        event(course.back, EventKind::CommitsAgain, ""),
        event(course.back + 1.0, EventKind::StreamingAgain, ""),
        event(course.back + 1.0, EventKind::Phase, "tail"),
    ]
}
