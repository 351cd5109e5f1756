//! What a user can get wrong, as tables: each line is a case, with the exit code it ends with and what is said of it.
//!
//! Whatever is wrong is told on stderr, with its file and line or its flag; nothing is on stdout, and nothing panics.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod arguments;
mod profiles;
mod results;

use std::path::{Path, PathBuf};

use assert_cmd::Command;

/// A flag, a profile or a path is wrong.
const USAGE: i32 = 2;
/// It was looked at, and it failed.
const FAILED: i32 = 1;

/// The binary in this folder, with no engine to be found.
fn stall_lab(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("stall-lab").unwrap();
    command.current_dir(dir).env("DOCKER_HOST", "tcp://127.0.0.1:1").env_remove("STALL_LAB_LOG").args(args);
    command
}

/// Runs the lab and holds its end to what is expected: the exit code, and words of which the first line, which names
/// the place, holds the first.
#[track_caller]
fn assert_refused(dir: &Path, args: &[&str], code: i32, words: &[&str]) {
    let output = stall_lab(dir, args).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let told = format!("{args:?} ended with {:?} and said:\n{stderr}", output.status.code());
    assert_eq!(output.status.code(), Some(code), "{told}");
    assert!(stderr.starts_with("error: "), "{told}");
    assert!(!stderr.contains("panicked"), "{told}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "", "{told}");
    let (first, others) = words.split_first().unwrap();
    assert!(stderr.lines().next().unwrap().contains(first), "{first:?} is not on the first line: {told}");
    for word in others {
        assert!(stderr.contains(word), "{word:?} is missing: {told}");
    }
}

/// A copy of the recorded outage.
fn recorded_run(dir: &Path) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/outage-try");
    let to = dir.join("run");
    std::fs::create_dir(&to).unwrap();
    for file in ["run.json", "timeline.csv", "events.csv"] {
        std::fs::copy(from.join(file), to.join(file)).unwrap();
    }
    to
}

#[test]
fn there_are_more_than_a_hundred_cases() {
    let cases = arguments::FLAGS.len() + profiles::files().len() + results::REFUSED.len();
    assert!(cases > 100, "{cases}");
}
