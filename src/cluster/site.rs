//! Docker as the place where arms are run.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use async_trait::async_trait;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::lease::Lease;
use super::logs;
use super::pair::DockerPair;
use super::raise::{Cluster, Order};
use super::teardown::{Scope, tear_down};
use crate::disk::{Cache, DiskHelper, GoldenKey, Room};
use crate::docker::{Engine, EngineFacts, PullProgress};
use crate::human;
use crate::image::{self, ImageProgress, ImageRequest, ServerImage};
use crate::profile::Profile;
use crate::progress::Progress;
use crate::repro::{ArmOrder, Ground, Raised, Site};
use crate::store::{NodeInfo, Platform, Server, WalAccount, WalModel};
use crate::wait_for::{Pair, PairSite};
use crate::wal::Ranges;

/// An engine, and the server that is to run on it.
#[derive(Debug)]
pub struct DockerSite {
    engine: Engine,
    request: ImageRequest,
    run_id: String,
    image: OnceCell<ServerImage>,
}

impl DockerSite {
    /// The engine with the server that is asked for; nothing is made yet.
    #[must_use]
    pub fn new(engine: Engine, request: ImageRequest) -> Self {
        let run_id = format!("prepare-{:08x}", rand::random::<u32>());
        Self { engine, request, run_id, image: OnceCell::new() }
    }

    fn image(&self) -> anyhow::Result<&ServerImage> {
        self.image.get().context("no server image has been got ready")
    }

    async fn resolve_image(&self, progress: &Progress) -> anyhow::Result<ServerImage> {
        progress.step("finding a server image");
        let image = image::resolve(&self.engine, &self.request, &mut |told| tell(progress, told)).await?;
        progress.note(&format!("PostgreSQL {} ({}), image {}", image.version, image.source, image.reference));
        if let Some(note) = &image.note {
            progress.note(note);
        }
        Ok(image)
    }

    /// Room for all that will be made, checked before anything is written.
    async fn check_room(
        &self,
        cache: &Cache<'_>,
        helper: &DiskHelper,
        profiles: &[&Profile],
    ) -> anyhow::Result<()> {
        let image = self.image()?;
        let (mut needed, mut golden) = (0, BTreeMap::new());
        for profile in profiles {
            let room = Room::of(profile);
            let key = GoldenKey::of(profile, image, room.image_bytes());
            if !cache.has(&key).await? {
                golden.insert(key.file_name(), room.golden);
            }
            // Arms follow each other: the nodes of one are gone before those of the next are made.
            needed = needed.max(room.node * (1 + profile.standby.len() as u64));
        }
        needed += golden.values().sum::<u64>();
        let free = helper.free_bytes().await?;
        ensure!(
            free >= needed,
            "the engine's disk has {} free and the run may take {}: free some, `stall-lab cache remove` loaded \
             databases, or take a smaller profile",
            human::bytes(free as f64),
            human::bytes(needed as f64)
        );
        Ok(())
    }

    /// Sets up an order's nodes.
    async fn cluster(&self, order: ArmOrder, progress: &Progress) -> anyhow::Result<Cluster> {
        let image = self.image()?.clone();
        let golden =
            GoldenKey::of(&order.profile, &image, Room::of(&order.profile).image_bytes()).file_name();
        let ArmOrder { run_id, profile, caps, logs } = order;
        let order = Order { run_id, profile, image, golden, caps, logs };
        let (run_id, logs) = (order.run_id.clone(), order.logs.clone());
        let raised = Cluster::raise(&self.engine, order, &|step| progress.step(step)).await;
        if raised.is_err()
            && let Err(error) = logs::save(&self.engine, &run_id, &logs).await
        {
            progress.note(&format!("the servers' logs could not be saved: {error:#}"));
        }
        let cluster = raised?;
        if let Some(node) = cluster.nodes().find(|node| !node.disk.direct_io) {
            progress.note(&format!(
                "{}: the engine's file system does not do direct I/O; reads that its page cache serves count against \
                 the cap as others do, but cost the disk below nothing",
                node.name
            ));
        }
        Ok(cluster)
    }
}

#[async_trait]
impl Site for DockerSite {
    async fn prepare(&self, profiles: &[&Profile], progress: &Progress) -> anyhow::Result<Ground> {
        let _lease = Lease::take(&self.run_id).context("the lock file of the run cannot be made")?;
        let facts = self.engine.facts().await?;
        let image = self.image.get_or_try_init(|| self.resolve_image(progress)).await?;
        let helper = DiskHelper::new(self.engine.clone(), &image.reference, &self.run_id);
        let cache = Cache::new(&self.engine, &helper, &self.run_id);
        cache.prepare().await?;
        self.check_room(&cache, &helper, profiles).await?;
        for profile in profiles {
            let key = GoldenKey::of(profile, image, Room::of(profile).image_bytes());
            if !cache.has(&key).await? {
                progress
                    .step(&format!("loading pgbench at scale {}, once for all runs", profile.workload.scale));
                cache.load(&key, image, &mut |step| progress.detail(step)).await?;
            }
        }
        Ok(Ground { server: server(image), platform: platform(facts) })
    }

    async fn abandon(&self, progress: &Progress) {
        Site::tear_down(self, &self.run_id, progress).await;
    }

    async fn raise(&self, order: ArmOrder, progress: &Progress) -> anyhow::Result<Box<dyn Raised>> {
        Ok(Box::new(self.cluster(order, progress).await?))
    }

    async fn tear_down(&self, run_id: &str, progress: &Progress) {
        progress.step("removing containers, disks and networks");
        let image = self.image.get().map(|image| image.reference.as_str());
        match tear_down(&self.engine, &Scope::Run(run_id.to_owned()), image).await {
            Ok(removal) => removal.failures.iter().for_each(|failure| {
                progress.note(&format!("could not remove {failure}; `stall-lab clean` tries again"));
            }),
            Err(error) => {
                progress.note(&format!("nothing could be removed: {error}; `stall-lab clean` tries again"))
            }
        }
    }
}

#[async_trait]
impl PairSite for DockerSite {
    async fn version(&self, progress: &Progress) -> anyhow::Result<String> {
        let image = self.image.get_or_try_init(|| self.resolve_image(progress)).await?;
        Ok(image.version.short().to_owned())
    }

    async fn prepare(&self, profile: &Profile, progress: &Progress) -> anyhow::Result<Ground> {
        Site::prepare(self, &[profile], progress).await
    }

    async fn raise(&self, order: ArmOrder, progress: &Progress) -> anyhow::Result<Arc<dyn Pair>> {
        Ok(Arc::new(DockerPair::new(self.cluster(order, progress).await?)?))
    }

    async fn tear_down(&self, run_id: &str, progress: &Progress) {
        Site::tear_down(self, run_id, progress).await;
    }

    async fn abandon(&self, progress: &Progress) {
        Site::abandon(self, progress).await;
    }
}

#[async_trait]
impl Raised for Cluster {
    async fn describe(&self) -> anyhow::Result<Vec<NodeInfo>> {
        let mut settings = self.settings().await?;
        Ok(self
            .nodes()
            .map(|node| NodeInfo {
                name: node.name.clone(),
                role: node.role,
                read_iops_cap: node.read_iops_cap,
                write_iops_cap: node.write_iops_cap,
                cap_proof: node.cap_proof,
                read_ahead_kb: Some(node.disk.read_ahead_kb),
                settings: settings.remove(&node.name).unwrap_or_default(),
            })
            .collect())
    }

    async fn save_logs(&self) -> anyhow::Result<()> {
        logs::save(&self.engine, &self.order.run_id, &self.order.logs).await
    }

    async fn account_for_wal(
        &self,
        ranges: &Ranges,
        model: WalModel,
        progress: &Progress,
        stop: &CancellationToken,
    ) -> anyhow::Result<WalAccount> {
        let on_share = |share| progress.detail(&human::percent(share));
        Cluster::account_for_wal(self, ranges, model, &on_share, stop).await
    }

    fn how_to_connect(&self) -> String {
        let nodes = self.nodes().map(|node| {
            let psql = format!("{}/psql", self.order.image.bindir);
            format!("  {}: docker exec -it {} {psql} -h /tmp -U postgres postgres", node.name, node.container)
        });
        let nodes: Vec<String> = nodes.collect();
        format!("the nodes stay up. To connect:\n{}\nTo remove them: stall-lab clean", nodes.join("\n"))
    }
}

fn tell(progress: &Progress, told: ImageProgress) {
    match told {
        ImageProgress::Step(step) => progress.step(&step),
        ImageProgress::Pull(pull) => progress.detail(&pulled(&pull)),
        ImageProgress::Output(line) => progress.detail(&line),
    }
}

fn pulled(pull: &PullProgress) -> String {
    format!("{} of {}", human::bytes(pull.done_bytes as f64), human::bytes(pull.total_bytes as f64))
}

fn server(image: &ServerImage) -> Server {
    Server {
        // Without the program's name, as `server_version` shows it: `18.6 (Debian 18.6-3)`.
        version: image.version.text.trim_start_matches("postgres (PostgreSQL) ").to_owned(),
        version_num: image.version.number,
        image: image.reference.clone(),
        image_id: image.id.clone(),
        source: image.source.to_string(),
        note: image.note.clone(),
    }
}

fn platform(facts: EngineFacts) -> Platform {
    let known = |fact: Option<String>| fact.unwrap_or_else(|| "not known".to_owned());
    Platform {
        engine: format!("{} {}", facts.platform, known(facts.engine_version)),
        api_version: facts.api_version,
        kernel: known(facts.kernel),
        os: known(facts.os),
        arch: known(facts.arch),
        cgroup_version: known(facts.cgroup_version),
        cgroup_driver: known(facts.cgroup_driver),
        storage_driver: known(facts.storage_driver),
        cpus: facts.cpus,
        memory_bytes: facts.memory_bytes,
    }
}
