//! SQL connections to the nodes: the only place that knows tokio-postgres.

mod connection;
mod primary;
mod relations;
mod standby;

pub use connection::{Access, Connection, PostgresError};
pub use primary::{PrimarySource, ReplicationState};
pub use standby::StandbySource;
