//! What a sound run showed.

use std::collections::BTreeMap;

use crate::human;
use crate::store::{Metric, Row, Verdict};

use super::Finding::{self, Disqualifies, Limits};
use super::case::Case;
use super::gaps::{self, Ending, Witness};
use super::hang::{self, Hang, HangReads};
use super::silence;
use super::window::Window;

/// Below this share of its cap the standby's disk was not what replay waited for.
const NEAR_CAP: f64 = 0.9;

/// The verdict as the definitions have it, and what is to be said of it.
pub(super) fn outcome(case: &Case, reads: &HangReads) -> (Verdict, Vec<Finding>) {
    match (case.hang_s(), case.long_hang()) {
        (None, _) => (Verdict::Inconclusive, nothing_seen(case).into_iter().collect()),
        (_, Some(hang)) => (Verdict::Stalled, stalled(case, hang, reads)),
        (Some(_), None) => (Verdict::NoStall, no_stall(case)),
    }
}

/// A fault after which no row tells of the load. Without a fault that is the reason.
fn nothing_seen(case: &Case) -> Option<Finding> {
    case.fault()?;
    Some(Disqualifies("no row tells what became of commits after the fault".to_owned()))
}

fn stalled(case: &Case, hang: Hang, reads: &HangReads) -> Vec<Finding> {
    [
        primary_away(case, hang),
        held_by_something_else(case, hang),
        nobody_waited(case, hang),
        not_ended(hang),
        began_before(hang),
        below_cap(case, hang, reads),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// While the primary itself does not answer, nothing is known of commits that wait. That is another outage.
fn primary_away(case: &Case, hang: Hang) -> Option<Finding> {
    let silent_s = silence::in_window(case, hang.window());
    if silent_s == 0.0 {
        return None;
    }
    let what = format!(
        "the primary did not answer for {} of the {} without a commit",
        human::seconds(silent_s),
        hang::in_words(hang)
    );
    Some(if hang.length_s() - silent_s < case.stall_after_s() {
        Disqualifies(format!("{what}: that is no stall of replay, or its length was not seen"))
    } else {
        Limits(what)
    })
}

/// How much of a hang the faulted standby was seen streaming, and seen not to. What was not seen is neither.
#[derive(Debug, Default)]
struct Seen {
    streaming_s: f64,
    away_s: f64,
}

impl Seen {
    fn of(case: &Case, hang: Hang) -> Self {
        let window = hang.window();
        let mut seen = Self::default();
        let rows = &case.timeline.rows;
        for (before, row) in rows.iter().zip(rows.iter().skip(1)) {
            let inside_s = row.t_s.min(window.to_s) - before.t_s.max(window.from_s);
            match case.streaming(row) {
                Some(true) if inside_s > 0.0 => seen.streaming_s += inside_s,
                // While the primary itself was away, no standby could stream.
                Some(false) if inside_s > 0.0 && !silence::is_silent(case, row) => seen.away_s += inside_s,
                _ => {}
            }
        }
        seen
    }
}

/// The stall is one of commits that wait because nothing streams. When the standby did stream, all but a moment, they
/// waited for something else; when that was not seen, nobody knows what they waited for.
fn held_by_something_else(case: &Case, hang: Hang) -> Option<Finding> {
    let Seen { streaming_s, away_s } = Seen::of(case, hang);
    if away_s >= case.stall_after_s() {
        return None;
    }
    let (length, faulted) = (hang::in_words(hang), case.faulted());
    let streamed_too_long = hang.length_s() - streaming_s < case.stall_after_s();
    Some(Disqualifies(if streamed_too_long {
        format!(
            "commits stood still for {length}, but {faulted} streamed for {} of it{}: something other than replay held them back",
            human::seconds(streaming_s),
            flushed(case, hang).unwrap_or_default(),
        )
    } else {
        format!(
            "commits stood still for {length}, and whether {faulted} streamed meanwhile is known of {} alone: what held them back was not seen",
            human::seconds(streaming_s + away_s),
        )
    }))
}

/// A commit that waits for a standby is told as such by the primary (`IPC/SyncRep`).
fn nobody_waited(case: &Case, hang: Hang) -> Option<Finding> {
    if case.witness != Witness::Load {
        return None;
    }
    let window = hang.window();
    let inside = |(t_s, _): &(f64, f64)| *t_s > window.from_s && *t_s <= window.to_s;
    let mut told =
        case.timeline.series(case.run.primary(), &Metric::SyncRepWaiters).filter(inside).peekable();
    told.peek()?;
    told.all(|(_, waiters)| waiters == 0.0).then(|| {
        Disqualifies(format!(
            "commits stood still for {}, and none of them was seen waiting for a synchronous standby",
            hang::in_words(hang)
        ))
    })
}

/// How far behind in flushing the standby was at the last row of the hang that tells.
fn flushed(case: &Case, hang: Hang) -> Option<String> {
    let window = hang.window();
    let behind = |row: &Row| {
        let sent = row.number(case.faulted(), &Metric::SentLsn)?;
        Some(sent - row.number(case.faulted(), &Metric::FlushLsn)?)
    };
    let last = case
        .timeline
        .rows
        .iter()
        .filter(|row| (window.from_s..=window.to_s).contains(&row.t_s))
        .filter_map(behind)
        .next_back()?;
    Some(if last > 0.0 {
        format!(", with {} sent to it and not yet flushed", human::bytes(last))
    } else {
        " and had flushed all that was sent to it".to_owned()
    })
}

fn not_ended(hang: Hang) -> Option<Finding> {
    (!hang.ended()).then(|| {
        Limits("the run ended before the hang did: its length and its reads are lower bounds".to_owned())
    })
}

fn began_before(hang: Hang) -> Option<Finding> {
    // A second that holds the fault and no commit is no gap of its own.
    (hang.before_fault_s > 1.5).then(|| {
        Limits(format!(
            "commits had stood still for {} when the fault came; only the time from the fault on is counted",
            human::seconds(hang.before_fault_s)
        ))
    })
}

fn below_cap(case: &Case, hang: Hang, reads: &HangReads) -> Option<Finding> {
    let cap = case.read_iops_cap()? as f64;
    let mean = reads.mean.filter(|mean| *mean < NEAR_CAP * cap)?;
    let waited = match waited_most_for(case, hang) {
        Some((wait, share)) => format!("was seen waiting most often for {wait} ({})", human::percent(share)),
        None => "was not seen waiting for anything".to_owned(),
    };
    Some(Limits(format!(
        "reads were below the cap in the hang: {} of {cap}/s ({}); the startup process {waited}",
        human::rate(mean),
        human::percent(mean / cap),
    )))
}

/// The wait event seen in most rows of the hang, and its share of the rows that showed one.
pub(super) fn waited_most_for<'a>(case: &Case<'a>, hang: Hang) -> Option<(&'a str, f64)> {
    let window = hang.window();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for row in &case.timeline.rows {
        if row.t_s > window.from_s
            && row.t_s <= window.to_s
            && let Some(wait) = row.text(case.faulted(), &Metric::StartupWait)
        {
            *seen.entry(wait).or_default() += 1;
        }
    }
    let all: usize = seen.values().sum();
    let (wait, times) = seen.into_iter().max_by_key(|(_, times)| *times)?;
    Some((wait, times as f64 / all as f64))
}

fn no_stall(case: &Case) -> Vec<Finding> {
    [
        watched_too_short(case),
        not_streaming(case),
        no_commits_at_the_end(case),
        not_seen(case),
        silence::unseen(case),
        silence::nobody_wrote(case),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn watched_too_short(case: &Case) -> Option<Finding> {
    let watched_s = case.end_s()? - case.judged_from_s()?;
    let needed_s = case.stall_after_s();
    let what = match case.fault() {
        Some(_) => format!("the run ended {} after the fault", human::seconds(watched_s)),
        None => format!("the record is {} long", human::seconds(watched_s)),
    };
    (watched_s < needed_s)
        .then(|| Disqualifies(format!("{what}: a stall can be told only after {}", human::seconds(needed_s))))
}

/// Until the standby streams again, the next commit may be the one that hangs.
fn not_streaming(case: &Case) -> Option<Finding> {
    let last = case.rows_after(case.judged_from_s()?).filter_map(|row| case.streaming(row)).last();
    // A standby of servers that were only watched may have gone again.
    let again = case.streaming_again().filter(|_| case.run.observed().is_none());
    let reason = match (again, last) {
        (Some(_), _) | (None, Some(true)) => return None,
        (None, Some(false)) => format!("{} did not stream again before the run ended", case.faulted()),
        (None, None) => format!("whether {} streamed again is not known", case.faulted()),
    };
    Some(Disqualifies(reason))
}

fn no_commits_at_the_end(case: &Case) -> Option<Finding> {
    let last = case.gaps.last().filter(|gap| gap.ending == Ending::RunEnded)?;
    // A load of a few transactions a second has a second without one now and then, also the last.
    (last.length_s() >= case.stall_after_s() / 2.0).then(|| {
        Disqualifies(format!(
            "no commit in the last {} of the run: whether that would have become a stall was not seen",
            human::seconds(last.length_s())
        ))
    })
}

/// A stall may lie where nobody looked.
fn not_seen(case: &Case) -> Option<Finding> {
    if case.witness != Witness::Load {
        return None;
    }
    let after = Window { from_s: case.fault()?.t_s, to_s: f64::INFINITY };
    let unseen = gaps::longest_unseen(case.timeline, case.run.primary(), after)?;
    (unseen.length_s() >= case.stall_after_s()).then(|| {
        Disqualifies(format!(
            "no commit was seen for {} from {} on, partly for want of rows or reports: a stall may lie in it",
            human::seconds(unseen.length_s()),
            human::moment(unseen.start_s)
        ))
    })
}
