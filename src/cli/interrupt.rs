//! Ctrl-C: once to end well, twice to end now.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::Exit;
use crate::progress::Progress;

/// A token that the first SIGINT or SIGTERM cancels; the second ends the process.
///
/// # Errors
/// When the signals cannot be caught.
pub(super) fn stop_on_signal(progress: &Progress) -> std::io::Result<CancellationToken> {
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
                eprintln!("stopped at once; `stall-lab clean` removes what is left");
                std::process::exit(i32::from(Exit::Interrupted.code()));
            }
            progress
                .note("stopping: what was recorded is kept, the nodes are removed (again to stop at once)");
            cancelled.cancel();
        }
    });
    Ok(stop)
}
