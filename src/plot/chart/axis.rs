//! An axis on which equal ratios are equally far apart.

use crate::plot::axis::Tick;

/// The axis; its values are above zero.
#[derive(Debug, Clone, PartialEq)]
pub struct LogAxis {
    /// Its left end.
    pub from: f64,
    /// Its right end.
    pub to: f64,
    /// Its ticks.
    pub ticks: Vec<Tick>,
    /// What it shows, and the unit.
    pub title: String,
}

/// White on both sides, as a factor.
const MARGIN: f64 = 1.12;

impl LogAxis {
    /// An axis over these values, ticked at 1, 2 and 5 times powers of ten.
    pub fn decades(values: impl Iterator<Item = f64>, title: &str) -> Self {
        let (from, to) = range(values);
        let powers = from.log10().floor() as i32..=to.log10().ceil() as i32;
        let ticks = powers
            .flat_map(|power| [1.0, 2.0, 5.0].map(|digit| (digit * 10f64.powi(power), power)))
            .filter(|(at, _)| (from..=to).contains(at))
            .map(|(at, power)| Tick { at, label: format!("{at:.*}", usize::try_from(-power).unwrap_or(0)) })
            .collect();
        Self { from, to, ticks, title: title.to_owned() }
    }

    /// An axis over these values, with a tick at each of them.
    pub fn values(values: &[u32], title: &str) -> Self {
        let (from, to) = range(values.iter().copied().map(f64::from));
        let ticks =
            values.iter().map(|value| Tick { at: f64::from(*value), label: value.to_string() }).collect();
        Self { from, to, ticks, title: title.to_owned() }
    }

    /// Where a value stands, from 0 at the left to 1 at the right.
    pub fn share(&self, at: f64) -> f64 {
        ((at / self.from).ln() / (self.to / self.from).ln()).clamp(0.0, 1.0)
    }
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .filter(|value| *value > 0.0)
        .fold((f64::INFINITY, 0.0f64), |(low, high), value| (low.min(value), high.max(value)));
    if low.is_finite() { (low / MARGIN, high * MARGIN) } else { (0.1, 10.0) }
}
