//! Writes of the lab's own on a primary that it watches, each with a deadline.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::Statement;
use tokio_postgres::error::{DbError, Severity};
use tokio_postgres::types::ToSql;
use tokio_util::sync::CancellationToken;

use super::{Connection, Endpoint, OwnStatements, PostgresError};
use crate::human::in_full;

/// How long a write that was cancelled may take to end, and how long connecting, making and dropping the table may.
const PROMPT: Duration = Duration::from_secs(10);

/// Rows of the table. They are written over again and again, so that it stays small, and each only after so many others
/// that none waits for the lock of one that hangs.
const SLOTS: i32 = 10_000;

/// What became of a write.
#[derive(Debug, Clone, PartialEq)]
pub enum Written {
    /// The primary acknowledged its commit, with whatever it asks of standbys, after this time.
    Acknowledged(Duration),
    /// Its wait for a standby was cancelled: it has committed on the primary, and the standbys may not have it.
    CommittedLocally,
    /// It did not commit, or nothing is known of it; this is why.
    Failed(String),
}

/// A small table that is written to.
#[derive(Debug)]
pub struct ProbeTable {
    endpoint: Endpoint,
    notices: UnboundedReceiver<DbError>,
    table: String,
    deadline: Duration,
    own: Arc<OwnStatements>,
    slot: i32,
    open: Option<(Connection, Statement)>,
}

impl ProbeTable {
    /// Makes the table, in the first schema of the search path. No standby is waited for.
    ///
    /// # Errors
    /// When the server lets nobody in, or this role make no table.
    pub async fn create(
        endpoint: &Endpoint,
        table: &str,
        deadline: Duration,
        own: Arc<OwnStatements>,
    ) -> Result<Self, PostgresError> {
        let (sender, notices) = unbounded_channel();
        let endpoint = endpoint.clone().hearing(sender);
        let connection = Connection::open_once(&endpoint, PROMPT).await?;
        let sql = format!(
            "BEGIN; SET LOCAL synchronous_commit = local;
             CREATE TABLE {table} (slot int4 PRIMARY KEY, written_at timestamptz NOT NULL); COMMIT"
        );
        connection.execute(&format!("making the table {table}"), &sql).await?;
        own.add(1);
        Ok(Self { endpoint, notices, table: table.to_owned(), deadline, own, slot: 0, open: None })
    }

    /// Name of the table.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.table
    }

    /// Writes a row, and cancels that at the deadline, or at once when there is a `hurry`.
    pub async fn write(&mut self, hurry: &CancellationToken) -> Written {
        let (connection, statement) = match self.open.take().filter(|(open, _)| !open.is_lost()) {
            Some(open) => open,
            None => match timeout(self.deadline.max(PROMPT), self.connect()).await {
                Ok(Ok(open)) => open,
                Ok(Err(why)) => return Written::Failed(why),
                Err(_) => return Written::Failed(format!("no connection within {:?}", self.deadline)),
            },
        };
        while self.notices.try_recv().is_ok() {}
        self.slot = (self.slot + 1) % SLOTS;
        let started = Instant::now();
        let result = self.execute(&connection, &statement, hurry).await;
        let latency = started.elapsed();
        self.own.add(1);
        // The server says in a warning that it has committed and waits no longer; what it says then, if anything, is
        // that all is well.
        let waits_no_longer = self.was_warned();
        let Some(result) = result else {
            // The connection is dropped: whatever comes of this write, it is not taken for the next one's.
            return Written::Failed("no answer, though it was cancelled".to_owned());
        };
        self.open = Some((connection, statement));
        match result {
            _ if waits_no_longer => Written::CommittedLocally,
            Ok(_) => Written::Acknowledged(latency),
            Err(error) => Written::Failed(in_full(&error)),
        }
    }

    /// Its result; none when there was none even after it had been cancelled.
    async fn execute(
        &self,
        connection: &Connection,
        statement: &Statement,
        hurry: &CancellationToken,
    ) -> Option<Result<u64, tokio_postgres::Error>> {
        let client = connection.client();
        let parameters: [&(dyn ToSql + Sync); 1] = [&self.slot];
        let execute = client.execute(statement, &parameters);
        tokio::pin!(execute);
        tokio::select! {
            result = &mut execute => return Some(result),
            () = sleep(self.deadline) => {}
            () = hurry.cancelled() => {}
        }
        let cancel = self.endpoint.cancel(client.cancel_token());
        if let Ok(Err(error)) = timeout(PROMPT, cancel).await {
            tracing::debug!("cancelling a write of the probe: {}", in_full(&error));
        }
        timeout(PROMPT, execute).await.ok()
    }

    /// Drops the table. No standby is waited for.
    ///
    /// # Errors
    /// When the server does not do it in time; what to do by hand is in the message of whoever asked.
    pub async fn drop_table(&mut self) -> Result<(), PostgresError> {
        self.open = None;
        let connection = Connection::open_once(&self.endpoint, PROMPT).await?;
        let sql = format!(
            "BEGIN; SET LOCAL synchronous_commit = local; SET LOCAL lock_timeout = '{}ms'; DROP TABLE IF EXISTS {}; \
             COMMIT",
            PROMPT.as_millis(),
            self.table
        );
        connection.execute(&format!("dropping the table {}", self.table), &sql).await
    }

    async fn connect(&self) -> Result<(Connection, Statement), String> {
        let open = async {
            let connection = Connection::open_once(&self.endpoint, PROMPT).await?;
            connection.execute("what it is to be told", "SET client_min_messages = warning").await?;
            let sql = format!(
                "INSERT INTO {} (slot, written_at) VALUES ($1, clock_timestamp())
                 ON CONFLICT (slot) DO UPDATE SET written_at = excluded.written_at",
                self.table
            );
            let statement = connection.prepare("the probe's write", &sql).await?;
            Ok::<_, PostgresError>((connection, statement))
        };
        self.own.add(2);
        open.await.map_err(|error| in_full(&error))
    }

    /// Has the server warned of something since this was asked. What it says stands before its answer.
    fn was_warned(&mut self) -> bool {
        let mut warned = false;
        while let Ok(notice) = self.notices.try_recv() {
            warned |= notice.parsed_severity() == Some(Severity::Warning);
        }
        warned
    }
}
