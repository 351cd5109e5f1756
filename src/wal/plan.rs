//! What to count: the stretches of WAL that matter to a run, and the standby that replays them.

use crate::profile::{Bytes, Prefetch, Settings, setting_size};
use crate::store::{Event, EventKind, Metric, RunInfo, Stretch, Timeline, WalModel};

/// Bytes of a page.
const PAGE: u64 = 8192;

/// Read-ahead that Linux gives a disk unless told otherwise, kB.
pub const LINUX_READ_AHEAD_KB: u32 = 128;

/// Stretches of WAL, and where to begin to read: before them, so that what earlier WAL brought into the buffers is
/// known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranges {
    /// Where to begin, if not with the first WAL there is; bytes from 0/0.
    pub start: Option<u64>,
    /// Where to end, if not with the last; bytes from 0/0.
    pub end: Option<u64>,
    stretches: Vec<(Stretch, u64, u64)>,
}

impl Ranges {
    /// All there is, as one stretch.
    #[must_use]
    pub fn whole() -> Self {
        Self { start: None, end: None, stretches: vec![(Stretch::Whole, 0, u64::MAX)] }
    }

    /// The update and the backlog of the standby that a run's fault is for; none when it did not come as far as an update.
    #[must_use]
    pub fn of(standby: &str, timeline: &Timeline, events: &[Event]) -> Option<Self> {
        let update = Replayed::update(standby, timeline, events)?.wal;
        let (_, first) = timeline.series(standby, &Metric::ReplayLsn).next()?;
        let mut stretches = vec![(Stretch::Update, update.0, update.1)];
        let backlog = Replayed::backlog(standby, timeline, events);
        stretches.extend(backlog.map(|backlog| (Stretch::Backlog, backlog.wal.0, backlog.wal.1)));
        let end = stretches.iter().map(|stretch| stretch.2).max();
        let start = stretches.iter().map(|stretch| stretch.1).fold(first as u64, u64::min);
        Some(Self { start: Some(start), end, stretches })
    }

    /// Each stretch: which, from, to.
    pub(super) fn stretches(&self) -> impl Iterator<Item = (Stretch, u64, u64)> {
        self.stretches.iter().copied()
    }
}

/// When the faulted standby had replayed a stretch of WAL, and what its counters did meanwhile.
#[derive(Debug)]
pub struct Replayed<'a> {
    timeline: &'a Timeline,
    standby: &'a str,
    /// What was replayed, from and to, bytes from 0/0.
    pub wal: (u64, u64),
    /// When it began, on the run's clock, seconds.
    pub from_s: f64,
    /// When it was done; none when the run did not see that.
    pub to_s: Option<f64>,
}

impl<'a> Replayed<'a> {
    /// The WAL of the update, from the update's start on, at this standby.
    #[must_use]
    pub fn update(standby: &'a str, timeline: &'a Timeline, events: &[Event]) -> Option<Self> {
        let started = events.iter().find(|event| event.kind == EventKind::UpdateStarted)?;
        // The end of WAL is that of what was written. When the statements had run, their last WAL was not yet; when
        // the commit was acknowledged, it was.
        let end = [EventKind::UpdateCommitted, EventKind::UpdateExecuted]
            .into_iter()
            .find_map(|kind| events.iter().find(|event| event.kind == kind)?.lsn)?;
        Some(Self::new(standby, timeline, started.t_s, (started.lsn?, end)))
    }

    /// What this standby had and had not replayed at the fault, from the fault on; where the fault took the server down,
    /// all that it replays anew when it is started again, from its last restartpoint on. Between two rows replay is taken
    /// to go on evenly.
    #[must_use]
    pub fn backlog(standby: &'a str, timeline: &'a Timeline, events: &[Event]) -> Option<Self> {
        let fault_s = events.iter().find(|event| event.kind == EventKind::Fault)?.t_s;
        let replayed = at(timeline, standby, &Metric::ReplayLsn, fault_s)?;
        let mut received = timeline.series(standby, &Metric::ReceiveLsn);
        let (_, received) = received.find(|(t_s, _)| *t_s >= fault_s)?;
        // Casts of floats saturate; LSNs are exact in them up to 8 PB.
        let (replayed, received) = (replayed as u64, received as u64);
        let (from_s, from) = restarted(events).unwrap_or((fault_s, replayed));
        Some(Self::new(standby, timeline, from_s, (from, received.max(replayed))))
    }

    fn new(standby: &'a str, timeline: &'a Timeline, from_s: f64, wal: (u64, u64)) -> Self {
        let to_s = if wal.0 == wal.1 { Some(from_s) } else { reached(timeline, standby, wal.1) };
        Self { timeline, standby, wal, from_s, to_s: to_s.map(|to_s| to_s.max(from_s)) }
    }

    /// Seconds it took.
    #[must_use]
    pub fn seconds(&self) -> Option<f64> {
        Some(self.to_s? - self.from_s)
    }

    /// How much a counter of the standby grew meanwhile.
    #[must_use]
    pub fn growth(&self, metric: &Metric) -> Option<f64> {
        let value = |t_s| at(self.timeline, self.standby, metric, t_s);
        Some(value(self.to_s?)? - value(self.from_s)?).filter(|growth| *growth >= 0.0)
    }
}

/// When the server that the fault took down was started again, and where its replay began. It has lost its buffers, and
/// its disk, mounted anew, what the operating system had of it.
pub(crate) fn restarted(events: &[Event]) -> Option<(f64, u64)> {
    let started = events.iter().find(|event| event.kind == EventKind::FaultEnded)?;
    Some((started.t_s, started.lsn?))
}

/// When replay came to this place. Where that was between two rows, replay is taken to have gone on as fast as between
/// the two before.
fn reached(timeline: &Timeline, standby: &str, end: u64) -> Option<f64> {
    let (mut earlier, mut before) = (None::<(f64, f64)>, None);
    for point in timeline.series(standby, &Metric::ReplayLsn) {
        if point.1 < end as f64 {
            (earlier, before) = (before, Some(point));
            continue;
        }
        let expected = earlier.zip(before).and_then(|(earlier, before)| {
            let rate = (before.1 - earlier.1) / (before.0 - earlier.0);
            (rate > 0.0).then(|| before.0 + (end as f64 - before.1) / rate)
        });
        return Some(expected.map_or(point.0, |expected| expected.min(point.0)));
    }
    None
}

/// The value of a column at a moment, between the rows around it.
fn at(timeline: &Timeline, standby: &str, metric: &Metric, t_s: f64) -> Option<f64> {
    let mut before = None;
    for point in timeline.series(standby, metric) {
        match before {
            _ if point.0 < t_s => before = Some(point),
            None => return (point.0 == t_s).then_some(point.1),
            Some((earlier_s, earlier)) => {
                let share = (t_s - earlier_s) / (point.0 - earlier_s);
                return Some(earlier + (point.1 - earlier) * share);
            }
        }
    }
    None
}

/// The settings of a standby that decide what replay reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StandbySettings {
    /// Does it prefetch: by `recovery_prefetch`, and by `maintenance_io_concurrency`, which switches it off at 0.
    pub prefetch: Prefetch,
    /// What the model needs to know.
    pub model: WalModel,
}

impl StandbySettings {
    /// From the settings that are not the server's defaults, from those for the rest, and from the read-ahead of the
    /// disk.
    #[must_use]
    pub fn of(settings: &Settings, version_num: u32, read_ahead_kb: u32) -> Self {
        let read_ahead_pages = (read_ahead_kb / 8).max(1);
        let setting = |name: &str| settings.get(name).map(String::as_str);
        let default_concurrency = if version_num < 180_000 { 10 } else { 16 };
        let concurrency = setting("maintenance_io_concurrency").and_then(|text| text.parse().ok());
        let prefetch = setting("recovery_prefetch").and_then(|text| text.parse().ok());
        Self {
            prefetch: if concurrency == Some(0) { Prefetch::Off } else { prefetch.unwrap_or(Prefetch::Try) },
            model: WalModel {
                shared_buffers_pages: setting("shared_buffers")
                    .and_then(setting_size)
                    .map_or(16_384, |size| size.0 / PAGE),
                maintenance_io_concurrency: concurrency
                    .filter(|concurrency| *concurrency > 0)
                    .unwrap_or(default_concurrency),
                read_ahead_pages,
                wal_decode_buffer_bytes: setting("wal_decode_buffer_size")
                    .and_then(bytes)
                    .unwrap_or(512 << 10),
            },
        }
    }

    /// Of this standby of a run.
    #[must_use]
    pub fn of_run(run: &RunInfo, standby: &str) -> Self {
        let mut settings =
            run.profile().map(|profile| profile.effective_settings(standby)).unwrap_or_default();
        let node = run.nodes.iter().find(|node| node.name == standby);
        settings.extend(node.map(|node| node.settings.clone()).unwrap_or_default());
        let read_ahead_kb = node.and_then(|node| node.read_ahead_kb).unwrap_or(LINUX_READ_AHEAD_KB);
        Self::of(&settings, run.server.version_num, read_ahead_kb)
    }
}

/// A size of which a bare number is bytes.
fn bytes(text: &str) -> Option<u64> {
    text.parse().ok().or_else(|| text.parse::<Bytes>().ok().map(|size| size.0))
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
