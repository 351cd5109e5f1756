//! The files of a run as they are, before anything is taken out of them.

use std::path::Path;

use super::{BundleError, redact};
use crate::store::{RunFolder, RunInfo};

/// A text file of a run.
#[derive(Debug)]
pub(super) struct TextFile {
    /// Its name in the run's folder, or in its folder of logs.
    pub name: String,
    /// What it holds; bytes that are no UTF-8 are replaced.
    pub text: String,
}

/// The files of a run that go into a bundle. Its picture and its pages do not: they are made again.
#[derive(Debug)]
pub(super) struct Original {
    /// `run.json`, read.
    pub run: RunInfo,
    /// What was recorded: `run.json`, `timeline.csv`, `events.csv`, and `wal.json` if there is one.
    pub recorded: Vec<TextFile>,
    /// What is in `logs/`, by name.
    pub logs: Vec<TextFile>,
}

impl Original {
    /// Reads a run's files.
    ///
    /// # Errors
    /// When it is no run of the lab's, or a file cannot be read.
    pub(super) fn read(folder: &RunFolder) -> Result<Self, BundleError> {
        // What is not the lab's is refused before anything of it is copied.
        let run = folder.run()?;
        folder.timeline()?;
        folder.events()?;
        let mut recorded = Vec::new();
        for name in ["run.json", "timeline.csv", "events.csv"] {
            recorded.push(read(&folder.path().join(name), name)?);
        }
        if folder.wal()?.is_some() {
            recorded.push(read(&folder.path().join("wal.json"), "wal.json")?);
        }
        Ok(Self { run, recorded, logs: logs(&folder.path().join("logs"))? })
    }

    /// All its texts.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.recorded.iter().chain(&self.logs).map(|file| file.text.as_str())
    }

    /// Names that the run itself gave; one that is a host's is none of them.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let hosts: Vec<String> = self.hosts().collect();
        let nodes = self.run.nodes.iter().map(|node| node.name.as_str()).chain(["primary"]);
        nodes.filter(move |name| !hosts.iter().any(|host| host == name))
    }

    /// Hosts of servers that were only watched. Of the lab's own nodes the names are the hosts.
    pub(super) fn hosts(&self) -> impl Iterator<Item = String> {
        let servers = self.run.observed().map(|observed| observed.servers.as_slice()).unwrap_or_default();
        servers.iter().map(|server| redact::host_of(&server.address).to_owned())
    }
}

/// The files in the folder of logs; none where there is no folder, as of a run whose results were published.
fn logs(folder: &Path) -> Result<Vec<TextFile>, BundleError> {
    if !folder.is_dir() {
        return Ok(vec![]);
    }
    let mut logs = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(BundleError::io(folder))? {
        let path = entry.map_err(BundleError::io(folder))?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        if let Some(name) = name.filter(|_| path.is_file()) {
            logs.push(read(&path, &name)?);
        }
    }
    logs.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(logs)
}

fn read(path: &Path, name: &str) -> Result<TextFile, BundleError> {
    let bytes = std::fs::read(path).map_err(BundleError::io(path))?;
    Ok(TextFile { name: name.to_owned(), text: String::from_utf8_lossy(&bytes).into_owned() })
}
