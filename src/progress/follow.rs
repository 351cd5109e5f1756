//! Showing the rows of an experiment as they come.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::live::{Live, View};
use super::terminal::Block;
use super::{Display, Progress};
use crate::experiment::SharedRow;
use crate::store::Phase;

/// Rows being shown, until this is dropped.
#[derive(Debug)]
pub struct Following {
    task: Option<JoinHandle<()>>,
    /// The block, while it may be drawn. The task may be in the middle of a row when it is told to end: whoever takes
    /// the block away has the last word on the screen.
    block: SharedBlock,
}

type SharedBlock = Arc<Mutex<Option<Block>>>;

impl Following {
    pub(super) fn start(progress: &Progress, rows: watch::Receiver<SharedRow>, view: View) -> Self {
        let block = match &*progress.display {
            Display::Terminal(terminal) => Some(terminal.block()),
            Display::Plain(_) | Display::Silent => None,
        };
        let block = Arc::new(Mutex::new(block));
        let task = match &*progress.display {
            Display::Terminal(_) => Some(tokio::spawn(draw(rows, Live::new(view), Arc::clone(&block)))),
            Display::Plain(_) => Some(tokio::spawn(name_phases(rows, progress.clone()))),
            Display::Silent => None,
        };
        Self { task, block }
    }

    /// Ends it and takes the block off the screen, as dropping does.
    pub fn finish(self) {
        drop(self);
    }

    /// Waits until every row has been shown; the rows' sender must be gone.
    #[cfg(test)]
    pub(super) async fn until_the_end(&mut self) {
        if let Some(task) = &mut self.task {
            let _ = task.await;
        }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
        take(&self.block);
    }
}

/// Draws the block at every row, and takes it away after the last.
async fn draw(mut rows: watch::Receiver<SharedRow>, mut live: Live, block: SharedBlock) {
    while let Ok(row) = next(&mut rows).await {
        let Some(row) = row else { continue };
        let lines = live.advance(&row);
        if let Some(block) = &mut *block.lock().unwrap_or_else(PoisonError::into_inner) {
            block.show(&lines);
        }
    }
    take(&block);
}

/// Names each phase at its first row.
async fn name_phases(mut rows: watch::Receiver<SharedRow>, progress: Progress) {
    let mut named: Option<Phase> = None;
    while let Ok(row) = next(&mut rows).await {
        let Some(row) = row else { continue };
        if named.replace(row.phase) != Some(row.phase) {
            progress.note(&format!("phase {}", row.phase.name()));
        }
    }
}

/// The next row; an error when no more will come.
async fn next(rows: &mut watch::Receiver<SharedRow>) -> Result<SharedRow, watch::error::RecvError> {
    rows.changed().await?;
    Ok(rows.borrow_and_update().clone())
}

fn take(block: &SharedBlock) {
    drop(block.lock().unwrap_or_else(PoisonError::into_inner).take());
}
