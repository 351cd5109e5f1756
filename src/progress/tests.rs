#![allow(clippy::unwrap_used)]

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use indicatif::{InMemoryTerm, TermLike};
use tokio::sync::watch;

use super::plain::Plain;
use super::terminal::Terminal;
use super::{Display, Progress, View, can_move_cursor};
use crate::experiment::SharedRow;
use crate::store::{Column, Metric, Phase, Row};

/// A log in memory.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

fn plain() -> (Progress, Log) {
    let log = Log::default();
    (Progress::new(Display::Plain(Plain::new(log.clone()))), log)
}

/// A terminal of 60 columns and 20 lines.
fn terminal() -> (Progress, InMemoryTerm) {
    let screen = InMemoryTerm::new(20, 60);
    let terminal = Terminal::on(screen.clone());
    (Progress::new(Display::Terminal(terminal)), screen)
}

/// The lines, with `*` for the spinner and `#` for the seconds at their start: both depend on the moment.
fn timeless(lines: &str) -> String {
    let lines: Vec<String> = lines.lines().map(timeless_line).collect();
    lines.join("\n")
}

fn timeless_line(line: &str) -> String {
    let spinning = line.starts_with(['|', '/', '-', '\\']);
    match line.split_once(" s") {
        Some((start, rest)) if start.ends_with(|c: char| c.is_ascii_digit()) && start.len() <= 6 => {
            format!("{}# s{rest}", if spinning { "*" } else { "" })
        }
        _ => line.to_owned(),
    }
}

/// What the screen shows.
fn seen(screen: &InMemoryTerm) -> String {
    timeless(&screen.contents())
}

/// The screen shows this, at the latest with the spinner's next frames: what is drawn in quick succession is drawn late.
fn assert_shows(screen: &InMemoryTerm, expected: &str) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while seen(screen) != expected && Instant::now() < deadline {
        std::thread::yield_now();
    }
    assert_eq!(seen(screen), expected);
}

fn view() -> View {
    View {
        primary: "primary".into(),
        standbys: vec![("standby".into(), Some(200))],
        faulted: "standby".into(),
    }
}

fn row(t_s: f64, phase: Phase) -> SharedRow {
    let cells = [
        ("primary", Metric::Tps, 0.0),
        ("standby", Metric::ReadIops, 200.0),
        ("standby", Metric::LagBytes, 312e6),
    ];
    Some(Arc::new(Row {
        tick: 0,
        t_s,
        unix_s: 0.0,
        phase,
        cells: cells.map(|(node, metric, value)| (Column::new(node, metric), value.into())).into(),
    }))
}

/// Lets every task that can run do so.
async fn settle() {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
}

#[test]
fn a_log_gets_a_line_a_step_and_a_note_and_nothing_for_details() {
    let (progress, log) = plain();
    progress.step("copying the disks");
    progress.detail("41 %");
    progress.note("read-ahead is 128 kB");
    progress.finish();
    assert_eq!(timeless(&log.text()), "# s] copying the disks\n# s] read-ahead is 128 kB");
}

#[tokio::test]
async fn a_log_gets_a_line_at_each_change_of_phase() {
    let (progress, log) = plain();
    let (sender, rows) = watch::channel(None);
    let mut following = progress.follow(rows, view());
    for (t_s, phase) in [(1.0, Phase::Settle), (2.0, Phase::Settle), (3.0, Phase::Baseline)] {
        sender.send_replace(row(t_s, phase));
        settle().await;
    }
    drop(sender);
    following.until_the_end().await;
    assert_eq!(timeless(&log.text()), "# s] phase settle\n# s] phase baseline");
}

#[test]
fn a_step_becomes_a_line_that_stays_when_the_next_one_begins() {
    let (progress, screen) = terminal();
    progress.step("finding the engine");
    progress.note("engine 20.10, API 1.41");
    progress.step("copying the disks");
    progress.detail("41 %");
    assert_shows(
        &screen,
        "          engine 20.10, API 1.41\n\
         # s  finding the engine\n\
         *# s  copying the disks\n\
         \x20         41 %",
    );
}

#[test]
fn the_last_step_stays_when_the_progress_is_dropped_and_the_cursor_is_on_a_line_of_its_own() {
    let (progress, screen) = terminal();
    progress.step("removing what was made");
    drop(progress.clone());
    assert!(seen(&screen).starts_with('*'));
    drop(progress);
    screen.write_line("$").unwrap();
    assert_shows(&screen, "# s  removing what was made\n$");
}

#[test]
fn a_running_step_wider_than_the_terminal_is_cut_and_not_wrapped() {
    let (progress, screen) = terminal();
    progress.step(&"wide ".repeat(40));
    progress.detail(&"wide ".repeat(40));
    assert_eq!(seen(&screen).lines().count(), 2);
}

#[test]
fn what_is_written_while_suspended_is_above_the_step() {
    let (progress, screen) = terminal();
    progress.step("copying the disks");
    progress.suspend(|| screen.write_line("WARN slow disk").unwrap());
    assert_shows(&screen, "WARN slow disk\n*# s  copying the disks");
}

#[tokio::test]
async fn the_block_stands_below_the_step_and_is_gone_after_it() {
    let (progress, screen) = terminal();
    progress.step("experiment");
    let (sender, rows) = watch::channel(None);
    let following = progress.follow(rows, view());
    settle().await;
    for t_s in [0.0, 4.0] {
        sender.send_replace(row(t_s, Phase::Recovery));
        settle().await;
    }
    assert_shows(
        &screen,
        "*# s  experiment\n\
         \x20         recovery for 4 s, primary at 0 TPS\n\
         \x20         standby 200/200 reads/s, 312 MB behind\n\
         \x20         no commit for 4 s",
    );
    sender.send_replace(row(5.0, Phase::Tail));
    settle().await;
    assert_eq!(seen(&screen).lines().count(), 3);
    following.finish();
    assert_shows(&screen, "*# s  experiment");
    sender.send_replace(row(6.0, Phase::Tail));
    settle().await;
    assert_shows(&screen, "*# s  experiment");
}

/// A terminal echoes `^C` where the cursor stands; on the edge it would break the line and shift what is drawn next.
#[tokio::test]
async fn an_echoed_control_character_does_not_tear_the_block() {
    let (progress, screen) = terminal();
    progress.step("experiment");
    let (sender, rows) = watch::channel(None);
    let _following = progress.follow(rows, view());
    settle().await;
    sender.send_replace(row(1.0, Phase::Update));
    settle().await;
    screen.write_str("^C").unwrap();
    assert!(seen(&screen).ends_with("312 MB behind^C"));
    sender.send_replace(row(2.0, Phase::Update));
    settle().await;
    progress.note("stopping");
    assert_shows(
        &screen,
        "          stopping\n\
         *# s  experiment\n\
         \x20         update for 1 s, primary at 0 TPS\n\
         \x20         standby 200/200 reads/s, 312 MB behind",
    );
}

#[tokio::test]
async fn the_block_is_gone_when_no_more_rows_come() {
    let (progress, screen) = terminal();
    let (sender, rows) = watch::channel(None);
    let mut following = progress.follow(rows, view());
    sender.send_replace(row(1.0, Phase::Settle));
    settle().await;
    assert_eq!(seen(&screen).lines().count(), 2);
    drop(sender);
    following.until_the_end().await;
    assert_shows(&screen, "");
}

#[test]
fn a_terminal_that_cannot_move_its_cursor_is_not_drawn_on() {
    assert!(!can_move_cursor(Some("dumb")));
    assert!(can_move_cursor(Some("xterm-256color")));
    assert!(can_move_cursor(None));
}

#[test]
fn progress_can_be_shared_between_threads() {
    fn shared<T: Clone + Send + Sync>(_: &T) {}
    shared(&Progress::silent());
}
