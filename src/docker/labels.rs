//! The labels that every object of the lab carries, and the selectors that find those objects again.
//!
//! `clean` works from these labels alone: whatever has no such label was not made by the lab.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// Label with the id of the run an object belongs to, or [`CACHE`] or [`IMAGE`] for what outlives a run.
pub const RUN: &str = "org.stall-lab.run";
/// Label with the [`Kind`] of the object.
pub const KIND: &str = "org.stall-lab.kind";
/// Value of [`RUN`] for loaded databases that are kept for later runs.
pub const CACHE: &str = "cache";
/// Value of [`RUN`] for server images and what is needed to build them.
pub const IMAGE: &str = "image";

/// What an object of the lab is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A container that runs a PostgreSQL server.
    Node,
    /// A container that lives for one command.
    Helper,
    /// A volume that mounts a node's disk.
    Disk,
    /// A volume that holds image files.
    Images,
    /// A network.
    Network,
    /// An image with PostgreSQL and the tools the lab needs.
    ServerImage,
}

impl Kind {
    /// Every kind there is.
    pub const ALL: [Kind; 6] =
        [Kind::Node, Kind::Helper, Kind::Disk, Kind::Images, Kind::Network, Kind::ServerImage];

    /// The value of the label [`KIND`].
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Node => "node",
            Kind::Helper => "helper",
            Kind::Disk => "disk",
            Kind::Images => "images",
            Kind::Network => "network",
            Kind::ServerImage => "server-image",
        }
    }

    /// The kind that a label's value stands for; `None` for a value of another version of the lab.
    pub fn from_label(value: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.as_str() == value)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Labels of an object, by key.
pub type Labels = BTreeMap<String, String>;

/// The labels of an object of `kind` that belongs to `run`.
pub fn of(run: &str, kind: Kind) -> Labels {
    Labels::from([(RUN.to_owned(), run.to_owned()), (KIND.to_owned(), kind.as_str().to_owned())])
}

/// Which objects of the lab a listing returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector(Vec<String>);

impl Selector {
    /// Everything the lab ever made, of whatever run.
    pub fn any() -> Selector {
        Selector(vec![RUN.to_owned()])
    }

    /// Everything of one run (or of [`CACHE`], [`IMAGE`]).
    pub fn run(run: &str) -> Selector {
        Selector(vec![format!("{RUN}={run}")])
    }

    /// Narrows the selection to one kind.
    pub fn kind(mut self, kind: Kind) -> Selector {
        self.0.push(format!("{KIND}={kind}"));
        self
    }

    /// Narrows the selection to objects with this label and value.
    pub fn label(mut self, key: &str, value: &str) -> Selector {
        self.0.push(format!("{key}={value}"));
        self
    }

    /// The `filters` parameter of the engine's list calls.
    pub(super) fn filters(&self) -> HashMap<String, Vec<String>> {
        HashMap::from([("label".to_owned(), self.0.clone())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_found_again_from_its_label() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_label(kind.as_str()), Some(kind));
        }
        assert_eq!(Kind::from_label("gadget"), None);
    }

    #[test]
    fn a_selector_asks_for_all_of_its_labels() {
        let selector = Selector::run("r1").kind(Kind::Disk);
        assert_eq!(
            selector.filters().get("label").map(Vec::as_slice),
            Some(&["org.stall-lab.run=r1".to_owned(), "org.stall-lab.kind=disk".to_owned()][..])
        );
    }
}
