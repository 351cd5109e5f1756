//! The part of the page on what the server refuses.

use std::collections::BTreeMap;

use crate::report::markdown::Table;
use crate::store::{Refusal, RefusalSummary, WaitForInfo, WaitForRows, WaitForSummary};
use crate::wait_for::Expected;

pub(super) fn section(info: &WaitForInfo, rows: &WaitForRows, summary: &WaitForSummary) -> String {
    if rows.refusals.is_empty() {
        return String::new();
    }
    let parts = [
        "## What it refuses and returns\n\nSQLSTATE of the error, or the row that is returned. `refusals.csv` has each \
         statement, message, detail and hint.\n"
            .to_owned(),
        table(summary),
        differences(info, summary),
        without_end(&rows.refusals),
        messages(&rows.refusals),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

pub(super) fn headline(summary: &WaitForSummary) -> Option<String> {
    let all = summary.refusals.len();
    let differing = summary.refusals.iter().filter(|row| row.as_expected == Some(false)).count();
    let unknown = summary.refusals.iter().filter(|row| row.as_expected.is_none()).count();
    let words = match (differing, unknown) {
        (0, 0) => "all as this version is expected to answer".to_owned(),
        (_, unknown) if unknown == all => "nothing is stored to expect of this version".to_owned(),
        (differing, 0) => format!("{differing} not as expected"),
        (differing, unknown) => format!("{differing} not as expected, {unknown} with no expectation"),
    };
    (all > 0).then(|| format!("Refusals: {all} answers, {words}"))
}

/// An answer in a cell.
fn answer(row: &RefusalSummary) -> String {
    let answer = match (row.sqlstate.as_str(), row.status.as_str()) {
        ("", "") => "no row".to_owned(),
        ("", status) => status.to_owned(),
        (sqlstate, _) => format!("`{sqlstate}`"),
    };
    if row.as_expected == Some(false) { format!("**{answer} (not expected)**") } else { answer }
}

/// A case a row, in the order in which cases were run.
fn table(summary: &WaitForSummary) -> String {
    let mut cases: Vec<&str> = Vec::new();
    let mut answers: BTreeMap<(&str, &str, bool), String> = BTreeMap::new();
    for row in &summary.refusals {
        if !cases.contains(&row.case.as_str()) {
            cases.push(&row.case);
        }
        answers.insert((&row.case, &row.role, row.no_throw), answer(row));
    }
    let mut table = Table::new(["case", "primary", "... NO_THROW", "standby", "... NO_THROW"]);
    for case in cases {
        // A promoted standby is a primary: it has the cases of a name of its own.
        let cell = |role: &str, no_throw| {
            let promoted = if role == "primary" { answers.get(&(case, "promoted", no_throw)) } else { None };
            answers.get(&(case, role, no_throw)).or(promoted).cloned().unwrap_or_default()
        };
        table.row([
            case.to_owned(),
            cell("primary", false),
            cell("primary", true),
            cell("standby", false),
            cell("standby", true),
        ]);
    }
    table.render()
}

/// Where the answers are not what is stored.
fn differences(info: &WaitForInfo, summary: &WaitForSummary) -> String {
    let expected = Expected::of(info.server.version_num);
    let lines = summary.refusals.iter().filter(|row| row.as_expected == Some(false)).map(|row| {
        let wanted = expected.answer(&row.case, &row.role, row.no_throw).unwrap_or_default();
        let no_throw = if row.no_throw { " with NO_THROW" } else { "" };
        let words = |sqlstate: &str, status: &str| {
            if sqlstate.is_empty() { status.to_owned() } else { sqlstate.to_owned() }
        };
        format!(
            "- {} on the {}{no_throw}: expected `{}`, got `{}`\n",
            row.case,
            row.role,
            words(wanted.0, wanted.1),
            words(&row.sqlstate, &row.status)
        )
    });
    let lines: String = lines.collect();
    match (lines.is_empty(), summary.refusals.iter().any(|row| row.as_expected.is_some())) {
        (false, _) => format!("Not as expected of this version:\n\n{lines}"),
        (true, true) => "All as expected of this version.\n".to_owned(),
        (true, false) => {
            "What this version should answer is not stored, so nothing is compared.\n".to_owned()
        }
    }
}

/// What waited until somebody ended it.
fn without_end(rows: &[Refusal]) -> String {
    let held = |case: &str| {
        let waited = rows.iter().filter(|row| row.case == case).filter_map(|row| row.waited_ms).min();
        let words = if case == "no-timeout" { "Without a `TIMEOUT`" } else { "With `TIMEOUT 0`" };
        waited.map(|waited_ms| {
            format!(
                "- {words} it waits without end: it still did when it was cancelled, after {:.1} s at least, on both roles and \
                 with or without `NO_THROW`.\n",
                waited_ms as f64 / 1e3
            )
        })
    };
    let mut events: BTreeMap<&str, &str> = BTreeMap::new();
    for row in rows.iter().filter(|row| !row.wait_event.is_empty()) {
        events.insert(&row.role, &row.wait_event);
    }
    let events = events.iter().map(|(role, event)| {
        format!("- While it waits on the {role}, `pg_stat_activity` shows `{event}`.\n")
    });
    ["no-timeout", "timeout-zero"].into_iter().filter_map(held).chain(events).collect()
}

/// Each message once, with the cases that have it.
fn messages(rows: &[Refusal]) -> String {
    let mut messages: Vec<(&Refusal, Vec<&str>)> = Vec::new();
    for row in rows.iter().filter(|row| !row.message.is_empty()) {
        let general = |message: &str| message.split(';').next().unwrap_or_default().to_owned();
        let same = messages.iter_mut().find(|(first, _)| {
            (&first.sqlstate, general(&first.message)) == (&row.sqlstate, general(&row.message))
        });
        match same {
            Some((_, cases)) if cases.contains(&row.case.as_str()) => {}
            Some((_, cases)) => cases.push(&row.case),
            None => messages.push((row, vec![&row.case])),
        }
    }
    let mut table = Table::new(["SQLSTATE", "message", "detail or hint", "cases"]);
    for (row, cases) in &messages {
        let more: Vec<&str> =
            [row.detail.as_str(), row.hint.as_str()].into_iter().filter(|text| !text.is_empty()).collect();
        table.row([format!("`{}`", row.sqlstate), row.message.clone(), more.join(" "), cases.join(", ")]);
    }
    if table.is_empty() { String::new() } else { format!("What it says:\n\n{}", table.render()) }
}
