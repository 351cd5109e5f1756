//! What a sound run showed.

use std::collections::BTreeMap;

use crate::human;
use crate::store::{Metric, Row, Verdict};

use super::Finding::{self, Disqualifies, Limits};
use super::case::Case;
use super::gaps::Ending;
use super::hang::{self, Hang, HangReads};
use super::silence;

/// Below this share of its cap the standby's disk was not what replay waited for.
const NEAR_CAP: f64 = 0.9;

/// The verdict as the definitions have it, and what is to be said of it.
pub(super) fn outcome(case: &Case, reads: &HangReads) -> (Verdict, Vec<Finding>) {
    match (case.hang_s(), case.long_hang()) {
        (None, _) => (Verdict::Inconclusive, Vec::new()),
        (_, Some(hang)) => (Verdict::Stalled, stalled(case, hang, reads)),
        (Some(_), None) => (Verdict::NoStall, no_stall(case)),
    }
}

fn stalled(case: &Case, hang: Hang, reads: &HangReads) -> Vec<Finding> {
    [
        primary_away(case, hang),
        held_by_something_else(case, hang),
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

/// The stall is one of commits that wait because nothing streams. When the standby did stream, all but a moment, they
/// waited for something else.
fn held_by_something_else(case: &Case, hang: Hang) -> Option<Finding> {
    let window = hang.window();
    let mut known = false;
    let mut streaming_s = 0.0;
    let mut elsewhere_s = 0.0;
    let rows = &case.timeline.rows;
    for (before, row) in rows.iter().zip(rows.iter().skip(1)) {
        let inside = row.t_s.min(window.to_s) - before.t_s.max(window.from_s);
        if inside <= 0.0 {
            continue;
        }
        let streaming = case.streaming(row);
        known |= streaming.is_some();
        if streaming == Some(true) {
            streaming_s += inside;
        } else if silence::is_silent(case, row) {
            elsewhere_s += inside;
        }
    }
    if !known && case.run.observed().is_some() {
        return Some(Disqualifies(format!(
            "whether {} streamed in the hang is not known, so neither is what held commits back for {}",
            case.faulted(),
            hang::in_words(hang)
        )));
    }
    if !known {
        return Some(Limits(format!(
            "whether {} streamed in the hang is not known: the hang is taken for a stall by its length alone",
            case.faulted()
        )));
    }
    // While the primary itself was away, no standby could stream.
    let away_s = hang.length_s() - streaming_s - elsewhere_s;
    (away_s < case.stall_after_s()).then(|| {
        Disqualifies(format!(
            "commits stood still for {}, but {} streamed for {} of it{}: something other than replay held them back",
            hang::in_words(hang),
            case.faulted(),
            human::seconds(streaming_s),
            flushed(case, hang).unwrap_or_default(),
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
