//! A lab that reproduces, measures and explains the PostgreSQL standby replay stall.

pub mod docker;
pub(crate) mod human;
pub mod image;
pub mod profile;
pub mod report;
pub mod store;
pub mod verdict;
