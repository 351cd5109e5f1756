//! What the primary says once a tick.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;
use tokio_postgres::{Client, Statement};

use super::Inquiry;
use super::writes::{Answer, OwnStatements, Writes};
use crate::store::{Cell, Column, Metric};

/// Functions rather than the views over them: the views join catalogues, whose pages may have to be read again.
const ITSELF: &str = "
    SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::int8,
           (SELECT count(*) FROM pg_stat_get_activity(NULL)
             WHERE wait_event_type = 'IPC' AND wait_event = 'SyncRep')::int8";

/// The same of servers that are only watched, and what tells of their commits. A role without `pg_monitor` is not told
/// who waits: that is nothing, not nobody.
const WATCHED: &str = "
    SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::int8,
           CASE WHEN may.see THEN waiting.number END,
           pg_snapshot_xmax(pg_current_snapshot())::text::int8,
           extract(epoch FROM pg_postmaster_start_time())::float8,
           (SELECT sum(xact_commit) FROM pg_stat_database)::int8,
           CASE WHEN may.see THEN waiting.transactions END,
           CASE WHEN may.see AND current_setting('synchronous_standby_names') <> '' THEN
                (SELECT count(*) FROM pg_stat_get_wal_senders() WHERE sync_state IN ('sync', 'quorum')) END::int8
      FROM (SELECT pg_has_role('pg_read_all_stats', 'USAGE') AS see) may,
           (SELECT count(*)::int8 AS number,
                   coalesce(array_agg(coalesce(backend_xid::text, 'pid ' || pid)), '{}') AS transactions
              FROM pg_stat_get_activity(NULL)
             WHERE wait_event_type = 'IPC' AND wait_event = 'SyncRep') waiting";

/// The oldest walsender first: one that has not noticed that its standby is gone is overruled by that of the standby
/// which came back.
const REPLICATION: &str = "
    SELECT a.application_name, s.sync_state,
           (s.sent_lsn - '0/0'::pg_lsn)::int8,
           (s.write_lsn - '0/0'::pg_lsn)::int8,
           (s.flush_lsn - '0/0'::pg_lsn)::int8
      FROM pg_stat_get_wal_senders() s
      JOIN pg_stat_get_activity(NULL) a USING (pid)
     ORDER BY a.backend_start";

/// What the primary is asked.
#[derive(Debug)]
pub struct PrimaryInquiry {
    node: String,
    standbys: Vec<Replica>,
    writes: Option<Writes>,
}

/// A standby as its primary knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    /// Name of its node.
    pub node: String,
    /// The name it connects by; none where that is not known, or not its own alone.
    pub application_name: Option<String>,
}

/// The primary's questions on one connection.
pub struct Statements {
    itself: Statement,
    replication: Statement,
}

/// What replication states a query can be asked for: see [`ReplicationState::sql`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplicationState {
    /// `streaming`, `catchup` ...
    Streaming,
    /// `sync`, `quorum`, `potential`, `async`.
    Sync,
}

impl ReplicationState {
    /// The query for this state of the standby of that name; the name is quoted as a literal.
    #[must_use]
    pub fn sql(self, standby: &str) -> String {
        let column = match self {
            Self::Streaming => "state",
            Self::Sync => "sync_state",
        };
        let literal = standby.replace('\'', "''");
        format!("SELECT {column} FROM pg_stat_replication WHERE application_name = '{literal}'")
    }
}

impl PrimaryInquiry {
    /// Questions to the primary of this name about itself and these standbys.
    #[must_use]
    pub fn new(node: &str, standbys: Vec<String>) -> Self {
        let replica = |name: String| Replica { application_name: Some(name.clone()), node: name };
        let standbys = standbys.into_iter().map(replica).collect();
        Self { node: node.to_owned(), standbys, writes: None }
    }

    /// Questions to a primary that the lab only watches: it has no load whose reports would tell of commits. `own` counts
    /// the lab's own statements on it.
    #[must_use]
    pub fn watching(node: &str, standbys: Vec<Replica>, own: Arc<OwnStatements>) -> Self {
        Self { node: node.to_owned(), standbys, writes: Some(Writes::new(own)) }
    }
}

impl PrimaryInquiry {
    fn itself(&self) -> &'static str {
        if self.writes.is_some() { WATCHED } else { ITSELF }
    }
}

#[async_trait]
impl Inquiry for PrimaryInquiry {
    type Statements = Statements;

    async fn prepare(&self, client: &Client) -> Result<Statements, tokio_postgres::Error> {
        let (itself, replication) =
            futures_util::try_join!(client.prepare(self.itself()), client.prepare(REPLICATION))?;
        Ok(Statements { itself, replication })
    }

    async fn ask(
        &self,
        client: &Client,
        statements: &Statements,
    ) -> Result<Vec<(Column, Cell)>, tokio_postgres::Error> {
        let (itself, replication) = futures_util::try_join!(
            client.query_one(&statements.itself, &[]),
            client.query(&statements.replication, &[])
        )?;
        let mut cells = vec![
            (Column::new(&self.node, Metric::WalLsn), count(itself.get(0))),
            (Column::new(&self.node, Metric::SyncRepWaiters), count(itself.get(1))),
        ];
        if let Some(writes) = &self.writes {
            let answer = Answer {
                ended: itself.get(2),
                server_start_s: itself.get(3),
                commits: itself.get(4),
                waiting: itself.get(5),
                sync_standbys: itself.get(6),
            };
            let told = writes.cells(Instant::now(), answer);
            cells.extend(told.into_iter().map(|(metric, cell)| (Column::new(&self.node, metric), cell)));
        }
        for row in &replication {
            let name: Option<&str> = row.get(0);
            let known = self.standbys.iter().find(|known| known.application_name.as_deref() == name);
            let Some(Replica { node, .. }) = known.filter(|_| name.is_some()) else { continue };
            let state: Option<String> = row.get(1);
            cells.push((Column::new(node, Metric::SyncState), state.map_or(Cell::Empty, Cell::Text)));
            for (at, metric) in [(2, Metric::SentLsn), (3, Metric::WriteLsn), (4, Metric::FlushLsn)] {
                cells.push((Column::new(node, metric), count(row.get(at))));
            }
        }
        Ok(cells)
    }

    /// Also those of a standby that is not connected at first.
    fn columns(&self, _first: &[(Column, Cell)]) -> Vec<Column> {
        let of_writes = self.writes.iter().flat_map(|_| Writes::METRICS);
        let own = [Metric::WalLsn, Metric::SyncRepWaiters].into_iter().chain(of_writes);
        let own = own.map(|metric| Column::new(&self.node, metric));
        let of_standbys = self.standbys.iter().flat_map(|standby| {
            [Metric::SyncState, Metric::SentLsn, Metric::WriteLsn, Metric::FlushLsn]
                .map(|metric| Column::new(&standby.node, metric))
        });
        own.chain(of_standbys).collect()
    }
}

/// A counter or an LSN; exact up to 2^53.
pub(super) fn count(value: Option<i64>) -> Cell {
    value.map_or(Cell::Empty, |value| Cell::Number(value as f64))
}
