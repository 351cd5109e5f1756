//! Charts over another axis than time: distributions, and figures against a number of sessions.
//!
//! As for the other pictures, what is drawn is a scene, built from the rows of a run and tested as such.

mod axis;
mod draw;
mod latency;
mod load;
mod scene;
#[cfg(test)]
mod tests;

use std::path::Path;

use super::PlotError;
use super::style::Ink;
use crate::store::{LoadSummary, Trial, WaitForInfo, WaitForSummary};

/// Draws `latency.png`: the share of trials that had ended by a time, for each method.
///
/// # Errors
/// When the file cannot be written.
pub fn latency(info: &WaitForInfo, trials: &[Trial], path: &Path) -> Result<(), PlotError> {
    draw::picture(&latency::scene(info, trials))?.write(path)
}

/// Draws `load.png`: completions, CPU for each and CPU in all, against the number of sessions.
///
/// # Errors
/// When the file cannot be written.
pub fn load(info: &WaitForInfo, summary: &WaitForSummary, path: &Path) -> Result<(), PlotError> {
    let closed: Vec<&LoadSummary> = summary.load.iter().filter(|window| window.shape == "closed").collect();
    draw::picture(&load::scene(info, &closed))?.write(path)
}

/// The colour of a method, the same in every chart.
fn ink(method: &str) -> Ink {
    const KNOWN: [&str; 6] = [
        "busy-poll",
        "wait-for",
        "poll",
        "wait-for:standby_write",
        "wait-for:standby_flush",
        "wait-for:primary_flush",
    ];
    // Polls of other intervals come after those.
    let place = KNOWN.iter().position(|known| *known == method);
    Ink::Arm(place.unwrap_or_else(|| method.bytes().map(usize::from).sum()))
}

/// A method as the legend has it.
fn in_words(method: &str) -> String {
    match method.split_once(':') {
        None => match method {
            "poll" => "poll, 1 ms sleep".to_owned(),
            "busy-poll" => "busy poll".to_owned(),
            "wait-for" => "WAIT FOR LSN".to_owned(),
            "round-trip" => "empty query".to_owned(),
            other => other.to_owned(),
        },
        Some(("poll", interval)) => format!("poll, {interval} sleep"),
        Some((_, mode)) => mode.to_owned(),
    }
}

/// Where it comes from.
fn footer(info: &WaitForInfo) -> String {
    let cpus =
        info.platform.cpus.map_or(String::new(), |cpus| format!(", {cpus} CPUs for client and servers"));
    format!(
        "PostgreSQL {}{cpus}; stall-lab {}, run {}{}",
        info.server.version,
        info.lab_version,
        info.run_id,
        if info.debug_build { " (debug build of the client)" } else { "" }
    )
}
