//! `stall-lab wait-for`: read-your-writes on an asynchronous standby, `WAIT FOR LSN` of PostgreSQL 19 against asking in
//! a loop.
//!
//! A primary and its standby are set up by the lab's own means, without caps. Four parts measure them ([`Part`]):
//! latency of one wait, throughput and CPU under load, wake-up of many waiters, and what the server refuses. Each part
//! writes its raw rows as files; summary, plots and page are made of those alone, so they can be made again.

mod all;
mod clients;
mod estimate;
mod judge;
mod latency;
mod load;
mod method;
mod pair;
mod refusals;
mod request;
mod server;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod wake;
mod window;

pub use all::{Order, Outcome, WaitForError, run};
pub use clients::Clients;
pub use estimate::Estimate;
pub use judge::judge;
pub use method::{Method, Mode, NotAMethod, Waited};
pub use pair::{Node, Pair, PairOrder, PairSite, Session, Usage};
pub use refusals::Expected;
pub use request::{OpenLoop, Part, Request};
pub use server::{Conclusions, Support};
