//! What can go wrong when the engine is asked for something: one variant an operation, each with the name of its object.

use std::error::Error as _;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

/// Why the engine did not do what it was asked to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// The engine refused, with this HTTP status and message.
    #[error("{message} (HTTP {status})")]
    Refused {
        /// The HTTP status of the answer.
        status: u16,
        /// The engine's own words.
        message: String,
    },
    /// The engine accepted the request and reported a failure in the course of its answer.
    #[error("{0}")]
    Reported(String),
    /// Nothing came within this time.
    #[error("no answer within {} s", .0.as_secs())]
    Deadline(Duration),
    /// The connection could not be made, broke, or ended before the answer was whole.
    #[error("{0}")]
    Connection(String),
    /// The answer is not what the Docker API promises.
    #[error("the answer cannot be read: {0}")]
    Unreadable(String),
}

impl Cause {
    /// Whether the engine says that the object does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Cause::Refused { status: 404, .. })
    }

    /// Whether the engine says that the object's state, or another object, stands against it.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Cause::Refused { status: 409, .. })
    }
}

impl From<bollard::errors::Error> for Cause {
    fn from(error: bollard::errors::Error) -> Cause {
        use bollard::errors::Error;
        match error {
            Error::DockerResponseServerError { status_code, message } => {
                Cause::Refused { status: status_code, message: message.trim().to_owned() }
            }
            Error::DockerStreamError { error } | Error::DockerContainerWaitError { error, .. } => {
                Cause::Reported(error.trim().to_owned())
            }
            Error::JsonDataError { message, .. } => Cause::Unreadable(message),
            Error::JsonSerdeError { err } => Cause::Unreadable(err.to_string()),
            Error::APIVersionParseError {} => Cause::Unreadable("its API version is no version".to_owned()),
            Error::RequestTimeoutError => Cause::Connection("the engine did not begin to answer".to_owned()),
            other => Cause::Connection(with_sources(&other)),
        }
    }
}

/// hyper's outermost message is only "client error (Connect)": the reason is further down.
fn with_sources(error: &bollard::errors::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            // Writing to a String does not fail.
            let _ = write!(text, ": {inner_text}");
        }
        source = inner.source();
    }
    text
}

/// One place where an engine was looked for, and why it was not one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The address as a URL.
    pub address: String,
    /// Where the address comes from (`DOCKER_HOST`, a context, a usual socket).
    pub origin: String,
    /// What happened there.
    pub reason: String,
}

fn no_engine(tried: &[Attempt]) -> String {
    let mut text = "no Docker engine answered. Tried:".to_owned();
    for Attempt { address, origin, reason } in tried {
        let _ = write!(text, "\n  {address} ({origin}): {reason}");
    }
    text.push_str(
        "\nStart Docker, or set DOCKER_HOST to the engine's address (unix:///path or tcp://host:port).",
    );
    text
}

fn discarded(name: &str, warnings: &[String]) -> String {
    format!(
        "the engine cannot keep the limits of container {name}: {}. The lab needs an engine whose kernel has the cgroup \
         controllers cpu, memory and io (blkio), and that does not run rootless",
        warnings.join("; ")
    )
}

fn last_words(lines: &[String]) -> String {
    match lines {
        [] => "; it wrote nothing".to_owned(),
        lines => format!("; its last lines:\n  {}", lines.join("\n  ")),
    }
}

/// An operation of the engine that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "every field is the name of the object, the cause, or what its name says")]
pub enum DockerError {
    #[error("{}", no_engine(.tried))]
    NoEngine { tried: Vec<Attempt> },
    #[error("the Docker configuration {} cannot be read: {reason}", .path.display())]
    Configuration { path: PathBuf, reason: String },
    #[error("cannot ask the engine about itself: {cause}")]
    EngineFacts { cause: Cause },

    #[error("cannot create container {name} from image {image}: {cause}")]
    CreateContainer { name: String, image: String, cause: Cause },
    #[error("{}", discarded(.name, .warnings))]
    LimitsDiscarded { name: String, warnings: Vec<String> },
    #[error("cannot start container {name}: {cause}")]
    StartContainer { name: String, cause: Cause },
    #[error("cannot stop container {name}: {cause}")]
    StopContainer { name: String, cause: Cause },
    #[error("cannot send {signal} to container {name}: {cause}")]
    KillContainer { name: String, signal: String, cause: Cause },
    #[error("container {name} did not end: {cause}")]
    WaitContainer { name: String, cause: Cause },
    #[error("cannot remove container {name}: {cause}")]
    RemoveContainer { name: String, cause: Cause },
    #[error("cannot inspect container {name}: {cause}")]
    InspectContainer { name: String, cause: Cause },
    #[error("cannot list the lab's containers: {cause}")]
    ListContainers { cause: Cause },
    #[error("cannot read the log of container {name}: {cause}")]
    ReadLogs { name: String, cause: Cause },
    #[error("cannot save the log of container {name}: {reason}")]
    SaveLogs { name: String, reason: String },
    #[error("cannot put files into container {name}: {cause}")]
    Upload { name: String, cause: Cause },
    #[error("cannot pack {path} for container {name}: {reason}")]
    PackUpload { name: String, path: String, reason: String },
    #[error("cannot run `{command}` in container {name}: {cause}")]
    Exec { name: String, command: String, cause: Cause },
    #[error("cannot write to the input of `{command}` in container {name}: {reason}")]
    ExecInput { name: String, command: String, reason: String },
    #[error("container {name} ended with exit code {exit_code}{}", last_words(.last_lines))]
    Failed { name: String, exit_code: i64, last_lines: Vec<String> },
    #[error("container {name} was still running after {} s and was removed{}", .deadline.as_secs(), last_words(.last_lines))]
    TimedOut { name: String, deadline: Duration, last_lines: Vec<String> },

    #[error("cannot create volume {name}: {cause}")]
    CreateVolume { name: String, cause: Cause },
    #[error("cannot remove volume {name}: {cause}")]
    RemoveVolume { name: String, cause: Cause },
    #[error("cannot list the lab's volumes: {cause}")]
    ListVolumes { cause: Cause },

    #[error("cannot create network {name}: {cause}")]
    CreateNetwork { name: String, cause: Cause },
    #[error("cannot remove network {name}: {cause}")]
    RemoveNetwork { name: String, cause: Cause },
    #[error("cannot list the lab's networks: {cause}")]
    ListNetworks { cause: Cause },
    #[error("cannot connect container {container} to network {network}: {cause}")]
    ConnectNetwork { container: String, network: String, cause: Cause },
    #[error("cannot disconnect container {container} from network {network}: {cause}")]
    DisconnectNetwork { container: String, network: String, cause: Cause },

    #[error("cannot inspect image {reference}: {cause}")]
    InspectImage { reference: String, cause: Cause },
    #[error("cannot list the lab's images: {cause}")]
    ListImages { cause: Cause },
    #[error("cannot pull image {reference}: {cause}")]
    PullImage { reference: String, cause: Cause },
    #[error("cannot build image {reference}: {cause}{}", last_words(.last_lines))]
    BuildImage { reference: String, cause: Cause, last_lines: Vec<String> },
    #[error("cannot read {} for the build of image {reference}: {reason}", .path.display())]
    BuildContext { reference: String, path: PathBuf, reason: String },
    #[error("cannot remove image {reference}: {cause}")]
    RemoveImage { reference: String, cause: Cause },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_without_an_engine_lists_everything_that_was_tried() {
        let attempt = |n: u8| Attempt {
            address: format!("unix:///{n}.sock"),
            origin: format!("origin {n}"),
            reason: format!("reason {n}"),
        };
        let text = DockerError::NoEngine { tried: vec![attempt(1), attempt(2)] }.to_string();
        assert!(text.contains("unix:///1.sock (origin 1): reason 1"), "{text}");
        assert!(text.contains("unix:///2.sock (origin 2): reason 2"), "{text}");
        assert!(text.contains("DOCKER_HOST"), "{text}");
    }

    #[test]
    fn a_failed_container_speaks_its_last_words() {
        let failed = |last_lines| DockerError::Failed { name: "c".to_owned(), exit_code: 3, last_lines };
        assert_eq!(failed(vec![]).to_string(), "container c ended with exit code 3; it wrote nothing");
        assert_eq!(
            failed(vec!["a".to_owned(), "b".to_owned()]).to_string(),
            "container c ended with exit code 3; its last lines:\n  a\n  b"
        );
    }
}
