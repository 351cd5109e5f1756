//! `stall-lab bundle`: of the committed results, without Docker; and the `repro.sh` of a run, on its own, with it.
//!
//! Without an engine, or without root on its machine, the latter says that it is skipped; with
//! `STALL_LAB_REQUIRE_DOCKER` set that is a failure.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::engine_or_skip;
use stall_lab::store::{RunFolder, RunInfo};

fn stall_lab() -> Command {
    Command::new(env!("CARGO_BIN_EXE_stall-lab"))
}

/// The folders of runs below a folder.
fn runs(below: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![below.to_owned()];
    while let Some(folder) = open.pop() {
        if folder.join("run.json").exists() {
            found.push(folder);
            continue;
        }
        let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        open.extend(entries.filter(|path| path.is_dir() && !path.is_symlink()));
    }
    found.sort();
    found
}

#[test]
fn every_committed_result_makes_a_bundle_that_says_that_it_has_no_logs() {
    let results = runs(&Path::new(env!("CARGO_MANIFEST_DIR")).join("results"));
    assert!(results.len() > 4, "{results:?}");
    let dir = tempfile::tempdir().unwrap();
    // One run of every scenario: the others differ in figures alone.
    let mut seen = std::collections::BTreeSet::new();
    let firsts = results.iter().filter(|run| seen.insert(run.parent().unwrap().to_owned()));
    for (at, run) in firsts.enumerate() {
        let out = dir.path().join(at.to_string());
        let made = stall_lab().arg("bundle").arg(run).arg("--out").arg(&out).output().unwrap();
        let told = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success() && told.contains("no server logs"), "{}: {told}", run.display());
        let report = std::fs::read_to_string(out.join("REPORT.md")).unwrap();
        assert!(report.contains("the folder of this run has none"), "{report}");
        assert!(out.with_extension("tar.gz").exists());
    }
}

#[test]
fn both_arms_of_a_comparison_are_one_bundle_and_a_second_one_does_not_overwrite_it() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("results/scenarios/full-page-writes");
    let arms = runs(&results);
    let dir = tempfile::tempdir().unwrap();
    let bundle = || {
        let mut command = stall_lab();
        command.arg("bundle").args(&arms[..2]).current_dir(dir.path()).output().unwrap()
    };
    let made = bundle();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let told = String::from_utf8(made.stdout).unwrap();
    let folder = dir.path().join(told.split('/').next().unwrap());
    for file in ["REPORT.md", "comparison/comparison.png", "fpw-try/repro.sh", "fpw-off/README.md"] {
        assert!(folder.join(file).exists(), "{file} is not in {}", folder.display());
    }
    let again = bundle();
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&again.stderr).contains("is there already"));
}

#[test]
fn a_folder_without_a_run_is_refused_as_such() {
    let dir = tempfile::tempdir().unwrap();
    let refused = stall_lab().arg("bundle").arg(dir.path()).current_dir(dir.path()).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

/// The figures of the script's last line.
fn figure(said: &str, name: &str) -> String {
    let result = said
        .lines()
        .rev()
        .find(|line| line.starts_with("RESULT "))
        .unwrap_or_else(|| panic!("no result in:\n{said}"));
    let figure = result.split(' ').find_map(|figure| figure.strip_prefix(&format!("{name}=")));
    figure.unwrap_or_else(|| panic!("no {name} in {result}")).to_owned()
}

/// What the script with this process has made and is still there: in Docker, and loop devices.
fn left_of(pid: u32) -> String {
    let script = format!(
        "docker ps -aq --filter name=stall-repro-{pid}-; docker volume ls -q --filter name=stall-repro-{pid}-; \
         docker network ls -q --filter name=stall-repro-{pid}; \
         losetup --list --noheadings --output BACK-FILE | grep stall-repro-{pid} || :; \
         ls -d /var/tmp/stall-repro-{pid}.* 2>/dev/null || :"
    );
    let found = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    String::from_utf8(found.stdout).unwrap()
}

fn repro(bundle: &Path, run: &RunInfo) -> Command {
    let mut command = Command::new("sh");
    command.arg(bundle.join("repro.sh")).env("IMAGE", run.server.image.as_ref().unwrap());
    command
}

/// The script's own user has to be root, on the machine of the engine.
fn is_root() -> bool {
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    if !is_root {
        assert!(std::env::var_os("STALL_LAB_REQUIRE_DOCKER").is_none(), "repro.sh needs root");
        eprintln!("skipped: repro.sh needs root");
    }
    is_root
}

#[tokio::test]
async fn the_script_of_a_run_shows_the_stall_by_itself_and_leaves_nothing_even_when_it_is_stopped() {
    if engine_or_skip().await.is_none() || !is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let args = ["repro", "--profile", "smoke", "--prefetch", "try", "--results"];
    let ran = stall_lab().args(args).arg(dir.path()).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let folder = runs(dir.path()).remove(0);
    let bundle = dir.path().join("bundle");
    let made = stall_lab().arg("bundle").arg(&folder).arg("--out").arg(&bundle).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    assert_eq!(String::from_utf8_lossy(&made.stderr), "", "the bundle lacks something");
    let run = RunFolder::at(&folder).run().unwrap();

    let script = repro(&bundle, &run).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = script.id();
    let output = script.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(figure(&said, "stalled"), "yes", "{said}");
    let (reads, cap): (f64, f64) =
        (figure(&said, "reads_a_second").parse().unwrap(), figure(&said, "cap").parse().unwrap());
    assert!((0.95..=1.05).contains(&(reads / cap)), "{said}");
    assert!(figure(&said, "prefetched").parse::<u64>().unwrap() > 3_000, "{said}");
    assert!(said.contains("terminating walreceiver process due to administrator command"), "{said}");
    assert_eq!(left_of(pid), "");

    let mut script = repro(&bundle, &run).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let pid = script.id();
    let lines = BufReader::new(script.stdout.take().unwrap()).lines();
    let mut lines = lines.map(Result::unwrap);
    assert!(lines.any(|line| line.contains("FAULT: ")), "the script ended before its fault");
    assert_ne!(left_of(pid), "");
    Command::new("kill").args(["-INT", &pid.to_string()]).status().unwrap();
    // What it still says has somewhere to go.
    let rest: Vec<String> = lines.collect();
    assert_eq!(script.wait().unwrap().code(), Some(130), "{rest:?}");
    assert_eq!(left_of(pid), "");
}
