//! An assessment in words: a first line that monitoring reads, then what a person wants to know.

use std::fmt::Write as _;

use super::assessment::{Assessment, NotVisible, PrimaryAssessment, StandbyAssessment, Verdict};
use super::forecast::{BacklogFrom, Forecast, Pace, seconds_at};
use super::judge::COMMON_IOPS;
use super::remedy::Remedy;
use crate::human;

const NOT_KNOWN: &str = "not known";

/// The first line, as monitoring plugins write it: verdict, why, and after a `|` the figures.
#[must_use]
pub fn headline(assessment: &Assessment) -> String {
    let worst = assessment.standbys.iter().filter(|standby| standby.verdict == assessment.verdict);
    let worst: Vec<&StandbyAssessment> = worst.collect();
    let why = match worst.as_slice() {
        [] => match (&assessment.primary.rule, assessment.verdict) {
            (None, _) => "synchronous_standby_names is empty: no commit waits for a standby".to_owned(),
            (Some(_), Verdict::NotExposed) => "no commit waits for a standby".to_owned(),
            (Some(rule), _) => format!("commits wait for {rule}, and no standby is connected or was asked"),
        },
        [standby] => format!("{}: {}", standby.name, standby.why),
        [standby, others @ ..] => {
            format!("{}: {}; {} more like it", standby.name, standby.why, others.len())
        }
    };
    // What stands behind a bar is read as figures.
    let why = why.replace(['|', '\n'], " ");
    let figures: Vec<String> = assessment
        .standbys
        .iter()
        .flat_map(|standby| figures(standby, assessment.tolerated_hang_s))
        .collect();
    let figures = if figures.is_empty() { String::new() } else { format!(" | {}", figures.join(" ")) };
    format!("{} - {why}{figures}", verdict(assessment.verdict).to_uppercase())
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::NotExposed => "not exposed",
        Verdict::Unknown => "unknown",
        Verdict::Exposed => "exposed",
    }
}

/// `'label'=value[unit];warning`; what is not known is left out.
fn figures(standby: &StandbyAssessment, tolerated_s: f64) -> Vec<String> {
    let name: String = standby
        .name
        .chars()
        .map(|c| if c.is_alphanumeric() || "-._".contains(c) { c } else { '_' })
        .collect();
    let seconds = |what: &str, value: Option<f64>| {
        value.map(|value| format!("'{name}_{what}'={value:.1}s;{tolerated_s};;0"))
    };
    [
        standby.lag_bytes.map(|bytes| format!("'{name}_lag'={bytes}B;;;0")),
        seconds("hang_now", standby.predicted_hang_s),
        seconds("hang_worst", standby.worst_hang_s),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// All of it.
#[must_use]
pub fn in_words(assessment: &Assessment) -> String {
    let mut text = headline(assessment) + "\n";
    primary(&mut text, &assessment.primary);
    for standby in &assessment.standbys {
        self::standby(&mut text, standby, assessment.iops);
    }
    if !assessment.notes.is_empty() {
        text += "\nnotes\n";
        assessment.notes.iter().for_each(|note| item(&mut text, note));
    }
    text
}

/// Writing to a String does not fail.
fn line(text: &mut String, label: &str, value: &str) {
    let _ = writeln!(text, "  {label:<20}  {value}");
}

fn item(text: &mut String, what: &str) {
    let _ = writeln!(text, "  - {what}");
}

fn primary(text: &mut String, primary: &PrimaryAssessment) {
    let _ = writeln!(text, "\nprimary at {}, PostgreSQL {}", primary.place, primary.version);
    let streaming = primary.streaming_synchronous.map_or_else(
        || "who of them streams is not visible".to_owned(),
        |count| format!("streaming: {count}"),
    );
    let rule =
        primary.rule.as_ref().map_or_else(|| "nobody".to_owned(), |rule| format!("{rule}; {streaming}"));
    line(text, "commits wait for", &rule);
    line(text, "synchronous_commit", primary.synchronous_commit.as_deref().unwrap_or(NOT_KNOWN));
    line(text, "waiting commits", &known(primary.waiting_commits, human::count));
    line(text, "full_page_writes", on_off(primary.full_page_writes));
    let mut wal = known(primary.wal_bytes_per_s, |rate| format!("{}/s", human::bytes(rate)));
    if let Some(rate) = primary.page_images_per_s {
        let _ = write!(wal, ", page images {}", human::rate(rate));
    }
    if let Some(bytes) = primary.wal_bytes_per_page_image {
        let _ = write!(wal, "; {} of WAL for each since the statistics' reset", human::bytes(bytes));
    }
    line(text, "WAL", &wal);
    let size = |bytes: i64| if bytes < 0 { "no limit".to_owned() } else { human::bytes(bytes as f64) };
    let checkpoints = format!(
        "max_wal_size {}, checkpoint_timeout {}",
        known(primary.max_wal_size_bytes, size),
        known(primary.checkpoint_timeout_s, human::seconds)
    );
    line(text, "checkpoints", &checkpoints);
    let kept = format!(
        "{} by slots, max_slot_wal_keep_size {}",
        primary.slots_keep_bytes.map_or_else(|| "none".to_owned(), |bytes| human::bytes(bytes as f64)),
        known(primary.max_slot_wal_keep_size_bytes, size)
    );
    line(text, "WAL kept", &kept);
    not_visible(text, &primary.not_visible);
}

fn standby(text: &mut String, standby: &StandbyAssessment, iops: Option<u64>) {
    let place = standby.place.as_ref().filter(|place| **place != standby.name);
    let place = place.map_or_else(String::new, |place| format!(" at {place}"));
    let version =
        standby.version.as_ref().map_or_else(String::new, |version| format!(", PostgreSQL {version}"));
    let verdict = verdict(standby.verdict).to_uppercase();
    let _ = writeln!(text, "\nstandby {}{place}{version}: {verdict}", standby.name);
    let _ = writeln!(text, "  {}", standby.why);
    if standby.version.is_some() {
        line(text, "prefetching", &prefetching(standby));
        line(text, "replay", &replay(standby));
    }
    let mut forecast = |label: &str, forecast: &Option<Forecast>| {
        if let Some(forecast) = forecast {
            line(text, label, &forecast.formula);
        }
    };
    forecast("hang now", &standby.now);
    let worst = match standby.worst.as_ref().map(|worst| worst.bytes_from) {
        Some(BacklogFrom::Restart) => "hang after a restart",
        Some(BacklogFrom::MaxWalSize) => "hang at max_wal_size",
        Some(BacklogFrom::Now) | None => "hang at the worst",
    };
    forecast(worst, &standby.worst);
    if iops.is_none() {
        common_iops(text, standby);
    }
    not_visible(text, &standby.not_visible);
    if !standby.remedies.is_empty() {
        text.push_str("  what would help\n");
        for Remedy { action, price, .. } in &standby.remedies {
            let _ = writeln!(text, "  - {action}\n      price: {price}");
        }
    }
}

fn prefetching(standby: &StandbyAssessment) -> String {
    let does = match standby.prefetches {
        Some(true) => "yes",
        Some(false) => "no",
        None => NOT_KNOWN,
    };
    let Some(prefetch) = &standby.recovery_prefetch else {
        return format!("{does}: this version has no recovery_prefetch");
    };
    format!(
        "{does}: recovery_prefetch {prefetch}, maintenance_io_concurrency {}, wal_decode_buffer_size {}",
        known(standby.maintenance_io_concurrency, |number| number.to_string()),
        known(standby.wal_decode_buffer_bytes, |bytes| human::bytes(bytes as f64)),
    )
}

fn replay(standby: &StandbyAssessment) -> String {
    let mut replay = known(standby.lag_bytes, |bytes| format!("{} behind", human::bytes(bytes as f64)));
    if let Some(Pace { seconds, bytes_per_s, prefetches_per_s, .. }) = standby.pace {
        let over = human::seconds(seconds);
        let _ = write!(replay, "; {}/s over the last {over}", human::bytes(bytes_per_s));
        if let Some(rate) = prefetches_per_s {
            let _ = write!(replay, ", prefetches {}", human::rate(rate));
        }
    }
    if let Some(wait) = &standby.startup_wait {
        let _ = write!(replay, "; waits in {wait}");
    }
    if standby.streaming == Some(false) {
        replay += "; does not stream";
    }
    replay
}

/// How long reads take at the IOPS that disks commonly have.
fn common_iops(text: &mut String, standby: &StandbyAssessment) {
    let (Some(now), Some(worst)) = (standby.predicted_reads, standby.worst_reads) else { return };
    if worst == 0 {
        return;
    }
    let _ =
        writeln!(text, "  the disk's IOPS cannot be seen; --iops says them. By reads / IOPS, commits hang");
    let _ = writeln!(text, "  {:>10}  {:>14}  {:>14}", "IOPS", "now", "at the worst");
    for iops in COMMON_IOPS {
        let hang = |reads| known(seconds_at(reads, iops), human::seconds);
        let _ = writeln!(text, "  {:>10}  {:>14}  {:>14}", human::count(iops), hang(now), hang(worst));
    }
}

fn not_visible(text: &mut String, hidden: &[NotVisible]) {
    for NotVisible { what, why } in hidden {
        line(text, "not visible", &format!("{what}: {why}"));
    }
}

fn known<T>(value: Option<T>, words: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| NOT_KNOWN.to_owned(), words)
}

fn on_off(value: Option<bool>) -> &'static str {
    match value {
        Some(true) => "on",
        Some(false) => "off",
        None => NOT_KNOWN,
    }
}
