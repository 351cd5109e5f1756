//! The command line as a script sees it: exit codes, stdout, stderr. Needs no Docker.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;

/// The binary in an empty folder, with no engine to be found.
fn stall_lab(dir: &Path) -> Command {
    let mut command = Command::cargo_bin("stall-lab").unwrap();
    command.current_dir(dir).env("DOCKER_HOST", "tcp://127.0.0.1:1").env_remove("STALL_LAB_LOG");
    command
}

fn empty() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// A copy of the recorded outage.
fn outage(dir: &Path) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/outage-try");
    let to = dir.join("outage-try");
    std::fs::create_dir(&to).unwrap();
    for file in ["run.json", "timeline.csv", "events.csv"] {
        std::fs::copy(from.join(file), to.join(file)).unwrap();
    }
    to
}

#[test]
fn help_names_every_command_and_the_exit_codes() {
    let help = stall_lab(empty().path()).arg("--help").assert().success();
    let text = String::from_utf8(help.get_output().stdout.clone()).unwrap();
    for word in [
        "repro",
        "sweep",
        "explain",
        "wait-for",
        "plot",
        "compare",
        "check",
        "bundle",
        "observe",
        "profiles",
        "image",
        "cache",
        "clean",
        "doctor",
        "Exit codes",
        "130",
    ] {
        assert!(text.contains(word), "{word} is not in:\n{text}");
    }
}

#[test]
fn the_profiles_are_listed_and_each_can_be_saved_and_used() {
    let dir = empty();
    let listed = stall_lab(dir.path()).arg("profiles").assert().success();
    let text = String::from_utf8(listed.get_output().stdout.clone()).unwrap();
    for name in ["outage", "quick", "smoke"] {
        assert!(text.lines().any(|line| line.starts_with(name)), "{text}");
        let shown = stall_lab(dir.path()).args(["profiles", name]).assert().success();
        let file = dir.path().join("mine.toml");
        std::fs::write(&file, &shown.get_output().stdout).unwrap();
        stall_lab(dir.path()).args(["repro", "--dry-run", "--profile", "mine.toml"]).assert().success();
    }
}

#[test]
fn the_scenarios_are_listed_with_their_arms_and_each_has_a_plan() {
    let dir = empty();
    let listed = stall_lab(dir.path()).arg("scenarios").assert().success();
    let text = String::from_utf8(listed.get_output().stdout.clone()).unwrap();
    let mut lines = text.lines().peekable();
    let mut count = 0;
    while let Some(name) =
        lines.next().and_then(|line| line.split(' ').next()).filter(|name| !name.is_empty())
    {
        let arms = lines.next().and_then(|line| line.trim_start().strip_prefix("arms: ")).unwrap();
        let plan = stall_lab(dir.path()).args(["repro", "--dry-run", "--profile", name]).assert().success();
        plan.stdout(contains(format!("For each arm ({arms})")));
        count += 1;
    }
    assert!(count >= 9, "{text}");
}

#[test]
fn arms_of_the_command_line_are_each_run_for_every_way_of_prefetching() {
    let arms = ["--arm", "fpw:postgres.common.full_page_writes=on", "--arm", "small:workload.scale=2"];
    stall_lab(empty().path())
        .args(["repro", "--profile", "smoke", "--prefetch", "try,off", "--dry-run"])
        .args(arms)
        .assert()
        .success()
        .stdout(contains("For each arm (fpw-try, fpw-off, small-try, small-off)"));
}

#[test]
fn servers_of_the_command_line_run_every_arm_stock_beside_patched() {
    let servers = ["--postgres", "15,18", "--pg-prefix", "/opt/patched"];
    stall_lab(empty().path())
        .args(["repro", "--profile", "smoke", "--prefetch", "try", "--dry-run"])
        .args(servers)
        .assert()
        .success()
        .stdout(
            contains("For each arm (pg15-try, pg18-try, patched-try)").and(contains("3 loaded databases")),
        );
}

#[test]
fn a_sweep_is_planned_with_its_points_its_time_and_the_folder_that_the_same_command_finds_again() {
    let dir = empty();
    let plan = || {
        let caps = ["sweep", "--vary", "standby.read_iops=100,400", "--prefetch", "try,off", "--dry-run"];
        let shown = stall_lab(dir.path()).args(caps).assert().success();
        String::from_utf8(shown.get_output().stdout.clone()).unwrap()
    };
    let text = plan();
    for line in
        ["read_iops=100, prefetch=try ", "read_iops=400, prefetch=off ", "3 repeats;", "12 runs, about "]
    {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(text.contains("Results in results/quick/sweep-read_iops-prefetch-"), "{text}");
    assert_eq!(plan(), text);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_dry_run_touches_nothing_and_needs_no_engine() {
    let dir = empty();
    stall_lab(dir.path())
        .args(["repro", "--prefetch", "try,off", "--dry-run"])
        .assert()
        .success()
        .stdout(contains("Steps").and(contains("Disk")).and(contains("500 read and 500 write IOPS")));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn wait_for_has_a_plan_and_polling_alone_may_be_planned_for_an_older_server() {
    let dir = empty();
    stall_lab(dir.path())
        .args(["wait-for", "all", "--dry-run", "--seed", "7"])
        .assert()
        .success()
        .stdout(contains("busy-poll, wait-for").and(contains("Seed of the random orders: 7")));
    stall_lab(dir.path())
        .args(["wait-for", "load", "--methods", "poll,busy-poll", "--postgres", "18", "--dry-run"])
        .assert()
        .success()
        .stdout(contains("of poll, busy-poll; sweep over"));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn without_an_engine_the_error_lists_what_was_tried() {
    let dir = empty();
    stall_lab(dir.path())
        .args(["repro", "--prefetch", "try", "--profile", "smoke"])
        .assert()
        .code(1)
        .stdout("")
        .stderr(contains("no Docker engine answered").and(contains("tcp://127.0.0.1:1")));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn what_the_user_got_wrong_is_exit_code_2_and_one_clear_message() {
    let dir = empty();
    std::fs::write(dir.path().join("bad.toml"), "description = \"x\"\nscale = 3\n").unwrap();
    let long: &[(&[&str], &str)] = &[
        (&["repro", "--profile", "nightly"], "outage"),
        (&["repro", "--profile", "missing.toml"], "missing.toml"),
        (&["repro", "--profile", "bad.toml"], "bad.toml:2"),
        (&["repro", "--profile", "smoke", "--set", "standby.read_iops=-5"], "--set standby.read_iops=-5"),
        (&["repro", "--profile", "smoke", "--set", "standby.reed_iops=5"], "read_iops"),
        (&["repro", "--set", "scale"], "scale"),
        (&["repro", "--arm", "no-colon"], "NAME:KEY=VALUE"),
        (&["repro", "--arm", "x:workload.scal=1"], "arm x: workload.scal=1"),
        (&["repro", "--arm", "x:workload.scale=1", "--arm", "x:workload.scale=2"], "x is there twice"),
        (&["repro", "--profile", "full-page-writes", "--prefetch", "try"], "sets recovery_prefetch itself"),
        (&["repro", "--prefetch", "maybe"], "maybe"),
        (&["repro", "--prefetch", "try,try"], "try is there twice"),
        (&["repro", "--prefetch", "try", "--expect", "off=stall"], "there is no arm off"),
        (&["repro", "--expect", "hang"], "hang"),
        (&["repro", "--postgres", "14"], "14"),
        (&["repro", "--postgres", "18,18", "--prefetch", "off"], "pg18-off is there twice"),
        (&["image", "build", "--postgres", "18", "--pg-prefix", "/opt/pg"], "cannot be used with"),
        (&["sweep"], "--vary"),
        (&["sweep", "--vary", "standby.read_iops"], "has no ="),
        (&["sweep", "--vary", "standby.reed_iops=1,2"], "--vary standby.reed_iops=1: unknown key"),
        (&["sweep", "--vary", "prefetch=try", "--prefetch", "off"], "prefetch is there twice"),
        (&["sweep", "--vary", "postgres=15,18", "--postgres", "18"], "leave --postgres"),
        (&["sweep", "--vary", "workload.scale=1,2", "--profile", "triggers"], "arms of its own"),
        (&["sweep", "--vary", "workload.scale=1,2", "--repeat", "0"], "0 is not in"),
        (&["profiles", "nightly"], "outage"),
        (&["plot"], "RESULTS_DIR"),
        (&["compare", "x"], "RUN"),
        (&["compare", "x", "y"], "x: No such file"),
        (&["image", "remove"], "IMAGE"),
        (&["cache", "remove"], "DATABASE"),
        (&["wait-for"], "refusals"),
        (&["wait-for", "all", "--postgres", "18"], "PostgreSQL 18 has no WAIT FOR LSN"),
        (&["wait-for", "wake", "--postgres", "17", "--dry-run"], "--methods poll,busy-poll"),
        (&["wait-for", "latency", "--methods", "poll:soon"], "busy-poll"),
        (&["wait-for", "latency", "--trials", "0"], "--trials"),
        (&["wait-for", "load", "--rate", "0"], "1 to 1,000,000"),
        (&["wait-for", "wake", "--waiters", "2,501"], "1 to 500"),
        (&["frobnicate"], "frobnicate"),
    ];
    for (args, expected) in long {
        stall_lab(dir.path()).args(*args).assert().code(2).stdout("").stderr(contains(*expected));
    }
}

#[test]
fn a_recorded_run_is_judged_and_drawn_without_docker() {
    let dir = empty();
    let run = outage(dir.path());
    stall_lab(dir.path())
        .args(["plot", "outage-try"])
        .assert()
        .success()
        .stdout(contains("stalled").and(contains("38 min")));
    for file in ["summary.json", "timeline.png", "README.md"] {
        assert!(run.join(file).exists(), "{file}");
    }
    let summary: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(run.join("summary.json")).unwrap()).unwrap();
    for key in [
        "verdict",
        "hang_s",
        "time_to_streaming_s",
        "read_iops_cap",
        "hang_read_iops_mean",
        "hang_read_iops_median",
        "hang_read_iops_peak",
        "hang_reads",
        "prefetched_blocks",
        "lag_at_fault_bytes",
        "update_s",
        "update_wal_bytes",
        "amplification",
        "missed_ticks",
    ] {
        assert!(summary.get(key).is_some(), "{key} is not in summary.json");
    }
}

#[test]
fn runs_are_compared_and_differences_that_spoil_it_are_said_loudly() {
    let dir = empty();
    let run = outage(dir.path());
    let other = dir.path().join("other");
    std::fs::create_dir(&other).unwrap();
    for file in ["run.json", "timeline.csv", "events.csv"] {
        std::fs::copy(run.join(file), other.join(file)).unwrap();
    }
    let compare = |expected: &str| {
        let compared =
            stall_lab(dir.path()).args(["compare", "outage-try", "other", "--out", "both"]).assert();
        compared.success().stderr(contains(expected));
        std::fs::read_to_string(dir.path().join("both/README.md")).unwrap()
    };
    assert!(compare("").contains("the arms are repetitions of one run"));

    let text = std::fs::read_to_string(other.join("run.json")).unwrap();
    let changed =
        text.replace("\"data_checksums\": true", "\"data_checksums\": false").replace("18.6", "17.12");
    assert_ne!(text, changed);
    std::fs::write(other.join("run.json"), changed).unwrap();
    let page = compare("Caution: these runs differ in 2 things (postgres.data_checksums, server)");
    assert!(page.contains("Caution") && page.contains("data_checksums"), "{page}");
    assert!(dir.path().join("both/comparison.png").exists());
}

#[test]
fn a_folder_that_is_none_of_a_run_is_named_with_what_is_wrong() {
    let dir = empty();
    stall_lab(dir.path()).args(["plot", "."]).assert().code(2).stderr(contains("no folder of results"));
    let run = outage(dir.path());
    std::fs::write(run.join("timeline.csv"), "a,b\n1,2\n").unwrap();
    stall_lab(dir.path())
        .args(["plot", "outage-try"])
        .assert()
        .code(1)
        .stderr(contains("timeline.csv:1: there is no column tick"));
}

#[test]
fn no_colour_reaches_a_pipe() {
    stall_lab(empty().path())
        .args(["repro", "--profile", "nightly"])
        .assert()
        .stderr(contains("\u{1b}").not().and(predicate::str::starts_with("error:")));
}

#[test]
fn explain_of_a_run_without_an_account_of_its_wal_says_so() {
    let dir = empty();
    let run = outage(dir.path());
    stall_lab(dir.path())
        .arg("explain")
        .arg(&run)
        .assert()
        .success()
        .stdout(contains("there is no wal.json"));
    let json = stall_lab(dir.path()).args(["explain", "--json"]).arg(&run).assert().success();
    let json: serde_json::Value = serde_json::from_slice(&json.get_output().stdout).unwrap();
    for key in ["needless_prefetches", "useful_prefetches", "predicted_reads", "predicted_replay_s"] {
        assert!(json.get(key).unwrap().is_null(), "{key}: {json}");
    }
    assert!(json["measured_replay_s"].is_number(), "{json}");
    stall_lab(dir.path())
        .args(["explain", "--predict", "outage"])
        .arg(&run)
        .assert()
        .code(1)
        .stderr(contains("no wal.json to predict from"));
}

#[test]
fn explain_says_what_is_missing_or_does_not_go_together() {
    let dir = empty();
    for (args, message) in [
        (&["explain"][..], "<RUN>"),
        (&["explain", "--wal", "."], "--iops"),
        (&["explain", "run", "--wal", ".", "--iops", "5"], "cannot be used with"),
        (&["explain", "--wal", ".", "--iops", "0"], "0 is not in"),
        (&["explain", "--wal", ".", "--iops", "500"], "has no WAL segments"),
    ] {
        stall_lab(dir.path()).args(args).assert().code(2).stderr(contains(message));
    }
}
