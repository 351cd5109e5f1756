//! The page of a sweep.

use std::collections::BTreeSet;

use crate::human;
use crate::sweep::{Design, PointResult, Record, Results, Status};

use super::markdown::Table;
use super::{NOT_KNOWN, or_not_known, plural};

/// By how much a median may differ from the prediction before the page says so.
const AGREE: f64 = 0.1;

/// The sweep's `README.md`.
#[must_use]
pub fn sweep(design: &Design, records: &[Record], results: &Results) -> String {
    let sections = [
        format!("# {}: {}\n", design.profile_name, title(design)),
        uncapped(design),
        state(design, records),
        "![Length of the hang against what is varied](sweep.png)\n".to_owned(),
        format!("## Points\n\n{}\n{}", points(results), reading(results)),
        disagreements(results),
        format!("## Runs\n\n{}", runs(design, records)),
        format!("## Setup\n\n{}", setup(design, records)),
    ];
    sections.into_iter().filter(|section| !section.is_empty()).collect::<Vec<_>>().join("\n")
}

fn title(design: &Design) -> String {
    let keys: Vec<&str> =
        design.axes.iter().filter(|axis| axis.values.len() > 1).map(|axis| axis.short()).collect();
    if keys.is_empty() { "one point".to_owned() } else { format!("hang against {}", keys.join(" and ")) }
}

fn uncapped(design: &Design) -> String {
    if design.capped {
        return String::new();
    }
    "> **UNCAPPED.** The disks had no limit: the figures say nothing of a server whose reads are capped.\n"
        .to_owned()
}

/// How far the sweep is.
fn state(design: &Design, records: &[Record]) -> String {
    let finished = records.iter().filter(|record| record.status == Status::Finished).count();
    let broken = records.len() - finished;
    let all = design.size() * design.repeat as usize;
    let axes: Vec<String> = design.axes.iter().map(|axis| format!("`{axis}`")).collect();
    let mut text = format!(
        "{}: {}, each {}: {finished} finished",
        axes.join(", "),
        plural(design.size(), "point"),
        plural(design.repeat as usize, "time"),
    );
    if broken > 0 {
        text += &format!(", {broken} broken (made again when the command is repeated; not in the figures)");
    }
    if finished < all {
        text += &format!(". **{} still to be made**: the same command goes on", all - finished);
    }
    format!("{text}.\n")
}

fn points(results: &Results) -> String {
    let keys = results.axes.iter().map(|axis| format!("`{}`", axis.key));
    let figures = [
        "runs",
        "stalled",
        "broken",
        "hang, median",
        "interval",
        "confidence",
        "predicted: reads / cap",
        "predicted",
        "median / predicted",
    ];
    let mut table = Table::new(keys.chain(figures.map(str::to_owned)));
    for point in &results.points {
        table.row(point.values.iter().cloned().chain(cells(point)));
    }
    table.render()
}

fn cells(point: &PointResult) -> [String; 9] {
    let interval = point.interval();
    [
        point.hangs_s.len().to_string(),
        point.stalled.to_string(),
        point.broken.to_string(),
        or_not_known(point.median_s(), |median| at_least(point, &human::seconds(median))),
        interval.map_or_else(
            || "none".to_owned(),
            |found| format!("{} to {}", human::seconds(found.low), human::seconds(found.high)),
        ),
        interval.map_or_else(|| "none".to_owned(), |found| human::percent(found.confidence)),
        match (point.predicted_reads, point.read_iops_cap) {
            (Some(reads), Some(cap)) => format!("{} / {cap}", human::count(reads.round() as u64)),
            _ => NOT_KNOWN.to_owned(),
        },
        or_not_known(point.predicted_s, human::seconds),
        point.to_prediction().map(human::ratio).unwrap_or_default(),
    ]
}

fn at_least(point: &PointResult, words: &str) -> String {
    if point.at_least { format!("at least {words}") } else { words.to_owned() }
}

fn reading(results: &Results) -> String {
    let fewest = results.points.iter().map(|point| point.hangs_s.len()).min().unwrap_or_default();
    let mut text = "The interval is that of the median by order statistics: it supposes nothing of how the lengths are \
                    distributed, only that the runs are independent and alike. Its confidence is the share of such \
                    intervals that hold the true median."
        .to_owned();
    if fewest < 6 {
        text += " With fewer than six runs no interval reaches 95 %: shown is the range of all runs, with the \
                 confidence that it has.";
    }
    text += " Predicted are the reads that the WAL of the backlog makes for (see `stall-lab explain`), divided by the \
             cap; the median over the point's runs.\n";
    text
}

/// Points whose median is not where it was predicted.
fn disagreements(results: &Results) -> String {
    let lines: String = results
        .points
        .iter()
        .filter_map(|point| point.to_prediction().map(|ratio| (point, ratio)))
        .filter(|(_, ratio)| (ratio - 1.0).abs() > AGREE)
        .map(|(point, ratio)| {
            format!("- {}: {} times the prediction\n", named(results, point), human::ratio(ratio))
        })
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    let what = "More than 10 % off the prediction; the pages of the runs, and `stall-lab explain`, say what was read";
    format!("{what}:\n\n{lines}")
}

fn named(results: &Results, point: &PointResult) -> String {
    let words: Vec<String> = results
        .axes
        .iter()
        .zip(&point.values)
        .map(|(axis, value)| format!("{}={value}", axis.short()))
        .collect();
    words.join(", ")
}

/// The most runs that the page lists: beyond, `sweep.csv` is easier to read.
const MOST_LISTED: usize = 60;

fn runs(design: &Design, records: &[Record]) -> String {
    if records.len() > MOST_LISTED {
        return format!("{} runs, in the order in which they ended, are in `sweep.csv`.\n", records.len());
    }
    let mut table = Table::new(["point", "repeat", "verdict", "hang", "folder"]);
    for record in records {
        let verdict = match (record.status, &record.problem) {
            (Status::Broken, Some(problem)) => format!("broken: {}", first_line(problem)),
            _ => record.verdict.map(|verdict| verdict.to_string()).unwrap_or_default(),
        };
        table.row([
            design.point_in_words(record.run.point),
            record.run.repeat.to_string(),
            verdict,
            or_not_known(record.hang_s, human::seconds),
            record.folder.as_ref().map(|folder| format!("`{folder}`")).unwrap_or_default(),
        ]);
    }
    format!("In the order in which they ended; all figures are in `sweep.csv`.\n\n{}", table.render())
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn setup(design: &Design, records: &[Record]) -> String {
    let servers: BTreeSet<&str> =
        records.iter().filter_map(|record| record.server_version.as_deref()).collect();
    let servers = Vec::from_iter(servers).join(", ");
    let lines = [
        format!("PostgreSQL {}", if servers.is_empty() { NOT_KNOWN } else { &servers }),
        format!("profile `{}`: {}", design.profile_name, design.profile.description),
        format!("order of the runs: each repeat runs all points, shuffled with the seed {}", design.seed),
        format!(
            "stall-lab {}{}, begun {}",
            design.lab_version,
            design.git_revision.as_ref().map(|revision| format!(" ({revision})")).unwrap_or_default(),
            design.started
        ),
    ];
    lines.iter().map(|line| format!("- {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Verdict;
    use crate::sweep::Run;
    use crate::sweep::testing::{design, finished};

    fn page(design: &Design, records: &[Record]) -> String {
        sweep(design, records, &Results::of(design, records))
    }

    #[test]
    fn the_page_of_a_sweep_that_is_not_yet_whole() {
        let design = design(&["standby.read_iops=100,200", "prefetch=try,off"], 3);
        let of = |point, hangs: [f64; 3], cap: u64, predicted: Option<f64>| {
            (1..).zip(hangs).map(move |(repeat, hang_s)| Record {
                read_iops_cap: Some(cap),
                predicted_reads: predicted.map(|seconds| (seconds * cap as f64) as u64),
                predicted_hang_s: predicted,
                folder: Some(format!("smoke/{point}-r{repeat}")),
                server_version: Some("18.6".to_owned()),
                ..finished(repeat, point, hang_s)
            })
        };
        let mut records: Vec<Record> = of(0, [176.0, 181.0, 178.0], 100, Some(177.0)).collect();
        records.extend(of(2, [70.0, 72.0, 71.0], 200, Some(88.0)));
        let quiet = of(1, [1.0, 0.0, 1.0], 100, Some(0.2));
        records.extend(quiet.map(|record| Record { verdict: Some(Verdict::NoStall), ..record }));
        records.push(Record::broken(Run { repeat: 1, point: 3 }, None, "no room".to_owned()));
        insta::assert_snapshot!(page(&design, &records));
    }

    #[test]
    fn a_long_sweep_leaves_its_runs_to_the_file() {
        let design = design(&["standby.read_iops=100"], 100);
        let records: Vec<Record> = (1..=100).map(|repeat| finished(repeat, 0, f64::from(repeat))).collect();
        let page = page(&design, &records);
        assert!(page.contains("100 runs, in the order in which they ended, are in `sweep.csv`."), "{page}");
        assert!(page.contains("| 40 s to 61 s | 96 % ") && !page.contains("fewer than six"), "{page}");
    }
}
