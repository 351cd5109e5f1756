//! The hosts of a server, as `host`, `hostaddr` and `port` name them.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use super::conninfo::{ConninfoError, Parameters};

/// Where a distribution's libpq looks for the server's socket: Debian and Red Hat, and PostgreSQL itself.
const SOCKET_DIRECTORIES: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// One of a server's hosts. There is a password in it, so it is not shown whole.
#[derive(Clone)]
pub(super) struct Host {
    /// Where it is.
    pub(super) at: Address,
    /// Its port.
    pub(super) port: u16,
    /// The password for it.
    pub(super) password: Option<String>,
}

/// Where a host is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    /// Directory of the socket.
    Socket(PathBuf),
    /// Name, for the certificate and the resolver, and what it is not resolved for.
    Network(String, Option<IpAddr>),
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.at {
            Address::Socket(directory) => write!(f, "{}/.s.PGSQL.{}", directory.display(), self.port),
            Address::Network(name, _) if name.contains(':') => write!(f, "[{name}]:{}", self.port),
            Address::Network(name, _) => write!(f, "{name}:{}", self.port),
        }
    }
}

impl Host {
    /// As a password file calls it.
    pub(super) fn name_for_password(&self) -> &str {
        match &self.at {
            Address::Socket(at) if SOCKET_DIRECTORIES.iter().any(|default| at == Path::new(default)) => {
                "localhost"
            }
            Address::Socket(directory) => directory.to_str().unwrap_or_default(),
            Address::Network(name, _) => name,
        }
    }
}

/// The hosts that the parameters name, without their passwords.
pub(super) fn hosts(parameters: &Parameters) -> Result<Vec<Host>, ConninfoError> {
    let list = |name| parameters.get(name).map(|list| list.split(',').map(str::trim).collect::<Vec<_>>());
    let (names, addresses) = (list("host"), list("hostaddr"));
    let ports = list("port").unwrap_or_default();
    let count = names.as_ref().or(addresses.as_ref()).map_or(1, Vec::len);
    let wrong = |parameter, what: &str| ConninfoError::Value { parameter, what: what.to_owned() };
    if addresses.as_ref().is_some_and(|addresses| addresses.len() != count) {
        return Err(wrong("hostaddr", "there are as many as there are hosts"));
    }
    if ports.len() > 1 && ports.len() != count {
        return Err(wrong("port", "there is one for all hosts, or one for each"));
    }
    let of = |list: &Option<Vec<&str>>, at: usize| -> Option<String> {
        let entry = list.as_ref()?.get(at)?;
        (!entry.is_empty()).then(|| (*entry).to_owned())
    };
    (0..count)
        .map(|at| {
            let port = match ports.get(at).or(ports.first()).copied().unwrap_or_default() {
                "" => 5432,
                port => port
                    .parse()
                    .ok()
                    .filter(|port| *port > 0)
                    .ok_or_else(|| wrong("port", "it is a number from 1 to 65535"))?,
            };
            let address = of(&addresses, at)
                .map(|address| address.parse::<IpAddr>())
                .transpose()
                .map_err(|_| wrong("hostaddr", "it is an IP address"))?;
            let at = match (of(&names, at), address) {
                (Some(name), _) if name.starts_with('@') => {
                    return Err(wrong("host", "abstract sockets are not supported here"));
                }
                (Some(name), _) if name.starts_with('/') => Address::Socket(name.into()),
                (Some(name), address) => Address::Network(name, address),
                (None, Some(address)) => Address::Network(address.to_string(), None),
                (None, None) => Address::Socket(default_socket_directory(port)),
            };
            Ok(Host { at, port, password: None })
        })
        .collect()
}

fn default_socket_directory(port: u16) -> PathBuf {
    let mut directories = SOCKET_DIRECTORIES.iter().map(PathBuf::from);
    let has_socket = |directory: &PathBuf| directory.join(format!(".s.PGSQL.{port}")).exists();
    directories.find(has_socket).unwrap_or_else(|| PathBuf::from(SOCKET_DIRECTORIES[0]))
}
