//! A primary and its standbys as a few numbers that move with tokio's clock.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, interval, sleep};

use crate::experiment::{FaultReport, Finding, Lab, Severity};
use crate::measure::{LoadFeed, LoadSource, Source};
use crate::profile::{Course, Fault, FaultKind};
use crate::store::{Cell, Column, Metric};

const MB: f64 = 1_048_576.0;

/// Step of the simulation.
const STEP: Duration = Duration::from_millis(100);

/// When a walreceiver that flaps is away, after the load's start: during the update of the profile `smoke`.
const FLAP: Range<Duration> = Duration::from_secs(9)..Duration::from_secs(11);

/// What the fake lab does.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    /// How long the update's statements run.
    pub update: Duration,
    /// WAL the update writes, bytes.
    pub update_wal: f64,
    /// How fast each standby replays, bytes a second.
    pub replay_rate: f64,
    /// Reads a second of a standby while it replays a backlog.
    pub read_iops: f64,
    /// After how long without a word from the primary a walreceiver ends.
    pub receiver_timeout: Duration,
    /// Names of the standbys.
    pub standbys: Vec<String>,
    /// Which of them a commit waits for.
    pub waits_for: WaitsFor,
    /// What goes wrong.
    pub mishap: Option<Mishap>,
}

/// Where a server that is started again begins to replay.
const REDO_LSN: u64 = 1 << 24;

impl Standby {
    /// Moves on by one [`STEP`].
    fn step(&mut self, script: &Script, now: Instant, wal: f64) {
        if self.link == Link::Down {
            return;
        }
        if matches!(self.link, Link::Cut(since) if now - since >= script.receiver_timeout) {
            self.receiver = false;
        }
        if self.receiver && self.link == Link::Up {
            self.flush = wal;
        } else if self.replay >= self.flush
            && self.link == Link::Up
            && script.mishap != Some(Mishap::NeverStreams)
        {
            self.receiver = true;
        }
        if self.replay < self.flush {
            let dt = STEP.as_secs_f64();
            self.replay = (self.replay + script.replay_rate * dt).min(self.flush);
            let lifted = script.mishap == Some(Mishap::CapLifted) && !self.receiver;
            self.reads += script.read_iops * dt * if lifted { 10.0 } else { 1.0 };
            self.prefetched += script.read_iops * dt;
        }
    }

    fn fail(&mut self, kind: FaultKind, now: Instant) {
        match kind.course() {
            Course::Moment => self.receiver = false,
            Course::Down => {
                self.receiver = false;
                self.link = Link::Down;
            }
            Course::CutOff => self.link = Link::Cut(now),
        }
    }

    fn recover(&mut self, kind: FaultKind) {
        self.link = Link::Up;
        if kind.course() == Course::Down {
            self.replay = self.restartpoint;
            self.prefetched = 0.0;
        }
    }
}

/// Which standbys a commit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitsFor {
    /// The first one.
    First,
    /// Any one, as with `ANY 1`.
    Any,
}

/// What can go wrong in a fake lab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mishap {
    /// pgbench ends this long after it was started.
    LoadDies(Duration),
    /// The standby's container ends this long after the fault.
    StandbyDies(Duration),
    /// The walreceiver never comes back.
    NeverStreams,
    /// Replay is paused from the start.
    ReplayPaused,
    /// The fault cannot be injected.
    FaultFails,
    /// What the fault broke cannot be put right.
    MendFails,
    /// The commit of the update is never acknowledged.
    CommitHangs,
    /// The log of the standby shows a recovery conflict.
    Conflict,
    /// The cap is lifted with the fault: the standby reads ten times as fast.
    CapLifted,
    /// The standby's server answers no question any more from the fault on; its disk is still read.
    StandbySilent,
    /// The walreceiver goes away for a moment during the update, and comes back by itself.
    ReceiverFlaps,
    /// Nobody can say any more how the servers are when the run is over.
    EngineLost,
}

impl Script {
    /// A standby that replays as fast as it receives: no stall.
    pub(crate) fn fast() -> Self {
        Self {
            update: Duration::from_secs(5),
            update_wal: 100.0 * MB,
            replay_rate: 1_000.0 * MB,
            read_iops: 2.0,
            receiver_timeout: Duration::from_secs(5),
            standbys: vec!["standby".to_owned()],
            waits_for: WaitsFor::First,
            mishap: None,
        }
    }

    /// A standby at its cap of 200 reads a second that replays 2 MB/s: 100 MB take it 50 s.
    pub(crate) fn stalling() -> Self {
        Self { replay_rate: 2.0 * MB, read_iops: 200.0, ..Self::fast() }
    }

    pub(crate) fn with(self, mishap: Mishap) -> Self {
        Self { mishap: Some(mishap), ..self }
    }
}

#[derive(Debug, Clone)]
struct Standby {
    name: String,
    flush: f64,
    replay: f64,
    reads: f64,
    prefetched: f64,
    receiver: bool,
    link: Link,
    /// Replay begins here when the server is started again.
    restartpoint: f64,
}

/// Can a standby be reached.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Link {
    Up,
    /// Its server is down.
    Down,
    /// Cut off from the primary since then; its walreceiver does not know until it times out.
    Cut(Instant),
}

#[derive(Debug)]
struct State {
    now: Instant,
    wal: f64,
    wal_rate: f64,
    standbys: Vec<Standby>,
    load_since: Option<Instant>,
    fault_at: Option<Instant>,
}

/// The lab.
#[derive(Debug, Clone)]
pub(crate) struct FakeLab {
    script: Script,
    feed: Arc<LoadFeed>,
    state: Arc<Mutex<State>>,
}

impl FakeLab {
    pub(crate) fn new(script: Script) -> Self {
        let start = 300.0 * MB;
        let standby = |name: &String| Standby {
            name: name.clone(),
            flush: start,
            replay: start,
            reads: 50.0,
            prefetched: 0.0,
            receiver: true,
            link: Link::Up,
            restartpoint: start,
        };
        let state = State {
            now: Instant::now(),
            wal: start,
            wal_rate: 0.0,
            standbys: script.standbys.iter().map(standby).collect(),
            load_since: None,
            fault_at: None,
        };
        Self { script, feed: Arc::default(), state: Arc::new(Mutex::new(state)) }
    }

    /// Does the load run.
    pub(crate) fn load_runs(&self) -> bool {
        self.state().load_since.is_some()
    }

    /// Names of the standbys.
    pub(crate) fn standby_names(&self) -> &[String] {
        &self.script.standbys
    }

    /// The state, moved on to now.
    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.now + STEP <= Instant::now() {
            state.now += STEP;
            let dt = STEP.as_secs_f64();
            let (wal, script) = (state.wal + state.wal_rate * dt, &self.script);
            state.wal = wal;
            let now = state.now;
            state.standbys.iter_mut().for_each(|standby| standby.step(script, now, wal));
        }
        state
    }

    fn standby_cells(&self, name: &str) -> Vec<(Column, Cell)> {
        let state = self.state();
        let Some(standby) = state.standbys.iter().find(|standby| standby.name == name) else {
            return vec![];
        };
        if standby.link == Link::Down {
            return vec![];
        }
        let flaps = self.script.mishap == Some(Mishap::ReceiverFlaps)
            && state.load_since.is_some_and(|since| FLAP.contains(&since.elapsed()));
        let receiver = f64::from(u8::from(standby.receiver && !flaps));
        let reads = (Column::new(name, Metric::ReadsTotal), Cell::from(standby.reads.floor()));
        if self.script.mishap == Some(Mishap::StandbySilent) && state.fault_at.is_some() {
            return vec![reads];
        }
        let paused = f64::from(u8::from(self.script.mishap == Some(Mishap::ReplayPaused)));
        vec![
            reads,
            (Column::new(name, Metric::FlushLsn), standby.flush.into()),
            (Column::new(name, Metric::SentLsn), state.wal.into()),
            (Column::new(name, Metric::ReplayLsn), standby.replay.into()),
            (Column::new(name, Metric::Walreceiver), receiver.into()),
            (Column::new(name, Metric::WalreceiverStreaming), receiver.into()),
            (Column::new(name, Metric::ReplayPaused), paused.into()),
            (Column::new(name, Metric::prefetched()), standby.prefetched.floor().into()),
        ]
    }

    fn primary_cells(&self) -> Vec<(Column, Cell)> {
        let wal = self.state().wal;
        vec![
            (Column::new("primary", Metric::WalLsn), wal.into()),
            (Column::new("primary", Metric::ReadsTotal), (wal / MB).floor().into()),
        ]
    }

    /// Does a commit get its acknowledgement.
    fn acknowledged(&self) -> bool {
        let counted = match self.script.waits_for {
            WaitsFor::First => 1,
            WaitsFor::Any => self.script.standbys.len(),
        };
        let state = self.state();
        state.standbys.iter().take(counted).any(|standby| standby.receiver && standby.link == Link::Up)
    }

    /// Writes a progress line a second until the load is stopped, as pgbench does.
    async fn load(self) {
        let mut seconds = interval(Duration::from_secs(1));
        seconds.tick().await;
        for second in 1_u64.. {
            seconds.tick().await;
            let Some(since) = self.state().load_since else {
                return;
            };
            if matches!(self.script.mishap, Some(Mishap::LoadDies(after)) if since.elapsed() >= after) {
                return self.feed.ended("exit code 1");
            }
            let tps = if self.acknowledged() { 5.0 } else { 0.0 };
            self.feed
                .line(&format!("progress: {second}.0 s, {tps:.1} tps, lat 2.000 ms stddev 0.1, 0 failed"));
        }
    }
}

#[async_trait]
impl Lab for FakeLab {
    fn primary(&self) -> &str {
        "primary"
    }

    fn standbys(&self) -> Vec<String> {
        self.script.standbys.clone()
    }

    async fn sources(&self) -> anyhow::Result<Vec<Box<dyn Source>>> {
        let node = |name: &str| -> Box<dyn Source> {
            Box::new(FakeNode { name: name.to_owned(), lab: self.clone() })
        };
        let load: Box<dyn Source> = Box::new(LoadSource::new("primary", Arc::clone(&self.feed)));
        Ok(std::iter::once(load)
            .chain([node("primary")])
            .chain(self.script.standbys.iter().map(|name| node(name)))
            .collect())
    }

    async fn checkpoint(&self) -> anyhow::Result<()> {
        Ok(())
    }

    async fn start_load(&self) -> anyhow::Result<()> {
        self.state().load_since = Some(Instant::now());
        self.feed.started();
        tokio::spawn(self.clone().load());
        Ok(())
    }

    async fn stop_load(&self) -> anyhow::Result<()> {
        self.state().load_since = None;
        Ok(())
    }

    fn load_end(&self) -> Option<String> {
        self.feed.end()
    }

    async fn wal_lsn(&self) -> anyhow::Result<u64> {
        Ok(self.state().wal as u64)
    }

    async fn execute_update(&self, _batch: u32) -> anyhow::Result<()> {
        self.state().wal_rate = self.script.update_wal / self.script.update.as_secs_f64();
        sleep(self.script.update).await;
        self.state().wal_rate = 0.0;
        Ok(())
    }

    async fn commit_update(&self) -> anyhow::Result<()> {
        if self.script.mishap == Some(Mishap::CommitHangs) {
            std::future::pending::<()>().await;
        }
        Ok(())
    }

    async fn inject(&self, fault: &Fault) -> anyhow::Result<FaultReport> {
        if self.script.mishap == Some(Mishap::FaultFails) {
            anyhow::bail!("there is no walreceiver on {}", fault.node);
        }
        let mut state = self.state();
        let now = Instant::now();
        state.fault_at = Some(now);
        for standby in state.standbys.iter_mut().filter(|standby| standby.name == fault.node) {
            standby.fail(fault.kind, now);
        }
        Ok(FaultReport {
            at: now,
            done: fault.kind.to_string(),
            evidence: "it is gone".to_owned(),
            redo_lsn: None,
        })
    }

    async fn mend(&self, fault: &Fault) -> anyhow::Result<FaultReport> {
        if self.script.mishap == Some(Mishap::MendFails) {
            anyhow::bail!("{} does not start", fault.node);
        }
        let mut state = self.state();
        for standby in state.standbys.iter_mut().filter(|standby| standby.name == fault.node) {
            standby.recover(fault.kind);
        }
        Ok(FaultReport {
            at: Instant::now(),
            done: "put right".to_owned(),
            evidence: "it is back".to_owned(),
            redo_lsn: (fault.kind.course() == Course::Down).then_some(REDO_LSN),
        })
    }

    async fn ailments(&self) -> anyhow::Result<Vec<Finding>> {
        let fault_at = self.state().fault_at;
        Ok(match (self.script.mishap, fault_at) {
            (Some(Mishap::StandbyDies(after)), Some(at)) if at.elapsed() >= after => vec![Finding {
                node: "standby".to_owned(),
                severity: Severity::Disqualifying,
                what: "its container ended with exit code 137".to_owned(),
            }],
            _ => vec![],
        })
    }

    async fn findings(&self) -> anyhow::Result<Vec<Finding>> {
        anyhow::ensure!(self.script.mishap != Some(Mishap::EngineLost), "the engine does not answer");
        Ok(match self.script.mishap {
            Some(Mishap::Conflict) => vec![Finding {
                node: "standby".to_owned(),
                severity: Severity::Note,
                what: "its log tells of a recovery conflict".to_owned(),
            }],
            _ => vec![],
        })
    }
}

/// A node's counters as a source of the sampler.
struct FakeNode {
    name: String,
    lab: FakeLab,
}

impl FakeNode {
    fn cells(&self) -> Vec<(Column, Cell)> {
        if self.name == "primary" { self.lab.primary_cells() } else { self.lab.standby_cells(&self.name) }
    }
}

#[async_trait]
impl Source for FakeNode {
    fn name(&self) -> String {
        format!("fake {}", self.name)
    }

    fn columns(&self) -> Vec<Column> {
        self.cells().into_iter().map(|(column, _)| column).collect()
    }

    async fn read(&mut self) -> anyhow::Result<Vec<(Column, Cell)>> {
        Ok(self.cells())
    }
}
