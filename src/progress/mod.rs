//! What a person sees while a run goes on: on stderr, and drawn only on a terminal.
//!
//! Results go to stdout and are no business of this module. Whoever prints one while a step is running does it inside
//! [`Progress::suspend`], or after [`Progress::finish`].

mod eta;
mod follow;
mod live;
mod log;
mod plain;
mod ragged;
mod terminal;
#[cfg(test)]
mod tests;
mod words;

use std::io::IsTerminal;
use std::sync::Arc;

use tokio::sync::watch;

use crate::experiment::SharedRow;
use plain::Plain;
use terminal::Terminal;

pub use follow::Following;
pub use live::View;

/// Tells what is being done. Clones tell it to the same place.
#[derive(Debug, Clone)]
pub struct Progress {
    display: Arc<Display>,
}

#[derive(Debug)]
enum Display {
    /// One line that is redrawn, and lines that stay above it.
    Terminal(Terminal),
    /// Lines alone, each with the time.
    Plain(Plain),
    /// Nothing.
    Silent,
}

impl Progress {
    /// Draws if stderr is a terminal that can be drawn on, and else writes plain lines.
    #[must_use]
    pub fn for_terminal() -> Self {
        let terminal = std::env::var("TERM").ok();
        if std::io::stderr().is_terminal() && can_move_cursor(terminal.as_deref()) {
            Self::new(Display::Terminal(Terminal::stderr()))
        } else {
            Self::plain()
        }
    }

    /// Writes a plain line to stderr for every step and note.
    #[must_use]
    pub fn plain() -> Self {
        Self::new(Display::Plain(Plain::new(std::io::stderr())))
    }

    /// Shows nothing.
    #[must_use]
    pub fn silent() -> Self {
        Self::new(Display::Silent)
    }

    fn new(display: Display) -> Self {
        Self { display: Arc::new(display) }
    }

    /// Says what is being done from now on; what was being done before has ended.
    pub fn step(&self, text: &str) {
        match &*self.display {
            Display::Terminal(terminal) => terminal.step(text),
            Display::Plain(plain) => plain.line(text),
            Display::Silent => {}
        }
    }

    /// Says how far the running step is, as in `41 %`. It replaces the detail before it, and is shown on a terminal
    /// alone: a log does not grow by it.
    pub fn detail(&self, text: &str) {
        if let Display::Terminal(terminal) = &*self.display {
            terminal.detail(text);
        }
    }

    /// Says something that stays: a warning, or a fact such as which image was taken.
    pub fn note(&self, text: &str) {
        match &*self.display {
            Display::Terminal(terminal) => terminal.note(text),
            Display::Plain(plain) => plain.line(text),
            Display::Silent => {}
        }
    }

    /// Shows the rows of an experiment as they come, until the result is dropped or the rows end: on a terminal as a
    /// block below the running step, elsewhere as a line at each change of phase.
    ///
    /// Must be called inside a tokio runtime.
    #[must_use = "what is shown ends when this is dropped"]
    pub fn follow(&self, rows: watch::Receiver<SharedRow>, view: View) -> Following {
        Following::start(self, rows, view)
    }

    /// Runs `f` while nothing is drawn, so that what it writes to the terminal stays whole. Nothing may be told to
    /// this progress inside `f`.
    pub fn suspend<T>(&self, f: impl FnOnce() -> T) -> T {
        match &*self.display {
            Display::Terminal(terminal) => terminal.suspend(f),
            Display::Plain(_) | Display::Silent => f(),
        }
    }

    /// Ends the running step and leaves the terminal clean, with the cursor at the start of a line. The last clone
    /// does it when it is dropped; a process that exits without dropping it (`std::process::exit`) calls this first.
    pub fn finish(&self) {
        if let Display::Terminal(terminal) = &*self.display {
            terminal.finish();
        }
    }
}

/// Whether a terminal of this kind (`TERM`) can be drawn on again. One that does not say is taken to be able to.
fn can_move_cursor(terminal: Option<&str>) -> bool {
    terminal != Some("dumb")
}
