//! The password that a run makes for itself, and values that would like to be commands: where they may be, and where
//! they may not.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use serde_json::Value;

use super::*;
use stall_lab::docker::{Address, ExecOutput, ExecSpec};

/// A script and settings of somebody who would like to be root.
const SCRIPT: &str = "workload.script=\\set aid random(1, 300000)\n\
    UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :aid; -- $(touch /tmp/owned) `touch /tmp/owned`";
const SEARCH_PATH: &str = "\"'; drop table pgbench_accounts; -- $(touch /tmp/owned)\", public";
const CUSTOM: &str = "$(touch /tmp/owned)\\'; `touch /tmp/owned`";

/// What the engine answers to this request, by its own words.
fn asked(engine: &Engine, path: &str) -> Value {
    let request = format!("GET {path} HTTP/1.0\r\nHost: engine\r\n\r\n");
    let mut answer = String::new();
    match &engine.endpoint().address {
        Address::Unix(socket) => {
            let mut stream = UnixStream::connect(socket).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            stream.read_to_string(&mut answer).unwrap();
        }
        Address::Tcp(host) => {
            let mut stream = TcpStream::connect(host).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            stream.read_to_string(&mut answer).unwrap();
        }
        other => panic!("{other:?}"),
    }
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(" 200 "), "{path}: {head}");
    serde_json::from_str(body).unwrap()
}

async fn run_in(engine: &Engine, container: &str, script: &str) -> ExecOutput {
    let spec = ExecSpec::new(["sh", "-c", script]);
    engine.exec(container, &spec, None, Duration::from_secs(30)).await.unwrap()
}

/// The command lines of all processes that can be seen.
fn command_lines() -> String {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok());
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " ") + "\n").collect()
}

/// All files below a folder, with their content.
fn files_below(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths
        .filter(|path| !path.is_symlink())
        .flat_map(|path| {
            if path.is_dir() {
                files_below(&path)
            } else {
                vec![(path.clone(), std::fs::read(&path).unwrap())]
            }
        })
        .collect()
}

fn assert_bounded(container: &Value) {
    let host = &container["HostConfig"];
    assert_eq!(host["CapDrop"], serde_json::json!(["ALL"]));
    assert!(host["CapAdd"].as_array().is_none_or(Vec::is_empty), "{}", host["CapAdd"]);
    assert_eq!((&host["Privileged"], &host["CgroupnsMode"]), (&Value::Bool(false), &Value::from("private")));
    assert!(host["SecurityOpt"].as_array().unwrap().contains(&"no-new-privileges".into()));
    assert!(host["Devices"].as_array().is_none_or(Vec::is_empty), "{}", host["Devices"]);
    let user = container["Config"]["User"].as_str().unwrap();
    assert!(!user.starts_with("0") && !user.is_empty(), "{user}");
    let ports = container["NetworkSettings"]["Ports"].as_object().unwrap();
    let bindings: Vec<&Value> = ports.values().filter_map(Value::as_array).flatten().collect();
    assert!(!bindings.is_empty());
    assert!(bindings.iter().all(|binding| binding["HostIp"] == "127.0.0.1"), "{bindings:?}");
}

#[tokio::test]
async fn the_password_is_nowhere_but_in_its_file_and_hostile_values_are_data() {
    let Some(docker) = Docker::new().await else { return };
    let results = tempfile::tempdir().unwrap();
    let stderr = tempfile::NamedTempFile::new().unwrap();
    let search_path = format!("postgres.common.search_path={SEARCH_PATH}");
    let custom = format!("postgres.common.stall_lab.custom={CUSTOM}");
    let mut child = lab(results.path())
        .args(["--prefetch", "try", "--set", SCRIPT, "--set", &search_path, "--set", &custom])
        .env("STALL_LAB_LOG", "trace")
        .stderr(stderr.reopen().unwrap())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let folder = wait_for("a commit", || {
        let folder = RunFolder::at(runs(results.path()).into_iter().next()?);
        let commits =
            |row: &stall_lab::store::Row| row.number("primary", &Metric::Tps).is_some_and(|tps| tps > 0.0);
        folder.timeline().ok()?.rows.iter().any(commits).then_some(folder)
    })
    .await;
    let run = folder.run().unwrap();
    let containers = ["primary", "standby"].map(|node| format!("stall-lab-{}-{node}", run.run_id));
    let pgpass = run_in(&docker.engine, &containers[1], "cat /var/lib/stall-lab/pgpass").await.stdout;
    let password = pgpass.trim().rsplit(':').next().unwrap().to_owned();
    assert_eq!(password.len(), 32);
    // What is looked for can be found where it is.
    assert!(pgpass.contains(&password));

    let mut told = command_lines();
    for container in &containers {
        let inspected = asked(&docker.engine, &format!("/containers/{container}/json"));
        assert_bounded(&inspected);
        told += &inspected.to_string();
        let owned = run_in(&docker.engine, container, "ls /tmp/owned").await;
        assert_ne!(owned.exit_code, 0, "a value was run on {container}");
    }
    for what in ["history", "json"] {
        told += &asked(&docker.engine, &format!("/images/{}/{what}", docker.image.id)).to_string();
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    told += &std::fs::read_to_string(stderr.path()).unwrap();

    assert!(!told.contains(&password), "the password was told");
    let files = files_below(results.path());
    assert!(files.iter().any(|(path, _)| path.ends_with("logs/standby.log")));
    for (path, bytes) in files {
        let text = String::from_utf8_lossy(&bytes);
        for secret in [password.as_str(), "SCRAM-SHA-256$"] {
            assert!(!text.contains(secret), "{secret} is in {}", path.display());
        }
    }
    // As the servers report them, to the letter.
    for node in &folder.run().unwrap().nodes {
        let reported = |name: &str| node.settings.get(name).map(String::as_str);
        assert_eq!(reported("search_path"), Some(SEARCH_PATH), "{}", node.name);
        assert_eq!(reported("stall_lab.custom"), Some(CUSTOM), "{}", node.name);
    }
    assert!(!Path::new("/tmp/owned").exists());
    docker.assert_nothing_is_left_of(&run_ids(results.path())).await;
}
