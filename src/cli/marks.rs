//! Marks: Enter on the keyboard, or SIGUSR1.

use std::io::BufRead as _;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::observe::Mark;
use crate::progress::Progress;

/// Marks that may wait to be written down.
const WAITING: usize = 16;

/// The user's marks, each as it is made.
///
/// # Errors
/// When the signal cannot be caught.
pub(super) fn of_user(progress: &Progress) -> std::io::Result<mpsc::Receiver<Mark>> {
    let (sender, marks) = mpsc::channel(WAITING);
    let mut signals = signal(SignalKind::user_defined1())?;
    let (by_signal, told) = (sender.clone(), progress.clone());
    tokio::spawn(async move {
        while signals.recv().await.is_some() {
            mark(&by_signal, "SIGUSR1", &told);
        }
    });
    let told = progress.clone();
    // A thread of its own: a read of the keyboard cannot be given up, and must not keep the process at its end. It has
    // the process read nothing where the terminal is another's: that would stop it.
    if reads_keyboard() {
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                if line.is_err() {
                    return;
                }
                mark(&sender, "Enter", &told);
            }
        });
    }
    Ok(marks)
}

fn mark(marks: &mpsc::Sender<Mark>, by: &'static str, progress: &Progress) {
    // More than may wait are a key held down.
    if marks.try_send(Mark { at: Instant::now(), by }).is_ok() {
        progress.note(&format!("marked by {by}"));
    }
}

/// Is this the process that the terminal's keys go to; from a file or a pipe anybody may read.
fn reads_keyboard() -> bool {
    let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else { return true };
    // Behind the name in parentheses: state, parent, group, session, terminal, the terminal's foreground group.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stdin());
    !is_terminal || fields.get(2) == fields.get(5)
}
