//! The arms of an experiment: the values of `recovery_prefetch`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Profile;

/// A value of PostgreSQL's `recovery_prefetch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Prefetch {
    /// Prefetch where the operating system can; PostgreSQL's default.
    Try,
    /// Do not prefetch.
    Off,
    /// Prefetch; the server refuses to start where the operating system cannot.
    On,
}

/// The setting's name.
const SETTING: &str = "recovery_prefetch";

impl fmt::Display for Prefetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Try => "try",
            Self::Off => "off",
            Self::On => "on",
        })
    }
}

/// Why a text is no value of `recovery_prefetch`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a value of recovery_prefetch: try, off or on")]
pub struct NotAPrefetch(String);

impl FromStr for Prefetch {
    type Err = NotAPrefetch;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "try" => Ok(Self::Try),
            "off" => Ok(Self::Off),
            "on" => Ok(Self::On),
            _ => Err(NotAPrefetch(text.to_owned())),
        }
    }
}

impl Profile {
    /// The same profile with `recovery_prefetch` of that value on every standby.
    ///
    /// A standby's own `recovery_prefetch` goes: it would win over the arm, and the arm's name would be wrong.
    #[must_use]
    pub fn with_prefetch(mut self, prefetch: Prefetch) -> Self {
        self.postgres.standby.insert(SETTING.to_owned(), prefetch.to_string());
        for standby in &mut self.standby {
            standby.settings.remove(SETTING);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::two_standbys;
    use super::*;

    #[test]
    fn an_arm_holds_for_every_standby_whatever_its_own_settings_say() {
        let profile =
            two_standbys(&["standby.other.settings.recovery_prefetch=on"]).with_prefetch(Prefetch::Off);
        for node in ["standby", "other"] {
            let value = profile.effective_settings(node).remove(SETTING);
            assert_eq!(value.as_deref(), Some("off"), "{node}");
        }
        assert_eq!(profile.effective_settings("primary").get(SETTING), None);
    }

    #[test]
    fn each_value_reads_as_it_is_written() {
        for prefetch in [Prefetch::Try, Prefetch::Off, Prefetch::On] {
            assert_eq!(prefetch.to_string().parse(), Ok(prefetch));
        }
        let message = "Try".parse::<Prefetch>().map_err(|error| error.to_string());
        assert_eq!(message, Err("\"Try\" is not a value of recovery_prefetch: try, off or on".to_owned()));
    }
}
