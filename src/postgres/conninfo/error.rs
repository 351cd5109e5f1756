//! Why a connection string says nothing that can be connected to.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// What is wrong with a connection string, or with what stands behind it in the environment.
///
/// No message repeats what stands where a password may stand: a quote that was left out makes a password's second half
/// the next parameter's name.
#[derive(Debug, thiserror::Error)]
pub enum ConninfoError {
    /// It is not `name=value ...` nor a URI.
    #[error("not a connection string at character {at}: {what}")]
    Syntax {
        /// Where, in characters from 1.
        at: usize,
        /// What is missing or too much.
        what: &'static str,
    },
    /// There is no parameter of that name.
    #[error("there is no connection parameter such as that at character {at}{}", did_you_mean(*.nearest))]
    Unknown {
        /// Where, in characters from 1.
        at: usize,
        /// The parameter with the most similar name.
        nearest: Option<&'static str>,
    },
    /// libpq has the parameter, and here it would have no effect.
    #[error("{0} is not supported here: leave it out")]
    Unsupported(Origin),
    /// libpq has the value, and here it would have no effect.
    #[error("{origin}: only {allowed} can be had here")]
    OnlyAs {
        /// The parameter.
        origin: Origin,
        /// What can be had.
        allowed: String,
    },
    /// A value is none of those that the parameter has.
    #[error("{parameter}: {what}")]
    Value {
        /// The parameter.
        parameter: &'static str,
        /// What it may be.
        what: String,
    },
    /// A service that is not in the file.
    #[error("no service {name:?} in {}", list(.searched))]
    NoService {
        /// The service.
        name: String,
        /// The files that were looked through.
        searched: Vec<PathBuf>,
    },
    /// A service file says what it should not.
    #[error("{}, line {line}: {what}", path.display())]
    ServiceFile {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// A file could not be read.
    #[error("{parameter}: {} cannot be read", path.display())]
    Read {
        /// What it is.
        parameter: &'static str,
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A certificate or a key is of no use.
    #[error("{parameter}: {}: {what}", path.display())]
    Certificate {
        /// Which.
        parameter: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}

/// Where a parameter came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The connection string, or a service.
    Parameter(&'static str),
    /// An environment variable.
    Variable(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter(name) => write!(f, "connection parameter {name}"),
            Self::Variable(name) => write!(f, "environment variable {name}"),
        }
    }
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map(|nearest| format!("; did you mean {nearest}?")).unwrap_or_default()
}

fn list(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    if paths.is_empty() { "any file: there is no home directory".to_owned() } else { paths.join(" or ") }
}
