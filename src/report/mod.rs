//! What a run showed, in words: for the terminal, for a bug report, for a comparison of arms.
//!
//! Pure functions of the files of a run to text.

mod attribution;
mod comparison;
mod comparison_csv;
mod differences;
mod headline;
mod markdown;
mod page;
mod reading;
mod setup;
#[cfg(test)]
mod tests;
pub mod wait_for;

pub use attribution::{attribution, prediction};
pub use comparison::{Arm, caution, comparison};
pub use comparison_csv::comparison_csv;
pub use headline::headline;
pub use page::page;

use crate::profile::FaultKind;
use crate::store::Summary;

/// Stands for a figure that is missing.
const NOT_KNOWN: &str = "not known";

/// A figure in words, or that it is not known.
fn or_not_known<T>(figure: Option<T>, words: impl FnOnce(T) -> String) -> String {
    figure.map_or_else(|| NOT_KNOWN.to_owned(), words)
}

/// A cap on operations, or that there is none.
fn or_none(cap: Option<u64>) -> String {
    cap.map_or_else(|| "none".to_owned(), |cap| format!("{cap}/s"))
}

/// A number of things: `1 transaction`, `20 transactions`.
fn plural(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// What the fault did, as the end of a sentence.
fn after_the_fault(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::KillWalreceiver => "after the walreceiver was killed",
        FaultKind::KillWalsender => "after the walsender was killed",
        FaultKind::RestartStandby => "after the standby was shut down for a restart",
        FaultKind::CrashStandby => "after the standby crashed",
        FaultKind::CutNetwork => "after the network to the standby was cut",
    }
}

/// The length of the hang; a lower bound is called one.
fn hang_in_words(summary: &Summary) -> String {
    or_not_known(summary.hang_s, |hang_s| {
        let length = crate::human::seconds(hang_s);
        if summary.hang_ended == Some(false) { format!("at least {length}") } else { length }
    })
}
