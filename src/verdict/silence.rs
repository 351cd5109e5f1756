//! Servers that were only watched: what they did not say, and what nobody asked of them.

use crate::human;
use crate::store::{Metric, Row};

use super::Finding::{self, Disqualifies, Limits};
use super::case::Case;
use super::gaps::Witness;
use super::window::Window;

/// Seconds of the window in which the primary of servers that were only watched did not answer.
pub(super) fn in_window(case: &Case, window: Window) -> f64 {
    stretches(case, |row| is_silent(case, row))
        .into_iter()
        .map(|stretch| stretch.to_s.min(window.to_s) - stretch.from_s.max(window.from_s))
        .filter(|inside| *inside > 0.0)
        .sum()
}

/// Commits may have stood still while the primary did not answer.
pub(super) fn unseen(case: &Case) -> Option<Finding> {
    case.run.observed()?;
    let longest = longest(stretches(case, |row| is_silent(case, row)), case.judged_from_s()?)?;
    (longest >= case.stall_after_s()).then(|| {
        Disqualifies(format!(
            "the primary did not answer for {}: whether commits stood still in that time is not known",
            human::seconds(longest)
        ))
    })
}

/// A commit that nobody made did not hang. Only while the standby was away does it matter, and where there was none at
/// all.
pub(super) fn nobody_wrote(case: &Case) -> Option<Finding> {
    case.run.observed()?;
    let from_s = case.judged_from_s()?;
    if !case.rows_after(from_s).any(|row| case.stood_still(row) == Some(false)) {
        return Some(Disqualifies(
            "nobody wrote, and nobody waited: whether a commit would have hung was not seen; `--probe` writes itself"
                .to_owned(),
        ));
    }
    let quiet = |row: &Row| case.stood_still(row).is_none() && case.streaming(row) == Some(false);
    let longest = longest(stretches(case, quiet), from_s)?;
    (longest >= case.stall_after_s()).then(|| {
        Disqualifies(format!(
            "nobody wrote for {} while {} did not stream: whether a commit would have hung was not seen; `--probe` \
             writes itself",
            human::seconds(longest),
            case.faulted()
        ))
    })
}

/// Without the right to see who waits, an idle primary looks like one that hangs.
pub(super) fn waiters_hidden(case: &Case) -> Option<Finding> {
    let primary = case.run.primary();
    let known = |metric: &Metric| case.timeline.series(primary, metric).next().is_some();
    if case.witness != Witness::Server || !known(&Metric::Tps) || known(&Metric::SyncRepWaitS) {
        return None;
    }
    let what = "who waits for a standby was not to be seen (`pg_monitor` would show it): a primary to which nobody writes \
                looks the same as one that hangs"
        .to_owned();
    Some(if case.long_hang().is_some() { Disqualifies(what) } else { Limits(what) })
}

/// Is this a row without a word of the primary, where it was only watched.
pub(super) fn is_silent(case: &Case, row: &Row) -> bool {
    case.run.observed().is_some() && row.number(case.run.primary(), &Metric::WalLsn).is_none()
}

/// The stretches of rows that are so, in the order of time; each begins with the row before.
fn stretches(case: &Case, is_so: impl Fn(&Row) -> bool) -> Vec<Window> {
    let mut stretches: Vec<Window> = Vec::new();
    let mut before: Option<(&Row, bool)> = None;
    for row in &case.timeline.rows {
        let so = is_so(row);
        if so {
            match (before, stretches.last_mut()) {
                (Some((_, true)), Some(last)) => last.to_s = row.t_s,
                _ => stretches
                    .push(Window { from_s: before.map_or(row.t_s, |(before, _)| before.t_s), to_s: row.t_s }),
            }
        }
        before = Some((row, so));
    }
    stretches
}

/// The length of the longest of them, as far as it lies after this moment.
fn longest(stretches: Vec<Window>, from_s: f64) -> Option<f64> {
    stretches.into_iter().map(|stretch| stretch.to_s - stretch.from_s.max(from_s)).reduce(f64::max)
}
