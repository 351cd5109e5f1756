//! A node's answers as a source of the sampler, over a connection that is opened anew when it is lost.

use std::time::Duration;

use anyhow::Context as _;
use async_trait::async_trait;
use tokio::time::timeout;
use tokio_postgres::Client;

use super::{Connection, Endpoint};
use crate::measure::Source;
use crate::store::{Cell, Column};

/// What a source asks of its node at every tick.
#[async_trait]
pub trait Inquiry: Send + Sync {
    /// Its questions as one connection knows them.
    type Statements: Send + Sync;

    /// Prepares the questions on a connection.
    async fn prepare(&self, client: &Client) -> Result<Self::Statements, tokio_postgres::Error>;

    /// Asks them.
    async fn ask(
        &self,
        client: &Client,
        statements: &Self::Statements,
    ) -> Result<Vec<(Column, Cell)>, tokio_postgres::Error>;

    /// Every column it can fill, given its first answer.
    fn columns(&self, first: &[(Column, Cell)]) -> Vec<Column> {
        first.iter().map(|(column, _)| column.clone()).collect()
    }
}

/// A node as a source of the sampler.
///
/// A server that is down, or does not accept connections yet, costs the cells of its ticks; as soon as it accepts one
/// it is asked again, wherever it listens by then.
pub struct SqlSource<I: Inquiry> {
    endpoint: Endpoint,
    inquiry: I,
    columns: Vec<Column>,
    open: Option<Open<I>>,
    patience: Option<Duration>,
}

struct Open<I: Inquiry> {
    connection: Connection,
    statements: I::Statements,
}

impl<I: Inquiry> Open<I> {
    async fn new(endpoint: &Endpoint, inquiry: &I, within: Duration) -> anyhow::Result<Self> {
        let connection = Connection::open(endpoint, within).await?;
        let statements = inquiry.prepare(connection.client()).await?;
        Ok(Self { connection, statements })
    }

    async fn ask(&self, inquiry: &I) -> anyhow::Result<Vec<(Column, Cell)>> {
        Ok(inquiry.ask(self.connection.client(), &self.statements).await?)
    }
}

impl<I: Inquiry> SqlSource<I> {
    /// Connects, trying until `within` has passed, and asks once, to learn which columns there are.
    ///
    /// # Errors
    /// When the server accepts no connection or does not know what is asked.
    pub async fn open(endpoint: impl Into<Endpoint>, inquiry: I, within: Duration) -> anyhow::Result<Self> {
        let endpoint = endpoint.into();
        let open = Open::new(&endpoint, &inquiry, within).await?;
        let first = open.ask(&inquiry).await.context("the first question")?;
        let columns = inquiry.columns(&first);
        Ok(Self { endpoint, inquiry, columns, open: Some(open), patience: None })
    }

    /// The same, where a question that is not answered by then is given up and its connection with it. A server that is
    /// busy answers in the end; one whose machine is gone never does, and its successor has to be looked for.
    #[must_use]
    pub fn giving_up_after(self, patience: Duration) -> Self {
        Self { patience: Some(patience), ..self }
    }

    async fn answer(&mut self) -> anyhow::Result<Vec<(Column, Cell)>> {
        let open = match self.open.take().filter(|open| !open.connection.is_lost()) {
            Some(open) => open,
            // One attempt a tick: the next tick makes the next.
            None => Open::new(&self.endpoint, &self.inquiry, Duration::ZERO).await?,
        };
        let answer = open.ask(&self.inquiry).await;
        self.open = Some(open);
        answer
    }
}

#[async_trait]
impl<I: Inquiry> Source for SqlSource<I> {
    fn name(&self) -> String {
        format!("SQL on {}", self.endpoint.name())
    }

    fn columns(&self) -> Vec<Column> {
        self.columns.clone()
    }

    async fn read(&mut self) -> anyhow::Result<Vec<(Column, Cell)>> {
        match self.patience {
            Some(patience) => timeout(patience, self.answer())
                .await
                .unwrap_or_else(|_| Err(anyhow::anyhow!("no answer within {patience:?}"))),
            None => self.answer().await,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use tokio::net::TcpListener;

    use super::*;
    use crate::postgres::Access;

    struct Nothing;

    #[async_trait]
    impl Inquiry for Nothing {
        type Statements = ();

        async fn prepare(&self, _client: &Client) -> Result<(), tokio_postgres::Error> {
            Ok(())
        }

        async fn ask(
            &self,
            _client: &Client,
            _statements: &(),
        ) -> Result<Vec<(Column, Cell)>, tokio_postgres::Error> {
            Ok(vec![])
        }
    }

    #[tokio::test]
    async fn a_server_that_is_down_costs_one_attempt_and_is_looked_for_where_it_listens_by_then() {
        // A port at which nobody listens, and one at which somebody does who hangs up.
        let down = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        let rude = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let access = Access::new("standby", down, "");
        let mut source = SqlSource {
            endpoint: (&access).into(),
            inquiry: Nothing,
            columns: vec![],
            open: None,
            patience: None,
        };
        let refused = source.read().await.unwrap_err();
        assert!(refused.to_string().contains(&format!("127.0.0.1:{down}")), "{refused}");

        access.moved_to(rude.local_addr().unwrap().port());
        let (answer, called) = tokio::join!(source.read(), async {
            drop(rude.accept().await.unwrap());
        });
        assert!(answer.is_err());
        assert_eq!(called, ());
    }

    #[tokio::test]
    async fn a_server_that_accepts_and_never_answers_is_given_up_and_looked_for_again() {
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let access = Access::new("standby", silent.local_addr().unwrap().port(), "");
        let source = SqlSource {
            endpoint: (&access).into(),
            inquiry: Nothing,
            columns: vec![],
            open: None,
            patience: None,
        };
        let mut source = source.giving_up_after(Duration::from_millis(50));
        for _ in 0..2 {
            let (answer, called) = tokio::join!(source.read(), silent.accept());
            assert_eq!(answer.unwrap_err().to_string(), "no answer within 50ms");
            drop(called);
        }
    }
}
