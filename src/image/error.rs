//! Why an image cannot be had.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use super::plan::Way;
use super::version::{NEWEST_MAJOR, OLDEST_MAJOR};
use crate::docker::DockerError;

/// A way to an image that was tried, and why it led nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// The way.
    pub way: Way,
    /// Why it led nowhere, in words.
    pub reason: String,
}

fn not_to_be_had(asked_for: Option<u16>, tried: &[Tried]) -> String {
    let wanted = asked_for.map_or_else(|| format!("{OLDEST_MAJOR} or later"), |major| major.to_string());
    let mut text = format!("PostgreSQL {wanted} cannot be had here. Tried:");
    for Tried { way, reason } in tried {
        // Writing to a String does not fail.
        let _ = write!(text, "\n  {way}: {}", reason.replace('\n', "\n    "));
    }
    text.push_str(
        "\nOne of these helps: give the Docker engine a registry it can reach; install mmdebstrap on a host whose apt knows a \
         Debian archive; install PostgreSQL on this host; or name an image with --postgres IMAGE or a build with --pg-prefix DIR.",
    );
    if asked_for.is_some() {
        text.push_str(" Without --postgres the lab takes what can be had.");
    }
    text
}

fn missing_programs(what: &str, missing: &[String]) -> String {
    format!("{what} lacks {}", missing.join(", "))
}

/// An image that cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are what their names and the messages say")]
pub enum ImageError {
    #[error("{}", not_to_be_had(*.asked_for, .tried))]
    NotToBeHad { asked_for: Option<u16>, tried: Vec<Tried> },
    #[error(transparent)]
    Engine(#[from] DockerError),
    #[error("\"{text}\" is no PostgreSQL version of {OLDEST_MAJOR} to {NEWEST_MAJOR}")]
    UnknownVersion { text: String },
    #[error(
        "{text:?} is neither a version of {OLDEST_MAJOR} to {NEWEST_MAJOR} nor an image's name, as in 18 or postgres:18-alpine"
    )]
    NotAReference { text: String },
    #[error("none was built{}", .major.map(|major| format!(" of version {major}")).unwrap_or_default())]
    NoneBuilt { major: Option<u16> },
    #[error("the registry has none of {}", .references.join(", "))]
    NotInRegistry { references: Vec<String> },
    #[error("image {reference} has PostgreSQL {version}; the lab needs {OLDEST_MAJOR} or later")]
    TooOld { reference: String, version: String },
    #[error(
        "image {reference} was not built by the lab, or is not there; `stall-lab image list` shows those that were"
    )]
    NotOurs { reference: String },
    #[error("the build of {tag} told nothing of {fact}")]
    NoFact { tag: String, fact: &'static str },
    #[error("{0} is not in Debian")]
    NotInDebian(u16),
    #[error("apt on this host knows no Debian archive")]
    NoDebianArchive,
    #[error("{program} is not installed on this host")]
    NoProgram { program: String },
    #[error("the engine runs on {engine}, this host is {host}")]
    OtherMachine { engine: String, host: String },
    #[error("`{command}` failed with {status}{output}")]
    ToolFailed { command: String, status: String, output: String },
    #[error("`{command}` was still running after {} s and was stopped{output}", .deadline.as_secs())]
    ToolTimedOut { command: String, deadline: Duration, output: String },
    #[error("`{command}` cannot be run: {reason}")]
    ToolNotRun { command: String, reason: String },
    #[error(
        "{} has {free_mb} MB free, {needed_mb} MB are needed while an image is built; make room or set TMPDIR to another directory",
        .dir.display()
    )]
    NoSpace { dir: PathBuf, free_mb: u64, needed_mb: u64 },
    #[error("this host has no PostgreSQL{}", .major.map(|major| format!(" {major}")).unwrap_or_else(|| format!(" {OLDEST_MAJOR} or later")))]
    NoneOnHost { major: Option<u16> },
    #[error("{}", missing_programs(.what, .missing))]
    MissingPrograms { what: String, missing: Vec<String> },
    #[error("{} is no PostgreSQL installation: it has no {missing}", .prefix.display())]
    NotAnInstallation { prefix: PathBuf, missing: String },
    #[error("the libraries {} were not found; set LD_LIBRARY_PATH to where they are", .0.join(", "))]
    MissingLibraries(Vec<String>),
    #[error("cannot {action} {}: {reason}", .path.display())]
    File { action: &'static str, path: PathBuf, reason: String },
}

impl ImageError {
    /// An error of the file system, with what was being done to which file.
    pub(super) fn file(action: &'static str, path: impl Into<PathBuf>, error: &std::io::Error) -> ImageError {
        ImageError::File { action, path: path.into(), reason: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_cannot_be_had_lists_the_ways_and_the_remedies() {
        let tried = vec![
            Tried { way: Way::Registry(19), reason: "no such host".to_owned() },
            Tried { way: Way::Debian(19), reason: "mmdebstrap is not installed on this host".to_owned() },
        ];
        let text = ImageError::NotToBeHad { asked_for: Some(19), tried }.to_string();
        for words in [
            "PostgreSQL 19 cannot be had here",
            "the official image of 19: no such host",
            "Debian's packages of 19: mmdebstrap is not installed",
            "--pg-prefix DIR",
            "Without --postgres",
        ] {
            assert!(text.contains(words), "{words:?} is not in {text}");
        }
    }
}
