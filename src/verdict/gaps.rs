//! Stretches of the run without a commit.

use crate::store::{Metric, Row, RunInfo, Timeline};

use super::window::Window;

/// What ended a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// A commit.
    Commit,
    /// The end of the timeline: the gap was at least as long as it looks.
    RunEnded,
}

/// What tells whether there were commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Witness {
    /// The load's own reports: it offers transactions all the time.
    Load,
    /// The lab's own writes on servers that it watches: some are due every second.
    Probe,
    /// The primary's counters alone, where nobody may want to write.
    Server,
}

impl Witness {
    pub(super) fn of(run: &RunInfo) -> Self {
        match run.observed() {
            None => Self::Load,
            Some(observed) if observed.probe_per_s.is_some() => Self::Probe,
            Some(_) => Self::Server,
        }
    }

    /// Did commits stand still in the time of this row. None where that is not known: the source did not answer, or
    /// nobody wrote and nobody waited.
    pub(crate) fn stood_still(self, row: &Row, primary: &str) -> Option<bool> {
        let none_of = |metric| row.number(primary, metric).map(|rate| rate == 0.0);
        match self {
            Self::Load => none_of(&Metric::Tps),
            Self::Probe => none_of(&Metric::ProbeAcknowledged),
            Self::Server => told_by_server(row, primary),
        }
    }
}

fn told_by_server(row: &Row, primary: &str) -> Option<bool> {
    let number = |metric| row.number(primary, metric);
    let nothing_ended = number(&Metric::Tps).map(|tps| tps == 0.0);
    // A role that may not see who waits.
    let Some(waited_s) = number(&Metric::SyncRepWaitS) else { return nothing_ended };
    if waited_s > 0.0 {
        // What ended meanwhile was older, or did not wait for a standby.
        return Some(true);
    }
    if number(&Metric::SyncStandbys) == Some(0.0) {
        // What ended was cancelled, rolled back or did not wait for a standby.
        return (number(&Metric::SyncRepWaiters)? > 0.0).then_some(true);
    }
    nothing_ended.filter(|is_still| !is_still)
}

/// A stretch in which there was no commit.
///
/// It starts with the first second without a commit and ends with the last one seen, so what was not seen is never
/// counted: a row without a report inside it is passed over, one at its edge does not lengthen it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Gap {
    pub start_s: f64,
    pub end_s: f64,
    pub ending: Ending,
}

impl Gap {
    pub fn length_s(&self) -> f64 {
        self.end_s - self.start_s
    }

    /// The part of the gap that lies in the window, if any does.
    pub fn within(&self, window: Window) -> Option<Self> {
        let clipped = Self {
            start_s: self.start_s.max(window.from_s),
            end_s: self.end_s.min(window.to_s),
            ending: self.ending,
        };
        (clipped.end_s > clipped.start_s).then_some(clipped)
    }
}

/// Every gap of the timeline, in the order of time.
pub(super) fn gaps(timeline: &Timeline, primary: &str, witness: Witness) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let mut open: Option<Gap> = None;
    let mut before: Option<&Row> = None;
    for row in &timeline.rows {
        match witness.stood_still(row, primary) {
            Some(false) => gaps.extend(open.take().map(|gap| Gap { ending: Ending::Commit, ..gap })),
            Some(true) => {
                open.get_or_insert(Gap {
                    start_s: start_of(row, before),
                    end_s: row.t_s,
                    ending: Ending::RunEnded,
                })
                .end_s = row.t_s;
            }
            None => {}
        }
        before = Some(row);
    }
    gaps.extend(open);
    gaps
}

/// The longest stretch in the window that may have been without a commit: that of [`gaps`], with every second that was
/// not seen taken for one without.
pub(super) fn longest_unseen(timeline: &Timeline, primary: &str, window: Window) -> Option<Gap> {
    let mut open: Option<Gap> = None;
    let mut unseen = Vec::new();
    let mut before: Option<&Row> = None;
    for row in &timeline.rows {
        let seen = row.number(primary, &Metric::Tps).is_some_and(|tps| tps > 0.0);
        let start_s = before.map_or(row.t_s, |before| before.t_s);
        let gap = open.get_or_insert(Gap { start_s, end_s: row.t_s, ending: Ending::RunEnded });
        gap.end_s = if seen { start_of(row, before) } else { row.t_s };
        if seen {
            unseen.extend(open.take().map(|gap| Gap { ending: Ending::Commit, ..gap }));
        }
        before = Some(row);
    }
    unseen.extend(open);
    longest(&unseen, window)
}

/// When the second of this row began. After missed ticks only the last of them counts as this row's: nothing is
/// known of the others.
fn start_of(row: &Row, before: Option<&Row>) -> f64 {
    before.map_or(row.t_s, |before| {
        let ticks = row.tick.saturating_sub(before.tick).max(1);
        row.t_s - (row.t_s - before.t_s) / ticks as f64
    })
}

/// The longest gap, or part of one, in the window; the earlier of equals.
pub(super) fn longest(gaps: &[Gap], window: Window) -> Option<Gap> {
    gaps.iter()
        .filter_map(|gap| gap.within(window))
        .reduce(|longest, gap| if gap.length_s() > longest.length_s() { gap } else { longest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Cell, Column, Phase};

    /// Rows a second apart, `None` for a row without a report.
    fn timeline(tps: &[Option<f64>]) -> Timeline {
        let rows = tps.iter().zip(1..).map(|(tps, tick)| Row {
            tick,
            t_s: tick as f64,
            unix_s: tick as f64,
            phase: Phase::Recovery,
            cells: tps.iter().map(|tps| (Column::new("primary", Metric::Tps), Cell::Number(*tps))).collect(),
        });
        Timeline { columns: vec![Column::new("primary", Metric::Tps)], rows: rows.collect() }
    }

    fn seen(timeline: &Timeline) -> Vec<(f64, f64, Ending)> {
        gaps(timeline, "primary", Witness::Load)
            .iter()
            .map(|gap| (gap.start_s, gap.end_s, gap.ending))
            .collect()
    }

    const FIVE: Option<f64> = Some(5.0);
    const ZERO: Option<f64> = Some(0.0);

    #[test]
    fn a_gap_runs_from_the_first_second_without_a_commit_to_the_first_commit() {
        let timeline = timeline(&[FIVE, ZERO, ZERO, FIVE, ZERO, FIVE]);
        assert_eq!(seen(&timeline), [(1.0, 3.0, Ending::Commit), (4.0, 5.0, Ending::Commit)]);
    }

    #[test]
    fn a_missing_report_inside_a_gap_does_not_end_it_and_at_its_edges_does_not_lengthen_it() {
        let timeline = timeline(&[FIVE, None, ZERO, None, ZERO, None, FIVE]);
        assert_eq!(seen(&timeline), [(2.0, 5.0, Ending::Commit)]);
    }

    #[test]
    fn missed_ticks_inside_a_gap_do_not_end_it_and_before_it_do_not_lengthen_it() {
        let mut timeline = timeline(&[FIVE, FIVE, FIVE, ZERO, ZERO, ZERO, FIVE]);
        timeline.rows.remove(4);
        timeline.rows.remove(2);
        assert_eq!(seen(&timeline), [(3.0, 6.0, Ending::Commit)]);
    }

    #[test]
    fn a_gap_at_the_end_of_the_run_was_not_seen_to_end() {
        let timeline = timeline(&[FIVE, ZERO, ZERO]);
        assert_eq!(seen(&timeline), [(1.0, 3.0, Ending::RunEnded)]);
    }

    #[test]
    fn no_row_has_no_gap_and_a_first_row_has_no_length() {
        assert_eq!(seen(&timeline(&[])), []);
        assert_eq!(seen(&timeline(&[ZERO, ZERO, FIVE])), [(1.0, 2.0, Ending::Commit)]);
    }

    #[test]
    fn the_longest_gap_is_measured_inside_the_window() {
        let gap = |start_s, end_s| Gap { start_s, end_s, ending: Ending::Commit };
        let gaps = [gap(0.0, 12.0), gap(13.0, 16.0), gap(20.0, 23.0)];
        let window = |from_s, to_s| Window { from_s, to_s };
        assert_eq!(longest(&gaps, window(10.0, 30.0)), Some(gap(13.0, 16.0)));
        assert_eq!(longest(&gaps, window(8.0, 30.0)), Some(gap(8.0, 12.0)));
        assert_eq!(longest(&gaps, window(16.0, 20.0)), None);
    }
}
