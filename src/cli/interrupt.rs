//! Ctrl-C: once to end well, twice to end now.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::Exit;
use crate::progress::Progress;

/// What is said when the user stops a command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words {
    /// At the first signal.
    pub stopping: &'static str,
    /// At the second.
    pub at_once: &'static str,
}

/// Of a command that has set up nodes.
const OF_NODES: Words = Words {
    stopping: "stopping: what was recorded is kept, the nodes are removed (again to stop at once)",
    at_once: "stopped at once; `stall-lab clean` removes what is left",
};

/// A token that the first SIGINT or SIGTERM cancels; the second ends the process.
///
/// # Errors
/// When the signals cannot be caught.
pub(super) fn stop_on_signal(progress: &Progress) -> std::io::Result<CancellationToken> {
    stop_on_signal_saying(progress, OF_NODES)
}

/// The same, with words of the command's own.
///
/// # Errors
/// When the signals cannot be caught.
pub(super) fn stop_on_signal_saying(progress: &Progress, words: Words) -> std::io::Result<CancellationToken> {
    let stop = CancellationToken::new();
    let (mut interrupts, mut terminations) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let (cancelled, progress) = (stop.clone(), progress.clone());
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = interrupts.recv() => {}
                _ = terminations.recv() => {}
            }
            if cancelled.is_cancelled() {
                progress.finish();
                eprintln!("{}", words.at_once);
                std::process::exit(i32::from(Exit::Interrupted.code()));
            }
            progress.note(words.stopping);
            cancelled.cancel();
        }
    });
    Ok(stop)
}
