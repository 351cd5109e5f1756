//! The panel of the lag.

use super::Recorded;
use super::axis::ValueAxis;
use super::marks;
use super::panels::{alone, drawn, highest, series};
use super::scene::{Curve, Note, Panel, Shape};
use super::series::Series;
use super::style::Ink;
use super::time::Origin;
use crate::human;
use crate::store::{Metric, NodeInfo};

/// WAL of the primary that each standby has not replayed.
pub fn panel(run: &Recorded<'_>, standbys: &[&NodeInfo], bucket: Option<f64>) -> Panel {
    let lags: Vec<_> = standbys.iter().map(|node| series(run, &node.name, &Metric::LagBytes)).collect();
    let note = lag_at_fault(run);
    let top = highest(&lags.iter().collect::<Vec<_>>()).max(note.as_ref().map_or(0.0, |note| note.value));
    let axis = ValueAxis::bytes(top);
    let curves = match (standbys, lags.as_slice()) {
        ([node], [lag]) => lag_of_one(run, node, lag, bucket),
        _ => drawn(
            standbys
                .iter()
                .zip(lags)
                .enumerate()
                .map(|(place, (node, lag))| {
                    (node.name.clone(), Ink::Standby(place), Shape::Line, lag.thinned(bucket))
                })
                .collect(),
        ),
    };
    Panel {
        title: format!("Lag: WAL of the primary not replayed, {}", axis.unit),
        axis,
        levels: Vec::new(),
        notes: note.into_iter().filter(|_| !curves.is_empty()).collect(),
        bursts: Vec::new(),
        spans: Vec::new(),
        curves,
    }
}

/// The backlog that decides how long the standby is away.
fn lag_at_fault(run: &Recorded<'_>) -> Option<Note> {
    let value = run.summary.lag_at_fault_bytes? as f64;
    let when = match marks::origin(run).0 {
        Origin::Fault => "at the fault",
        Origin::Mark => "at the mark",
        Origin::Hang => "when commits stopped",
        Origin::Start => return None,
    };
    Some(Note { at: 0.0, value, label: format!("{} {when}", human::bytes(value)) })
}

/// The lag of the only standby. What it has received and not replayed is told apart where it is visibly less.
fn lag_of_one(run: &Recorded<'_>, node: &NodeInfo, lag: &Series, bucket: Option<f64>) -> Vec<Curve> {
    let Some(received) = received(run, node).filter(|received| tells_apart(lag, received)) else {
        return alone(Ink::Standby(0), Shape::Area, lag.clone().thinned(bucket));
    };
    let received =
        ("received, not replayed".to_owned(), Ink::Standby(0), Shape::Area, received.thinned(bucket));
    let all =
        ("all that is not replayed".to_owned(), Ink::Standby(0), Shape::Line, lag.clone().thinned(bucket));
    drawn(vec![received, all])
}

/// WAL the standby has and has not replayed: what it works off without its primary.
fn received(run: &Recorded<'_>, node: &NodeInfo) -> Option<Series> {
    let (_, origin) = marks::origin(run);
    let series = Series::of(run.timeline, origin, |row| {
        let received = row.number(&node.name, &Metric::ReceiveLsn)?;
        Some((received - row.number(&node.name, &Metric::ReplayLsn)?).max(0.0))
    });
    (!series.is_empty()).then_some(series)
}

/// Is what was received ever less than the lag by enough to be seen.
fn tells_apart(lag: &Series, received: &Series) -> bool {
    let top = lag.highest().unwrap_or(0.0);
    let of = |series: &Series| series.samples().map(|sample| (sample.to, sample.mean)).collect::<Vec<_>>();
    let received = of(received);
    let mut rest = received.iter().peekable();
    of(lag).iter().any(|(at, lag)| {
        while rest.next_if(|(t, _)| t < at).is_some() {}
        rest.peek().is_some_and(|(t, received)| t == at && lag - received > top * 0.03)
    })
}
