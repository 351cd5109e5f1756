//! The panels of the primary: what it commits, and who waits.

use super::Recorded;
use super::axis::{ValueAxis, thousands};
use super::marks;
use super::panels::{alone, bursts, clipped_axis, drawn, highest, peak, series};
use super::scene::{Level, Panel, Shape, Told};
use super::series::Series;
use super::style::Ink;
use crate::store::{Metric, RunInfo};

/// The TPS axis ends at about this many times the offered rate, in every picture, so that pictures compare: a backlog
/// that is worked off at fifty times the rate would press the rate itself to the floor.
const TPS_CEILING: f64 = 3.0;

/// Commits, and what they are measured against.
pub fn tps(run: &Recorded<'_>, bucket: Option<f64>) -> Panel {
    match load_rate(run.run) {
        Some(rate) => offered_load(run, rate, bucket),
        None => own_load(run, bucket),
    }
}

/// The load that the lab offered.
fn offered_load(run: &Recorded<'_>, rate: f64, bucket: Option<f64>) -> Panel {
    let raw = series(run, run.run.primary(), &Metric::Tps);
    let axis = axis(&[&raw], Some(rate));
    Panel {
        title: "Primary: commits per second (TPS)".to_owned(),
        bursts: bursts(run, &raw, axis.top, Ink::Primary, &catch_up),
        axis,
        levels: vec![offered(rate)],
        notes: Vec::new(),
        spans: marks::hang_span(run, Ink::Text).into_iter().collect(),
        curves: alone(Ink::Primary, Shape::Steps, raw.thinned(bucket)),
    }
}

/// The load that servers had of their own, and the lab's writes among it.
fn own_load(run: &Recorded<'_>, bucket: Option<f64>) -> Panel {
    let all = series(run, run.run.primary(), &Metric::Tps);
    let probe = series(run, run.run.primary(), &Metric::ProbeAcknowledged);
    let axis = axis(&[&all, &probe], all.median());
    let curves = if probe.is_empty() {
        alone(Ink::Primary, Shape::Steps, all.clone().thinned(bucket))
    } else {
        drawn(vec![
            ("all that ended".to_owned(), Ink::Primary, Shape::Steps, all.clone().thinned(bucket)),
            (
                "the lab's own, acknowledged".to_owned(),
                Ink::StartupReads,
                Shape::Steps,
                probe.thinned(bucket),
            ),
        ])
    };
    Panel {
        title: "Primary: writing transactions that ended, per second".to_owned(),
        bursts: bursts(run, &all, axis.top, Ink::Primary, &peak),
        axis,
        levels: Vec::new(),
        notes: Vec::new(),
        spans: marks::hang_span(run, Ink::Text).into_iter().collect(),
        curves,
    }
}

/// Who waits for a standby.
pub fn waiters(run: &Recorded<'_>, bucket: Option<f64>) -> Panel {
    let raw = series(run, run.run.primary(), &Metric::SyncRepWaiters);
    Panel {
        title: "Primary: sessions waiting for a synchronous standby".to_owned(),
        axis: ValueAxis::counts(highest(&[&raw])),
        bursts: Vec::new(),
        levels: Vec::new(),
        notes: Vec::new(),
        spans: Vec::new(),
        curves: alone(Ink::Primary, Shape::Steps, raw.thinned(bucket)),
    }
}

/// The rate that the load was to keep, transactions a second; none where the lab offered no load.
pub fn load_rate(run: &RunInfo) -> Option<f64> {
    run.profile().map(|profile| profile.workload.rate_tps)
}

/// The axis of these rates, which are usually about `usual`.
pub fn axis(series: &[&Series], usual: Option<f64>) -> ValueAxis {
    let ceiling = usual.unwrap_or_default() * TPS_CEILING;
    clipped_axis(series, ceiling, ceiling)
}

/// pgbench works off the backlog of its rate limit as fast as it can: a burst, not a result.
pub fn catch_up(peak: f64) -> String {
    format!("catch-up: {}/s", thousands(peak))
}

/// The rate pgbench is told to keep.
pub fn offered(rate: f64) -> Level {
    Level { at: rate, label: format!("offered {rate}/s"), ink: Ink::Muted, told: Told::InTheLegend }
}
