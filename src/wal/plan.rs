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

    /// The update and the backlog of a run; none when it did not come as far as an update.
    #[must_use]
    pub fn of(run: &RunInfo, timeline: &Timeline, events: &[Event]) -> Option<Self> {
        let lsn = |kind| events.iter().find(|event| event.kind == kind)?.lsn;
        let update = (lsn(EventKind::UpdateStarted)?, lsn(EventKind::UpdateExecuted)?);
        let standby = &run.profile.fault.node;
        let (_, first) = timeline.series(standby, &Metric::ReplayLsn).next()?;
        let mut stretches = vec![(Stretch::Update, update.0, update.1)];
        let backlog = Moments::of(run, timeline, events).and_then(|moments| moments.backlog());
        stretches.extend(backlog.map(|(from, to)| (Stretch::Backlog, from, to)));
        let end = stretches.iter().map(|stretch| stretch.2).max();
        Some(Self { start: Some((first as u64).min(update.0)), end, stretches })
    }

    /// Each stretch: which, from, to.
    pub(super) fn stretches(&self) -> impl Iterator<Item = (Stretch, u64, u64)> {
        self.stretches.iter().copied()
    }
}

/// When the standby's replay was where, after the fault.
#[derive(Debug)]
pub struct Moments<'a> {
    timeline: &'a Timeline,
    standby: &'a str,
    fault_s: f64,
}

impl<'a> Moments<'a> {
    /// Of the faulted standby; none without a fault.
    #[must_use]
    pub fn of(run: &'a RunInfo, timeline: &'a Timeline, events: &[Event]) -> Option<Self> {
        let fault_s = events.iter().find(|event| event.kind == EventKind::Fault)?.t_s;
        Some(Self { timeline, standby: &run.profile.fault.node, fault_s })
    }

    /// What the standby had and had not replayed at the fault: from and to, bytes from 0/0. Between two rows replay
    /// is taken to go on evenly.
    #[must_use]
    pub fn backlog(&self) -> Option<(u64, u64)> {
        let replayed = self.at(&Metric::ReplayLsn, self.fault_s)?;
        let mut received = self.timeline.series(self.standby, &Metric::ReceiveLsn);
        let (_, received) = received.find(|(t_s, _)| *t_s >= self.fault_s)?;
        // Casts of floats saturate; LSNs are exact in them up to 8 PB.
        Some((replayed as u64, (received as u64).max(replayed as u64)))
    }

    /// From the fault until all of the backlog was replayed: when it was, on the run's clock, seconds. Replay that
    /// ends between two rows is taken to have gone on as fast as between the two before.
    #[must_use]
    pub fn replayed_at(&self) -> Option<f64> {
        let (from, end) = self.backlog()?;
        if end == from {
            return Some(self.fault_s);
        }
        let points: Vec<(f64, f64)> = self.timeline.series(self.standby, &Metric::ReplayLsn).collect();
        let reached = points.iter().position(|(_, lsn)| *lsn >= end as f64)?;
        let at = points.get(reached)?.0;
        let (Some(before), Some(earlier)) =
            (points.get(reached.wrapping_sub(1)), points.get(reached.wrapping_sub(2)))
        else {
            return Some(at.max(self.fault_s));
        };
        let rate = (before.1 - earlier.1) / (before.0 - earlier.0);
        let expected = before.0 + (end as f64 - before.1) / rate;
        let between = if rate > 0.0 { expected.min(at) } else { at };
        Some(between.max(self.fault_s))
    }

    /// Seconds it took to replay the backlog.
    #[must_use]
    pub fn replay_s(&self) -> Option<f64> {
        Some(self.replayed_at()? - self.fault_s)
    }

    /// How much a counter of the standby grew while it replayed the backlog.
    #[must_use]
    pub fn growth(&self, metric: &Metric) -> Option<f64> {
        let (before, after) = (self.at(metric, self.fault_s)?, self.at(metric, self.replayed_at()?)?);
        Some(after - before).filter(|growth| *growth >= 0.0)
    }

    /// The value of a column at a moment, between the rows around it.
    fn at(&self, metric: &Metric, t_s: f64) -> Option<f64> {
        let mut before = None;
        for point in self.timeline.series(self.standby, metric) {
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

    /// Of the standby that a run's fault happens to.
    #[must_use]
    pub fn of_run(run: &RunInfo) -> Self {
        let standby = &run.profile.fault.node;
        let mut settings = run.profile.effective_settings(standby);
        let node = run.nodes.iter().find(|node| node.name == *standby);
        settings.extend(node.map(|node| node.settings.clone()).unwrap_or_default());
        let read_ahead_kb = node.and_then(|node| node.read_ahead_kb).unwrap_or(LINUX_READ_AHEAD_KB);
        Self::of(&settings, run.server.version_num, read_ahead_kb)
    }
}

/// A size of which a bare number is bytes.
fn bytes(text: &str) -> Option<u64> {
    text.parse().ok().or_else(|| text.parse::<Bytes>().ok().map(|size| size.0))
}
