//! Scenes and pictures of whole runs.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use super::testing::{Files, MINUTE, QUICK, made_up, made_up_off, outage};
use super::*;

/// A decoded picture.
struct Pixels {
    size: (u32, u32),
    bytes: Vec<u8>,
}

/// Draws and decodes. With `STALL_LAB_PICTURES=DIR` the picture stays there, to be looked at.
fn drawn(name: &str, draw: impl FnOnce(&Path) -> Result<(), PlotError>) -> Pixels {
    let scratch = tempfile::tempdir().unwrap();
    let folder = std::env::var_os("STALL_LAB_PICTURES").map_or(scratch.path().to_owned(), PathBuf::from);
    let path = folder.join(format!("{name}.png"));
    draw(&path).unwrap();
    let mut reader = png::Decoder::new(io::BufReader::new(std::fs::File::open(&path).unwrap())).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    Pixels { size: (info.width, info.height), bytes }
}

fn drawn_run(name: &str, files: &Files) -> Pixels {
    drawn(name, |path| timeline(&files.recorded(), path))
}

#[test]
fn look() {
    drawn_run("outage", &outage());
    drawn_run("minute", &made_up(MINUTE, &["standby"]));
    drawn_run("quick", &made_up(QUICK, &["standby"]));
    drawn_run("quick-two", &made_up(QUICK, &["standby_1", "standby_2"]));
    drawn_run("quick-off", &made_up_off(QUICK));
    let (a, b) = (made_up(QUICK, &["standby"]), made_up_off(QUICK));
    drawn("comparison", |path| comparison(&[a.recorded(), b.recorded()], path));
}
