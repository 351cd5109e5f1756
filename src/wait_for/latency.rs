//! The time of one wait: insert on the primary, take its LSN, wait until it is there.

use std::sync::Arc;

use anyhow::Context as _;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use tokio::time::Instant;

use super::{Method, Node, Pair, Request, Session};
use crate::progress::Progress;
use crate::store::Trial;

/// Name of an empty query on the standby, among the methods.
pub const ROUND_TRIP: &str = "round-trip";

/// Trials of each method that warm its statements and caches up, and are not kept.
const WARM_UP: u32 = 20;

/// What a trial is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    RoundTrip,
    Wait(Method),
}

/// One connection to each server, opened and warm before anything is timed.
struct Sessions {
    primary: Arc<dyn Session>,
    /// Waits in the mode of the primary, on another connection than the one that writes.
    on_primary: Arc<dyn Session>,
    on_standby: Arc<dyn Session>,
}

/// Makes all trials. Every round has each method's trials in random order, from the request's seed, so that whatever
/// drifts on the machine falls on all of them alike.
pub(super) async fn measure(
    pair: Arc<dyn Pair>,
    request: Request,
    progress: Progress,
) -> anyhow::Result<Vec<Trial>> {
    let sessions = Sessions {
        primary: pair.session(Node::Primary).await?,
        on_primary: pair.session(Node::Primary).await?,
        on_standby: pair.session(Node::Standby).await?,
    };
    let waits = request.latency_methods.iter().copied().map(Subject::Wait);
    let subjects: Vec<Subject> = std::iter::once(Subject::RoundTrip).chain(waits).collect();
    for subject in &subjects {
        for _ in 0..WARM_UP {
            trial(&*pair, &sessions, *subject).await?;
        }
    }
    let mut random = StdRng::seed_from_u64(request.seed);
    let mut trials = Vec::new();
    for repeat in 1..=request.latency_repeat {
        let mut order: Vec<Subject> =
            subjects.iter().flat_map(|subject| (0..request.trials).map(move |_| *subject)).collect();
        order.shuffle(&mut random);
        progress.detail(&format!("round {repeat} of {}", request.latency_repeat));
        for subject in order {
            let made = trial(&*pair, &sessions, subject).await?;
            trials.push(Trial { order: trials.len() as u32 + 1, repeat, ..made });
        }
    }
    Ok(trials)
}

async fn trial(pair: &dyn Pair, sessions: &Sessions, subject: Subject) -> anyhow::Result<Trial> {
    match subject {
        Subject::RoundTrip => {
            let sent = Instant::now();
            sessions.on_standby.ping().await.context("an empty query on the standby")?;
            Ok(Trial {
                order: 0,
                repeat: 0,
                method: ROUND_TRIP.to_owned(),
                insert_ms: None,
                lsn_ms: None,
                wait_ms: milliseconds(sent, Instant::now()),
                queries: 1,
                slept_ms: 0.0,
            })
        }
        Subject::Wait(method) => wait(pair, sessions, method).await,
    }
}

async fn wait(pair: &dyn Pair, sessions: &Sessions, method: Method) -> anyhow::Result<Trial> {
    let waiter = match method.node() {
        Node::Primary => &sessions.on_primary,
        Node::Standby | Node::Follower => &sessions.on_standby,
    };
    let sent = Instant::now();
    sessions.primary.insert().await.context("inserting on the primary")?;
    let inserted = Instant::now();
    let lsn = sessions.primary.flushed().await.context("the LSN of the primary")?;
    let known = Instant::now();
    let waited = method.wait(pair, &**waiter, lsn).await.with_context(|| method.to_string())?;
    let returned = Instant::now();
    // A mode that does not wait for replay may have left some of it: that is no business of the next trial.
    Method::BusyPoll.wait(pair, &*sessions.on_standby, lsn).await.context("waiting for replay")?;
    Ok(Trial {
        order: 0,
        repeat: 0,
        method: method.to_string(),
        insert_ms: Some(milliseconds(sent, inserted)),
        lsn_ms: Some(milliseconds(inserted, known)),
        wait_ms: milliseconds(known, returned),
        queries: waited.queries,
        slept_ms: waited.slept.as_secs_f64() * 1e3,
    })
}

fn milliseconds(from: Instant, to: Instant) -> f64 {
    // To the microsecond: what is beyond is noise of the clock.
    (to.saturating_duration_since(from).as_secs_f64() * 1e6).round() / 1e3
}
