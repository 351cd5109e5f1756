//! Data checksums, which are fixed at initdb.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::SERVER_DEFAULT;

/// The first version that has data checksums unless it is told otherwise.
const ON_SINCE: u32 = 180_000;

/// Whether a database has data checksums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub enum Checksums {
    /// It has.
    On,
    /// It has none.
    Off,
    /// As `initdb` of the server makes it.
    Default,
}

/// As it stands in TOML and JSON.
#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Truth(bool),
    Word(String),
}

impl Checksums {
    /// Has a database that a server of this `server_version_num` makes checksums.
    #[must_use]
    pub fn are_on(self, version_num: u32) -> bool {
        match self {
            Self::On => true,
            Self::Off => false,
            Self::Default => version_num >= ON_SINCE,
        }
    }
}

impl fmt::Display for Checksums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::On => "on",
            Self::Off => "off",
            Self::Default => "as the server's initdb makes them",
        })
    }
}

impl TryFrom<Written> for Checksums {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        match written {
            Written::Truth(true) => Ok(Self::On),
            Written::Truth(false) => Ok(Self::Off),
            Written::Word(word) if word == SERVER_DEFAULT => Ok(Self::Default),
            Written::Word(word) => Err(format!("{word:?} is neither true, false nor {SERVER_DEFAULT:?}")),
        }
    }
}

impl From<Checksums> for Written {
    fn from(checksums: Checksums) -> Self {
        match checksums {
            Checksums::On => Self::Truth(true),
            Checksums::Off => Self::Truth(false),
            Checksums::Default => Self::Word(SERVER_DEFAULT.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn checksums_are_a_truth_or_left_to_the_server_and_read_as_they_are_written() {
        for (json, checksums) in
            [("true", Checksums::On), ("false", Checksums::Off), ("\"DEFAULT\"", Checksums::Default)]
        {
            assert_eq!(serde_json::from_str::<Checksums>(json).unwrap(), checksums);
            assert_eq!(serde_json::to_string(&checksums).unwrap(), json);
        }
        assert!(serde_json::from_str::<Checksums>("\"on\"").is_err());
    }

    #[test]
    fn a_server_left_to_itself_makes_them_since_18() {
        let on = |version| Checksums::Default.are_on(version);
        assert_eq!((on(170_012), on(180_000), on(190_000)), (false, true, true));
        assert!(Checksums::On.are_on(150_000) && !Checksums::Off.are_on(180_000));
    }
}
