//! Progress drawn on a terminal: lines that stay, below them the running step, below it the live block.

use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle, TermLike};

use super::ragged::Ragged;

/// Time between two frames of the spinner: it shows that the lab lives, and should cost next to nothing.
const FRAME: Duration = Duration::from_millis(250);

/// Columns left of every text, wide enough for the spinner and the seconds of the running step.
const MARGIN: &str = "          ";

/// The bottom lines of a terminal.
#[derive(Debug)]
pub(super) struct Terminal {
    term: Box<dyn TermLike>,
    bars: MultiProgress,
    running: Mutex<Option<Step>>,
}

/// What is being done.
#[derive(Debug)]
struct Step {
    text: String,
    bar: ProgressBar,
    detail: Option<ProgressBar>,
}

impl Terminal {
    /// The terminal behind stderr.
    pub(super) fn stderr() -> Self {
        Self::on(console::Term::buffered_stderr())
    }

    pub(super) fn on(term: impl TermLike + Clone + 'static) -> Self {
        let target = ProgressDrawTarget::term_like(Box::new(Ragged::new(term.clone())));
        Self {
            term: Box::new(term),
            bars: MultiProgress::with_draw_target(target),
            running: Mutex::new(None),
        }
    }

    pub(super) fn step(&self, text: &str) {
        let mut running = self.running();
        self.end(running.take());
        let bar = self.bars.insert(0, ProgressBar::no_length());
        bar.set_style(spinner());
        bar.set_message(text.to_owned());
        bar.enable_steady_tick(FRAME);
        *running = Some(Step { text: text.to_owned(), bar, detail: None });
    }

    /// On a line of its own: behind a long step it would be the part that a narrow terminal cuts off.
    pub(super) fn detail(&self, text: &str) {
        if let Some(Step { bar, detail, .. }) = &mut *self.running() {
            detail
                .get_or_insert_with(|| lower_line(self.bars.insert_after(bar, ProgressBar::no_length())))
                .set_message(text.to_owned());
        }
    }

    pub(super) fn note(&self, text: &str) {
        for line in text.lines() {
            self.line(&format!("{MARGIN}{line}"));
        }
    }

    pub(super) fn finish(&self) {
        let step = self.running().take();
        self.end(step);
    }

    pub(super) fn suspend<T>(&self, f: impl FnOnce() -> T) -> T {
        self.bars.suspend(f)
    }

    /// An empty block below the running step.
    pub(super) fn block(&self) -> Block {
        Block { bars: self.bars.clone(), lines: Vec::new() }
    }

    /// Makes a line that stays of a step. It says how long the step took and not how it went: the next line does.
    fn end(&self, step: Option<Step>) {
        if let Some(Step { text, bar, detail }) = step {
            let seconds = seconds(bar.elapsed());
            detail.iter().for_each(|line| remove(&self.bars, line));
            remove(&self.bars, &bar);
            self.line(&format!("  {seconds}  {text}"));
        }
    }

    fn line(&self, text: &str) {
        // Progress that cannot be shown must not end the run that it tells of.
        let _ = self.bars.suspend(|| self.term.write_line(text).and_then(|()| self.term.flush()));
    }

    fn running(&self) -> MutexGuard<'_, Option<Step>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Lines below the running step that are drawn again and again.
#[derive(Debug)]
pub(super) struct Block {
    bars: MultiProgress,
    lines: Vec<ProgressBar>,
}

impl Block {
    /// Replaces what the block shows. A line wider than the terminal is cut.
    pub(super) fn show(&mut self, texts: &[String]) {
        while self.lines.len() > texts.len() {
            self.lines.pop().iter().for_each(|line| remove(&self.bars, line));
        }
        while self.lines.len() < texts.len() {
            self.lines.push(lower_line(self.bars.add(ProgressBar::no_length())));
        }
        for (line, text) in self.lines.iter().zip(texts) {
            line.set_message(text.clone());
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.show(&[]);
    }
}

/// Makes the bar a line below the running step.
fn lower_line(bar: ProgressBar) -> ProgressBar {
    bar.set_style(style(&format!("{MARGIN}{{wide_msg}}")));
    bar
}

/// Takes a line off the screen and out of the list.
fn remove(bars: &MultiProgress, bar: &ProgressBar) {
    bar.finish_and_clear();
    bars.remove(bar);
}

fn spinner() -> ProgressStyle {
    style("{spinner} {seconds}  {wide_msg}").tick_chars("|/-\\ ").with_key(
        "seconds",
        |state: &ProgressState, out: &mut dyn Write| {
            let _ = out.write_str(&seconds(state.elapsed()));
        },
    )
}

/// A style of this template, or indicatif's own if the template is wrong.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// Whole seconds, six columns wide up to nearly three hours.
fn seconds(elapsed: Duration) -> String {
    format!("{:>4} s", elapsed.as_secs())
}
