//! Names of files and pages.

use std::collections::HashMap;
use std::fmt;

/// A relation's file: tablespace, database and relfilenumber (`RelFileLocator`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RelFile {
    /// Oid of the tablespace; 1663 is `pg_default`.
    pub tablespace: u32,
    /// Oid of the database; 0 for what all databases share.
    pub database: u32,
    /// Number of the file.
    pub number: u32,
}

impl fmt::Display for RelFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.tablespace, self.database, self.number)
    }
}

/// A fork of a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fork {
    /// The data: the only one that is prefetched.
    Main,
    /// Free space map.
    Fsm,
    /// Visibility map.
    Vm,
    /// What an unlogged relation is reset to.
    Init,
}

impl Fork {
    /// The fork of this name, as `pg_waldump` writes it (`forkNames`).
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "main" => Some(Self::Main),
            "fsm" => Some(Self::Fsm),
            "vm" => Some(Self::Vm),
            "init" => Some(Self::Init),
            _ => None,
        }
    }
}

/// A page by a number for its fork and its number in that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Page {
    pub fork: ForkId,
    pub block: u32,
}

/// A small number for a fork of a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ForkId(u32);

impl ForkId {
    /// The number as the index of a list.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Gives each fork that is met a number, in the order in which they are met.
#[derive(Debug, Default)]
pub(super) struct Forks {
    ids: HashMap<(RelFile, Fork), ForkId>,
    names: Vec<RelFile>,
}

impl Forks {
    pub fn id(&mut self, relation: RelFile, fork: Fork) -> ForkId {
        *self.ids.entry((relation, fork)).or_insert_with(|| {
            self.names.push(relation);
            // Forks are counted in u32, as pages are: a database has no 4 billion files.
            ForkId(u32::try_from(self.names.len() - 1).unwrap_or(u32::MAX))
        })
    }

    /// The relation that a fork is of.
    pub fn relation(&self, id: ForkId) -> Option<RelFile> {
        self.names.get(id.index()).copied()
    }
}
