//! What is varied: a key and its values.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The key that varies `recovery_prefetch` of every standby, as `--prefetch` sets it.
pub const PREFETCH: &str = "prefetch";

/// The key that varies the server, as `--postgres` chooses it.
pub const POSTGRES: &str = "postgres";

/// A key and the values it takes in turn: `standby.read_iops=100,200,400`.
///
/// The key is one of a profile's, as for `--set`, or [`PREFETCH`], or [`POSTGRES`]. Values hold no comma.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// The key.
    pub key: String,
    /// Its values, as they were written, at least one.
    pub values: Vec<String>,
}

/// Why an argument of `--vary` is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} {what}: write KEY=VALUE,VALUE, as in standby.read_iops=100,200,400")]
pub struct NotAnAxis {
    text: String,
    what: &'static str,
}

impl FromStr for Axis {
    type Err = NotAnAxis;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = |what| NotAnAxis { text: text.to_owned(), what };
        let (key, values) = text.split_once('=').ok_or_else(|| refused("has no ="))?;
        let (key, values) = (key.trim(), values.split(',').map(str::trim).collect::<Vec<_>>());
        if key.is_empty() || values.contains(&"") {
            return Err(refused("lacks a key or a value"));
        }
        if values.iter().enumerate().any(|(at, value)| values[..at].contains(value)) {
            return Err(refused("has a value twice"));
        }
        Ok(Self { key: key.to_owned(), values: values.into_iter().map(str::to_owned).collect() })
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.values.join(","))
    }
}

impl Axis {
    /// The end of its key: `read_iops` of `standby.read_iops`.
    #[must_use]
    pub fn short(&self) -> &str {
        self.key.rsplit('.').next().unwrap_or(&self.key)
    }

    /// Its values as numbers, if all are.
    #[must_use]
    pub fn numbers(&self) -> Option<Vec<f64>> {
        let number = |value: &String| value.parse().ok().filter(|number: &f64| number.is_finite());
        self.values.iter().map(number).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_axis_is_a_key_and_its_values_and_reads_as_it_is_written() {
        let axis: Axis = "standby.read_iops = 100, 200,400".parse().unwrap();
        assert_eq!(axis.to_string(), "standby.read_iops=100,200,400");
        assert_eq!((axis.short(), axis.numbers()), ("read_iops", Some(vec![100.0, 200.0, 400.0])));
        assert_eq!("prefetch=try,off".parse::<Axis>().unwrap().numbers(), None);
        assert_eq!("x=1,inf".parse::<Axis>().unwrap().numbers(), None);
    }

    #[test]
    fn what_is_no_axis_is_told_what_it_lacks() {
        for (text, what) in [
            ("", "has no ="),
            ("read_iops", "has no ="),
            ("=1,2", "lacks a key or a value"),
            ("a=", "lacks a key or a value"),
            ("a=1,,2", "lacks a key or a value"),
            ("a=1,2,1", "has a value twice"),
        ] {
            let said = text.parse::<Axis>().unwrap_err().to_string();
            assert!(said.contains(what) && said.ends_with("standby.read_iops=100,200,400"), "{said}");
        }
    }
}
