//! The folder of a run: `results/<profile>/<UTC time>-<arm>/`.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Event, RunInfo, Summary, Timeline, WalAccount, read_events};

/// What to do about a file that is not as it was.
const AS_WRITTEN: &str = "the lab reads its files only as it wrote them";

/// Why a file of a run could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file that every run has.
    #[error("{path} is missing: a run is read from its run.json, timeline.csv and events.csv together", path = path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file system refused.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Not a CSV file of the lab.
    #[error("{path}: {source}; {AS_WRITTEN}", path = path.display())]
    Csv {
        /// The file.
        path: PathBuf,
        /// Why.
        source: csv::Error,
    },
    /// A CSV file, but not one of the lab.
    #[error("{path}:{line}: {what}; {AS_WRITTEN}", path = path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The line.
        line: u64,
        /// What is wrong with it.
        what: String,
    },
    /// Not a JSON file of the lab.
    #[error("{path}: {source}; {AS_WRITTEN}", path = path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// The folder was written by a newer lab.
    #[error("{path}: written by a newer lab (layout {found}, this one reads up to {known}): use that lab to read it", path = path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The file's layout.
        found: u64,
        /// The newest layout that is known here.
        known: u32,
    },
    /// A file that can be read, and that contradicts itself.
    #[error("{path}: {what}; {AS_WRITTEN}", path = path.display())]
    Unsound {
        /// The file.
        path: PathBuf,
        /// How.
        what: String,
    },
    /// A run that ended before it began to record.
    #[error("{path} holds a run that ended before anything was recorded: there is nothing to judge", path = path.display())]
    NothingRecorded {
        /// The folder.
        path: PathBuf,
    },
    /// The run's folder exists already.
    #[error("{path} holds a run already: start again in a second, or name another folder", path = path.display())]
    Taken {
        /// The folder.
        path: PathBuf,
    },
}

impl StoreError {
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    /// Of a file that is to be read.
    pub(super) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| match source.kind() {
            io::ErrorKind::NotFound => Self::Missing { path },
            _ => Self::Io { path, source },
        }
    }

    pub(super) fn csv(path: &Path) -> impl FnOnce(csv::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Csv { path, source }
    }

    pub(super) fn json(path: &Path) -> impl FnOnce(serde_json::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Json { path, source }
    }

    pub(super) fn foreign(path: &Path, line: u64, what: String) -> Self {
        Self::Foreign { path: path.to_owned(), line, what }
    }
}

/// Name of the file with the account of the WAL.
const WAL: &str = "wal.json";

/// The folder of one run, and the names of the files in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// Makes `<results>/<profile>/<name>/` and points `<results>/<profile>/latest` at it.
    ///
    /// # Errors
    /// When the folder exists or cannot be made.
    pub fn create(results: &Path, profile: &str, name: &str) -> Result<Self, StoreError> {
        let parent = results.join(profile);
        std::fs::create_dir_all(&parent).map_err(StoreError::io(&parent))?;
        let path = parent.join(name);
        match std::fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(StoreError::Taken { path });
            }
            made => made.map_err(StoreError::io(&path))?,
        }
        point_latest_at(&parent, name)?;
        Ok(Self { path })
    }

    /// Makes the folder at this path, or takes it where it is there and holds no run.
    ///
    /// # Errors
    /// When it holds a run, or cannot be made.
    pub fn create_at(path: &Path) -> Result<Self, StoreError> {
        std::fs::create_dir_all(path).map_err(StoreError::io(path))?;
        if path.join("run.json").exists() {
            return Err(StoreError::Taken { path: path.to_owned() });
        }
        Ok(Self { path: path.to_owned() })
    }

    /// The folder at this path; nothing is read yet.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `timeline.csv`
    #[must_use]
    pub fn timeline_path(&self) -> PathBuf {
        self.path.join("timeline.csv")
    }

    /// `events.csv`
    #[must_use]
    pub fn events_path(&self) -> PathBuf {
        self.path.join("events.csv")
    }

    /// `timeline.png`
    #[must_use]
    pub fn plot_path(&self) -> PathBuf {
        self.path.join("timeline.png")
    }

    /// `README.md`
    #[must_use]
    pub fn page_path(&self) -> PathBuf {
        self.path.join("README.md")
    }

    /// `logs/`, made if it is not there.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn logs_path(&self) -> Result<PathBuf, StoreError> {
        let logs = self.path.join("logs");
        std::fs::create_dir_all(&logs).map_err(StoreError::io(&logs))?;
        Ok(logs)
    }

    /// Saves `run.json`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save_run(&self, run: &RunInfo) -> Result<(), StoreError> {
        save_json(&self.path.join("run.json"), run)
    }

    /// Reads `run.json`.
    ///
    /// # Errors
    /// When it is missing, not the lab's, or newer than this lab.
    pub fn run(&self) -> Result<RunInfo, StoreError> {
        let path = self.path.join("run.json");
        let value: serde_json::Value = read_json(&path)?;
        let schema = value.get("schema").and_then(serde_json::Value::as_u64);
        if let Some(found) = schema.filter(|found| *found > u64::from(RunInfo::SCHEMA)) {
            return Err(StoreError::Newer { path, found, known: RunInfo::SCHEMA });
        }
        let run: RunInfo = serde_json::from_value(value).map_err(StoreError::json(&path))?;
        match run.contradiction() {
            Some(what) => Err(StoreError::Unsound { path, what }),
            None => Ok(run),
        }
    }

    /// Saves `summary.json`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save_summary(&self, summary: &Summary) -> Result<(), StoreError> {
        save_json(&self.path.join("summary.json"), summary)
    }

    /// Reads `summary.json`.
    ///
    /// # Errors
    /// When it is missing or not the lab's.
    pub fn summary(&self) -> Result<Summary, StoreError> {
        read_json(&self.path.join("summary.json"))
    }

    /// Saves `wal.json`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save_wal(&self, account: &WalAccount) -> Result<(), StoreError> {
        save_json(&self.path.join(WAL), account)
    }

    /// Reads `wal.json`; none if there is none, as of a run that was killed.
    ///
    /// # Errors
    /// When it is not the lab's.
    pub fn wal(&self) -> Result<Option<WalAccount>, StoreError> {
        let path = self.path.join(WAL);
        if !path.exists() {
            return Ok(None);
        }
        let account: WalAccount = read_json(&path)?;
        match account.contradiction() {
            Some(what) => Err(StoreError::Unsound { path, what }),
            None => Ok(Some(account)),
        }
    }

    /// Reads `timeline.csv`.
    ///
    /// # Errors
    /// When it is missing or not the lab's.
    pub fn timeline(&self) -> Result<Timeline, StoreError> {
        self.was_recorded()?;
        Timeline::read(&self.timeline_path())
    }

    /// Reads `events.csv`.
    ///
    /// # Errors
    /// When it is missing or not the lab's.
    pub fn events(&self) -> Result<Vec<Event>, StoreError> {
        self.was_recorded()?;
        read_events(&self.events_path())
    }

    /// Tells a run that was killed while its nodes were set up from one that lacks a file.
    fn was_recorded(&self) -> Result<(), StoreError> {
        let is_run = self.path.join("run.json").exists();
        let has_any = self.timeline_path().exists() || self.events_path().exists();
        if is_run && !has_any {
            return Err(StoreError::NothingRecorded { path: self.path.clone() });
        }
        Ok(())
    }
}

/// Replaces the link in one step, so that it never points nowhere.
fn point_latest_at(parent: &Path, name: &str) -> Result<(), StoreError> {
    let link = parent.join("latest");
    let fresh = parent.join(format!(".latest-{name}"));
    std::os::unix::fs::symlink(name, &fresh).map_err(StoreError::io(&fresh))?;
    std::fs::rename(&fresh, &link).map_err(StoreError::io(&link))
}

pub(super) fn save_json(path: &Path, value: &impl Serialize) -> Result<(), StoreError> {
    let mut text = serde_json::to_string_pretty(value).map_err(StoreError::json(path))?;
    text.push('\n');
    replace(path, &text).map_err(StoreError::io(path))
}

/// Puts a text in the place of what the file held. Whoever reads it, and whoever is killed meanwhile, has the old one
/// or the new one, never part of one.
///
/// # Errors
/// When it cannot be written; then the old one stays.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let fresh = path.with_file_name(format!(".{name}.new"));
    let replaced = std::fs::write(&fresh, text).and_then(|()| std::fs::rename(&fresh, path));
    if replaced.is_err() {
        // Half a file is of use to nobody.
        let _ = std::fs::remove_file(&fresh);
    }
    replaced
}

pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, StoreError> {
    let text = std::fs::read_to_string(path).map_err(StoreError::read(path))?;
    serde_json::from_str(&text).map_err(StoreError::json(path))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn latest_follows_the_newest_run_and_a_taken_name_is_refused() {
        let results = tempfile::tempdir().unwrap();
        RunFolder::create(results.path(), "quick", "1-try").unwrap();
        RunFolder::create(results.path(), "quick", "2-off").unwrap();
        let latest = std::fs::read_link(results.path().join("quick/latest")).unwrap();
        assert_eq!(latest, Path::new("2-off"));
        let again = RunFolder::create(results.path(), "quick", "2-off");
        assert!(matches!(again, Err(StoreError::Taken { .. })), "{again:?}");
    }

    #[test]
    fn a_folder_of_a_newer_lab_is_refused_as_such() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("run.json"), r#"{"schema": 99}"#).unwrap();
        let error = RunFolder::at(dir.path()).run().unwrap_err();
        assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error}");
    }

    #[test]
    fn an_error_names_its_file() {
        let error = RunFolder::at("/no/such/run").run().unwrap_err().to_string();
        assert!(error.starts_with("/no/such/run/run.json is missing"), "{error}");
    }
}
