//! Setting up a cluster: disks, network, primary, standbys, synchronous replication, proof of the caps.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, sleep};

use super::cap::{self, CapError};
use super::config::{Config, PORT, SOCKET_DIR};
use super::lease::Lease;
use super::load::Load;
use super::node::{
    Blueprint, Node, disk_volume, image_file, images_volume, lab_network, limits, replication_network,
};
use super::version;
use crate::disk::{AttachedDisk, Caps, DiskError, DiskHelper, mount_as_volume};
use crate::docker::labels::{self, Kind};
use crate::docker::{Cause, DockerError, Engine, ExecSpec, Reach};
use crate::human::in_full;
use crate::image::ServerImage;
use crate::measure::LoadFeed;
use crate::postgres::{Access, Connection, PostgresError, ReplicationState};
use crate::profile::{Iops, Machine, PRIMARY, Profile, Settings, VERSION_DEPENDENT};
use crate::store::Role;

/// How long a server may take to accept connections, a standby to stream. A cold cache behind a low cap is slow.
pub(super) const PROMPT: Duration = Duration::from_secs(180);

/// Pause between two attempts at a server that is starting.
const RETRY: Duration = Duration::from_millis(100);

/// How long to go on connecting before looking whether the server still runs.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Holds up replay, and with it the standby's password: set only when the lab has logged in to the standby.
const APPLY_DELAY: &str = "recovery_min_apply_delay";

/// Lines of a server's log that an error carries.
const LOG_LINES: usize = 12;

/// What is to be set up.
#[derive(Debug, Clone)]
pub struct Order {
    /// Label of everything that is made.
    pub run_id: String,
    /// The experiment's profile.
    pub profile: Profile,
    /// What the nodes run.
    pub image: ServerImage,
    /// File of the loaded database in the cache.
    pub golden: String,
    /// Are the disks capped.
    pub caps: Caps,
    /// Where pgbench's output goes.
    pub logs: PathBuf,
}

/// Why a cluster could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum RaiseError {
    /// The engine failed.
    #[error(transparent)]
    Docker(#[from] DockerError),
    /// A disk could not be made.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A server did not do its part.
    #[error(transparent)]
    Postgres(#[from] PostgresError),
    /// A cap does not hold.
    #[error(transparent)]
    Cap(#[from] CapError),
    /// The run cannot be marked as one that goes on.
    #[error("the lock file of the run cannot be made in /tmp")]
    Lease(#[source] std::io::Error),
    /// The server in the image is not the one the image says it has.
    #[error(
        "image {image} runs PostgreSQL {running} and not {expected}, as its label says (server_version_num): its tag was \
         moved; `stall-lab image remove` it and build it again"
    )]
    OtherVersion {
        /// The image.
        image: String,
        /// `server_version_num` by the image's label.
        expected: u32,
        /// `server_version_num` by the server.
        running: u32,
    },
    /// A server did not start.
    #[error("{node} did not start: {why}\nlast lines of its log:\n{log}")]
    Start {
        /// The node.
        node: String,
        /// What was met.
        why: String,
        /// The end of its log.
        log: String,
    },
}

/// A cluster that is up, streaming, and proved to be capped.
#[derive(Debug)]
pub struct Cluster {
    pub(super) engine: Engine,
    pub(super) order: Order,
    pub(super) primary: Node,
    pub(super) standbys: Vec<Node>,
    pub(super) feed: Arc<LoadFeed>,
    pub(super) load: Mutex<Option<Load>>,
    /// For the lab's own statements on the primary.
    pub(super) control: Connection,
    /// For the update's transaction, which may hang.
    pub(super) writer: Connection,
    /// For the lab's own questions to the standbys, by node.
    pub(super) standby_control: HashMap<String, Connection>,
    /// The node that a fault has taken down and not yet put right.
    pub(super) down: watch::Sender<Option<String>>,
    /// Tells `clean` that the run goes on.
    _lease: Lease,
}

impl Cluster {
    /// Sets up the cluster. `on_step` is told what is being done.
    ///
    /// What was made stays when this fails or is dropped: it carries the run's label and goes with
    /// [`tear_down`](super::tear_down).
    ///
    /// # Errors
    /// When any step fails; the message names the node.
    pub async fn raise(
        engine: &Engine,
        order: Order,
        on_step: &(dyn Fn(&str) + Sync),
    ) -> Result<Self, RaiseError> {
        let lease = Lease::take(&order.run_id).map_err(RaiseError::Lease)?;
        let site = Site { engine, order: &order, password: fresh_password() };
        on_step("copying the loaded database, a disk for each node");
        let of_run = labels::of(&order.run_id, Kind::Network);
        engine.create_network(&lab_network(&order.run_id), &of_run, Reach::Published).await?;
        engine.create_network(&replication_network(&order.run_id), &of_run, Reach::Internal).await?;
        let images = images_volume(&order.run_id);
        engine.create_volume(&images, &labels::of(&order.run_id, Kind::Images), &[].into()).await?;
        let primary_disk = site.disk(PRIMARY, &order.profile.primary).await?;
        let mut standby_disks = Vec::new();
        for standby in &order.profile.standby {
            standby_disks.push(site.disk(&standby.name, &standby.machine).await?);
        }

        on_step("starting the primary");
        let mut primary = site.start(PRIMARY, Role::Primary, &order.profile.primary, primary_disk).await?;
        site.set_password(&primary).await?;
        let control = site.connect(&primary).await?;
        version::check(&control, &order.image).await?;
        let writer = site.connect(&primary).await?;

        on_step("starting the standbys");
        let mut standbys = Vec::new();
        let mut standby_control = HashMap::new();
        for (standby, disk) in order.profile.standby.iter().zip(standby_disks) {
            standbys.push(site.start(&standby.name, Role::Standby, &standby.machine, disk).await?);
        }
        for node in &standbys {
            let connection = site.connect(node).await?;
            site.delay_replay(&node.name, &connection).await?;
            standby_control.insert(node.name.clone(), connection);
        }
        on_step("waiting for the standbys to stream");
        site.make_synchronous(&control).await?;
        if order.caps == Caps::On {
            on_step("proving the caps");
            let nodes = std::iter::once(&mut primary).chain(&mut standbys);
            try_join_all(nodes.map(|node| prove_cap(engine, node))).await?;
        }
        let (feed, load) = (Arc::default(), Mutex::default());
        Ok(Self {
            engine: engine.clone(),
            order,
            primary,
            standbys,
            feed,
            load,
            control,
            writer,
            standby_control,
            down: watch::Sender::new(None),
            _lease: lease,
        })
    }

    /// The nodes, the primary first.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        std::iter::once(&self.primary).chain(&self.standbys)
    }

    /// Settings of each node, by node. They hold no password.
    ///
    /// # Errors
    /// When a server does not answer.
    pub async fn settings(&self) -> Result<HashMap<String, NodeSettings>, PostgresError> {
        let mut settings = HashMap::new();
        let connections = std::iter::once((&self.primary.name, &self.control)).chain(&self.standby_control);
        for (node, connection) in connections {
            let (set, left) = tokio::try_join!(
                connection.changed_settings(),
                connection.default_settings(&VERSION_DEPENDENT)
            )?;
            settings.insert(node.clone(), NodeSettings { set, left });
        }
        Ok(settings)
    }
}

/// What a server reports of its settings.
#[derive(Debug, Default)]
pub struct NodeSettings {
    /// Those that its configuration sets.
    pub set: Settings,
    /// Those that are left to it and depend on its version.
    pub left: Settings,
}

/// A cluster while it is set up.
struct Site<'a> {
    engine: &'a Engine,
    order: &'a Order,
    password: String,
}

impl Site<'_> {
    /// A copy of the loaded database on a disk of its own.
    async fn disk(&self, node: &str, machine: &Machine) -> Result<AttachedDisk, RaiseError> {
        let Order { run_id, image, golden, .. } = self.order;
        let helper = DiskHelper::new(self.engine.clone(), &image.reference, run_id);
        let (volume, file) = (images_volume(run_id), image_file(run_id, node));
        helper.copy_from_cache(golden, &volume, &file).await?;
        let disk = helper.attach(node, &volume, &file, machine.read_ahead_kb).await?;
        mount_as_volume(self.engine, &disk_volume(run_id, node), run_id, &disk).await?;
        Ok(disk)
    }

    /// Creates a node's container, reads its limits back, and starts it.
    async fn start(
        &self,
        name: &str,
        role: Role,
        machine: &Machine,
        disk: AttachedDisk,
    ) -> Result<Node, RaiseError> {
        let Order { run_id, profile, image, caps, .. } = self.order;
        let blueprint = Blueprint { run_id, name, role, image, limits: limits(machine, &disk, *caps) };
        let (container, spec) = (blueprint.container(), blueprint.spec());
        self.engine.create_container(&spec).await?;
        // Under its name only here: where the lab's own connections go, nodes do not find each other.
        self.engine.connect_network(&replication_network(run_id), &container, name).await?;
        let mut settings = profile.effective_settings(name);
        settings.remove(APPLY_DELAY);
        let config =
            Config { node: name, role, primary: PRIMARY, settings: &settings, password: &self.password };
        self.engine.upload(&container, &config.files(image)).await?;
        self.engine.start_container(&container).await?;
        let gone = || DockerError::StartContainer {
            name: container.clone(),
            cause: Cause::Reported("it is gone".to_owned()),
        };
        let state = self.engine.inspect_container(&container).await?.ok_or_else(gone)?;
        cap::compare(name, &spec.limits, &state.limits)?;
        let Some(port) = state.published_ports.get(&PORT).copied() else {
            return Err(self.not_started(name, &container, "no port is published for it").await);
        };
        let access = Access::new(name, port, &self.password);
        let cap = |iops: Iops| iops.cap().filter(|_| *caps == Caps::On);
        Ok(Node {
            name: name.to_owned(),
            role,
            container,
            disk,
            access,
            read_iops_cap: cap(machine.read_iops),
            write_iops_cap: cap(machine.write_iops),
            cap_proof: None,
        })
    }

    /// Gives the role `postgres` its password, as a SCRAM verifier, over the socket on which none is asked for.
    async fn set_password(&self, primary: &Node) -> Result<(), RaiseError> {
        let verifier = postgres_protocol::password::scram_sha_256(self.password.as_bytes());
        // Whatever the profile has the server log: not this.
        let sql = format!(
            "SET log_statement = 'none'; SET log_min_duration_statement = -1; SET log_duration = off;
             SET log_min_error_statement = 'panic'; ALTER ROLE postgres PASSWORD '{verifier}'"
        );
        let psql = format!("{}/psql", self.order.image.bindir);
        let args = [&psql, "-qX", "-v", "ON_ERROR_STOP=1", "-h", SOCKET_DIR, "-U", "postgres", "postgres"];
        let deadline = Instant::now() + PROMPT;
        loop {
            let psql = ExecSpec::new(args);
            let why = match self.engine.exec(&primary.container, &psql, Some(sql.as_bytes()), PROMPT).await {
                Ok(output) if output.exit_code == 0 => return Ok(()),
                Ok(output) => output.stderr.trim().to_owned(),
                // Nothing can be run in a container whose server has ended.
                Err(error) => error.to_string(),
            };
            if Instant::now() >= deadline || !self.is_running(primary).await? {
                return Err(self.not_started(&primary.name, &primary.container, &why).await);
            }
            sleep(RETRY).await;
        }
    }

    /// A connection, as soon as the server accepts one.
    async fn connect(&self, node: &Node) -> Result<Connection, RaiseError> {
        let deadline = Instant::now() + PROMPT;
        loop {
            match Connection::open(&node.access, LOOK_AGAIN).await {
                Ok(connection) => return Ok(connection),
                Err(error) if Instant::now() >= deadline || !self.is_running(node).await? => {
                    return Err(self.not_started(&node.name, &node.container, &in_full(&error)).await);
                }
                Err(_) => {}
            }
        }
    }

    /// Delays the standby's replay, if the profile says so.
    async fn delay_replay(&self, standby: &str, connection: &Connection) -> Result<(), RaiseError> {
        if let Some(delay) = self.order.profile.effective_settings(standby).get(APPLY_DELAY) {
            let sql = format!("ALTER SYSTEM SET {APPLY_DELAY} = '{}'", delay.replace('\'', "''"));
            connection.execute("setting the delay of its replay", &sql).await?;
            connection.execute("reloading the configuration", "SELECT pg_reload_conf()").await?;
        }
        Ok(())
    }

    async fn is_running(&self, node: &Node) -> Result<bool, DockerError> {
        Ok(self.engine.inspect_container(&node.container).await?.is_some_and(|state| state.running))
    }

    /// Sets `synchronous_standby_names`, once every standby streams: before, the first commit would hang.
    async fn make_synchronous(&self, control: &Connection) -> Result<(), RaiseError> {
        let profile = &self.order.profile;
        for standby in &profile.standby {
            let what = format!("{} to stream", standby.name);
            let sql = ReplicationState::Streaming.sql(&standby.name);
            control.wait_until(&what, &sql, PROMPT, |state| state == "streaming").await?;
        }
        let names = profile.synchronous_standby_names();
        if names.is_empty() {
            return Ok(());
        }
        let sql = format!("ALTER SYSTEM SET synchronous_standby_names = '{}'", names.replace('\'', "''"));
        control.execute("setting synchronous_standby_names", &sql).await?;
        control.execute("reloading the configuration", "SELECT pg_reload_conf()").await?;
        for standby in profile.synchronous_candidates() {
            let what = format!("{standby} to be synchronous");
            let sql = ReplicationState::Sync.sql(standby);
            // With FIRST 1 of two the second stays potential: it is known as a candidate, which is enough.
            control.wait_until(&what, &sql, PROMPT, |state| !state.is_empty() && state != "async").await?;
        }
        Ok(())
    }

    async fn not_started(&self, node: &str, container: &str, why: &str) -> RaiseError {
        let log = self.engine.log_tail(container, LOG_LINES).await;
        let log = log.map_or_else(
            |error| error.to_string(),
            |lines| lines.into_iter().map(|(_, line)| line).collect::<Vec<_>>().join("\n"),
        );
        RaiseError::Start { node: node.to_owned(), why: why.to_owned(), log }
    }
}

/// Measures what a node's disk gives, and keeps it with the node.
async fn prove_cap(engine: &Engine, node: &mut Node) -> Result<(), CapError> {
    if let Some(cap) = node.read_iops_cap {
        node.cap_proof = Some(cap::prove(engine, node, cap).await?);
    }
    Ok(())
}

/// 128 random bits, in hexadecimal.
fn fresh_password() -> String {
    format!("{:032x}", rand::random::<u128>())
}
