//! Would this cluster stall: a look at servers that the lab did not build, read-only and in seconds.
//!
//! [`gather`] asks the servers and notes what they do not let be seen; [`judge()`] makes verdicts, forecasts and remedies
//! of that and is a pure function; [`in_words`] puts them into words.

mod assessment;
mod commits;
mod describe;
mod facts;
mod forecast;
mod gather;
mod judge;
mod questions;
mod reasons;
mod remedy;
mod rule;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod words;

pub use assessment::{Assessment, Commits, NotVisible, PrimaryAssessment, StandbyAssessment, Verdict};
pub use facts::{Asked, Facts, Identity, Primary, ReplaySample, Seen, Slot, Standby, WalSample, Walsender};
pub use forecast::{BacklogFrom, DensityFrom, Forecast, HangFrom, Pace};
pub use gather::{GatherError, STATEMENT_TIMEOUT, gather};
pub use judge::{COMMON_IOPS, Terms, judge};
pub use remedy::{Remedy, RemedyId};
pub use words::{headline, in_words};
