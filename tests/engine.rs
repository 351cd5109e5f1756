//! The engine itself, as far as no server image is needed: the tests build a tiny image of their own from the host's shell.
//!
//! Without an engine they say that they are skipped; with `STALL_LAB_REQUIRE_DOCKER` set that is a failure.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use common::engine_or_skip;
use stall_lab::docker::labels::{self, Kind, Selector};
use stall_lab::docker::{
    Access, BuildContext, BuildSpec, ContainerSpec, ContextFile, DockerError, Engine, ExecSpec, Limits,
    Mount, NetworkMode, OutputStream, Reach, UploadFile,
};

const SOON: Duration = Duration::from_secs(60);

/// A run of the tests, with an image of its own; `None` without an engine.
struct Lab {
    engine: Engine,
    run: String,
    image: String,
}

impl Lab {
    async fn new(test: &str) -> Option<Lab> {
        let engine = engine_or_skip().await?;
        let run = format!("test-{test}-{}", std::process::id());
        let image = format!("stall-lab-{run}:1");
        engine.build_image(&shell_image(&image, &run), |_| ()).await.unwrap();
        Some(Lab { engine, run, image })
    }

    fn container(&self, name: &str, script: &str) -> ContainerSpec {
        ContainerSpec {
            name: format!("{}-{name}", self.run),
            image: self.image.clone(),
            cmd: vec!["sh".to_owned(), "-c".to_owned(), script.to_owned()],
            labels: labels::of(&self.run, Kind::Helper),
            ..Default::default()
        }
    }

    /// Waits until a container's last line is this one.
    async fn wait_for_log(&self, name: &str, expected: &str) {
        let end = std::time::Instant::now() + SOON;
        while self.engine.log_tail(name, 1).await.unwrap() != [(OutputStream::Stdout, expected.to_owned())] {
            assert!(std::time::Instant::now() < end, "{name} has not written {expected:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Removes by label all that the test made, and proves that nothing is left.
    async fn clean(self) {
        let selector = Selector::run(&self.run);
        for container in self.engine.containers(&selector).await.unwrap() {
            self.engine.remove_container(&container.name).await.unwrap();
        }
        for volume in self.engine.volumes(&selector).await.unwrap() {
            self.engine.remove_volume(&volume.name).await.unwrap();
        }
        for network in self.engine.networks(&selector).await.unwrap() {
            self.engine.remove_network(&network.name).await.unwrap();
        }
        self.engine.remove_image(&self.image).await.unwrap();
        assert!(self.engine.containers(&selector).await.unwrap().is_empty());
        assert!(self.engine.volumes(&selector).await.unwrap().is_empty());
        assert!(self.engine.networks(&selector).await.unwrap().is_empty());
        assert_eq!(self.engine.inspect_image(&self.image).await.unwrap(), None);
    }
}

/// An image of the host's `sh`, `cat` and `sleep` with their libraries.
fn shell_image(tag: &str, run: &str) -> BuildSpec {
    let script = "for name in sh cat sleep; do file=$(command -v $name); echo $file; ldd $file; done";
    let listed = Command::new("sh").args(["-c", script]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let paths: BTreeSet<PathBuf> =
        listed.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).collect();
    let mut files = vec![ContextFile {
        name: "Dockerfile".to_owned(),
        mode: 0o644,
        bytes: b"FROM scratch\nCOPY root /\nENV PATH=/usr/bin:/bin\n".to_vec(),
    }];
    files.extend(paths.into_iter().map(|path| ContextFile {
        name: format!("root{}", path.display()),
        mode: 0o755,
        bytes: std::fs::read(&path).unwrap(),
    }));
    BuildSpec {
        dockerfile: "Dockerfile".to_owned(),
        tag: Some(tag.to_owned()),
        labels: labels::of(run, Kind::Helper),
        context: BuildContext { files, archive: None },
        ..Default::default()
    }
}

#[tokio::test]
async fn commands_read_their_input_to_its_end_and_give_outputs_and_exit_code() {
    let Some(lab) = Lab::new("exec").await else { return };
    let spec = lab.container("node", "exec sleep 600");
    lab.engine.create_container(&spec).await.unwrap();
    lab.engine.start_container(&spec.name).await.unwrap();

    let input = "a line\n".repeat(100_000);
    let cat = ExecSpec::new(["cat"]);
    let done = lab.engine.exec(&spec.name, &cat, Some(input.as_bytes()), SOON).await.unwrap();
    assert_eq!((done.exit_code, done.stdout.len()), (0, input.len()));
    let fails = ExecSpec::new(["sh", "-c", "echo $WORD; echo bad >&2; exit 3"]).env("WORD", "good");
    let done = lab.engine.exec(&spec.name, &fails, None, SOON).await.unwrap();
    assert_eq!((done.exit_code, done.stdout.as_str(), done.stderr.as_str()), (3, "good\n", "bad\n"));
    let absent = lab.engine.exec(&spec.name, &ExecSpec::new(["absent"]), None, SOON).await.unwrap();
    assert!([126, 127].contains(&absent.exit_code), "{absent:?}");

    let mut stream = lab.engine.exec_stream(&spec.name, &cat).await.unwrap();
    for word in ["one", "two"] {
        stream.write(format!("{word}\n").as_bytes()).await.unwrap();
        assert_eq!(stream.next_line().await.unwrap(), Some((OutputStream::Stdout, word.to_owned())));
    }
    stream.close_input().await.unwrap();
    assert_eq!(stream.next_line().await.unwrap(), None);
    assert_eq!(stream.exit_code().await.unwrap(), 0);
    lab.clean().await;
}

#[tokio::test]
async fn a_container_goes_through_its_life() {
    let Some(lab) = Lab::new("life").await else { return };
    let mut spec = lab.container("node", "trap 'exit 5' INT; cat /etc/lab/word; while :; do sleep 0.1; done");
    spec.limits = Limits { cpus: Some(0.5), memory_bytes: Some(64 << 20), ..Default::default() };
    lab.engine.create_container(&spec).await.unwrap();
    let word = UploadFile {
        path: "/etc/lab/word".to_owned(),
        mode: 0o600,
        uid: 0,
        gid: 0,
        bytes: b"uploaded\n".to_vec(),
    };
    lab.engine.upload(&spec.name, &[word]).await.unwrap();
    let state = lab.engine.inspect_container(&spec.name).await.unwrap().unwrap();
    assert_eq!((state.running, state.exit_code, state.started_at), (false, None, None));
    assert_eq!((state.limits.cpus, state.limits.memory_bytes), (Some(0.5), Some(64 << 20)));

    lab.engine.start_container(&spec.name).await.unwrap();
    assert!(lab.engine.inspect_container(&spec.name).await.unwrap().unwrap().running);
    lab.wait_for_log(&spec.name, "uploaded").await;
    lab.engine.kill_container(&spec.name, "SIGINT").await.unwrap();
    assert_eq!(lab.engine.wait_container(&spec.name, SOON).await.unwrap(), 5);
    assert_eq!(lab.engine.inspect_container(&spec.name).await.unwrap().unwrap().exit_code, Some(5));
    let mut saved = Vec::new();
    lab.engine.save_logs(&spec.name, &mut saved).await.unwrap();
    assert_eq!(saved, b"uploaded\n");
    lab.clean().await;
}

#[tokio::test]
async fn a_helper_leaves_nothing_however_it_ends() {
    let Some(lab) = Lab::new("helper").await else {
        return;
    };
    let mut lines = Vec::new();
    let spec = lab.container("good", "echo one; echo two");
    lab.engine.run_to_completion(&spec, SOON, |_, line| lines.push(line.to_owned())).await.unwrap();
    assert_eq!(lines, ["one", "two"]);
    let spec = lab.container("bad", "echo broken; exit 7");
    let error = lab.engine.run_to_completion(&spec, SOON, |_, _| ()).await.unwrap_err();
    assert!(
        matches!(error, DockerError::Failed { exit_code: 7, last_lines, .. } if last_lines == ["broken"])
    );
    let spec = lab.container("slow", "echo waiting; exec sleep 600");
    let error = lab.engine.run_to_completion(&spec, Duration::from_secs(5), |_, _| ()).await.unwrap_err();
    assert!(matches!(error, DockerError::TimedOut { last_lines, .. } if last_lines == ["waiting"]));
    assert!(lab.engine.containers(&Selector::run(&lab.run)).await.unwrap().is_empty());
    lab.clean().await;
}

#[tokio::test]
async fn volumes_and_networks_are_made_used_and_found_by_label() {
    let Some(lab) = Lab::new("objects").await else {
        return;
    };
    let volume = format!("{}-v", lab.run);
    let network = format!("{}-n", lab.run);
    lab.engine.create_volume(&volume, &labels::of(&lab.run, Kind::Images), &BTreeMap::new()).await.unwrap();
    lab.engine
        .create_network(&network, &labels::of(&lab.run, Kind::Network), Reach::Published)
        .await
        .unwrap();

    let mount = |access| Mount::Volume { name: volume.clone(), target: "/v".to_owned(), access };
    let mut writer = lab.container("writer", "echo kept > /v/file");
    writer.mounts.push(mount(Access::ReadWrite));
    lab.engine.run_to_completion(&writer, SOON, |_, _| ()).await.unwrap();
    let mut node = lab.container("node", "cat /v/file; exec sleep 600");
    node.mounts.push(mount(Access::ReadOnly));
    node.network = NetworkMode::Named { network: network.clone(), alias: "primary".to_owned() };
    node.published_ports.push(5432);
    lab.engine.create_container(&node).await.unwrap();
    lab.engine.start_container(&node.name).await.unwrap();
    let state = lab.engine.inspect_container(&node.name).await.unwrap().unwrap();
    assert!(state.published_ports.contains_key(&5432), "{state:?}");
    let write = ExecSpec::new(["sh", "-c", "echo no > /v/file"]);
    assert_ne!(lab.engine.exec(&node.name, &write, None, SOON).await.unwrap().exit_code, 0);

    lab.engine.disconnect_network(&network, &node.name).await.unwrap();
    lab.engine.connect_network(&network, &node.name, "primary").await.unwrap();
    assert!(matches!(lab.engine.remove_volume(&volume).await.unwrap_err(), DockerError::RemoveVolume { .. }));
    let disks = lab.engine.volumes(&Selector::run(&lab.run).kind(Kind::Images)).await.unwrap();
    assert_eq!(disks.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), [volume.as_str()]);
    lab.clean().await;
}
