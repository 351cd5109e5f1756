//! Versions of PostgreSQL, as its programs print them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The oldest major version the lab runs: the first with `recovery_prefetch`.
pub const OLDEST_MAJOR: u16 = 15;
/// The newest major version the lab knows where to find.
pub const NEWEST_MAJOR: u16 = 19;
/// The major version taken where none is asked for.
pub const WISHED_MAJOR: u16 = 18;

/// A server's version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerVersion {
    /// The line that `postgres --version` prints.
    pub text: String,
    /// As `server_version_num` says it: 180006 is 18.6, and 190000 any 19 before its release.
    pub number: u32,
    /// The major version: 18.
    pub major: u16,
}

impl ServerVersion {
    /// Reads what `postgres --version` prints, like `postgres (PostgreSQL) 19rc1 (Debian 19~rc1-1)`.
    pub fn parse(text: &str) -> Option<ServerVersion> {
        let text = text.trim();
        let version = short(text)?;
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (major, rest) = version.split_at_checked(digits(version))?;
        let major: u16 = major.parse().ok()?;
        // A pre-release has a word where a release has its minor version.
        let minor: u32 = match rest.strip_prefix('.') {
            Some(minor) => minor.get(..digits(minor))?.parse().ok()?,
            None => 0,
        };
        Some(ServerVersion { text: text.to_owned(), number: u32::from(major) * 10_000 + minor, major })
    }

    /// The version alone: `18.6`, `19rc1`.
    pub fn short(&self) -> &str {
        short(&self.text).unwrap_or(&self.text)
    }
}

fn short(text: &str) -> Option<&str> {
    text.split_once("(PostgreSQL) ")?.1.split_whitespace().next()
}

impl fmt::Display for ServerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.short())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_the_programs_print_them() {
        for (text, short, number, major) in [
            ("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n", "15.18", 150_018, 15),
            ("postgres (PostgreSQL) 18.6", "18.6", 180_006, 18),
            ("postgres (PostgreSQL) 19rc1 (Debian 19~rc1-1)", "19rc1", 190_000, 19),
            ("postgres (PostgreSQL) 19beta2", "19beta2", 190_000, 19),
            ("postgres (PostgreSQL) 20devel", "20devel", 200_000, 20),
            ("postgres (PostgreSQL) 17.2-patched", "17.2-patched", 170_002, 17),
        ] {
            let version = ServerVersion::parse(text);
            let seen = version.as_ref().map(|version| (version.short(), version.number, version.major));
            assert_eq!(seen, Some((short, number, major)), "{text}");
        }
    }

    #[test]
    fn what_is_no_version_is_none() {
        for text in
            ["", "postgres: command not found", "postgres (PostgreSQL) ", "postgres (PostgreSQL) next"]
        {
            assert_eq!(ServerVersion::parse(text), None, "{text}");
        }
    }
}
