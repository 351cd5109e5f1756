//! SQL connections to servers, the lab's own and those of others: the only place that knows tokio-postgres.

mod access;
mod connection;
mod conninfo;
mod endpoint;
mod facts;
mod host;
mod primary;
mod probe;
mod relations;
mod server;
mod session;
mod source;
mod standby;
mod tls;
mod verifier;
mod writes;

pub use access::Access;
pub use connection::{Connection, PostgresError};
pub use conninfo::{ConninfoError, Environment, Origin, parameter};
pub use endpoint::Endpoint;
pub use facts::ServerFacts;
pub use primary::{PrimaryInquiry, Replica, ReplicationState};
pub use probe::{ProbeTable, Written};
pub use server::ConnectError;
pub use session::{Answer, CREATE_TABLE, Session, SqlError};
pub use source::{Inquiry, SqlSource};
pub use standby::StandbyInquiry;
pub use writes::OwnStatements;
