//! Arms side by side.

use std::path::Path;

use serde::Serialize;

use crate::human;
use crate::store::{RunInfo, Summary};

use super::differences::{Difference, differences};
use super::markdown::Table;
use super::{hang_in_words, headline, or_not_known};

/// One arm of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct Arm<'a> {
    /// What was run.
    pub run: &'a RunInfo,
    /// What it showed.
    pub summary: &'a Summary,
    /// Its folder, as it is to be written: relative to the comparison's own.
    pub folder: &'a Path,
}

/// The arms as Markdown: what differs between them, their figures side by side, and how the second relates to the
/// first where there are two.
#[must_use]
pub fn comparison(arms: &[Arm]) -> String {
    let names: Vec<&str> = arms.iter().map(|arm| arm.run.arm.as_str()).collect();
    let sections = [
        format!("# {}\n", names.join(" against ")),
        uncapped(arms),
        arms.iter()
            .map(|arm| {
                format!(
                    "- [{}]({}/README.md): {}\n",
                    arm.run.arm,
                    arm.folder.display(),
                    headline(arm.run, arm.summary)
                )
            })
            .collect(),
        "![The arms on one time axis](comparison.png)\n".to_owned(),
        format!("## Figures\n\n{}", figures(arms)),
        format!("## What differs\n\n{}", what_differs(arms)),
    ];
    let sections: Vec<String> = sections
        .into_iter()
        .filter(|section| !section.is_empty())
        .collect();
    sections.join("\n")
}

fn uncapped(arms: &[Arm]) -> String {
    let names: Vec<&str> = arms
        .iter()
        .filter(|arm| !arm.run.capped)
        .map(|arm| arm.run.arm.as_str())
        .collect();
    if names.is_empty() {
        return String::new();
    }
    format!(
        "> **UNCAPPED: {}.** The disks had no limit there: the figures say nothing of a server whose reads are \
         capped.\n",
        names.join(", ")
    )
}

/// How a figure is read out of a summary and written.
struct Figure {
    name: &'static str,
    value: fn(&Summary) -> Option<f64>,
    words: fn(f64) -> String,
}

const FIGURES: [Figure; 14] = [
    Figure {
        name: "longest time without a commit before the fault",
        value: |s| s.longest_gap_before_fault_s,
        words: human::seconds,
    },
    Figure {
        name: "fault until streaming again",
        value: |s| s.time_to_streaming_s,
        words: human::seconds,
    },
    Figure {
        name: "WAL not replayed at the fault",
        value: |s| whole(s.lag_at_fault_bytes),
        words: human::bytes,
    },
    Figure {
        name: "cap on reads",
        value: |s| whole(s.read_iops_cap),
        words: human::rate,
    },
    Figure {
        name: "reads in the hang",
        value: |s| whole(s.hang_reads),
        words: whole_words,
    },
    Figure {
        name: "... a second, mean",
        value: |s| s.hang_read_iops_mean,
        words: human::rate,
    },
    Figure {
        name: "... a second, median",
        value: |s| s.hang_read_iops_median,
        words: human::rate,
    },
    Figure {
        name: "... a second, peak",
        value: |s| s.hang_read_iops_peak,
        words: human::rate,
    },
    Figure {
        name: "... mean size",
        value: |s| s.hang_read_bytes_mean,
        words: human::bytes,
    },
    Figure {
        name: "blocks prefetched since the update began",
        value: |s| whole(s.prefetched_blocks),
        words: whole_words,
    },
    Figure {
        name: "reads of the startup process itself",
        value: |s| whole(s.startup_reads),
        words: whole_words,
    },
    Figure {
        name: "update, until its commit was acknowledged",
        value: |s| s.update_s,
        words: human::seconds,
    },
    Figure {
        name: "WAL of the update",
        value: |s| whole(s.update_wal_bytes),
        words: human::bytes,
    },
    Figure {
        name: "amplification: standby's reads to the primary's",
        value: |s| s.amplification,
        words: human::ratio,
    },
];

fn whole(value: Option<u64>) -> Option<f64> {
    value.map(|value| value as f64)
}

fn whole_words(value: f64) -> String {
    human::count(value as u64)
}

fn figures(arms: &[Arm]) -> String {
    let pair = match arms {
        [first, second] => Some((first, second)),
        _ => None,
    };
    let header = std::iter::once("figure".to_owned())
        .chain(arms.iter().map(|arm| arm.run.arm.clone()))
        .chain(pair.map(|(first, second)| format!("{} / {}", first.run.arm, second.run.arm)));
    let mut table = Table::new(header);
    table.row(named("verdict", arms, |arm| arm.summary.verdict.to_string()));
    let hang = named("longest time without a commit after the fault", arms, |arm| {
        hang_in_words(arm.summary)
    });
    let hang_ratio = pair.and_then(|(first, second)| ratio(first.summary.hang_s, second.summary.hang_s));
    table.row(hang.into_iter().chain(hang_ratio));
    for figure in &FIGURES {
        let cells = named(figure.name, arms, |arm| {
            or_not_known((figure.value)(arm.summary), figure.words)
        });
        let ratio = pair
            .and_then(|(first, second)| ratio((figure.value)(first.summary), (figure.value)(second.summary)));
        table.row(cells.into_iter().chain(ratio));
    }
    table.row(named("missed rows", arms, |arm| {
        human::count(arm.summary.missed_ticks)
    }));
    table.render()
}

fn named(name: &str, arms: &[Arm], cell: impl Fn(&Arm) -> String) -> Vec<String> {
    std::iter::once(name.to_owned())
        .chain(arms.iter().map(cell))
        .collect()
}

/// One figure divided by the other; nothing where the other is nothing.
fn ratio(first: Option<f64>, second: Option<f64>) -> Option<String> {
    let second = second.filter(|second| *second > 0.0)?;
    Some(human::ratio(first? / second))
}

fn what_differs(arms: &[Arm]) -> String {
    let differences = differences(arms.iter().map(|arm| arm.run));
    if differences.is_empty() {
        return "Nothing: the arms are repetitions of one run.\n".to_owned();
    }
    let mut table =
        Table::new(std::iter::once("where in run.json").chain(arms.iter().map(|arm| arm.run.arm.as_str())));
    for Difference { place, values } in &differences {
        table.row(
            std::iter::once(format!("`{place}`")).chain(values.iter().map(|value| format!("`{value}`"))),
        );
    }
    format!("{}\n{}", table.render(), what_is_shared(arms, &differences))
}

/// The things a reader would ask after, of those that are the same.
fn what_is_shared(arms: &[Arm], differences: &[Difference]) -> String {
    let same = |place: &str| {
        !differences
            .iter()
            .any(|difference| difference.place.starts_with(place))
    };
    let Some(Arm { run, .. }) = arms.first() else {
        return String::new();
    };
    let asked = [
        ("server.version", format!("PostgreSQL {}", run.server.version)),
        ("server.image", format!("image `{}`", run.server.image)),
        ("platform", "the machine and its engine".to_owned()),
        ("profile.workload", "the load".to_owned()),
        ("profile.update", "the update".to_owned()),
        ("profile.fault", "the fault".to_owned()),
        ("profile.primary", "the primary's limits".to_owned()),
        ("profile.standby", "the standbys' limits".to_owned()),
    ];
    let shared: Vec<String> = asked
        .into_iter()
        .filter(|(place, _)| same(place))
        .map(|(_, what)| what)
        .collect();
    if shared.is_empty() {
        return String::new();
    }
    format!(
        "The same in all: {}; and all else in `run.json`.\n",
        shared.join(", ")
    )
}

/// A line of `comparison.csv`. An empty field is not known.
#[derive(Debug, Serialize)]
struct Record<'a> {
    arm: &'a str,
    folder: String,
    postgres: &'a str,
    capped: bool,
    verdict: String,
    hang_s: Option<f64>,
    hang_ended: Option<bool>,
    longest_gap_before_fault_s: Option<f64>,
    time_to_streaming_s: Option<f64>,
    read_iops_cap: Option<u64>,
    hang_read_iops_mean: Option<f64>,
    hang_read_iops_median: Option<f64>,
    hang_read_iops_peak: Option<f64>,
    hang_reads: Option<u64>,
    hang_read_bytes: Option<u64>,
    prefetched_blocks: Option<u64>,
    prefetched_share: Option<f64>,
    startup_reads: Option<u64>,
    lag_at_fault_bytes: Option<u64>,
    update_s: Option<f64>,
    update_wal_bytes: Option<u64>,
    amplification: Option<f64>,
    missed_ticks: u64,
}

/// `comparison.csv`: a row an arm.
///
/// # Errors
/// When a row cannot be serialised, which plain figures always can.
pub fn comparison_csv(arms: &[Arm]) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for arm in arms {
        writer.serialize(record(arm))?;
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn record<'a>(arm: &Arm<'a>) -> Record<'a> {
    let summary = arm.summary;
    Record {
        arm: &arm.run.arm,
        folder: arm.folder.display().to_string(),
        postgres: &arm.run.server.version,
        capped: arm.run.capped,
        verdict: summary.verdict.to_string(),
        hang_s: summary.hang_s,
        hang_ended: summary.hang_ended,
        longest_gap_before_fault_s: summary.longest_gap_before_fault_s,
        time_to_streaming_s: summary.time_to_streaming_s,
        read_iops_cap: summary.read_iops_cap,
        hang_read_iops_mean: summary.hang_read_iops_mean,
        hang_read_iops_median: summary.hang_read_iops_median,
        hang_read_iops_peak: summary.hang_read_iops_peak,
        hang_reads: summary.hang_reads,
        hang_read_bytes: summary.hang_read_bytes,
        prefetched_blocks: summary.prefetched_blocks,
        prefetched_share: summary.prefetched_share,
        startup_reads: summary.startup_reads,
        lag_at_fault_bytes: summary.lag_at_fault_bytes,
        update_s: summary.update_s,
        update_wal_bytes: summary.update_wal_bytes,
        amplification: summary.amplification,
        missed_ticks: summary.missed_ticks,
    }
}
