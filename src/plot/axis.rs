//! The axis of values: how far it goes, its ticks, its unit.

/// A labelled place on an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Where, in the units of the data.
    pub at: f64,
    /// What stands there.
    pub label: String,
}

/// An axis of values. It begins at zero, so that heights compare.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueAxis {
    /// Its end, in the units of the data.
    pub top: f64,
    /// Its ticks, from zero up.
    pub ticks: Vec<Tick>,
    /// Name of the unit the labels are in; empty for plain counts.
    pub unit: &'static str,
}

/// Room above the greatest value, so that a label fits over a line that runs there.
const HEADROOM: f64 = 1.22;
/// About as many ticks as a panel has room for.
const TICKS: f64 = 4.0;
/// Units of bytes as PostgreSQL counts them, in 1024s; labels need no more than three digits.
const BYTES: [(&str, f64); 5] = [
    ("TB", 1_099_511_627_776.0),
    ("GB", 1_073_741_824.0),
    ("MB", 1_048_576.0),
    ("kB", 1_024.0),
    ("bytes", 1.0),
];

impl ValueAxis {
    /// An axis of counts up to `highest`.
    #[must_use]
    pub fn counts(highest: f64) -> Self {
        let highest = positive(highest);
        let (unit, size) = if highest >= 1e6 { ("millions", 1e6) } else { ("", 1.0) };
        Self::new(highest, unit, size)
    }

    /// An axis of bytes up to `highest`, in the largest unit that keeps its end above one.
    #[must_use]
    pub fn bytes(highest: f64) -> Self {
        let highest = positive(highest);
        let (unit, size) = BYTES.into_iter().find(|(_, size)| highest >= *size).unwrap_or(("bytes", 1.0));
        Self::new(highest, unit, size)
    }

    fn new(highest: f64, unit: &'static str, size: f64) -> Self {
        let top = highest * HEADROOM;
        let step = round_step(top / TICKS / size).max(if size > 1.0 { 0.0 } else { 1.0 }) * size;
        let count = (top / step).floor() as u32;
        let ticks = (0..=count)
            .map(|tick| f64::from(tick) * step)
            .map(|at| Tick { at, label: label(at / size) })
            .collect();
        Self { top, ticks, unit }
    }
}

/// An axis needs a length.
fn positive(highest: f64) -> f64 {
    if highest.is_finite() { highest.max(1.0) } else { 1.0 }
}

/// The smallest of 1, 2, 5 times a power of ten that is not below `least`.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|digit| digit * power)
        .find(|step| *step >= least * 0.999)
        .unwrap_or(least)
}

fn label(value: f64) -> String {
    if (value - value.round()).abs() < 1e-6 {
        thousands(value)
    } else {
        let text = format!("{value:.3}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

/// A whole number with commas: `1,401,320`.
#[must_use]
pub fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &ValueAxis) -> Vec<&str> {
        axis.ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn counts_have_few_round_ticks_from_zero() {
        assert_eq!(labels(&ValueAxis::counts(500.0)), ["0", "200", "400", "600"]);
        assert_eq!(labels(&ValueAxis::counts(20.0)), ["0", "10", "20"]);
        assert_eq!(labels(&ValueAxis::counts(60_000.0)), ["0", "20,000", "40,000", "60,000"]);
        let millions = ValueAxis::counts(2_400_000.0);
        assert_eq!((labels(&millions), millions.unit), (vec!["0", "1", "2"], "millions"));
    }

    #[test]
    fn an_axis_of_nothing_still_has_a_height() {
        for highest in [0.0, -3.0, f64::NAN, f64::INFINITY] {
            assert_eq!(labels(&ValueAxis::counts(highest)), ["0", "1"], "{highest}");
        }
    }

    #[test]
    fn bytes_are_shown_in_the_unit_that_suits_their_end() {
        let mb = 1_048_576.0;
        let axis = ValueAxis::bytes(10_030.0 * mb);
        assert_eq!((labels(&axis), axis.unit), (vec!["0", "5", "10"], "GB"));
        assert_eq!(ValueAxis::bytes(324.0 * mb).unit, "MB");
        assert_eq!(labels(&ValueAxis::bytes(1.2 * mb)), ["0", "0.5", "1"]);
        assert_eq!(ValueAxis::bytes(0.0).unit, "bytes");
    }

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(thousands(1_401_320.0), "1,401,320");
        assert_eq!(thousands(999.0), "999");
        assert_eq!(thousands(-1000.0), "-1,000");
    }
}
