//! Rates from cumulative counters: what happened since the reading before, over the time that really passed.

use std::collections::HashMap;

use tokio::time::Instant;

use crate::store::{Cell, Column, Metric};

/// Remembers the last reading of every counter that a rate is made of.
#[derive(Debug, Default)]
pub(super) struct Rates {
    last: HashMap<Column, (Instant, f64)>,
}

impl Rates {
    /// The rates that follow from these readings, taken at `at`. The first reading of a counter gives none; nor does
    /// one that has gone backwards, as after a restart of what counts.
    pub(super) fn derive(&mut self, at: Instant, cells: &[(Column, Cell)]) -> Vec<(Column, Cell)> {
        cells
            .iter()
            .filter_map(|(column, cell)| {
                let (rate, scale) = rate_of(&column.metric)?;
                let now = cell.number()?;
                let (then, before) = self.last.insert(column.clone(), (at, now))?;
                let seconds = at.saturating_duration_since(then).as_secs_f64();
                let known = seconds > 0.0 && now >= before;
                known.then(|| {
                    (Column::new(&column.node, rate), Cell::Number((now - before) / seconds * scale))
                })
            })
            .collect()
    }
}

/// The rate made of a counter, and what a difference of one a second counts.
pub(super) fn rate_of(total: &Metric) -> Option<(Metric, f64)> {
    match total {
        Metric::ReadsTotal => Some((Metric::ReadIops, 1.0)),
        Metric::WritesTotal => Some((Metric::WriteIops, 1.0)),
        Metric::CpuSecondsTotal => Some((Metric::CpuPct, 100.0)),
        Metric::CommitsTotal => Some((Metric::CommitsPerS, 1.0)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn reads(total: f64) -> [(Column, Cell); 1] {
        [(Column::new("standby", Metric::ReadsTotal), Cell::Number(total))]
    }

    fn iops(rate: f64) -> Vec<(Column, Cell)> {
        vec![(Column::new("standby", Metric::ReadIops), Cell::Number(rate))]
    }

    #[test]
    fn a_rate_is_the_difference_over_the_time_that_really_passed() {
        let start = Instant::now();
        let mut rates = Rates::default();
        assert_eq!(rates.derive(start, &reads(1000.0)), []);
        assert_eq!(rates.derive(start + Duration::from_millis(1250), &reads(1250.0)), iops(200.0));
        // Two ticks without an answer: the rate is over all three.
        assert_eq!(rates.derive(start + Duration::from_millis(4250), &reads(1850.0)), iops(200.0));
    }

    #[test]
    fn a_counter_that_goes_backwards_gives_no_rate_and_is_the_new_start() {
        let start = Instant::now();
        let mut rates = Rates::default();
        rates.derive(start, &reads(1000.0));
        assert_eq!(rates.derive(start + Duration::from_secs(1), &reads(10.0)), []);
        assert_eq!(rates.derive(start + Duration::from_secs(2), &reads(30.0)), iops(20.0));
    }
}
