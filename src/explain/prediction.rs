//! What a larger run would do, from the WAL of a smaller one.

use serde::Serialize;

use super::cost::{Cost, Machine};
use crate::profile::{Prefetch, Profile};
use crate::store::{RunInfo, Stretch, WalAccount};
use crate::wal::StandbySettings;

/// Why a run says nothing of a profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotComparable {
    /// Nothing limits the reads of the profile's standby.
    #[error("{0} of the profile has no cap on its reads: how fast it replays is not a matter of reads")]
    NoCap(String),
    /// The run has none itself.
    #[error("the run is of servers that were only watched: it has no update whose size could be scaled")]
    NoProfile,
    /// There is no account of the update.
    #[error("there is no account of the run's update: its wal.json is missing, or it ended too early")]
    NoAccount,
    /// A setting that decides which pages are read differs.
    #[error(
        "the profile's {what} is {theirs} and the run's was {ours}: its reads would be of another kind, not more of \
         the same; run a small profile that has it so"
    )]
    Differs {
        /// Which.
        what: &'static str,
        /// In the run.
        ours: String,
        /// In the profile.
        theirs: String,
    },
    /// The profile's faulted node is no standby.
    #[error("the profile's fault is for {0}, which is no standby of it")]
    NoStandby(String),
}

/// What the run of another profile would do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    /// How many times as many rows its update changes.
    pub factor: f64,
    /// Does its standby prefetch; taken from the run.
    pub recovery_prefetch: Prefetch,
    /// Cap on the standby's reads a second.
    pub read_iops_cap: u64,
    /// WAL of its update, bytes.
    pub wal_bytes: u64,
    /// Reads of pages that replaying all of it takes.
    pub page_reads: u64,
    /// Seconds from the start of the update to the fault: the primary's reads at its own cap, and the profile's pause.
    pub until_fault_s: f64,
    /// Reads of WAL that waits for its replay longer than memory can keep it.
    pub wal_reads: u64,
    /// Reads that are left at the fault, of pages and of WAL.
    pub predicted_reads: u64,
    /// Seconds to replay what is left at the fault: as long as commits hang.
    pub predicted_replay_s: f64,
}

impl Prediction {
    /// Scales what a run's update made its standby do to the size and the machines of a profile.
    ///
    /// Pages that are touched, and WAL, grow with the number of rows that the update changes, as long as it changes
    /// the same share of them. Meanwhile the standby replays: as much as its cap lets it read from the start of the
    /// update to the fault. How long the update runs is the primary's reads at the primary's cap; it reads the same
    /// pages, but in the order in which they lie, as much at a time as its disk reads ahead.
    ///
    /// # Errors
    /// When the profile differs from the run in more than size, machines and times.
    pub fn of(run: &RunInfo, account: &WalAccount, profile: &Profile) -> Result<Self, NotComparable> {
        let range = account.ranges.iter().find(|range| range.stretch == Stretch::Update);
        let range = range.ok_or(NotComparable::NoAccount)?;
        let own = run.profile().ok_or(NotComparable::NoProfile)?;
        same("update.fraction", own.update.fraction, profile.update.fraction)?;
        let page_images = |profile: &Profile| {
            profile.postgres.common.get("full_page_writes").cloned().unwrap_or_else(|| "on".to_owned())
        };
        same("full_page_writes", page_images(own), page_images(profile))?;
        let node = &profile.fault.node;
        let standby = profile.standby.iter().find(|standby| standby.name == *node);
        let standby = standby.ok_or_else(|| NotComparable::NoStandby(node.clone()))?;
        same("read_ahead_kb", account.model.read_ahead_pages * 8, standby.machine.read_ahead_kb)?;

        let factor = profile.accounts() as f64 / own.accounts() as f64;
        let cap = standby.machine.read_iops.cap().ok_or_else(|| NotComparable::NoCap(node.clone()))?;
        let settings = StandbySettings::of(
            &profile.effective_settings(node),
            run.server.version_num,
            standby.machine.read_ahead_kb,
        );
        let machine = Machine::of(&standby.machine, settings.model.shared_buffers_pages, Some(cap));
        let prefetch = StandbySettings::of_run(run, run.faulted()).prefetch;
        let unscaled = Cost::of(range, prefetch, &Machine { cache_bytes: None, ..machine });
        let page_reads = scaled(unscaled.page_reads, factor);
        let wal_bytes = scaled(range.bytes(), factor);

        let touched = scaled(range.total.reads_with_prefetch(), factor);
        let primary_reads = touched / (u64::from(profile.primary.read_ahead_kb) / 8).max(1);
        // Without a cap the primary's reads take no time worth counting.
        let update_s = profile.primary.read_iops.cap().map_or(0.0, |cap| primary_reads as f64 / cap as f64);
        let until_fault_s = update_s + profile.fault.after.as_secs_f64();
        // A cast from f64 ends at the integer's bounds.
        let replayed = (until_fault_s * cap as f64) as u64;
        let pages_left = page_reads.saturating_sub(replayed);
        let share_left = if page_reads == 0 { 0.0 } else { pages_left as f64 / page_reads as f64 };
        let left = Cost::new(pages_left, scaled(wal_bytes, share_left), &machine);
        Ok(Self {
            factor,
            recovery_prefetch: prefetch,
            read_iops_cap: cap,
            wal_bytes,
            page_reads,
            until_fault_s,
            wal_reads: left.wal_reads,
            predicted_reads: left.reads,
            predicted_replay_s: left.reads as f64 / cap as f64,
        })
    }
}

fn scaled(count: u64, factor: f64) -> u64 {
    (count as f64 * factor).round() as u64
}

fn same<T: PartialEq + ToString>(what: &'static str, ours: T, theirs: T) -> Result<(), NotComparable> {
    if ours == theirs {
        return Ok(());
    }
    Err(NotComparable::Differs { what, ours: ours.to_string(), theirs: theirs.to_string() })
}
