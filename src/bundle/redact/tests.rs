//! What goes, what stays, and that a second look finds nothing more.
#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn surroundings() -> Surroundings {
    Surroundings {
        hosts: vec!["erebus.lab".to_owned()],
        home: Some("/data/people/alice".to_owned()),
        temporary: Some("/scratch/alice".to_owned()),
    }
}

fn redactor(texts: &[&str]) -> Redactor {
    Redactor::learn(&surroundings(), &["primary", "standby"], texts.iter().copied()).unwrap()
}

fn redacted(text: &str) -> String {
    redactor(&[text]).text(text, &mut Counts::new())
}

#[test]
fn what_tells_of_people_and_machines_goes() {
    for (text, told) in [
        ("host=primary password=sesame7 port=5432", "host=primary password=[password] port=5432"),
        ("password='it''s \\'open' user=x", "password='[password]' user=x"),
        ("PGPASSWORD=s3same pgbench", "PGPASSWORD=[password] pgbench"),
        ("ALTER ROLE app PASSWORD 'open it';", "ALTER ROLE app PASSWORD '[password]';"),
        ("verifier SCRAM-SHA-256$4096:c2FsdA==$a2V5:a2V5 kept", "verifier [password] kept"),
        ("md5 md5d41d8cd98f00b204e9800998ecf8427e", "md5 [password]"),
        ("*:5432:*:postgres:open:sesame", "*:5432:*:postgres:[password]"),
        ("postgres://app:s3s/me@db1.shop.com:5432/app", "postgres://app:[password]@[host]:5432/app"),
        ("psql --password sesame7", "psql --password [password]"),
        ("api_key: abc-123", "api_key: [password]"),
        ("connection received: host=db7 port=51000", "connection received: host=[host] port=51000"),
        (
            "could not translate host name \"db7\" to address",
            "could not translate host name \"[host]\" to address",
        ),
        (
            "no pg_hba.conf entry for host \"10.1.2.3\", user",
            "no pg_hba.conf entry for host \"[address]\", user",
        ),
        (
            "connection to server at \"db7\" (10.1.2.3), port 5432 failed",
            "connection to server at \"[host]\" ([address]), port 5432 failed",
        ),
        ("mail alice@shop for more", "mail alice@[host] for more"),
        ("psql -h db7 -U app", "psql -h [host] -U app"),
        ("node pg-1.eu.shop.co.uk is down.", "node [host] is down."),
        ("ip-10-1-2-3.eu-west-1.compute.internal:5432", "[host]:5432"),
        ("erebus.lab and erebus, not erebusian", "[host] and [host], not erebusian"),
        ("from 192.168.17.4:5432, 10.0.0.0/8.", "from [address]:5432, [address]/8."),
        ("from [2001:db8::17]:5432 and fe80::1%eth0.", "from [[address]]:5432 and [address]."),
        ("mapped ::ffff:10.1.2.3", "mapped [address]"),
        ("/home/alice/src/lab and /root/.pgpass", "[home] and [home]"),
        ("open \"/Users/alice/My Runs/x.toml\" now", "open \"[home]\" now"),
        ("/data/people/alice/x in /scratch/alice/y", "[home] in [temporary]"),
        ("/data/people/alice", "[home]"),
        ("--results=/tmp/runs/alice,/var/tmp/x", "--results=[temporary],[temporary]"),
    ] {
        assert_eq!(redacted(text), told, "{text}");
        assert_eq!(redacted(told), told, "told again: {told}");
    }
}

#[test]
fn what_tells_nothing_stays() {
    for text in [
        "host=primary port=5432 user=postgres application_name=standby passfile=/var/lib/stall-lab/pgpass",
        "listening on IPv4 address \"0.0.0.0\", port 5432; IPv6 address \"::\"; 127.0.0.1 and ::1",
        "listening on Unix socket \"/tmp/.s.PGSQL.5432\", unix_socket_directories = '/tmp'",
        "2026-11-30 22:45:48.487 GMT [7] postmaster: LOG:  starting PostgreSQL 18.6 (Debian 18.6-3.pgdg13+1)",
        "sha256:906e6ab7babc0c0edf0d6760e641c3aef09e198d8849d012c20fe353d90ef533, postgres@sha256:3f1b2c",
        "consistent recovery state reached at 0/1783130; kernel 6.18.44-fc-v657; 20.10.24+dfsg1",
        "WHERE (aid::bigint * 3) % 100 < 3 AND aid BETWEEN :first AND :last",
        "password_encryption = scram-sha-256; FATAL:  password authentication failed for user \"app\"",
        "stall-lab/postgres:18.6-debian, docker.io/library/postgres:18, https://www.postgresql.org/docs",
        "REPORT.md, libpq.so.5, timeline.csv, xlogprefetcher.c, auto_explain.log_min_duration",
        "1,1.353399,1796072672.988,settle,,,,Activity/RecoveryWalStream,0,1.2.3",
        "usr/rootfs.tar, /rootfs, data/tmp/x, /pg/data, /home",
    ] {
        let mut counts = Counts::new();
        assert_eq!(redactor(&[text]).text(text, &mut counts), text);
        assert_eq!(counts, Counts::new(), "{text}");
    }
}

#[test]
fn a_name_or_password_that_stands_as_such_in_one_file_goes_from_all_of_them() {
    let redactor = redactor(&["connection received: host=db7 port=1", "user=x password=sesame7"]);
    let mut counts = Counts::new();
    let told = redactor.text("db7 said sesame7; db70 and xdb7 are others", &mut counts);
    assert_eq!(told, "[host] said [password]; db70 and xdb7 are others");
    assert_eq!(counts, Counts::from([(Kind::Host, 1), (Kind::Password, 1)]));
}

#[test]
fn a_password_that_is_a_word_of_the_lab_goes_only_where_it_is_one() {
    let text = "user=postgres password=postgres";
    assert_eq!(redacted(text), "user=postgres password=[password]");
    let redactor = redactor(&["password=standby"]);
    assert_eq!(redactor.text("standby streams", &mut Counts::new()), "standby streams");
}

#[test]
fn json_is_redacted_string_by_string_and_stays_what_it_was() {
    let mut value = json!({
        "command_line": ["/home/alice/My Programs/stall-lab", "--pg-password", "sesame7", "-v"],
        "password": "open", "password_encryption": "scram-sha-256", "token": null,
        "script": "SELECT 1;\n\\connect host=db7\n10.1.2.3",
        "lsn": 25_637_968, "share": 0.05, "capped": true
    });
    let mut counts = Counts::new();
    redactor(&[]).json(&mut value, &mut counts);
    let told = json!({
        "command_line": ["[home]", "--pg-password", "[password]", "-v"],
        "password": "[password]", "password_encryption": "scram-sha-256", "token": null,
        "script": "SELECT 1;\n\\connect host=[host]\n[address]",
        "lsn": 25_637_968, "share": 0.05, "capped": true
    });
    assert_eq!(value, told);
    redactor(&[]).json(&mut value, &mut counts);
    assert_eq!(value, told);
}

#[test]
fn this_machines_own_name_is_known() {
    let here = Surroundings::here();
    assert!(
        here.hosts.iter().any(|host| !host.is_empty()) || !std::path::Path::new("/proc/sys/kernel").exists()
    );
}
