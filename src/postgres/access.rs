//! Where a node's server listens, and who may come in.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

/// Where a node's server listens and who may come in. The password is shown nowhere.
///
/// Copies share the port: when a container is started again its published port may be another one, and whoever
/// connects from then on finds it.
#[derive(Clone)]
pub struct Access {
    node: String,
    port: Arc<AtomicU16>,
    password: String,
}

impl Access {
    /// The server of this node at this port of 127.0.0.1, for the role `postgres` with this password.
    #[must_use]
    pub fn new(node: &str, port: u16, password: &str) -> Self {
        Self { node: node.to_owned(), port: Arc::new(AtomicU16::new(port)), password: password.to_owned() }
    }

    /// Name of the node, for messages.
    #[must_use]
    pub fn node(&self) -> &str {
        &self.node
    }

    /// The port on 127.0.0.1, as it is now.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.load(Ordering::Relaxed)
    }

    /// The server now listens at this port, for every copy.
    pub fn moved_to(&self, port: u16) {
        self.port.store(port, Ordering::Relaxed);
    }

    pub(super) fn password(&self) -> &str {
        &self.password
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("node", &self.node).field("port", &self.port()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_is_in_no_debug_output() {
        let access = Access::new("primary", 5432, "hunter2");
        assert!(!format!("{access:?}").contains("hunter2"));
    }

    #[test]
    fn a_server_that_moved_has_moved_for_every_copy() {
        let access = Access::new("standby", 32_768, "");
        let copy = access.clone();
        access.moved_to(32_769);
        assert_eq!(copy.port(), 32_769);
    }
}
