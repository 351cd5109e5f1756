//! A session whose statements are timed: what it asks often is prepared, and the server's refusals are values.

use std::time::Duration;

use tokio::sync::OnceCell;
use tokio_postgres::types::PgLsn;
use tokio_postgres::{SimpleQueryMessage, Statement};

use super::{Access, Connection, PostgresError};

/// The table that is written to, and the statement that makes it.
pub const CREATE_TABLE: &str = "CREATE TABLE IF NOT EXISTS stall_lab_wait_for (
    id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz NOT NULL)";

const INSERT: &str = "INSERT INTO stall_lab_wait_for (at) VALUES (clock_timestamp())";

/// What was flushed, not what was inserted: it covers a commit that has returned, and no record of another session
/// that is still to be written.
const FLUSHED: &str = "SELECT pg_current_wal_flush_lsn()";

const HAS_REPLAYED: &str = "SELECT pg_last_wal_replay_lsn() >= $1";

/// The rows of an answer, as text; null is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// The rows of all statements that were sent.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Answer {
    /// The first column of the first row.
    #[must_use]
    pub fn value(&self) -> Option<&str> {
        self.rows.first()?.first()?.as_deref()
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SqlError {
    /// The server said no.
    #[error("{message} (SQLSTATE {sqlstate})")]
    Refused {
        /// Five characters, as in `57014`.
        sqlstate: String,
        /// The message.
        message: String,
        /// Its detail, if it has one.
        detail: Option<String>,
        /// Its hint, if it has one.
        hint: Option<String>,
    },
    /// The connection or what came over it failed.
    #[error("{0}")]
    Failed(String),
}

impl From<tokio_postgres::Error> for SqlError {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            Some(refusal) => Self::Refused {
                sqlstate: refusal.code().code().to_owned(),
                message: refusal.message().to_owned(),
                detail: refusal.detail().map(str::to_owned),
                hint: refusal.hint().map(str::to_owned),
            },
            None => Self::Failed(crate::human::in_full(&error)),
        }
    }
}

/// A connection with its prepared statements. No statement has a deadline of its own: whoever times it sets one.
#[derive(Debug)]
pub struct Session {
    connection: Connection,
    insert: OnceCell<Statement>,
    flushed: OnceCell<Statement>,
    has_replayed: OnceCell<Statement>,
}

impl Session {
    /// Connects, trying again until the server accepts or `within` has passed.
    ///
    /// # Errors
    /// With what the last attempt met.
    pub async fn open(access: &Access, within: Duration) -> Result<Self, PostgresError> {
        let connection = Connection::open(access, within).await?;
        Ok(Self {
            connection,
            insert: OnceCell::new(),
            flushed: OnceCell::new(),
            has_replayed: OnceCell::new(),
        })
    }

    /// Inserts a row and commits; prepared the first time.
    ///
    /// # Errors
    /// When the server refuses or the connection fails.
    pub async fn insert(&self) -> Result<(), SqlError> {
        let statement = self.prepared(&self.insert, INSERT).await?;
        self.connection.client().execute(statement, &[]).await?;
        Ok(())
    }

    /// The end of the WAL that a primary has flushed, bytes from 0/0.
    ///
    /// # Errors
    /// When the server refuses, as a standby does, or the connection fails.
    pub async fn flushed(&self) -> Result<u64, SqlError> {
        let statement = self.prepared(&self.flushed, FLUSHED).await?;
        let row = self.connection.client().query_one(statement, &[]).await?;
        Ok(row.try_get::<_, PgLsn>(0)?.into())
    }

    /// Has this standby replayed its WAL up to `lsn`. A server that has never been in recovery has not.
    ///
    /// # Errors
    /// When the server refuses or the connection fails.
    pub async fn has_replayed(&self, lsn: u64) -> Result<bool, SqlError> {
        let statement = self.prepared(&self.has_replayed, HAS_REPLAYED).await?;
        let row = self.connection.client().query_one(statement, &[&PgLsn::from(lsn)]).await?;
        Ok(row.try_get::<_, Option<bool>>(0)?.unwrap_or(false))
    }

    /// An empty query and its answer: one round trip that asks for nothing.
    ///
    /// # Errors
    /// When the connection fails.
    pub async fn ping(&self) -> Result<(), SqlError> {
        Ok(self.connection.client().check_connection().await?)
    }

    /// Runs statements by the simple protocol, as one message.
    ///
    /// # Errors
    /// When the server refuses or the connection fails.
    pub async fn simple(&self, sql: &str) -> Result<Answer, SqlError> {
        let messages = self.connection.client().simple_query(sql).await?;
        let rows = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect())
            }
            _ => None,
        });
        Ok(Answer { rows: rows.collect() })
    }

    /// Runs one statement by the extended protocol, parsed anew, without parameters.
    ///
    /// # Errors
    /// When the server refuses, the connection fails, or a column is no text.
    pub async fn extended(&self, sql: &str) -> Result<Answer, SqlError> {
        let rows = self.connection.client().query(sql, &[]).await?;
        let texts = |row: &tokio_postgres::Row| -> Result<Vec<Option<String>>, SqlError> {
            (0..row.len()).map(|at| Ok(row.try_get(at)?)).collect()
        };
        Ok(Answer { rows: rows.iter().map(texts).collect::<Result<_, _>>()? })
    }

    async fn prepared<'a>(
        &self,
        cell: &'a OnceCell<Statement>,
        sql: &str,
    ) -> Result<&'a Statement, SqlError> {
        Ok(cell.get_or_try_init(|| self.connection.client().prepare(sql)).await?)
    }
}
