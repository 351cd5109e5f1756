//! A directory of WAL segments of the user's.

use std::path::{Path, PathBuf};

use super::WalSource;
use crate::docker::{Access, Mount};

/// Where the directory is in the container.
const MOUNT: &str = "/wal";

/// The WAL segments of one timeline in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentFiles {
    directory: PathBuf,
    timeline: u32,
    start: u64,
}

/// Why a directory is none of WAL.
#[derive(Debug, thiserror::Error)]
pub enum NoSegments {
    /// It cannot be read.
    #[error("{path}: {source}", path = path.display())]
    Read {
        /// The directory, or the file in it.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is no segment in it.
    #[error(
        "{path} has no WAL segments, whose names are 24 hexadecimal digits: give the pg_wal of a data directory, or a \
         copy of its files",
        path = path.display()
    )]
    None {
        /// The directory.
        path: PathBuf,
    },
}

impl SegmentFiles {
    /// The segments of the newest timeline in a directory.
    ///
    /// # Errors
    /// When the directory cannot be read or holds none.
    pub fn find(directory: &Path) -> Result<Self, NoSegments> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| NoSegments::Read { path, source }
        };
        let directory = directory.canonicalize().map_err(failed(directory))?;
        let mut first: Option<(Segment, PathBuf)> = None;
        for entry in std::fs::read_dir(&directory).map_err(failed(&directory))? {
            let entry = entry.map_err(failed(&directory))?;
            let Some(segment) = entry.file_name().to_str().and_then(Segment::parse) else { continue };
            if first.as_ref().is_none_or(|(first, _)| segment.goes_before(*first)) {
                first = Some((segment, entry.path()));
            }
        }
        let (segment, path) = first.ok_or_else(|| NoSegments::None { path: directory.clone() })?;
        let size = std::fs::metadata(&path).map_err(failed(&path))?.len();
        Ok(Self { directory, timeline: segment.timeline, start: segment.start(size) })
    }

    /// Where the first of them begins, bytes from 0/0.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.start
    }

    /// All of it, as `pg_waldump` is to read it.
    #[must_use]
    pub fn source(&self) -> WalSource {
        WalSource {
            mount: Mount::Bind {
                host: self.directory.display().to_string(),
                target: MOUNT.to_owned(),
                access: Access::ReadOnly,
            },
            directory: MOUNT.to_owned(),
            timeline: self.timeline,
            start: self.start,
            end: None,
        }
    }
}

/// The name of a segment: eight hexadecimal digits each for its timeline, and the two parts of its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Segment {
    timeline: u32,
    high: u32,
    low: u32,
}

impl Segment {
    fn parse(name: &str) -> Option<Self> {
        let part = |at: usize| u32::from_str_radix(name.get(at..at + 8)?, 16).ok();
        let sound = name.len() == 24 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        sound.then_some(())?;
        Some(Self { timeline: part(0)?, high: part(8)?, low: part(16)? })
    }

    /// Is it of a newer timeline, or earlier on the same.
    fn goes_before(self, other: Self) -> bool {
        (std::cmp::Reverse(self.timeline), self.high, self.low)
            < (std::cmp::Reverse(other.timeline), other.high, other.low)
    }

    /// Where it begins. The low part counts segments within 4 GB, whatever their size.
    fn start(self, size: u64) -> u64 {
        (u64::from(self.high) << 32).saturating_add(u64::from(self.low).saturating_mul(size))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn directory(names: &[&str]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for name in names {
            std::fs::write(directory.path().join(name), [0; 1024]).unwrap();
        }
        directory
    }

    #[test]
    fn the_first_segment_of_the_newest_timeline_is_where_it_begins() {
        let directory = directory(&[
            "000000010000000000000001",
            "000000020000000100000004",
            "000000020000000100000003",
            "00000002.history",
            "000000030000000100000003.partial",
        ]);
        let found = SegmentFiles::find(directory.path()).unwrap();
        assert_eq!((found.timeline, found.start()), (2, (1 << 32) + 3 * 1024));
    }

    #[test]
    fn a_directory_without_segments_is_refused_with_what_was_looked_for() {
        let error = SegmentFiles::find(directory(&["PG_VERSION"]).path()).unwrap_err().to_string();
        assert!(error.contains("has no WAL segments"), "{error}");
        assert!(SegmentFiles::find(Path::new("/no/such/directory")).is_err());
    }
}
