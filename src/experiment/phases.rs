//! The phases, in the order in which they follow each other.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::{Ending, EventRecorder, ExperimentError, Finding, Lab, Severity, SharedRow};
use crate::human::in_full;
use crate::measure::TICK;
use crate::profile::Profile;
use crate::store::{EventKind, Metric, Phase, Row};

/// How long anything may take that is a matter of a moment: a checkpoint of a quiet server, the first full row.
pub(super) const PROMPT: Duration = Duration::from_secs(120);

/// Ticks between two looks for what would make waiting senseless.
const LOOK_EVERY: u64 = 5;

/// Rows after a moment whose load report may still tell of the time before it: the report's second lies up to one
/// tick before the row's.
pub(super) const TICKS_OF_THE_PAST: u32 = 2;

/// Why the sequence of phases stopped before its end.
pub(super) enum Halt {
    /// For a reason that stands in `events.csv`.
    Ended(Ending),
    /// For an error.
    Failed(ExperimentError),
}

impl From<ExperimentError> for Halt {
    fn from(error: ExperimentError) -> Self {
        Self::Failed(error)
    }
}

pub(super) type Step<T = ()> = Result<T, Halt>;

/// An experiment under way.
pub(super) struct Experiment<'a> {
    pub(super) lab: &'a dyn Lab,
    pub(super) profile: &'a Profile,
    pub(super) events: EventRecorder,
    phase: watch::Sender<Phase>,
    pub(super) rows: watch::Receiver<SharedRow>,
    stop: &'a CancellationToken,
    /// What was found out about nodes so far.
    reported: Vec<Finding>,
}

impl<'a> Experiment<'a> {
    pub(super) fn new(
        lab: &'a dyn Lab,
        profile: &'a Profile,
        events: EventRecorder,
        phase: watch::Sender<Phase>,
        rows: watch::Receiver<SharedRow>,
        stop: &'a CancellationToken,
    ) -> Self {
        Self { lab, profile, events, phase, rows, stop, reported: vec![] }
    }

    /// All phases.
    pub(super) async fn conduct(&mut self) -> Step {
        self.settle().await?;
        self.baseline().await?;
        self.update().await?;
        let injected = self.fault().await?;
        let fault_at = injected.at();
        self.recovery(injected).await?;
        self.tail(fault_at).await
    }

    /// Stops the load, collects what the servers have to say and tells how it ended.
    ///
    /// What cannot be written is no reason to leave the load running. The error that ended the run goes before one
    /// that is met here.
    pub(super) async fn conclude(&mut self, outcome: Step) -> Result<Ending, ExperimentError> {
        let failed = match &outcome {
            Err(Halt::Failed(error)) => self.disqualify(in_full(error)),
            Err(Halt::Ended(_)) | Ok(()) => Ok(()),
        };
        let stopped = self.lab.stop_load().await;
        let concluded = failed.and_then(|()| match stopped {
            Err(error) => self.note(format!("stopping the load: {error:#}")),
            Ok(()) => Ok(()),
        });
        let concluded = match concluded {
            Ok(()) => self.look_back().await,
            Err(error) => Err(error),
        };
        let ending = match outcome {
            Ok(()) => Ending::Completed,
            Err(Halt::Ended(ending)) => ending,
            Err(Halt::Failed(error)) => return Err(error),
        };
        concluded.map(|()| ending)
    }

    /// What the servers' logs and states have to say when all is over, and the run's last word. A run that nobody
    /// could look back on cannot be judged: what it showed may have been a server that crashed.
    async fn look_back(&mut self) -> Result<(), ExperimentError> {
        let looked = async { Ok([self.lab.ailments().await?, self.lab.findings().await?].concat()) };
        match looked.await {
            Ok(findings) => findings.iter().try_for_each(|finding| self.report(finding))?,
            Err(error) => {
                let error: anyhow::Error = error;
                self.disqualify(format!("the servers' logs and states could not be looked at: {error:#}"))?;
            }
        }
        self.events.record(EventKind::Concluded, None, None, "the servers' logs and states were looked at")
    }

    fn disqualify(&mut self, why: String) -> Result<(), ExperimentError> {
        self.events.record(EventKind::Disqualified, None, None, why)
    }

    fn note(&mut self, what: String) -> Result<(), ExperimentError> {
        self.events.record(EventKind::Note, None, None, what)
    }

    /// Until every source has answered once and the primary is checkpointed.
    async fn settle(&mut self) -> Step {
        self.enter(Phase::Settle)?;
        self.ask("a checkpoint on the primary", PROMPT, self.lab.checkpoint()).await?;
        let (primary, standbys) = (self.lab.primary().to_owned(), self.lab.standbys());
        self.until("every server and disk to answer the sampler", PROMPT, |row| {
            let knows_disk = |node: &str| row.number(node, &Metric::ReadsTotal).is_some();
            row.number(&primary, &Metric::WalLsn).is_some()
                && knows_disk(&primary)
                && standbys
                    .iter()
                    .all(|node| row.number(node, &Metric::ReplayLsn).is_some() && knows_disk(node))
        })
        .await?;
        Ok(())
    }

    /// The load alone.
    async fn baseline(&mut self) -> Step {
        self.enter(Phase::Baseline)?;
        self.ask("starting the load", PROMPT, self.lab.start_load()).await?;
        let primary = self.lab.primary().to_owned();
        self.until("the load's first commit", PROMPT, |row| {
            row.number(&primary, &Metric::Tps).is_some_and(|tps| tps > 0.0)
        })
        .await?;
        self.pass(self.profile.workload.baseline).await
    }

    /// The update, and then until the standbys have flushed all of its WAL and its commit is acknowledged.
    async fn update(&mut self) -> Step {
        self.enter(Phase::Update)?;
        let deadline = self.profile.update.flush_deadline;
        let start = self.wal_lsn().await?;
        self.events.record(EventKind::UpdateStarted, None, Some(start), "")?;
        let batches = self.profile.update.batches;
        for batch in 0..batches {
            let next_at = Instant::now() + self.profile.update.batch_interval;
            self.ask("the update", deadline, self.lab.execute_update(batch)).await?;
            if batch + 1 < batches {
                self.ask("the update's commit", deadline, self.lab.commit_update()).await?;
                self.pass(next_at.saturating_duration_since(Instant::now())).await?;
            }
        }
        let executed = self.wal_lsn().await?;
        self.events.record(EventKind::UpdateExecuted, None, Some(executed), "")?;

        self.enter(Phase::Flush)?;
        self.ask("the update's commit", deadline, self.lab.commit_update()).await?;
        let committed = self.wal_lsn().await?;
        self.events.record(EventKind::UpdateCommitted, None, Some(committed), "")?;
        let standbys = self.lab.standbys();
        self.until("every standby to flush the update's WAL", deadline, |row| {
            standbys
                .iter()
                .all(|node| row.number(node, &Metric::FlushLsn).is_some_and(|lsn| lsn >= committed as f64))
        })
        .await?;
        Ok(())
    }

    /// A while longer; at least until a stall that began with the fault would have been told as one.
    async fn tail(&mut self, fault_at: Instant) -> Step {
        self.enter(Phase::Tail)?;
        let told_at = fault_at + self.profile.watch.stall_after + TICK * (TICKS_OF_THE_PAST + 1);
        self.pass(self.profile.watch.tail.max(told_at.saturating_duration_since(Instant::now()))).await
    }

    pub(super) fn enter(&mut self, phase: Phase) -> Step {
        self.phase.send_replace(phase);
        Ok(self.events.record(EventKind::Phase, None, None, phase.name())?)
    }

    /// Records a finding, once.
    fn report(&mut self, finding: &Finding) -> Result<(), ExperimentError> {
        if self.reported.contains(finding) {
            return Ok(());
        }
        self.reported.push(finding.clone());
        let kind = match finding.severity {
            Severity::Note => EventKind::Note,
            Severity::Disqualifying => EventKind::Disqualified,
        };
        self.events.record(kind, Some(&finding.node), None, &*finding.what)
    }

    pub(super) fn give_up(&mut self, waited_for: &str, waited: Duration) -> Step {
        let detail = format!("waited {waited:?} for {waited_for}");
        self.events.record(EventKind::Deadline, None, None, detail)?;
        Err(Halt::Ended(Ending::GaveUp))
    }

    fn interrupted(&mut self) -> Halt {
        match self.events.record(EventKind::Interrupted, None, None, "stopped by the user") {
            Ok(()) => Halt::Ended(Ending::Interrupted),
            Err(error) => Halt::Failed(error),
        }
    }

    async fn wal_lsn(&mut self) -> Step<u64> {
        self.ask("the end of WAL", PROMPT, self.lab.wal_lsn()).await
    }

    /// What the lab answers, unless the user stops the run or the answer does not come in time.
    pub(super) async fn ask<T>(
        &mut self,
        doing: &'static str,
        deadline: Duration,
        asked: impl Future<Output = anyhow::Result<T>>,
    ) -> Step<T> {
        let phase = *self.phase.borrow();
        let failed = |source| ExperimentError::Lab { phase, doing, source }.into();
        let end = Instant::now() + deadline;
        tokio::pin!(asked);
        loop {
            // The rows go on being looked at: a node that dies may leave the answer hanging.
            tokio::select! {
                answer = &mut asked => return answer.map_err(failed),
                row = timeout_at(end, self.next_row()) => match row {
                    Ok(row) => drop(row?),
                    Err(_) => return Err(failed(anyhow::anyhow!("not done after {deadline:?}"))),
                },
            }
        }
    }

    /// The first row from now on of which `met` is true.
    pub(super) async fn until(
        &mut self,
        what: &str,
        within: Duration,
        mut met: impl FnMut(&Row) -> bool,
    ) -> Step<Arc<Row>> {
        let deadline = Instant::now() + within;
        loop {
            match timeout_at(deadline, self.next_row()).await {
                Ok(Ok(row)) if met(&row) => return Ok(row),
                Ok(row) => drop(row?),
                Err(_) => {
                    let given_up = self.give_up(what, within);
                    given_up?;
                }
            }
        }
    }

    /// Lets this much of the experiment's time pass, under watch.
    pub(super) async fn pass(&mut self, time: Duration) -> Step {
        let end = Instant::now() + time;
        while let Ok(row) = timeout_at(end, self.next_row()).await {
            row?;
        }
        Ok(())
    }

    /// The next row, unless the user stops the run or the run is no longer worth waiting for.
    pub(super) async fn next_row(&mut self) -> Step<Arc<Row>> {
        let row = match self.stop.run_until_cancelled(self.rows.changed()).await {
            None | Some(Err(_)) => return Err(self.interrupted()),
            Some(Ok(())) => self.rows.borrow_and_update().clone(),
        };
        let Some(row) = row else {
            return Err(self.interrupted());
        };
        if let Some(how) = self.lab.load_end() {
            let node = self.lab.primary().to_owned();
            let detail = format!("the load ended while it was needed: {how}");
            self.events.record(EventKind::Disqualified, Some(&node), None, detail)?;
            return Err(Halt::Ended(Ending::GaveUp));
        }
        if row.tick.is_multiple_of(LOOK_EVERY) {
            self.look_for_ailments().await?;
        }
        Ok(row)
    }

    async fn look_for_ailments(&mut self) -> Step {
        let ailments = match timeout(TICK * 3, self.lab.ailments()).await {
            Ok(Ok(ailments)) => ailments,
            Ok(Err(error)) => {
                tracing::warn!("looking at the nodes: {error:#}");
                return Ok(());
            }
            Err(_) => {
                tracing::warn!("looking at the nodes: no answer from the engine");
                return Ok(());
            }
        };
        ailments.iter().try_for_each(|ailment| self.report(ailment))?;
        if ailments.iter().any(|ailment| ailment.severity == Severity::Disqualifying) {
            return Err(Halt::Ended(Ending::GaveUp));
        }
        Ok(())
    }
}
