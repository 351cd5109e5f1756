//! What the primary says once a tick.

use async_trait::async_trait;
use tokio_postgres::{Client, Statement};

use super::Inquiry;
use crate::store::{Cell, Column, Metric};

/// Functions rather than the views over them: the views join catalogues, whose pages may have to be read again.
const ITSELF: &str = "
    SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::int8,
           (SELECT count(*) FROM pg_stat_get_activity(NULL)
             WHERE wait_event_type = 'IPC' AND wait_event = 'SyncRep')::int8";

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
    standbys: Vec<String>,
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
        Self { node: node.to_owned(), standbys }
    }
}

#[async_trait]
impl Inquiry for PrimaryInquiry {
    type Statements = Statements;

    async fn prepare(&self, client: &Client) -> Result<Statements, tokio_postgres::Error> {
        let (itself, replication) =
            futures_util::try_join!(client.prepare(ITSELF), client.prepare(REPLICATION))?;
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
        for row in &replication {
            let standby: &str = row.get(0);
            if !self.standbys.iter().any(|known| known == standby) {
                continue;
            }
            let state: Option<String> = row.get(1);
            cells.push((Column::new(standby, Metric::SyncState), state.map_or(Cell::Empty, Cell::Text)));
            for (at, metric) in [(2, Metric::SentLsn), (3, Metric::WriteLsn), (4, Metric::FlushLsn)] {
                cells.push((Column::new(standby, metric), count(row.get(at))));
            }
        }
        Ok(cells)
    }

    /// Also those of a standby that is not connected at first.
    fn columns(&self, _first: &[(Column, Cell)]) -> Vec<Column> {
        let own = [Metric::WalLsn, Metric::SyncRepWaiters].map(|metric| Column::new(&self.node, metric));
        let of_standbys = self.standbys.iter().flat_map(|standby| {
            [Metric::SyncState, Metric::SentLsn, Metric::WriteLsn, Metric::FlushLsn]
                .map(|metric| Column::new(standby, metric))
        });
        own.into_iter().chain(of_standbys).collect()
    }
}

/// A counter or an LSN; exact up to 2^53.
pub(super) fn count(value: Option<i64>) -> Cell {
    value.map_or(Cell::Empty, |value| Cell::Number(value as f64))
}
