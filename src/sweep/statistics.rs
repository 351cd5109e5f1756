//! Medians, and how far they can be trusted.

/// The share of intervals that should hold the true median, where there are runs enough.
const WANTED: f64 = 0.95;

/// The median of `values`; none of none.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let upper = sorted.get(sorted.len() / 2)?;
    let lower = sorted.get(sorted.len().saturating_sub(1) / 2)?;
    Some(f64::midpoint(*lower, *upper))
}

/// A confidence interval of a median.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// The share of such intervals that hold the true median: what it is with these many values, not what was wished.
    pub confidence: f64,
}

/// The confidence interval of the median by order statistics: from the k-th smallest value to the k-th largest. It takes
/// nothing for granted but that the runs are independent and alike.
///
/// k is the largest with a confidence of 95 % or more. Below six values there is none: then it is the range of all values,
/// whose confidence, 1 - 2^(1-n), is 75 % for three values. None below two values.
#[must_use]
pub fn median_interval(values: &[f64]) -> Option<Interval> {
    let sorted = sorted(values);
    let (k, confidence) = ranks(sorted.len());
    let (low, high) = (sorted.get(k - 1)?, sorted.get(sorted.len().checked_sub(k)?)?);
    (sorted.len() > 1).then_some(Interval { low: *low, high: *high, confidence })
}

/// The k for `n` values, and its confidence: 1 less twice the chance that fewer than k of them lie below the median,
/// which is the sum of the binomials of n over i, i from 0 to k - 1, over 2^n.
fn ranks(n: usize) -> (usize, f64) {
    // As logarithms: 2^n has no float where n is large.
    let mut term = -(n as f64) * 2.0_f64.ln();
    let mut below = 0.0;
    let mut best = (1, 1.0 - 2.0 * term.exp());
    for k in 1..=n / 2 {
        below += term.exp();
        let confidence = 1.0 - 2.0 * below;
        if k > 1 && confidence < WANTED {
            break;
        }
        best = (k, confidence);
        term += ((n + 1 - k) as f64 / k as f64).ln();
    }
    best
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_between_the_middle_two() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 9.0]), Some(3.0));
    }

    #[test]
    fn few_values_give_their_range_and_the_confidence_it_really_has() {
        assert_eq!(median_interval(&[]), None);
        assert_eq!(median_interval(&[5.0]), None);
        for (values, confidence) in
            [(&[1.0, 9.0][..], 0.5), (&[5.0, 1.0, 9.0], 0.75), (&[5.0, 1.0, 9.0, 2.0, 3.0], 0.9375)]
        {
            assert_eq!(median_interval(values).unwrap(), Interval { low: 1.0, high: 9.0, confidence });
        }
    }

    #[test]
    fn with_more_values_it_narrows_to_what_95_percent_take() {
        let values = |n: usize| (1..=n).map(|value| value as f64).collect::<Vec<_>>();
        let of = |n| median_interval(&values(n)).map(|found| (found.low, found.high)).unwrap();
        // As in the tables of the sign test.
        assert_eq!((of(6), of(8), of(9), of(20)), ((1.0, 6.0), (1.0, 8.0), (2.0, 8.0), (6.0, 15.0)));
        assert!((median_interval(&values(9)).unwrap().confidence - 0.9609).abs() < 1e-4);
        // About 1.96 times half the root of n to each side of the middle, also where 2^-n is no float any more.
        assert_eq!(of(5_000), (2_431.0, 2_570.0));
    }
}
