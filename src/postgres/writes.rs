//! What a primary's own counters tell of its commits, where no load of the lab reports them.
//!
//! `pg_stat_database` is not enough: it counts transactions that only read, and a session that then waits for work tells
//! of its last ones up to ten seconds late. Transaction ids are taken by those alone that write, and one counts as ended
//! only after its commit has been acknowledged by the standbys it waited for. That somebody waits is seen as well, and
//! since the server releases commits in the order of their WAL, none that came after one that still waits was released.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

use super::primary::count;
use crate::store::{Cell, Metric};

/// Statements a question at a tick takes: one for the primary itself, one for replication.
const STATEMENTS_A_TICK: u64 = 2;

/// How many transactions of the lab's own a server has counted.
#[derive(Debug, Default)]
pub struct OwnStatements(AtomicU64);

impl OwnStatements {
    /// So many more have been made.
    pub fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }

    fn total(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a primary answers at a tick.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    /// The first transaction id that had not ended.
    pub ended: i64,
    /// When the server was started, seconds since 1970 by its own clock.
    pub server_start_s: f64,
    /// Commits of all databases.
    pub commits: Option<i64>,
    /// The transactions that wait for a standby; none where this role may not see them.
    pub waiting: Option<Vec<String>>,
    /// Standbys that are connected and may be waited for.
    pub sync_standbys: Option<i64>,
}

/// Remembers what the answers before said.
#[derive(Debug)]
pub(super) struct Writes {
    own: Arc<OwnStatements>,
    before: Mutex<Option<Before>>,
}

#[derive(Debug)]
struct Before {
    at: Instant,
    ended: i64,
    server_start_s: f64,
    /// Who waited, and since when that is known.
    waiting: HashMap<String, Instant>,
}

impl Writes {
    /// What it fills.
    pub const METRICS: [Metric; 5] =
        [Metric::Tps, Metric::CommitsTotal, Metric::SyncRepWaitS, Metric::SyncStandbys, Metric::StartedUnixS];

    pub fn new(own: Arc<OwnStatements>) -> Self {
        Self { own, before: Mutex::new(None) }
    }

    /// What follows from an answer of this moment and those before it. A server that was started anew has ended all
    /// transactions, acknowledged or not: over its start there is no rate.
    pub fn cells(&self, at: Instant, answer: Answer) -> Vec<(Metric, Cell)> {
        self.own.add(STATEMENTS_A_TICK);
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let same = before.take().filter(|before| before.server_start_s == answer.server_start_s);
        let tps = same.as_ref().and_then(|before| {
            let (ended, seconds) = (answer.ended - before.ended, (at - before.at).as_secs_f64());
            (ended >= 0 && seconds > 0.0).then(|| ended as f64 / seconds)
        });
        let known_since = |name: &String| same.as_ref().and_then(|before| before.waiting.get(name)).copied();
        let waiting: Option<HashMap<String, Instant>> = answer.waiting.map(|names| {
            names
                .into_iter()
                .map(|name| (known_since(&name).unwrap_or(at), name))
                .map(|(t, n)| (n, t))
                .collect()
        });
        let waited_s = waiting
            .as_ref()
            .map(|waiting| waiting.values().map(|since| (at - *since).as_secs_f64()).fold(0.0, f64::max));
        *before = Some(Before {
            at,
            ended: answer.ended,
            server_start_s: answer.server_start_s,
            waiting: waiting.unwrap_or_default(),
        });
        let own = i64::try_from(self.own.total()).unwrap_or(i64::MAX);
        let number = |number: Option<f64>| number.map_or(Cell::Empty, Cell::Number);
        vec![
            (Metric::Tps, number(tps)),
            (Metric::SyncRepWaitS, number(waited_s)),
            (Metric::CommitsTotal, count(answer.commits.map(|commits| (commits - own).max(0)))),
            (Metric::SyncStandbys, count(answer.sync_standbys)),
            (Metric::StartedUnixS, Cell::Number(answer.server_start_s)),
        ]
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::Duration;

    use super::*;

    fn answer(ended: i64, waiting: &[&str]) -> Answer {
        Answer {
            ended,
            server_start_s: 1.0,
            commits: Some(ended + 1_000),
            waiting: Some(waiting.iter().map(|name| (*name).to_owned()).collect()),
            sync_standbys: Some(1),
        }
    }

    /// The rate and the wait that these answers give, one a second.
    fn told(answers: Vec<Answer>) -> Vec<(Option<f64>, Option<f64>)> {
        let (writes, start) = (Writes::new(Arc::default()), Instant::now());
        let at = (0..).map(|second| start + Duration::from_secs(second));
        let cells = at.zip(answers).map(|(at, answer)| writes.cells(at, answer));
        let number = |cells: &[(Metric, Cell)], metric: Metric| {
            cells.iter().find(|(known, _)| *known == metric).and_then(|(_, cell)| cell.number())
        };
        cells.map(|cells| (number(&cells, Metric::Tps), number(&cells, Metric::SyncRepWaitS))).collect()
    }

    #[test]
    fn the_rate_is_that_of_writing_transactions_that_ended() {
        let rows = told(vec![answer(100, &[]), answer(105, &["107"]), answer(105, &[])]);
        assert_eq!(rows, [(None, Some(0.0)), (Some(5.0), Some(0.0)), (Some(0.0), Some(0.0))]);
    }

    #[test]
    fn who_waits_longest_is_known_from_when_it_was_first_seen() {
        let rows = told(vec![answer(1, &["7"]), answer(2, &["7", "8"]), answer(3, &["8", "9"])]);
        assert_eq!(rows.iter().map(|row| row.1.unwrap()).collect::<Vec<_>>(), [0.0, 1.0, 1.0]);
    }

    #[test]
    fn a_server_started_anew_has_no_rate_and_nobody_who_has_waited() {
        let again = Answer { server_start_s: 2.0, ..answer(140, &["7"]) };
        assert_eq!(
            told(vec![answer(100, &["7"]), again.clone(), again])[1..],
            [(None, Some(0.0)), (Some(0.0), Some(1.0))]
        );
    }

    #[test]
    fn a_role_that_may_not_see_who_waits_knows_nothing_of_it_and_still_the_rate() {
        let hidden = |ended| Answer { waiting: None, sync_standbys: None, ..answer(ended, &[]) };
        assert_eq!(told(vec![hidden(1), hidden(3)]), [(None, None), (Some(2.0), None)]);
    }

    #[test]
    fn the_labs_own_statements_are_left_out_of_commits() {
        let (own, start) = (Arc::new(OwnStatements::default()), Instant::now());
        let writes = Writes::new(Arc::clone(&own));
        own.add(10);
        let cells = writes.cells(start, answer(100, &[]));
        assert!(cells.contains(&(Metric::CommitsTotal, Cell::Number(1_088.0))), "{cells:?}");
    }
}
