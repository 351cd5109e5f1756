//! What can be connected to: a node of the lab's own, or a server that somebody else has set up.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio_postgres::error::DbError;
use tokio_postgres::{CancelToken, Client, Config, NoTls};

use super::connection::drive;
use super::conninfo::{ConninfoError, Environment};
use super::server::{ConnectError, Server};
use super::{Access, PostgresError};
use crate::human::in_full;

/// How long one attempt to connect to a node may take. A server behind a full disk queue reads its catalogues slowly.
const NODE_ATTEMPT: Duration = Duration::from_secs(30);

/// Something to connect to. A password in it is shown nowhere.
#[derive(Debug, Clone)]
pub struct Endpoint {
    place: Place,
    session: SessionRules,
    notices: Option<UnboundedSender<DbError>>,
}

#[derive(Debug, Clone)]
enum Place {
    Node(Access),
    Server(Arc<Server>),
}

/// What every session is told before anything is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SessionRules {
    /// Nothing.
    None,
    /// That it only reads, and how long a statement may take.
    ReadOnly { statement_timeout: Duration },
}

impl From<&Access> for Endpoint {
    fn from(access: &Access) -> Self {
        Self { place: Place::Node(access.clone()), session: SessionRules::None, notices: None }
    }
}

impl From<&Self> for Endpoint {
    fn from(endpoint: &Self) -> Self {
        endpoint.clone()
    }
}

impl Endpoint {
    /// The server that a connection string names, completed as libpq does: by a service, by the `PG*` variables, by a
    /// password file. `name` is what messages call it. Nothing is connected yet.
    ///
    /// # Errors
    /// When the text is no connection string, a file it names is of no use, or it asks for what has no effect here.
    pub fn server(name: &str, conninfo: &str, environment: &Environment) -> Result<Self, ConninfoError> {
        let server = Server::new(name, conninfo, environment)?;
        Ok(Self { place: Place::Server(Arc::new(server)), session: SessionRules::None, notices: None })
    }

    /// The same, where every session only reads and no statement takes longer than this on the server.
    #[must_use]
    pub fn read_only(mut self, statement_timeout: Duration) -> Self {
        self.session = SessionRules::ReadOnly { statement_timeout };
        self
    }

    /// The same, where what the server says unasked in any session goes here.
    pub(super) fn hearing(mut self, notices: UnboundedSender<DbError>) -> Self {
        self.notices = Some(notices);
        self
    }

    /// Asks the server to cancel what a session does. That it was asked is all that is known afterwards.
    pub(super) async fn cancel(&self, session: CancelToken) -> Result<(), tokio_postgres::Error> {
        match &self.place {
            Place::Node(_) => session.cancel_query(NoTls).await,
            Place::Server(server) => session.cancel_query(server.tls()).await,
        }
    }

    /// What messages call it.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.place {
            Place::Node(access) => access.node(),
            Place::Server(server) => server.name(),
        }
    }

    /// Where it is: host and port, or socket; several, where one of several is connected to.
    #[must_use]
    pub fn place(&self) -> String {
        match &self.place {
            Place::Node(access) => format!("127.0.0.1:{}", access.port()),
            Place::Server(server) => server.place(),
        }
    }

    /// What its user should know: a password file that is not used.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        match &self.place {
            Place::Node(_) => &[],
            Place::Server(server) => server.warnings(),
        }
    }

    /// One attempt, at every host there is. `within` bounds it; without it each host has its own limit.
    pub(super) async fn connect(&self, within: Option<Duration>) -> Result<Client, ConnectError> {
        let client = match &self.place {
            Place::Node(access) => connect_node(access, self.notices.clone()).await?,
            Place::Server(server) => server.connect(within, self.notices.as_ref()).await?,
        };
        if let SessionRules::ReadOnly { statement_timeout } = self.session {
            // A standby serves no serializable transaction, and that may be the default.
            let sql = format!(
                "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY;
                 SET statement_timeout = {}",
                statement_timeout.as_millis()
            );
            client
                .batch_execute(&sql)
                .await
                .map_err(|error| ConnectError(vec![(self.place(), in_full(&error))]))?;
        }
        Ok(client)
    }

    pub(super) fn not_connected(&self, waited: Duration, source: ConnectError) -> PostgresError {
        PostgresError::Connect { node: self.name().to_owned(), place: self.place(), waited, source }
    }
}

async fn connect_node(
    access: &Access,
    notices: Option<UnboundedSender<DbError>>,
) -> Result<Client, ConnectError> {
    let port = access.port();
    let connected = Config::new()
        .host("127.0.0.1")
        .port(port)
        .user("postgres")
        .password(access.password())
        .dbname("postgres")
        .application_name("stall-lab")
        .connect_timeout(NODE_ATTEMPT)
        .connect(NoTls)
        .await;
    match connected {
        Ok((client, connection)) => {
            drive(access.node(), connection, notices);
            Ok(client)
        }
        Err(error) => Err(ConnectError(vec![(format!("127.0.0.1:{port}"), in_full(&error))])),
    }
}
