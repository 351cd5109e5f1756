//! What `WAIT FOR LSN` refuses and what it returns: every case on both roles, with and without `NO_THROW`.
//!
//! An answer is data, whatever it is: only a server that does not answer at all ends the table.

mod case;
mod cases;
mod expected;
mod switch;

pub use expected::Expected;
pub(super) use switch::park;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use tokio::time::{Instant, sleep, timeout};

use super::clients::Clients;
use super::{Node, Pair, Session};
use crate::postgres::{Answer, SqlError};
use crate::progress::Progress;
use crate::store::Refusal;
use case::{Case, End, Protocol, Throw};
use cases::{CASES, FIXTURES, PROMOTED};

/// How long a statement may take that ends by itself.
const DEADLINE: Duration = Duration::from_secs(20);

/// How long one that has no timeout is left to wait. No timeout that PostgreSQL has by default is this short, and all
/// waits that end are over by then.
const HELD: Duration = Duration::from_secs(3);

/// Pause between two looks at a session.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Stands for an answer that did not come.
const NO_ANSWER: &str = "no answer";

/// Where the cases are run.
struct Bench<'a> {
    pair: &'a Arc<dyn Pair>,
    clients: &'a Clients,
    /// For looking at sessions and ending them, by node.
    primary: Arc<dyn Session>,
    standby: Arc<dyn Session>,
}

/// Runs the whole table. `keep` is given all answers that there are after each part of it. `upstream` is what
/// [`park`] returned, for the timeline switch; without it, there is none.
pub(super) async fn measure(
    pair: &Arc<dyn Pair>,
    clients: &Clients,
    upstream: Option<&str>,
    progress: &Progress,
    keep: &mut (dyn FnMut(&[Refusal]) -> anyhow::Result<()> + Send),
) -> anyhow::Result<()> {
    let bench = Bench {
        pair,
        clients,
        primary: session(pair, clients, Node::Primary).await?,
        standby: session(pair, clients, Node::Standby).await?,
    };
    for fixture in FIXTURES {
        bench.primary.simple(fixture).await.context("making the function and the procedure of the cases")?;
    }
    let reached = bench.primary.flushed().await?;
    super::Method::BusyPoll.wait(&**pair, &*bench.standby, reached).await?;
    let mut answers = Vec::new();
    for (node, role) in [(Node::Primary, "primary"), (Node::Standby, "standby")] {
        for case in CASES {
            progress.detail(&format!("{} on the {role}", case.name));
            for throw in [Throw::Yes, Throw::No] {
                answers.push(bench.run(case, node, role, throw, reached).await?);
            }
        }
        keep(&answers)?;
    }
    progress.detail("a promotion");
    answers.extend(switch::measure(&bench, upstream).await.context("the promotion")?);
    for case in PROMOTED {
        for throw in [Throw::Yes, Throw::No] {
            answers.push(bench.run(case, Node::Standby, "promoted", throw, reached).await?);
        }
    }
    keep(&answers)
}

async fn session(pair: &Arc<dyn Pair>, clients: &Clients, node: Node) -> anyhow::Result<Arc<dyn Session>> {
    let pair = Arc::clone(pair);
    clients.run(async move { pair.session(node).await }).await?
}

impl Bench<'_> {
    /// Runs a case on a session of its own.
    async fn run(
        &self,
        case: &Case,
        node: Node,
        role: &str,
        throw: Throw,
        reached: u64,
    ) -> anyhow::Result<Refusal> {
        let session = session(self.pair, self.clients, node).await?;
        let sql = case.statement(node, throw, reached);
        let told = case.before.iter().copied().chain([sql.as_str()]).collect::<Vec<_>>().join("; ");
        let row = |answer, wait_event, waited_ms| {
            told_as(case.name, role, throw, &told, answer, wait_event, waited_ms)
        };
        for before in case.before {
            // A refusal there is the answer: this is as far as it goes on such a server.
            if let Err(refused) = session.simple(before).await {
                return Ok(row(Ok(Err(refused)), String::new(), None));
            }
        }
        let asking = async {
            match case.protocol {
                Protocol::Simple => session.simple(&sql).await,
                Protocol::Extended => session.extended(&sql).await,
            }
        };
        if case.end == End::ByItself {
            return Ok(row(timeout(DEADLINE, asking).await.map_err(|_| ()), String::new(), None));
        }
        let pid = session.simple("SELECT pg_backend_pid()").await?.value().context("its pid")?.to_owned();
        let started = Instant::now();
        let (answer, seen) = tokio::join!(timeout(DEADLINE, asking), self.end(node, &pid, case.end, started));
        let (wait_event, waited_ms) = seen.with_context(|| format!("{} on the {role}", case.name))?;
        Ok(row(answer.map_err(|_| ()), wait_event, waited_ms))
    }

    /// Waits until the session is seen to wait, holds it, and ends it. The wait event, and how long it had waited when
    /// it was ended; nothing if it never waited.
    async fn end(
        &self,
        node: Node,
        pid: &str,
        end: End,
        started: Instant,
    ) -> anyhow::Result<(String, Option<u64>)> {
        let looking = if node == Node::Primary { &self.primary } else { &self.standby };
        let Some(event) = waits(&**looking, pid, DEADLINE / 2).await? else {
            return Ok((String::new(), None));
        };
        let function = match end {
            End::Terminated => "pg_terminate_backend",
            End::Cancelled | End::ByItself => {
                // This is the measurement, not a way to wait for anything.
                sleep(HELD.saturating_sub(started.elapsed())).await;
                ensure!(
                    waits(&**looking, pid, Duration::ZERO).await?.is_some(),
                    "it did not wait to the end"
                );
                "pg_cancel_backend"
            }
        };
        let waited_ms = u64::try_from(started.elapsed().as_millis()).ok();
        looking.simple(&format!("SELECT {function}({pid})")).await.context(function)?;
        Ok((event, waited_ms))
    }
}

/// The wait event of a session that waits in `WAIT FOR LSN`, as soon as it is seen there; none if it is not within
/// `within`.
async fn waits(looking: &dyn Session, pid: &str, within: Duration) -> anyhow::Result<Option<String>> {
    let sql = format!(
        "SELECT wait_event_type || '/' || wait_event FROM pg_stat_activity
          WHERE pid = {pid} AND state = 'active' AND wait_event_type = 'IPC'"
    );
    let started = Instant::now();
    loop {
        if let Some(event) = looking.simple(&sql).await.context("looking at the session")?.value() {
            return Ok(Some(event.to_owned()));
        }
        if started.elapsed() >= within {
            return Ok(None);
        }
        sleep(LOOK_AGAIN).await;
    }
}

/// An answer as a row. The outer error is that none came.
fn told_as(
    case: &str,
    role: &str,
    throw: Throw,
    sql: &str,
    answer: Result<Result<Answer, SqlError>, ()>,
    wait_event: String,
    waited_ms: Option<u64>,
) -> Refusal {
    let mut row = Refusal {
        case: case.to_owned(),
        role: role.to_owned(),
        no_throw: throw == Throw::No,
        sqlstate: String::new(),
        status: String::new(),
        wait_event,
        waited_ms,
        message: String::new(),
        detail: String::new(),
        hint: String::new(),
        sql: sql.to_owned(),
    };
    match answer {
        // The last row: of several statements, that of the wait.
        Ok(Ok(answer)) => {
            row.status = answer.rows.last().and_then(|row| row.first()?.clone()).unwrap_or_default()
        }
        Ok(Err(SqlError::Refused { sqlstate, message, detail, hint })) => {
            row.sqlstate = sqlstate;
            row.message = message;
            row.detail = detail.unwrap_or_default();
            row.hint = hint.unwrap_or_default();
        }
        Ok(Err(SqlError::Failed(why))) => {
            row.status = NO_ANSWER.to_owned();
            row.message = why;
        }
        Err(()) => row.status = NO_ANSWER.to_owned(),
    }
    row
}
