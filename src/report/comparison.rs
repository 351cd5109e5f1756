//! Arms side by side.

use std::path::Path;

use crate::human;
use crate::store::{RunInfo, Summary};

use super::differences::{Difference, differences, subjects};
use super::markdown::Table;
use super::{NOT_KNOWN, hang_in_words, headline, or_none, or_not_known};

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
/// first where there are two. `on_purpose` is what they were asked to differ in, if they were run for it: see [`caution`].
#[must_use]
pub fn comparison(arms: &[Arm], on_purpose: &[String]) -> String {
    let names: Vec<&str> = arms.iter().map(|arm| arm.run.arm.as_str()).collect();
    let sections = [
        format!("# {}\n", title(&names)),
        caution(arms, on_purpose).map(|words| format!("> **{words}**\n")).unwrap_or_default(),
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
        format!("## What differs\n\n{}{}", varied_in_words(arms, on_purpose), what_differs(arms)),
    ];
    let sections: Vec<String> = sections.into_iter().filter(|section| !section.is_empty()).collect();
    sections.join("\n")
}

/// The arms by name; where they are too many for a title, how many.
fn title(names: &[&str]) -> String {
    if names.len() > 4 { format!("{} arms", names.len()) } else { names.join(" against ") }
}

/// What to say of runs that differ in more than one thing and in more than they were asked to (`on_purpose`; of runs that
/// were put together later, nothing).
#[must_use]
pub fn caution(arms: &[Arm], on_purpose: &[String]) -> Option<String> {
    let found = differences(arms.iter().map(|arm| arm.run));
    let subjects = subjects(&found);
    let is_meant = |subject: &&str| on_purpose.iter().any(|meant| meant == subject);
    let (meant, others): (Vec<&str>, Vec<&str>) = subjects.iter().copied().partition(is_meant);
    if subjects.len() < 2 || others.is_empty() {
        return None;
    }
    let things = if meant.is_empty() {
        format!("differ in {} things ({})", subjects.len(), subjects.join(", "))
    } else {
        format!("differ in {} and not only in what was varied ({})", others.join(", "), meant.join(", "))
    };
    Some(format!(
        "Caution: these runs {things}: what differs in the figures is not the effect of any one of them."
    ))
}

/// How to read arms that were asked to differ in several things.
fn varied_in_words(arms: &[Arm], on_purpose: &[String]) -> String {
    let found = differences(arms.iter().map(|arm| arm.run));
    if on_purpose.len() < 2 || subjects(&found).len() < 2 {
        return String::new();
    }
    format!(
        "Varied on purpose: {}. What one of them does is seen between arms that differ in it alone.\n\n",
        on_purpose.join(", ")
    )
}

fn uncapped(arms: &[Arm]) -> String {
    let names: Vec<&str> =
        arms.iter().filter(|arm| arm.run.is_uncapped()).map(|arm| arm.run.arm.as_str()).collect();
    if names.is_empty() {
        return String::new();
    }
    format!(
        "> **UNCAPPED: {}.** The disks had no limit there: the figures say nothing of a server whose reads are \
         capped.\n",
        names.join(", ")
    )
}

/// How a figure is read out of a summary, written, and set against another arm's.
struct Figure {
    name: &'static str,
    value: fn(&Summary) -> Option<f64>,
    words: fn(f64) -> String,
    ratio: Ratio,
}

/// When one arm's figure may be divided by the other's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ratio {
    /// Whenever the other is not 0.
    Plain,
    /// When both are long against the second they are measured in.
    OfTimes,
}

/// Below this a time measured by the second makes no ratio, seconds.
const LONG_S: f64 = 10.0;

impl Ratio {
    fn words(self, first: Option<f64>, second: Option<f64>) -> Option<String> {
        let (first, second) = (first?, second?);
        let meaningful = match self {
            Self::Plain => second > 0.0,
            Self::OfTimes => first.min(second) >= LONG_S,
        };
        meaningful.then(|| human::ratio(first / second))
    }
}

/// The figures below the hang's length, in the order of the table.
const FIGURES: [Figure; 12] = [
    Figure {
        name: "... reads by the faulted standby in it",
        value: |summary| whole(summary.hang_reads),
        words: whole_words,
        ratio: Ratio::Plain,
    },
    Figure {
        name: "... a second, mean",
        value: |summary| summary.hang_read_iops_mean,
        words: human::rate,
        ratio: Ratio::Plain,
    },
    Figure {
        name: "... a second, median",
        value: |summary| summary.hang_read_iops_median,
        words: human::rate,
        ratio: Ratio::Plain,
    },
    Figure {
        name: "... a second, peak",
        value: |summary| summary.hang_read_iops_peak,
        words: human::rate,
        ratio: Ratio::Plain,
    },
    Figure {
        name: "from the fault until it streamed again",
        value: |summary| summary.time_to_streaming_s,
        words: human::seconds,
        ratio: Ratio::OfTimes,
    },
    Figure {
        name: "WAL it had not replayed at the fault",
        value: |summary| whole(summary.lag_at_fault_bytes),
        words: human::bytes,
        ratio: Ratio::Plain,
    },
    Figure {
        name: "blocks it prefetched since the update began",
        value: |summary| whole(summary.prefetched_blocks),
        words: whole_words,
        ratio: Ratio::Plain,
    },
    Figure {
        name: "... reads by its startup process itself",
        value: |summary| whole(summary.startup_reads),
        words: whole_words,
        ratio: Ratio::Plain,
    },
    Figure {
        name: "update, until its commit was acknowledged",
        value: |summary| summary.update_s,
        words: human::seconds,
        ratio: Ratio::OfTimes,
    },
    Figure {
        name: "... WAL",
        value: |summary| whole(summary.update_wal_bytes),
        words: human::bytes,
        ratio: Ratio::Plain,
    },
    Figure {
        name: "... longest time without a commit from its start to the fault",
        value: |summary| summary.longest_gap_before_fault_s,
        words: human::seconds,
        ratio: Ratio::OfTimes,
    },
    Figure {
        name: "... amplification: reads by the standby for each by the primary",
        value: |summary| summary.amplification,
        words: human::ratio,
        ratio: Ratio::Plain,
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
    table.row(named("cap on reads", arms, |arm| or_none(arm.summary.read_iops_cap)));
    let hang = named("longest time without a commit after the fault", arms, |arm| hang_in_words(arm.summary));
    let hang_ratio = pair.and_then(|(first, second)| {
        Ratio::OfTimes.words(ended_hang_s(first.summary), ended_hang_s(second.summary))
    });
    table.row(hang.into_iter().chain(hang_ratio));
    for figure in &FIGURES {
        let cells = named(figure.name, arms, |arm| or_not_known((figure.value)(arm.summary), figure.words));
        let ratio = pair.and_then(|(first, second)| {
            figure.ratio.words((figure.value)(first.summary), (figure.value)(second.summary))
        });
        table.row(cells.into_iter().chain(ratio));
    }
    table.row(named("missed rows", arms, |arm| human::count(arm.summary.missed_ticks)));
    table.render()
}

fn named(name: &str, arms: &[Arm], cell: impl Fn(&Arm) -> String) -> Vec<String> {
    std::iter::once(name.to_owned()).chain(arms.iter().map(cell)).collect()
}

/// The length of a hang that was seen to end: a lower bound has no ratio.
fn ended_hang_s(summary: &Summary) -> Option<f64> {
    summary.hang_s.filter(|_| summary.hang_ended != Some(false))
}

fn what_differs(arms: &[Arm]) -> String {
    let differences = differences(arms.iter().map(|arm| arm.run));
    if differences.is_empty() {
        return "Nothing: the arms are repetitions of one run.\n".to_owned();
    }
    let mut table =
        Table::new(std::iter::once("where in run.json").chain(arms.iter().map(|arm| arm.run.arm.as_str())));
    for Difference { place, values, .. } in &differences {
        table.row(
            std::iter::once(format!("`{place}`")).chain(values.iter().map(|value| format!("`{value}`"))),
        );
    }
    format!("{}\n{}", table.render(), what_is_shared(arms, &differences))
}

/// The things a reader would ask after, of those that are the same.
fn what_is_shared(arms: &[Arm], differences: &[Difference]) -> String {
    let same = |places: &[&str]| {
        let mut differing = differences.iter().map(|difference| &difference.place);
        !differing.any(|differing| places.iter().any(|place| differing.starts_with(place)))
    };
    let Some(Arm { run, .. }) = arms.first() else {
        return String::new();
    };
    if run.observed().is_some() {
        return String::new();
    }
    let image = run.server.image.as_deref().unwrap_or(NOT_KNOWN);
    let asked: [(&[&str], String); 7] = [
        (&["server.version"], format!("PostgreSQL {}", run.server.version)),
        (&["server.image"], format!("image `{image}`")),
        (&["platform"], "the machine and its engine".to_owned()),
        (&["profile.workload"], "the load".to_owned()),
        (&["profile.update"], "the update".to_owned()),
        (&["profile.fault"], "the fault".to_owned()),
        (&["profile.primary", "profile.standby", "capped"], "the limits of the nodes".to_owned()),
    ];
    let shared: Vec<String> =
        asked.into_iter().filter(|(places, _)| same(places)).map(|(_, what)| what).collect();
    if shared.is_empty() {
        return String::new();
    }
    format!("The same in all: {}; and all else in `run.json`.\n", shared.join(", "))
}
