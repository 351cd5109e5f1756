//! SQL connections to the nodes: the only place that knows tokio-postgres.

mod access;
mod connection;
mod primary;
mod relations;
mod session;
mod source;
mod standby;

pub use access::Access;
pub use connection::{Connection, PostgresError};
pub use primary::{PrimaryInquiry, ReplicationState};
pub use session::{Answer, CREATE_TABLE, Session, SqlError};
pub use source::{Inquiry, SqlSource};
pub use standby::StandbyInquiry;
