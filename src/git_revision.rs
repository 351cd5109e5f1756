//! Build script: the git revision that the binary is built from, for `run.json`.
//!
//! Outside a git checkout, as from a source archive, there is none, and the lab says so.
#![allow(clippy::print_stdout, reason = "that is how a build script speaks to cargo")]

use std::process::Command;

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

fn main() {
    // HEAD names a branch, whose file changes with every commit; the index changes with what is staged.
    for file in ["HEAD", "index", "refs/heads"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    println!("cargo::rerun-if-changed=src");
    if let Some(revision) = git(&["rev-parse", "--short=12", "HEAD"]) {
        let dirty =
            git(&["status", "--porcelain", "--untracked-files=no", "--", "src", "docker", "profiles"]);
        let suffix = if dirty.is_some_and(|changes| !changes.is_empty()) { "+changes" } else { "" };
        println!("cargo::rustc-env=STALL_LAB_GIT_REVISION={revision}{suffix}");
    }
}
