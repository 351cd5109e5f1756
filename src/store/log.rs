//! A CSV file that grows by whole lines.

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::StoreError;

/// Makes one line; what it is written with ends it.
type Line = csv::Writer<Vec<u8>>;

/// A CSV file that only grows. Each line is with the kernel when `append` returns, and the file never keeps part of
/// one: what could not be written whole, as on a full disk, is cut off again.
#[derive(Debug)]
pub(super) struct CsvLog {
    path: PathBuf,
    file: File,
    /// Length of the whole lines, bytes.
    length: u64,
}

impl CsvLog {
    /// Creates the file with its header.
    pub(super) fn create<T: AsRef<[u8]>>(
        path: &Path,
        header: impl IntoIterator<Item = T>,
    ) -> Result<Self, StoreError> {
        let file = File::create(path).map_err(StoreError::io(path))?;
        let mut log = Self { path: path.to_owned(), file, length: 0 };
        log.append(|line| line.write_record(header))?;
        Ok(log)
    }

    /// Appends the line that `write` makes.
    pub(super) fn append(
        &mut self,
        write: impl FnOnce(&mut Line) -> csv::Result<()>,
    ) -> Result<(), StoreError> {
        let mut line = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
        write(&mut line).map_err(StoreError::csv(&self.path))?;
        line.flush().map_err(StoreError::io(&self.path))?;
        match self.file.write_all(line.get_ref()) {
            Ok(()) => {
                self.length += line.get_ref().len() as u64;
                Ok(())
            }
            Err(error) => {
                // A reader drops what is left of the line where this fails, too.
                let _ = self.file.set_len(self.length);
                let _ = self.file.seek(SeekFrom::Start(self.length));
                Err(StoreError::io(&self.path)(error))
            }
        }
    }
}

/// The lines of a log that were written to their end. A lab that was killed may have left part of one.
///
/// # Errors
/// When there is a text and no line in it: that is no log.
pub(super) fn whole_lines<'a>(path: &Path, text: &'a str) -> Result<&'a str, StoreError> {
    match text.rfind('\n') {
        Some(end) => Ok(&text[..=end]),
        None if text.is_empty() => Ok(""),
        None => {
            Err(StoreError::foreign(path, 1, "it holds no line: the file is cut or not the lab's".to_owned()))
        }
    }
}

/// The longest a run can be, seconds: some thirty years.
const LONGEST_S: f64 = 1e9;

/// The first second after the last year with four digits, since 1970.
const END_OF_TIME_S: f64 = 253_402_300_800.0;

/// Refuses what is no moment of a run.
pub(super) fn moment(t_s: f64, unix_s: f64) -> Result<(), String> {
    if !(t_s.is_finite() && t_s.abs() <= LONGEST_S) {
        return Err(format!("{t_s:?} is no time of a run"));
    }
    if !(0.0..END_OF_TIME_S).contains(&unix_s) {
        return Err(format!("{unix_s:?} is no time since 1970"));
    }
    Ok(())
}
