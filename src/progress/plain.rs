//! Progress as plain lines, for logs.

use std::fmt;
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Writes lines with the seconds since it was made.
pub(super) struct Plain {
    started: Instant,
    sink: Mutex<Box<dyn Write + Send>>,
}

impl fmt::Debug for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plain").field("started", &self.started).finish_non_exhaustive()
    }
}

impl Plain {
    pub(super) fn new(sink: impl Write + Send + 'static) -> Self {
        Self { started: Instant::now(), sink: Mutex::new(Box::new(sink)) }
    }

    pub(super) fn line(&self, text: &str) {
        let line = format!("[{:>4} s] {text}\n", self.started.elapsed().as_secs());
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        // Progress that cannot be written, as to a closed pipe, must not end the run that it tells of.
        let _ = sink.write_all(line.as_bytes()).and_then(|()| sink.flush());
    }
}
