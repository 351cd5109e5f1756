//! How long replay still needs, from how fast its lag shrinks.

use std::collections::VecDeque;

/// How far back the rate looks: long enough to average over segments and restartpoints, short enough to follow a
/// change.
const WINDOW_S: f64 = 30.0;

/// The least time the points must span before a rate is worth telling.
const LEAST_SPAN_S: f64 = 5.0;

/// Time constant with which a new rate replaces the old one, so that what is shown does not jump.
const SMOOTHING_S: f64 = 10.0;

/// What takes longer than a day is not moving: no estimate.
const LONGEST_S: f64 = 86_400.0;

/// A lag at a moment.
#[derive(Debug, Clone, Copy)]
struct Point {
    t_s: f64,
    lag_bytes: f64,
}

/// Estimates when a lag will be zero.
///
/// The rate is the Theil-Sen slope (the median of the slopes between all pairs of points) of the last 30 s, which up
/// to 29 % of outliers leave as it is, smoothed over some seconds.
#[derive(Debug, Default)]
pub struct Eta {
    points: VecDeque<Point>,
    bytes_per_s: Option<f64>,
}

impl Eta {
    /// Adds the lag in bytes at `t_s` seconds. Times must grow; what comes out of order is passed over.
    pub fn observe(&mut self, t_s: f64, lag_bytes: f64) {
        let since_last = self.points.back().map(|last| t_s - last.t_s);
        if since_last.is_some_and(|s| s <= 0.0) {
            return;
        }
        self.points.push_back(Point { t_s, lag_bytes });
        self.points.retain(|point| t_s - point.t_s <= WINDOW_S);
        self.bytes_per_s = match (self.bytes_per_s, self.shrinking()) {
            (Some(old), Some(new)) => {
                let weight = 1.0 - (-since_last.unwrap_or(0.0) / SMOOTHING_S).exp();
                Some(old + (new - old) * weight)
            }
            (_, new) => new,
        };
    }

    /// Seconds from `t_s` until the lag is zero; none while the rate is unknown, when the lag does not shrink, and
    /// when the last lag seen is older than the window.
    #[must_use]
    pub fn left_s(&self, t_s: f64) -> Option<f64> {
        let last = self.points.back().filter(|last| t_s - last.t_s <= WINDOW_S)?;
        let end_s = last.t_s + last.lag_bytes / self.bytes_per_s?;
        Some((end_s - t_s).max(0.0)).filter(|left| *left <= LONGEST_S)
    }

    /// Bytes a second by which the lag shrinks over the window; none if it does not or too little was seen.
    fn shrinking(&self) -> Option<f64> {
        let span_s = self.points.back()?.t_s - self.points.front()?.t_s;
        if span_s < LEAST_SPAN_S {
            return None;
        }
        let mut slopes: Vec<f64> = self
            .points
            .iter()
            .enumerate()
            .flat_map(|(n, from)| self.points.iter().skip(n + 1).map(|to| slope(*from, *to)))
            .collect();
        let middle = slopes.len() / 2;
        let (_, median, _) = slopes.select_nth_unstable_by(middle, f64::total_cmp);
        Some(-*median).filter(|rate| *rate > 0.0)
    }
}

/// Bytes a second from one point to a later one.
fn slope(from: Point, to: Point) -> f64 {
    (to.lag_bytes - from.lag_bytes) / (to.t_s - from.t_s)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// `(t_s, lag_bytes)` a second, with this rate.
    fn fed(seconds: u32, lag_bytes: impl Fn(f64) -> f64) -> Eta {
        let mut eta = Eta::default();
        for t_s in (0..=seconds).map(f64::from) {
            eta.observe(t_s, lag_bytes(t_s));
        }
        eta
    }

    fn close(left: Option<f64>, expected: f64) -> bool {
        left.is_some_and(|left| (left - expected).abs() < 0.5)
    }

    #[test]
    fn a_steady_rate_gives_the_exact_time() {
        let eta = fed(40, |t_s| 1e9 - 1e7 * t_s);
        assert!(close(eta.left_s(40.0), 60.0));
    }

    #[test]
    fn between_lags_the_time_left_goes_on_shrinking_and_is_never_negative() {
        let eta = fed(40, |t_s| 1e9 - 1e7 * t_s);
        assert!(close(eta.left_s(45.0), 55.0));
        let eta = fed(40, |t_s| 4.1e8 - 1e7 * t_s);
        assert_eq!(eta.left_s(50.0), Some(0.0));
    }

    #[test]
    fn too_few_seconds_give_no_estimate() {
        assert_eq!(Eta::default().left_s(0.0), None);
        assert_eq!(fed(4, |t_s| 1e9 - t_s).left_s(4.0), None);
        assert!(fed(5, |t_s| 1e9 - 1e7 * t_s).left_s(5.0).is_some());
    }

    #[test]
    fn a_lag_that_stands_or_grows_gives_no_estimate() {
        assert_eq!(fed(40, |_| 1e9).left_s(40.0), None);
        assert_eq!(fed(40, |t_s| 1e9 + t_s).left_s(40.0), None);
    }

    #[test]
    fn a_rate_that_would_take_more_than_a_day_gives_no_estimate() {
        assert_eq!(fed(40, |t_s| 1e9 - 1e3 * t_s).left_s(40.0), None);
    }

    #[test]
    fn a_lag_that_has_stopped_shrinking_takes_the_estimate_with_it() {
        let eta = fed(80, |t_s| 1e9 - 1e7 * t_s.min(40.0));
        assert_eq!(eta.left_s(80.0), None);
    }

    #[test]
    fn an_old_lag_gives_no_estimate() {
        let eta = fed(40, |t_s| 1e9 - 1e7 * t_s);
        assert_eq!(eta.left_s(71.0), None);
    }

    #[test]
    fn outliers_do_not_move_the_estimate() {
        let eta = fed(40, |t_s| {
            let wild = if t_s % 7.0 == 3.0 { 5e8 } else { 0.0 };
            1e9 - 1e7 * t_s + wild
        });
        assert!(close(eta.left_s(40.0), 60.0), "{:?}", eta.left_s(40.0));
    }

    #[test]
    fn a_rate_that_halves_is_followed_without_a_jump() {
        let lag = |t_s: f64| 2e9 - 1e7 * t_s.min(50.0) - 5e6 * (t_s - 50.0).max(0.0);
        let mut eta = Eta::default();
        let mut before: Option<f64> = None;
        for t_s in (0..=150).map(f64::from) {
            eta.observe(t_s, lag(t_s));
            let left = eta.left_s(t_s);
            if let (Some(before), Some(left)) = (before, left) {
                assert!((left - before).abs() < 0.1 * before, "{before} s, then {left} s");
            }
            before = left;
        }
        assert!(close(before, 200.0), "{before:?}");
    }

    #[test]
    fn a_time_that_does_not_grow_is_passed_over() {
        let mut eta = fed(40, |t_s| 1e9 - 1e7 * t_s);
        eta.observe(40.0, 9e9);
        eta.observe(12.0, 9e9);
        assert!(close(eta.left_s(40.0), 60.0));
    }

    /// Rows of a real hang of 2,311 s: `(t_s after the kill, bytes received and not replayed, is there a walreceiver)`.
    fn capture() -> Vec<(f64, f64, bool)> {
        let text = include_str!("../../tests/captures/outage-try.replay.csv");
        text.lines()
            .skip(1)
            .map(|line| {
                let mut fields = line.split(',').map(|field| field.parse::<f64>().unwrap());
                let mut next = || fields.next().unwrap();
                let (t_s, received, replayed, walreceivers) = (next(), next(), next(), next());
                (t_s, received - replayed, walreceivers > 0.0)
            })
            .collect()
    }

    #[test]
    fn in_a_real_hang_of_38_minutes_the_estimate_is_right_and_steady() {
        let rows = capture();
        let streaming_s = rows.iter().find(|(t_s, _, walreceiver)| *t_s > 10.0 && *walreceiver).unwrap().0;
        assert_eq!(streaming_s.round(), 2_311.0);
        let (mut eta, mut end_s): (Eta, Option<f64>) = Default::default();
        for (t_s, lag_bytes, _) in rows.into_iter().take_while(|row| row.0 < streaming_s) {
            eta.observe(t_s, lag_bytes);
            let Some(left_s) = eta.left_s(t_s) else {
                assert!(t_s < 10.0, "no estimate at {t_s} s");
                continue;
            };
            let truth_s = streaming_s - t_s;
            if t_s >= 60.0 {
                let error = (left_s - truth_s).abs();
                assert!(error < 0.05 * truth_s + 3.0, "{left_s} s left at {t_s} s, in truth {truth_s} s");
                let moved = end_s.map_or(0.0, |end_s: f64| (t_s + left_s - end_s).abs());
                assert!(moved < 0.03 * truth_s + 3.0, "the end moved by {moved} s at {t_s} s");
            }
            end_s = Some(t_s + left_s);
        }
    }
}
