//! A primary and standbys that are a script: they replay so long after a commit, answer `WAIT FOR LSN` as PostgreSQL 19
//! does, and count what they are asked. Time is virtual, in milliseconds.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::bail;
use async_trait::async_trait;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::postgres::{Answer, SqlError};
use crate::profile::Profile;
use crate::progress::Progress;
use crate::repro::Ground;
use crate::store::{NodeInfo, Platform, Server};
use crate::wait_for::{Node, Pair, PairOrder, PairSite, Session, Usage, testing};

/// What a question and its answer take on the way.
const ROUND_TRIP: Duration = Duration::from_millis(1);
/// How long a commit takes to be replayed.
pub(crate) const REPLAY: Duration = Duration::from_millis(8);
/// CPU that a question takes.
pub(crate) const QUESTION_S: f64 = 0.0001;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Trouble {
    /// Nothing.
    #[default]
    None,
    /// The connection is lost at the insert of this number.
    LostAt(u32),
    /// Waiters are woken before what they wait for is written.
    WokenEarly,
    /// `NO_THROW` is ignored.
    AlwaysThrows,
    /// The probe in the standby does not say its CPU time.
    NoCpu,
}

/// What the servers are.
#[derive(Debug, Default)]
struct State {
    /// End of WAL, and when each end before it is replayed.
    written: u64,
    replayed: BTreeMap<u64, Option<Instant>>,
    promoted: bool,
    parked: bool,
    standby_questions: u32,
    inserts: u32,
    /// Sessions that wait, by pid.
    waiting: BTreeMap<u32, (Node, String, Arc<Notify>)>,
    ended: BTreeMap<u32, &'static str>,
}

/// The servers.
#[derive(Debug, Default)]
pub(crate) struct FakePair {
    state: Arc<Mutex<State>>,
    trouble: Trouble,
    pids: AtomicU32,
}

impl FakePair {
    pub(crate) fn with(trouble: Trouble) -> Self {
        Self { trouble, ..Self::default() }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn write(&mut self, bytes: u64) {
        self.written += bytes;
        self.replayed.insert(self.written, Instant::now().checked_add(REPLAY));
    }

    /// When the standby has `lsn`: none if it is not written yet.
    fn due(&self, lsn: u64) -> Option<Instant> {
        if lsn <= 1 {
            return Some(Instant::now());
        }
        self.replayed.range(lsn..).next().and_then(|(_, at)| *at)
    }
}

#[async_trait]
impl Pair for FakePair {
    async fn session(&self, node: Node) -> anyhow::Result<Arc<dyn Session>> {
        let pid = self.pids.fetch_add(1, Ordering::Relaxed) + 1;
        let state = Arc::clone(&self.state);
        Ok(Arc::new(FakeSession { state, node, pid, trouble: self.trouble }))
    }

    async fn usage(&self) -> anyhow::Result<Usage> {
        let questions = f64::from(lock(&self.state).standby_questions);
        let standby_s = (self.trouble != Trouble::NoCpu).then_some(questions * QUESTION_S);
        Ok(Usage {
            primary_s: Some(0.0),
            standby_s,
            client_s: Some(0.0),
            machine_busy: Some(questions),
            machine_all: Some(questions * 2.0),
        })
    }

    async fn nap(&self, length: Duration) {
        sleep(length).await;
    }

    async fn describe(&self) -> anyhow::Result<Vec<NodeInfo>> {
        Ok(testing::info("19rc1").nodes)
    }

    async fn save_logs(&self) -> anyhow::Result<()> {
        Ok(())
    }
}

struct FakeSession {
    state: Arc<Mutex<State>>,
    node: Node,
    pid: u32,
    trouble: Trouble,
}

fn refused(sqlstate: &str, message: &str) -> SqlError {
    SqlError::Refused { sqlstate: sqlstate.to_owned(), message: message.to_owned(), detail: None, hint: None }
}

fn value(text: &str) -> Result<Answer, SqlError> {
    Ok(Answer { rows: vec![vec![Some(text.to_owned())]] })
}

/// The text between two others.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split_once(before)?.1.split_once(after).map(|(found, _)| found)
}

impl FakeSession {
    async fn asked(&self) {
        sleep(ROUND_TRIP).await;
        if self.node == Node::Standby {
            lock(&self.state).standby_questions += 1;
        }
    }

    fn is_in_recovery(&self) -> bool {
        self.node == Node::Follower || (self.node == Node::Standby && !lock(&self.state).promoted)
    }

    /// `WAIT FOR LSN`, as 19 answers it.
    async fn wait_for(&self, sql: &str) -> Result<Answer, SqlError> {
        let throws = !sql.contains("NO_THROW") || self.trouble == Trouble::AlwaysThrows;
        let failed = |sqlstate: &str, status: &str| {
            if throws { Err(refused(sqlstate, status)) } else { value(status) }
        };
        let Some((high, low)) = between(sql, "LSN '", "'").and_then(|lsn| lsn.split_once('/')) else {
            return Err(refused("22P02", "invalid input syntax for type pg_lsn"));
        };
        let half = |digits| u64::from_str_radix(digits, 16).unwrap_or(u64::MAX >> 33);
        let lsn = half(high) << 32 | half(low);
        let mode = between(sql, "MODE '", "'").unwrap_or("standby_replay");
        match (mode, self.is_in_recovery()) {
            ("standby_replay" | "standby_write" | "standby_flush", true) | ("primary_flush", false) => {}
            ("standby_replay" | "standby_write" | "standby_flush", false) => {
                return failed("55000", "not in recovery");
            }
            ("primary_flush", true) => return Err(refused("55000", "recovery is in progress")),
            _ => return Err(refused("22023", "unrecognized value for WAIT option")),
        }
        let timeout =
            between(sql, "TIMEOUT '", "ms'").and_then(|text| text.parse().ok()).map(Duration::from_millis);
        let (woken, deadline) =
            (Arc::new(Notify::new()), Instant::now() + timeout.unwrap_or(Duration::from_secs(3600)));
        lock(&self.state).waiting.insert(self.pid, (self.node, sql.to_owned(), Arc::clone(&woken)));
        let ended = loop {
            if self.trouble == Trouble::WokenEarly {
                break value("success");
            }
            let due = if mode == "primary_flush" {
                (lock(&self.state).written >= lsn).then(Instant::now)
            } else {
                lock(&self.state).due(lsn)
            };
            if due.is_some_and(|due| due <= Instant::now()) {
                break value("success");
            }
            if let Some(how) = lock(&self.state).ended.remove(&self.pid) {
                break if how == "promoted" {
                    failed("55000", "not in recovery")
                } else {
                    Err(refused(how, "ended"))
                };
            }
            if Instant::now() >= deadline {
                break failed("57014", "timeout");
            }
            // The waiter is told when something is written.
            tokio::select! {
                () = woken.notified() => {}
                () = tokio::time::sleep_until(due.unwrap_or(deadline).min(deadline)) => {}
            }
        };
        lock(&self.state).waiting.remove(&self.pid);
        ended
    }

    fn end(&self, pid: &str, how: &'static str) -> Result<Answer, SqlError> {
        let mut state = lock(&self.state);
        if let Some((pid, woken)) = pid
            .parse()
            .ok()
            .and_then(|pid| state.waiting.get(&pid).map(|waiting| (pid, Arc::clone(&waiting.2))))
        {
            state.ended.insert(pid, how);
            woken.notify_one();
        }
        value("t")
    }

    fn promote(&self) -> Result<Answer, SqlError> {
        let mut state = lock(&self.state);
        state.promoted = true;
        let waiting: Vec<_> =
            state.waiting.iter().map(|(pid, (node, _, woken))| (*pid, *node, Arc::clone(woken))).collect();
        for (pid, _, woken) in waiting.into_iter().filter(|(_, node, _)| *node == Node::Standby) {
            state.ended.insert(pid, "promoted");
            woken.notify_one();
        }
        value("t")
    }

    /// Who waits on this server, in `pg_stat_activity`.
    fn activity(&self, sql: &str) -> Result<Answer, SqlError> {
        let state = lock(&self.state);
        if let Some(pid) = between(sql, "pid = ", " ") {
            let waits = pid.parse().is_ok_and(|pid: u32| state.waiting.contains_key(&pid));
            return if waits { value("IPC/WaitForWalReplay") } else { Ok(Answer::default()) };
        }
        let count = state.waiting.values().filter(|waiting| waiting.0 == self.node).count().to_string();
        Ok(Answer { rows: vec![vec![Some(count), Some("IPC/WaitForWalReplay".to_owned())]] })
    }
}

#[async_trait]
impl Session for FakeSession {
    async fn insert(&self) -> Result<(), SqlError> {
        self.asked().await;
        let mut state = lock(&self.state);
        state.inserts += 1;
        if self.trouble == Trouble::LostAt(state.inserts) {
            return Err(SqlError::Failed("connection closed".to_owned()));
        }
        state.write(100);
        Ok(())
    }

    async fn flushed(&self) -> Result<u64, SqlError> {
        self.asked().await;
        Ok(lock(&self.state).written)
    }

    async fn has_replayed(&self, lsn: u64) -> Result<bool, SqlError> {
        self.asked().await;
        Ok(lock(&self.state).due(lsn).is_some_and(|due| due <= Instant::now()))
    }

    async fn ping(&self) -> Result<(), SqlError> {
        self.asked().await;
        Ok(())
    }

    async fn simple(&self, sql: &str) -> Result<Answer, SqlError> {
        self.asked().await;
        match sql {
            _ if sql.contains("pg_stat_activity") => self.activity(sql),
            _ if sql.starts_with("WAIT FOR") => self.wait_for(sql).await,
            _ if sql.contains("WAIT FOR") => match sql.split_once("; WAIT FOR") {
                Some((_, rest)) => self.wait_for(&format!("WAIT FOR{rest}")).await,
                None => Err(refused("42601", "syntax error")),
            },
            _ if sql.starts_with("SELECT pg_cancel_backend(") => self.end(&sql[25..sql.len() - 1], "57014"),
            _ if sql.starts_with("SELECT pg_terminate_backend(") => {
                self.end(&sql[28..sql.len() - 1], "57P01")
            }
            _ if sql.contains("pg_promote") => self.promote(),
            _ if sql.contains("pg_logical_emit_message") => {
                let mut state = lock(&self.state);
                state.write(200_000);
                state.waiting.values().for_each(|waiting| waiting.2.notify_one());
                value("0/0")
            }
            "SELECT pg_backend_pid()" => value(&self.pid.to_string()),
            "SHOW primary_conninfo" => value("host=primary port=5432"),
            _ if sql.starts_with("ALTER SYSTEM SET primary_conninfo") => {
                lock(&self.state).parked = sql.ends_with("''");
                Ok(Answer::default())
            }
            _ if sql.contains("received_tli") => value("2"),
            _ if sql.contains("pg_stat_wal_receiver") => {
                value(if lock(&self.state).parked { "0" } else { "1" })
            }
            _ if sql.contains("pg_last_wal_replay_lsn() >=") => value("t"),
            _ if sql.contains("pg_last_wal_replay_lsn() - ") => value(&lock(&self.state).written.to_string()),
            _ => Ok(Answer::default()),
        }
    }

    async fn extended(&self, sql: &str) -> Result<Answer, SqlError> {
        self.simple(sql).await
    }
}

/// A place where fake pairs are set up, which remembers what was asked of it.
#[derive(Debug)]
pub(crate) struct FakePairSite {
    pub version: &'static str,
    pub trouble: Trouble,
    pub broken: bool,
    pub calls: Mutex<Vec<String>>,
}

impl FakePairSite {
    pub(crate) fn of(version: &'static str) -> Self {
        Self { version, trouble: Trouble::None, broken: false, calls: Mutex::default() }
    }

    pub(crate) fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn called(&self, what: &str) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(what.to_owned());
    }
}

#[async_trait]
impl PairSite for FakePairSite {
    async fn version(&self, _profile: &Profile, _progress: &Progress) -> anyhow::Result<String> {
        Ok(self.version.to_owned())
    }

    async fn prepare(&self, _profile: &Profile, _progress: &Progress) -> anyhow::Result<Ground> {
        self.called("prepare");
        let server: Server = testing::info(self.version).server;
        Ok(Ground { server, platform: Platform { cpus: Some(1), ..Platform::default() } })
    }

    async fn raise(&self, order: PairOrder, _progress: &Progress) -> anyhow::Result<Arc<dyn Pair>> {
        let names: Vec<&str> = order.profile.standby.iter().map(|standby| standby.name.as_str()).collect();
        self.called(&format!("raise {} with {} CPUs", names.join("+"), order.profile.primary.cpus));
        if self.broken {
            bail!("standby did not start");
        }
        Ok(Arc::new(FakePair::with(self.trouble)))
    }

    async fn tear_down(&self, _run_id: &str, _progress: &Progress) {
        self.called("tear down");
    }

    async fn abandon(&self, _progress: &Progress) {
        self.called("abandon");
    }
}
