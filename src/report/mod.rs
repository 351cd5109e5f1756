//! What a run showed, in words: for the terminal, for a bug report, for a comparison of arms.
//!
//! Pure functions of the files of a run to text.

mod attribution;
mod comparison;
mod comparison_csv;
mod differences;
mod headline;
mod markdown;
pub(crate) mod observed;
mod page;
mod reading;
mod setup;
mod sweep;
#[cfg(test)]
mod tests;
pub mod wait_for;

pub use attribution::{attribution, prediction};
pub use comparison::{Arm, caution, comparison};
pub use comparison_csv::comparison_csv;
pub use differences::{SERVER, varied};
pub use headline::headline;
pub(crate) use markdown::Table;
pub use page::page;
pub(crate) use reading::{limitations, reading};
pub use sweep::sweep;

use crate::profile::FaultKind;
use crate::store::{RunInfo, Summary};

/// Stands for a figure that is missing.
const NOT_KNOWN: &str = "not known";

/// A figure in words, or that it is not known.
pub(crate) fn or_not_known<T>(figure: Option<T>, words: impl FnOnce(T) -> String) -> String {
    figure.map_or_else(|| NOT_KNOWN.to_owned(), words)
}

/// A cap on operations, or that there is none.
pub(crate) fn or_none(cap: Option<u64>) -> String {
    cap.map_or_else(|| "none".to_owned(), |cap| format!("{cap}/s"))
}

/// A number of things: `1 transaction`, `20 transactions`.
fn plural(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// What the fault did, as the end of a sentence.
fn after_the_fault(run: &RunInfo) -> &'static str {
    match run.fault_kind() {
        None => "while the servers were watched",
        Some(FaultKind::KillWalreceiver) => "after the walreceiver was killed",
        Some(FaultKind::KillWalsender) => "after the walsender was killed",
        Some(FaultKind::RestartStandby) => "after the standby was shut down for a restart",
        Some(FaultKind::CrashStandby) => "after the standby crashed",
        Some(FaultKind::CutNetwork) => "after the network to the standby was cut",
    }
}

/// The standby that the figures are of.
pub(crate) fn faulted<'a>(run: &'a RunInfo, summary: &'a Summary) -> &'a str {
    summary.standby.as_deref().unwrap_or_else(|| run.faulted())
}

/// The length of the hang; a lower bound is called one.
pub(crate) fn hang_in_words(summary: &Summary) -> String {
    or_not_known(summary.hang_s, |hang_s| {
        let length = crate::human::seconds(hang_s);
        if summary.hang_ended == Some(false) { format!("at least {length}") } else { length }
    })
}
