//! From the fault to the first second in which the standby streams and commits flow again.

use tokio::time::{Instant, timeout_at};

use super::phases::{Experiment, Halt, PROMPT, Step, TICKS_OF_THE_PAST};
use super::{Ending, ExperimentError};
use crate::measure::TICK;
use crate::profile::Course;
use crate::store::{EventKind, Metric, Phase, Row};

/// Seconds without a commit from which their end is worth an event: at a few transactions a second, and with the rate
/// drawn at random, one or two are no news.
const GAP_S: f64 = 3.0;

/// A fault that was injected, and how it goes on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Injected {
    at: Instant,
    state: FaultState,
}

#[derive(Debug, Clone, Copy)]
enum FaultState {
    /// The lab puts it right at this moment.
    Lasts(Instant),
    /// It is over since this time of the run, seconds.
    Over(f64),
}

impl Injected {
    /// When it was injected.
    pub(super) fn at(self) -> Instant {
        self.at
    }
}

/// What has come back after the fault.
#[derive(Debug)]
struct Comeback {
    /// Until this time of the run a row's commits may be of before the fault, seconds.
    past_s: f64,
    streaming: bool,
    flowing: bool,
    /// Since when there has been no commit, seconds.
    still_since_s: Option<f64>,
}

impl Experiment<'_> {
    /// The fault, if nothing stands in the way of blaming it for what follows.
    pub(super) async fn fault(&mut self) -> Step<Injected> {
        let fault = &self.profile.fault;
        self.pass(fault.after).await?;
        let standbys = self.lab.standbys();
        let knows = |row: &Row, node: &String| {
            row.number(node, &Metric::ReplayPaused).is_some()
                && row.number(node, &Metric::WalreceiverStreaming).is_some()
        };
        let known = |row: &Row| standbys.iter().all(|node| knows(row, node));
        let row = self.until("every standby to say how it is", PROMPT, known).await?;
        if let Some((node, what)) = unsound_before_fault(&row, &standbys) {
            self.events.record(EventKind::Disqualified, Some(&node), None, what)?;
            return Err(Halt::Ended(Ending::GaveUp));
        }
        self.enter(Phase::Recovery)?;
        // A shutdown writes what is dirty first, behind the cap.
        let within = PROMPT.max(self.profile.watch.deadline);
        let report = self.ask("the fault", within, self.lab.inject(fault)).await?;
        self.events.record_at(report.at, EventKind::Fault, Some(&fault.node), None, report.done)?;
        self.events.record(EventKind::FaultVerified, Some(&fault.node), None, report.evidence)?;
        let state = match fault.kind.course() {
            // A row that was asked for before the fault was certain still tells of the time before.
            Course::Moment => FaultState::Over(self.events.t_s(Instant::now())),
            Course::Down | Course::CutOff => FaultState::Lasts(Instant::now() + fault.lasts),
        };
        Ok(Injected { at: report.at, state })
    }

    /// Until the fault is over, the standby streams again and commits flow.
    pub(super) async fn recovery(&mut self, mut fault: Injected) -> Step {
        let within = self.profile.watch.deadline;
        let deadline = fault.at + within;
        let past_s = self.events.t_s(Instant::now()) + TICK.as_secs_f64() * f64::from(TICKS_OF_THE_PAST);
        let mut comeback = Comeback { past_s, streaming: false, flowing: false, still_since_s: None };
        while !(comeback.streaming && comeback.flowing) {
            let until = match fault.state {
                FaultState::Lasts(end) => end.min(deadline),
                FaultState::Over(_) => deadline,
            };
            match (timeout_at(until, self.next_row()).await, fault.state) {
                (Ok(row), _) => self.see(&*row?, fault.state, &mut comeback)?,
                (Err(_), FaultState::Lasts(end)) if end <= deadline => fault.state = self.mend().await?,
                (Err(_), _) => {
                    return self.give_up("the standby to stream and commits to flow again", within);
                }
            }
        }
        Ok(())
    }

    /// Puts right what the fault broke.
    async fn mend(&mut self) -> Step<FaultState> {
        let fault = &self.profile.fault;
        let report = self.ask("ending the fault", PROMPT, self.lab.mend(fault)).await?;
        let detail = format!("{}; {}", report.done, report.evidence);
        let (kind, redo_lsn) = (EventKind::FaultEnded, report.redo_lsn);
        self.events.record_at(report.at, kind, Some(&fault.node), redo_lsn, detail)?;
        // A row that was asked for before this was certain still tells of the time before.
        Ok(FaultState::Over(self.events.t_s(Instant::now())))
    }

    /// What a row after the fault shows. Only one from after its end can show the standby streaming *again*: one from
    /// before knows nothing of it, and a walreceiver that was cut off takes itself to be streaming until it times out.
    fn see(&mut self, row: &Row, fault: FaultState, comeback: &mut Comeback) -> Result<(), ExperimentError> {
        let node = &self.profile.fault.node;
        let is_over = matches!(fault, FaultState::Over(since_s) if row.t_s > since_s);
        if !comeback.streaming && is_over && self.streams(row) {
            comeback.streaming = true;
            self.events.record_seen(row, EventKind::StreamingAgain, Some(node), "")?;
        }
        let Some(tps) = row.number(self.lab.primary(), &Metric::Tps) else {
            return Ok(());
        };
        comeback.flowing = tps > 0.0 && row.t_s > comeback.past_s;
        let still_s = comeback.still_since_s.map_or(0.0, |since_s| row.t_s - since_s);
        if comeback.flowing && still_s > GAP_S {
            let detail = format!("after {:.0} s without one", still_s - TICK.as_secs_f64());
            self.events.record_seen(row, EventKind::CommitsAgain, None, detail)?;
        }
        let began_s = row.t_s - TICK.as_secs_f64();
        comeback.still_since_s = if tps > 0.0 { None } else { comeback.still_since_s.or(Some(began_s)) };
        Ok(())
    }

    /// Does the faulted standby stream, by its own word and, where a walreceiver may not know that it is cut off, by
    /// the primary's: it has flushed all that the primary has sent to it.
    fn streams(&self, row: &Row) -> bool {
        let node = &self.profile.fault.node;
        let number = |metric: &Metric| row.number(node, metric);
        let heard = || match (number(&Metric::SentLsn), number(&Metric::FlushLsn)) {
            (Some(sent), Some(flushed)) => flushed >= sent,
            _ => false,
        };
        number(&Metric::WalreceiverStreaming) == Some(1.0)
            && (self.profile.fault.kind.course() != Course::CutOff || heard())
    }
}

/// A state before the fault in which what follows could not be blamed on it.
fn unsound_before_fault(row: &Row, standbys: &[String]) -> Option<(String, &'static str)> {
    standbys.iter().find_map(|node| {
        let what = if row.number(node, &Metric::ReplayPaused) == Some(1.0) {
            "replay was paused before the fault"
        } else if row.number(node, &Metric::WalreceiverStreaming) == Some(0.0) {
            "the walreceiver did not stream before the fault"
        } else {
            return None;
        };
        Some((node.clone(), what))
    })
}
