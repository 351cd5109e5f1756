//! Sweeps for tests.
#![allow(clippy::unwrap_used, reason = "only in tests")]

use super::{Design, Record, Run, Status};
use crate::image::ImageRequest;
use crate::profile::Profile;
use crate::store::Verdict;

/// A sweep of the profile `smoke` over these axes.
pub(crate) fn design(axes: &[&str], repeat: u32) -> Design {
    Design {
        schema: Design::SCHEMA,
        profile_name: "smoke".to_owned(),
        profile: Profile::load("smoke", &[]).unwrap(),
        server: ImageRequest::Default,
        capped: true,
        axes: axes.iter().map(|axis| axis.parse().unwrap()).collect(),
        repeat,
        seed: 7,
        started: "2026-11-30T20:00:00Z".parse().unwrap(),
        command_line: vec!["stall-lab".to_owned(), "sweep".to_owned()],
        lab_version: "0.1.0".to_owned(),
        git_revision: None,
    }
}

/// A run that hung this long.
pub(crate) fn finished(repeat: u32, point: usize, hang_s: f64) -> Record {
    Record {
        status: Status::Finished,
        verdict: Some(Verdict::Stalled),
        hang_s: Some(hang_s),
        problem: None,
        ..Record::broken(Run { repeat, point }, None, String::new())
    }
}
