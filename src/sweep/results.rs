//! What the runs of a sweep come to: a median for each point, how far it can be trusted, and what was predicted.

use super::statistics::{Interval, median, median_interval};
use super::{Axis, Design, Record, Status};
use crate::store::Verdict;

/// What came of a sweep, point by point.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// What is varied.
    pub axes: Vec<Axis>,
    /// The points, in the order of the design.
    pub points: Vec<PointResult>,
}

/// What came of one point.
#[derive(Debug, Clone, PartialEq)]
pub struct PointResult {
    /// Its values, one for each axis.
    pub values: Vec<String>,
    /// Lengths of the hang of its finished runs, seconds.
    pub hangs_s: Vec<f64>,
    /// Of its finished runs, how many stalled.
    pub stalled: usize,
    /// Runs that were broken; each was run again, or will be.
    pub broken: usize,
    /// Did one of its finished runs end before the hang did: then its median is a lower bound.
    pub at_least: bool,
    /// The cap on reads that its runs had, if it was the same.
    pub read_iops_cap: Option<u64>,
    /// Median of the predicted reads.
    pub predicted_reads: Option<f64>,
    /// Median of the predicted lengths, seconds.
    pub predicted_s: Option<f64>,
}

impl Results {
    /// Of the runs so far.
    #[must_use]
    pub fn of(design: &Design, records: &[Record]) -> Self {
        let points = design.points().enumerate().map(|(point, values)| {
            let own: Vec<&Record> = records.iter().filter(|record| record.run.point == point).collect();
            PointResult::of(values, &own)
        });
        Self { axes: design.axes.clone(), points: points.collect() }
    }

    /// The place of the axis that a plot has along its bottom: the first of several values that are all numbers; none
    /// where there is no such axis.
    #[must_use]
    pub fn numeric_axis(&self) -> Option<usize> {
        self.axes.iter().position(|axis| axis.values.len() > 1 && axis.numbers().is_some())
    }
}

impl PointResult {
    fn of(values: Vec<&str>, records: &[&Record]) -> Self {
        let finished: Vec<&&Record> =
            records.iter().filter(|record| record.status == Status::Finished).collect();
        let of = |figure: fn(&Record) -> Option<f64>| -> Vec<f64> {
            finished.iter().filter_map(|record| figure(record)).collect()
        };
        let mut caps: Vec<_> = finished.iter().map(|record| record.read_iops_cap).collect();
        caps.dedup();
        Self {
            values: values.into_iter().map(str::to_owned).collect(),
            hangs_s: of(|record| record.hang_s),
            stalled: finished.iter().filter(|record| record.verdict == Some(Verdict::Stalled)).count(),
            broken: records.len() - finished.len(),
            at_least: finished.iter().any(|record| record.hang_ended == Some(false)),
            read_iops_cap: if let [cap] = caps.as_slice() { *cap } else { None },
            predicted_reads: median(&of(|record| record.predicted_reads.map(|reads| reads as f64))),
            predicted_s: median(&of(|record| record.predicted_hang_s)),
        }
    }

    /// Median length of the hang, seconds.
    #[must_use]
    pub fn median_s(&self) -> Option<f64> {
        median(&self.hangs_s)
    }

    /// How far the median can be trusted.
    #[must_use]
    pub fn interval(&self) -> Option<Interval> {
        median_interval(&self.hangs_s)
    }

    /// The median as a multiple of what was predicted; none where there was nothing to wait for, or the median is a lower
    /// bound.
    #[must_use]
    pub fn to_prediction(&self) -> Option<f64> {
        let predicted = self.predicted_s.filter(|predicted| *predicted >= LONG_S)?;
        self.median_s().filter(|_| !self.at_least).map(|median| median / predicted)
    }
}

/// Below this a time measured by the second makes no ratio, seconds.
const LONG_S: f64 = 10.0;

#[cfg(test)]
mod tests {
    use super::super::testing::{design, finished};
    use super::super::{Record, Run};
    use super::*;

    #[test]
    fn a_point_is_told_by_its_finished_runs_and_its_broken_ones_are_counted() {
        let design = design(&["standby.read_iops=100,200", "prefetch=try"], 3);
        let mut records: Vec<Record> =
            [(1, 90.0), (2, 80.0), (3, 85.0)].map(|(repeat, hang_s)| finished(repeat, 1, hang_s)).to_vec();
        for record in &mut records {
            record.predicted_hang_s = Some(88.0);
            record.read_iops_cap = Some(200);
        }
        records.push(Record::broken(Run { repeat: 1, point: 1 }, None, "no room".to_owned()));
        let results = Results::of(&design, &records);
        let [empty, point] = results.points.as_slice() else { panic!("{results:?}") };
        assert_eq!((empty.median_s(), empty.interval(), empty.broken), (None, None, 0));
        assert_eq!((point.median_s(), point.stalled, point.broken), (Some(85.0), 3, 1));
        assert_eq!((point.read_iops_cap, point.predicted_s), (Some(200), Some(88.0)));
        assert!(point.to_prediction().is_some_and(|ratio| (ratio - 0.966).abs() < 1e-3));
        assert_eq!(results.numeric_axis(), Some(0));
    }

    #[test]
    fn a_hang_that_was_not_seen_to_end_makes_a_lower_bound_and_no_ratio() {
        let mut record = finished(1, 0, 360.0);
        record.hang_ended = Some(false);
        record.predicted_hang_s = Some(400.0);
        let results = Results::of(&design(&["prefetch=try,off"], 1), &[record]);
        assert_eq!(
            results.points.first().map(|point| (point.at_least, point.to_prediction())),
            Some((true, None))
        );
        assert_eq!(results.numeric_axis(), None);
    }
}
