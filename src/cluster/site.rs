//! Docker as the place where arms are run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, ensure};
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::lease::Lease;
use super::logs;
use super::raise::{Cluster, NodeSettings, Order};
use super::servers::{self, KnownServer, KnownServers};
use super::teardown::{Scope, tear_down};
use crate::disk::{Cache, DiskHelper, GoldenKey, Room};
use crate::docker::{Engine, EngineFacts, PullProgress};
use crate::human;
use crate::image::{ImageProgress, ImageRequest, ServerImage};
use crate::postgres::Endpoint;
use crate::progress::Progress;
use crate::repro::{Arm, ArmOrder, Ground, Raised, Site};
use crate::store::{NodeInfo, OwnBuild, Platform, Role, Server, WalAccount, WalModel};
use crate::wal::Ranges;

/// An engine, and the servers that have been got ready on it.
#[derive(Debug)]
pub struct DockerSite {
    engine: Engine,
    run_id: String,
    servers: Mutex<KnownServers>,
}

impl DockerSite {
    /// The engine; nothing is made yet.
    #[must_use]
    pub fn new(engine: Engine) -> Self {
        let run_id = format!("prepare-{:08x}", rand::random::<u32>());
        Self { engine, run_id, servers: Mutex::default() }
    }

    /// What has been got ready. Nothing panics while it is held.
    fn servers(&self) -> MutexGuard<'_, KnownServers> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn server(&self, request: &ImageRequest) -> anyhow::Result<KnownServer> {
        self.servers().get(request).cloned().context("no server image has been got ready")
    }

    /// Finds or builds what the arms run, each server once.
    pub(super) async fn find_servers(&self, arms: &[Arm], progress: &Progress) -> anyhow::Result<()> {
        let settings = arms.iter().flat_map(|arm| arm.profile.setting_names()).collect();
        for arm in arms {
            if self.servers().contains_key(&arm.server) {
                continue;
            }
            let on_progress = &mut |told| tell(progress, told);
            let server =
                servers::find(&self.engine, &arm.server, &settings, &self.run_id, on_progress).await?;
            let image = &server.image;
            progress
                .note(&format!("PostgreSQL {} ({}), image {}", image.version, image.source, image.reference));
            if let Some(note) = &image.note {
                progress.note(note);
            }
            self.servers().insert(arm.server.clone(), server);
        }
        servers::refuse_misspelt(&self.servers())?;
        for (request, server) in self.servers().iter() {
            let of_server = arms.iter().filter(|arm| arm.server == *request);
            let left_out: BTreeSet<String> =
                of_server.flat_map(|arm| server.unknown_of(&arm.profile)).collect();
            if !left_out.is_empty() {
                let names = Vec::from_iter(left_out).join(", ");
                progress.note(&format!("PostgreSQL {} has no {names}: left out", server.image.version));
            }
        }
        Ok(())
    }

    /// The loaded databases that the arms need, each once.
    fn databases(&self, arms: &[Arm]) -> anyhow::Result<BTreeMap<String, Database>> {
        let database = |arm: &Arm| {
            let image = self.server(&arm.server)?.image;
            let room = Room::of(&arm.profile);
            let key = GoldenKey::of(&arm.profile, &image, room.image);
            Ok((key.file_name(), Database { key, image, room }))
        };
        arms.iter().map(database).collect()
    }

    /// Room for all that will be made, checked before anything is written.
    async fn check_room(
        &self,
        helper: &DiskHelper,
        arms: &[Arm],
        missing: &[&Database],
    ) -> anyhow::Result<()> {
        // Arms follow each other: the nodes of one are gone before those of the next are made.
        let nodes = |arm: &Arm| Room::of(&arm.profile).node * (1 + arm.profile.standby.len() as u64);
        let needed = arms.iter().map(nodes).max().unwrap_or_default()
            + missing.iter().map(|database| database.room.golden).sum::<u64>();
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
    pub(super) async fn cluster(&self, order: ArmOrder, progress: &Progress) -> anyhow::Result<Cluster> {
        let server = self.server(&order.server)?;
        let image = server.image.clone();
        let golden = GoldenKey::of(&order.profile, &image, Room::of(&order.profile).image).file_name();
        let ArmOrder { run_id, profile, caps, logs, .. } = order;
        let unknown = server.unknown_of(&profile);
        let profile = profile.without_settings(&unknown);
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

/// A loaded database that is needed.
struct Database {
    key: GoldenKey,
    image: ServerImage,
    room: Room,
}

#[async_trait]
impl Site for DockerSite {
    async fn prepare(&self, arms: &[Arm], progress: &Progress) -> anyhow::Result<Vec<Ground>> {
        let _lease = Lease::take(&self.run_id).context("the lock file of the run cannot be made")?;
        let facts = self.engine.facts().await?;
        self.find_servers(arms, progress).await?;
        let databases = self.databases(arms)?;
        let Some(any) = databases.values().next() else { return Ok(vec![]) };
        let helper = DiskHelper::new(self.engine.clone(), &any.image.reference, &self.run_id);
        let cache = Cache::new(&self.engine, &helper, &self.run_id);
        cache.prepare().await?;
        let there = cache.list().await?;
        let is_there = |file: &String| there.iter().any(|database| database.file == *file);
        let missing: Vec<&Database> =
            databases.iter().filter(|(file, _)| !is_there(file)).map(|(_, database)| database).collect();
        self.check_room(&helper, arms, &missing).await?;
        for Database { key, image, .. } in missing {
            let (scale, version) = (key.scale, &image.version);
            progress.step(&format!(
                "loading pgbench at scale {scale} into PostgreSQL {version}, once for all runs"
            ));
            cache.load(key, image, &mut |step| progress.detail(step)).await?;
        }
        let platform = platform(facts);
        let ground = |arm: &Arm| {
            let known = self.server(&arm.server)?;
            let server = server(&known.image, known.unknown_of(&arm.profile));
            Ok(Ground { server, platform: platform.clone() })
        };
        arms.iter().map(ground).collect()
    }

    async fn abandon(&self, progress: &Progress) {
        self.tear_down(&self.run_id, progress).await;
    }

    async fn raise(&self, order: ArmOrder, progress: &Progress) -> anyhow::Result<Box<dyn Raised>> {
        Ok(Box::new(self.cluster(order, progress).await?))
    }

    async fn tear_down(&self, run_id: &str, progress: &Progress) {
        progress.step("removing containers, disks and networks");
        let image = self.servers().values().next().map(|server| server.image.reference.clone());
        match tear_down(&self.engine, &Scope::Run(run_id.to_owned()), image.as_deref()).await {
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
impl Raised for Cluster {
    async fn describe(&self) -> anyhow::Result<Vec<NodeInfo>> {
        let mut settings = self.settings().await?;
        Ok(self
            .nodes()
            .map(|node| {
                let NodeSettings { set, left } = settings.remove(&node.name).unwrap_or_default();
                NodeInfo {
                    name: node.name.clone(),
                    role: node.role,
                    read_iops_cap: node.read_iops_cap,
                    write_iops_cap: node.write_iops_cap,
                    cap_proof: node.cap_proof,
                    read_ahead_kb: Some(node.disk.read_ahead_kb),
                    settings: set,
                    defaults: left,
                }
            })
            .collect())
    }

    fn endpoints(&self) -> Vec<(Role, Endpoint)> {
        self.nodes().map(|node| (node.role, Endpoint::from(&node.access))).collect()
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

fn server(image: &ServerImage, unknown_settings: Vec<String>) -> Server {
    let build = image.build.as_ref().map(|build| OwnBuild {
        prefix: build.prefix.display().to_string(),
        version: build.version.clone(),
        configure: build.configure.clone(),
    });
    Server {
        // Without the program's name, as `server_version` shows it: `18.6 (Debian 18.6-3)`.
        version: image.version.text.trim_start_matches("postgres (PostgreSQL) ").to_owned(),
        version_num: image.version.number,
        image: Some(image.reference.clone()),
        image_id: Some(image.id.clone()),
        source: image.source.to_string(),
        note: image.note.clone(),
        build,
        unknown_settings,
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
