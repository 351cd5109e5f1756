//! The axis of time, and times in words.

use super::axis::Tick;

/// What the time of a picture is counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The fault.
    Fault,
    /// What the user marked, watching servers that the lab did not build.
    Mark,
    /// The begin of the hang, where nobody said what broke.
    Hang,
    /// The start of the run's clock, when nothing was broken.
    Start,
}

/// The axis of time all panels share. Times are seconds from the origin.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeAxis {
    /// Its left end.
    pub from: f64,
    /// Its right end.
    pub to: f64,
    /// Its ticks.
    pub ticks: Vec<Tick>,
    /// What it shows, with the unit of the labels.
    pub title: String,
}

/// Steps between ticks that people count in, seconds.
const STEPS: [f64; 18] = [
    1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 10800.0,
    21600.0, 43200.0, 86400.0,
];
/// The most ticks there is room for.
const TICKS: f64 = 11.0;

impl TimeAxis {
    /// The axis from `from` to `to`, seconds from `origin`; at least a second long.
    #[must_use]
    pub fn new(from: f64, to: f64, origin: Origin) -> Self {
        let to = to.max(from + 1.0);
        let step = STEPS
            .into_iter()
            .find(|step| (to - from) / step <= TICKS)
            .unwrap_or_else(|| ((to - from) / TICKS / 86400.0).ceil() * 86400.0);
        let (unit, size) = match step {
            ..60.0 => ("seconds", 1.0),
            ..3600.0 => ("minutes", 60.0),
            _ => ("hours", 3600.0),
        };
        let ticks = ((from / step).ceil() as i64..=(to / step).floor() as i64)
            .map(|tick| tick as f64 * step)
            .map(|at| Tick { at, label: format!("{:.0}", at / size).replace('-', "\u{2212}") })
            .collect();
        let since = match origin {
            Origin::Fault => "the fault",
            Origin::Mark => "the mark",
            Origin::Hang => "commits stopped",
            Origin::Start => "the start",
        };
        Self { from, to, ticks, title: format!("{unit} since {since}") }
    }

    /// Its length in seconds.
    #[must_use]
    pub fn span(&self) -> f64 {
        self.to - self.from
    }
}

/// A length of time in words: `1.2 s`, `82 s`, `38 min 31 s`, `2 h 5 min`.
#[must_use]
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round().max(0.0) as u64;
    if seconds < 9.95 {
        return format!("{:.1} s", seconds.max(0.0)).replace(".0 s", " s");
    }
    match whole {
        ..120 => format!("{whole} s"),
        120..7200 => in_two(whole / 60, "min", whole % 60, "s"),
        _ => {
            let minutes = (whole + 30) / 60;
            in_two(minutes / 60, "h", minutes % 60, "min")
        }
    }
}

fn in_two(large: u64, large_unit: &str, small: u64, small_unit: &str) -> String {
    match small {
        0 => format!("{large} {large_unit}"),
        _ => format!("{large} {large_unit} {small} {small_unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(from: f64, to: f64) -> (Vec<String>, String) {
        let axis = TimeAxis::new(from, to, Origin::Fault);
        (axis.ticks.into_iter().map(|tick| tick.label).collect(), axis.title)
    }

    #[test]
    fn a_minute_is_ticked_in_seconds_an_hour_in_minutes_half_a_day_in_hours() {
        let (ticks, title) = labels(-20.0, 40.0);
        assert_eq!(ticks.join(" "), "\u{2212}20 \u{2212}10 0 10 20 30 40");
        assert_eq!(title, "seconds since the fault");
        let (ticks, title) = labels(-177.0, 2315.0);
        assert_eq!(ticks.join(" "), "0 5 10 15 20 25 30 35");
        assert_eq!(title, "minutes since the fault");
        let (ticks, title) = labels(0.0, 43_200.0);
        assert_eq!(ticks.join(" "), "0 2 4 6 8 10 12");
        assert_eq!(title, "hours since the fault");
    }

    #[test]
    fn an_axis_of_no_length_gets_a_second_and_one_of_a_year_stays_readable() {
        assert_eq!(TimeAxis::new(5.0, 5.0, Origin::Start).span(), 1.0);
        assert!(TimeAxis::new(0.0, 3.2e7, Origin::Start).ticks.len() <= 12);
    }

    #[test]
    fn lengths_of_time_are_in_words() {
        for (seconds, words) in [
            (0.0, "0 s"),
            (1.24, "1.2 s"),
            (9.97, "10 s"),
            (82.4, "82 s"),
            (120.0, "2 min"),
            (2311.0, "38 min 31 s"),
            (7199.7, "2 h"),
            (7500.0, "2 h 5 min"),
        ] {
            assert_eq!(duration(seconds), words);
        }
    }
}
