//! What the user asked for.

use std::path::PathBuf;
use std::str::FromStr;

use super::servers::server_names;
use crate::disk::Caps;
use crate::image::ImageRequest;
use crate::profile::{ArmSpec, Override, Prefetch, Problems, Profile, Template};
use crate::store::Verdict;

/// One arm: the profile, with what makes this arm applied, and the server that runs it.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    /// Its name, as its folder ends.
    pub name: String,
    /// Its profile.
    pub profile: Profile,
    /// What its nodes run.
    pub server: ImageRequest,
}

impl Arm {
    /// An arm for each way of prefetching; with none given, one of the profile as it is. It runs on the default server.
    #[must_use]
    pub fn of_prefetch(profile: &Profile, prefetch: &[Prefetch]) -> Vec<Self> {
        if prefetch.is_empty() {
            let settings = profile.effective_settings(&profile.fault.node);
            let name = settings.get("recovery_prefetch").cloned().unwrap_or_else(|| "default".to_owned());
            return vec![Self { name, profile: profile.clone(), server: ImageRequest::Default }];
        }
        prefetch
            .iter()
            .map(|prefetch| Self {
                name: prefetch.to_string(),
                profile: profile.clone().with_prefetch(*prefetch),
                server: ImageRequest::Default,
            })
            .collect()
    }
}

/// Why a request's arms are none.
#[derive(Debug, thiserror::Error)]
pub enum ArmsError {
    /// A profile is wrong.
    #[error(transparent)]
    Profile(#[from] Problems),
    /// The arm says already what `--prefetch` would say.
    #[error("--prefetch: the arm {0} sets {PREFETCH} itself")]
    Prefetch(String),
}

impl Arm {
    /// The arms of a profile: those given, or else its own, each once for every way of prefetching that is given. Without
    /// any, the profile as it is.
    ///
    /// What an arm changes wins over `overrides`, or its name would be wrong.
    ///
    /// # Errors
    /// What is wrong with the profile, its overrides or an arm.
    pub fn of(
        template: &Template,
        overrides: &[Override],
        given: &[ArmSpec],
        prefetch: &[Prefetch],
    ) -> Result<Vec<Self>, ArmsError> {
        let own = template.arms()?;
        let specs = if given.is_empty() { &own } else { given };
        if specs.is_empty() {
            return Ok(Self::of_prefetch(&template.profile(overrides)?, prefetch));
        }
        let mut arms = Vec::new();
        for spec in specs {
            let profile = template.profile(&[overrides, spec.changes()].concat())?;
            let name = spec.name();
            if prefetch.is_empty() {
                arms.push(Self { name: name.to_owned(), profile, server: ImageRequest::Default });
                continue;
            }
            if spec.sets(PREFETCH) {
                return Err(ArmsError::Prefetch(name.to_owned()));
            }
            arms.extend(
                Self::of_prefetch(&profile, prefetch)
                    .into_iter()
                    .map(|arm| Self { name: format!("{name}-{}", arm.name), ..arm }),
            );
        }
        Ok(arms)
    }
}

impl Arm {
    /// Each arm once for every server, the server's name before its own where there are several; all arms of a server
    /// follow each other.
    #[must_use]
    pub fn on_servers(arms: Vec<Self>, servers: &[ImageRequest]) -> Vec<Self> {
        let named = |(server, name): (&ImageRequest, String)| {
            let on = |arm: &Self| Self {
                name: if servers.len() > 1 { format!("{name}-{}", arm.name) } else { arm.name.clone() },
                profile: arm.profile.clone(),
                server: server.clone(),
            };
            arms.iter().map(on).collect::<Vec<_>>()
        };
        servers.iter().zip(server_names(servers)).flat_map(named).collect()
    }
}

/// The setting of `--prefetch`.
const PREFETCH: &str = "recovery_prefetch";

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
        assert_eq!(arms, [Arm { name: "off".to_owned(), profile, server: ImageRequest::Default }]);
    }

    fn arms(profile: &str, given: &[&str], prefetch: &[Prefetch]) -> Result<Vec<Arm>, ArmsError> {
        let template = Template::find(profile).unwrap();
        let given: Vec<ArmSpec> = given.iter().map(|arm| arm.parse().unwrap()).collect();
        Arm::of(&template, &["workload.scale=2".parse().unwrap()], &given, prefetch)
    }

    #[test]
    fn arms_are_run_once_for_every_way_of_prefetching() {
        let given = ["on:postgres.common.full_page_writes=on", "off:postgres.common.full_page_writes=off"];
        let arms = arms("smoke", &given, &[Prefetch::Try, Prefetch::Off]).unwrap();
        let seen: Vec<_> = arms
            .iter()
            .map(|arm| {
                let settings = arm.profile.effective_settings("standby");
                let value = |name: &str| settings.get(name).unwrap().clone();
                (arm.name.as_str(), value("full_page_writes"), value("recovery_prefetch"))
            })
            .collect();
        let expected = [
            ("on-try", "on", "try"),
            ("on-off", "on", "off"),
            ("off-try", "off", "try"),
            ("off-off", "off", "off"),
        ];
        assert_eq!(seen, expected.map(|(name, images, prefetch)| (name, images.into(), prefetch.into())));
        assert!(arms.iter().all(|arm| arm.profile.workload.scale == 2));
    }

    #[test]
    fn every_server_runs_every_arm_and_names_it_where_there_are_several() {
        let of = |servers: &[&str]| {
            let servers: Vec<ImageRequest> = servers.iter().map(|text| text.parse().unwrap()).collect();
            let arms =
                Arm::on_servers(arms("smoke", &[], &[Prefetch::Try, Prefetch::Off]).unwrap(), &servers);
            let seen =
                arms.iter().map(|arm| (arm.name.clone(), servers.iter().position(|own| *own == arm.server)));
            seen.map(|(name, server)| format!("{name} on {}", server.unwrap())).collect::<Vec<_>>()
        };
        assert_eq!(of(&["17"]), ["try on 0", "off on 0"]);
        assert_eq!(
            of(&["15", "my/pg"]),
            ["pg15-try on 0", "pg15-off on 0", "my-pg-try on 1", "my-pg-off on 1"]
        );
    }

    #[test]
    fn given_arms_replace_the_profiles_own_and_win_over_what_is_set() {
        let own = arms("full-page-writes", &[], &[]).unwrap();
        assert_eq!(own.len(), 4);
        let given = arms("full-page-writes", &["x:workload.scale=3"], &[]).unwrap();
        assert_eq!((given.len(), given[0].name.as_str(), given[0].profile.workload.scale), (1, "x", 3));
    }

    #[test]
    fn an_arm_that_says_how_to_prefetch_is_not_run_for_other_ways() {
        let error = arms("full-page-writes", &[], &[Prefetch::Try]).unwrap_err().to_string();
        assert!(error.ends_with("sets recovery_prefetch itself"), "{error}");
    }

    #[test]
    fn a_mistake_in_an_arm_is_told_with_its_name() {
        let error = arms("smoke", &["x:workload.scal=3"], &[]).unwrap_err().to_string();
        assert!(error.starts_with("arm x: workload.scal=3: unknown key"), "{error}");
    }
}
