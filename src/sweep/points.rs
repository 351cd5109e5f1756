//! The arm that each point of a sweep is.

use super::{Axis, Design, POSTGRES, PREFETCH, Run};
use crate::image::{ImageError, ImageRequest};
use crate::profile::{NotAPrefetch, Override, Prefetch, Problems, Template};
use crate::repro::Arm;

/// Why a point is no experiment.
#[derive(Debug, thiserror::Error)]
pub enum PointError {
    /// A key is varied twice.
    #[error("--vary: {0} is there twice")]
    Twice(String),
    /// The profile compares arms of its own.
    #[error(
        "{0} is a scenario with arms of its own: `stall-lab repro` runs it; a sweep takes a profile and --vary"
    )]
    Scenario(String),
    /// A point's profile is wrong.
    #[error(transparent)]
    Profile(#[from] Problems),
    /// Not a value of `recovery_prefetch`.
    #[error("--vary {PREFETCH}: {0}")]
    Prefetch(#[from] NotAPrefetch),
    /// Not a server.
    #[error("--vary {POSTGRES}: {0}")]
    Server(#[from] ImageError),
}

/// The arms of all points of these axes, in the order of the design. `sets` is laid over the profile first; what is varied
/// wins over it.
///
/// # Errors
/// For the first point that is no experiment.
pub fn arms(
    template: &Template,
    profile_name: &str,
    sets: &[Override],
    axes: &[Axis],
    server: &ImageRequest,
) -> Result<Vec<Arm>, PointError> {
    if let Some((_, axis)) =
        axes.iter().enumerate().find(|(at, axis)| axes[..*at].iter().any(|earlier| earlier.key == axis.key))
    {
        return Err(PointError::Twice(axis.key.clone()));
    }
    if !template.arms()?.is_empty() {
        return Err(PointError::Scenario(profile_name.to_owned()));
    }
    let mut points: Vec<Vec<&str>> = vec![vec![]];
    for axis in axes {
        let with_each = |point: &Vec<_>| {
            let point = point.clone();
            axis.values.iter().map(move |value| [point.as_slice(), &[value.as_str()]].concat())
        };
        points = points.iter().flat_map(with_each).collect();
    }
    points.iter().map(|values| arm(template, sets, axes, values, server)).collect()
}

fn arm(
    template: &Template,
    sets: &[Override],
    axes: &[Axis],
    values: &[&str],
    server: &ImageRequest,
) -> Result<Arm, PointError> {
    let mut changes = sets.to_vec();
    let (mut prefetch, mut server) = (None, server.clone());
    for (axis, value) in axes.iter().zip(values) {
        match axis.key.as_str() {
            PREFETCH => prefetch = Some(value.parse::<Prefetch>()?),
            POSTGRES => server = value.parse()?,
            key => changes.push(Override::varied(key, value)),
        }
    }
    let mut profile = template.profile(&changes)?;
    if let Some(prefetch) = prefetch {
        profile = profile.with_prefetch(prefetch);
    }
    Ok(Arm { name: name(axes, values), profile, server })
}

/// A point as its folder is called: `read_iops-100-prefetch-try`.
fn name(axes: &[Axis], values: &[&str]) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c } else { '-' };
    let words: Vec<String> =
        axes.iter().zip(values).map(|(axis, value)| format!("{}-{value}", axis.short())).collect();
    words.join("-").chars().map(plain).collect()
}

impl Design {
    /// A point in words: `read_iops=100, prefetch=try`.
    #[must_use]
    pub fn point_in_words(&self, point: usize) -> String {
        let values = self.values(point);
        let words: Vec<String> =
            self.axes.iter().zip(values).map(|(axis, value)| format!("{}={value}", axis.short())).collect();
        words.join(", ")
    }

    /// Name of a run's arm, as its folder ends. `earlier` is how often it was tried before.
    #[must_use]
    pub(super) fn run_name(&self, run: Run, earlier: usize) -> String {
        let again = if earlier > 0 { format!("-again{earlier}") } else { String::new() };
        format!("{}-r{}{again}", name(&self.axes, &self.values(run.point)), run.repeat)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::testing::design;
    use super::*;

    fn of(profile: &str, axes: &[&str]) -> Result<Vec<Arm>, PointError> {
        let axes: Vec<Axis> = axes.iter().map(|axis| axis.parse().unwrap()).collect();
        let sets = ["workload.scale=2".parse().unwrap(), "standby.read_iops=7".parse().unwrap()];
        arms(&Template::find(profile).unwrap(), profile, &sets, &axes, &ImageRequest::Default)
    }

    #[test]
    fn a_point_is_the_profile_with_its_values_in_the_order_of_the_design() {
        let axes = ["standby.read_iops=100,200", "prefetch=try,off", "postgres=15,18"];
        let arms = of("smoke", &axes).unwrap();
        let design = design(&axes, 1);
        assert_eq!(arms.len(), design.size());
        for (arm, values) in arms.iter().zip(design.points()) {
            let standby = &arm.profile.standby[0];
            let settings = arm.profile.effective_settings("standby");
            let ImageRequest::Version(major) = arm.server else { panic!("{arm:?}") };
            let seen = [
                standby.machine.read_iops.to_string(),
                settings["recovery_prefetch"].clone(),
                major.to_string(),
            ];
            assert_eq!(seen.to_vec(), values);
            assert_eq!(arm.profile.workload.scale, 2);
        }
        assert_eq!(arms[1].name, "read_iops-100-prefetch-try-postgres-18");
        assert_eq!(design.run_name(Run { repeat: 3, point: 1 }, 2), format!("{}-r3-again2", arms[1].name));
        assert_eq!(design.point_in_words(1), "read_iops=100, prefetch=try, postgres=18");
    }

    #[test]
    fn a_point_that_is_no_experiment_is_refused_before_anything_runs() {
        for (profile, axes, said) in [
            ("smoke", &["a=1,2", "a=3"][..], "--vary: a is there twice"),
            ("smoke", &["standby.reed_iops=1"], "--vary standby.reed_iops=1: unknown key"),
            ("smoke", &["standby.read_iops=100,-5"], "--vary standby.read_iops=-5: -5 is not allowed"),
            ("smoke", &["prefetch=maybe"], "--vary prefetch: \"maybe\" is not a value"),
            ("smoke", &["postgres=14"], "--vary postgres: "),
            ("triggers", &["prefetch=try"], "triggers is a scenario with arms of its own"),
        ] {
            let error = of(profile, axes).unwrap_err().to_string();
            assert!(error.starts_with(said), "{error}");
        }
    }
}
