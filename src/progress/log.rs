//! Log lines between the drawn ones.

use std::io::{self, Write};

use tracing_subscriber::fmt::MakeWriter;

use super::Progress;

/// Writes to stderr without tearing what is drawn there.
#[derive(Debug)]
pub struct LogWriter<'a>(&'a Progress);

impl Write for LogWriter<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.write_all(line).map(|()| line.len())
    }

    // One call a log line: that is how tracing-subscriber writes.
    fn write_all(&mut self, line: &[u8]) -> io::Result<()> {
        self.0.suspend(|| io::stderr().write_all(line))
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

impl<'a> MakeWriter<'a> for Progress {
    type Writer = LogWriter<'a>;

    fn make_writer(&'a self) -> Self::Writer {
        LogWriter(self)
    }
}
