//! The connection to the engine: found, its API version agreed on once, and kept.

use std::fmt;
use std::future::Future;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::Duration;

use bollard::{API_DEFAULT_VERSION, BollardRequest, ClientVersion, Docker};
use futures_util::{Stream, StreamExt as _};

use super::endpoint::{self, Address, Endpoint, Surroundings};
use super::error::{Attempt, Cause, DockerError};

/// How long an engine may take to say who it is.
const HELLO: Duration = Duration::from_secs(10);
/// How long a simple request may take. Generous: an engine whose own disk is busy answers late.
pub(super) const CALL: Duration = Duration::from_secs(90);
/// bollard's own limit to the first byte of an answer; the deadlines of the operations are tighter where it matters.
const FIRST_BYTE_SECONDS: u64 = 600;

/// A version of the Docker Engine API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ApiVersion {
    /// The part before the point; 1 since there are engines.
    pub major: usize,
    /// The part after the point.
    pub minor: usize,
}

impl ApiVersion {
    /// The oldest API the lab speaks: that of engine 20.10.
    pub const OLDEST: ApiVersion = ApiVersion { major: 1, minor: 41 };

    /// The newest API the lab speaks: that of its client library.
    pub fn newest() -> ApiVersion {
        ApiVersion { major: API_DEFAULT_VERSION.major_version, minor: API_DEFAULT_VERSION.minor_version }
    }

    fn parse(text: &str) -> Option<ApiVersion> {
        let (major, minor) = text.split_once('.')?;
        Some(ApiVersion { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

impl fmt::Display for ApiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The Docker engine. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Engine {
    pub(super) docker: Docker,
    endpoint: Endpoint,
    api_version: ApiVersion,
}

impl Engine {
    /// Finds the engine as the `docker` command would, and agrees with it on an API version.
    ///
    /// # Errors
    /// [`DockerError::NoEngine`] with everything that was tried; [`DockerError::Configuration`] if the Docker
    /// configuration cannot be read.
    pub async fn connect() -> Result<Engine, DockerError> {
        Engine::connect_to(endpoint::candidates(&Surroundings {
            env: &|name| std::env::var(name).ok(),
            home: std::env::home_dir(),
            uid: std::fs::metadata("/proc/self").ok().map(|own| own.uid()),
            root: PathBuf::from("/"),
        })?)
        .await
    }

    /// Connects to the first of `endpoints` that is an engine the lab can speak to.
    ///
    /// # Errors
    /// [`DockerError::NoEngine`] if none is.
    pub async fn connect_to(endpoints: Vec<Endpoint>) -> Result<Engine, DockerError> {
        let mut tried = Vec::new();
        for endpoint in endpoints {
            match negotiate(&endpoint.address).await {
                Ok((docker, api_version)) => {
                    return Ok(Engine { docker, endpoint, api_version });
                }
                Err(reason) => tried.push(Attempt {
                    address: endpoint.address.to_string(),
                    origin: endpoint.origin,
                    reason,
                }),
            }
        }
        Err(DockerError::NoEngine { tried })
    }

    /// Where the engine was found.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The API version that every request names.
    pub fn api_version(&self) -> ApiVersion {
        self.api_version
    }
}

/// Opens the connection and agrees on a version; the error is the reason in words.
async fn negotiate(address: &Address) -> Result<(Docker, ApiVersion), String> {
    let docker = open(address)?;
    let hello = within(HELLO, docker.version()).await.map_err(|cause| match cause {
        Cause::Unreadable(_) => "something answers there, but it is no Docker engine".to_owned(),
        other => other.to_string(),
    })?;
    let theirs = hello.api_version.as_deref().and_then(ApiVersion::parse);
    let theirs = theirs.ok_or("something answers there, but it is no Docker engine")?;
    let their_oldest = hello.min_api_version.as_deref().and_then(ApiVersion::parse);
    let agreed = agree(theirs, their_oldest)?;
    Ok((docker.with_request_modifier(move |request| with_version(request, agreed)), agreed))
}

fn open(address: &Address) -> Result<Docker, String> {
    let version = ClientVersion {
        major_version: API_DEFAULT_VERSION.major_version,
        minor_version: API_DEFAULT_VERSION.minor_version,
    };
    let opened = match address {
        Address::Unix(path) => {
            if !path.exists() {
                return Err("there is no such socket".to_owned());
            }
            Docker::connect_with_unix(&path.to_string_lossy(), FIRST_BYTE_SECONDS, &version)
        }
        Address::Tcp(host) => Docker::connect_with_http(host, FIRST_BYTE_SECONDS, &version),
        Address::Unsupported { reason, .. } => return Err(reason.clone()),
    };
    opened.map_err(|error| Cause::from(error).to_string())
}

/// The newest version both sides speak.
fn agree(theirs: ApiVersion, their_oldest: Option<ApiVersion>) -> Result<ApiVersion, String> {
    let agreed = theirs.min(ApiVersion::newest());
    if agreed < ApiVersion::OLDEST {
        return Err(format!(
            "the engine's API {theirs} is too old, {} is needed; update Docker to 20.10 or later",
            ApiVersion::OLDEST
        ));
    }
    match their_oldest {
        Some(oldest) if oldest > agreed => Err(format!(
            "the engine asks for API {oldest} at least, and this build of the lab speaks {agreed} at most"
        )),
        _ => Ok(agreed),
    }
}

/// bollard 0.21 joins its absolute paths to the base URL and thereby loses the `/vX.Y` in it; the engine would take
/// an unversioned request for one of its newest API.
fn with_version(mut request: BollardRequest, version: ApiVersion) -> BollardRequest {
    let mut parts = request.uri().clone().into_parts();
    if let Some(path) = &parts.path_and_query
        && let Ok(versioned) = format!("/v{version}{path}").parse()
    {
        parts.path_and_query = Some(versioned);
        if let Ok(uri) = parts.try_into() {
            *request.uri_mut() = uri;
        }
    }
    request
}

/// Waits for an answer, but not for ever.
pub(super) async fn within<T, E: Into<Cause>>(
    deadline: Duration,
    answer: impl Future<Output = Result<T, E>>,
) -> Result<T, Cause> {
    match tokio::time::timeout(deadline, answer).await {
        Ok(answer) => answer.map_err(Into::into),
        Err(_) => Err(Cause::Deadline(deadline)),
    }
}

/// Waits for a stream's next item, but not for ever; `None` at its end.
pub(super) async fn next_within<T>(
    silence: Duration,
    stream: &mut (impl Stream<Item = Result<T, bollard::errors::Error>> + Unpin),
) -> Result<Option<T>, Cause> {
    match tokio::time::timeout(silence, stream.next()).await {
        Ok(Some(item)) => Ok(Some(item?)),
        Ok(None) => Ok(None),
        Err(_) => Err(Cause::Deadline(silence)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;
    use crate::docker::fake::{Answer, FakeEngine};

    async fn reason_of(answer: Answer) -> String {
        let fake = FakeEngine::bare().answer("GET /version", answer);
        match fake.try_connect().await.unwrap_err() {
            DockerError::NoEngine { tried } => tried[0].reason.clone(),
            other => panic!("{other}"),
        }
    }

    fn version(api: &str, oldest: &str) -> Answer {
        Answer::json(&format!(r#"{{"Version":"x","ApiVersion":"{api}","MinAPIVersion":"{oldest}"}}"#))
    }

    #[tokio::test]
    async fn the_newest_version_both_speak_is_agreed_on_and_named_in_every_request() {
        for (api, oldest, agreed) in [
            ("1.41", "1.12", "1.41"),
            ("1.43", "1.12", "1.43"),
            ("1.52", "1.44", "1.52"),
            ("1.99", "1.44", &ApiVersion::newest().to_string()),
        ] {
            let fake = FakeEngine::bare().answer("GET /version", version(api, oldest));
            let engine = fake.try_connect().await.unwrap();
            assert_eq!(engine.api_version().to_string(), agreed);
            let _ = engine.start_container("c").await;
            assert_eq!(fake.requests().last().unwrap(), &format!("POST /v{agreed}/containers/c/start"));
        }
    }

    #[tokio::test]
    async fn an_engine_that_is_too_old_is_told_apart_from_one_that_is_too_new() {
        assert!(reason_of(version("1.40", "1.12")).await.contains("update Docker to 20.10"));
        assert!(reason_of(version("1.99", "1.98")).await.contains("asks for API 1.98 at least"));
    }

    #[tokio::test]
    async fn what_is_no_engine_is_said_to_be_none() {
        for answer in [Answer::text(200, "<html>hello</html>"), Answer::json("{}"), Answer::json("[]")] {
            assert_eq!(reason_of(answer).await, "something answers there, but it is no Docker engine");
        }
        assert!(reason_of(Answer::text(403, "go away")).await.contains("go away"));
    }

    #[tokio::test]
    async fn the_first_endpoint_that_answers_is_taken() {
        let fake = FakeEngine::start();
        let nowhere = Endpoint { address: Address::Unix("/nowhere.sock".into()), origin: "test".to_owned() };
        let engine = Engine::connect_to(vec![nowhere, fake.endpoint()]).await.unwrap();
        assert_eq!(engine.endpoint(), &fake.endpoint());
    }

    #[tokio::test]
    async fn every_place_that_was_tried_is_in_the_error() {
        let unix = Endpoint { address: Address::Unix("/nowhere.sock".into()), origin: "one".to_owned() };
        let ssh = Endpoint { address: Address::parse("ssh://host"), origin: "two".to_owned() };
        let text = Engine::connect_to(vec![unix, ssh]).await.unwrap_err().to_string();
        assert!(text.contains("unix:///nowhere.sock (one): there is no such socket"), "{text}");
        assert!(text.contains("ssh://host (two): ssh is not supported"), "{text}");
    }

    #[tokio::test]
    async fn a_refused_connection_says_so() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap().to_string());
        drop(listener);
        let endpoint = Endpoint { address, origin: "test".to_owned() };
        let text = Engine::connect_to(vec![endpoint]).await.unwrap_err().to_string();
        assert!(text.contains("refused"), "{text}");
    }
}
