//! The real lab: a primary and its standbys in containers, each on a capped disk of its own.

mod cap;
mod config;
mod fault;
mod lab;
mod lease;
mod load;
mod logs;
mod machine;
mod node;
mod pair;
mod raise;
mod servers;
mod site;
mod teardown;
mod version;
mod wal;

pub use cap::CapError;
pub use lease::Lease;
pub use node::Node;
pub use pair::DockerPairSite;
pub use raise::{Cluster, Order, RaiseError};
pub use site::DockerSite;
pub use teardown::{Removal, Scope, tear_down};
