//! Results, on stdout.

use std::fmt;
use std::io::{self, ErrorKind, Write as _};

/// A line of results. Unlike `println!` it does not panic when it cannot be written.
macro_rules! say {
    ($($line:tt)*) => {
        $crate::cli::say::line(format_args!($($line)*))
    };
}

/// Writes a line. Whoever reads only the beginning, as `head` does, is no failure.
///
/// # Errors
/// When it cannot be written for another reason, as on a full disk.
pub(super) fn line(line: fmt::Arguments<'_>) -> io::Result<()> {
    match writeln!(io::stdout(), "{line}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(io::Error::new(error.kind(), format!("stdout: {error}"))),
        Ok(()) => Ok(()),
    }
}
