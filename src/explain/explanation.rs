//! The reads of a run, told apart by what they were good for.

use serde::Serialize;

use super::cost::{Cost, Machine, PAGE};
use super::measured::Measured;
use crate::profile::Prefetch;
use crate::store::{Event, Metric, RunInfo, Stretch, Summary, Timeline, WalAccount, WalModel, WalRange};
use crate::wal::{Replayed, StandbySettings, restarted};

/// By how much prediction and measurement may differ before it is said, as a share of the measurement.
const AGREE: f64 = 0.1;

/// Below this many reads, or seconds, a difference between prediction and measurement says nothing.
const FEW_READS: u64 = 200;
const FEW_SECONDS: f64 = 3.0;

/// What is to be known of a run of a patched server.
const OWN_BUILD: &str = "the server is a build of its user's own, and the model is of PostgreSQL's own prefetcher: what \
                         the two differ in, the build may have changed";

/// Below this share of the cap it is not the cap that replay waits for.
const AT_THE_CAP: f64 = 0.9;

/// Why replay took as long as it did. The figures of the first lines are those of the arm as it ran; one that is not
/// known is null.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// Name of the arm; none for WAL without a run.
    pub arm: Option<String>,
    /// Does the standby prefetch: `recovery_prefetch`, or `off` where `maintenance_io_concurrency` is 0.
    pub recovery_prefetch: Prefetch,
    /// Cap on its reads a second.
    pub read_iops_cap: Option<u64>,
    /// Prefetches of pages that replay then put another page in the place of.
    pub needless_prefetches: Option<u64>,
    /// The other prefetches.
    pub useful_prefetches: Option<u64>,
    /// Bytes of the pages that were prefetched needlessly.
    pub needless_bytes: Option<u64>,
    /// Of all reads, the share that needless prefetches made.
    pub needless_read_share: Option<f64>,
    /// Reads of the backlog, by its WAL.
    pub predicted_reads: Option<u64>,
    /// Seconds they take at the cap.
    pub predicted_replay_s: Option<f64>,
    /// Reads from the fault until the backlog had been replayed.
    pub measured_reads: Option<u64>,
    /// Seconds of it.
    pub measured_replay_s: Option<f64>,
    /// The backlog at the fault, or all WAL where there was no run.
    pub backlog: Option<Part>,
    /// The update.
    pub update: Option<Part>,
    /// What was measured of the backlog.
    pub measured: Measured,
    /// What the model took the standby for.
    pub model: Option<WalModel>,
    /// What limits this, or what differs and why.
    pub notes: Vec<String>,
}

/// One stretch of WAL.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    /// What became of its block references.
    pub range: WalRange,
    /// What it costs a standby that prefetches.
    pub with_prefetch: Cost,
    /// What it costs one that does not.
    pub without_prefetch: Cost,
    /// Reads the standby's disk made while it was replayed, if that was measured.
    pub measured_reads: Option<u64>,
}

impl Part {
    fn of(account: &WalAccount, stretch: Stretch, machine: &Machine, measured: Option<u64>) -> Option<Self> {
        let range = account.ranges.iter().find(|range| range.stretch == stretch)?.clone();
        Some(Self {
            with_prefetch: Cost::of(&range, Prefetch::Try, machine),
            without_prefetch: Cost::of(&range, Prefetch::Off, machine),
            range,
            measured_reads: measured,
        })
    }

    /// The same, of WAL that took so many seconds to arrive: whoever reads its pages in that time replays it while it is
    /// still in memory.
    fn arriving_in(mut self, seconds: f64, machine: &Machine) -> Self {
        for cost in [&mut self.with_prefetch, &mut self.without_prefetch] {
            let keeps_up = machine.read_iops.is_none_or(|cap| cost.page_reads as f64 <= cap as f64 * seconds);
            if keeps_up {
                *cost = Cost::new(cost.page_reads, 0, machine);
            }
        }
        self
    }

    /// What it costs a standby with this setting.
    #[must_use]
    pub fn cost(&self, prefetch: Prefetch) -> Cost {
        match prefetch {
            Prefetch::Off => self.without_prefetch,
            Prefetch::Try | Prefetch::On => self.with_prefetch,
        }
    }
}

impl Explanation {
    /// Of a run.
    #[must_use]
    pub fn of_run(
        run: &RunInfo,
        timeline: &Timeline,
        events: &[Event],
        summary: &Summary,
        account: Option<&WalAccount>,
    ) -> Self {
        let standby = summary.standby.as_deref().unwrap_or_else(|| run.faulted());
        let settings = StandbySettings::of_run(run, standby);
        let measured = Measured::of(run, standby, timeline, events);
        let mut explanation = Self::empty(settings.prefetch, summary.read_iops_cap);
        explanation.arm = Some(run.arm.clone());
        explanation.measured_reads = measured.reads;
        explanation.measured_replay_s = measured.replay_s;
        let Some(account) = account else {
            explanation.notes = vec![if run.observed().is_some() {
                "there is no wal.json: the lab does not read the WAL of servers that it only watches; \
                 `explain --wal` does, on the standby's host"
                    .to_owned()
            } else {
                "there is no wal.json: the run was ended before its WAL could be read, or is of an older lab"
                    .to_owned()
            }];
            explanation.measured = measured;
            return explanation;
        };
        let profiled =
            run.profile().and_then(|profile| profile.standby.iter().find(|one| one.name == standby));
        let machine = profiled.map(|profiled| {
            Machine::of(&profiled.machine, account.model.shared_buffers_pages, summary.read_iops_cap)
        });
        if let Some(machine) = machine {
            let restarted = restarted(events).is_some();
            // Part of it was replayed twice: no reads were for it alone.
            let update = Replayed::update(standby, timeline, events)
                .filter(|_| !restarted)
                .and_then(|update| update.growth(&Metric::ReadsTotal))
                .map(|reads| reads.round() as u64);
            let of_backlog = if restarted { machine.cold() } else { machine };
            explanation.backlog = Part::of(account, Stretch::Backlog, &of_backlog, measured.reads);
            explanation.update =
                Part::of(account, Stretch::Update, &machine, update).map(|part| match summary.update_s {
                    Some(seconds) => part.arriving_in(seconds, &machine),
                    None => part,
                });
        }
        explanation.measured = measured;
        explanation.fill(account);
        explanation.compare();
        if run.server.build.is_some() {
            explanation.notes.push(OWN_BUILD.to_owned());
        }
        explanation
    }

    /// Of WAL without a run, for a standby with this setting on this machine.
    #[must_use]
    pub fn of_wal(account: &WalAccount, prefetch: Prefetch, machine: &Machine) -> Self {
        let mut explanation = Self::empty(prefetch, machine.read_iops);
        explanation.backlog = Part::of(account, Stretch::Whole, machine, None);
        explanation.fill(account);
        explanation
    }

    fn empty(prefetch: Prefetch, read_iops_cap: Option<u64>) -> Self {
        Self {
            arm: None,
            recovery_prefetch: prefetch,
            read_iops_cap,
            needless_prefetches: None,
            useful_prefetches: None,
            needless_bytes: None,
            needless_read_share: None,
            predicted_reads: None,
            predicted_replay_s: None,
            measured_reads: None,
            measured_replay_s: None,
            backlog: None,
            update: None,
            measured: Measured::default(),
            model: None,
            notes: Vec::new(),
        }
    }

    /// The figures of the backlog, as the arm ran.
    fn fill(&mut self, account: &WalAccount) {
        self.model = Some(account.model);
        if account.unknown_lines > 0 {
            self.notes.push(format!(
                "{} lines of pg_waldump were not understood and are left out",
                crate::human::count(account.unknown_lines)
            ));
        }
        let Some(backlog) = &self.backlog else { return };
        let counts = &backlog.range.total;
        let (needless, useful, needless_reads) = match self.recovery_prefetch {
            Prefetch::Off => (0, 0, 0),
            Prefetch::Try | Prefetch::On => {
                (counts.needless_prefetches, counts.useful_prefetches, counts.needless_reads)
            }
        };
        let cost = backlog.cost(self.recovery_prefetch);
        self.needless_prefetches = Some(needless);
        self.useful_prefetches = Some(useful);
        self.needless_bytes = Some(needless * PAGE);
        self.needless_read_share = (cost.reads > 0).then(|| needless_reads as f64 / cost.reads as f64);
        self.predicted_reads = Some(cost.reads);
        self.predicted_replay_s = cost.replay_s;
    }

    /// Says where prediction and measurement differ, and what the files have to say of it.
    fn compare(&mut self) {
        let Some(backlog) = &self.backlog else { return };
        let cost = backlog.cost(self.recovery_prefetch);
        let measured = &self.measured;
        if let Some(reads) = measured.reads
            && reads.max(cost.reads) >= FEW_READS
            && !agree(cost.reads as f64, reads as f64)
        {
            let wal = measured.wal_reads.unwrap_or_default();
            self.notes.push(format!(
                "the disk made {} reads where the WAL makes for {}; about {} of them were of WAL itself, for which {} \
                 were expected",
                crate::human::count(reads),
                crate::human::count(cost.reads),
                crate::human::count(wal),
                crate::human::count(cost.wal_reads)
            ));
        }
        let (Some(replay_s), Some(predicted_s), Some(cap)) =
            (measured.replay_s, cost.replay_s, self.read_iops_cap)
        else {
            return;
        };
        if replay_s.max(predicted_s) < FEW_SECONDS || agree(predicted_s, replay_s) {
            return;
        }
        let rate = measured.reads.map(|reads| reads as f64 / replay_s);
        if let Some(rate) = rate.filter(|rate| *rate < AT_THE_CAP * cap as f64) {
            self.notes.push(format!(
                "it was not the cap that replay waited for: it read {} of {cap}/s",
                crate::human::rate(rate)
            ));
        }
    }
}

fn agree(predicted: f64, measured: f64) -> bool {
    (predicted - measured).abs() <= AGREE * measured
}
