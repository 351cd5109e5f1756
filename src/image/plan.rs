//! The ways to an image, and their order.

use std::fmt;

use super::error::Tried;
use super::server::ServerImage;
use super::version::WISHED_MAJOR;

/// A way to an image of a major version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// One that the lab built earlier.
    Built(u16),
    /// The newest that the lab built earlier, of whatever version.
    AnyBuilt,
    /// The official image, from the registry the engine uses.
    Registry(u16),
    /// Debian's packages, from the archive the host's apt uses.
    Debian(u16),
    /// A PostgreSQL installed on the host.
    Host(u16),
    /// The newest PostgreSQL installed on the host.
    AnyHost,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Way::Built(major) => write!(f, "an image of {major} built earlier"),
            Way::AnyBuilt => f.write_str("any image built earlier"),
            Way::Registry(major) => write!(f, "the official image of {major}"),
            Way::Debian(major) => write!(f, "Debian's packages of {major}"),
            Way::Host(major) => write!(f, "PostgreSQL {major} of this host"),
            Way::AnyHost => f.write_str("any PostgreSQL of this host"),
        }
    }
}

/// The ways to one major version.
pub(super) fn for_version(major: u16) -> Vec<Way> {
    vec![Way::Built(major), Way::Registry(major), Way::Debian(major), Way::Host(major)]
}

/// The ways where none is asked for: all to the wished version first, then what is quickest to have.
pub(super) fn for_default() -> Vec<Way> {
    let mut ways = for_version(WISHED_MAJOR);
    ways.extend([Way::AnyBuilt, Way::AnyHost, Way::Debian(WISHED_MAJOR - 1)]);
    ways
}

/// Says what was taken in place of the wished version, and why.
pub(super) fn note(taken: &ServerImage, tried: &[Tried]) -> String {
    let reasons: Vec<String> = tried
        .iter()
        .filter(|tried| matches!(tried.way, Way::Registry(_) | Way::Debian(_) | Way::Host(_)))
        .map(|Tried { way, reason }| {
            let first_line = reason.lines().next().unwrap_or_default();
            format!("{way}: {first_line}")
        })
        .collect();
    format!(
        "PostgreSQL {WISHED_MAJOR} cannot be had here, so {} ({}) is taken in its place. {}",
        taken.version,
        taken.source,
        reasons.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::server::tests::image;

    #[test]
    fn an_explicit_version_has_no_way_to_another() {
        assert_eq!(for_version(17), [Way::Built(17), Way::Registry(17), Way::Debian(17), Way::Host(17)]);
    }

    #[test]
    fn the_wished_version_comes_before_any_other() {
        let ways = for_default();
        assert!(ways.starts_with(&for_version(18)));
        assert_eq!(ways.last(), Some(&Way::Debian(17)));
    }

    #[test]
    fn the_note_says_what_was_taken_and_why() {
        let tried = [
            Tried { way: Way::Built(18), reason: "none was built".to_owned() },
            Tried { way: Way::Registry(18), reason: "no such host\nmore".to_owned() },
        ];
        let note = note(&image("postgres (PostgreSQL) 15.18"), &tried);
        assert_eq!(
            note,
            "PostgreSQL 18 cannot be had here, so 15.18 (PostgreSQL of this host) is taken in its place. \
             the official image of 18: no such host"
        );
    }
}
