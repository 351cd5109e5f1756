//! A whole sweep as a value: what is varied, how often, in which order.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::Axis;
use crate::image::ImageRequest;
use crate::profile::Profile;
use crate::report;

/// What a sweep runs. Stored as `sweep.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// Version of the files' layout.
    pub schema: u32,
    /// Name of the profile.
    pub profile_name: String,
    /// The profile before anything is varied.
    pub profile: Profile,
    /// The server, unless it is varied.
    pub server: ImageRequest,
    /// Were the disks capped.
    pub capped: bool,
    /// What is varied: every value of one with every value of the others.
    pub axes: Vec<Axis>,
    /// How often each point is run.
    pub repeat: u32,
    /// What the order of the runs was shuffled with.
    pub seed: u64,
    /// When the sweep was begun.
    pub started: Timestamp,
    /// The command as it was typed.
    pub command_line: Vec<String>,
    /// Version of the lab.
    pub lab_version: String,
    /// Git revision the lab was built from, if known.
    pub git_revision: Option<String>,
}

/// One run of a sweep: a point, by its place in [`Design::points`], and which repeat of it, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Run {
    /// Which repeat.
    pub repeat: u32,
    /// Which point.
    pub point: usize,
}

impl Design {
    /// Version of the layout this lab writes.
    pub const SCHEMA: u32 = 1;

    /// Number of points.
    #[must_use]
    pub fn size(&self) -> usize {
        self.axes.iter().map(|axis| axis.values.len()).product()
    }

    /// The values of a point, one for each axis. The last axis changes first.
    #[must_use]
    pub fn values(&self, point: usize) -> Vec<&str> {
        let mut rest = point;
        let mut values: Vec<&str> = self
            .axes
            .iter()
            .rev()
            .map(|axis| {
                let at = rest % axis.values.len().max(1);
                rest /= axis.values.len().max(1);
                axis.values.get(at).map_or("", String::as_str)
            })
            .collect();
        values.reverse();
        values
    }

    /// Every point's values.
    pub fn points(&self) -> impl Iterator<Item = Vec<&str>> {
        (0..self.size()).map(|point| self.values(point))
    }

    /// All runs in their order. Every repeat runs all points before the next begins, so that what drifts touches all
    /// alike, and each repeat in an order of its own. More repeats change nothing in the order of those before.
    pub fn runs(&self) -> impl Iterator<Item = Run> {
        (1..=self.repeat)
            .flat_map(|repeat| self.order(repeat).into_iter().map(move |point| Run { repeat, point }))
    }

    /// The points, sorted by a digest of seed, repeat and point: as good as shuffled, and the same everywhere.
    fn order(&self, repeat: u32) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.size()).collect();
        order.sort_by_cached_key(|point| Sha256::digest(format!("{} {repeat} {point}", self.seed)).to_vec());
        order
    }

    /// Name of the sweep's folder where none is given: the same for the same command, so that it is found again.
    #[must_use]
    pub fn folder_name(&self) -> String {
        let kept = Self { repeat: 0, seed: 0, started: Timestamp::UNIX_EPOCH, ..self.clone() };
        let kept = Self { command_line: vec![], lab_version: String::new(), git_revision: None, ..kept };
        // Plain data with string keys: it has a JSON text. Were it not so, the folder would be told by its contents.
        let digest = Sha256::digest(serde_json::to_vec(&kept).unwrap_or_default());
        let digest: String = digest.iter().take(3).map(|byte| format!("{byte:02x}")).collect();
        let keys: Vec<&str> = self.axes.iter().map(Axis::short).collect();
        format!("sweep-{}-{digest}", keys.join("-"))
    }

    /// In what another design is not this one, but for the number of repeats and what is told of the lab; none where
    /// their runs belong together.
    #[must_use]
    pub fn differs_from(&self, other: &Self) -> Option<String> {
        if self.axes != other.axes {
            let words = |design: &Self| {
                let axes: Vec<String> = design.axes.iter().map(ToString::to_string).collect();
                axes.join(" ")
            };
            return Some(format!("it varies {}, not {}", words(other), words(self)));
        }
        let varied = report::varied(&[&self.profile, &other.profile]);
        if !varied.is_empty() {
            return Some(format!("its profile has another {}", varied.join(", ")));
        }
        let differing = [
            ("profile's name", self.profile_name != other.profile_name),
            ("server", self.server != other.server),
            ("--uncapped", self.capped != other.capped),
            ("--seed", self.seed != other.seed),
        ];
        differing.into_iter().find(|(_, differs)| *differs).map(|(what, _)| format!("it has another {what}"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;

    use super::super::testing::design;
    use super::*;

    #[test]
    fn every_value_meets_every_value_of_the_other_axes() {
        let design = design(&["a=1,2", "b=x,y,z"], 1);
        let points: Vec<String> = design.points().map(|values| values.join("")).collect();
        assert_eq!(points, ["1x", "1y", "1z", "2x", "2y", "2z"]);
    }

    #[test]
    fn each_repeat_runs_all_points_in_an_order_of_its_own_that_the_seed_decides() {
        let of = |seed| Design { seed, ..design(&["a=1,2,3,4,5,6,7,8"], 3) };
        let runs: Vec<Run> = of(1).runs().collect();
        let repeats: Vec<Vec<usize>> = (1..=3)
            .map(|repeat| runs.iter().filter(|run| run.repeat == repeat).map(|run| run.point).collect())
            .collect();
        for repeat in &repeats {
            assert_eq!(repeat.iter().collect::<BTreeSet<_>>().len(), 8);
        }
        assert!(runs.is_sorted_by_key(|run| run.repeat));
        assert!(repeats[0] != repeats[1] && repeats[1] != repeats[2]);
        assert_eq!(of(1).runs().collect::<Vec<_>>(), runs);
        assert_ne!(of(2).runs().collect::<Vec<_>>(), runs);
        // Longer, but not otherwise.
        let longer = Design { repeat: 5, ..of(1) };
        assert!(longer.runs().collect::<Vec<_>>().starts_with(&runs));
    }

    #[test]
    fn the_same_command_finds_its_folder_again_and_another_does_not() {
        let (one, mut later) = (design(&["a.read_iops=1,2"], 1), design(&["a.read_iops=1,2"], 3));
        later.started = Timestamp::MAX;
        later.command_line = vec!["other".to_owned()];
        assert!(one.folder_name().starts_with("sweep-read_iops-"), "{}", one.folder_name());
        assert_eq!((later.folder_name(), later.differs_from(&one)), (one.folder_name(), None));
        for (axes, scale) in [(&["a.read_iops=1,3"], 3), (&["a.read_iops=1,2"], 4)] {
            let mut other = design(axes, 1);
            other.profile.workload.scale = scale;
            assert_ne!(other.folder_name(), one.folder_name());
            assert!(other.differs_from(&one).is_some());
        }
    }

    #[test]
    fn what_tells_two_designs_apart_is_named() {
        let one = design(&["a=1,2"], 1);
        let scaled = {
            let mut scaled = one.clone();
            scaled.profile.workload.scale += 1;
            scaled
        };
        for (other, said) in [
            (design(&["a=1,2,3"], 1), "it varies a=1,2, not a=1,2,3"),
            (scaled, "its profile has another workload.scale"),
            (Design { server: ImageRequest::Version(15), ..one.clone() }, "it has another server"),
            (Design { seed: 99, ..one.clone() }, "it has another --seed"),
        ] {
            assert_eq!(other.differs_from(&one).unwrap(), said);
        }
    }
}
