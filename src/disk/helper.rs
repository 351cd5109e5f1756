//! The container that handles image files and loop devices: it lives for one command.

use std::time::Duration;

use super::parse::{self, ImageFile};
use super::{AttachedDisk, CACHE_VOLUME};
use crate::docker::labels::{self, Kind};
use crate::docker::{Access, ContainerSpec, DockerError, Engine, Mount, OutputStream, Seccomp};

/// The helper's script.
const SCRIPT: &str = include_str!("../../docker/disk.sh");

/// How long a command may take that moves no data.
const PROMPT: Duration = Duration::from_secs(60);

/// How long a command may take that copies or formats a whole image: 20 GB at 30 MB/s.
const BULK: Duration = Duration::from_secs(700);

/// Where the volumes are mounted in the helper.
const MOUNTS: &str = "/disks";

/// Why a disk could not be made or unmade.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// The helper failed or could not be run.
    #[error("{doing}")]
    Helper {
        /// What it was to do.
        doing: String,
        /// Why it did not.
        source: DockerError,
    },
    /// The helper ended well but did not say what it should.
    #[error("{doing}: the helper answered {answer:?}")]
    Answer {
        /// What it was to do.
        doing: String,
        /// What it said.
        answer: String,
    },
}

/// What the helper may do beyond reading and writing its volumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rights {
    /// Nothing.
    Files,
    /// Set up loop devices: what the kernel asks of that, and no more. Not `--privileged`, which fails where the
    /// engine itself lacks a capability.
    LoopDevices,
}

/// Runs `docker/disk.sh` in short-lived containers.
#[derive(Debug, Clone)]
pub struct DiskHelper {
    engine: Engine,
    image: String,
    run_id: String,
}

impl DiskHelper {
    /// A helper that runs `image` and labels its containers as of `run_id`.
    #[must_use]
    pub fn new(engine: Engine, image: &str, run_id: &str) -> Self {
        Self { engine, image: image.to_owned(), run_id: run_id.to_owned() }
    }

    /// Bytes free on the file system of the engine's volumes.
    ///
    /// # Errors
    /// When the helper fails.
    pub async fn free_bytes(&self) -> Result<u64, DiskError> {
        let doing = "asking for the free space of the engine's volumes";
        let dir = in_volume(CACHE_VOLUME, "");
        let lines = self.run(doing, Rights::Files, &[CACHE_VOLUME], &["space", &dir], PROMPT).await?;
        lines.iter().find_map(|line| parse::space(line)).ok_or_else(|| no_answer(doing, &lines))
    }

    /// Makes a sparse image file with an ext4 in it, whose root belongs to `uid:gid`.
    ///
    /// # Errors
    /// When the helper fails.
    pub async fn format(
        &self,
        volume: &str,
        file: &str,
        bytes: u64,
        owner: (u32, u32),
    ) -> Result<(), DiskError> {
        let (path, bytes) = (in_volume(volume, file), bytes.to_string());
        let (uid, gid) = (owner.0.to_string(), owner.1.to_string());
        let args = ["format", &path, &bytes, &uid, &gid];
        self.run("making a file system", Rights::Files, &[volume], &args, BULK).await.map(drop)
    }

    /// Copies an image file of the cache into `volume`; holes stay holes.
    ///
    /// # Errors
    /// When the helper fails, as for want of room.
    pub async fn copy_from_cache(&self, file: &str, volume: &str, copy: &str) -> Result<(), DiskError> {
        let doing = format!("copying the loaded database to {copy}");
        let (from, to) = (in_volume(CACHE_VOLUME, file), in_volume(volume, copy));
        self.run(&doing, Rights::Files, &[CACHE_VOLUME, volume], &["copy", &from, &to], BULK).await.map(drop)
    }

    /// Attaches two stacked loop devices to an image file.
    ///
    /// # Errors
    /// When the helper fails, as on an engine that may not use loop devices.
    pub async fn attach(
        &self,
        node: &str,
        volume: &str,
        file: &str,
        read_ahead_kb: u32,
    ) -> Result<AttachedDisk, DiskError> {
        let doing = format!("attaching the loop devices of {node}");
        let (path, read_ahead) = (in_volume(volume, file), read_ahead_kb.to_string());
        let args = ["attach", node, &path, &read_ahead];
        let lines = self.run(&doing, Rights::LoopDevices, &[volume], &args, PROMPT).await?;
        lines.iter().find_map(|line| parse::attached(line)).ok_or_else(|| no_answer(&doing, &lines))
    }

    /// Detaches the loop devices of these files of `volume`. A file without any is no error.
    ///
    /// # Errors
    /// When the helper fails.
    pub async fn detach(&self, volume: &str, files: &[String]) -> Result<(), DiskError> {
        let paths: Vec<String> = files.iter().map(|file| in_volume(volume, file)).collect();
        let args: Vec<&str> = std::iter::once("detach").chain(paths.iter().map(String::as_str)).collect();
        self.run("detaching loop devices", Rights::LoopDevices, &[volume], &args, PROMPT).await.map(drop)
    }

    /// The image files in a volume.
    ///
    /// # Errors
    /// When the helper fails.
    pub async fn files(&self, volume: &str) -> Result<Vec<ImageFile>, DiskError> {
        let dir = in_volume(volume, "");
        let lines = self.run("listing image files", Rights::Files, &[volume], &["ls", &dir], PROMPT).await?;
        Ok(lines.iter().filter_map(|line| parse::image_file(line)).collect())
    }

    /// Renames a file of the cache in one step.
    ///
    /// # Errors
    /// When the helper fails.
    pub async fn rename_in_cache(&self, from: &str, to: &str) -> Result<(), DiskError> {
        let (from, to) = (in_volume(CACHE_VOLUME, from), in_volume(CACHE_VOLUME, to));
        self.run("keeping the loaded database", Rights::Files, &[CACHE_VOLUME], &["mv", &from, &to], PROMPT)
            .await
            .map(drop)
    }

    /// Removes a file of the cache. One that is not there is no error.
    ///
    /// # Errors
    /// When the helper fails.
    pub async fn remove_from_cache(&self, file: &str) -> Result<(), DiskError> {
        let path = in_volume(CACHE_VOLUME, file);
        self.run("removing a loaded database", Rights::Files, &[CACHE_VOLUME], &["rm", &path], PROMPT)
            .await
            .map(drop)
    }

    /// Runs one verb of the script; the lines it wrote to its standard output.
    async fn run(
        &self,
        doing: &str,
        rights: Rights,
        volumes: &[&str],
        args: &[&str],
        deadline: Duration,
    ) -> Result<Vec<String>, DiskError> {
        let mut lines = Vec::new();
        let spec = self.spec(rights, volumes, args);
        let ran = self.engine.run_to_completion(&spec, deadline, |stream, line| {
            if stream == OutputStream::Stdout {
                lines.push(line.to_owned());
            }
        });
        ran.await.map_err(|source| DiskError::Helper { doing: doing.to_owned(), source })?;
        Ok(lines)
    }

    fn spec(&self, rights: Rights, volumes: &[&str], args: &[&str]) -> ContainerSpec {
        let mut mounts: Vec<Mount> = volumes
            .iter()
            .map(|volume| Mount::Volume {
                name: (*volume).to_owned(),
                target: in_volume(volume, ""),
                access: Access::ReadWrite,
            })
            .collect();
        // The image files belong to root, whatever user the image has.
        let mut cap_add = vec!["DAC_OVERRIDE".to_owned()];
        let (mut rules, mut seccomp) = (vec![], Seccomp::Default);
        if rights == Rights::LoopDevices {
            mounts.push(Mount::Bind {
                host: "/dev".to_owned(),
                target: "/dev".to_owned(),
                access: Access::ReadWrite,
            });
            cap_add.push("SYS_ADMIN".to_owned());
            // Block devices of the loop driver, and /dev/loop-control.
            rules.extend(["b 7:* rwm".to_owned(), "c 10:237 rwm".to_owned()]);
            seccomp = Seccomp::Unconfined;
        }
        let script = ["-c", SCRIPT, "disk.sh"].iter().chain(args).map(|arg| (*arg).to_owned());
        ContainerSpec {
            name: format!("stall-lab-{}-helper-{:08x}", self.run_id, rand::random::<u32>()),
            image: self.image.clone(),
            user: Some("0:0".to_owned()),
            entrypoint: Some(vec!["sh".to_owned()]),
            cmd: script.collect(),
            labels: labels::of(&self.run_id, Kind::Helper),
            mounts,
            cap_add,
            cap_drop: vec!["ALL".to_owned()],
            seccomp,
            device_cgroup_rules: rules,
            ..ContainerSpec::default()
        }
    }
}

/// Path of a file of a volume as the helper sees it.
fn in_volume(volume: &str, file: &str) -> String {
    format!("{MOUNTS}/{volume}/{file}").trim_end_matches('/').to_owned()
}

fn no_answer(doing: &str, lines: &[String]) -> DiskError {
    DiskError::Answer { doing: doing.to_owned(), answer: lines.join("\n") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::docker::NetworkMode;
    use crate::docker::fake::FakeEngine;

    #[tokio::test]
    async fn the_helper_has_the_rights_that_its_work_needs_no_network_and_no_other_right() {
        let fake = FakeEngine::start();
        let helper = DiskHelper::new(fake.connect().await, "image", "r1");
        let files = helper.spec(Rights::Files, &["v"], &["ls"]);
        assert_eq!(
            (files.cap_add.as_slice(), files.seccomp),
            (["DAC_OVERRIDE".to_owned()].as_slice(), Seccomp::Default)
        );
        assert!(files.device_cgroup_rules.is_empty() && files.mounts.len() == 1);
        let loops = helper.spec(Rights::LoopDevices, &["v"], &["attach"]);
        assert_eq!(loops.cap_add, ["DAC_OVERRIDE", "SYS_ADMIN"]);
        assert_eq!(loops.device_cgroup_rules, ["b 7:* rwm", "c 10:237 rwm"]);
        for spec in [files, loops] {
            assert_eq!(
                (spec.network, spec.cap_drop.as_slice()),
                (NetworkMode::None, ["ALL".to_owned()].as_slice())
            );
            assert!(spec.published_ports.is_empty() && spec.env.is_empty());
        }
    }

    #[tokio::test]
    async fn what_a_verb_is_given_is_an_argument_and_no_part_of_the_script() {
        let helper = DiskHelper::new(FakeEngine::start().connect().await, "image", "r1");
        let hostile = "x; reboot $(reboot) `reboot`";
        let spec = helper.spec(Rights::Files, &["v"], &["rm", hostile]);
        assert_eq!(spec.cmd, ["-c", SCRIPT, "disk.sh", "rm", hostile]);
    }
}
