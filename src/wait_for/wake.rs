//! Many sessions that wait for one LSN, and how far apart they return.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use futures_util::future::try_join_all;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::clients::Clients;
use super::method::in_words;
use super::{Node, Pair, Request, Session};
use crate::progress::Progress;
use crate::store::WakeReturn;

/// How far ahead of the primary's WAL the awaited LSN is. What the server writes by itself, as a snapshot of running
/// transactions, is smaller, so it wakes nobody.
const AHEAD_BYTES: u64 = 16_384;

/// Writes one record beyond it, and has it flushed.
const WRITE: &str = "SELECT pg_logical_emit_message(false, 'stall-lab', repeat('x', 20000), true)";

/// How long all waiters may take to be seen waiting, and to return.
const PROMPT: Duration = Duration::from_secs(30);

/// Pause between two looks at who waits.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Sessions that wait in `WAIT FOR LSN`, and in which events.
const WAITING: &str =
    "SELECT count(*), coalesce(string_agg(DISTINCT wait_event_type || '/' || wait_event, ', '), '')
    FROM pg_stat_activity WHERE query LIKE 'WAIT FOR LSN%' AND state = 'active' AND wait_event_type = 'IPC'";

/// Runs all rounds. `keep` is given all returns that there are after each number of waiters.
pub(super) async fn measure(
    pair: &Arc<dyn Pair>,
    clients: &Clients,
    request: &Request,
    progress: &Progress,
    keep: &mut (dyn FnMut(&[WakeReturn]) -> anyhow::Result<()> + Send),
) -> anyhow::Result<()> {
    let mut returns = Vec::new();
    let (writing, looking) = clients
        .run({
            let pair = Arc::clone(pair);
            async move { anyhow::Ok((pair.session(Node::Primary).await?, pair.session(Node::Standby).await?)) }
        })
        .await??;
    for waiters in &request.waiters {
        progress.detail(&format!("{waiters} waiters"));
        let sessions = open(pair, clients, *waiters).await?;
        for round in 1..=request.wake_repeat {
            let round = Round { clients, writing: &writing, looking: &looking, sessions: &sessions, round };
            returns.extend(round.run().await.with_context(|| format!("{waiters} waiters"))?);
        }
        keep(&returns)?;
    }
    Ok(())
}

async fn open(pair: &Arc<dyn Pair>, clients: &Clients, count: u32) -> anyhow::Result<Vec<Arc<dyn Session>>> {
    let opened = (0..count as usize).map(|number| {
        let pair = Arc::clone(pair);
        let mut alone = JoinSet::new();
        clients.start(&mut alone, number, async move { pair.session(Node::Standby).await });
        async move { alone.join_next().await.context("a waiter's session")?? }
    });
    try_join_all(opened).await.context("opening the waiters' sessions")
}

struct Round<'a> {
    clients: &'a Clients,
    writing: &'a Arc<dyn Session>,
    looking: &'a Arc<dyn Session>,
    sessions: &'a [Arc<dyn Session>],
    round: u32,
}

impl Round<'_> {
    async fn run(&self) -> anyhow::Result<Vec<WakeReturn>> {
        let lsn = self.writing.flushed().await? + AHEAD_BYTES;
        let sql: Arc<str> = format!("WAIT FOR LSN '{}'", in_words(lsn)).into();
        let mut waiting = JoinSet::new();
        for (number, session) in self.sessions.iter().enumerate() {
            let (session, sql) = (Arc::clone(session), Arc::clone(&sql));
            self.clients.start(&mut waiting, number, async move {
                let answer = session.simple(&sql).await?;
                let returned = Instant::now();
                ensure!(answer.value() == Some("success"), "{sql} returned {:?}", answer.value());
                anyhow::Ok((number, returned))
            });
        }
        // One that is woken by something else returns early, and its time says nothing.
        const EARLY: &str = "a waiter returned before what it waits for was written";
        let wait_event = tokio::select! {
            seen = self.all_wait() => seen?,
            Some(ended) = waiting.join_next() => {
                ended??;
                bail!(EARLY)
            }
        };
        let sent = Instant::now();
        self.writing.simple(WRITE).await.context("writing what they wait for")?;
        let mut returns = Vec::new();
        let gathered = async {
            while let Some(ended) = waiting.join_next().await {
                let (number, returned) = ended??;
                ensure!(returned >= sent, EARLY);
                returns.push(WakeReturn {
                    waiters: self.sessions.len() as u32,
                    round: self.round,
                    waiter: number as u32 + 1,
                    returned_ms: (returned - sent).as_secs_f64() * 1e3,
                    wait_event: wait_event.clone(),
                });
            }
            anyhow::Ok(())
        };
        timeout(PROMPT, gathered)
            .await
            .with_context(|| format!("not all had returned after {PROMPT:?}"))??;
        Ok(returns)
    }

    /// Waits until all of them are seen waiting; the wait event that is seen of them.
    async fn all_wait(&self) -> anyhow::Result<String> {
        let started = Instant::now();
        let all = self.sessions.len().to_string();
        loop {
            let seen = self.looking.simple(WAITING).await.context("looking who waits")?;
            let row = seen.rows.first().map(|row| row.iter().map(Option::as_deref).collect::<Vec<_>>());
            let (count, event) = match row.as_deref() {
                Some([Some(count), Some(event)]) => (*count, *event),
                _ => ("0", ""),
            };
            if count == all {
                return Ok(event.to_owned());
            }
            ensure!(started.elapsed() < PROMPT, "after {PROMPT:?} only {count} of {all} are seen waiting");
            sleep(LOOK_AGAIN).await;
        }
    }
}
