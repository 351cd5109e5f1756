//! What is wrong with a profile, and where.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::Override;
use super::builtin::BUILTINS;
use super::tree::Place;

/// Why there is no profile.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The name is neither a built-in profile's nor a file's.
    #[error(
        "no profile is named {name:?}: built in are {}, and what `stall-lab scenarios` lists; a file is named by a path that ends in .toml or holds a {:?}",
        BUILTINS.map(|builtin| builtin.name).join(", "),
        std::path::MAIN_SEPARATOR
    )]
    Unknown {
        /// The name as given.
        name: String,
    },
    /// The file could not be read.
    #[error("cannot read the profile {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system said; not UTF-8 is `InvalidData`.
        source: io::Error,
    },
    /// The text is no profile.
    #[error(transparent)]
    Invalid(#[from] Problems),
    /// The profile cannot be written as TOML: a number in it is beyond TOML's 64 bits with sign.
    #[error("cannot write the profile as TOML: {0}")]
    Write(#[from] toml::ser::Error),
}

/// Everything found wrong with one profile, in file order, then in the order of the overrides; one a line.
#[derive(Debug, PartialEq, Eq)]
pub struct Problems {
    pub(super) origin: String,
    pub(super) overrides: Vec<String>,
    pub(super) found: Vec<Problem>,
}

impl std::error::Error for Problems {}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.found.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            self.write_place(f, problem)?;
            write!(f, ": {}", problem.complaint)?;
        }
        Ok(())
    }
}

impl Problems {
    /// What was found wrong with the text from `origin` and the overrides laid over it.
    pub(super) fn new(origin: &str, overrides: &[Override], mut found: Vec<Problem>) -> Self {
        found.sort_by_key(|problem| problem.place);
        // A setting, or one --set, may reach several nodes: a mistake in it is told once.
        found.dedup();
        let overrides = overrides.iter().map(ToString::to_string).collect();
        Self { origin: origin.to_owned(), overrides, found }
    }

    /// An override names its key itself; a place in the file is followed by the key.
    fn write_place(&self, f: &mut fmt::Formatter<'_>, problem: &Problem) -> fmt::Result {
        match problem.place {
            Place::Line(line) => write!(f, "{}:{line}", self.origin)?,
            Place::File => f.write_str(&self.origin)?,
            Place::Set(index) => {
                return f.write_str(self.overrides.get(index).map_or("--set", String::as_str));
            }
        }
        if problem.key.is_empty() { Ok(()) } else { write!(f, ": {}", problem.key) }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) place: Place,
    /// Full path of the key; empty where the whole text is meant.
    pub(super) key: String,
    pub(super) complaint: Complaint,
}

/// What is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Complaint {
    #[error("not TOML: {0}")]
    Syntax(String),
    #[error("unknown key {name:?}{}; known here: {}", perhaps(nearest.as_deref()), known.join(", "))]
    UnknownKey { name: String, nearest: Option<String>, known: Vec<String> },
    #[error("missing: it takes {0}")]
    Missing(String),
    #[error("{value} is not allowed: {allowed}")]
    NotAllowed { value: String, allowed: String },
    #[error("names more than one key: add one of {}", .0.join(", "))]
    Group(Vec<String>),
    #[error("names a group of settings: add the name of a PostgreSQL setting")]
    SettingsGroup,
    #[error("{0:?} is a single value and has no keys")]
    NoKeysBelow(String),
    #[error(
        "{0:?} is not the name of a PostgreSQL setting: lower-case letters, digits, underscores and dots"
    )]
    SettingName(String),
    #[error("a profile may not set it: {0}")]
    Reserved(&'static str),
    #[error("written twice, with its dots in quotes and without")]
    Twice,
    /// The checks let through what the types refuse; it is the lab that is wrong.
    #[error("not a profile, though no check found it: {0}")]
    Shape(String),
}

fn perhaps(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| format!(", perhaps {nearest:?}"))
}

impl Complaint {
    /// An unknown key with the nearest of the known ones, if one is near.
    pub(super) fn unknown_key(name: &str, known: Vec<String>) -> Self {
        /// Of 1: below it two names have little in common.
        const NEAR: f64 = 0.5;
        let nearest = known
            .iter()
            .map(|candidate| (strsim::normalized_damerau_levenshtein(name, candidate), candidate))
            .filter(|(similarity, _)| *similarity >= NEAR)
            .max_by(|(a, _), (b, _)| a.total_cmp(b))
            .map(|(_, candidate)| candidate.clone());
        Self::UnknownKey { name: name.to_owned(), nearest, known }
    }
}

/// `text` with its control characters escaped, for a message of one line.
pub(super) fn printable(text: &str) -> String {
    let escape = |c: char| {
        if c.is_control() { c.escape_default().collect() } else { String::from(c) }
    };
    text.chars().map(escape).collect()
}
