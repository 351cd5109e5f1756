//! What is drawn of a column: its values in runs without a gap, thinned to what the picture can resolve.

use crate::store::{Metric, Row, Timeline};

/// One value, or several that share a few pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// From when on it holds, seconds from the origin: the row before, for it is "since the row before".
    pub from: f64,
    /// Until when.
    pub to: f64,
    /// The lowest of the values.
    pub low: f64,
    /// Their mean.
    pub mean: f64,
    /// The highest.
    pub high: f64,
}

/// A column as it is drawn: runs of samples. Between two runs nothing is known, and nothing is drawn.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// The runs, in the order of time, none empty.
    pub runs: Vec<Vec<Sample>>,
}

impl Series {
    /// The values that `value` finds in the rows. An empty cell and a missed tick are gaps.
    pub fn of(timeline: &Timeline, origin: f64, value: impl Fn(&Row) -> Option<f64>) -> Self {
        let mut runs: Vec<Vec<Sample>> = Vec::new();
        let mut run = Vec::new();
        let mut before: Option<&Row> = None;
        for row in &timeline.rows {
            let neighbour = before.filter(|before| row.tick <= before.tick.saturating_add(1));
            if neighbour.is_none() {
                runs.push(std::mem::take(&mut run));
            }
            match value(row).filter(|value| value.is_finite()) {
                Some(value) => run.push(Sample {
                    from: neighbour.map_or(row.t_s, |before| before.t_s) - origin,
                    to: row.t_s - origin,
                    low: value,
                    mean: value,
                    high: value,
                }),
                None => runs.push(std::mem::take(&mut run)),
            }
            before = Some(row);
        }
        runs.push(run);
        runs.retain(|run| !run.is_empty());
        Self { runs }
    }

    /// The values of a metric of a node.
    #[must_use]
    pub fn metric(timeline: &Timeline, origin: f64, node: &str, metric: &Metric) -> Self {
        let column = crate::store::Column::new(node, metric.clone());
        Self::of(timeline, origin, |row| row.cells.get(&column)?.number())
    }

    /// The median of the values above zero.
    #[must_use]
    pub fn median(&self) -> Option<f64> {
        let mut values: Vec<f64> =
            self.samples().map(|sample| sample.mean).filter(|value| *value > 0.0).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    }

    /// A cumulative counter as what was added since its first value. Where it fell, the server or the statistics
    /// were reset, and it counts on from there.
    #[must_use]
    pub fn since_first(mut self) -> Self {
        let mut total = 0.0;
        let mut before = None;
        for sample in self.runs.iter_mut().flatten() {
            let value = sample.mean;
            total += match before {
                None => 0.0,
                Some(before) if value >= before => value - before,
                Some(_) => value,
            };
            before = Some(value);
            (sample.low, sample.mean, sample.high) = (total, total, total);
        }
        self
    }

    /// One sample for every `bucket` seconds of a run, with the range of what it stands for.
    #[must_use]
    pub fn thinned(self, bucket: Option<f64>) -> Self {
        let Some(bucket) = bucket else { return self };
        let number = |sample: &Sample| (sample.to / bucket).floor();
        let runs = self
            .runs
            .into_iter()
            .map(|run| run.chunk_by(|a, b| number(a) == number(b)).filter_map(merged).collect());
        Self { runs: runs.collect() }
    }

    /// All samples, in the order of time.
    pub fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.runs.iter().flatten()
    }

    /// The highest value.
    #[must_use]
    pub fn highest(&self) -> Option<f64> {
        self.samples().map(|sample| sample.high).reduce(f64::max)
    }

    /// The last value.
    #[must_use]
    pub fn last(&self) -> Option<f64> {
        self.samples().last().map(|sample| sample.mean)
    }

    /// Is there nothing to draw.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }
}

fn merged(samples: &[Sample]) -> Option<Sample> {
    let (first, last) = (samples.first()?, samples.last()?);
    let sum: f64 = samples.iter().map(|sample| sample.mean).sum();
    Some(Sample {
        from: first.from,
        to: last.to,
        low: samples.iter().map(|sample| sample.low).fold(first.low, f64::min),
        mean: sum / samples.len() as f64,
        high: samples.iter().map(|sample| sample.high).fold(first.high, f64::max),
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::timeline_of;
    use super::*;

    fn series(values: &[Option<f64>]) -> Series {
        Series::metric(&timeline_of("primary", &Metric::Tps, values), 0.0, "primary", &Metric::Tps)
    }

    fn means(series: &Series) -> Vec<Vec<f64>> {
        let run = |run: &Vec<Sample>| run.iter().map(|sample| sample.mean).collect();
        series.runs.iter().map(run).collect()
    }

    #[test]
    fn an_empty_cell_is_a_gap_and_a_zero_is_none() {
        let series = series(&[Some(5.0), Some(0.0), None, Some(3.0)]);
        assert_eq!(means(&series), [vec![5.0, 0.0], vec![3.0]]);
    }

    #[test]
    fn a_missed_tick_is_a_gap() {
        let mut timeline = timeline_of("primary", &Metric::Tps, &[Some(1.0), Some(2.0), Some(3.0)]);
        timeline.rows.remove(1);
        let series = Series::metric(&timeline, 0.0, "primary", &Metric::Tps);
        assert_eq!(means(&series), [vec![1.0], vec![3.0]]);
    }

    #[test]
    fn a_column_that_is_not_there_draws_nothing() {
        let series =
            Series::metric(&timeline_of("primary", &Metric::Tps, &[Some(1.0)]), 0.0, "standby", &Metric::Tps);
        assert!(series.is_empty());
        assert_eq!((series.highest(), series.last()), (None, None));
    }

    #[test]
    fn a_sample_holds_from_the_row_before() {
        let series = series(&[None, Some(7.0)]);
        let times: Vec<_> = series.samples().map(|sample| (sample.from, sample.to)).collect();
        assert_eq!(times, [(1.0, 2.0)]);
    }

    #[test]
    fn a_counter_goes_on_after_a_reset_and_over_a_gap() {
        let series = series(&[Some(100.0), Some(130.0), None, Some(140.0), Some(5.0)]).since_first();
        assert_eq!(means(&series), [vec![0.0, 30.0], vec![40.0, 45.0]]);
    }

    #[test]
    fn thinning_keeps_the_mean_the_range_and_the_gaps() {
        let values = [Some(0.0), Some(10.0), Some(2.0), Some(4.0), None, Some(6.0)];
        let thin = series(&values).thinned(Some(4.0));
        assert_eq!(means(&thin), [vec![4.0, 4.0], vec![6.0]]);
        let first = thin.samples().next();
        assert_eq!(first.map(|sample| (sample.low, sample.high)), Some((0.0, 10.0)));
        assert_eq!(first.map(|sample| (sample.from, sample.to)), Some((1.0, 3.0)));
        assert_eq!(series(&values).thinned(None), series(&values));
    }
}
