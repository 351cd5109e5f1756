//! Why replay took as long as it did, and how long it would take elsewhere: from the files of a run, or from WAL
//! alone.
//!
//! A standby behind a cap on reads replays as fast as it may read, so the time is the number of reads divided by the
//! cap. Which reads there are is in the [`WalAccount`](crate::store::WalAccount); here they are put together for a
//! machine and set beside what was measured.

mod cost;
mod explanation;
mod measured;
mod prediction;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use cost::{Cost, Machine};
pub use explanation::{Explanation, Part};
pub use measured::{Counters, Measured};
pub use prediction::{NotComparable, Prediction};
