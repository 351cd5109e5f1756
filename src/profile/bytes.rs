//! Sizes as PostgreSQL writes them: `8GB`, `128MB`, `512kB`, with units of 1024.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

/// Units from the largest down, as `postgresql.conf` knows them.
const UNITS: [(&str, u64); 5] =
    [("TB", 1 << 40), ("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10), ("B", 1)];

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, size) = UNITS
            .into_iter()
            .find(|(_, size)| self.0 >= *size && self.0.is_multiple_of(*size))
            .unwrap_or(("B", 1));
        write!(f, "{}{unit}", self.0 / size)
    }
}

/// Why a text is not a size.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not a size: write a whole number and a unit, as in \"512kB\", \"128MB\" or \"8GB\"")]
pub struct NotASize(String);

impl FromStr for Bytes {
    type Err = NotASize;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refuse = || NotASize(text.to_owned());
        let digits = text.trim().find(|c: char| !c.is_ascii_digit()).ok_or_else(refuse)?;
        let (number, unit) = text.trim().split_at(digits);
        let number: u64 = number.parse().map_err(|_| refuse())?;
        let (_, size) = UNITS.into_iter().find(|(name, _)| *name == unit.trim()).ok_or_else(refuse)?;
        number.checked_mul(size).map(Self).ok_or_else(refuse)
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn sizes_are_read_and_written_in_units_of_1024() {
        assert_eq!("8GB".parse(), Ok(Bytes(8 << 30)));
        assert_eq!("512 kB".parse(), Ok(Bytes(512 << 10)));
        assert_eq!(Bytes(128 << 20).to_string(), "128MB");
        assert_eq!(Bytes(1025).to_string(), "1025B");
        assert_eq!(Bytes(0).to_string(), "0B");
    }

    #[test]
    fn a_size_without_unit_with_an_unknown_unit_or_beyond_64_bits_is_refused() {
        for text in ["8", "8GiB", "-1GB", "", "GB", "99999999999TB", "1.5GB"] {
            assert_eq!(text.parse::<Bytes>(), Err(NotASize(text.to_owned())), "{text}");
        }
    }
}
