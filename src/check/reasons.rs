//! Why a standby is exposed or is not, in a sentence.

use super::assessment::StandbyAssessment;
use super::forecast::{BacklogFrom, HangFrom};
use super::judge::COMMON_IOPS;
use crate::human;

/// That it takes too long even now.
pub(super) fn long_now(found: &StandbyAssessment) -> String {
    let Some(now) = &found.now else { return String::new() };
    match (now.hang_from, now.hang_s) {
        (Some(HangFrom::ApplyDelay), Some(seconds)) => format!(
            "recovery_min_apply_delay holds its replay, and so its return, up for {}",
            human::seconds(seconds)
        ),
        (_, Some(seconds)) => format!(
            "{} wait to be replayed: if its walreceiver dies now, commits hang {}",
            human::bytes(now.bytes as f64),
            human::seconds(seconds)
        ),
        (_, None) => format!(
            "{} wait to be replayed; how long commits would hang depends on its disk's IOPS",
            human::bytes(now.bytes as f64)
        ),
    }
}

/// That it takes too long at the worst.
pub(super) fn long_at_worst(found: &StandbyAssessment) -> String {
    let Some(worst) = &found.worst else { return String::new() };
    let backlog = human::bytes(worst.bytes as f64);
    let backlog = match worst.bytes_from {
        BacklogFrom::Now => format!("the {backlog} that wait to be replayed"),
        BacklogFrom::Restart => format!("the {backlog} that it replays after a restart"),
        BacklogFrom::MaxWalSize => format!("a backlog of max_wal_size, {backlog},"),
    };
    let hang =
        worst.hang_s.map_or_else(|| "for a time that depends on its disk's IOPS".to_owned(), human::seconds);
    let why = if found.prefetches == Some(true) { "replay prefetches; " } else { "" };
    format!("{why}with {backlog} commits would hang {hang}")
}

/// That it never takes long.
pub(super) fn short(found: &StandbyAssessment, tolerated_s: f64) -> String {
    let worst = found.worst.as_ref().and_then(|worst| worst.hang_s);
    match worst {
        Some(seconds) => {
            format!("even the worst credible backlog is replayed within {}", human::seconds(seconds))
        }
        None => format!(
            "even the worst credible backlog is replayed within {} at {} IOPS",
            human::seconds(tolerated_s),
            human::count(COMMON_IOPS[0])
        ),
    }
}

/// What would have to be known.
pub(super) fn not_known(found: &StandbyAssessment, tolerated_s: f64) -> String {
    let tolerated = human::seconds(tolerated_s);
    let stands_still = found.pace.is_some_and(|pace| pace.behind && pace.bytes_per_s <= 0.0);
    match found.lag_bytes {
        Some(bytes) if stands_still => {
            let wait =
                found.startup_wait.as_ref().map_or_else(String::new, |wait| format!(", it waits in {wait}"));
            let backlog = human::bytes(bytes as f64);
            format!(
                "{backlog} wait to be replayed and replay does not go on{wait}: how long it takes is not known"
            )
        }
        Some(bytes) => format!(
            "{} wait to be replayed; whether that takes more than {tolerated} is not known",
            human::bytes(bytes as f64)
        ),
        None => format!(
            "what is left to replay is not visible, so whether it takes more than {tolerated} is not known"
        ),
    }
}
