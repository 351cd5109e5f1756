//! The run as the verdict sees it: its moments, its faulted standby, its hang.

use std::collections::BTreeSet;

use crate::profile::{Course, FaultKind};
use crate::store::{CapProof, Event, EventKind, Metric, Row, RunInfo, Timeline};

use super::faulted;
use super::gaps::{self, Gap, Witness};
use super::hang::Hang;
use super::window::{Counter, Start, Window};

/// How old a value may be that stands for the moment of the fault, seconds.
const RECENT_S: f64 = 5.0;

/// What became of commits after the fault.
#[derive(Debug, Clone, Copy)]
enum AfterFault {
    /// There was no fault, or nothing tells whether there were commits after it.
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
    /// What tells whether there were commits.
    pub witness: Witness,
    faulted: &'a str,
    /// Standbys that the primary ever told of.
    connected: BTreeSet<&'a str>,
    after_fault: AfterFault,
}

impl<'a> Case<'a> {
    pub fn new(run: &'a RunInfo, timeline: &'a Timeline, events: &'a [Event]) -> Self {
        let witness = Witness::of(run);
        let mut case = Self {
            run,
            timeline,
            events,
            gaps: gaps::gaps(timeline, run.primary(), witness),
            witness,
            faulted: run.faulted(),
            connected: connected(timeline),
            after_fault: AfterFault::NotKnown,
        };
        case.after_fault = case.look_after_fault();
        if run.observed().is_some() {
            case.faulted = faulted::most_away(&case);
        }
        case
    }

    fn look_after_fault(&self) -> AfterFault {
        let Some(from_s) = self.judged_from_s() else {
            return AfterFault::NotKnown;
        };
        if !self.rows_after(from_s).any(|row| self.stood_still(row).is_some()) {
            return AfterFault::NotKnown;
        }
        Hang::longest_after(&self.gaps, from_s).map_or(AfterFault::NoGap, AfterFault::Longest)
    }

    /// Did commits stand still in the time of this row, where that is known.
    pub fn stood_still(&self, row: &Row) -> Option<bool> {
        self.witness.stood_still(row, self.run.primary())
    }

    /// From when on commits are looked at: the fault; of servers that were only watched and in whose record nothing is
    /// marked, its start.
    pub fn judged_from_s(&self) -> Option<f64> {
        let unmarked = || self.run.observed().map(|_| 0.0);
        self.fault().map(|fault| fault.t_s).or_else(unmarked)
    }

    /// When it broke: the fault; where nothing is marked, the begin of a hang that is long enough to be a stall.
    pub fn broke_s(&self) -> Option<f64> {
        let unmarked = || self.run.observed().and(self.long_hang()).map(|hang| hang.window().from_s);
        self.fault().map(|fault| fault.t_s).or_else(unmarked)
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
        self.run.stall_after().as_secs_f64()
    }

    /// Name of the standby that the fault happens to; of servers that were only watched, of the one that was away.
    pub fn faulted(&self) -> &'a str {
        self.faulted
    }

    /// How the fault goes on; where the lab only watched, its own part in it is over at once.
    fn course(&self) -> Course {
        self.run.fault_kind().map_or(Course::Moment, FaultKind::course)
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
        if self.course() == Course::Moment {
            return None;
        }
        let from_s = self.fault()?.t_s;
        let ended = self.first(EventKind::FaultEnded).map(|event| event.t_s);
        Some(Window { from_s, to_s: ended.or_else(|| self.end_s())? })
    }

    /// The time in which the fault kept the faulted standby's server down.
    pub fn restart(&self) -> Option<Window> {
        self.away().filter(|_| self.course() == Course::Down)
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

    /// The longest gap from the start of the update to the fault (to the end of the run if there was none); in a record
    /// without an update, from its start to what is marked in it.
    pub fn longest_gap_before_fault_s(&self) -> Option<f64> {
        let (from_s, to_s) = match self.run.observed() {
            Some(_) => (0.0, self.fault()?.t_s),
            None => (
                self.first(EventKind::UpdateStarted)?.t_s,
                self.fault().map_or(self.end_s()?, |fault| fault.t_s),
            ),
        };
        self.timeline.rows.iter().find(|row| self.stood_still(row).is_some())?;
        let longest = gaps::longest(&self.gaps, Window { from_s, to_s });
        Some(longest.map_or(0.0, |gap| gap.length_s()))
    }

    /// The standby streams again, as the run saw it.
    pub fn streaming_again(&self) -> Option<&'a Event> {
        let broke_s = self.broke_s()?;
        self.events.iter().find(|event| {
            event.kind == EventKind::StreamingAgain
                && event.t_s >= broke_s
                && event.node.as_deref().is_none_or(|node| node == self.faulted())
        })
    }

    /// From the fault to the event, or, where a run was cut short before it was written, to the first row that shows
    /// the standby streaming after one that shows it not to.
    pub fn time_to_streaming_s(&self) -> Option<f64> {
        let broke_s = self.broke_s()?;
        if let Some(event) = self.streaming_again() {
            return Some(event.t_s - broke_s);
        }
        self.rows_after(broke_s)
            .filter_map(|row| Some((row.t_s, self.streaming(row)?)))
            .skip_while(|(_, streaming)| *streaming)
            .find(|(_, streaming)| *streaming)
            .map(|(t_s, _)| t_s - broke_s)
    }

    /// Does the faulted standby stream in this row, where that is known.
    pub fn streaming(&self, row: &Row) -> Option<bool> {
        self.streaming_of(self.faulted(), row)
    }

    /// Does this standby, where that is known.
    pub fn streaming_of(&self, node: &str, row: &Row) -> Option<bool> {
        // A walreceiver that is cut off takes itself to be streaming until it times out.
        if self.away().is_some_and(|away| row.t_s > away.from_s && row.t_s <= away.to_s) {
            return Some(false);
        }
        if let Some(streaming) = row.number(node, &Metric::WalreceiverStreaming) {
            return Some(streaming > 0.0);
        }
        // A standby that starts answers nobody until it is consistent, and one behind a full queue answers late: the
        // primary knows whether it is connected.
        let primary_answers = row.number(self.run.primary(), &Metric::WalLsn).is_some();
        let restarted = self.restart().is_some_and(|restart| row.t_s > restart.to_s);
        // It is known only where the primary ever told of this standby.
        let would_tell = restarted || self.connected.contains(node);
        (would_tell && primary_answers && row.text(node, &Metric::SyncState).is_none()).then_some(false)
    }

    /// WAL not replayed, by the row at the fault or the last before it. The two LSNs it comes from are asked for one
    /// after the other, so a standby that is level can look a little ahead: that is a lag of 0.
    pub fn lag_at_fault_bytes(&self) -> Option<u64> {
        let fault_s = self.broke_s()?;
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

/// Standbys whose connection the primary ever told of.
fn connected(timeline: &Timeline) -> BTreeSet<&str> {
    let cells = timeline.rows.iter().flat_map(|row| row.cells.keys());
    cells.filter(|column| column.metric == Metric::SyncState).map(|column| column.node.as_str()).collect()
}

/// Ticks between the first of these rows and the last for which there is no row.
pub(super) fn missed(rows: &[Row]) -> u64 {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        return 0;
    };
    let ticks = last.tick.saturating_sub(first.tick).saturating_add(1);
    ticks.saturating_sub(rows.len() as u64)
}
