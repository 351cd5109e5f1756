//! A cap on operations a second.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A cap on operations a second, or the word that there is none.
///
/// Left out it would be a slip; that a node has no cap has to be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub enum Iops {
    /// At most so many.
    Capped(u64),
    /// As many as the disk below gives.
    Unlimited,
}

/// The word for [`Iops::Unlimited`].
pub(super) const UNLIMITED: &str = "unlimited";

/// As it stands in TOML and JSON.
#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Number(u64),
    Word(String),
}

impl Iops {
    /// The cap, if there is one.
    #[must_use]
    pub fn cap(self) -> Option<u64> {
        match self {
            Self::Capped(iops) => Some(iops),
            Self::Unlimited => None,
        }
    }
}

impl fmt::Display for Iops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capped(iops) => write!(f, "{iops}"),
            Self::Unlimited => f.write_str(UNLIMITED),
        }
    }
}

impl TryFrom<Written> for Iops {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        match written {
            Written::Number(iops) => Ok(Self::Capped(iops)),
            Written::Word(word) if word == UNLIMITED => Ok(Self::Unlimited),
            Written::Word(word) => Err(format!("{word:?} is neither a number nor {UNLIMITED:?}")),
        }
    }
}

impl From<Iops> for Written {
    fn from(iops: Iops) -> Self {
        match iops {
            Iops::Capped(iops) => Self::Number(iops),
            Iops::Unlimited => Self::Word(UNLIMITED.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cap_is_a_number_and_its_absence_a_word() {
        let read = |json: &str| serde_json::from_str::<Iops>(json).map_err(|error| error.to_string());
        for (json, iops) in [("500", Iops::Capped(500)), ("\"unlimited\"", Iops::Unlimited)] {
            assert_eq!(read(json), Ok(iops));
            assert_eq!(serde_json::to_string(&iops).ok().as_deref(), Some(json));
        }
        assert_eq!(read("\"none\""), Err("\"none\" is neither a number nor \"unlimited\"".to_owned()));
    }
}
