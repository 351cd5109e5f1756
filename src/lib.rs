//! A lab that reproduces, measures and explains the PostgreSQL standby replay stall.

pub mod analysis;
pub mod bundle;
pub mod check;
pub mod cli;
pub mod cluster;
pub mod disk;
pub mod docker;
#[cfg(test)]
mod endurance;
pub mod experiment;
pub mod explain;
#[cfg(test)]
mod fake;
#[cfg(test)]
mod fuzz;
pub(crate) mod human;
pub mod image;
pub mod measure;
pub mod observe;
pub mod plan;
pub mod plot;
pub mod postgres;
pub mod profile;
pub mod progress;
pub mod report;
pub mod repro;
pub mod store;
pub mod sweep;
pub mod verdict;
pub mod wait_for;
pub mod wal;
pub mod waldump;
