//! One connection to one node.

use std::future::poll_fn;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::error::DbError;
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Row, Statement};

use super::{ConnectError, Endpoint, Inquiry};
use crate::profile::Settings;
use crate::store::{Cell, Column};

/// Pause between two attempts to connect to a server that is starting.
const RETRY: Duration = Duration::from_millis(100);

/// How long a control statement may take.
const STATEMENT: Duration = Duration::from_secs(120);

/// Why a server did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    /// It did not accept a connection in time.
    #[error("{node}: no connection to {place} after {waited:?}")]
    Connect {
        /// The node.
        node: String,
        /// Its host and port, or its socket.
        place: String,
        /// How long it was tried.
        waited: Duration,
        /// What the last attempt met.
        source: ConnectError,
    },
    /// It refused or failed.
    #[error("{node}: {doing}")]
    Statement {
        /// The node.
        node: String,
        /// What was asked.
        doing: String,
        /// Its answer.
        source: tokio_postgres::Error,
    },
    /// It did not answer in time.
    #[error("{node}: {doing}: no answer after {waited:?}")]
    Deadline {
        /// The node.
        node: String,
        /// What was asked.
        doing: String,
        /// How long it was waited.
        waited: Duration,
    },
    /// A state that was waited for did not come.
    #[error("{node}: waited {waited:?} for {what}; it is {last}")]
    State {
        /// The node.
        node: String,
        /// The state.
        what: String,
        /// How long it was waited.
        waited: Duration,
        /// The state it is in.
        last: String,
    },
}

/// A connection that is open.
#[derive(Debug)]
pub struct Connection {
    node: String,
    client: Client,
}

impl Connection {
    /// Connects, trying again until the server accepts or `within` has passed.
    ///
    /// # Errors
    /// With what the last attempt met.
    pub async fn open(endpoint: impl Into<Endpoint>, within: Duration) -> Result<Self, PostgresError> {
        let (endpoint, started) = (endpoint.into(), Instant::now());
        loop {
            match endpoint.connect(None).await {
                Ok(client) => return Ok(Self { node: endpoint.name().to_owned(), client }),
                Err(source) if started.elapsed() >= within => {
                    return Err(endpoint.not_connected(within, source));
                }
                // Refused while the server starts: asked again until it accepts.
                Err(_) => sleep(RETRY).await,
            }
        }
    }

    /// Connects at the first attempt at each of its hosts, all of them within this time: a server that somebody else
    /// has set up is not asked again and again with a password that it refuses.
    ///
    /// # Errors
    /// With what each host answered.
    pub async fn open_once(endpoint: impl Into<Endpoint>, within: Duration) -> Result<Self, PostgresError> {
        let (endpoint, started) = (endpoint.into(), Instant::now());
        match endpoint.connect(Some(within)).await {
            Ok(client) => Ok(Self { node: endpoint.name().to_owned(), client }),
            Err(source) => Err(endpoint.not_connected(started.elapsed(), source)),
        }
    }

    /// Runs statements that return nothing.
    ///
    /// # Errors
    /// When the server refuses, fails, or does not answer within two minutes.
    pub async fn execute(&self, doing: &str, sql: &str) -> Result<(), PostgresError> {
        self.within(doing, STATEMENT, self.client.batch_execute(sql)).await
    }

    /// Runs a statement that returns nothing and may take as long as it takes.
    ///
    /// # Errors
    /// When the server refuses or fails.
    pub async fn execute_long(&self, doing: &str, sql: &str) -> Result<(), PostgresError> {
        self.client.batch_execute(sql).await.map_err(|source| self.failed(doing, source))
    }

    /// The rows of a query.
    ///
    /// # Errors
    /// When the server refuses, fails, or does not answer within two minutes.
    pub async fn query(
        &self,
        doing: &str,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, PostgresError> {
        self.within(doing, STATEMENT, self.client.query(sql, params)).await
    }

    /// The only row of a query without parameters.
    pub(super) async fn query_one(&self, doing: &str, sql: &str) -> Result<Row, PostgresError> {
        self.within(doing, STATEMENT, self.client.query_one(sql, &[])).await
    }

    /// A statement that is prepared once and run often.
    pub(super) async fn prepare(&self, doing: &str, sql: &str) -> Result<Statement, PostgresError> {
        self.within(doing, STATEMENT, self.client.prepare(sql)).await
    }

    /// Asks again and again until `met` says yes of the answer.
    ///
    /// # Errors
    /// When the state does not come within the deadline, with the state it was in; or when the question fails.
    pub async fn wait_until(
        &self,
        what: &str,
        sql: &str,
        within: Duration,
        met: impl Fn(&str) -> bool,
    ) -> Result<(), PostgresError> {
        let started = Instant::now();
        loop {
            let rows = self.query(what, sql, &[]).await?;
            let state = rows.first().and_then(|row| row.get::<_, Option<String>>(0)).unwrap_or_default();
            if met(&state) {
                return Ok(());
            }
            if started.elapsed() >= within {
                return Err(PostgresError::State {
                    node: self.node.clone(),
                    what: what.to_owned(),
                    waited: within,
                    last: if state.is_empty() { "none".to_owned() } else { state },
                });
            }
            sleep(RETRY).await;
        }
    }

    /// Settings of its configuration, by name, as it shows them.
    ///
    /// # Errors
    /// When the server refuses, fails, or does not answer within two minutes.
    pub async fn changed_settings(&self) -> Result<Settings, PostgresError> {
        let sql = "SELECT name, current_setting(name) FROM pg_settings
                    WHERE source IN ('configuration file', 'command line')";
        let rows = self.query("its settings", sql, &[]).await?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    /// What a source of the sampler would be told now.
    ///
    /// # Errors
    /// When the server refuses, fails, or does not answer within two minutes.
    pub async fn ask<I: Inquiry>(
        &self,
        doing: &str,
        inquiry: &I,
    ) -> Result<Vec<(Column, Cell)>, PostgresError> {
        let asked = async {
            let statements = inquiry.prepare(&self.client).await?;
            inquiry.ask(&self.client, &statements).await
        };
        self.within(doing, STATEMENT, asked).await
    }

    /// Those of the settings with these names that its configuration does not set, as it shows them; what it does not
    /// know is left out.
    ///
    /// # Errors
    /// When the server refuses, fails, or does not answer within two minutes.
    pub async fn default_settings(&self, names: &[&str]) -> Result<Settings, PostgresError> {
        let sql = "SELECT name, current_setting(name) FROM pg_settings
                    WHERE source NOT IN ('configuration file', 'command line') AND name = ANY ($1)";
        let rows = self.query("its defaults", sql, &[&names]).await?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    /// Has it been lost.
    pub(super) fn is_lost(&self) -> bool {
        self.client.is_closed()
    }

    /// The client, for a source that prepares its own statements.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    async fn within<T>(
        &self,
        doing: &str,
        limit: Duration,
        asked: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, PostgresError> {
        match timeout(limit, asked).await {
            Ok(answer) => answer.map_err(|source| self.failed(doing, source)),
            Err(_) => Err(PostgresError::Deadline {
                node: self.node.clone(),
                doing: doing.to_owned(),
                waited: limit,
            }),
        }
    }

    fn failed(&self, doing: &str, source: tokio_postgres::Error) -> PostgresError {
        PostgresError::Statement { node: self.node.clone(), doing: doing.to_owned(), source }
    }
}

/// Carries what a client asks to its server and back, until one of the two ends it.
///
/// What the server says unasked goes to `notices`, or nowhere.
pub(super) fn drive<S, T>(
    node: &str,
    mut connection: tokio_postgres::Connection<S, T>,
    notices: Option<UnboundedSender<DbError>>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let node = node.to_owned();
    tokio::spawn(async move {
        while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
            match (message, &notices) {
                // Whoever asked for them may have left.
                (Ok(AsyncMessage::Notice(notice)), Some(notices)) => drop(notices.send(notice)),
                (Ok(_), _) => {}
                // It has ended: asked again it would say so again, without end.
                (Err(error), _) => {
                    tracing::debug!("{node}: connection lost: {error}");
                    return;
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::postgres::Access;

    /// Lets anybody in, and then says what no server says.
    async fn babble(listener: TcpListener) {
        let (mut client, _) = listener.accept().await.unwrap();
        let mut startup = [0; 512];
        assert!(client.read(&mut startup).await.unwrap() > 0);
        // AuthenticationOk, ReadyForQuery; then a message of a type that there is not.
        client.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I").await.unwrap();
        client.write_all(b"\xff\0\0\0\x04").await.unwrap();
        std::future::pending::<()>().await;
    }

    #[tokio::test]
    async fn a_connection_that_fails_is_lost_and_keeps_nobody_busy() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let access = Access::new("primary", listener.local_addr().unwrap().port(), "");
        tokio::spawn(babble(listener));
        let connection = Connection::open(&access, Duration::ZERO).await.unwrap();
        // A task that went on for ever would let nobody else have a turn.
        while !connection.is_lost() {
            tokio::task::yield_now().await;
        }
    }
}
