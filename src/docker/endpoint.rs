//! Where the engine is.
//!
//! `DOCKER_HOST` and `DOCKER_CONTEXT` are explicit: whoever sets one wants that engine and no other. Without them the current
//! context of the Docker configuration comes first, then the sockets that the usual engines listen on.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::error::DockerError;

/// Sockets relative to the root of the file system, and whose they are.
const SYSTEM_SOCKETS: [(&str, &str); 3] = [
    ("var/run/docker.sock", "Docker"),
    ("run/podman/podman.sock", "Podman"),
    ("var/run/podman/podman.sock", "Podman"),
];
/// Sockets relative to the user's home directory.
const HOME_SOCKETS: [(&str, &str); 8] = [
    (".docker/run/docker.sock", "Docker Desktop"),
    (".docker/desktop/docker.sock", "Docker Desktop"),
    (".colima/default/docker.sock", "colima"),
    (".config/colima/default/docker.sock", "colima"),
    (".colima/docker.sock", "colima"),
    (".orbstack/run/docker.sock", "OrbStack"),
    (".rd/docker.sock", "Rancher Desktop"),
    (".local/share/containers/podman/machine/podman.sock", "Podman machine"),
];
/// Sockets relative to the user's runtime directory.
const RUNTIME_SOCKETS: [(&str, &str); 2] =
    [("docker.sock", "rootless Docker"), ("podman/podman.sock", "rootless Podman")];

/// How an engine is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket.
    Unix(PathBuf),
    /// `host:port`, plain HTTP.
    Tcp(String),
    /// A way the lab does not speak.
    Unsupported {
        /// The address as it was given.
        url: String,
        /// Why not, and what to do.
        reason: String,
    },
}

impl Address {
    /// Reads the address of `DOCKER_HOST` or of a context.
    pub fn parse(url: &str) -> Address {
        let unsupported =
            |reason: &str| Address::Unsupported { url: url.to_owned(), reason: reason.to_owned() };
        match url.split_once("://") {
            Some(("unix", "")) => unsupported("it names no socket; write unix:///path/to/docker.sock"),
            Some(("unix", path)) => Address::Unix(PathBuf::from(path)),
            Some(("tcp" | "http", "")) => unsupported("it names no host; write tcp://host:port"),
            Some(("tcp" | "http", host)) => Address::Tcp(host.trim_end_matches('/').to_owned()),
            Some(("https", _)) => {
                unsupported("TLS is not supported; forward the engine's socket and use unix:///path")
            }
            Some(("ssh", _)) => unsupported(
                "ssh is not supported; forward the socket with `ssh -nNT -L /tmp/docker.sock:/var/run/docker.sock HOST` \
                 and set DOCKER_HOST=unix:///tmp/docker.sock",
            ),
            Some(("npipe", _)) => unsupported("Windows pipes are not supported; run the lab inside WSL 2"),
            _ => unsupported("it is no address of an engine; write unix:///path or tcp://host:port"),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix(path) => write!(f, "unix://{}", path.display()),
            Address::Tcp(host) => write!(f, "tcp://{host}"),
            Address::Unsupported { url, .. } => f.write_str(url),
        }
    }
}

/// A place where an engine may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// How it is reached.
    pub address: Address,
    /// Where the address comes from, for messages.
    pub origin: String,
}

/// What the search depends on, so that it can be tested on a directory of its own.
pub struct Surroundings<'a> {
    /// Looks an environment variable up; an empty one counts as unset.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The user's numeric id, for `/run/user/UID` where `XDG_RUNTIME_DIR` is not set.
    pub uid: Option<u32>,
    /// The root of the file system.
    pub root: PathBuf,
}

impl Surroundings<'_> {
    fn var(&self, name: &str) -> Option<String> {
        (self.env)(name).filter(|value| !value.is_empty())
    }

    fn config_dir(&self) -> Option<PathBuf> {
        self.var("DOCKER_CONFIG")
            .map(PathBuf::from)
            .or_else(|| self.home.as_ref().map(|home| home.join(".docker")))
    }

    fn runtime_dir(&self) -> Option<PathBuf> {
        self.var("XDG_RUNTIME_DIR")
            .map(PathBuf::from)
            .or_else(|| self.uid.map(|uid| self.root.join(format!("run/user/{uid}"))))
    }
}

/// The places to try, in this order.
///
/// # Errors
/// [`DockerError::Configuration`] if the Docker configuration or a context is there but cannot be read.
pub fn candidates(around: &Surroundings<'_>) -> Result<Vec<Endpoint>, DockerError> {
    if let Some(url) = around.var("DOCKER_HOST") {
        let tls = around.var("DOCKER_TLS_VERIFY").is_some() && url.starts_with("tcp://");
        let address =
            if tls { Address::parse(&url.replacen("tcp", "https", 1)) } else { Address::parse(&url) };
        return Ok(vec![Endpoint { address, origin: "DOCKER_HOST".to_owned() }]);
    }
    if let Some(context) = around.var("DOCKER_CONTEXT").filter(|name| name != "default") {
        let address = context_address(around, &context)?;
        return Ok(vec![Endpoint { address, origin: format!("DOCKER_CONTEXT={context}") }]);
    }
    let mut endpoints = Vec::new();
    if around.var("DOCKER_CONTEXT").is_none()
        && let Some(context) = current_context(around)?
    {
        let address = context_address(around, &context)?;
        endpoints.push(Endpoint { address, origin: format!("Docker context {context}") });
    }
    for endpoint in usual_sockets(around) {
        if endpoints.iter().all(|known| known.address != endpoint.address) {
            endpoints.push(endpoint);
        }
    }
    Ok(endpoints)
}

fn usual_sockets(around: &Surroundings<'_>) -> Vec<Endpoint> {
    let socket = |base: &Path, (path, whose): (&str, &str)| Endpoint {
        address: Address::Unix(base.join(path)),
        origin: format!("the usual socket of {whose}"),
    };
    let system = SYSTEM_SOCKETS.into_iter().map(|entry| socket(&around.root, entry));
    let home = around.home.iter().flat_map(|home| HOME_SOCKETS.map(|entry| socket(home, entry)));
    let runtime = around.runtime_dir();
    let runtime = runtime.iter().flat_map(|dir| RUNTIME_SOCKETS.map(|entry| socket(dir, entry)));
    system.chain(home).chain(runtime).collect()
}

#[derive(Deserialize)]
struct ConfigFile {
    #[serde(rename = "currentContext")]
    current_context: Option<String>,
}

fn current_context(around: &Surroundings<'_>) -> Result<Option<String>, DockerError> {
    let Some(path) = around.config_dir().map(|dir| dir.join("config.json")) else {
        return Ok(None);
    };
    let Some(config) = read_json::<ConfigFile>(&path)? else {
        return Ok(None);
    };
    Ok(config.current_context.filter(|name| !name.is_empty() && name != "default"))
}

#[derive(Deserialize)]
struct ContextFile {
    #[serde(rename = "Name")]
    name: String,
    #[serde(rename = "Endpoints", default)]
    endpoints: ContextEndpoints,
}

#[derive(Deserialize, Default)]
struct ContextEndpoints {
    docker: Option<ContextEndpoint>,
}

#[derive(Deserialize)]
struct ContextEndpoint {
    #[serde(rename = "Host")]
    host: Option<String>,
}

/// A context's directory is named by a digest of its name, so the files are searched for the name itself.
fn context_address(around: &Surroundings<'_>, name: &str) -> Result<Address, DockerError> {
    let metas = around.config_dir().unwrap_or_default().join("contexts/meta");
    let missing = |reason: String| DockerError::Configuration { path: metas.clone(), reason };
    let entries = std::fs::read_dir(&metas)
        .map_err(|error| missing(format!("{error}, so there is no Docker context \"{name}\"")))?;
    for entry in entries.flatten() {
        let Some(context) = read_json::<ContextFile>(&entry.path().join("meta.json"))? else {
            continue;
        };
        if context.name == name {
            let host = context.endpoints.docker.and_then(|docker| docker.host);
            let host = host.ok_or_else(|| missing(format!("Docker context \"{name}\" names no host")))?;
            return Ok(Address::parse(&host));
        }
    }
    Err(missing(format!("there is no Docker context \"{name}\"; `docker context ls` lists those there are")))
}

/// Reads a JSON file; `None` if there is no such file.
fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Option<T>, DockerError> {
    let unreadable = |reason: String| DockerError::Configuration { path: path.to_owned(), reason };
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error)
            if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(error.to_string())),
    };
    serde_json::from_str(&text).map(Some).map_err(|error| unreadable(error.to_string()))
}

#[cfg(test)]
#[path = "endpoint_tests.rs"]
mod tests;
