//! The cluster as `wait-for` sees it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use async_trait::async_trait;
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::Mutex;

use super::machine::MachineSource;
use super::raise::{Cluster, PROMPT};
use super::site::DockerSite;
use crate::disk::Caps;
use crate::docker::Engine;
use crate::image::ImageRequest;
use crate::measure::Source as _;
use crate::postgres::{self, Answer, SqlError};
use crate::profile::Profile;
use crate::progress::Progress;
use crate::repro::{Arm, ArmOrder, Ground, Raised as _, Site as _};
use crate::store::{Metric, NodeInfo};
use crate::wait_for::{Node, Pair, PairOrder, PairSite, Session, Usage};

/// An engine, and the server that is measured on it.
#[derive(Debug)]
pub struct DockerPairSite {
    site: DockerSite,
    server: ImageRequest,
}

impl DockerPairSite {
    /// The engine with the server that is asked for; nothing is made yet.
    #[must_use]
    pub fn new(engine: Engine, server: ImageRequest) -> Self {
        Self { site: DockerSite::new(engine), server }
    }

    fn arm(&self, profile: &Profile) -> Arm {
        Arm { name: "wait-for".to_owned(), profile: profile.clone(), server: self.server.clone() }
    }
}

#[async_trait]
impl PairSite for DockerPairSite {
    async fn version(&self, profile: &Profile, progress: &Progress) -> anyhow::Result<String> {
        self.site.find_servers(&[self.arm(profile)], progress).await?;
        Ok(self.site.server(&self.server)?.image.version.short().to_owned())
    }

    async fn prepare(&self, profile: &Profile, progress: &Progress) -> anyhow::Result<Ground> {
        let ground = self.site.prepare(&[self.arm(profile)], progress).await?;
        ground.into_iter().next().context("no server has been got ready")
    }

    async fn raise(&self, order: PairOrder, progress: &Progress) -> anyhow::Result<Arc<dyn Pair>> {
        let PairOrder { run_id, profile, logs } = order;
        let order = ArmOrder { run_id, profile, server: self.server.clone(), caps: Caps::Off, logs };
        Ok(Arc::new(DockerPair::new(self.site.cluster(order, progress).await?)?))
    }

    async fn tear_down(&self, run_id: &str, progress: &Progress) {
        self.site.tear_down(run_id, progress).await;
    }

    async fn abandon(&self, progress: &Progress) {
        self.site.abandon(progress).await;
    }
}

/// Times of the machine's CPUs, in ticks (proc(5)).
const STAT: &str = "/proc/stat";

/// A cluster, with a probe in each node whose CPU time is of interest.
#[derive(Debug)]
pub(super) struct DockerPair {
    cluster: Cluster,
    probes: Mutex<Probes>,
}

#[derive(Debug)]
struct Probes {
    primary: MachineSource,
    standby: MachineSource,
}

impl DockerPair {
    /// The pair that a cluster of `wait-for`'s profile is.
    pub(super) fn new(cluster: Cluster) -> anyhow::Result<Self> {
        let standby = cluster.standbys.first().context("there is no standby")?;
        let probes = Probes {
            primary: MachineSource::new(&cluster.engine, &cluster.primary),
            standby: MachineSource::new(&cluster.engine, standby),
        };
        Ok(Self { probes: Mutex::new(probes), cluster })
    }
}

#[async_trait]
impl Pair for DockerPair {
    async fn session(&self, node: Node) -> anyhow::Result<Arc<dyn Session>> {
        let found = self.cluster.nodes().find(|found| found.name == node.name());
        let access = &found.with_context(|| format!("there is no node {}", node.name()))?.access;
        Ok(Arc::new(postgres::Session::open(access, PROMPT).await?))
    }

    async fn usage(&self) -> anyhow::Result<Usage> {
        let mut probes = self.probes.lock().await;
        let Probes { primary, standby } = &mut *probes;
        let (primary_s, standby_s) = futures_util::try_join!(cpu_seconds(primary), cpu_seconds(standby))?;
        // Beside a desktop product the lab's own machine is another one than the engine's, and has no such file.
        let machine = Machine::read(Path::new(STAT));
        Ok(Usage {
            primary_s,
            standby_s,
            client_s: Some(own_cpu_seconds()),
            machine_busy: machine.map(|machine| machine.busy),
            machine_all: machine.map(|machine| machine.all),
        })
    }

    /// In a thread of its own: the runtime's timer counts milliseconds.
    async fn nap(&self, length: Duration) {
        // It can only fail when the runtime ends, and then nobody waits for it.
        let _ = tokio::task::spawn_blocking(move || std::thread::sleep(length)).await;
    }

    async fn describe(&self) -> anyhow::Result<Vec<NodeInfo>> {
        self.cluster.describe().await
    }

    async fn save_logs(&self) -> anyhow::Result<()> {
        self.cluster.save_logs().await
    }
}

#[async_trait]
impl Session for postgres::Session {
    async fn insert(&self) -> Result<(), SqlError> {
        Self::insert(self).await
    }

    async fn flushed(&self) -> Result<u64, SqlError> {
        Self::flushed(self).await
    }

    async fn has_replayed(&self, lsn: u64) -> Result<bool, SqlError> {
        Self::has_replayed(self, lsn).await
    }

    async fn ping(&self) -> Result<(), SqlError> {
        Self::ping(self).await
    }

    async fn simple(&self, sql: &str) -> Result<Answer, SqlError> {
        Self::simple(self, sql).await
    }

    async fn extended(&self, sql: &str) -> Result<Answer, SqlError> {
        Self::extended(self, sql).await
    }
}

/// CPU seconds of a node's container; none where its cgroup cannot be read.
async fn cpu_seconds(probe: &mut MachineSource) -> anyhow::Result<Option<f64>> {
    let cells = probe.read().await?;
    let cpu = cells.iter().find(|(column, _)| column.metric == Metric::CpuSecondsTotal);
    Ok(cpu.and_then(|(_, cell)| cell.number()))
}

/// CPU seconds of this process, all its threads together.
fn own_cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Times of the machine's CPUs, all of them together, in ticks.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Machine {
    busy: f64,
    all: f64,
}

impl Machine {
    fn read(path: &Path) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(path).ok()?)
    }

    /// The line `cpu user nice system idle iowait irq softirq steal guest guest_nice`; guests are in user and nice
    /// already. What another machine took (steal) is not idle.
    fn parse(stat: &str) -> Option<Self> {
        let fields = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<f64> =
            fields.split_whitespace().take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
        let [_, _, _, idle, iowait, ..] = ticks[..] else { return None };
        let all = ticks.iter().sum::<f64>();
        Some(Self { busy: all - idle - iowait, all })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_machine_is_busy_when_it_is_neither_idle_nor_waits_for_a_disk() {
        let stat = "cpu  100 1 50 800 40 2 3 4 60 0\ncpu0 1 1 1 1 1 1 1 1 0 0\nintr 5\n";
        assert_eq!(Machine::parse(stat), Some(Machine { busy: 160.0, all: 1000.0 }));
        for other in ["", "cpu  1 2 3\n", "cpu  a b c d e f g h\n", "cpu0 1 1 1 1 1 1 1 1\n"] {
            assert_eq!(Machine::parse(other), None, "{other:?}");
        }
        assert_eq!(Machine::read(Path::new("/no/such/file")), None);
    }

    #[test]
    fn the_lab_knows_its_own_cpu_time() {
        let before = own_cpu_seconds();
        let spun = (0..20_000_000u64).fold(0u64, |sum, each| std::hint::black_box(sum ^ each));
        assert!(own_cpu_seconds() > before, "{spun}");
    }
}
