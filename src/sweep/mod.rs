//! `stall-lab sweep`: one experiment at many points, each several times.
//!
//! A [`Design`] says what is varied, a [`Record`] what came of a run, [`Results`] what all runs come to; they know
//! nothing of files or servers. A [`SweepFolder`] keeps them, and [`sweep`] carries a design out on any site.

mod axis;
mod design;
mod folder;
mod points;
mod record;
mod results;
mod run;
mod statistics;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use axis::{Axis, NotAnAxis, POSTGRES, PREFETCH};
pub use design::{Design, Run};
pub use folder::{SweepFolder, SweepFolderError};
pub use points::{PointError, arms};
pub use record::{NotARecord, Record, Status};
pub use results::{PointResult, Results};
pub use run::{Outcome, Request, SweepError, sweep};
pub use statistics::{Interval, median, median_interval};
