//! Asking every source once a second, on one monotonic clock.
//!
//! A source that does not answer in time costs its own cells, never the row; a tick that could not be kept is
//! counted, never made up for.

mod clock;
mod load;
mod machine;
mod rates;
mod sampler;

pub use clock::Clock;
pub use load::{LoadFeed, LoadSource};
pub use machine::{MachineParseError, TOTALS as MACHINE_TOTALS, machine_cells};
pub use sampler::{Sampler, TICK};

use async_trait::async_trait;

use crate::store::{Cell, Column};

/// Something that is asked at every tick.
#[async_trait]
pub trait Source: Send {
    /// What it is, for messages: `SQL on standby`.
    fn name(&self) -> String;

    /// The columns it fills when it answers.
    fn columns(&self) -> Vec<Column>;

    /// One reading. It may take longer than a tick: then the ticks it misses have empty cells.
    ///
    /// # Errors
    /// When the source has no answer; the next tick asks again.
    async fn read(&mut self) -> anyhow::Result<Vec<(Column, Cell)>>;
}
