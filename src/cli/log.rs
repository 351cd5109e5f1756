//! The lab's own log.

use std::io::IsTerminal as _;

use crate::progress::Progress;

/// Writes it where progress is shown: warnings, or what `STALL_LAB_LOG` says, as in `debug`.
pub(super) fn to(progress: &Progress) {
    let asked_for = std::env::var("STALL_LAB_LOG").ok().and_then(|level| level.parse().ok());
    let coloured = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let log = tracing_subscriber::fmt()
        .with_max_level(asked_for.unwrap_or(tracing::Level::WARN))
        .with_ansi(coloured);
    // Only a second subscriber in one process could fail this.
    let _ = log.with_writer(progress.clone()).try_init();
}
