//! Figures of samples, with intervals.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde::{Deserialize, Serialize};

/// Resamples of a bootstrap interval.
const RESAMPLES: usize = 2_000;

/// The share of an interval: 95 %.
const TAIL: f64 = 0.025;

/// The 97.5 % points of Student's t distribution, for 1 to 30 degrees of freedom.
const STUDENT_T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// A figure with its 95 % interval; without one where the samples are too few for it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
}

impl Estimate {
    /// Does the interval lie on one side of `value`.
    #[must_use]
    pub fn is_clear_of(&self, value: f64) -> bool {
        self.low.is_some_and(|low| low > value) || self.high.is_some_and(|high| high < value)
    }
}

/// The quantile `share` (0 to 1) of sorted values, between the two nearest (Hyndman and Fan's type 7).
pub(super) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = share.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (sorted.get(at.floor() as usize)?, sorted.get(at.ceil() as usize)?);
    Some(below + (above - below) * at.fract())
}

pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

pub(super) fn median(values: &[f64]) -> Option<f64> {
    quantile(&sorted(values), 0.5)
}

pub(super) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Standard deviation of all of a population, not of a sample of one.
pub(super) fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: Vec<f64> = values.iter().map(|value| (value - mean).powi(2)).collect();
    self::mean(&squares).map(f64::sqrt)
}

/// The percentile bootstrap: the figure of samples, with the middle 95 % of the figure over resamples of them. The seed
/// is fixed, so that the same samples give the same interval.
pub(super) fn bootstrap(samples: &[f64], figure: impl Fn(&[f64]) -> Option<f64>) -> Option<Estimate> {
    let value = figure(samples)?;
    if samples.len() < 3 {
        return Some(Estimate { value, low: None, high: None });
    }
    let mut random = StdRng::seed_from_u64(samples.len() as u64);
    let mut resample = vec![0.0; samples.len()];
    let mut figures = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        resample
            .fill_with(|| samples.get(random.random_range(0..samples.len())).copied().unwrap_or_default());
        figures.extend(figure(&resample));
    }
    figures.sort_by(f64::total_cmp);
    Some(Estimate { value, low: quantile(&figures, TAIL), high: quantile(&figures, 1.0 - TAIL) })
}

/// The geometric mean of ratios of rounds, with Student's interval of its logarithm: of few rounds, a bootstrap would
/// promise too much.
pub(super) fn ratio(ratios: &[f64]) -> Option<Estimate> {
    let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).filter(|log| log.is_finite()).collect();
    let centre = mean(&logs)?;
    let freedom = logs.len() - 1;
    // Of two rounds it would span orders of magnitude, and say nothing.
    let half = (freedom > 1).then(|| {
        let variance = logs.iter().map(|log| (log - centre).powi(2)).sum::<f64>() / freedom as f64;
        let t = STUDENT_T.get(freedom - 1).copied().unwrap_or(1.96);
        t * (variance / logs.len() as f64).sqrt()
    });
    Some(Estimate {
        value: centre.exp(),
        low: half.map(|half| (centre - half).exp()),
        high: half.map(|half| (centre + half).exp()),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn quantiles_lie_between_the_values_beside_them() {
        let values = [1.0, 2.0, 3.0, 10.0];
        assert_eq!(quantile(&values, 0.5), Some(2.5));
        assert_eq!(quantile(&values, 0.0), Some(1.0));
        assert_eq!(quantile(&values, 1.0), Some(10.0));
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(deviation(&[2.0, 4.0]), Some(1.0));
    }

    #[test]
    fn an_interval_holds_its_figure_and_narrows_with_samples() {
        let samples = |count: u32| (0..count).map(|at| f64::from(at % 10)).collect::<Vec<_>>();
        let width = |count| {
            let estimate = bootstrap(&samples(count), mean).unwrap();
            let (low, high) = (estimate.low.unwrap(), estimate.high.unwrap());
            assert!(low <= 4.5 && 4.5 <= high && (estimate.value - 4.5).abs() < 1e-9);
            high - low
        };
        assert!(width(1000) < width(100) / 2.0);
        // The mean of 100 values with deviation 2.87: plus and minus 1.96 times 0.287.
        assert!((width(100) / (2.0 * 1.96 * 0.2872) - 1.0).abs() < 0.15);
    }

    #[test]
    fn too_few_samples_have_a_figure_and_no_interval() {
        assert_eq!(bootstrap(&[], mean), None);
        let two = bootstrap(&[1.0, 3.0], mean).unwrap();
        assert_eq!((two.value, two.low, two.high), (2.0, None, None));
        assert_eq!(ratio(&[2.0]).unwrap(), Estimate { value: 2.0, low: None, high: None });
    }

    #[test]
    fn the_interval_of_ratios_is_students() {
        let found = ratio(&[1.0, 2.0, 4.0]).unwrap();
        assert!((found.value - 2.0).abs() < 1e-9);
        // Logs 0, 0.693 and 1.386: deviation 0.693, over the root of 3, times 4.303.
        assert!((found.high.unwrap() / (2.0 * (4.303f64 * 0.400_19).exp()) - 1.0).abs() < 1e-3);
        assert!(!found.is_clear_of(1.0));
        let clear = ratio(&[1.5, 1.52, 1.49, 1.51]).unwrap();
        assert!(clear.is_clear_of(1.0) && !clear.is_clear_of(1.5));
        let two = ratio(&[1.5, 1.52]).unwrap();
        assert_eq!((two.low, two.is_clear_of(1.0)), (None, false));
    }
}
