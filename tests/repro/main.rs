//! `stall-lab repro` on real containers: the profile `smoke`, both arms, and what a killed lab leaves.
//!
//! Without an engine the tests say that they are skipped; with `STALL_LAB_REQUIRE_DOCKER` set that is a failure.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

#[path = "../common/mod.rs"]
mod common;
mod foreign;
mod killed;
mod secrets;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::engine_or_skip;
use foreign::Foreign;
use stall_lab::cluster::{Scope, tear_down};
use stall_lab::disk::DiskHelper;
use stall_lab::docker::labels::{self, Kind, Selector};
use stall_lab::docker::{Access, ContainerSpec, Engine, Mount};
use stall_lab::image::{self, ImageRequest, ServerImage};
use stall_lab::store::{Metric, RunFolder, Verdict};
use tokio::sync::{Mutex, MutexGuard};

/// Measurements do not share the machine with each other.
static ALONE: Mutex<()> = Mutex::const_new(());

/// An engine with a server image; none where tests may be skipped and there is no engine.
struct Docker {
    engine: Engine,
    image: ServerImage,
    _alone: MutexGuard<'static, ()>,
}

impl Docker {
    async fn new() -> Option<Self> {
        let alone = ALONE.lock().await;
        let engine = engine_or_skip().await?;
        let image = image::resolve(&engine, &ImageRequest::Default, &mut |_| ()).await.unwrap();
        Some(Self { engine, image, _alone: alone })
    }

    /// Names of all that carries the label of one of these runs, and their image files.
    async fn things_of(&self, runs: &[String]) -> Vec<String> {
        let mut names = Vec::new();
        for run in runs {
            let selector = Selector::run(run);
            names
                .extend(self.engine.containers(&selector).await.unwrap().into_iter().map(|thing| thing.name));
            names.extend(self.engine.volumes(&selector).await.unwrap().into_iter().map(|thing| thing.name));
            names.extend(self.engine.networks(&selector).await.unwrap().into_iter().map(|thing| thing.name));
        }
        names
    }

    /// Runs a command in a container of its own that has this volume at `/foreign`; what it wrote.
    async fn shell_in(&self, volume: &str, script: &str) -> Vec<String> {
        let mount = Mount::Volume {
            name: volume.to_owned(),
            target: "/foreign".to_owned(),
            access: Access::ReadWrite,
        };
        self.shell(vec![mount], script).await
    }

    async fn shell(&self, mounts: Vec<Mount>, script: &str) -> Vec<String> {
        let spec = ContainerSpec {
            name: format!("stall-lab-test-{}", std::process::id()),
            image: self.image.reference.clone(),
            user: Some("0:0".to_owned()),
            entrypoint: Some(vec!["sh".to_owned()]),
            cmd: vec!["-c".to_owned(), script.to_owned()],
            labels: labels::of("test", Kind::Helper),
            mounts,
            ..ContainerSpec::default()
        };
        let mut lines = Vec::new();
        let ran = self
            .engine
            .run_to_completion(&spec, Duration::from_secs(30), |_, line| lines.push(line.to_owned()));
        ran.await.unwrap();
        lines
    }

    /// Loop devices whose backing file names one of these runs.
    async fn loop_devices_of(&self, runs: &[String]) -> Vec<String> {
        let mut files = self.shell(vec![], "cat /sys/block/loop*/loop/backing_file 2>/dev/null || :").await;
        files.retain(|file| runs.iter().any(|run| file.contains(run.as_str())));
        files
    }

    async fn assert_nothing_is_left_of(&self, runs: &[String]) {
        assert!(!runs.is_empty());
        assert_eq!(self.things_of(runs).await, [""; 0]);
        assert_eq!(self.loop_devices_of(runs).await, [""; 0]);
    }
}

fn lab(results: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stall-lab"));
    command.args(["repro", "--profile", "smoke", "--results"]).arg(results);
    command
}

fn runs(results: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(results.join("smoke")) else { return vec![] };
    let folders = entries.map(|entry| entry.unwrap().path());
    folders.filter(|path| !path.is_symlink() && path.join("run.json").exists()).collect()
}

fn run_ids(results: &Path) -> Vec<String> {
    runs(results).iter().map(|path| RunFolder::at(path).run().unwrap().run_id).collect()
}

fn arm(results: &Path, name: &str) -> RunFolder {
    let is_arm = |path: &PathBuf| path.to_str().unwrap().ends_with(&format!("-{name}"));
    RunFolder::at(runs(results).into_iter().find(is_arm).unwrap())
}

/// Waits until `found` gives something.
async fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(180);
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} did not come");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn prefetching_hangs_at_the_cap_and_its_absence_does_not_and_nothing_is_left() {
    let Some(docker) = Docker::new().await else { return };
    let results = tempfile::tempdir().unwrap();
    let expect = ["--prefetch", "try,off", "--expect", "try=stall,off=no-stall"];
    let output = lab(results.path()).args(expect).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let hung = arm(results.path(), "try").summary().unwrap();
    assert_eq!(hung.verdict, Verdict::Stalled);
    let share = hung.hang_read_iops_mean.unwrap() / hung.read_iops_cap.unwrap() as f64;
    assert!((0.97..=1.03).contains(&share), "reads in the hang are {share} of the cap");
    assert!(hung.prefetched_blocks.unwrap() > 3_000, "{hung:?}");
    assert_eq!(hung.missed_ticks, 0);

    let quiet = arm(results.path(), "off").summary().unwrap();
    assert_eq!(quiet.verdict, Verdict::NoStall);
    assert_eq!(quiet.prefetched_blocks, Some(0));

    for name in ["try", "off"] {
        let folder = arm(results.path(), name);
        for file in [
            "timeline.csv",
            "events.csv",
            "timeline.png",
            "README.md",
            "logs/primary.log",
            "logs/pgbench.txt",
        ] {
            assert!(folder.path().join(file).exists(), "{name} lacks {file}");
        }
        let proof = folder.run().unwrap().nodes.into_iter().map(|node| node.cap_proof.unwrap().read_iops);
        assert!(proof.into_iter().all(|read_iops| (209.0..=231.0).contains(&read_iops)));
    }
    docker.assert_nothing_is_left_of(&run_ids(results.path())).await;
}

#[tokio::test]
async fn a_setting_that_no_server_has_ends_the_command_before_anything_is_set_up() {
    let Some(_docker) = Docker::new().await else { return };
    let results = tempfile::tempdir().unwrap();
    let set = ["--set", "postgres.common.shared_bufers=1GB", "--set", "postgres.common.summarize_wal=off"];
    let output = lab(results.path()).args(set).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("no PostgreSQL has a setting shared_bufers: "), "{said}");
    assert_eq!(runs(results.path()), [""; 0].map(PathBuf::from));
}

#[tokio::test]
async fn a_restarted_standby_is_found_again_and_replays_before_it_streams() {
    let Some(docker) = Docker::new().await else { return };
    let results = tempfile::tempdir().unwrap();
    let fault = ["--prefetch", "try", "--set", "fault.kind=restart-standby", "--set", "fault.lasts=2s"];
    let output = lab(results.path()).args(fault).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let folder = arm(results.path(), "try");
    let summary = folder.summary().unwrap();
    assert_eq!(summary.verdict, Verdict::Stalled, "{:?}", summary.reasons);
    // The disk and the server answer again, from a container whose published port may be another one.
    let timeline = folder.timeline().unwrap();
    let last = timeline.rows.last().unwrap();
    for metric in [Metric::ReadsTotal, Metric::ReplayLsn, Metric::CpuSecondsTotal] {
        assert!(last.number("standby", &metric).is_some(), "{metric:?}");
    }
    assert!(summary.prefetched_blocks.unwrap() > 3_000, "{summary:?}");
    docker.assert_nothing_is_left_of(&run_ids(results.path())).await;
}

#[tokio::test]
async fn an_interrupted_run_leaves_a_valid_result_and_nothing_else() {
    let Some(docker) = Docker::new().await else { return };
    let results = tempfile::tempdir().unwrap();
    let mut child = lab(results.path()).args(["--prefetch", "try"]).stderr(Stdio::null()).spawn().unwrap();
    let folder = wait_for("a row of the timeline", || {
        let folder = runs(results.path()).into_iter().map(RunFolder::at).next()?;
        folder.timeline().is_ok_and(|timeline| !timeline.rows.is_empty()).then_some(folder)
    });
    let folder = folder.await;
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(folder.summary().unwrap().verdict, Verdict::Inconclusive);
    assert!(folder.plot_path().exists());
    docker.assert_nothing_is_left_of(&run_ids(results.path())).await;
}

#[tokio::test]
async fn what_a_killed_lab_leaves_is_cleaned_by_label_and_nothing_else_is() {
    let Some(docker) = Docker::new().await else { return };
    let results = tempfile::tempdir().unwrap();
    let foreign = Foreign::make(&docker).await;

    let mut child = lab(results.path()).args(["--prefetch", "try"]).stderr(Stdio::null()).spawn().unwrap();
    wait_for("a row of the timeline", || {
        let folder = runs(results.path()).into_iter().map(RunFolder::at).next()?;
        folder.timeline().is_ok_and(|timeline| !timeline.rows.is_empty()).then_some(())
    })
    .await;
    let runs_made = run_ids(results.path());
    let reference = docker.image.reference.as_str();

    // While the lab lives its things are no leftovers.
    tear_down(&docker.engine, &Scope::Leftovers, Some(reference)).await.unwrap();
    assert!(docker.things_of(&runs_made).await.len() >= 4);

    child.kill().unwrap();
    child.wait().unwrap();
    let removal = tear_down(&docker.engine, &Scope::Leftovers, Some(reference)).await.unwrap();
    assert_eq!(removal.failures, [""; 0]);
    docker.assert_nothing_is_left_of(&runs_made).await;

    // What was recorded until then can be drawn.
    let folder = runs(results.path()).remove(0);
    let plot = Command::new(env!("CARGO_BIN_EXE_stall-lab")).arg("plot").arg(&folder).output().unwrap();
    assert!(plot.status.success(), "{}", String::from_utf8_lossy(&plot.stderr));

    foreign.assert_untouched(&docker).await;
    foreign.remove(&docker).await;
}

#[tokio::test]
async fn a_disk_is_attached_with_direct_io_and_its_read_ahead_and_detached_whole() {
    let Some(docker) = Docker::new().await else { return };
    let run = format!("test-{:08x}", std::process::id());
    let volume = format!("stall-lab-{run}-images");
    docker.engine.create_volume(&volume, &labels::of(&run, Kind::Images), &[].into()).await.unwrap();
    let helper = DiskHelper::new(docker.engine.clone(), &docker.image.reference, &run);
    let file = format!("stall-lab-{run}.img");
    helper.format(&volume, &file, 512 << 20, (0, 0)).await.unwrap();
    let disk = helper.attach("node", &volume, &file, 256).await.unwrap();
    assert_eq!((disk.read_ahead_kb, disk.direct_io), (256, true));
    assert_ne!(disk.lower, disk.upper);
    assert_eq!(docker.loop_devices_of(std::slice::from_ref(&run)).await.len(), 1);
    let removal =
        tear_down(&docker.engine, &Scope::Run(run.clone()), Some(&docker.image.reference)).await.unwrap();
    assert_eq!(removal.failures, [""; 0]);
    docker.assert_nothing_is_left_of(&[run]).await;
}
