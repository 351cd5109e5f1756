//! The part of the page on single waits.

use super::reference;
use super::{method, ms, rank};
use crate::human;
use crate::report::markdown::Table;
use crate::report::or_not_known;
use crate::store::{LatencySummary, WaitForInfo, WaitForSummary};
use crate::wait_for::Conclusions;

pub(super) fn section(info: &WaitForInfo, summary: &WaitForSummary) -> String {
    let whole = whole(summary);
    if whole.is_empty() {
        return String::new();
    }
    let parts = [
        format!(
            "## One wait\n\n![Distributions of the waits](latency.png)\n\nInsert on the primary, take its LSN, wait: {} rounds \
             of {} trials of each method, one at a time and in random order. Times are from when the client knew the LSN; \
             \"from the commit\" also holds the question for it.\n",
            info.request.latency_repeat, info.request.trials
        ),
        table(&whole),
        sleep(&whole),
        beside_reference(info, &whole),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

pub(super) fn headline(summary: &WaitForSummary) -> Option<String> {
    let whole = whole(summary);
    let words: Vec<String> = whole
        .iter()
        .filter(|row| ["poll", "busy-poll", "wait-for"].contains(&row.method.as_str()))
        .map(|row| format!("{} {} ms (mean {})", method(&row.method), ms(row.median_ms), ms(row.mean_ms)))
        .collect();
    let round_trip = summary.empty_round_trip_ms.map_or_else(String::new, |round_trip| {
        format!("; an empty query takes {} ms of each", ms(round_trip))
    });
    (!words.is_empty()).then(|| format!("One wait, median: {}{round_trip}", words.join(", ")))
}

/// Rows of all rounds together.
fn whole(summary: &WaitForSummary) -> Vec<&LatencySummary> {
    let mut rows: Vec<&LatencySummary> = summary.latency.iter().filter(|row| row.repeat.is_none()).collect();
    rows.sort_by_key(|row| rank(&row.method));
    rows
}

fn table(rows: &[&LatencySummary]) -> String {
    let mut table = Table::new([
        "ms",
        "min",
        "median (95 %)",
        "mean (95 %)",
        "p95",
        "p99",
        "max",
        "from the commit, median",
        "questions",
        "empty query's share of the median",
    ]);
    let interval = |interval: Option<[f64; 2]>| {
        interval.map_or_else(String::new, |[low, high]| format!(" ({} to {})", ms(low), ms(high)))
    };
    for row in rows {
        table.row([
            method(&row.method),
            ms(row.min_ms),
            format!("{}{}", ms(row.median_ms), interval(row.median_interval_ms)),
            format!("{}{}", ms(row.mean_ms), interval(row.mean_interval_ms)),
            ms(row.p95_ms),
            ms(row.p99_ms),
            ms(row.max_ms),
            row.from_commit_median_ms.map_or_else(String::new, ms),
            format!("{:.1}", row.queries_mean),
            or_not_known(row.round_trip_share, human::percent),
        ]);
    }
    table.render()
}

/// What of a sleeping poll's time is its sleep.
fn sleep(rows: &[&LatencySummary]) -> String {
    let busy = rows.iter().find(|row| row.method == "busy-poll");
    let words = rows.iter().filter(|row| row.slept_mean_ms > 0.0).map(|row| {
        let awake = row.mean_ms - row.slept_mean_ms;
        let beside = busy.map_or_else(String::new, |busy| {
            format!(", beside a mean of {} ms of the busy poll", ms(busy.mean_ms))
        });
        // The questions after the first each follow a sleep.
        let each = row.slept_mean_ms / (row.queries_mean - 1.0);
        format!(
            "Of the mean of {} ms of a {}, {} ms ({}) were slept, {} ms at a time by the client's clock. Without its sleep it would be {} ms{beside}: \
             what is won over it is the sleep.\n",
            ms(row.mean_ms),
            method(&row.method),
            ms(row.slept_mean_ms),
            human::percent(row.slept_mean_ms / row.mean_ms),
            ms(each),
            ms(awake),
        )
    });
    words.collect()
}

fn beside_reference(info: &WaitForInfo, rows: &[&LatencySummary]) -> String {
    let known: Vec<(&LatencySummary, &reference::Latency)> = rows
        .iter()
        .filter_map(|row| Some((*row, reference::LATENCY.iter().find(|known| known.method == row.method)?)))
        .collect();
    if known.is_empty() || Conclusions::of(&info.server.version) != Conclusions::Drawn {
        return String::new();
    }
    let mut table = Table::new(["ms", "median", "reference", "mean", "reference", "max", "reference"]);
    for (row, known) in known {
        table.row([
            method(&row.method),
            ms(row.median_ms),
            known.median.to_owned(),
            ms(row.mean_ms),
            known.mean.to_owned(),
            ms(row.max_ms),
            known.max.to_owned(),
        ]);
    }
    format!(
        "Beside a public write-up of autumn 2026 (19 beta 4, 20 trials a method on another machine; a maximum grows with \
         the number of trials, here {} of each method; when its clock starts and how long its empty query took is not known):\n\n{}",
        rows.iter().map(|row| row.trials).max().unwrap_or_default(),
        table.render()
    )
}
