//! SQL connections to servers, the lab's own and those of others: the only place that knows tokio-postgres.

mod access;
mod connection;
mod conninfo;
mod endpoint;
mod primary;
mod relations;
mod server;
mod source;
mod standby;
mod tls;

pub use access::Access;
pub use connection::{Connection, PostgresError};
pub use conninfo::{ConninfoError, Environment, Origin};
pub use endpoint::Endpoint;
pub use primary::{PrimaryInquiry, ReplicationState};
pub use server::ConnectError;
pub use source::{Inquiry, SqlSource};
pub use standby::StandbyInquiry;
