//! Flags.

use super::{FAILED, USAGE, assert_refused};

const REPRO: [&str; 4] = ["repro", "--dry-run", "--profile", "smoke"];

/// A flag and its value, and what is said of it; `tests/cli.rs` has the plain mistakes.
pub(crate) const FLAGS: &[(&str, &str, &[&str])] = &[
    ("--set", "=", &["--set", "is not KEY=VALUE, as in standby.read_iops=1000"]),
    ("--set", "a=", &["--set a=: unknown key \"a\"", "known here: description, workload"]),
    ("--set", ".=1", &["--set .=1: unknown key \"\""]),
    ("--set", "standby.=1", &["--set standby.=1: unknown key \"\"", "known here: name, cpus"]),
    (
        "--set",
        "workload.scale=",
        &["--set workload.scale=: \"\" is not allowed: a whole number from 1 to 100000"],
    ),
    ("--set", "workload.scale=1e9", &["--set workload.scale=1e9: \"1e9\" is not allowed"]),
    ("--set", "workload.scale=NaN", &["--set workload.scale=NaN: \"NaN\" is not allowed"]),
    (
        "--set",
        "workload.scale=99999999999999999999999",
        &["--set workload.scale=9", "a whole number from 1 to 100000"],
    ),
    ("--set", "standby.nobody.read_iops=5", &["--set standby.nobody.read_iops=5: unknown key \"nobody\""]),
    ("--set", "standby[0].read_iops=5", &["unknown key \"standby[0]\", perhaps \"standby\""]),
    (
        "--set",
        "standby.name=standby_startup",
        &["--set standby.name=standby_startup", "no \"_startup\" or \"_probe\" at its end"],
    ),
    (
        "--set",
        "standby.name=a_recovery_prefetch",
        &["--set standby.name=a_recovery_prefetch", "_recovery_prefetch"],
    ),
    ("--set", "postgres.common.port=1", &["--set postgres.common.port=1: a profile may not set it"]),
    ("--set", "postgres.common.x;y=1", &["\"x;y\" is not the name of a PostgreSQL setting"]),
    ("--set", "description=a\nb", &["--set description=a\\nb", "text without control characters"]),
    (
        "--set",
        "postgres.common.work_mem=4MB\nport = 1",
        &["work_mem=4MB\\nport = 1", "without control characters"],
    ),
    ("--set", "update.fraction=1e-300", &["--set update.fraction=1e-300", "at most six decimals"]),
    (
        "--set",
        "fault.kind=reboot",
        &["--set fault.kind=reboot: \"reboot\" is not allowed: \"kill-walreceiver\""],
    ),
    ("--set", "fault.lasts=30s", &["fault.lasts"]),
    ("--set", "watch.stall_after=0s", &["--set watch.stall_after=0s", "a time above zero with its unit"]),
    ("--set", "watch.deadline=1001h", &["--set watch.deadline=1001h", "up to 1000h"]),
    ("--set", "primary.memory=1", &["--set primary.memory=1: \"1\" is not allowed: a size from 64MB"]),
    (
        "--set",
        "postgres.common.shared_buffers=$(reboot)",
        &["\"$(reboot)\" is not allowed: a size as PostgreSQL has it"],
    ),
    ("--arm", ":", &["--arm", "\":\" is not NAME:KEY=VALUE,KEY=VALUE"]),
    (
        "--arm",
        "../x:workload.scale=1",
        &["--arm", "a name is up to 40 lower-case letters, digits and hyphens"],
    ),
    ("--arm", "a b:workload.scale=1", &["--arm", "a name is up to 40 lower-case letters"]),
    ("--arm", "a:nope=1", &["arm a: nope=1: unknown key \"nope\""]),
    ("--arm", "a:workload.scale=0", &["arm a: workload.scale=0: 0 is not allowed"]),
    ("--expect", "=", &["--expect", "write `stall` or `no-stall`"]),
    ("--expect", "x=stall", &["--expect: there is no arm x; there is try"]),
    ("--prefetch", "", &["--prefetch", "\"\" is not a value of recovery_prefetch: try, off or on"]),
    ("--prefetch", "try,", &["--prefetch", "\"\" is not a value of recovery_prefetch"]),
    ("--postgres", "", &["--postgres", "no PostgreSQL version of 15 to 19"]),
    ("--postgres", "18.3", &["--postgres", "\"18.3\" is no PostgreSQL version of 15 to 19"]),
    ("--postgres", "a b", &["--postgres", "neither a version of 15 to 19 nor an image's name"]),
    ("--postgres", "$(reboot)", &["--postgres", "nor an image's name, as in 18 or postgres:18-alpine"]),
    ("--postgres", "postgres:", &["--postgres", "nor an image's name"]),
    ("--results", "", &["--results"]),
];

#[test]
fn a_wrong_flag_is_named_with_its_value_and_what_is_allowed() {
    let dir = tempfile::tempdir().unwrap();
    for (flag, value, words) in FLAGS {
        assert_refused(dir.path(), &[&REPRO[..], &[flag, value]].concat(), USAGE, words);
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "something was made");
}

#[test]
fn commands_that_lack_something_say_what() {
    let dir = tempfile::tempdir().unwrap();
    let cases: &[(&[&str], i32, &[&str])] = &[
        (&["explain", "--wal", ".", "--iops", "-1"], USAGE, &["-1"]),
        (&["explain", "--wal", ".", "--iops", "many"], USAGE, &["--iops", "invalid digit"]),
        (&["explain", "--wal", ".", "--iops", "5", "--shared-buffers", "8"], USAGE, &["--shared-buffers"]),
        (&["explain", "--wal", "nope", "--iops", "5"], USAGE, &["nope"]),
        (&["explain", "nope"], USAGE, &["nope has neither run.json nor comparison.json"]),
        (&["explain", ".", "--predict", "nope"], USAGE, &["no profile is named \"nope\""]),
        (&["compare", "nope", "nope"], USAGE, &["nope: No such file"]),
        (&["compare", ".", "."], USAGE, &["has neither run.json nor comparison.json"]),
        (
            &["plot", "nope"],
            USAGE,
            &[
                "nope has neither run.json nor comparison.json nor sweep.json nor wait-for.json: it is no folder",
            ],
        ),
        (&["plot", "/dev/null"], USAGE, &["/dev/null has neither"]),
        (
            &["repro", "--keep", "--profile", "smoke", "--prefetch", "try,off"],
            USAGE,
            &["--keep: with more than one arm"],
        ),
        (&["clean"], FAILED, &["no Docker engine answered", "DOCKER_HOST"]),
        (&["doctor"], FAILED, &["no Docker engine answered", "DOCKER_HOST"]),
        (&["cache"], FAILED, &["no Docker engine answered", "DOCKER_HOST"]),
        (&["image"], FAILED, &["no Docker engine answered", "DOCKER_HOST"]),
    ];
    for (args, code, words) in cases {
        assert_refused(dir.path(), args, *code, words);
    }
}

#[test]
fn a_reader_that_has_gone_and_a_full_stdout_end_no_command_with_a_panic() {
    let dir = tempfile::tempdir().unwrap();
    let binary = assert_cmd::cargo::cargo_bin!("stall-lab");
    let run = |script: &str| {
        let mut sh = std::process::Command::new("bash");
        sh.current_dir(dir.path()).args(["-c", script, "bash"]).arg(binary).output().unwrap()
    };
    for command in ["profiles", "profiles outage", "scenarios", "repro --dry-run"] {
        // `true` reads nothing; the lab's exit code is the pipe's first.
        let output =
            run(&format!("set -o pipefail; for _ in 1 2 3; do \"$1\" {command} | true || exit; done"));
        assert_eq!(output.status.code(), Some(0), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        let output = run(&format!("\"$1\" {command} > /dev/full"));
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(FAILED), "{command}: {stderr}");
        assert!(stderr.starts_with("error: stdout: No space left on device"), "{command}: {stderr}");
    }
}
