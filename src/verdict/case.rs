//! The run as the verdict sees it: its moments, its faulted standby, its hang.

use crate::profile::Course;
use crate::store::{CapProof, Column, Event, EventKind, Metric, Row, RunInfo, Timeline};

use super::gaps::{self, Gap};
use super::hang::Hang;
use super::window::{Counter, Start, Window};

/// How old a value may be that stands for the moment of the fault, seconds.
const RECENT_S: f64 = 5.0;

/// What became of commits after the fault.
#[derive(Debug, Clone, Copy)]
enum AfterFault {
    /// There was no fault, or the load never reported after it.
    NotKnown,
    /// Every second had a commit.
    NoGap,
    /// This was the longest stretch without one.
    Longest(Hang),
}

/// The files of a run, with what every judgement needs of them found once.
pub(super) struct Case<'a> {
    pub run: &'a RunInfo,
    pub timeline: &'a Timeline,
    pub events: &'a [Event],
    /// Every gap of the run.
    pub gaps: Vec<Gap>,
    after_fault: AfterFault,
}

impl<'a> Case<'a> {
    pub fn new(run: &'a RunInfo, timeline: &'a Timeline, events: &'a [Event]) -> Self {
        let mut case = Self {
            run,
            timeline,
            events,
            gaps: gaps::gaps(timeline, run.primary()),
            after_fault: AfterFault::NotKnown,
        };
        case.after_fault = case.look_after_fault();
        case
    }

    fn look_after_fault(&self) -> AfterFault {
        let Some(fault) = self.fault() else {
            return AfterFault::NotKnown;
        };
        let reported = |row: &Row| row.number(self.run.primary(), &Metric::Tps).is_some();
        if !self.rows_after(fault.t_s).any(reported) {
            return AfterFault::NotKnown;
        }
        Hang::longest_after(&self.gaps, fault.t_s).map_or(AfterFault::NoGap, AfterFault::Longest)
    }

    /// The longest stretch without a commit after the fault.
    pub fn hang(&self) -> Option<Hang> {
        match self.after_fault {
            AfterFault::Longest(hang) => Some(hang),
            AfterFault::NotKnown | AfterFault::NoGap => None,
        }
    }

    /// Its length; 0 when there was none, nothing when that is not known.
    pub fn hang_s(&self) -> Option<f64> {
        match self.after_fault {
            AfterFault::Longest(hang) => Some(hang.length_s()),
            AfterFault::NoGap => Some(0.0),
            AfterFault::NotKnown => None,
        }
    }

    /// The hang, if it is long enough to be called a stall.
    pub fn long_hang(&self) -> Option<Hang> {
        self.hang().filter(|hang| hang.length_s() >= self.stall_after_s())
    }

    /// From how long on a hang is a stall.
    pub fn stall_after_s(&self) -> f64 {
        self.run.profile.watch.stall_after.as_secs_f64()
    }

    /// Name of the node that the fault happens to.
    pub fn faulted(&self) -> &'a str {
        &self.run.profile.fault.node
    }

    /// Cap on reads of the faulted standby.
    pub fn read_iops_cap(&self) -> Option<u64> {
        let node = self.run.nodes.iter().find(|node| node.name == self.faulted())?;
        node.read_iops_cap
    }

    /// What the probe of the faulted standby's disk measured before the run.
    pub fn cap_proof(&self) -> Option<CapProof> {
        self.run.nodes.iter().find(|node| node.name == self.faulted())?.cap_proof
    }

    /// The first event of this kind.
    pub fn first(&self, kind: EventKind) -> Option<&'a Event> {
        self.events.iter().find(|event| event.kind == kind)
    }

    /// The fault.
    pub fn fault(&self) -> Option<&'a Event> {
        self.first(EventKind::Fault)
    }

    /// From a fault that lasts to when what it broke was put right (or to the end of the run): the time in which the
    /// faulted standby was down or cut off.
    pub fn away(&self) -> Option<Window> {
        if self.run.profile.fault.kind.course() == Course::Moment {
            return None;
        }
        let from_s = self.fault()?.t_s;
        let ended = self.first(EventKind::FaultEnded).map(|event| event.t_s);
        Some(Window { from_s, to_s: ended.or_else(|| self.end_s())? })
    }

    /// The time in which the fault kept the faulted standby's server down.
    pub fn restart(&self) -> Option<Window> {
        self.away().filter(|_| self.run.profile.fault.kind.course() == Course::Down)
    }

    /// A counter of a node, over the restart that the fault itself was.
    pub fn counter(&self, node: &str, metric: &Metric) -> Counter {
        let counter = Counter::of(self.timeline, node, metric);
        let start = match metric {
            // In shared memory, and in a cgroup that is made anew with the container.
            Metric::RecoveryPrefetch(_) | Metric::CpuSecondsTotal => Start::AtZero,
            _ => Start::WhereItFell,
        };
        match self.restart().filter(|_| node == self.faulted()) {
            Some(restart) => counter.across(restart, start),
            None => counter,
        }
    }

    /// Rows that lie after this moment, at least in part.
    pub fn rows_after(&self, t_s: f64) -> impl Iterator<Item = &'a Row> {
        self.timeline.rows.iter().filter(move |row| row.t_s > t_s)
    }

    /// Time of the last row.
    pub fn end_s(&self) -> Option<f64> {
        self.timeline.rows.last().map(|row| row.t_s)
    }

    /// From the start of the update to the end of the run; without an update, all of it.
    pub fn experiment(&self) -> Window {
        Window {
            from_s: self.first(EventKind::UpdateStarted).map_or(0.0, |event| event.t_s),
            to_s: self.end_s().unwrap_or_default(),
        }
    }

    /// The longest gap from the start of the update to the fault (to the end of the run if there was none).
    pub fn longest_gap_before_fault_s(&self) -> Option<f64> {
        let from_s = self.first(EventKind::UpdateStarted)?.t_s;
        let to_s = self.fault().map_or(self.end_s()?, |fault| fault.t_s);
        self.timeline.series(self.run.primary(), &Metric::Tps).next()?;
        let longest = gaps::longest(&self.gaps, Window { from_s, to_s });
        Some(longest.map_or(0.0, |gap| gap.length_s()))
    }

    /// The standby streams again, as the run saw it.
    pub fn streaming_again(&self) -> Option<&'a Event> {
        let fault = self.fault()?;
        self.events.iter().find(|event| {
            event.kind == EventKind::StreamingAgain
                && event.t_s >= fault.t_s
                && event.node.as_deref().is_none_or(|node| node == self.faulted())
        })
    }

    /// From the fault to the event, or, where a run was cut short before it was written, to the first row that shows
    /// the standby streaming after one that shows it not to.
    pub fn time_to_streaming_s(&self) -> Option<f64> {
        let fault = self.fault()?;
        if let Some(event) = self.streaming_again() {
            return Some(event.t_s - fault.t_s);
        }
        self.rows_after(fault.t_s)
            .filter_map(|row| Some((row.t_s, self.streaming(row)?)))
            .skip_while(|(_, streaming)| *streaming)
            .find(|(_, streaming)| *streaming)
            .map(|(t_s, _)| t_s - fault.t_s)
    }

    /// Does the faulted standby stream in this row, where that is known.
    pub fn streaming(&self, row: &Row) -> Option<bool> {
        // A walreceiver that is cut off takes itself to be streaming until it times out.
        if self.away().is_some_and(|away| row.t_s > away.from_s && row.t_s <= away.to_s) {
            return Some(false);
        }
        if let Some(streaming) = row.number(self.faulted(), &Metric::WalreceiverStreaming) {
            return Some(streaming > 0.0);
        }
        // A standby that starts answers nobody until it is consistent, and one behind a full queue answers late: the
        // primary knows whether it is connected.
        let primary_answers = row.number(self.run.primary(), &Metric::WalLsn).is_some();
        let primary_tells = self.timeline.columns.contains(&Column::new(self.faulted(), Metric::SyncState));
        let connected = row.text(self.faulted(), &Metric::SyncState).is_some();
        (primary_tells && primary_answers && !connected).then_some(false)
    }

    /// WAL not replayed, by the row at the fault or the last before it. The two LSNs it comes from are asked for one
    /// after the other, so a standby that is level can look a little ahead: that is a lag of 0.
    pub fn lag_at_fault_bytes(&self) -> Option<u64> {
        let fault_s = self.fault()?.t_s;
        let (_, lag) = self
            .timeline
            .series(self.faulted(), &Metric::LagBytes)
            .take_while(|(t_s, _)| *t_s <= fault_s)
            .last()
            .filter(|(t_s, _)| fault_s - t_s <= RECENT_S)?;
        // Casts of floats saturate: what is below 0 is 0.
        Some(lag as u64)
    }

    /// Ticks of the sampler between the first row and the last for which there is no row.
    pub fn missed_ticks(&self) -> u64 {
        missed(&self.timeline.rows)
    }
}

/// Ticks between the first of these rows and the last for which there is no row.
pub(super) fn missed(rows: &[Row]) -> u64 {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        return 0;
    };
    let ticks = last.tick.saturating_sub(first.tick).saturating_add(1);
    ticks.saturating_sub(rows.len() as u64)
}
