//! Waits that a promotion meets: on the standby that is promoted, and on one that follows it to its new timeline.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::super::clients::Clients;
use super::super::method::in_words;
use super::super::{Mode, Node, Pair, Session};
use super::case::{Case, Target, Throw};
use super::{Bench, session, told_as};
use crate::store::Refusal;

/// How long anything may take here.
const PROMPT: Duration = Duration::from_secs(60);

const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// How far ahead the follower's waiters wait: a promotion alone writes less.
const AHEAD_BYTES: u64 = 65_536;

/// Writes more than that, in one record, and has it flushed.
const WRITE: &str = "SELECT pg_logical_emit_message(false, 'stall-lab', repeat('x', 100000), true)";

const WAITERS: &str = "SELECT count(*) FROM pg_stat_activity
    WHERE query LIKE 'WAIT FOR LSN%' AND state = 'active' AND wait_event_type = 'IPC'";

const MODES: [Mode; 3] = [Mode::StandbyReplay, Mode::StandbyWrite, Mode::StandbyFlush];

/// Cuts the follower off from the primary, so that it takes nothing from what is measured. Returns how it reaches its
/// upstream, for [`measure`].
pub(in super::super) async fn park(pair: &Arc<dyn Pair>, clients: &Clients) -> anyhow::Result<String> {
    let follower = session(pair, clients, Node::Follower).await?;
    let shown = follower.simple("SHOW primary_conninfo").await?;
    let conninfo = shown.value().context("the follower does not say how it reaches the primary")?.to_owned();
    connect(&*follower, "").await?;
    wait_for(&*follower, "SELECT count(*) FROM pg_stat_wal_receiver", "0", "the follower to be cut off")
        .await?;
    Ok(conninfo)
}

/// Has the standby follow what this says.
async fn connect(standby: &dyn Session, conninfo: &str) -> anyhow::Result<()> {
    let literal = conninfo.replace('\'', "''");
    standby.simple(&format!("ALTER SYSTEM SET primary_conninfo = '{literal}'")).await?;
    standby.simple("SELECT pg_reload_conf()").await?;
    Ok(())
}

/// Promotes the standby while sessions wait on it, and on a follower of it. `upstream` is how the follower reached the
/// primary; without it there is no follower.
pub(super) async fn measure(bench: &Bench<'_>, upstream: Option<&str>) -> anyhow::Result<Vec<Refusal>> {
    let mut waits = JoinSet::new();
    let follower = match upstream {
        Some(upstream) => Some(follow(bench, upstream).await.context("the follower")?),
        None => None,
    };
    let ahead = bench.standby_lsn().await? + AHEAD_BYTES;
    start(bench, Node::Standby, Target::Future, ahead, &mut waits).await?;
    if follower.is_some() {
        start(bench, Node::Follower, Target::Reached, ahead, &mut waits).await?;
    }
    let all = (MODES.len() * 2).to_string();
    wait_for(&*bench.standby, WAITERS, &all, "the sessions on the standby to wait").await?;
    if let Some(follower) = &follower {
        wait_for(&**follower, WAITERS, &all, "the sessions on the follower to wait").await?;
    }
    let promoted = bench.standby.simple("SELECT pg_promote(true, 60)").await.context("pg_promote")?;
    ensure!(promoted.value() == Some("t"), "the standby was not promoted within a minute");
    if let Some(follower) = &follower {
        let timeline =
            "SELECT coalesce(max(received_tli), 0) FROM pg_stat_wal_receiver WHERE status = 'streaming'";
        wait_for(&**follower, timeline, "2", "the follower to stream the new timeline").await?;
        bench.standby.simple(WRITE).await.context("writing on the new timeline")?;
    }
    let mut answers = Vec::new();
    let gathered = async {
        while let Some(ended) = waits.join_next().await {
            answers.push(ended?);
        }
        anyhow::Ok(())
    };
    // A wait that never ends is an answer as well; its session goes with the set.
    let ended = timeout(PROMPT, gathered).await;
    ended.context("a session still waits, a minute after the promotion")??;
    answers.sort_by(|one, other| (&one.case, one.no_throw).cmp(&(&other.case, other.no_throw)));
    Ok(answers)
}

/// Has the follower follow the standby, until it has all that the standby has.
async fn follow(bench: &Bench<'_>, upstream: &str) -> anyhow::Result<Arc<dyn Session>> {
    let follower = session(bench.pair, bench.clients, Node::Follower).await?;
    let (primary, standby) = (Node::Primary.name(), Node::Standby.name());
    let conninfo = upstream.replace(&format!("host={primary}"), &format!("host={standby}"));
    ensure!(conninfo != upstream, "its primary_conninfo does not name the host {primary}");
    connect(&*follower, &conninfo).await?;
    let streams = "SELECT count(*) FROM pg_stat_wal_receiver WHERE status = 'streaming'";
    wait_for(&*follower, streams, "1", "the follower to stream from the standby").await?;
    let lsn = bench.standby_lsn().await?;
    let has_all = format!("SELECT pg_last_wal_replay_lsn() >= '{}'", in_words(lsn));
    wait_for(&*follower, &has_all, "t", "the follower to have what the standby has").await?;
    Ok(follower)
}

impl Bench<'_> {
    /// What the standby has replayed.
    async fn standby_lsn(&self) -> anyhow::Result<u64> {
        let sql = "SELECT (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::int8";
        let answer = self.standby.simple(sql).await?;
        Ok(answer.value().context("it has replayed nothing")?.parse()?)
    }
}

/// Starts a wait in every mode, with and without `NO_THROW`.
async fn start(
    bench: &Bench<'_>,
    node: Node,
    lsn: Target,
    reached: u64,
    waits: &mut JoinSet<Refusal>,
) -> anyhow::Result<()> {
    const PROMOTION: [Case; 3] = [
        Case::new("promotion-standby_replay", &["MODE 'standby_replay'"]),
        Case::new("promotion-standby_write", &["MODE 'standby_write'"]),
        Case::new("promotion-standby_flush", &["MODE 'standby_flush'"]),
    ];
    const SWITCH: [Case; 3] = [
        Case::new("timeline-switch-standby_replay", &["MODE 'standby_replay'"]),
        Case::new("timeline-switch-standby_write", &["MODE 'standby_write'"]),
        Case::new("timeline-switch-standby_flush", &["MODE 'standby_flush'"]),
    ];
    let cases = if node == Node::Follower { SWITCH } else { PROMOTION };
    for case in cases {
        for throw in [Throw::Yes, Throw::No] {
            let session = session(bench.pair, bench.clients, node).await?;
            let sql = case.of(lsn).statement(node, throw, reached);
            waits.spawn(async move {
                let answer = session.simple(&sql).await;
                told_as(case.name, "standby", throw, &sql, Ok(answer), String::new(), None)
            });
        }
    }
    Ok(())
}

/// Asks until the answer is `value`.
async fn wait_for(session: &dyn Session, sql: &str, value: &str, what: &str) -> anyhow::Result<()> {
    let started = Instant::now();
    loop {
        let answer = session.simple(sql).await.context("asking")?;
        if answer.value() == Some(value) {
            return Ok(());
        }
        ensure!(started.elapsed() < PROMPT, "waited {PROMPT:?} for {what}; it is {:?}", answer.value());
        sleep(LOOK_AGAIN).await;
    }
}
