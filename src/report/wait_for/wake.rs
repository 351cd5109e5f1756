//! The part of the page on waiters that wake together.

use super::ms;
use crate::report::markdown::Table;
use crate::store::WaitForSummary;

/// Waiters of the reference, and what it saw of them: milliseconds.
const REFERENCE: (u32, &str) = (15, "within 10 ms of each other, deviations of 0.5 and 3.3 ms");

pub(super) fn section(summary: &WaitForSummary) -> String {
    if summary.wake.is_empty() {
        return String::new();
    }
    let mut table = Table::new([
        "waiters",
        "rounds",
        "spread, median",
        "spread, worst",
        "standard deviation, median",
        "write to first return, median",
        "wait event",
    ]);
    for row in &summary.wake {
        table.row([
            row.waiters.to_string(),
            row.rounds.to_string(),
            format!("{} ms", ms(row.spread_ms)),
            format!("{} ms", ms(row.spread_max_ms)),
            format!("{} ms", ms(row.stddev_ms)),
            format!("{} ms", ms(row.first_ms)),
            format!("`{}`", row.wait_event),
        ]);
    }
    let (waiters, seen) = REFERENCE;
    let reference = if summary.conclusive {
        format!("The public write-up saw {waiters} waiters return {seen}.\n")
    } else {
        String::new()
    };
    format!(
        "## Wake-up\n\nSessions wait on the standby for one LSN to come; all are seen waiting before it is written. The spread \
         is from the first return to the last, as the client sees them: it has to read each answer.\n\n{}\n{reference}",
        table.render()
    )
}

pub(super) fn headline(summary: &WaitForSummary) -> Option<String> {
    let row = summary.wake.iter().find(|row| row.waiters == REFERENCE.0).or(summary.wake.first())?;
    Some(format!(
        "{} waiters on one LSN return within {} ms of each other (median of {} rounds; {} at worst), deviation {} ms; \
         meanwhile `pg_stat_activity` shows `{}`",
        row.waiters,
        ms(row.spread_ms),
        row.rounds,
        ms(row.spread_max_ms),
        ms(row.stddev_ms),
        row.wait_event
    ))
}
