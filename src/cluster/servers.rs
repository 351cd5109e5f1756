//! The servers of a command: each found or built once, and asked which settings of the profiles it knows.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::ensure;

use crate::docker::labels::{self, Kind};
use crate::docker::{ContainerSpec, DockerError, Engine, OutputStream};
use crate::image::{self, ImageProgress, ImageRequest, ServerImage};
use crate::profile::{Profile, is_not_in_every_version};

/// Prints the settings that a server does not know.
const SCRIPT: &str = include_str!("../../docker/unknown-settings.sh");

/// How long that may take: some milliseconds a setting.
const ASKING: Duration = Duration::from_secs(60);

/// A server that is ready to be run.
#[derive(Debug, Clone)]
pub(super) struct KnownServer {
    /// Its image.
    pub image: ServerImage,
    /// Those settings of the profiles that it does not know.
    pub unknown: BTreeSet<String>,
}

impl KnownServer {
    /// The settings of this profile that it does not know.
    pub(super) fn unknown_of(&self, profile: &Profile) -> Vec<String> {
        profile.setting_names().intersection(&self.unknown).cloned().collect()
    }
}

/// Servers by what was asked for.
pub(super) type KnownServers = BTreeMap<ImageRequest, KnownServer>;

/// Finds or builds the image of a server and asks it for these settings.
pub(super) async fn find(
    engine: &Engine,
    request: &ImageRequest,
    settings: &BTreeSet<String>,
    run_id: &str,
    on_progress: image::OnProgress<'_>,
) -> anyhow::Result<KnownServer> {
    on_progress(ImageProgress::Step("finding a server image".to_owned()));
    let image = image::resolve(engine, request, on_progress).await?;
    let unknown = unknown_settings(engine, &image, settings, run_id).await?;
    Ok(KnownServer { image, unknown })
}

/// Those of the settings that the server does not know.
async fn unknown_settings(
    engine: &Engine,
    image: &ServerImage,
    settings: &BTreeSet<String>,
    run_id: &str,
) -> Result<BTreeSet<String>, DockerError> {
    // A name with a dot belongs to an extension: without its library no server knows it, and every one takes it.
    let asked = settings.iter().filter(|name| !name.contains('.')).cloned();
    let args = ["-c", SCRIPT, "unknown-settings.sh"].map(str::to_owned);
    let postgres = format!("{}/postgres", image.bindir);
    let spec = ContainerSpec {
        name: format!("stall-lab-{run_id}-settings-{:08x}", rand::random::<u32>()),
        image: image.reference.clone(),
        user: Some(format!("{}:{}", image.uid, image.gid)),
        entrypoint: Some(vec!["sh".to_owned()]),
        cmd: args.into_iter().chain([postgres]).chain(asked).collect(),
        labels: labels::of(run_id, Kind::Helper),
        cap_drop: vec!["ALL".to_owned()],
        ..ContainerSpec::default()
    };
    let mut unknown = BTreeSet::new();
    let on_line = |stream, line: &str| {
        if stream == OutputStream::Stdout {
            unknown.insert(line.to_owned());
        }
    };
    engine.run_to_completion(&spec, ASKING, on_line).await?;
    Ok(unknown)
}

/// Fails for a setting that no server knows and no version has: it is misspelt, and leaving it out would be a wrong
/// experiment.
pub(super) fn refuse_misspelt(servers: &KnownServers) -> anyhow::Result<()> {
    let mut unknown = servers.values().map(|server| &server.unknown);
    let Some(first) = unknown.next() else { return Ok(()) };
    let nowhere = unknown.fold(first.clone(), |all, these| all.intersection(these).cloned().collect());
    let misspelt: Vec<String> = nowhere.into_iter().filter(|name| !is_not_in_every_version(name)).collect();
    ensure!(
        misspelt.is_empty(),
        "no PostgreSQL has a setting {}: see the profile's settings and --set",
        misspelt.join(", ")
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::image::testing::image;

    fn servers(unknown: &[&[&str]]) -> KnownServers {
        let server = |names: &&[&str]| KnownServer {
            image: image("postgres (PostgreSQL) 18.6"),
            unknown: names.iter().map(|name| (*name).to_owned()).collect(),
        };
        (15..).map(ImageRequest::Version).zip(unknown.iter().map(server)).collect()
    }

    #[test]
    fn what_another_server_or_another_version_knows_is_left_out_and_what_none_knows_is_refused() {
        // A patch's own setting, beside a stock server; one that came with 18; a slip.
        assert!(refuse_misspelt(&servers(&[&["my_patch"], &[]])).is_ok());
        assert!(refuse_misspelt(&servers(&[&["io_method"]])).is_ok());
        assert!(refuse_misspelt(&servers(&[])).is_ok());
        let error = refuse_misspelt(&servers(&[&["shared_bufers", "io_method"], &["shared_bufers"]]));
        let said = error.unwrap_err().to_string();
        assert!(said.starts_with("no PostgreSQL has a setting shared_bufers: "), "{said}");
    }

    #[test]
    fn of_a_profile_only_its_own_settings_are_left_out() {
        let profile = Profile::load("smoke", &["postgres.common.summarize_wal=on".parse().unwrap()]).unwrap();
        let server = servers(&[&["summarize_wal", "huge_pages"]]).remove(&ImageRequest::Version(15)).unwrap();
        assert_eq!(server.unknown_of(&profile), ["summarize_wal"]);
    }
}
