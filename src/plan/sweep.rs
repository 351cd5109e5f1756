//! What a `sweep` would do, or go on to do.

use std::fmt;

use super::{Databases, FIXED_S, IMAGE_S, LOAD_S, PlannedArm, nodes_bytes, planned};
use crate::disk::Caps;
use crate::human;
use crate::sweep::{Request, Run};

/// The most points that are listed; of more the first and how many follow.
const MOST_LISTED: usize = 40;

/// What would be done for a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepPlan {
    title: String,
    folder: String,
    points: Vec<PlannedPoint>,
    databases: Databases,
    servers: usize,
    scale: u32,
    nodes: u64,
    repeat: u32,
    seed: Option<u64>,
}

/// A point of a plan, and how many runs of it are left.
#[derive(Debug, Clone, PartialEq)]
struct PlannedPoint {
    arm: PlannedArm,
    left: usize,
}

impl SweepPlan {
    /// The plan of a sweep of which these runs are left.
    #[must_use]
    pub fn of(request: &Request, pending: &[Run]) -> Self {
        let design = &request.design;
        let caps = if design.capped { Caps::On } else { Caps::Off };
        let point = |(point, arm): (usize, &crate::repro::Arm)| PlannedPoint {
            arm: planned(&design.point_in_words(point), &arm.profile, caps),
            left: pending.iter().filter(|run| run.point == point).count(),
        };
        let servers: std::collections::BTreeSet<_> = request.arms.iter().map(|arm| &arm.server).collect();
        Self {
            title: format!("Sweep of {}: {}", design.profile_name, design.profile.description),
            folder: request.folder.display().to_string(),
            points: request.arms.iter().enumerate().map(point).collect(),
            databases: Databases::of(&request.arms),
            servers: servers.len(),
            scale: design.profile.workload.scale,
            nodes: request.arms.iter().map(|arm| nodes_bytes(&arm.profile)).max().unwrap_or_default(),
            repeat: design.repeat,
            seed: request.seed,
        }
    }

    fn runs(&self) -> usize {
        self.points.iter().map(|point| point.left).sum()
    }

    fn seconds(&self) -> f64 {
        self.points.iter().map(|point| point.arm.seconds * point.left as f64).sum()
    }
}

impl fmt::Display for SweepPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n\nPoints", self.title)?;
        for PlannedPoint { arm, left } in self.points.iter().take(MOST_LISTED) {
            let hang = match arm.hang_s {
                Some(hang_s) => format!("a hang of about {}", human::seconds(hang_s)),
                None => "no hang".to_owned(),
            };
            writeln!(f, "  {:<44} {left} x about {}, {hang}", arm.name, human::seconds(arm.seconds))?;
        }
        if self.points.len() > MOST_LISTED {
            writeln!(f, "  and {} more", self.points.len() - MOST_LISTED)?;
        }
        let seed = self
            .seed
            .map_or_else(|| "a seed that is kept with the sweep".to_owned(), |seed| seed.to_string());
        writeln!(
            f,
            "\nOrder\n  {} repeats; each runs all points, shuffled with {seed}, before the next begins",
            self.repeat
        )?;
        writeln!(f, "\nDisk on the engine's host, at most")?;
        writeln!(
            f,
            "  {:>9}  loaded databases: {}",
            human::bytes(self.databases.bytes as f64),
            self.databases.count
        )?;
        writeln!(f, "  {:>9}  nodes, while a run goes on", human::bytes(self.nodes as f64))?;
        let load_s = FIXED_S + LOAD_S * f64::from(self.scale);
        let first_s = IMAGE_S * self.servers as f64 + load_s * self.databases.count as f64;
        write!(
            f,
            "\nExpected duration\n  {} runs, about {}; server images and loaded databases that are not there yet add up \
             to {}\n\nResults in {}/; the same command goes on where it was stopped",
            self.runs(),
            human::seconds(self.seconds()),
            human::seconds(first_s),
            self.folder
        )
    }
}
