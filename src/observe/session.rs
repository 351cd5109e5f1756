//! Watching, from the first row to the last.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::Mark;
use super::probe::{self, ProbeFeed, ProbeSource, Writer};
use super::watcher::Watcher;
use crate::experiment::{Ending, EventRecorder, ExperimentError, SharedRow, record};
use crate::measure::{Clock, Sampler, Source};
use crate::store::{EventKind, Phase, RunFolder};
use crate::verdict::Witness;

/// What is watched, and for how long.
pub(super) struct Session {
    pub primary: String,
    pub standbys: Vec<String>,
    pub sources: Vec<Box<dyn Source>>,
    pub probe: Option<Probe>,
    pub length: Duration,
}

/// Writes of the lab's own.
pub(super) struct Probe {
    pub writer: Box<dyn Writer>,
    /// Time from one write to the next.
    pub pause: Duration,
}

/// How watching ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Watched {
    pub ending: Ending,
    /// What is left behind, and what to do about it.
    pub left_behind: Option<String>,
}

impl Session {
    /// Writes a row a tick and what it shows, until the time is over or there is a `stop`. Whatever happens, what the
    /// probe made is removed.
    pub async fn watch(
        self,
        folder: &RunFolder,
        clock: Clock,
        rows: &watch::Sender<SharedRow>,
        marks: &mut mpsc::Receiver<Mark>,
        stop: &CancellationToken,
    ) -> Result<Watched, ExperimentError> {
        let Self { primary, standbys, mut sources, probe, length } = self;
        let witness = if probe.is_some() { Witness::Probe } else { Witness::Server };
        let mut events = EventRecorder::create(folder, clock)?;
        events.record(EventKind::Phase, None, None, Phase::Observed.name())?;
        let feed = Arc::new(ProbeFeed::default());
        if probe.is_some() {
            sources.push(Box::new(ProbeSource::new(&primary, Arc::clone(&feed))));
        }
        let sampler = Sampler::new(clock, &primary, sources);
        let (_phase, phase_seen) = watch::channel(Phase::Observed);
        let finished = CancellationToken::new();
        let watcher = Watcher::new(&primary, &standbys, witness);
        let end = clock.started() + length;
        let mut newest = rows.subscribe();
        let watching = async {
            // Also when an event cannot be written: the probe has to end and to remove its table.
            let _end_all = finished.clone().drop_guard();
            attend(watcher, &mut events, &mut newest, marks, end, stop, &finished).await
        };
        let recording = async {
            let _end_all = finished.clone().drop_guard();
            // By itself it ends only with an error.
            finished.run_until_cancelled(record(sampler, folder, phase_seen, rows)).await.map_or(Ok(()), Err)
        };
        let probing = async {
            match probe {
                Some(mut probe) => probe::run(&mut *probe.writer, probe.pause, &feed, &finished).await.err(),
                None => None,
            }
        };
        let (attended, recorded, left_behind) = tokio::join!(watching, recording, probing);
        recorded?;
        if let Some(what) = feed.after_the_last_row() {
            events.record(EventKind::Note, Some(&primary), None, what)?;
        }
        Ok(Watched { ending: attended?, left_behind })
    }
}

/// Writes what the rows show and what the user marks.
async fn attend(
    mut watcher: Watcher,
    events: &mut EventRecorder,
    rows: &mut watch::Receiver<SharedRow>,
    marks: &mut mpsc::Receiver<Mark>,
    end: Instant,
    stop: &CancellationToken,
    no_more_rows: &CancellationToken,
) -> Result<Ending, ExperimentError> {
    let mut marked = 0_u32;
    loop {
        tokio::select! {
            () = stop.cancelled() => {
                events.record(EventKind::Interrupted, None, None, "stopped by the user")?;
                return Ok(Ending::Interrupted);
            }
            () = sleep_until(end) => return Ok(Ending::Completed),
            // They could not be written, which is told by whoever writes them.
            () = no_more_rows.cancelled() => return Ok(Ending::GaveUp),
            Some(Mark { at, by }) = marks.recv() => {
                marked += 1;
                // What follows the first is judged: a second one may be a slip of the finger, or the end of it.
                match marked {
                    1 => events.record_at(at, EventKind::Fault, None, None, format!("marked by {by}"))?,
                    again => events.record_at(
                        at, EventKind::Note, None, None, format!("marked again ({again}) by {by}"),
                    )?,
                }
            }
            Ok(()) = rows.changed() => {
                let Some(row) = rows.borrow_and_update().clone() else { continue };
                for seen in watcher.see(&row) {
                    events.record_seen(&row, seen.kind, seen.node.as_deref(), seen.detail)?;
                }
            }
        }
    }
}
