//! The folder of a sweep: `sweep.json`, `sweep.csv`, and below the profile's name the folder of every run.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::record::{from_csv, relative, to_csv};
use super::{Design, NotARecord, Record, Run, Status};
use crate::store::RunFolder;

/// Name of the file that makes a folder one of a sweep.
const DESIGN: &str = "sweep.json";

/// Name of the file with a row a run.
const RECORDS: &str = "sweep.csv";

/// Name of the file whose lock says that a sweep goes on.
const LOCK: &str = ".lock";

/// Why a folder holds no sweep, or not this one.
#[derive(Debug, thiserror::Error)]
pub enum SweepFolderError {
    /// The file system refused.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// `sweep.json` is not the lab's.
    #[error("{path}: {source}", path = path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// It was written by a newer lab.
    #[error("{path}: written by a newer lab (layout {found}, this one reads up to {known}): use that lab to read it", path = path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The file's layout.
        found: u32,
        /// The newest layout that is known here.
        known: u32,
    },
    /// `sweep.csv` is not of this sweep.
    #[error("{path}: {source}", path = path.display())]
    Records {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: NotARecord,
    },
    /// A row cannot be written.
    #[error("{path}: {source}", path = path.display())]
    Csv {
        /// The file.
        path: PathBuf,
        /// Why.
        source: csv::Error,
    },
    /// The folder has other things in it.
    #[error("{path} is not empty and holds no sweep: name another folder with --out", path = path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// The folder has another sweep in it.
    #[error("{path} holds another sweep: {differs}; name another folder with --out", path = path.display())]
    Another {
        /// The folder.
        path: PathBuf,
        /// What tells them apart.
        differs: String,
    },
    /// Another lab runs this sweep.
    #[error("another stall-lab runs the sweep in {path}: wait for it, or stop it", path = path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
}

/// The folder of a sweep, with what is known of it.
#[derive(Debug)]
pub struct SweepFolder {
    path: PathBuf,
    design: Design,
    records: Vec<Record>,
    /// Held for its lock, while the sweep goes on.
    _lock: Option<File>,
}

impl SweepFolder {
    /// Makes the folder, or takes up the sweep that is in it: then its seed, and when it was begun, stay. A seed that was
    /// `asked_for` must be the one it has.
    ///
    /// Runs that a killed lab has left without a row get one, as broken.
    ///
    /// # Errors
    /// When it holds anything else, another lab runs it, or a file cannot be read or written.
    pub fn open(path: &Path, design: Design, asked_for: Option<u64>) -> Result<Self, SweepFolderError> {
        let error = |source| SweepFolderError::Io { path: path.to_owned(), source };
        let there = path.join(DESIGN).exists();
        if !there && path.exists() && std::fs::read_dir(path).map_err(error)?.next().is_some() {
            return Err(SweepFolderError::NotEmpty { path: path.to_owned() });
        }
        std::fs::create_dir_all(path).map_err(error)?;
        let lock = lock(path)?;
        let mut folder = if there {
            let kept = Self::read(path)?;
            let seed = asked_for.unwrap_or(kept.design.seed);
            let design = Design { seed, ..design };
            if let Some(differs) = design.differs_from(&kept.design) {
                return Err(SweepFolderError::Another { path: path.to_owned(), differs });
            }
            Self { design: Design { repeat: design.repeat, ..kept.design }, ..kept }
        } else {
            Self { path: path.to_owned(), design, records: vec![], _lock: None }
        };
        folder._lock = Some(lock);
        folder.save_design()?;
        folder.note_abandoned();
        folder.save_records()?;
        Ok(folder)
    }

    /// Reads the sweep that is in a folder.
    ///
    /// # Errors
    /// When there is none, or it is not the lab's.
    pub fn read(path: &Path) -> Result<Self, SweepFolderError> {
        let file = path.join(DESIGN);
        let text = read(&file)?;
        let json = |source| SweepFolderError::Json { path: file.clone(), source };
        let value: serde_json::Value = serde_json::from_str(&text).map_err(json)?;
        let found = value.get("schema").and_then(serde_json::Value::as_u64).unwrap_or_default();
        let found = u32::try_from(found).unwrap_or(u32::MAX);
        if found > Design::SCHEMA {
            return Err(SweepFolderError::Newer { path: file, found, known: Design::SCHEMA });
        }
        let design: Design = serde_json::from_value(value).map_err(json)?;
        let file = path.join(RECORDS);
        let records = if file.exists() {
            from_csv(&design, &read(&file)?)
                .map_err(|source| SweepFolderError::Records { path: file, source })?
        } else {
            vec![]
        };
        Ok(Self { path: path.to_owned(), design, records, _lock: None })
    }

    /// Is there a sweep in this folder.
    #[must_use]
    pub fn is_one(path: &Path) -> bool {
        path.join(DESIGN).exists()
    }

    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the sweep runs.
    #[must_use]
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// What came of the runs so far, in the order in which they ended.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The runs that are still to be made, in their order: a finished one is never made again.
    #[must_use]
    pub fn pending(&self) -> Vec<Run> {
        let done: std::collections::BTreeSet<Run> = self
            .records
            .iter()
            .filter(|record| record.status == Status::Finished)
            .map(|record| record.run)
            .collect();
        self.design.runs().filter(|run| !done.contains(run)).collect()
    }

    /// Adds what came of a run.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, record: Record) -> Result<(), SweepFolderError> {
        self.records.push(record);
        self.save_records()
    }

    /// Replaces what came of the runs.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn replace(&mut self, records: Vec<Record>) -> Result<(), SweepFolderError> {
        self.records = records;
        self.save_records()
    }

    /// How often a run was tried.
    #[must_use]
    pub fn tried(&self, run: Run) -> usize {
        self.records.iter().filter(|record| record.run == run).count()
    }

    /// The folder of the arm of this name, relative to the sweep's, if it was made.
    #[must_use]
    pub(super) fn folder_of(&self, arm: &str) -> Option<String> {
        let ending = format!("-{arm}");
        self.run_folders().into_iter().find(|folder| folder.ends_with(&ending))
    }

    /// Folders of runs, relative to the sweep's.
    fn run_folders(&self) -> Vec<String> {
        let runs = self.path.join(&self.design.profile_name);
        let folders = std::fs::read_dir(runs).into_iter().flatten().flatten().map(|entry| entry.path());
        folders
            .filter(|folder| !folder.is_symlink() && folder.is_dir())
            .filter_map(|folder| relative(&folder, &self.path))
            .collect()
    }

    /// Gives the runs that a lab which was killed has left a row each.
    fn note_abandoned(&mut self) {
        let known: Vec<&String> = self.records.iter().filter_map(|record| record.folder.as_ref()).collect();
        let mut left: Vec<String> =
            self.run_folders().into_iter().filter(|folder| !known.contains(&folder)).collect();
        if left.is_empty() {
            return;
        }
        left.sort();
        let runs: BTreeMap<String, Run> =
            self.design.runs().map(|run| (self.design.run_name(run, 0), run)).collect();
        for folder in left {
            let Ok(info) = RunFolder::at(self.path.join(&folder)).run() else { continue };
            let first = info.arm.split("-again").next().unwrap_or_default();
            if let Some(run) = runs.get(first) {
                let problem = "the lab was ended while it ran".to_owned();
                self.records.push(Record::broken(*run, Some(folder), problem));
            }
        }
    }

    fn save_design(&self) -> Result<(), SweepFolderError> {
        let path = self.path.join(DESIGN);
        let text = serde_json::to_string_pretty(&self.design)
            .map_err(|source| SweepFolderError::Json { path: path.clone(), source })?;
        replace(&path, &(text + "\n"))
    }

    fn save_records(&self) -> Result<(), SweepFolderError> {
        let path = self.path.join(RECORDS);
        let text = to_csv(&self.design, &self.records)
            .map_err(|source| SweepFolderError::Csv { path: path.clone(), source })?;
        replace(&path, &text)
    }
}

fn lock(path: &Path) -> Result<File, SweepFolderError> {
    let file = path.join(LOCK);
    let lock = File::create(&file).map_err(|source| SweepFolderError::Io { path: file, source })?;
    lock.try_lock().map_err(|_| SweepFolderError::Busy { path: path.to_owned() })?;
    Ok(lock)
}

fn read(path: &Path) -> Result<String, SweepFolderError> {
    std::fs::read_to_string(path).map_err(|source| SweepFolderError::Io { path: path.to_owned(), source })
}

/// Writes a file in one step: whoever reads it, or a lab that is killed meanwhile, has the old one or the new one whole.
fn replace(path: &Path, text: &str) -> Result<(), SweepFolderError> {
    let fresh = path.with_extension("new");
    std::fs::write(&fresh, text)
        .and_then(|()| std::fs::rename(&fresh, path))
        .map_err(|source| SweepFolderError::Io { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::testing::{design, finished};
    use super::*;

    #[test]
    fn a_sweep_is_taken_up_where_it_was_left_and_only_what_is_missing_is_pending() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sweep");
        let axes = ["standby.read_iops=100,200"];
        let mut folder = SweepFolder::open(&path, design(&axes, 2), None).unwrap();
        let order = folder.pending();
        assert_eq!(order.len(), 4);
        folder.add(Record { run: order[0], ..finished(1, 0, 88.0) }).unwrap();
        folder.add(Record::broken(order[1], None, "no room".to_owned())).unwrap();
        drop(folder);
        // With another seed than the one it drew: the recorded one counts.
        let again = Design { seed: 1, ..design(&axes, 3) };
        let folder = SweepFolder::open(&path, again, None).unwrap();
        assert_eq!((folder.design().seed, folder.records().len()), (7, 2));
        assert_eq!(folder.pending()[..3], order[1..]);
        assert_eq!((folder.pending().len(), folder.tried(order[1])), (5, 1));
    }

    #[test]
    fn a_folder_with_anything_else_in_it_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path();
        let open = |axes: &[&str], seed| SweepFolder::open(path, design(axes, 1), seed);
        std::fs::write(path.join("mine.txt"), "").unwrap();
        assert!(matches!(open(&["a=1"], None), Err(SweepFolderError::NotEmpty { .. })));
        std::fs::remove_file(path.join("mine.txt")).unwrap();
        let held = open(&["a=1"], None).unwrap();
        assert!(matches!(open(&["a=1"], None), Err(SweepFolderError::Busy { .. })));
        drop(held);
        for (axes, seed, said) in
            [(["a=1,2"], None, "it varies a=1, not"), (["a=1"], Some(8), "another --seed")]
        {
            let error = open(&axes, seed).unwrap_err().to_string();
            assert!(error.contains(said) && error.ends_with("with --out"), "{error}");
        }
        assert!(open(&["a=1"], Some(7)).is_ok());
        std::fs::write(path.join(DESIGN), "{\"schema\": 99}").unwrap();
        assert!(matches!(SweepFolder::read(path), Err(SweepFolderError::Newer { found: 99, .. })));
    }
}
