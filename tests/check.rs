//! `stall-lab check` on real servers that were set up by hand, and on such as do not answer.
//!
//! Without PostgreSQL on the host, or without an engine, the tests say that they are skipped; with
//! `STALL_LAB_REQUIRE_POSTGRES` or `STALL_LAB_REQUIRE_DOCKER` set that is a failure.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::engine_or_skip;
use common::servers::{Node, Servers, run};
use serde_json::Value;
use stall_lab::image::{self, ImageRequest};

/// The binary with nothing of this user's around it.
fn check(home: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stall-lab"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PG")) {
        command.env_remove(name);
    }
    let output = command.env("HOME", home).arg("check").args(args).output().unwrap();
    for text in [&output.stdout, &output.stderr] {
        let text = String::from_utf8_lossy(text);
        assert!(!text.contains("-secret"), "a password: {text}");
    }
    output
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Both servers, asked by this role over checked TLS, with the password from the file.
fn look(servers: &Servers, role: &str, more: &[&str]) -> Output {
    let (primary, standby) = (servers.conninfo(Node::Primary, role), servers.conninfo(Node::Standby, role));
    let both = ["--primary", &primary, "--standby", &standby, "--interval", "500ms"];
    check(servers.home(), &[&both, more].concat())
}

fn exposed_not_exposed_and_half_visible(servers: &Servers, major: u32) {
    servers.write_pgpass();
    servers.set(Node::Primary, "synchronous_standby_names", "standby1");

    let exposed = look(servers, "monitor", &["--json", "--iops", "500"]);
    let found = json(&exposed);
    assert_eq!((exposed.status.code(), &found["verdict"]), (Some(1), &Value::from("exposed")), "{found:#}");
    let standby = &found["standbys"][0];
    assert!(standby["version"].as_str().unwrap().starts_with(&major.to_string()), "{found:#}");
    let expected = [
        ("name", Value::from("standby1")),
        ("commits", Value::from("hang")),
        ("recovery_prefetch", Value::from("try")),
        ("prefetches", Value::from(true)),
        ("streaming", Value::from(true)),
        ("replay_paused", Value::from(false)),
        ("not_visible", Value::Array(vec![])),
        // 1 GB of max_wal_size.
        ("worst_reads", Value::from(131_072)),
        ("worst_hang_s", Value::from(131_072.0 / 500.0)),
    ];
    for (field, value) in expected {
        assert_eq!(standby[field], value, "{field}: {found:#}");
    }
    assert_eq!(found["standbys"].as_array().unwrap().len(), 1, "{found:#}");
    assert_eq!(found["primary"]["streaming_synchronous"], 1, "{found:#}");

    let words = look(servers, "monitor", &[]);
    let text = String::from_utf8_lossy(&words.stdout).into_owned();
    assert!(text.starts_with("EXPOSED - standby1: ") && text.contains("16,000"), "{text}");

    servers.set(Node::Standby, "recovery_prefetch", "off");
    let safe = look(servers, "monitor", &["--json"]);
    assert_eq!((safe.status.code(), &json(&safe)["verdict"]), (Some(0), &Value::from("not-exposed")));
    servers.set(Node::Standby, "recovery_prefetch", "try");

    let half = look(servers, "plain", &["--json"]);
    let found = json(&half);
    assert_eq!(half.status.code(), Some(1), "{found:#}");
    assert!(
        found["primary"]["waiting_commits"].is_null() && found["standbys"][0]["streaming"].is_null(),
        "{found:#}"
    );
    for hidden in [&found["primary"]["not_visible"], &found["standbys"][0]["not_visible"]] {
        assert!(hidden.to_string().contains("pg_monitor"), "{found:#}");
    }
    let primary = servers.conninfo(Node::Primary, "plain");
    let alone = check(servers.home(), &["--primary", &primary, "--interval", "100ms", "--json"]);
    assert_eq!((alone.status.code(), &json(&alone)["verdict"]), (Some(2), &Value::from("unknown")));
}

fn backlogs(servers: &Servers) {
    // Commits must not wait for a replay that is paused.
    servers.set(Node::Primary, "synchronous_standby_names", "standby1");
    servers.sql(Node::Standby, "SELECT pg_wal_replay_pause()");
    servers.wait_for(Node::Standby, "SELECT pg_get_wal_replay_pause_state()", "paused");
    servers.sql(Node::Primary, "CREATE TABLE filled AS SELECT generate_series(1, 200000) AS n");
    let paused = look(servers, "monitor", &["--json", "--iops", "500"]);
    let found = json(&paused);
    let standby = &found["standbys"][0];
    assert_eq!(paused.status.code(), Some(1), "{found:#}");
    assert!(standby["lag_bytes"].as_u64().unwrap() > 10 << 20, "{found:#}");
    assert_eq!(standby["replay_paused"], true, "{found:#}");
    assert!(
        standby["predicted_hang_s"].is_null() && standby["predicted_reads"].as_u64().unwrap() > 1_000,
        "{found:#}"
    );
    servers.sql(Node::Standby, "SELECT pg_wal_replay_resume()");
    let end = servers.sql(Node::Primary, "SELECT pg_current_wal_lsn()");
    servers.wait_for(Node::Standby, &format!("SELECT pg_last_wal_replay_lsn() >= '{end}'"), "t");

    servers.set(Node::Standby, "recovery_min_apply_delay", "1min");
    let delayed = look(servers, "monitor", &["--json"]);
    let found = json(&delayed);
    assert_eq!(
        (delayed.status.code(), &found["standbys"][0]["predicted_hang_s"]),
        (Some(1), &Value::from(60.0))
    );
    servers.set(Node::Standby, "recovery_min_apply_delay", "0");
    servers.set(Node::Primary, "synchronous_standby_names", "");
    let asynchronous = look(servers, "monitor", &["--json"]);
    assert_eq!(asynchronous.status.code(), Some(0), "{}", json(&asynchronous));
}

fn connections(servers: &Servers) {
    let root = servers.root_certificate();
    let port = servers.port(Node::Primary).to_string();
    let ask = |conninfo: &str| check(servers.home(), &["--primary", conninfo, "--interval", "100ms"]);
    let failure = |conninfo: &str| {
        let output = ask(conninfo);
        assert_eq!(output.status.code(), Some(3), "{conninfo}: {}", String::from_utf8_lossy(&output.stdout));
        stderr(&output)
    };
    let base = format!("port={port} user=monitor dbname=postgres");
    let with_password = format!("{base} password=monitor-secret");
    // The certificate is one for localhost.
    let full = failure(&format!(
        "{with_password} host=127.0.0.1 sslmode=verify-full sslrootcert={}",
        root.display()
    ));
    assert!(full.contains("not valid for name"), "{full}");
    for mode in ["allow", "prefer", "require", "verify-ca"] {
        let roots =
            if mode == "verify-ca" { format!("sslrootcert={}", root.display()) } else { String::new() };
        let output = ask(&format!("{with_password} host=127.0.0.1 sslmode={mode} {roots}"));
        assert!(output.stdout.starts_with(b"NOT EXPOSED"), "{mode}: {}", stderr(&output));
    }
    let plain = failure(&format!("{with_password} host=127.0.0.1 sslmode=disable"));
    assert!(plain.contains("no encryption"), "{plain}");
    let uri = format!(
        "postgresql://monitor:monitor-secret@localhost:{port}/postgres?sslmode=verify-full&sslrootcert={}",
        root.display()
    );
    assert!(ask(&uri).stdout.starts_with(b"NOT EXPOSED"));

    let wrong = failure(&format!("{base} host=localhost password=wrong-secret"));
    assert!(wrong.contains("password authentication failed"), "{wrong}");
    let none = failure(&format!("{base} host=localhost passfile=/nowhere"));
    assert!(none.contains("password missing"), "{none}");
    let service = format!(
        "[mine]\nhost=nowhere.invalid,localhost\nport={port}\nuser=monitor\ndbname=postgres\ntarget_session_attrs=primary\n"
    );
    std::fs::write(servers.home().join(".pg_service.conf"), service).unwrap();
    servers.write_pgpass();
    let by_service = ask("service=mine");
    assert!(by_service.stdout.starts_with(b"NOT EXPOSED"), "{}", stderr(&by_service));
    let standby = failure(&servers.conninfo(Node::Standby, "monitor"));
    assert!(standby.contains("is in recovery"), "{standby}");
    let picky =
        failure(&format!("{} target_session_attrs=standby", servers.conninfo(Node::Primary, "monitor")));
    assert!(picky.contains("it is a primary") && picky.contains("target_session_attrs"), "{picky}");
}

/// Certificates as PostgreSQL's documentation makes them, which libpq takes.
fn certificates_of_the_documentation(servers: &Servers) {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let read = |name: &str| std::fs::read(dir.path().join(name)).unwrap();
    let openssl = |args: &str, files: &[(&str, &str)]| {
        let mut command = Command::new("openssl");
        command.args(args.split(' '));
        for (flag, name) in files {
            command.arg(flag).arg(path(name));
        }
        run(&mut command);
    };
    let port = servers.port(Node::Primary);
    let ask = |mode: &str| {
        let root = path("own.crt");
        let conninfo = format!(
            "host=localhost port={port} user=monitor dbname=postgres sslmode={mode} sslrootcert={root}"
        );
        check(servers.home(), &["--primary", &conninfo, "--interval", "100ms"])
    };
    // Its own authority, with no name but its common name.
    openssl(
        "req -new -x509 -days 2 -nodes -subj /CN=localhost",
        &[("-out", "own.crt"), ("-keyout", "own.key")],
    );
    servers.replace_certificate(&read("own.crt"), &read("own.key"));
    let is_taken = |mode: &str| ask(mode).stdout.starts_with(b"NOT EXPOSED");
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_taken("verify-full") {
        assert!(Instant::now() < deadline, "{}", stderr(&ask("verify-full")));
    }
    assert!(is_taken("verify-ca"));

    openssl("req -new -nodes -subj /CN=localhost", &[("-out", "v1.csr"), ("-keyout", "v1.key")]);
    let files = [("-in", "v1.csr"), ("-CA", "own.crt"), ("-CAkey", "own.key"), ("-out", "v1.crt")];
    openssl("x509 -req -days 2 -CAcreateserial", &files);
    servers.replace_certificate(&read("v1.crt"), &read("v1.key"));
    let encrypted = format!("host=localhost port={port} user=monitor dbname=postgres sslmode=require");
    let deadline = Instant::now() + Duration::from_secs(10);
    let serves = || {
        let connect = format!("localhost:{port}");
        let output = Command::new("openssl")
            .args(["s_client", "-starttls", "postgres", "-connect", &connect])
            .stdin(Stdio::null())
            .output();
        String::from_utf8_lossy(&output.unwrap().stdout)
            .contains(std::str::from_utf8(&read("v1.crt")).unwrap().trim())
    };
    while !serves() {
        assert!(Instant::now() < deadline, "the server does not take its new certificate");
    }
    let output = check(servers.home(), &["--primary", &encrypted, "--interval", "100ms"]);
    assert!(output.stdout.starts_with(b"NOT EXPOSED"), "{}", stderr(&output));
}

/// Nothing of a check may stay in a server or change it.
fn nothing_is_written(servers: &Servers) {
    let before = servers.sql(Node::Primary, "SELECT pg_current_wal_insert_lsn()");
    look(servers, "monitor", &["--json"]);
    let after = servers.sql(Node::Primary, "SELECT pg_current_wal_insert_lsn()");
    // What the server writes of itself now and then is small.
    let grown = servers.sql(Node::Primary, &format!("SELECT '{after}'::pg_lsn - '{before}'::pg_lsn < 8192"));
    assert_eq!(grown, "t", "{before} to {after}");
    let sessions = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'stall-lab'";
    servers.wait_for(Node::Primary, sessions, "0");
}

fn all(servers: &Servers, major: u32) {
    exposed_not_exposed_and_half_visible(servers, major);
    backlogs(servers);
    connections(servers);
    nothing_is_written(servers);
    certificates_of_the_documentation(servers);
}

#[test]
fn on_the_hosts_own_postgresql_it_says_what_is_so_and_what_it_cannot_see() {
    let Some(servers) = Servers::of_host() else { return };
    let major: u32 = servers
        .sql(Node::Primary, "SELECT current_setting('server_version_num')::int / 10000")
        .parse()
        .unwrap();
    a_standby_that_stops_answering_costs_what_it_would_have_said(&servers);
    all(&servers, major);
}

/// `STALL_LAB_CHECK_POSTGRES` takes another version.
#[tokio::test]
async fn on_postgresql_18_it_says_what_is_so_and_what_it_cannot_see() {
    let Some(engine) = engine_or_skip().await else { return };
    let major = std::env::var("STALL_LAB_CHECK_POSTGRES").map_or(18, |major| major.parse().unwrap());
    let image = image::resolve(&engine, &ImageRequest::Version(major), &mut |_| ()).await.unwrap();
    let Some(servers) = Servers::in_container(&image) else { return };
    all(&servers, major.into());
}

/// A listener that lets connect and never says a word, as a server that hangs or a network that drops packets does.
fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let conninfo = format!(
        "host=127.0.0.1 port={} user=monitor password=x-secret",
        listener.local_addr().unwrap().port()
    );
    (listener, conninfo)
}

#[test]
fn a_primary_that_never_answers_is_an_error_within_the_time_that_was_promised() {
    let home = tempfile::tempdir().unwrap();
    let (_listener, conninfo) = silent();
    let started = Instant::now();
    let output = check(home.path(), &["--primary", &conninfo, "--standby", &conninfo, "--interval", "1s"]);
    assert!(started.elapsed() < Duration::from_secs(11), "{:?}", started.elapsed());
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("no answer within"), "{}", stderr(&output));
}

/// Passes bytes on for so long and then no more, without closing.
fn forward_for(time: Duration, to: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    listener.set_nonblocking(true).unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let (mut client, _) = listener.accept().await.unwrap();
            let mut server = tokio::net::TcpStream::connect(("127.0.0.1", to)).await.unwrap();
            let passing = tokio::io::copy_bidirectional(&mut client, &mut server);
            let _ = tokio::time::timeout(time, passing).await;
            // Open, and silent, for longer than anybody waits.
            tokio::time::sleep(Duration::from_secs(60)).await;
        });
    });
    port
}

fn a_standby_that_stops_answering_costs_what_it_would_have_said(servers: &Servers) {
    servers.write_pgpass();
    servers.set(Node::Primary, "synchronous_standby_names", "standby1");
    let primary = servers.conninfo(Node::Primary, "monitor");
    let port = forward_for(Duration::from_secs(2), servers.port(Node::Standby));
    let standby = format!("{} hostaddr=127.0.0.1 port={port}", servers.conninfo(Node::Standby, "monitor"));
    let started = Instant::now();
    let args = ["--primary", &primary, "--standby", &standby, "--interval", "3s", "--json"];
    let output = check(servers.home(), &args);
    assert!(started.elapsed() < Duration::from_secs(13), "{:?}", started.elapsed());
    let found = json(&output);
    let hidden = found["standbys"][0]["not_visible"].to_string();
    assert!(
        hidden.contains("its replay after the interval") && hidden.contains("did not answer"),
        "{found:#}"
    );
    assert_eq!(found["standbys"][0]["recovery_prefetch"], "try", "{found:#}");

    let (_listener, mute) = silent();
    let started = Instant::now();
    let output =
        check(servers.home(), &["--primary", &primary, "--standby", &mute, "--interval", "1s", "--json"]);
    assert!(started.elapsed() < Duration::from_secs(11), "{:?}", started.elapsed());
    let found = json(&output);
    assert_eq!((output.status.code(), &found["verdict"]), (Some(2), &Value::from("unknown")), "{found:#}");
}

#[test]
fn a_mistake_on_the_command_line_is_no_verdict() {
    let home = tempfile::tempdir().unwrap();
    for (args, expected) in [
        (vec![], "--primary"),
        (vec!["--primary", "mydb-secret"], "not a connection string at character 1"),
        (vec!["--primary", "host=a require_auth=md5"], "require_auth is not supported"),
        (vec!["--primary", "host=a", "--interval", "2h"], "from 100ms to an hour"),
        (vec!["--primary", "host=a", "--iops", "0"], "--iops"),
    ] {
        let output = check(home.path(), &args);
        assert_eq!(output.status.code(), Some(3), "{args:?}");
        assert!(stderr(&output).contains(expected), "{args:?}: {}", stderr(&output));
    }
}
