//! The hang, and what the faulted standby's disk did in it.

use crate::human;
use crate::store::Metric;

use super::Finding;
use super::case::Case;
use super::gaps::{self, Ending, Gap};
use super::window::{Edges, Lost, Window};

/// The longest stretch after the fault without a commit.
///
/// A gap that began before the fault counts from the fault on. The second in which the fault falls may hold commits
/// from before it; then the hang begins with the next.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hang {
    gap: Gap,
    /// How long commits had stood still when the fault came, seconds.
    pub before_fault_s: f64,
}

impl Hang {
    pub fn longest_after(gaps: &[Gap], fault_s: f64) -> Option<Self> {
        let after = Window { from_s: fault_s, to_s: f64::INFINITY };
        let gap = gaps::longest(gaps, after)?;
        let whole = gaps.iter().find(|whole| whole.end_s == gap.end_s).unwrap_or(&gap);
        Some(Self { gap, before_fault_s: gap.start_s - whole.start_s })
    }

    pub fn window(&self) -> Window {
        Window { from_s: self.gap.start_s, to_s: self.gap.end_s }
    }

    pub fn length_s(&self) -> f64 {
        self.gap.length_s()
    }

    pub fn ended(&self) -> bool {
        self.gap.ending == Ending::Commit
    }
}

/// The reads of the faulted standby's disk, from the rows wholly inside the hang.
#[derive(Debug, Default)]
pub(super) struct HangReads {
    pub mean: Option<f64>,
    pub median: Option<f64>,
    pub peak: Option<f64>,
    pub reads: Option<u64>,
    pub bytes: Option<u64>,
    lost: Option<Lost>,
}

impl HangReads {
    pub fn of(case: &Case) -> Self {
        let Some(hang) = case.hang() else {
            return Self::default();
        };
        let counter = |metric| case.counter(case.faulted(), metric);
        let reads = counter(&Metric::ReadsTotal);
        // A server that is down reads nothing: its reads are those from its start on.
        let started_s = case.restart().map_or(f64::NEG_INFINITY, |restart| restart.to_s);
        let window = Window { from_s: hang.window().from_s.max(started_s), ..hang.window() };
        let growth = match reads.growth(window, Edges::Inside) {
            Ok(growth) => growth,
            Err(lost) => {
                return Self::of_rates(told_rates(case, window), lost);
            }
        };
        let mut rates = told_rates(case, window);
        if rates.is_empty() {
            rates = reads.rates(window);
            rates.sort_by(f64::total_cmp);
        }
        let bytes = counter(&Metric::ReadBytesTotal).growth(window, Edges::Inside);
        Self {
            mean: Some(growth.amount / growth.seconds),
            median: median(&rates),
            peak: rates.last().copied(),
            reads: Some(growth.whole()),
            bytes: bytes.ok().map(|growth| growth.whole()),
            lost: None,
        }
    }

    /// Where only rates are known, as of a disk that tells of nothing else.
    fn of_rates(rates: Vec<f64>, lost: Lost) -> Self {
        if rates.is_empty() || lost != Lost::Absent {
            return Self { lost: Some(lost), ..Self::default() };
        }
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        Self { mean: Some(mean), median: median(&rates), peak: rates.last().copied(), ..Self::default() }
    }

    /// Mean size of a read.
    pub fn bytes_mean(&self) -> Option<f64> {
        let reads = self.reads.filter(|reads| *reads > 0)?;
        Some(self.bytes? as f64 / reads as f64)
    }

    /// Why the reads are not known. A hang too short to be a stall may lie between two rows: no reason is owed.
    pub fn findings(&self, case: &Case) -> Option<Finding> {
        let lost = self.lost.filter(|_| case.long_hang().is_some())?;
        // Nobody has to say how to ask for the reads of servers that are only watched.
        if lost == Lost::Absent && case.run.observed().is_some() {
            return None;
        }
        Some(Finding::Limits(format!(
            "the reads of {} in the hang are not known: {} {lost}",
            case.faulted(),
            Metric::ReadsTotal.name(),
        )))
    }
}

/// The rates of the rows in the window, the lowest first. They are over the time between the answers; `t_s` is that of
/// the questions.
fn told_rates(case: &Case, window: Window) -> Vec<f64> {
    let inside = |(t_s, _): &(f64, f64)| *t_s > window.from_s + 0.5 && *t_s <= window.to_s;
    let told = case.timeline.series(case.faulted(), &Metric::ReadIops).filter(inside);
    let mut rates: Vec<f64> = told.map(|(_, rate)| rate).collect();
    rates.sort_by(f64::total_cmp);
    rates
}

/// The middle of sorted values; of an even number, the mean of the middle two.
fn median(sorted: &[f64]) -> Option<f64> {
    let upper = sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(*upper);
    }
    let lower = sorted.get(sorted.len() / 2 - 1)?;
    Some(f64::midpoint(*lower, *upper))
}

/// "82 s", or "at least 82 s" for a hang that the run did not see the end of.
pub(super) fn in_words(hang: Hang) -> String {
    let length = human::seconds(hang.length_s());
    if hang.ended() { length } else { format!("at least {length}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[1.0, 2.0, 4.0, 90.0]), Some(3.0));
    }
}
