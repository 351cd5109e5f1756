//! The part of the page on load.

use std::collections::BTreeSet;

use super::reference;
use super::{compared, method, ms, rank, which_way};
use crate::human;
use crate::report::markdown::Table;
use crate::report::or_not_known;
use crate::store::{LoadRatio, LoadSummary, WaitForInfo, WaitForSummary};

/// From so much of one CPU on, what others used is said to have disturbed the run: percent.
const DISTURBED: f64 = 20.0;

pub(super) fn section(info: &WaitForInfo, summary: &WaitForSummary) -> String {
    if summary.load.is_empty() {
        return String::new();
    }
    let workers = info.request.workers;
    let parts = [
        "## Under load\n\n![Throughput and CPU against sessions](load.png)\n".to_owned(),
        format!(
            "Closed loop, {workers} sessions: each inserts on the primary, waits on the standby, and begins again. Medians of \
             {} rounds of {} s, the methods in random order in each.\n\n{}",
            info.request.load_repeat,
            info.request.seconds,
            table(&of_shape(info, summary, "closed"))
        ),
        ratios(info, summary, "closed"),
        beside_reference(info, summary),
        open_loop(info, summary),
        sweep(info, summary),
        client(summary),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Windows of the load that is compared.
fn of_shape<'a>(info: &WaitForInfo, summary: &'a WaitForSummary, shape: &str) -> Vec<&'a LoadSummary> {
    summary
        .load
        .iter()
        .filter(|window| window.shape == shape && window.workers == info.request.workers)
        .collect()
}

fn middle(windows: &[&LoadSummary], of: impl Fn(&LoadSummary) -> Option<f64>) -> Option<f64> {
    let mut values: Vec<f64> = windows.iter().filter_map(|window| of(window)).collect();
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.get(values.len().checked_sub(1)? / 2)?, values.get(values.len() / 2)?);
    Some((low + high) / 2.0)
}

/// One row for each method: medians of its windows.
fn table(windows: &[&LoadSummary]) -> String {
    let mut methods: Vec<&str> =
        windows.iter().map(|window| window.method.as_str()).collect::<BTreeSet<_>>().into_iter().collect();
    methods.sort_by_key(|method| rank(method));
    let mut table = Table::new([
        "method",
        "completions/s",
        "standby's CPU for each",
        "standby's CPU, mean",
        "busiest second",
        "queries/s to the standby",
        "insert to known, p50",
        "p99",
        "wait alone, p50",
        "p99",
        "CPU of primary / client / others",
        "machine busy",
        "client-bound",
    ]);
    for name in methods {
        let own: Vec<&LoadSummary> = windows.iter().copied().filter(|window| window.method == name).collect();
        let figure = |of: &dyn Fn(&LoadSummary) -> Option<f64>, words: &dyn Fn(f64) -> String| {
            or_not_known(middle(&own, of), words)
        };
        let percent = |value: f64| format!("{value:.0} %");
        let time = |value: f64| format!("{} ms", ms(value));
        let bound = own.iter().filter(|window| window.client_bound == Some(true)).count();
        table.row([
            method(name),
            figure(&|window| Some(window.completions_per_s), &whole),
            figure(&|window| window.cpu_us_per_completion, &|value| format!("{value:.0} us")),
            figure(&|window| window.cpu_mean_pct, &percent),
            figure(&|window| window.cpu_peak_pct, &percent),
            figure(&|window| Some(window.standby_queries_per_s), &whole),
            figure(&|window| window.p50_ms, &time),
            figure(&|window| window.p99_ms, &time),
            figure(&|window| window.wait_p50_ms, &time),
            figure(&|window| window.wait_p99_ms, &time),
            [
                figure(&|window| window.primary_cpu_pct, &percent),
                figure(&|window| window.client_cpu_pct, &percent),
                figure(&|window| window.other_cpu_pct, &percent),
            ]
            .join(" / "),
            figure(&|window| window.machine_busy_pct, &percent),
            format!("{bound} of {}", own.len()),
        ]);
    }
    table.render()
}

fn whole(value: f64) -> String {
    human::count(value.round() as u64)
}

fn ratios(info: &WaitForInfo, summary: &WaitForSummary, shape: &str) -> String {
    if !summary.conclusive {
        return String::new();
    }
    let Some(ratio) = compared(info, &summary.ratios, shape) else { return String::new() };
    let mut table = Table::new(["`WAIT FOR LSN` over busy poll", "ratio (95 %)", "which way"]);
    // Of an open loop they are given, not found.
    if shape == "closed" {
        table.row([
            "completions a second".to_owned(),
            ratio.completions_per_s.to_string(),
            which_way(ratio.completions_per_s, "more", "fewer").to_owned(),
        ]);
    }
    for (name, ratio) in
        [("standby's CPU for each", ratio.cpu_us_per_completion), ("standby's CPU, mean", ratio.cpu_mean)]
    {
        if let Some(ratio) = ratio {
            table.row([name.to_owned(), ratio.to_string(), which_way(ratio, "more", "less").to_owned()]);
        }
    }
    format!(
        "Of {} rounds, each ratio of two windows of one round; geometric mean and Student's interval:\n\n{}",
        ratio.rounds,
        table.render()
    )
}

/// Only with as many sessions as there.
fn beside_reference(info: &WaitForInfo, summary: &WaitForSummary) -> String {
    if !summary.conclusive || info.request.workers != reference::WORKERS {
        return String::new();
    }
    let windows = of_shape(info, summary, "closed");
    let mut table = Table::new([
        "method",
        "completions/s",
        "reference",
        "standby's CPU, mean",
        "reference",
        "peak",
        "reference",
        "CPU for each",
        "reference",
    ]);
    for known in &reference::LOAD {
        let own: Vec<&LoadSummary> =
            windows.iter().copied().filter(|window| window.method == known.method).collect();
        let percent = |value: f64| format!("{value:.0} %");
        table.row([
            method(known.method),
            or_not_known(middle(&own, |window| Some(window.completions_per_s)), whole),
            whole(known.completions_per_s),
            or_not_known(middle(&own, |window| window.cpu_mean_pct), percent),
            percent(known.cpu_mean_pct),
            or_not_known(middle(&own, |window| window.cpu_peak_pct), percent),
            percent(known.cpu_peak_pct),
            or_not_known(middle(&own, |window| window.cpu_us_per_completion), |value| {
                format!("{value:.0} us")
            }),
            format!("{:.0} us", known.cpu_us_per_completion()),
        ]);
    }
    let [busy_poll, wait_for] = &reference::LOAD;
    let ratio = |of: fn(&reference::Load) -> f64| of(wait_for) / of(busy_poll);
    format!(
        "Beside the public write-up (19 beta 4; ten workers, five seconds, twice; two or three samples of CPU a run, \
         \"directional\"), whose ratios are {:.2} of completions and {:.2} of CPU for each:\n\n{}",
        ratio(|load| load.completions_per_s),
        ratio(reference::Load::cpu_us_per_completion),
        table.render()
    )
}

fn open_loop(info: &WaitForInfo, summary: &WaitForSummary) -> String {
    let windows = of_shape(info, summary, "open");
    let Some(rate) = windows.first().and_then(|window| window.rate_per_s) else { return String::new() };
    let ratios = ratios(info, summary, "open");
    format!(
        "Open loop, {} inserts due a second whatever became of those before: the same work for all methods. Times are from \
         when an insert was due, so that waiting for a free session counts.\n\n{}{}{ratios}",
        whole(rate),
        table(&windows),
        if ratios.is_empty() { "" } else { "\n" }
    )
}

/// The ratios over the numbers of sessions, and where they cross.
fn sweep(info: &WaitForInfo, summary: &WaitForSummary) -> String {
    let ratios: Vec<&LoadRatio> = summary.ratios.iter().filter(|ratio| ratio.shape == "closed").collect();
    if !summary.conclusive || ratios.iter().all(|ratio| ratio.workers == info.request.workers) {
        return String::new();
    }
    let mut table =
        Table::new(["sessions", "rounds", "completions a second (95 %)", "standby's CPU for each (95 %)"]);
    for ratio in &ratios {
        table.row([
            ratio.workers.to_string(),
            ratio.rounds.to_string(),
            format!("{}, {}", ratio.completions_per_s, which_way(ratio.completions_per_s, "more", "fewer")),
            or_not_known(ratio.cpu_us_per_completion, |cpu| {
                format!("{cpu}, {}", which_way(cpu, "more", "less"))
            }),
        ]);
    }
    format!(
        "`WAIT FOR LSN` over busy poll by number of sessions (windows of {} s, but of {} s with {}):\n\n{}\n{}\n",
        info.request.sweep_seconds,
        info.request.seconds,
        info.request.workers,
        table.render(),
        crossover(&ratios)
    )
}

/// Where one method overtakes the other, by ratios whose intervals leave 1 out.
fn crossover(ratios: &[&LoadRatio]) -> String {
    let clear: Vec<(u32, bool)> = ratios
        .iter()
        .filter(|ratio| ratio.completions_per_s.is_clear_of(1.0))
        .map(|ratio| (ratio.workers, ratio.completions_per_s.value > 1.0))
        .collect();
    let crossing = clear.iter().zip(clear.iter().skip(1)).find(|(one, other)| one.1 != other.1);
    match (crossing, clear.first()) {
        (Some(((from, _), (to, wait_for_wins))), _) => {
            let winner = if *wait_for_wins { "`WAIT FOR LSN`" } else { "the busy poll" };
            format!("They cross between {from} and {to} sessions: from there on {winner} completes more.")
        }
        (None, Some((_, true))) => {
            "There is no crossover: wherever the difference is clear, `WAIT FOR LSN` completes more."
                .to_owned()
        }
        (None, Some((_, false))) => {
            "There is no crossover: wherever the difference is clear, the busy poll completes more."
                .to_owned()
        }
        (None, None) => "At no number of sessions is the difference in completions clear.".to_owned(),
    }
}

/// Was the client, or somebody else, what was measured.
fn client(summary: &WaitForSummary) -> String {
    let bound = summary.load.iter().filter(|window| window.client_bound == Some(true)).count();
    let all = summary.load.len();
    let windows: Vec<&LoadSummary> = summary.load.iter().collect();
    let mut text = match bound {
        0 => "In no window was the client what limited the figures.".to_owned(),
        _ => format!(
            "In {bound} of {all} windows the client was what limited the figures: its threads were full, or the machine was \
             and it took more of it than both servers."
        ),
    };
    if let Some(others) = middle(&windows, |window| window.other_cpu_pct)
        && others >= DISTURBED
    {
        text += &format!(
            " What was neither client nor server used {others:.0} % of a CPU (median of the windows); the kernel's own threads \
             for disk and network are in it, and so is whatever else ran."
        );
    }
    text + "\n"
}
