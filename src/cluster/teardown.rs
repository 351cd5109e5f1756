//! Removing what runs have made, by label alone.

use std::collections::BTreeMap;
use std::fmt;

use super::lease;
use crate::disk::{CACHE_VOLUME, DiskHelper, LOADING};
use crate::docker::labels::{self, CACHE, IMAGE, KIND, Kind, RUN, Selector};
use crate::docker::{DockerError, Engine};
use crate::human::in_full;

/// How often all is gone through, until there is nothing more: what was asked of the engine when a run was stopped may
/// only come to be while the rest is being removed.
const PASSES: usize = 3;

/// Whose things are removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Those of this run.
    Run(String),
    /// Those of every run whose lab no longer lives; loaded databases and server images stay.
    Leftovers,
}

impl Scope {
    fn selector(&self) -> Selector {
        match self {
            Self::Run(run) => Selector::run(run),
            Self::Leftovers => Selector::any(),
        }
    }

    /// Is an object with this run label one of a run in scope.
    fn covers(&self, labels: &BTreeMap<String, String>) -> bool {
        match labels.get(RUN).map(String::as_str) {
            None | Some(CACHE | IMAGE) => false,
            Some(run) => match self {
                Self::Run(own) => own == run,
                Self::Leftovers => !lease::is_live(run),
            },
        }
    }
}

/// What was removed, and what could not be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removal {
    /// Each thing that was removed: `container stall-lab-...`.
    pub removed: Vec<String>,
    /// What could not be removed, and why.
    pub failures: Vec<String>,
}

impl Removal {
    fn note(&mut self, what: &str, name: &str, outcome: Result<(), impl std::error::Error>) {
        match outcome {
            Ok(()) => self.removed.push(format!("{what} {name}")),
            Err(error) => self.failures.push(format!("{what} {name}: {}", in_full(&error))),
        }
    }

    /// Was there anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.failures.is_empty()
    }
}

impl fmt::Display for Removal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for removed in &self.removed {
            writeln!(f, "removed {removed}")?;
        }
        for failure in &self.failures {
            writeln!(f, "could not remove {failure}")?;
        }
        Ok(())
    }
}

/// Removes containers, disks with their loop devices, image files and networks of the scope. One failure never stops
/// the rest; it is in the [`Removal`].
///
/// `image` is the server image that the helper runs to reach loop devices; without one, volumes with image files in
/// them are left, and said so.
///
/// # Errors
/// Only when the engine cannot list what there is.
pub async fn tear_down(engine: &Engine, scope: &Scope, image: Option<&str>) -> Result<Removal, DockerError> {
    let mut all = Removal::default();
    for pass in 1..=PASSES {
        let removal = remove_once(engine, scope, image).await?;
        let is_done = pass > 1 && removal.removed.is_empty();
        all.removed.extend(removal.removed);
        all.failures = removal.failures;
        if is_done {
            break;
        }
    }
    Ok(all)
}

async fn remove_once(engine: &Engine, scope: &Scope, image: Option<&str>) -> Result<Removal, DockerError> {
    let mut removal = Removal::default();
    for container in engine.containers(&scope.selector()).await? {
        if scope.covers(&container.labels) {
            removal.note("container", &container.name, engine.remove_container(&container.name).await);
        }
    }
    // Mounts first, then the devices under them, then the files under those.
    let volumes = engine.volumes(&scope.selector()).await?;
    let of_kind = |kind: Kind| {
        volumes.iter().filter(move |volume| {
            scope.covers(&volume.labels) && volume.labels.get(KIND).map(String::as_str) == Some(kind.as_str())
        })
    };
    for volume in of_kind(Kind::Disk) {
        removal.note("volume", &volume.name, engine.remove_volume(&volume.name).await);
    }
    for volume in of_kind(Kind::Images) {
        match image {
            Some(image) => remove_images(engine, &volume.name, &volume.labels, image, &mut removal).await,
            None => removal.failures.push(format!(
                "volume {}: its loop devices can only be reached with a server image, and there is none: \
                 `stall-lab image build` makes one",
                volume.name
            )),
        }
    }
    let has_cache = !engine.volumes(&Selector::run(labels::CACHE)).await?.is_empty();
    if let (Some(image), true) = (image, has_cache) {
        remove_broken_loads(engine, scope, image, &mut removal).await;
    }
    for network in engine.networks(&scope.selector()).await? {
        if scope.covers(&network.labels) {
            removal.note("network", &network.name, engine.remove_network(&network.name).await);
        }
    }
    Ok(removal)
}

/// A volume with image files: their devices, then the volume.
async fn remove_images(
    engine: &Engine,
    volume: &str,
    labels: &BTreeMap<String, String>,
    image: &str,
    removal: &mut Removal,
) {
    let run_id = labels.get(RUN).map_or("clean", String::as_str);
    let helper = DiskHelper::new(engine.clone(), image, run_id);
    let detached = async {
        let files: Vec<String> = helper.files(volume).await?.into_iter().map(|(file, ..)| file).collect();
        helper.detach(volume, &files).await
    };
    match detached.await {
        // A file whose devices are still attached stays on disk without a name: it is left until they are gone.
        Err(error) => removal.failures.push(format!("loop devices of volume {volume}: {}", in_full(&error))),
        Ok(()) => removal.note("volume", volume, engine.remove_volume(volume).await),
    }
}

/// Files in the cache that a load had not finished, with their devices.
async fn remove_broken_loads(engine: &Engine, scope: &Scope, image: &str, removal: &mut Removal) {
    let helper = DiskHelper::new(engine.clone(), image, "clean");
    let files = match helper.files(CACHE_VOLUME).await {
        Ok(files) => files,
        Err(error) => {
            return removal.failures.push(format!("unfinished loads: {}", in_full(&error)));
        }
    };
    for (file, ..) in files {
        let Some(run) = file.strip_prefix(LOADING).and_then(|rest| rest.strip_suffix(".img")) else {
            continue;
        };
        if !scope.covers(&labels::of(run, Kind::Images)) {
            continue;
        }
        let removed = async {
            helper.detach(CACHE_VOLUME, std::slice::from_ref(&file)).await?;
            helper.remove_from_cache(&file).await
        };
        removal.note("unfinished load", &file, removed.await);
    }
}

#[cfg(test)]
#[path = "teardown_tests.rs"]
mod tests;
