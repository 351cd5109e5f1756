//! How much a cumulative counter grew in a stretch of time.

use crate::human;
use crate::store::{Metric, Timeline};

/// How far from the edge of a window a value may lie and still stand for it, seconds.
const NEAR_S: f64 = 5.0;

/// A stretch of the run's clock, seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Window {
    pub from_s: f64,
    pub to_s: f64,
}

/// Which rows bound a window whose edges fall between rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edges {
    /// The rows just inside: what is counted happened in the window.
    Inside,
    /// The rows just outside, or, where there are none, just inside: everything in the window is counted.
    Around,
}

/// Where a counter is when its server has been started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// At zero, always.
    AtZero,
    /// Where it was, unless it is seen to have fallen: some are kept over an orderly shutdown.
    WhereItFell,
}

/// What a counter gained between two rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Growth {
    pub amount: f64,
    pub seconds: f64,
}

impl Growth {
    /// The amount as the whole number it is.
    pub fn whole(self) -> u64 {
        // Never negative: a counter that went backwards has no growth. The cast saturates.
        self.amount.round() as u64
    }
}

/// Why the growth of a counter is not known.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub(super) enum Lost {
    /// Nowhere in the timeline.
    #[error("was never read")]
    Absent,
    /// Read, but not near the window's edges.
    #[error("was not read near {}", human::moment(*at_s))]
    Unseen { at_s: f64 },
    /// It fell, as after a restart.
    #[error("went backwards at {}", human::moment(*at_s))]
    Backwards { at_s: f64 },
}

/// The known values of a cumulative counter, with the time of their rows, in the order of time.
#[derive(Debug)]
pub(super) struct Counter {
    points: Vec<(f64, f64)>,
}

impl Counter {
    pub fn of(timeline: &Timeline, node: &str, metric: &Metric) -> Self {
        Self { points: timeline.series(node, metric).collect() }
    }

    /// The counter as it would stand had it not started anew in the window, in which its server was started again.
    ///
    /// What was counted between the last reading before and the server's end is lost.
    pub fn across(mut self, restart: Window, start: Start) -> Self {
        let fell = self
            .steps()
            .find(|(before, after)| {
                before.0 <= restart.to_s && after.0 > restart.from_s && after.1 < before.1
            })
            .map(|(_, after)| after.0);
        let anew_s = match start {
            Start::WhereItFell => fell,
            // Higher than before at its first reading, it has started anew all the same.
            Start::AtZero => {
                fell.or_else(|| self.points.iter().map(|(t_s, _)| *t_s).find(|t_s| *t_s > restart.to_s))
            }
        };
        let Some(anew_s) = anew_s else { return self };
        let before = self.points.iter().rfind(|(t_s, _)| *t_s < anew_s).map_or(0.0, |(_, value)| *value);
        for (_, value) in self.points.iter_mut().filter(|(t_s, _)| *t_s >= anew_s) {
            *value += before;
        }
        self
    }

    /// What the counter gained in the window.
    pub fn growth(&self, window: Window, edges: Edges) -> Result<Growth, Lost> {
        if self.points.is_empty() {
            return Err(Lost::Absent);
        }
        let (from, to) = (window.from_s, window.to_s);
        let first = match edges {
            Edges::Inside => self.first_from(from),
            Edges::Around => self.last_until(from).or_else(|| self.first_from(from)),
        };
        let last = match edges {
            Edges::Inside => self.last_until(to),
            Edges::Around => self.first_from(to).or_else(|| self.last_until(to)),
        };
        let (from_s, before) = first.ok_or(Lost::Unseen { at_s: from })?;
        let (to_s, after) = last.filter(|(to_s, _)| *to_s > from_s).ok_or(Lost::Unseen { at_s: to })?;
        if let Some(at_s) = self.fall(Window { from_s, to_s }) {
            return Err(Lost::Backwards { at_s });
        }
        Ok(Growth { amount: after - before, seconds: to_s - from_s })
    }

    /// The first moment in the window at which the counter was lower than before.
    pub fn fall(&self, window: Window) -> Option<f64> {
        self.steps()
            .filter(|(before, after)| before.0 >= window.from_s && after.0 <= window.to_s)
            .find(|(before, after)| after.1 < before.1)
            .map(|(_, after)| after.0)
    }

    /// Rates a second between neighbouring rows wholly inside the window; a fall has no rate.
    pub fn rates(&self, window: Window) -> Vec<f64> {
        self.steps()
            .filter(|(before, after)| before.0 >= window.from_s && after.0 <= window.to_s)
            .filter_map(|(before, after)| rate(before, after))
            .collect()
    }

    /// The greatest mean rate over any stretch of at least `length_s` seconds that lies inside the window.
    pub fn fastest(&self, window: Window, length_s: f64) -> Option<f64> {
        let inside: Vec<_> = self
            .points
            .iter()
            .copied()
            .filter(|(t_s, _)| (window.from_s..=window.to_s).contains(t_s))
            .collect();
        let mut later = inside.iter().copied().peekable();
        inside
            .iter()
            .copied()
            .filter_map(|before| {
                while later.next_if(|after| after.0 - before.0 < length_s).is_some() {}
                later.peek().and_then(|after| rate(before, *after))
            })
            .max_by(f64::total_cmp)
    }

    fn steps(&self) -> impl Iterator<Item = ((f64, f64), (f64, f64))> {
        self.points.iter().copied().zip(self.points.iter().copied().skip(1))
    }

    fn first_from(&self, t_s: f64) -> Option<(f64, f64)> {
        let point = self.points.iter().find(|point| point.0 >= t_s)?;
        (point.0 - t_s <= NEAR_S).then_some(*point)
    }

    fn last_until(&self, t_s: f64) -> Option<(f64, f64)> {
        let point = self.points.iter().rfind(|point| point.0 <= t_s)?;
        (t_s - point.0 <= NEAR_S).then_some(*point)
    }
}

fn rate(before: (f64, f64), after: (f64, f64)) -> Option<f64> {
    let seconds = after.0 - before.0;
    (seconds > 0.0 && after.1 >= before.1).then(|| (after.1 - before.1) / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(points: &[(f64, f64)]) -> Counter {
        Counter { points: points.to_vec() }
    }

    fn window(from_s: f64, to_s: f64) -> Window {
        Window { from_s, to_s }
    }

    #[test]
    fn the_rows_inside_leave_out_what_the_rows_around_take_in() {
        let counter = counter(&[(1.0, 10.0), (2.0, 20.0), (3.0, 30.0), (4.0, 50.0)]);
        let grown = |edges| counter.growth(window(1.5, 3.5), edges);
        assert_eq!(grown(Edges::Inside), Ok(Growth { amount: 10.0, seconds: 1.0 }));
        assert_eq!(grown(Edges::Around), Ok(Growth { amount: 40.0, seconds: 3.0 }));
    }

    #[test]
    fn around_the_end_of_the_run_the_last_row_has_to_do() {
        let counter = counter(&[(1.0, 10.0), (2.0, 20.0)]);
        let grown = counter.growth(window(0.5, 2.5), Edges::Around);
        assert_eq!(grown, Ok(Growth { amount: 10.0, seconds: 1.0 }));
    }

    #[test]
    fn a_counter_not_read_near_an_edge_has_no_growth() {
        let counter = counter(&[(10.0, 1.0), (20.0, 2.0)]);
        for (window, at_s) in [(window(4.0, 20.0), 4.0), (window(10.0, 26.0), 26.0)] {
            assert_eq!(counter.growth(window, Edges::Inside), Err(Lost::Unseen { at_s }));
        }
    }

    #[test]
    fn one_row_alone_has_no_growth() {
        let grown = counter(&[(10.0, 1.0)]).growth(window(9.0, 11.0), Edges::Inside);
        assert_eq!(grown, Err(Lost::Unseen { at_s: 11.0 }));
    }

    #[test]
    fn a_counter_never_read_is_absent() {
        assert_eq!(counter(&[]).growth(window(0.0, 1.0), Edges::Around), Err(Lost::Absent));
    }

    #[test]
    fn a_counter_that_was_reset_has_no_growth_even_when_it_ends_higher() {
        let counter = counter(&[(1.0, 5.0), (2.0, 0.0), (3.0, 9.0)]);
        let grown = counter.growth(window(1.0, 3.0), Edges::Inside);
        assert_eq!(grown, Err(Lost::Backwards { at_s: 2.0 }));
        assert_eq!(counter.fall(window(2.0, 3.0)), None);
    }

    #[test]
    fn rates_use_the_true_time_between_rows() {
        let counter = counter(&[(1.0, 0.0), (2.0, 100.0), (4.0, 500.0), (5.0, 0.0)]);
        assert_eq!(counter.rates(window(1.0, 5.0)), [100.0, 200.0]);
        assert_eq!(counter.rates(window(1.5, 5.0)), [200.0]);
    }

    #[test]
    fn the_fastest_stretch_is_at_least_as_long_as_asked() {
        let counter = counter(&[(0.0, 0.0), (1.0, 900.0), (2.0, 1000.0), (3.0, 1100.0), (5.0, 1100.0)]);
        assert_eq!(counter.fastest(window(0.0, 5.0), 2.0), Some(500.0));
        assert_eq!(counter.fastest(window(1.0, 5.0), 2.0), Some(100.0));
        assert_eq!(counter.fastest(window(0.0, 5.0), 6.0), None);
    }

    #[test]
    fn a_counter_goes_on_across_a_restart_that_it_is_known_to_have_had() {
        let restart = window(2.0, 5.0);
        let points = |counter: Counter| counter.points;
        let fell = || counter(&[(1.0, 10.0), (2.5, 20.0), (6.0, 5.0), (7.0, 9.0)]);
        let joined = [(1.0, 10.0), (2.5, 20.0), (6.0, 25.0), (7.0, 29.0)];
        assert_eq!(points(fell().across(restart, Start::AtZero)), joined);
        assert_eq!(points(fell().across(restart, Start::WhereItFell)), joined);
        // Past its old value before it was read again.
        let grown = || counter(&[(1.0, 10.0), (6.0, 50.0)]);
        assert_eq!(points(grown().across(restart, Start::AtZero)), [(1.0, 10.0), (6.0, 60.0)]);
        assert_eq!(points(grown().across(restart, Start::WhereItFell)), [(1.0, 10.0), (6.0, 50.0)]);
        assert_eq!(points(counter(&[]).across(restart, Start::AtZero)), []);
    }

    #[test]
    fn a_fall_outside_the_restart_stays_one() {
        let twice = counter(&[(1.0, 10.0), (6.0, 5.0), (7.0, 6.0), (8.0, 1.0)]);
        let joined = twice.across(window(2.0, 5.0), Start::AtZero);
        assert_eq!(joined.fall(window(0.0, 9.0)), Some(8.0));
    }
}
