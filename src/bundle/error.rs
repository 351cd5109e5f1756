//! Why a bundle could not be made.

use std::io;
use std::path::{Path, PathBuf};

use crate::analysis::AnalysisError;
use crate::store::StoreError;

/// Why a bundle could not be made.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// No run was given.
    #[error("there is no run to bundle")]
    Nothing,
    /// What would be made is there already.
    #[error("{path} is there already: remove it, or say --out DIR", path = path.display())]
    Taken {
        /// The folder or archive.
        path: PathBuf,
    },
    /// A run's files cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A run's redacted files cannot be judged, drawn or compared.
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
    /// A file cannot be read or written.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file of a run is not what its name says.
    #[error("{path}: {source}", path = path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// A table cannot be made.
    #[error("{path}: {source}", path = path.display())]
    Csv {
        /// The file.
        path: PathBuf,
        /// Why.
        source: csv::Error,
    },
    /// A pattern of what is redacted is damaged.
    #[error("a pattern of what is redacted is damaged: {0}")]
    Pattern(#[source] regex::Error),
    /// A file of the bundle still holds what is to be redacted.
    #[error(
        "{path} still holds what must not get out ({kinds}): this is a defect of the lab, please report it; no \
         bundle was made",
        path = path.display()
    )]
    Leak {
        /// The file.
        path: PathBuf,
        /// What it holds, in words.
        kinds: String,
    },
}

impl BundleError {
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    pub(super) fn json(path: &Path) -> impl FnOnce(serde_json::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Json { path, source }
    }

    pub(super) fn csv(path: &Path) -> impl FnOnce(csv::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Csv { path, source }
    }
}
