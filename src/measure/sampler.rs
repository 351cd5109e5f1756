//! One row a tick.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout_at};

use super::rates::{Rates, rate_of};
use super::{Clock, Source};
use crate::store::{Cell, Column, Metric, Phase, Row};

/// Time from one row to the next.
pub const TICK: Duration = Duration::from_secs(1);

/// How long a tick waits for its sources. What comes later is dropped; the row is written without it.
const PATIENCE: Duration = Duration::from_millis(800);

/// What a source answered, and when.
struct Reading {
    at: Instant,
    cells: Vec<(Column, Cell)>,
}

/// A source in a task of its own, so that one that hangs keeps no other waiting.
struct Worker {
    ask: mpsc::Sender<oneshot::Sender<Reading>>,
}

impl Worker {
    fn spawn(mut source: Box<dyn Source>) -> Self {
        let (ask, mut asked) = mpsc::channel::<oneshot::Sender<Reading>>(1);
        tokio::spawn(async move {
            while let Some(answer) = asked.recv().await {
                // The tick gave up while the source was busy with the one before.
                if answer.is_closed() {
                    continue;
                }
                match source.read().await {
                    Ok(cells) => drop(answer.send(Reading { at: Instant::now(), cells })),
                    Err(error) => tracing::debug!("{}: {error:#}", source.name()),
                }
            }
        });
        Self { ask }
    }

    /// Asks, unless the source is still busy with an earlier tick.
    async fn ask(&self, until: Instant) -> Option<Reading> {
        let (answer, answered) = oneshot::channel();
        self.ask.try_send(answer).ok()?;
        timeout_at(until, answered).await.ok()?.ok()
    }
}

/// Asks all sources at every tick and makes rows of what they answer.
pub struct Sampler {
    clock: Clock,
    workers: Vec<Worker>,
    columns: Vec<Column>,
    primary: String,
    rates: Rates,
    ticks: tokio::time::Interval,
}

impl Sampler {
    /// A sampler of these sources; the first tick is one [`TICK`] after the clock's start.
    ///
    /// `primary` is the node whose `wal_lsn` the lag of the others is measured against.
    #[must_use]
    pub fn new(clock: Clock, primary: &str, sources: Vec<Box<dyn Source>>) -> Self {
        let columns = all_columns(sources.iter().flat_map(|source| source.columns()).collect());
        let mut ticks = interval_at(clock.started() + TICK, TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let workers = sources.into_iter().map(Worker::spawn).collect();
        Self { clock, workers, columns, primary: primary.to_owned(), rates: Rates::default(), ticks }
    }

    /// Every column a row can fill, in the order of the file.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Waits for the next tick and makes its row. `phase` is asked at the tick, not when the row is ready.
    ///
    /// The future may be dropped between ticks; a row whose sources have been asked is then lost.
    pub async fn next(&mut self, phase: impl FnOnce() -> Phase) -> Row {
        self.ticks.tick().await;
        let (at, unix_s, phase) = (Instant::now(), self.clock.unix_s(), phase());
        let t_s = self.clock.t_s(at);
        let answers = join_all(self.workers.iter().map(|worker| worker.ask(at + PATIENCE))).await;
        let mut row =
            Row { tick: (t_s / TICK.as_secs_f64()).floor() as u64, t_s, unix_s, phase, cells: [].into() };
        for reading in answers.into_iter().flatten() {
            row.cells.extend(self.rates.derive(reading.at, &reading.cells));
            row.cells.extend(reading.cells);
        }
        self.add_lags(&mut row);
        row
    }

    fn add_lags(&self, row: &mut Row) {
        let Some(end) = row.number(&self.primary, &Metric::WalLsn) else {
            return;
        };
        let lags: Vec<_> = row
            .cells
            .iter()
            .filter(|(column, _)| column.metric == Metric::ReplayLsn)
            // Primary and standby are asked side by side: a standby may have replayed what the primary's answer
            // does not yet count.
            .filter_map(|(column, cell)| Some((column.node.clone(), (end - cell.number()?).max(0.0))))
            .collect();
        row.cells
            .extend(lags.into_iter().map(|(node, lag)| (Column::new(&node, Metric::LagBytes), lag.into())));
    }
}

/// The sources' columns and those derived from them, node by node, each node's in the order of [`Metric::FIXED`].
fn all_columns(mut columns: Vec<Column>) -> Vec<Column> {
    let derived: Vec<Column> = columns
        .iter()
        .filter_map(|column| {
            let metric = match &column.metric {
                Metric::ReplayLsn => Metric::LagBytes,
                total => rate_of(total)?.0,
            };
            Some(Column::new(&column.node, metric))
        })
        .collect();
    columns.extend(derived);
    let mut nodes: Vec<String> = Vec::new();
    for column in &columns {
        if !nodes.contains(&column.node) {
            nodes.push(column.node.clone());
        }
    }
    let rank = |metric: &Metric| Metric::FIXED.iter().position(|fixed| fixed == metric);
    columns.sort_by_key(|column| {
        let node = nodes.iter().position(|node| *node == column.node);
        (node, rank(&column.metric).unwrap_or(Metric::FIXED.len()), column.metric.name())
    });
    columns.dedup();
    columns
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use async_trait::async_trait;
    use tokio::time::sleep;

    use super::*;

    /// Counts its readings and takes as long as it is told.
    struct Scripted {
        column: Column,
        readings: Vec<(Duration, Option<f64>)>,
    }

    impl Scripted {
        fn boxed(node: &str, metric: Metric, readings: &[(u64, Option<f64>)]) -> Box<dyn Source> {
            let readings =
                readings.iter().rev().map(|(ms, value)| (Duration::from_millis(*ms), *value)).collect();
            Box::new(Self { column: Column::new(node, metric), readings })
        }
    }

    #[async_trait]
    impl Source for Scripted {
        fn name(&self) -> String {
            self.column.to_string()
        }
        fn columns(&self) -> Vec<Column> {
            vec![self.column.clone()]
        }
        async fn read(&mut self) -> anyhow::Result<Vec<(Column, Cell)>> {
            let (takes, value) = self.readings.pop().unwrap_or((Duration::ZERO, Some(0.0)));
            sleep(takes).await;
            let value = value.ok_or_else(|| anyhow::anyhow!("connection lost"))?;
            Ok(vec![(self.column.clone(), value.into())])
        }
    }

    async fn rows(sources: Vec<Box<dyn Source>>, n: usize) -> Vec<Row> {
        let mut sampler = Sampler::new(Clock::start_virtual(0.0), "primary", sources);
        let mut rows = Vec::new();
        for _ in 0..n {
            rows.push(sampler.next(|| Phase::Baseline).await);
        }
        rows
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_that_hangs_costs_its_own_cells_and_never_the_row() {
        let slow = Scripted::boxed(
            "standby",
            Metric::ReplayLsn,
            &[(0, Some(1.0)), (2_500, Some(2.0)), (0, Some(3.0))],
        );
        let fast = Scripted::boxed("primary", Metric::Tps, &[(0, Some(5.0)); 6]);
        let rows = rows(vec![slow, fast], 6).await;
        let ticks: Vec<u64> = rows.iter().map(|row| row.tick).collect();
        assert_eq!(ticks, [1, 2, 3, 4, 5, 6]);
        assert!(rows.iter().all(|row| row.number("primary", &Metric::Tps) == Some(5.0)));
        let replayed: Vec<_> = rows.iter().map(|row| row.number("standby", &Metric::ReplayLsn)).collect();
        assert_eq!(replayed[..5], [Some(1.0), None, None, None, Some(3.0)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_that_fails_is_asked_again() {
        let source = Scripted::boxed("primary", Metric::Tps, &[(0, None), (0, Some(5.0))]);
        let rows = rows(vec![source], 2).await;
        assert_eq!(rows[0].number("primary", &Metric::Tps), None);
        assert_eq!(rows[1].number("primary", &Metric::Tps), Some(5.0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_tick_that_could_not_be_kept_is_a_gap_in_the_numbers() {
        let mut sampler = Sampler::new(Clock::start_virtual(0.0), "primary", vec![]);
        assert_eq!(sampler.next(|| Phase::Baseline).await.tick, 1);
        sleep(Duration::from_millis(3_300)).await;
        let late = sampler.next(|| Phase::Baseline).await;
        assert_eq!((late.tick, late.t_s), (4, 4.3));
        let next = sampler.next(|| Phase::Baseline).await;
        assert_eq!((next.tick, next.t_s), (5, 5.0));
    }

    #[tokio::test(start_paused = true)]
    async fn an_hour_has_a_row_for_every_second() {
        let source = Scripted::boxed("standby", Metric::ReadsTotal, &[]);
        let rows = rows(vec![source], 3_600).await;
        assert!(rows.iter().zip(1..).all(|(row, tick)| row.tick == tick && row.t_s == tick as f64));
    }

    #[tokio::test(start_paused = true)]
    async fn lag_is_the_distance_to_the_primarys_end_of_wal_and_empty_when_either_is_unknown() {
        let primary =
            Scripted::boxed("primary", Metric::WalLsn, &[(0, Some(900.0)), (0, None), (0, Some(900.0))]);
        let replayed = [(0, Some(300.0)), (0, Some(300.0)), (0, Some(950.0))];
        let standby = Scripted::boxed("standby", Metric::ReplayLsn, &replayed);
        let rows = rows(vec![primary, standby], 3).await;
        let lags: Vec<_> = rows.iter().map(|row| row.number("standby", &Metric::LagBytes)).collect();
        assert_eq!(lags, [Some(600.0), None, Some(0.0)]);
    }

    #[test]
    fn columns_stand_node_by_node_with_the_derived_ones_among_them() {
        let columns = all_columns(vec![
            Column::new("primary", Metric::WalLsn),
            Column::new("standby", Metric::RecoveryPrefetch("hit".into())),
            Column::new("standby", Metric::ReplayLsn),
            Column::new("primary", Metric::ReadsTotal),
        ]);
        let names: Vec<String> = columns.iter().map(Column::to_string).collect();
        assert_eq!(
            names,
            [
                "primary_read_iops",
                "primary_reads_total",
                "primary_wal_lsn",
                "standby_replay_lsn",
                "standby_lag_bytes",
                "standby_recovery_prefetch_hit"
            ]
        );
    }
}
