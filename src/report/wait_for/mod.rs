//! The page of a run of `wait-for`: what a person attaches to a post on a mailing list.

mod latency;
mod load;
mod reference;
mod refusals;
mod setup;
#[cfg(test)]
mod tests;
mod wake;

use crate::store::{LoadRatio, WaitForInfo, WaitForRows, WaitForSummary};
use crate::wait_for::{Conclusions, Estimate, Part};

/// The run's `README.md`.
#[must_use]
pub fn page(info: &WaitForInfo, rows: &WaitForRows, summary: &WaitForSummary) -> String {
    let sections = [
        format!("# {}\n", title(info)),
        cautions(info, summary),
        headline(info, summary),
        load::section(info, summary),
        latency::section(info, summary),
        wake::section(summary),
        refusals::section(info, rows, summary),
        format!("## Setup\n\n{}", setup::lines(info)),
        format!("## How to read it\n\n{}", setup::READING),
        format!("## Limitations\n\n{}", setup::limitations(info)),
        format!("## To repeat it\n\n```\n{}\n```\n", setup::command(info)),
    ];
    let sections: Vec<String> = sections.into_iter().filter(|section| !section.is_empty()).collect();
    sections.join("\n")
}

fn title(info: &WaitForInfo) -> String {
    let version = info.server.version.split_whitespace().next().unwrap_or_default();
    match Conclusions::of(&info.server.version) {
        Conclusions::PollingAlone => {
            format!("Polling a standby: PostgreSQL {version}, which has no WAIT FOR LSN")
        }
        Conclusions::Drawn | Conclusions::RefusedForPrerelease => {
            format!("WAIT FOR LSN against polling: PostgreSQL {version}")
        }
    }
}

/// What must be known before anything else is read.
fn cautions(info: &WaitForInfo, summary: &WaitForSummary) -> String {
    let mut cautions = Vec::new();
    if Conclusions::of(&info.server.version) == Conclusions::RefusedForPrerelease {
        cautions.push(
            "**NO CONCLUSIONS.** Versions before 19rc1 had a bug that loses wake-ups: what was measured is shown, and \
             nothing is concluded from it."
                .to_owned(),
        );
    }
    if info.debug_build {
        cautions.push(
            "**DEBUG BUILD.** The lab, which is the client, was built without optimisation: it takes CPU from the servers \
             that a release build would leave them."
                .to_owned(),
        );
    }
    let compared: Vec<_> = summary
        .load
        .iter()
        .filter(|window| window.shape == "closed" && window.workers == info.request.workers)
        .collect();
    let bound = compared.iter().filter(|window| window.client_bound == Some(true)).count();
    if bound > 0 {
        cautions.push(format!(
            "**CLIENT-BOUND.** In {bound} of the {} windows that are compared the client was what limited the figures. The \
             standby's CPU for each completion is still its own.",
            compared.len()
        ));
    }
    let missing: Vec<&str> = info
        .request
        .parts
        .iter()
        .map(|part: &Part| part.name())
        .filter(|name| info.finished.iter().all(|finished| finished != name))
        .collect();
    if !missing.is_empty() {
        cautions.push(format!("**NOT WHOLE.** These parts did not end: {}.", missing.join(", ")));
    }
    let differing = summary.refusals.iter().filter(|row| row.as_expected == Some(false)).count();
    if differing > 0 {
        cautions.push(format!(
            "**A FINDING.** {differing} answers are not what this version is expected to give: see the refusals."
        ));
    }
    cautions.iter().map(|caution| format!("> {caution}\n")).collect::<Vec<_>>().join(">\n")
}

/// What came out, in a few lines; for the terminal as well.
#[must_use]
pub fn headline(info: &WaitForInfo, summary: &WaitForSummary) -> String {
    let mut lines = Vec::new();
    if summary.conclusive
        && let Some(ratio) = compared(info, &summary.ratios, "closed")
    {
        lines.push(format!("**{}**", against_busy_poll(ratio)));
    }
    if let Some(line) = latency::headline(summary) {
        lines.push(line);
    }
    if let Some(line) = wake::headline(summary) {
        lines.push(line);
    }
    if let Some(line) = refusals::headline(summary) {
        lines.push(line);
    }
    if lines.is_empty() {
        lines.push("Nothing was measured.".to_owned());
    }
    lines.iter().map(|line| format!("- {line}\n")).collect()
}

/// The ratio of the load that is compared, not of the sweep.
fn compared<'a>(info: &WaitForInfo, ratios: &'a [LoadRatio], shape: &str) -> Option<&'a LoadRatio> {
    ratios.iter().find(|ratio| ratio.shape == shape && ratio.workers == info.request.workers)
}

fn against_busy_poll(ratio: &LoadRatio) -> String {
    let cpu = ratio.cpu_us_per_completion.map_or_else(String::new, |cpu| {
        format!(" and {cpu} times the standby's CPU for each ({})", which_way(cpu, "more CPU", "less CPU"))
    });
    format!(
        "WAIT FOR LSN against a busy poll with {} sessions: {} times the completions a second ({}){cpu}; {} rounds, 95 % \
         intervals",
        ratio.workers,
        ratio.completions_per_s,
        which_way(ratio.completions_per_s, "more", "fewer"),
        ratio.rounds
    )
}

/// Which way a ratio goes; no way when its interval holds 1.
fn which_way(ratio: Estimate, more: &'static str, less: &'static str) -> &'static str {
    match (ratio.is_clear_of(1.0), ratio.value > 1.0) {
        (false, _) => "no clear difference",
        (true, true) => more,
        (true, false) => less,
    }
}

/// A time in milliseconds, to the microsecond as far as it is one: `0.345`, `1.42`, `23.1`.
fn ms(value: f64) -> String {
    match value {
        ..0.9995 => format!("{value:.3}"),
        ..9.995 => format!("{value:.2}"),
        _ => format!("{value:.1}"),
    }
}

/// A method as the tables have it.
fn method(name: &str) -> String {
    match name {
        "poll" => "poll, 1 ms sleep".to_owned(),
        "busy-poll" => "busy poll".to_owned(),
        "wait-for" => "`WAIT FOR LSN`".to_owned(),
        "round-trip" => "empty query on the standby".to_owned(),
        other => match other.split_once(':') {
            Some(("poll", interval)) => format!("poll, {interval} sleep"),
            Some((_, mode)) => format!("`WAIT FOR LSN`, `{mode}`"),
            None => other.to_owned(),
        },
    }
}

/// The order of methods in a table: as a reader compares them.
fn rank(name: &str) -> (usize, &str) {
    const ORDER: [&str; 3] = ["poll", "busy-poll", "wait-for"];
    (ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len()), name)
}
