//! Rows and events on their way to disk.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;

use super::ExperimentError;
use crate::measure::{Clock, Sampler};
use crate::store::{Event, EventKind, EventLog, Phase, Row, RunFolder, StoreError, TimelineWriter};

/// The newest row, for whoever waits for a state or shows it; none before the first tick.
pub type SharedRow = Option<Arc<Row>>;

/// Makes a row a tick and appends it to `timeline.csv`, for as long as it is not dropped. Ends only with the error of a
/// row that could not be written.
pub(crate) async fn record(
    mut sampler: Sampler,
    folder: &RunFolder,
    phase: watch::Receiver<Phase>,
    rows: &watch::Sender<SharedRow>,
) -> ExperimentError {
    let mut timeline = match TimelineWriter::create(&folder.timeline_path(), sampler.columns().to_vec()) {
        Ok(timeline) => timeline,
        Err(error) => return error.into(),
    };
    loop {
        let row = sampler.next(|| *phase.borrow()).await;
        if let Err(error) = timeline.append(&row) {
            return error.into();
        }
        rows.send_replace(Some(Arc::new(row)));
    }
}

/// Writes `events.csv` on the run's clock.
#[derive(Debug)]
pub struct EventRecorder {
    log: EventLog,
    clock: Clock,
}

impl EventRecorder {
    /// Creates the file.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(folder: &RunFolder, clock: Clock) -> Result<Self, StoreError> {
        Ok(Self { log: EventLog::create(&folder.events_path())?, clock })
    }

    /// A moment on the run's clock, seconds.
    pub(super) fn t_s(&self, at: Instant) -> f64 {
        self.clock.t_s(at)
    }

    /// Writes an event that happened now.
    pub(crate) fn record(
        &mut self,
        kind: EventKind,
        node: Option<&str>,
        lsn: Option<u64>,
        detail: impl Into<String>,
    ) -> Result<(), ExperimentError> {
        self.record_at(Instant::now(), kind, node, lsn, detail)
    }

    /// Writes an event that happened at `at`, a moment ago.
    pub(crate) fn record_at(
        &mut self,
        at: Instant,
        kind: EventKind,
        node: Option<&str>,
        lsn: Option<u64>,
        detail: impl Into<String>,
    ) -> Result<(), ExperimentError> {
        let (t_s, unix_s) = (self.clock.t_s(at), self.clock.unix_s() - at.elapsed().as_secs_f64());
        self.append(t_s, unix_s, kind, node, lsn, detail.into())
    }

    /// Writes an event that a row shows: it stands at the row's moment, not at that of its reading.
    pub(crate) fn record_seen(
        &mut self,
        row: &Row,
        kind: EventKind,
        node: Option<&str>,
        detail: impl Into<String>,
    ) -> Result<(), ExperimentError> {
        self.append(row.t_s, row.unix_s, kind, node, None, detail.into())
    }

    fn append(
        &mut self,
        t_s: f64,
        unix_s: f64,
        kind: EventKind,
        node: Option<&str>,
        lsn: Option<u64>,
        detail: String,
    ) -> Result<(), ExperimentError> {
        // A line of the file is an event: a reader that finds the last line cut must not find half an event.
        let detail = detail.split_whitespace().collect::<Vec<_>>().join(" ");
        let (t_s, unix_s) = (round(t_s, 1e6), round(unix_s, 1e3));
        let event = Event { t_s, unix_s, kind, node: node.map(str::to_owned), lsn, detail };
        Ok(self.log.append(&event)?)
    }
}

/// Rounds to a fraction of which one unit has `parts`.
fn round(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}
