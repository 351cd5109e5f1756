//! A lab that reproduces, measures and explains the PostgreSQL standby replay stall.

pub mod docker;
pub mod experiment;
#[cfg(test)]
mod fake;
pub mod image;
pub mod measure;
pub mod profile;
pub mod progress;
pub mod store;
