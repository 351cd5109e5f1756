//! What the user asked for.

use std::path::PathBuf;
use std::str::FromStr;

use crate::disk::Caps;
use crate::profile::{Prefetch, Profile};
use crate::store::Verdict;

/// One arm: the profile, with what makes this arm applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    /// Its name, as its folder ends.
    pub name: String,
    /// Its profile.
    pub profile: Profile,
}

impl Arm {
    /// An arm for each way of prefetching; with none given, one of the profile as it is.
    #[must_use]
    pub fn of_prefetch(profile: &Profile, prefetch: &[Prefetch]) -> Vec<Self> {
        if prefetch.is_empty() {
            let settings = profile.effective_settings(&profile.fault.node);
            let name = settings.get("recovery_prefetch").cloned().unwrap_or_else(|| "default".to_owned());
            return vec![Self { name, profile: profile.clone() }];
        }
        prefetch
            .iter()
            .map(|prefetch| Self {
                name: prefetch.to_string(),
                profile: profile.clone().with_prefetch(*prefetch),
            })
            .collect()
    }
}

/// What becomes of the nodes when an arm has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Teardown {
    /// They go.
    Remove,
    /// They stay, and the user is told how to connect.
    Keep,
}

/// A whole `repro`.
#[derive(Debug, Clone)]
pub struct Request {
    /// Name of the profile: the folder of its results.
    pub profile_name: String,
    /// What to run, in order.
    pub arms: Vec<Arm>,
    /// Where results go.
    pub results: PathBuf,
    /// Are the disks capped.
    pub caps: Caps,
    /// What becomes of the nodes.
    pub teardown: Teardown,
    /// The command as it was typed.
    pub command_line: Vec<String>,
}

/// What a script expects of an arm, or of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// The arm; none means every one.
    pub arm: Option<String>,
    /// What it should show.
    pub verdict: Verdict,
}

/// A text that is not an expectation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an expectation: write `stall` or `no-stall`, or with the arm's name, `try=stall`")]
pub struct NotAnExpectation(String);

impl Expectation {
    /// Does it say anything of this arm.
    #[must_use]
    pub fn covers(&self, arm: &str) -> bool {
        self.arm.as_deref().is_none_or(|own| own == arm)
    }
}

impl FromStr for Expectation {
    type Err = NotAnExpectation;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (arm, verdict) = match text.split_once('=') {
            Some((arm, verdict)) if !arm.is_empty() => (Some(arm.to_owned()), verdict),
            Some(_) => return Err(NotAnExpectation(text.to_owned())),
            None => (None, text),
        };
        let verdict = match verdict {
            "stall" => Verdict::Stalled,
            "no-stall" => Verdict::NoStall,
            _ => return Err(NotAnExpectation(text.to_owned())),
        };
        Ok(Self { arm, verdict })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_expectation_is_of_all_arms_or_of_one() {
        let all: Expectation = "stall".parse().unwrap();
        assert!(all.covers("try") && all.covers("off"));
        let one: Expectation = "off=no-stall".parse().unwrap();
        assert_eq!((one.covers("try"), one.covers("off"), one.verdict), (false, true, Verdict::NoStall));
        for text in ["", "stalled", "=stall", "try=maybe"] {
            assert_eq!(text.parse::<Expectation>(), Err(NotAnExpectation(text.to_owned())));
        }
    }

    #[test]
    fn without_prefetch_the_arm_is_the_profile_as_it_is() {
        let profile =
            Profile::load("smoke", &["postgres.standby.recovery_prefetch=off".parse().unwrap()]).unwrap();
        let arms = Arm::of_prefetch(&profile, &[]);
        assert_eq!(arms, [Arm { name: "off".to_owned(), profile }]);
    }
}
