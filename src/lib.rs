//! A lab that reproduces, measures and explains the PostgreSQL standby replay stall.

pub mod docker;
pub mod image;
pub mod plot;
pub mod profile;
pub mod store;
