//! One window of load: sessions that insert and wait, and the counters at the window's edges.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use futures_util::future::try_join_all;
use hdrhistogram::Histogram;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::clients::Clients;
use super::{Method, Node, Pair, Session, Usage};
use crate::store::LoadWindow;

/// How long the load runs before the window opens.
const RAMP: Duration = Duration::from_millis(500);

/// The counters are read so often, for the busiest second.
const SECOND: Duration = Duration::from_secs(1);

/// Times up to a minute, in microseconds, to three digits.
const LONGEST_US: u64 = 60_000_000;
const DIGITS: u8 = 3;

/// What a window is to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spec {
    pub method: Method,
    pub workers: u32,
    pub length: Duration,
    pub shape: Shape,
    pub repeat: u32,
}

/// When an operation begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Shape {
    /// When the one before it has ended. Its times are those of completed operations: one that would have come while a
    /// worker waited is not in them.
    Closed,
    /// So many a second are due, whatever became of those before. Its times begin when an operation was due, if all
    /// workers were busy then: nothing is left out.
    Open(f64),
}

/// What the workers share.
struct Shared {
    gate: AtomicU8,
    completions: AtomicU64,
    standby_queries: AtomicU64,
    /// Operations that a worker has taken on, of an open loop.
    taken: AtomicU64,
    started: Instant,
}

const WARMING: u8 = 0;
const OPEN: u8 = 1;
const CLOSED: u8 = 2;

/// Times of a worker's operations that ended in the window.
struct Times {
    operation: Histogram<u64>,
    wait: Histogram<u64>,
}

impl Times {
    fn new() -> anyhow::Result<Self> {
        let histogram = || Histogram::new_with_bounds(1, LONGEST_US, DIGITS);
        let made = histogram().and_then(|operation| Ok(Self { operation, wait: histogram()? }));
        made.map_err(|error| anyhow!("a histogram: {error}"))
    }
}

/// Counters at one moment.
#[derive(Debug, Clone, Copy)]
struct Reading {
    at: Instant,
    usage: Usage,
    completions: u64,
    standby_queries: u64,
}

/// Runs one window.
pub(super) async fn run(pair: &Arc<dyn Pair>, clients: &Clients, spec: Spec) -> anyhow::Result<LoadWindow> {
    let mut workers = JoinSet::new();
    let opened = open_sessions(pair, clients, spec).await?;
    let shared = Arc::new(Shared {
        gate: AtomicU8::new(WARMING),
        completions: AtomicU64::new(0),
        standby_queries: AtomicU64::new(0),
        taken: AtomicU64::new(0),
        started: Instant::now(),
    });
    for (number, sessions) in opened.into_iter().enumerate() {
        let worker = Worker { pair: Arc::clone(pair), shared: Arc::clone(&shared), spec, sessions };
        clients.start(&mut workers, number, worker.run());
    }
    let mut readings = Vec::new();
    let times = {
        let watching = watch(&**pair, &shared, spec.length, &mut readings);
        tokio::pin!(watching);
        tokio::select! {
            watched = &mut watching => watched.map(|()| None),
            // Before the window has closed a worker ends only because it failed.
            ended = workers.join_next() => Ok(ended),
        }
    };
    shared.gate.store(CLOSED, Ordering::Relaxed);
    let mut all = Times::new()?;
    let mut gather = |ended: Result<anyhow::Result<Times>, tokio::task::JoinError>| -> anyhow::Result<()> {
        let times = ended.context("a worker")?.with_context(|| format!("a worker of {}", spec.method))?;
        all.operation.add(&times.operation).map_err(|error| anyhow!("a histogram: {error}"))?;
        all.wait.add(&times.wait).map_err(|error| anyhow!("a histogram: {error}"))
    };
    if let Some(ended) = times? {
        gather(ended)?;
    }
    while let Some(ended) = workers.join_next().await {
        gather(ended)?;
    }
    row(spec, &readings, &all).context("the window has no beginning and end")
}

/// A pair of sessions for each worker, on the thread that the worker will run on, with its statements prepared.
async fn open_sessions(
    pair: &Arc<dyn Pair>,
    clients: &Clients,
    spec: Spec,
) -> anyhow::Result<Vec<(Arc<dyn Session>, Arc<dyn Session>)>> {
    let opened = (0..spec.workers as usize).map(|number| {
        let pair = Arc::clone(pair);
        let mut alone = JoinSet::new();
        clients.start(&mut alone, number, async move {
            let primary = pair.session(Node::Primary).await?;
            let waiter = pair.session(spec.method.node()).await?;
            primary.insert().await?;
            let lsn = primary.flushed().await?;
            spec.method.wait(&*pair, &*waiter, lsn).await?;
            anyhow::Ok((primary, waiter))
        });
        async move { alone.join_next().await.context("a session")?.context("a session")? }
    });
    try_join_all(opened).await.context("opening the sessions of the load")
}

/// Opens the gate, reads the counters once a second and at both edges, and closes it.
async fn watch(
    pair: &dyn Pair,
    shared: &Shared,
    length: Duration,
    readings: &mut Vec<Reading>,
) -> anyhow::Result<()> {
    sleep_until(shared.started + RAMP).await;
    shared.gate.store(OPEN, Ordering::Relaxed);
    let first = read(pair, shared).await?;
    readings.push(first);
    let end = first.at + length;
    while let Some(last) = readings.last().filter(|last| last.at < end) {
        let next = last.at + SECOND;
        // What is left of the last second goes with the one before it, unless it is most of one.
        let next = if next + SECOND / 2 > end { end } else { next };
        sleep_until(next).await;
        readings.push(read(pair, shared).await?);
    }
    Ok(())
}

/// The counters of the machine and of the workers, as close together as can be.
async fn read(pair: &dyn Pair, shared: &Shared) -> anyhow::Result<Reading> {
    let usage = pair.usage().await.context("the CPU counters")?;
    Ok(Reading {
        at: Instant::now(),
        usage,
        completions: shared.completions.load(Ordering::Relaxed),
        standby_queries: shared.standby_queries.load(Ordering::Relaxed),
    })
}

struct Worker {
    pair: Arc<dyn Pair>,
    shared: Arc<Shared>,
    spec: Spec,
    sessions: (Arc<dyn Session>, Arc<dyn Session>),
}

impl Worker {
    /// Inserts and waits until the window has closed.
    async fn run(self) -> anyhow::Result<Times> {
        let Self { pair, shared, spec, sessions: (primary, waiter) } = &self;
        let mut times = Times::new()?;
        let is_on_standby = spec.method.node() == Node::Standby;
        while shared.gate.load(Ordering::Relaxed) != CLOSED {
            let begun = self.begin().await;
            primary.insert().await.context("inserting on the primary")?;
            let lsn = primary.flushed().await.context("the LSN of the primary")?;
            let known = Instant::now();
            let waited = spec.method.wait(&**pair, &**waiter, lsn).await?;
            let ended = Instant::now();
            if is_on_standby {
                shared.standby_queries.fetch_add(u64::from(waited.queries), Ordering::Relaxed);
            }
            shared.completions.fetch_add(1, Ordering::Relaxed);
            if shared.gate.load(Ordering::Relaxed) == OPEN {
                times.operation.saturating_record(microseconds(ended - begun));
                times.wait.saturating_record(microseconds(ended - known));
            }
        }
        Ok(times)
    }

    /// When the next operation begins, for its time.
    async fn begin(&self) -> Instant {
        let Shape::Open(rate) = self.spec.shape else { return Instant::now() };
        let number = self.shared.taken.fetch_add(1, Ordering::Relaxed);
        let due = self.shared.started + Duration::from_secs_f64(number as f64 / rate);
        let early = due.saturating_duration_since(Instant::now());
        if early.is_zero() {
            return due;
        }
        self.pair.nap(early).await;
        // That the nap ended late is the client's affair.
        Instant::now()
    }
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// The window as a row; none without readings at both edges.
fn row(spec: Spec, readings: &[Reading], times: &Times) -> Option<LoadWindow> {
    let (first, last) = (readings.first()?, readings.last()?);
    let window_s = (last.at - first.at).as_secs_f64();
    let grown = |of: fn(&Usage) -> Option<f64>| Some(of(&last.usage)? - of(&first.usage)?);
    let share = |histogram: &Histogram<u64>, share: f64| {
        (!histogram.is_empty()).then(|| histogram.value_at_quantile(share) as f64 / 1e3)
    };
    let seconds = readings.iter().zip(readings.iter().skip(1));
    let peak = seconds
        .filter_map(|(from, to)| {
            let used = to.usage.standby_s? - from.usage.standby_s?;
            Some(used / (to.at - from.at).as_secs_f64() * 100.0)
        })
        .reduce(f64::max);
    let (shape, rate_per_s) = match spec.shape {
        Shape::Closed => ("closed", None),
        Shape::Open(rate) => ("open", Some(rate)),
    };
    let all = grown(|usage| usage.machine_all).filter(|all| *all > 0.0);
    (window_s > 0.0).then(|| LoadWindow {
        order: 0,
        repeat: spec.repeat,
        shape: shape.to_owned(),
        method: spec.method.to_string(),
        workers: spec.workers,
        rate_per_s,
        window_s,
        completions: last.completions - first.completions,
        p50_ms: share(&times.operation, 0.5),
        p95_ms: share(&times.operation, 0.95),
        p99_ms: share(&times.operation, 0.99),
        max_ms: share(&times.operation, 1.0),
        wait_p50_ms: share(&times.wait, 0.5),
        wait_p99_ms: share(&times.wait, 0.99),
        standby_queries: last.standby_queries - first.standby_queries,
        standby_cpu_s: grown(|usage| usage.standby_s),
        standby_cpu_peak_pct: peak,
        primary_cpu_s: grown(|usage| usage.primary_s),
        client_cpu_s: grown(|usage| usage.client_s),
        machine_busy: grown(|usage| usage.machine_busy).zip(all).map(|(busy, all)| busy / all),
    })
}
