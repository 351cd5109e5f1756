//! Loaded databases, kept for later runs.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use jiff::Timestamp;

use super::{AttachedDisk, DiskError, DiskHelper};
use crate::docker::labels::{self, Kind};
use crate::docker::{Access, ContainerSpec, DockerError, Engine, Limits, Mount};
use crate::image::ServerImage;
use crate::profile::Profile;

/// The loader's script.
const SCRIPT: &str = include_str!("../../docker/load.sh");

/// How long a load may take: scale 640 takes about two minutes on a fast disk.
const LOAD: Duration = Duration::from_secs(2 * 3600);

/// Beginning of the names of files that a load is still writing; one that is left over is of no use.
pub const LOADING: &str = "stall-lab-loading-";

/// Beginning of the names of files that hold a loaded database.
const GOLDEN: &str = "stall-lab-golden-";

/// Name of the volume that holds the loaded databases.
pub const CACHE_VOLUME: &str = "stall-lab-cache";

/// What two databases must share to be the same to an experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoldenKey {
    /// Version, as in `18.6` or `19rc1`: the catalogues of pre-releases differ.
    pub version: String,
    /// User and group of the image's servers, to whom the data directory has to belong.
    pub owner: (u32, u32),
    /// Digits of the image's id, for a server of the user's own: its catalogue may differ from the release's.
    pub build: Option<String>,
    /// pgbench scale.
    pub scale: u32,
    /// Data checksums.
    pub checksums: bool,
    /// Size of the image file, MB: what can grow in it.
    pub megabytes: u64,
}

impl GoldenKey {
    /// The database that this profile needs on this server.
    #[must_use]
    pub fn of(profile: &Profile, image: &ServerImage, image_bytes: u64) -> Self {
        let digits = image.id.trim_start_matches("sha256:");
        Self {
            version: image.version.short().to_owned(),
            owner: (image.uid, image.gid),
            build: (!image.source.is_stock()).then(|| digits.chars().take(12).collect()),
            scale: profile.workload.scale,
            checksums: profile.postgres.data_checksums.are_on(image.version.number),
            megabytes: image_bytes.div_ceil(1 << 20),
        }
    }

    /// Name of its file in the cache. Unique, since losetup shows a file without its mount.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{GOLDEN}{self}.img")
    }
}

impl fmt::Display for GoldenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pg{}-u{}-g{}", self.version, self.owner.0, self.owner.1)?;
        if let Some(build) = &self.build {
            write!(f, "-{build}")?;
        }
        let checksums = if self.checksums { "checksums" } else { "nochecksums" };
        write!(f, "-s{}-{checksums}-{}MB", self.scale, self.megabytes)
    }
}

/// An entry of the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedDatabase {
    /// Name of its file.
    pub file: String,
    /// Bytes it takes on disk.
    pub bytes_on_disk: u64,
    /// When it was loaded.
    pub loaded: Timestamp,
}

impl CachedDatabase {
    /// What it is, without the parts of the file's name that all have in common.
    #[must_use]
    pub fn name(&self) -> &str {
        self.file.trim_start_matches(GOLDEN).trim_end_matches(".img")
    }
}

/// The loaded databases, and the making of them.
#[derive(Debug)]
pub struct Cache<'a> {
    engine: &'a Engine,
    helper: &'a DiskHelper,
    run_id: &'a str,
}

/// What a loader says while it works.
pub type OnStep<'a> = &'a mut (dyn FnMut(&str) + Send);

impl<'a> Cache<'a> {
    /// The cache, as seen by a run.
    #[must_use]
    pub fn new(engine: &'a Engine, helper: &'a DiskHelper, run_id: &'a str) -> Self {
        Self { engine, helper, run_id }
    }

    /// Makes the cache's volume; one that is there stays as it is.
    ///
    /// # Errors
    /// When the engine refuses.
    pub async fn prepare(&self) -> Result<(), DockerError> {
        self.engine
            .create_volume(CACHE_VOLUME, &labels::of(labels::CACHE, Kind::Images), &BTreeMap::new())
            .await
    }

    /// Every database in the cache, by name.
    ///
    /// # Errors
    /// When the helper fails.
    pub async fn list(&self) -> Result<Vec<CachedDatabase>, DiskError> {
        let files = self.helper.files(CACHE_VOLUME).await?;
        let database = |(file, bytes_on_disk, modified): (String, u64, i64)| CachedDatabase {
            file,
            bytes_on_disk,
            loaded: Timestamp::from_second(modified).unwrap_or(Timestamp::UNIX_EPOCH),
        };
        Ok(files.into_iter().filter(|(file, ..)| file.starts_with(GOLDEN)).map(database).collect())
    }

    /// Is there a file of a load that is not finished.
    ///
    /// # Errors
    /// When the helper fails.
    pub async fn is_loading(&self) -> Result<bool, DiskError> {
        Ok(self.helper.files(CACHE_VOLUME).await?.iter().any(|(file, ..)| file.starts_with(LOADING)))
    }

    /// Is this database there.
    ///
    /// # Errors
    /// When the helper fails.
    pub async fn has(&self, key: &GoldenKey) -> Result<bool, DiskError> {
        let file = key.file_name();
        Ok(self.list().await?.iter().any(|database| database.file == file))
    }

    /// Loads a database into the cache. It gets its name when it is whole, so that a load that was cut short is
    /// never taken for one.
    ///
    /// # Errors
    /// When any step fails; what was made until then is removed.
    pub async fn load(
        &self,
        key: &GoldenKey,
        image: &ServerImage,
        on_step: OnStep<'_>,
    ) -> Result<(), DiskError> {
        let file = format!("{LOADING}{}.img", self.run_id);
        let loaded = self.load_into(&file, key, image, on_step).await;
        // The devices have to go whether it worked or not.
        let detached = self.helper.detach(CACHE_VOLUME, std::slice::from_ref(&file)).await;
        match (loaded, detached) {
            (Ok(()), Ok(())) => self.helper.rename_in_cache(&file, &key.file_name()).await,
            // A file whose devices are still attached keeps its name: by it `clean` finds them.
            (Ok(()), Err(error)) => Err(error),
            (Err(error), Err(_)) => Err(error),
            (Err(error), Ok(())) => {
                if let Err(also) = self.helper.remove_from_cache(&file).await {
                    tracing::warn!("{file} stays in the cache volume, `stall-lab clean` removes it: {also}");
                }
                Err(error)
            }
        }
    }

    async fn load_into(
        &self,
        file: &str,
        key: &GoldenKey,
        image: &ServerImage,
        on_step: OnStep<'_>,
    ) -> Result<(), DiskError> {
        on_step("making a file system");
        self.helper.format(CACHE_VOLUME, file, key.megabytes << 20, (image.uid, image.gid)).await?;
        // The kernel's usual read-ahead: loading reads little.
        let disk = self.helper.attach("loader", CACHE_VOLUME, file, 128).await?;
        let failed = |source| DiskError::Helper { doing: "loading the database".to_owned(), source };
        let volume = format!("stall-lab-{}-loader", self.run_id);
        mount_as_volume(self.engine, &volume, self.run_id, &disk).await.map_err(failed)?;
        let spec = self.loader(&volume, key, image);
        let ran =
            self.engine.run_to_completion(&spec, LOAD, |_, line| on_step(line.trim_start_matches("step ")));
        let ran = ran.await;
        let removed = self.engine.remove_volume(&volume).await;
        ran.and(removed).map_err(failed)
    }

    fn loader(&self, volume: &str, key: &GoldenKey, image: &ServerImage) -> ContainerSpec {
        let checksums = if key.checksums { "on" } else { "off" };
        let scale = key.scale.to_string();
        let args = ["-c", SCRIPT, "load.sh", &image.bindir, PGDATA, &scale, checksums];
        ContainerSpec {
            name: format!("stall-lab-{}-loader", self.run_id),
            image: image.reference.clone(),
            user: Some(format!("{}:{}", image.uid, image.gid)),
            entrypoint: Some(vec!["sh".to_owned()]),
            cmd: args.map(str::to_owned).into(),
            labels: labels::of(self.run_id, Kind::Helper),
            mounts: vec![data_mount(volume)],
            cap_drop: vec!["ALL".to_owned()],
            // Parallel index builds allocate maintenance_work_mem there; the engine's default is 64 MB.
            limits: Limits { shm_bytes: Some(1 << 30), ..Limits::default() },
            ..ContainerSpec::default()
        }
    }
}

/// Where a node's disk is mounted. The data directory is below it: the root of a file system holds `lost+found`.
const MOUNT: &str = "/pg";

/// The data directory of every node.
pub const PGDATA: &str = "/pg/data";

/// The mount of a node's disk.
#[must_use]
pub fn data_mount(volume: &str) -> Mount {
    Mount::Volume { name: volume.to_owned(), target: MOUNT.to_owned(), access: Access::ReadWrite }
}

/// Makes a volume that mounts the upper device of a disk.
///
/// # Errors
/// When the engine refuses.
pub async fn mount_as_volume(
    engine: &Engine,
    volume: &str,
    run_id: &str,
    disk: &AttachedDisk,
) -> Result<(), DockerError> {
    let options =
        [("type", "ext4"), ("device", &disk.upper)].map(|(key, value)| (key.to_owned(), value.to_owned()));
    engine.create_volume(volume, &labels::of(run_id, Kind::Disk), &options.into()).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> GoldenKey {
        GoldenKey {
            version: "18.6".to_owned(),
            owner: (101, 102),
            build: None,
            scale: 20,
            checksums: true,
            megabytes: 2_048,
        }
    }

    #[test]
    fn databases_that_differ_in_anything_have_files_of_different_names() {
        let keys = [
            key(),
            GoldenKey { version: "18.5".to_owned(), ..key() },
            GoldenKey { owner: (999, 102), ..key() },
            GoldenKey { build: Some("0123456789ab".to_owned()), ..key() },
            GoldenKey { scale: 21, ..key() },
            GoldenKey { checksums: false, ..key() },
            GoldenKey { megabytes: 2_049, ..key() },
        ];
        let names: std::collections::BTreeSet<String> = keys.iter().map(GoldenKey::file_name).collect();
        assert_eq!(names.len(), keys.len());
        assert_eq!(key().file_name(), "stall-lab-golden-pg18.6-u101-g102-s20-checksums-2048MB.img");
    }
}
