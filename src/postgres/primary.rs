//! What the primary says once a tick.

use async_trait::async_trait;
use tokio_postgres::Statement;

use super::Connection;
use crate::measure::Source;
use crate::store::{Cell, Column, Metric};

/// Functions rather than the views over them: the views join catalogues, whose pages may have to be read again.
const ITSELF: &str = "
    SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::int8,
           (SELECT count(*) FROM pg_stat_get_activity(NULL)
             WHERE wait_event_type = 'IPC' AND wait_event = 'SyncRep')::int8";

const REPLICATION: &str = "
    SELECT a.application_name, s.sync_state,
           (s.sent_lsn - '0/0'::pg_lsn)::int8,
           (s.write_lsn - '0/0'::pg_lsn)::int8,
           (s.flush_lsn - '0/0'::pg_lsn)::int8
      FROM pg_stat_get_wal_senders() s
      JOIN pg_stat_get_activity(NULL) a USING (pid)";

/// The primary as a source of the sampler.
pub struct PrimarySource {
    node: String,
    standbys: Vec<String>,
    connection: Connection,
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

impl PrimarySource {
    /// Prepares the questions on an open connection.
    ///
    /// # Errors
    /// When the server does not know what is asked.
    pub async fn prepare(
        node: &str,
        standbys: Vec<String>,
        connection: Connection,
    ) -> Result<Self, tokio_postgres::Error> {
        let itself = connection.client().prepare(ITSELF).await?;
        let replication = connection.client().prepare(REPLICATION).await?;
        Ok(Self { node: node.to_owned(), standbys, connection, itself, replication })
    }
}

#[async_trait]
impl Source for PrimarySource {
    fn name(&self) -> String {
        format!("SQL on {}", self.node)
    }

    fn columns(&self) -> Vec<Column> {
        let own = [Metric::WalLsn, Metric::SyncRepWaiters].map(|metric| Column::new(&self.node, metric));
        let of_standbys = self.standbys.iter().flat_map(|standby| {
            [Metric::SyncState, Metric::SentLsn, Metric::WriteLsn, Metric::FlushLsn]
                .map(|metric| Column::new(standby, metric))
        });
        own.into_iter().chain(of_standbys).collect()
    }

    async fn read(&mut self) -> anyhow::Result<Vec<(Column, Cell)>> {
        let client = self.connection.client();
        let (itself, replication) = futures_util::try_join!(
            client.query_one(&self.itself, &[]),
            client.query(&self.replication, &[])
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
}

/// A counter or an LSN; exact up to 2^53.
pub(super) fn count(value: Option<i64>) -> Cell {
    value.map_or(Cell::Empty, |value| Cell::Number(value as f64))
}
