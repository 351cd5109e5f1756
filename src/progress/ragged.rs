//! A terminal whose last line is not filled to the edge.

use std::io;
use std::sync::{Mutex, PoisonError};

use indicatif::TermLike;

/// Passes everything on but the blanks at the end of a drawing.
///
/// indicatif separates lines by filling each to the terminal's edge, the last one as well. The `^C` that a terminal
/// echoes then falls on a line of its own, of which indicatif knows nothing: the next drawing is a line too low and
/// leaves a torn copy of the first line behind. With the cursor behind the text the echo stays on the line, which the
/// next drawing clears.
#[derive(Debug)]
pub(super) struct Ragged<T> {
    term: T,
    /// Blanks that are written if anything follows them.
    blanks: Mutex<String>,
}

impl<T: TermLike> Ragged<T> {
    pub(super) fn new(term: T) -> Self {
        Self { term, blanks: Mutex::new(String::new()) }
    }

    fn take_blanks(&self) -> String {
        std::mem::take(&mut *self.blanks.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn write_blanks(&self) -> io::Result<()> {
        self.term.write_str(&self.take_blanks())
    }
}

impl<T: TermLike> TermLike for Ragged<T> {
    fn width(&self) -> u16 {
        self.term.width()
    }

    fn height(&self) -> u16 {
        self.term.height()
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.write_blanks()?;
        self.term.move_cursor_up(n)
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.write_blanks()?;
        self.term.move_cursor_down(n)
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.write_blanks()?;
        self.term.move_cursor_right(n)
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.write_blanks()?;
        self.term.move_cursor_left(n)
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write_blanks()?;
        self.term.write_line(text)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        if text.bytes().all(|byte| byte == b' ') {
            self.blanks.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
            return Ok(());
        }
        self.write_blanks()?;
        self.term.write_str(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.write_blanks()?;
        self.term.clear_line()
    }

    fn flush(&self) -> io::Result<()> {
        self.take_blanks();
        self.term.flush()
    }
}
