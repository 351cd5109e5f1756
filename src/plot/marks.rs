//! What the events say: the origin of time, the phases, the moments and the hang.

use jiff::Timestamp;

use super::Recorded;
use super::scene::{Mark, PhaseSpan, Span, Stroke};
use super::style::Ink;
use super::time::{Origin, duration};
use crate::profile::{Course, FaultKind};
use crate::store::{Event, EventKind, Phase, Verdict};

/// What the picture's time is counted from, and when that was on the run's clock, seconds.
#[must_use]
pub fn origin(run: &Recorded<'_>) -> (Origin, f64) {
    let is_observed = run.run.observed().is_some();
    let stalled =
        || run.summary.hang_start_s.filter(|_| is_observed && run.summary.verdict == Verdict::Stalled);
    match fault(run.events) {
        Some(mark) if is_observed => (Origin::Mark, mark.t_s),
        Some(fault) => (Origin::Fault, fault.t_s),
        None => stalled().map_or((Origin::Start, 0.0), |start_s| (Origin::Hang, start_s)),
    }
}

fn fault(events: &[Event]) -> Option<&Event> {
    events.iter().find(|event| event.kind == EventKind::Fault && event.t_s.is_finite())
}

/// The first and the last moment of the run, seconds from the origin.
#[must_use]
pub fn extent(run: &Recorded<'_>) -> (f64, f64) {
    let (_, origin) = origin(run);
    let rows = run.timeline.rows.iter().map(|row| row.t_s);
    let events = run.events.iter().map(|event| event.t_s);
    rows.chain(events)
        .filter(|t| t.is_finite())
        .map(|t| t - origin)
        .fold(None, |extent: Option<(f64, f64)>, t| {
            Some(extent.map_or((t, t), |(from, to)| (from.min(t), to.max(t))))
        })
        .unwrap_or((0.0, 0.0))
}

/// The phases, each until the next.
#[must_use]
pub fn phases(run: &Recorded<'_>) -> Vec<PhaseSpan> {
    let (_, origin) = origin(run);
    let (_, end) = extent(run);
    let starts: Vec<(Phase, f64)> = run
        .events
        .iter()
        .filter(|event| event.kind == EventKind::Phase && event.t_s.is_finite())
        .filter_map(|event| Some((Phase::parse(&event.detail)?, event.t_s - origin)))
        .collect();
    let ends = starts.iter().skip(1).map(|(_, from)| *from).chain([end]);
    let spans = starts.iter().zip(ends);
    spans.map(|((phase, from), to)| PhaseSpan { name: phase.name(), from: *from, to }).collect()
}

/// The hang: its begin and its end (or the end of what was seen of it), seconds from the origin.
#[must_use]
pub fn hang(run: &Recorded<'_>) -> Option<(f64, f64)> {
    let (_, origin) = origin(run);
    let (start, length) = (run.summary.hang_start_s?, run.summary.hang_s?);
    (length > 0.0).then_some((start - origin, start - origin + length))
}

/// The hang's length in words; of a run that did not stall, its longest gap.
#[must_use]
pub fn hang_span(run: &Recorded<'_>, ink: Ink) -> Option<Span> {
    let (from, to) = hang(run)?;
    Some(Span { from, to, label: hang_words(run)?, ink })
}

/// `no commit for 82 s`; of a hang the run did not see the end of, at least how long it was
#[must_use]
pub fn hang_words(run: &Recorded<'_>) -> Option<String> {
    let length = duration(run.summary.hang_s.filter(|length| *length > 0.0)?);
    // Sessions that wait for no standby may go on.
    let none = if run.run.observed().is_some() { "no synchronous commit" } else { "no commit" };
    Some(match (run.summary.verdict, run.summary.hang_ended) {
        (_, Some(false)) => format!("{none} for \u{2265} {length}"),
        (Verdict::NoStall, _) => format!("longest gap {length}"),
        _ => format!("{none} for {length}"),
    })
}

/// The moments that get a line: the fault, what came back after it, and the first of what ended the run early.
#[must_use]
pub fn marks(run: &Recorded<'_>) -> Vec<Mark> {
    let (origin_kind, origin) = origin(run);
    let after = |event: &Event| {
        let since = event.t_s - origin;
        match origin_kind {
            Origin::Start => format!("at {}", duration(since)),
            _ if since < 0.0 => format!("\u{2212}{}", duration(-since)),
            _ => format!("+{}", duration(since)),
        }
    };
    let mark = |event: &Event, what: &str, stroke| Mark {
        at: event.t_s - origin,
        label: format!("{what} {}", after(event)),
        stroke,
    };
    let mut marks = Vec::new();
    if origin_kind != Origin::Start {
        let label = format!("{} {}", origin_words(run, origin_kind), clock(unix_s(run, origin)));
        marks.push(Mark { at: 0.0, label: label.trim_end().to_owned(), stroke: Stroke::Solid });
        let back = |kind| returned(run, kind, origin);
        marks.extend(back(EventKind::FaultEnded).map(|event| mark(event, ended_words(run), Stroke::Dashed)));
        marks.extend(back(EventKind::CommitsAgain).map(|event| mark(event, "commits again", Stroke::Dashed)));
        marks.extend(
            back(EventKind::StreamingAgain).map(|event| mark(event, "streaming again", Stroke::Dashed)),
        );
    }
    let ends = [
        (EventKind::Deadline, "deadline"),
        (EventKind::Interrupted, "interrupted"),
        (EventKind::Disqualified, "disqualified"),
    ];
    marks.extend(ends.into_iter().filter_map(|(kind, what)| {
        let first = run.events.iter().find(|event| event.kind == kind)?;
        Some(mark(first, what, Stroke::Dashed))
    }));
    marks.retain(|mark| mark.at.is_finite());
    marks
}

/// The event that says that something came back after the fault: streaming at the node that was broken, commits at the end
/// of the hang (a commit may end a shorter gap before it).
fn returned<'a>(run: &Recorded<'a>, kind: EventKind, origin: f64) -> Option<&'a Event> {
    let end = match (kind, run.summary.hang_start_s) {
        (EventKind::CommitsAgain, Some(start)) => start,
        _ => origin,
    };
    let here = |event: &&Event| match (kind, &event.node) {
        (EventKind::StreamingAgain, Some(node)) => node == run.faulted(),
        _ => true,
    };
    run.events.iter().filter(|event| event.kind == kind && event.t_s >= end).find(here)
}

fn origin_words(run: &Recorded<'_>, origin: Origin) -> &'static str {
    if origin == Origin::Hang {
        return "commits stop";
    }
    match run.run.fault_kind() {
        None => "marked",
        Some(FaultKind::KillWalreceiver) => "fault: walreceiver killed",
        Some(FaultKind::KillWalsender) => "fault: walsender killed",
        Some(FaultKind::RestartStandby) => "fault: standby shut down",
        Some(FaultKind::CrashStandby) => "fault: standby crashed",
        Some(FaultKind::CutNetwork) => "fault: network cut",
    }
}

fn ended_words(run: &Recorded<'_>) -> &'static str {
    match run.run.fault_kind().map(FaultKind::course) {
        None | Some(Course::Moment) => "fault over",
        Some(Course::Down) => "standby started",
        Some(Course::CutOff) => "network restored",
    }
}

/// The time of day of a moment of the run, seconds since 1970: of its event, or else of the row that is nearest.
fn unix_s(run: &Recorded<'_>, t_s: f64) -> f64 {
    let event = run.events.iter().find(|event| event.t_s == t_s).map(|event| event.unix_s);
    let rows = run.timeline.rows.iter();
    let nearest = || rows.min_by(|a, b| (a.t_s - t_s).abs().total_cmp(&(b.t_s - t_s).abs()));
    event.or_else(|| nearest().map(|row| row.unix_s + t_s - row.t_s)).unwrap_or(f64::NAN)
}

/// The time of day, to find the moment in the servers' logs.
fn clock(unix_s: f64) -> String {
    if !unix_s.is_finite() {
        return String::new();
    }
    Timestamp::from_second(unix_s.floor() as i64)
        .map(|time| time.strftime("%H:%M:%S UTC").to_string())
        .unwrap_or_default()
}
