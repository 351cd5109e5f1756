//! Tells the things of a run that goes on from those of one that was killed.
//!
//! A lab holds a lock on a file named after its run for as long as it lives. The kernel lets go of the lock when the
//! process ends, however it ends: what carries the label of a run whose lock is free is a leftover.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Where the files are: the same for every user, whatever directory for temporary files each has.
const DIR: &str = "/tmp";

/// The lock of a run that goes on.
#[derive(Debug)]
pub struct Lease {
    path: PathBuf,
    /// Held for its lock, which goes with it.
    _file: File,
}

impl Lease {
    /// Takes the lock of this run.
    ///
    /// # Errors
    /// When the file cannot be made or somebody else holds its lock.
    pub fn take(run_id: &str) -> io::Result<Self> {
        Self::take_in(Path::new(DIR), run_id)
    }

    fn take_in(dir: &Path, run_id: &str) -> io::Result<Self> {
        let path = lock_path(dir, run_id);
        let file = File::create(&path)?;
        // Whoever cleans may be another user.
        file.set_permissions(Permissions::from_mode(0o644))?;
        file.try_lock()?;
        Ok(Self { path, _file: file })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // What stays is an empty file whose lock is free.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Does the lab of this run still live on this machine. Where that cannot be told, it does.
#[must_use]
pub fn is_live(run_id: &str) -> bool {
    is_live_in(Path::new(DIR), run_id)
}

fn is_live_in(dir: &Path, run_id: &str) -> bool {
    let path = lock_path(dir, run_id);
    match File::open(&path) {
        Err(error) => error.kind() != io::ErrorKind::NotFound,
        Ok(file) if file.try_lock().is_err() => true,
        Ok(_) => {
            // Left by a lab that was killed.
            let _ = std::fs::remove_file(&path);
            false
        }
    }
}

fn lock_path(dir: &Path, run_id: &str) -> PathBuf {
    dir.join(format!("stall-lab-{run_id}.lock"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_run_is_live_while_its_lease_is_held_and_leaves_no_file() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!is_live_in(dir.path(), "r1"));
        let lease = Lease::take_in(dir.path(), "r1").unwrap();
        assert!(is_live_in(dir.path(), "r1") && !is_live_in(dir.path(), "r2"));
        assert!(Lease::take_in(dir.path(), "r1").is_err());
        drop(lease);
        assert!(!is_live_in(dir.path(), "r1"));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_left_by_a_killed_lab_is_no_life_and_goes() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(lock_path(dir.path(), "r1"), "").unwrap();
        assert!(!is_live_in(dir.path(), "r1"));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
