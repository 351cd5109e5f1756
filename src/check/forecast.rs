//! How long replay of a backlog takes, from what was seen: always a formula whose inputs are shown beside it.

use serde::Serialize;

use super::facts::{Primary, ReplaySample, Seen, Standby, WalSample};
use crate::explain::{Cost, Machine};
use crate::human;

/// Below this many reads in the interval their density says little.
const ENOUGH_READS: u64 = 100;

/// Below this many page images since the reset the share of them that was prefetched says little.
const ENOUGH_IMAGES: u64 = 1_000;

/// Less than this is no backlog: a record that has been received in part, or is being replayed at that moment.
const NEGLIGIBLE_BYTES: u64 = 64 << 10;

/// Reads for a byte of WAL that is nothing but images of whole pages: one for each page of 8 kB. The lab's updates,
/// which touch three rows of every page, have 7.7 kB of WAL for a prefetch.
const IMAGES_ALONE: f64 = 1.0 / 8192.0;

/// What replay did between the two looks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pace {
    /// The interval, seconds.
    pub seconds: f64,
    /// WAL replayed a second, bytes.
    pub bytes_per_s: f64,
    /// Blocks prefetched a second; null where the server does not tell.
    pub prefetches_per_s: Option<f64>,
    /// Pages that replay read itself a second, those that had been prefetched included; null where the server does
    /// not tell (before 16).
    pub startup_reads_per_s: Option<f64>,
    /// Was there WAL left to replay both times, so that this is as fast as it goes; else it may go faster.
    pub behind: bool,
}

/// Where a number of reads for a byte of WAL was taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DensityFrom {
    /// What was replayed in the interval.
    Interval,
    /// The counters since their reset: the share of page images that was followed by a prefetch, and the primary's
    /// page images for a byte of WAL.
    SinceReset,
    /// WAL that is nothing but page images, one prefetch for each.
    ImagesAlone,
}

/// Reads for a byte of WAL.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Density {
    /// How many.
    pub reads_per_byte: f64,
    /// By what.
    pub from: DensityFrom,
}

/// Where a length of time was taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HangFrom {
    /// Nothing to speak of is left to replay.
    NoBacklog,
    /// The pace of the interval.
    Pace,
    /// The number of reads and the IOPS that were given.
    Iops,
    /// `recovery_min_apply_delay`.
    ApplyDelay,
}

/// Which backlog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BacklogFrom {
    /// What the standby has and has not replayed now.
    Now,
    /// What it would replay after a restart: all since its last restartpoint.
    Restart,
    /// As much as the primary writes from one checkpoint to the next when it writes fast: `max_wal_size`.
    MaxWalSize,
}

/// What replaying a backlog takes. Null is not known.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Forecast {
    /// The backlog, bytes of WAL.
    pub bytes: u64,
    /// Which it is.
    pub bytes_from: BacklogFrom,
    /// Reads of 8 kB that it takes.
    pub reads: Option<u64>,
    /// How they were reckoned.
    pub reads_from: Option<DensityFrom>,
    /// How long commits hang, seconds.
    pub hang_s: Option<f64>,
    /// How that was reckoned.
    pub hang_from: Option<HangFrom>,
    /// The reckoning with its inputs.
    pub formula: String,
}

impl Pace {
    /// Of the two looks at a standby.
    #[must_use]
    pub fn of(standby: &Standby) -> Option<Self> {
        let (from, to) = (standby.samples.0.value()?, standby.samples.1.value()?);
        let seconds = to.at_s - from.at_s;
        let grown = |earlier: Option<u64>, later: Option<u64>| {
            // A counter that was reset meanwhile says nothing.
            later?.checked_sub(earlier?).filter(|_| seconds > 0.0).map(|grown| grown as f64 / seconds)
        };
        let has_backlog = |sample: &ReplaySample| {
            sample.receive_lsn.zip(sample.replay_lsn).is_some_and(|(received, replayed)| received > replayed)
        };
        Some(Self {
            seconds,
            bytes_per_s: grown(from.replay_lsn, to.replay_lsn)?,
            prefetches_per_s: grown(from.prefetched, to.prefetched),
            startup_reads_per_s: grown(from.startup_reads, to.startup_reads),
            behind: has_backlog(from) && has_backlog(to),
        })
    }
}

impl Density {
    /// Of what was replayed in the interval, by a standby that prefetches, or by one that does not.
    ///
    /// Not every prefetch is a read: the operating system may have the page. Where there were more of them than the
    /// disk allows reads, the rest was none.
    #[must_use]
    pub fn of_interval(pace: &Pace, prefetches: bool, iops: Option<u64>) -> Option<Self> {
        let counted = if prefetches { pace.prefetches_per_s } else { pace.startup_reads_per_s }?;
        let enough = counted * pace.seconds >= ENOUGH_READS as f64 && pace.bytes_per_s > 0.0;
        let per_s = iops.map_or(counted, |iops| counted.min(iops as f64));
        enough.then(|| Self { reads_per_byte: per_s / pace.bytes_per_s, from: DensityFrom::Interval })
    }

    /// Of the counters since their reset, of a standby that prefetches WAL with page images.
    #[must_use]
    pub fn since_reset(replay: &ReplaySample, wal: &WalSample) -> Option<Self> {
        let (prefetched, images) = (replay.prefetched?, replay.images?);
        let enough = images >= ENOUGH_IMAGES && wal.images >= ENOUGH_IMAGES && wal.bytes > 0;
        let for_an_image = prefetched as f64 / images.max(1) as f64;
        let images_per_byte = wal.images as f64 / wal.bytes.max(1) as f64;
        enough
            .then_some(Self { reads_per_byte: for_an_image * images_per_byte, from: DensityFrom::SinceReset })
    }

    /// Of WAL that is page images alone.
    #[must_use]
    pub fn images_alone() -> Self {
        Self { reads_per_byte: IMAGES_ALONE, from: DensityFrom::ImagesAlone }
    }

    fn reads(self, bytes: u64) -> u64 {
        // A cast from f64 ends at the integer's bounds.
        (self.reads_per_byte * bytes as f64).round() as u64
    }
}

/// What is known of a standby when its backlogs are reckoned.
#[derive(Debug, Clone, Copy)]
pub struct Inputs {
    /// Its pace.
    pub pace: Option<Pace>,
    /// Reads for a byte of what it replays now.
    pub density: Option<Density>,
    /// Reads for a byte at the worst.
    pub worst_density: Option<Density>,
    /// `recovery_min_apply_delay`, seconds.
    pub delay_s: f64,
    /// Reads a second that its disk allows, as given.
    pub iops: Option<u64>,
}

impl Inputs {
    /// Of the backlog as it is now.
    #[must_use]
    pub fn now(&self, bytes: u64) -> Forecast {
        let pace = self.pace.filter(|pace| pace.bytes_per_s > 0.0 && self.delay_s <= 0.0);
        self.forecast(bytes, BacklogFrom::Now, self.density, pace)
    }

    /// Of a backlog that is not there yet: the pace of the interval, which is that of other WAL, says nothing of it.
    #[must_use]
    pub fn worst(&self, bytes: u64, from: BacklogFrom) -> Forecast {
        self.forecast(bytes, from, self.worst_density, None)
    }

    fn forecast(
        &self,
        bytes: u64,
        bytes_from: BacklogFrom,
        density: Option<Density>,
        pace: Option<Pace>,
    ) -> Forecast {
        let density = density.filter(|_| bytes > 0);
        let reads = if bytes == 0 { Some(0) } else { density.map(|density| density.reads(bytes)) };
        let by_iops =
            self.iops.zip(reads).and_then(|(iops, reads)| seconds_at(reads, iops).map(|s| (iops, s)));
        let by_pace = pace.map(|pace| bytes as f64 / pace.bytes_per_s);
        let is_measured = pace.is_some_and(|pace| pace.behind);
        let (replay_s, from) = match (by_pace, by_iops) {
            _ if bytes < NEGLIGIBLE_BYTES => (Some(0.0), Some(HangFrom::NoBacklog)),
            (Some(seconds), _) if is_measured => (Some(seconds), Some(HangFrom::Pace)),
            (_, Some((_, seconds))) => (Some(seconds), Some(HangFrom::Iops)),
            // At most: it was not busy all the time.
            (Some(seconds), None) => (Some(seconds), Some(HangFrom::Pace)),
            (None, None) => (None, None),
        };
        let mut forecast = Forecast {
            bytes,
            bytes_from,
            reads,
            reads_from: density.map(|density| density.from),
            hang_s: replay_s,
            hang_from: from,
            formula: formula(bytes, density.zip(reads), pace.zip(by_pace), by_iops),
        };
        if self.delay_s > replay_s.unwrap_or_default() {
            forecast.hang_s = Some(self.delay_s);
            forecast.hang_from = Some(HangFrom::ApplyDelay);
            forecast.formula = format!(
                "recovery_min_apply_delay: the last commit received is replayed {} after it was made",
                human::seconds(self.delay_s)
            );
        }
        forecast
    }
}

/// Seconds that so many reads take, by the lab's own model of cost. That the WAL itself has to be read again is left
/// out: how much memory the standby has cannot be seen.
#[must_use]
pub fn seconds_at(reads: u64, iops: u64) -> Option<f64> {
    let machine = Machine { read_iops: Some(iops), cache_bytes: None, read_ahead_bytes: 128 << 10 };
    Cost::new(reads, 0, &machine).replay_s
}

fn formula(
    bytes: u64,
    reads: Option<(Density, u64)>,
    pace: Option<(Pace, f64)>,
    by_iops: Option<(u64, f64)>,
) -> String {
    if bytes == 0 {
        return "nothing is left to replay".to_owned();
    }
    let backlog = human::bytes(bytes as f64);
    let mut parts = Vec::new();
    if let Some((density, reads)) = reads {
        let of = match density.from {
            DensityFrom::Interval => "of the interval",
            DensityFrom::SinceReset => "of the counters since their reset",
            DensityFrom::ImagesAlone => "of WAL that is page images alone",
        };
        parts.push(format!(
            "{backlog} x {:.1} reads/MB {of} = {} reads",
            density.reads_per_byte * f64::from(1 << 20),
            human::count(reads)
        ));
    }
    if let Some((iops, seconds)) = by_iops {
        parts.push(format!("/ {iops} IOPS = {}", human::seconds(seconds)));
    }
    if let Some((pace, seconds)) = pace {
        let rate = human::bytes(pace.bytes_per_s);
        parts.push(format!(
            "{backlog} / {rate}/s, the pace of the last {} = {}",
            human::seconds(pace.seconds),
            human::seconds(seconds)
        ));
    }
    if parts.is_empty() {
        format!("{backlog}; how many reads that takes is not known")
    } else {
        parts.join("; ")
    }
}

/// The largest backlog that is credible, and why: what is there now, what a restart would replay, or what the primary
/// writes between two checkpoints.
#[must_use]
pub fn worst_backlog(primary: &Primary, standby: &Standby, now: Option<u64>) -> Option<(u64, BacklogFrom)> {
    let latest = latest(&standby.samples);
    let received = latest.and_then(|sample| sample.receive_lsn.or(sample.replay_lsn));
    let since_redo = received.zip(standby.redo_lsn.value()).map(|(end, redo)| end.saturating_sub(*redo));
    let max_wal_size = primary.identity.number("max_wal_size").and_then(|size| u64::try_from(size).ok());
    [(now, BacklogFrom::Now), (since_redo, BacklogFrom::Restart), (max_wal_size, BacklogFrom::MaxWalSize)]
        .into_iter()
        .filter_map(|(bytes, from)| Some((bytes?, from)))
        .max_by_key(|(bytes, _)| *bytes)
}

/// The second look, or the first where there is no second.
#[must_use]
pub fn latest<T>(samples: &(Seen<T>, Seen<T>)) -> Option<&T> {
    samples.1.value().or(samples.0.value())
}
