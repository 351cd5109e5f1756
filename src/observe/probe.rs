//! The probe: writes of the lab's own, so that a hang shows even where nobody else writes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::measure::Source;
use crate::postgres::{ProbeTable, Written};
use crate::store::{Cell, Column, Metric};

/// What the probe writes with.
#[async_trait]
pub(super) trait Writer: Send {
    /// One write, given up at its deadline, or at once when there is a `hurry`.
    async fn write(&mut self, hurry: &CancellationToken) -> Written;

    /// Removes all that was made for it. The text says what to do by hand.
    async fn remove(&mut self) -> Result<(), String>;
}

#[async_trait]
impl Writer for ProbeTable {
    async fn write(&mut self, hurry: &CancellationToken) -> Written {
        Self::write(self, hurry).await
    }

    async fn remove(&mut self) -> Result<(), String> {
        let table = self.name().to_owned();
        self.drop_table().await.map_err(|error| {
            let why = crate::human::in_full(&error);
            format!("the probe's table is left on the primary ({why}): drop it with `DROP TABLE {table}`")
        })
    }
}

/// What became of the writes since somebody looked last.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Tally {
    acknowledged: u32,
    latency: Duration,
    committed_locally: u32,
    failed: u32,
}

/// Where the probe leaves what became of its writes, and the sampler finds it.
#[derive(Debug, Default)]
pub(super) struct ProbeFeed(Mutex<Tally>);

impl ProbeFeed {
    fn count(&self, written: &Written) {
        let mut tally = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match written {
            Written::Acknowledged(latency) => {
                tally.acknowledged += 1;
                tally.latency += *latency;
            }
            Written::CommittedLocally => tally.committed_locally += 1,
            Written::Failed(why) => {
                tally.failed += 1;
                tracing::debug!("a write of the probe: {why}");
            }
        }
    }

    /// What became of the write that was under way when the record ended, if that is worth a word.
    pub fn after_the_last_row(&self) -> Option<String> {
        let rest = self.take();
        if rest.committed_locally > 0 {
            return Some(
                "the probe's last write waited for a standby when the record ended, and was cancelled: it has committed \
                 on the primary alone, and is in no row"
                    .to_owned(),
            );
        }
        (rest.failed > 0).then(|| "the probe's last write failed when the record had ended".to_owned())
    }

    fn take(&self) -> Tally {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Writes one after the other, at most one a `pause`, until there is a `stop`; then removes what was made for it. One
/// write at a time: while one hangs there is no other, as with one client of a server.
pub(super) async fn run(
    writer: &mut dyn Writer,
    pause: Duration,
    feed: &ProbeFeed,
    stop: &CancellationToken,
) -> Result<(), String> {
    let mut due = interval(pause);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(due.tick()).await.is_some() {
        let written = writer.write(stop).await;
        feed.count(&written);
    }
    writer.remove().await
}

/// The probe as a source of the sampler.
#[derive(Debug)]
pub(super) struct ProbeSource {
    node: String,
    feed: Arc<ProbeFeed>,
}

impl ProbeSource {
    /// Of writes to this node, which is the primary.
    pub fn new(node: &str, feed: Arc<ProbeFeed>) -> Self {
        Self { node: node.to_owned(), feed }
    }
}

#[async_trait]
impl Source for ProbeSource {
    fn name(&self) -> String {
        format!("the probe on {}", self.node)
    }

    fn columns(&self) -> Vec<Column> {
        [Metric::ProbeAcknowledged, Metric::ProbeLatencyMs, Metric::ProbeLocalCommits, Metric::ProbeFailed]
            .map(|metric| Column::new(&self.node, metric))
            .into()
    }

    async fn read(&mut self) -> anyhow::Result<Vec<(Column, Cell)>> {
        let tally = self.feed.take();
        let latency_ms = (tally.acknowledged > 0)
            .then(|| tally.latency.as_secs_f64() * 1e3 / f64::from(tally.acknowledged));
        let counts = [
            (Metric::ProbeAcknowledged, tally.acknowledged),
            (Metric::ProbeLocalCommits, tally.committed_locally),
            (Metric::ProbeFailed, tally.failed),
        ];
        let counts = counts.map(|(metric, count)| (metric, Cell::Number(f64::from(count))));
        let latency = latency_ms.map(|ms| (Metric::ProbeLatencyMs, Cell::Number(ms)));
        let cells = counts.into_iter().chain(latency);
        Ok(cells.map(|(metric, cell)| (Column::new(&self.node, metric), cell)).collect())
    }
}
