//! Images that are of no use, and prefixes that are none: what is said of each.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use super::*;
use crate::docker::fake::{Answer, FakeEngine};
use crate::image::installation::tests::prefix;

/// The output of a build that prints these lines, and then fails or gives an image.
fn build(lines: &[&str], end: serde_json::Value) -> Answer {
    let lines = lines.iter().map(|line| serde_json::json!({ "stream": format!("{line}\n") }));
    let body: String = lines.chain([end]).map(|line| format!("{line}\r\n")).collect();
    Answer::stream(body.as_bytes())
}

fn fails(message: &str) -> serde_json::Value {
    serde_json::json!({ "errorDetail": { "message": message }, "error": message })
}

fn gives() -> serde_json::Value {
    serde_json::json!({ "aux": { "ID": "sha256:2" } })
}

/// What is said of an image that is there, when it is built upon with this answer.
async fn said_of(answer: Answer) -> String {
    let fake = FakeEngine::start()
        .answer("GET /images/mine:1/json", Answer::json(r#"{"Id":"sha256:1","Config":{"Labels":{}}}"#))
        .answer("GET /images/json", Answer::json("[]"))
        .answer("POST /build", answer);
    let request = "mine:1".parse().unwrap();
    resolve(&fake.connect().await, &request, &mut |_| ()).await.unwrap_err().to_string()
}

#[tokio::test]
async fn an_image_of_no_use_is_told_with_what_it_lacks() {
    let failed = || fails("The command '/bin/sh verify.sh' returned a non-zero code: 1");
    let facts = |version: &'static str| {
        ["stall-lab: bindir=/usr/bin", version, "stall-lab: uid=999", "stall-lab: gid=999"]
    };
    let no_server = "stall-lab: missing: one directory with postgres initdb pg_ctl psql pgbench pg_waldump";
    let cases = [
        (build(&[no_server], failed()), "missing: one directory with postgres initdb"),
        (build(&["stall-lab: missing:  losetup mkfs.ext4"], failed()), "missing:  losetup mkfs.ext4"),
        (build(&["stall-lab: missing: a user named postgres"], failed()), "a user named postgres"),
        (build(&["exec /bin/sh: exec format error"], fails("non-zero code: 1")), "exec format error"),
        (build(&[], fails("no space left on device")), "no space left on device"),
        (build(&[], gives()), "told nothing of version"),
        (build(&facts("stall-lab: version=MySQL 9"), gives()), "told nothing of version"),
        (build(&facts("stall-lab: version=postgres (PostgreSQL) 14.9"), gives()), "needs 15 or later"),
        (build(&["Step 1/9"], serde_json::json!({})), "the output ended before the build did"),
        (Answer::cut_stream(b"{\"stream\":\"Step 1/9\\n\"}\r\n"), "cannot build image"),
        (Answer::error(500, "the builder is on holiday"), "the builder is on holiday (HTTP 500)"),
        (Answer::error(403, "denied"), "denied (HTTP 403)"),
    ];
    for (answer, words) in cases {
        let said = said_of(answer).await;
        assert!(said.contains(words), "{words:?} is not in {said}");
    }
}

#[tokio::test]
async fn an_engine_that_cannot_look_at_an_image_is_told_with_its_words() {
    let fake = FakeEngine::start().answer("GET /images/mine:1/json", Answer::error(500, "disk I/O error"));
    let request = "mine:1".parse().unwrap();
    let error = resolve(&fake.connect().await, &request, &mut |_| ()).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot inspect image mine:1: disk I/O error (HTTP 500)");
}

#[test]
fn an_image_of_another_major_version_is_not_what_was_asked_for() {
    let image = server_image_of("postgres (PostgreSQL) 18.6");
    for (asked_for, is_it) in [(None, true), (Some(18), true), (Some(17), false), (Some(19), false)] {
        assert_eq!(is_as_asked(&image, asked_for), is_it, "{asked_for:?}");
    }
}

async fn said_of_prefix(prefix: PathBuf) -> String {
    let engine = FakeEngine::start().connect().await;
    resolve(&engine, &ImageRequest::Prefix(prefix), &mut |_| ()).await.unwrap_err().to_string()
}

/// A prefix whose name a shell would take apart, with a `postgres` that is this script.
fn awkward(postgres: &str) -> (tempfile::TempDir, PathBuf) {
    let (whole, dir) = (prefix("share", "lib"), tempfile::tempdir().unwrap());
    let path = dir.path().join("it's my \"pg\" $(reboot)");
    std::fs::rename(whole.path(), &path).unwrap();
    let program = path.join("bin/postgres");
    std::fs::write(&program, postgres).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    (dir, path)
}

#[tokio::test]
async fn a_prefix_that_is_none_is_named_as_it_was_given() {
    let dir = tempfile::tempdir().unwrap();
    let said = said_of_prefix(dir.path().join("no such")).await;
    assert!(said.contains("no such: No such file"), "{said}");
    std::fs::write(dir.path().join("file"), "").unwrap();
    let said = said_of_prefix(dir.path().join("file")).await;
    assert!(said.contains("file is no PostgreSQL installation: it has no bin/"), "{said}");
    let said = said_of_prefix(dir.path().to_owned()).await;
    assert!(said.contains("is no PostgreSQL installation: it has no bin/"), "{said}");
}

#[tokio::test]
async fn blanks_and_quotes_in_a_prefix_are_part_of_its_name() {
    let (_dir, path) = awkward("#!/bin/sh\necho 'postgres (PostgreSQL) 14.2'\n");
    let said = said_of_prefix(path.clone()).await;
    let reference = path.canonicalize().unwrap();
    assert!(said.starts_with(&format!("image {} has PostgreSQL 14.2", reference.display())), "{said}");
    std::fs::remove_file(path.join("bin/pgbench")).unwrap();
    let said = said_of_prefix(path).await;
    assert!(
        said.contains("it's my \"pg\" $(reboot) is no PostgreSQL installation: it has no bin/pgbench"),
        "{said}"
    );
}

#[tokio::test]
async fn a_server_that_does_not_start_for_want_of_a_library_is_told_with_its_own_words() {
    let complaint =
        "postgres: error while loading shared libraries: libicuuc.so.99: cannot open shared object file";
    let (_dir, path) = awkward(&format!("#!/bin/sh\necho '{complaint}' >&2\nexit 127\n"));
    let said = said_of_prefix(path).await;
    assert!(said.contains("libicuuc.so.99") && said.contains("bin/postgres"), "{said}");
}
