//! What a user says about a server, libpq's way: connection strings, `PG*` variables, services, password files.
//!
//! One deviation: what libpq knows and would have no effect here is refused by name, never ignored.

mod environment;
mod error;
mod keyword;
mod parameters;
pub(super) mod passfile;
mod service;
mod text;

pub use environment::Environment;
pub use error::{ConninfoError, Origin};
pub(super) use parameters::Parameters;

/// A parameter of a connection string, by itself; none where it is not in it, or where it is no connection string.
#[must_use]
pub fn parameter(conninfo: &str, name: &str) -> Option<String> {
    text::parse(conninfo).ok()?.get(name).map(str::to_owned)
}

#[cfg(test)]
mod tests;
