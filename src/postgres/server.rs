//! A server that the lab did not build.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio::time::timeout;
use tokio_postgres::config::{ChannelBinding, SslMode, SslNegotiation};
use tokio_postgres::error::DbError;
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::connection::drive;
use super::conninfo::passfile::{self, Account};
use super::conninfo::{ConninfoError, Environment, Parameters};
use super::host::{Address, Host, hosts};
use super::tls::{self, Mode};
use crate::human::in_full;

/// How long one host may take to let in, unless `connect_timeout` says otherwise.
const ATTEMPT: Duration = Duration::from_secs(10);

/// A server as a connection string names it: hosts, one of which is connected to, and how.
#[derive(Clone)]
pub(super) struct Server {
    name: String,
    hosts: Vec<Host>,
    session: Session,
    ways: &'static [SslMode],
    tls: MakeRustlsConnect,
    /// All that is the same for every host; no password.
    config: Config,
    limit: Option<Duration>,
    warnings: Vec<String>,
}

/// libpq's `target_session_attrs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Session {
    Any,
    ReadWrite,
    ReadOnly,
    Primary,
    Standby,
    PreferStandby,
}

/// Why no host of a server let in: each host, and what it said.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.iter().map(|(place, why)| format!("{place}: {why}")).collect::<Vec<_>>().join("; "))]
pub struct ConnectError(pub(super) Vec<(String, String)>);

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("name", &self.name)
            .field("place", &self.place())
            .finish_non_exhaustive()
    }
}

impl Server {
    /// See [`Endpoint::server`](super::Endpoint::server).
    pub(super) fn new(name: &str, conninfo: &str, environment: &Environment) -> Result<Self, ConninfoError> {
        let parameters = environment.complete(conninfo)?;
        let mode = Mode::of(&parameters)?;
        let config = config(&parameters, environment)?;
        let mut server = Self {
            name: name.to_owned(),
            hosts: hosts(&parameters)?,
            session: session(&parameters)?,
            ways: mode.ways(),
            tls: MakeRustlsConnect::new(tls::client_config(mode, &parameters, environment)?),
            config,
            limit: limit(&parameters)?,
            warnings: vec![],
        };
        server.find_passwords(&parameters, environment);
        Ok(server)
    }

    /// What messages call it.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Its hosts and ports, or sockets.
    pub(super) fn place(&self) -> String {
        self.hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }

    /// How it encrypts.
    pub(super) fn tls(&self) -> MakeRustlsConnect {
        self.tls.clone()
    }

    /// What libpq would have warned of: a password file that others may read.
    pub(super) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Gives each host its password.
    fn find_passwords(&mut self, parameters: &Parameters, environment: &Environment) {
        if let Some(password) = parameters.get("password") {
            self.hosts.iter_mut().for_each(|host| host.password = Some(password.to_owned()));
            return;
        }
        let path = match parameters.get("passfile") {
            Some(path) => Some(PathBuf::from(path)),
            None => environment.at_home(".pgpass"),
        };
        let Some(path) = path else { return };
        let text = match passfile::read(&path) {
            Ok(text) => text,
            Err(warning) => return self.warnings.extend(warning),
        };
        let (user, dbname) =
            (self.config.get_user().unwrap_or_default(), self.config.get_dbname().unwrap_or_default());
        for host in &mut self.hosts {
            let account = Account { host: host.name_for_password(), port: host.port, dbname, user };
            host.password = passfile::password(&text, account);
        }
    }

    /// Connects to the first host that lets in and is such as is asked for. `within` bounds the time for all hosts
    /// together.
    pub(super) async fn connect(
        &self,
        within: Option<Duration>,
        notices: Option<&UnboundedSender<DbError>>,
    ) -> Result<Client, ConnectError> {
        let passes: &[Session] = match self.session {
            Session::PreferStandby => &[Session::Standby, Session::Any],
            ref other => std::slice::from_ref(other),
        };
        let share =
            within.map(|within| within / u32::try_from(self.hosts.len() * passes.len()).unwrap_or(u32::MAX));
        let limit = [self.limit, share].into_iter().flatten().min();
        let mut refusals = Vec::new();
        for session in passes {
            for host in &self.hosts {
                let limit = limit.unwrap_or(ATTEMPT);
                let why = match timeout(limit, self.connect_host(host, *session, notices)).await {
                    Ok(Ok(client)) => return Ok(client),
                    Ok(Err(why)) => why,
                    Err(_) => format!("no answer within {limit:?}"),
                };
                refusals.push((host.to_string(), why));
            }
        }
        Err(ConnectError(refusals))
    }

    async fn connect_host(
        &self,
        host: &Host,
        session: Session,
        notices: Option<&UnboundedSender<DbError>>,
    ) -> Result<Client, String> {
        let mut config = self.config.clone();
        config.port(host.port);
        match &host.at {
            Address::Socket(directory) => config.host_path(directory),
            Address::Network(name, None) => config.host(name),
            Address::Network(name, Some(address)) => config.host(name).hostaddr(*address),
        };
        if let Some(password) = &host.password {
            config.password(password);
        }
        // Over a socket nothing is encrypted, whatever the mode: as libpq has it.
        let ways = if matches!(host.at, Address::Socket(_)) { &[SslMode::Disable] } else { self.ways };
        let mut refusals: Vec<String> = Vec::new();
        for way in ways {
            match config.ssl_mode(*way).connect(self.tls.clone()).await {
                Ok((client, connection)) => {
                    drive(&self.name, connection, notices.cloned());
                    return session.check(&client).await.map(|()| client);
                }
                Err(error) => {
                    let done = !may_be_otherwise(&error);
                    refusals.push(in_full(&error));
                    if done {
                        break;
                    }
                }
            }
        }
        // The last way alone would hide why the first was refused: a wrong password, say.
        Err(refusals.join("; and the other way: "))
    }
}

/// Was it refused for a reason that may not hold with, or without, encryption.
fn may_be_otherwise(error: &tokio_postgres::Error) -> bool {
    if let Some(refusal) = error.as_db_error() {
        // Class 28, invalid authorization: pg_hba.conf tells encrypted connections from others.
        return refusal.code().code().starts_with("28");
    }
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<std::io::Error>());
    // An error of the operating system is not about encryption.
    source.is_none_or(|error| error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()))
}

impl Session {
    /// Is this session such as is asked for. A server that refuses the question is not.
    async fn check(self, client: &Client) -> Result<(), String> {
        if self == Self::Any {
            return Ok(());
        }
        let sql = "SELECT pg_is_in_recovery(), current_setting('transaction_read_only') = 'on'";
        let row = client.query_one(sql, &[]).await.map_err(|error| in_full(&error))?;
        let (in_recovery, read_only): (bool, bool) = (row.get(0), row.get(1));
        let is_met = match self {
            Self::Any | Self::PreferStandby => true,
            Self::ReadWrite => !read_only,
            Self::ReadOnly => read_only,
            Self::Primary => !in_recovery,
            Self::Standby => in_recovery,
        };
        let is = if in_recovery { "a standby" } else { "a primary" };
        let writes = if read_only { "read-only" } else { "read-write" };
        is_met
            .then_some(())
            .ok_or_else(|| format!("it is {is} and the session {writes}: see target_session_attrs"))
    }
}

fn session(parameters: &Parameters) -> Result<Session, ConninfoError> {
    let values = [
        ("any", Session::Any),
        ("read-write", Session::ReadWrite),
        ("read-only", Session::ReadOnly),
        ("primary", Session::Primary),
        ("standby", Session::Standby),
        ("prefer-standby", Session::PreferStandby),
    ];
    Ok(parameters.one_of("target_session_attrs", &values)?.unwrap_or(Session::Any))
}

/// Zero and less wait without end in libpq; here for as long as whoever connects lets it.
fn limit(parameters: &Parameters) -> Result<Option<Duration>, ConninfoError> {
    let seconds = parameters.number("connect_timeout")?.and_then(|seconds| u64::try_from(seconds).ok());
    Ok(seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs))
}

fn config(parameters: &Parameters, environment: &Environment) -> Result<Config, ConninfoError> {
    let mut config = Config::new();
    let user = parameters.get("user").or_else(|| environment.user()).ok_or_else(|| ConninfoError::Value {
        parameter: "user",
        what: "the operating system does not say who you are: give it".to_owned(),
    })?;
    config.user(user).dbname(parameters.get("dbname").unwrap_or(user));
    let name = parameters.get("application_name").or_else(|| parameters.get("fallback_application_name"));
    config.application_name(name.unwrap_or("stall-lab"));
    if let Some(options) = parameters.get("options") {
        config.options(options);
    }
    let negotiations = [("postgres", SslNegotiation::Postgres), ("direct", SslNegotiation::Direct)];
    config.ssl_negotiation(
        parameters.one_of("sslnegotiation", &negotiations)?.unwrap_or(SslNegotiation::Postgres),
    );
    let bindings = [
        ("disable", ChannelBinding::Disable),
        ("prefer", ChannelBinding::Prefer),
        ("require", ChannelBinding::Require),
    ];
    config
        .channel_binding(parameters.one_of("channel_binding", &bindings)?.unwrap_or(ChannelBinding::Prefer));
    config.keepalives(parameters.number("keepalives")? != Some(0));
    let positive = |name| -> Result<Option<u64>, ConninfoError> {
        Ok(parameters.number(name)?.and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0))
    };
    if let Some(seconds) = positive("keepalives_idle")? {
        config.keepalives_idle(Duration::from_secs(seconds));
    }
    if let Some(seconds) = positive("keepalives_interval")? {
        config.keepalives_interval(Duration::from_secs(seconds));
    }
    if let Some(count) = positive("keepalives_count")? {
        config.keepalives_retries(u32::try_from(count).unwrap_or(u32::MAX));
    }
    if let Some(milliseconds) = positive("tcp_user_timeout")? {
        config.tcp_user_timeout(Duration::from_millis(milliseconds));
    }
    Ok(config)
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
