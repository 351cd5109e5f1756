//! Bundles of made-up runs, as a reader of the archive finds them.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::io::Read as _;
use std::time::Duration;

use flate2::read::GzDecoder;
use tempfile::TempDir;

use super::*;
use crate::explain::testing as explain;
use crate::store::{EventKind, EventLog, Metric, Observed, ObservedServer, Subject, TimelineWriter};
use crate::verdict::testing::Story;

/// Writes a run's folder, with logs unless there are none, and an account of its WAL.
fn write_run(dir: &Path, name: &str, story: &Story, logs: &[(&str, &str)]) -> RunFolder {
    let folder = RunFolder::at(dir.join(name));
    std::fs::create_dir(folder.path()).unwrap();
    folder.save_run(&story.run).unwrap();
    let mut timeline =
        TimelineWriter::create(&folder.timeline_path(), story.timeline.columns.clone()).unwrap();
    for row in &story.timeline.rows {
        timeline.append(row).unwrap();
    }
    let mut events = EventLog::create(&folder.events_path()).unwrap();
    for event in &story.events {
        events.append(event).unwrap();
    }
    folder.save_wal(&explain::account()).unwrap();
    for (name, text) in logs {
        std::fs::write(folder.logs_path().unwrap().join(name), text).unwrap();
    }
    folder
}

const LOGS: [(&str, &str); 2] = [
    ("pgbench.txt", "progress: 1.0 s\n"),
    (
        "standby.log",
        "[1] postmaster: LOG:  starting PostgreSQL 18.6 on x86_64-pc-linux-gnu, compiled by gcc 16.2.0, 64-bit\n",
    ),
];

fn bundled(dir: &TempDir, runs: &[RunFolder]) -> Bundle {
    bundle(runs, &[], &dir.path().join("made"), &Surroundings::default()).unwrap()
}

/// Everything in an archive by its path; what is compressed in it as it was before.
fn unpacked(archive: &Path) -> BTreeMap<String, Vec<u8>> {
    let gz = GzDecoder::new(std::fs::File::open(archive).unwrap());
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(gz).entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().display().to_string();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        if path.ends_with(".gz") {
            let mut plain = Vec::new();
            GzDecoder::new(bytes.as_slice()).read_to_end(&mut plain).unwrap();
            bytes = plain;
        }
        files.insert(path, bytes);
    }
    files
}

fn text_of(files: &BTreeMap<String, Vec<u8>>, path: &str) -> String {
    String::from_utf8(
        files.get(path).unwrap_or_else(|| panic!("{path} is not in {:?}", files.keys())).clone(),
    )
    .unwrap()
}

#[test]
fn the_bundle_of_a_run_has_all_that_a_bug_report_needs_and_facts_apart_from_analysis() {
    let dir = tempfile::tempdir().unwrap();
    let run = write_run(dir.path(), "run", &explain::stalled(), &LOGS);
    let made = bundled(&dir, &[run]);
    assert_eq!(made.lacks, ["try: no repro.sh"; 0]);
    assert!(made.is_attachable());
    let files = unpacked(&made.archive);
    let names: Vec<&str> = files.keys().map(|path| path.strip_prefix("made/").unwrap()).collect();
    let expected = [
        "REPORT.md",
        "analysis.md",
        "events.csv",
        "expected.md",
        "logs/pgbench.txt.gz",
        "logs/standby.log.gz",
        "platform.txt",
        "repro.sh",
        "run.json",
        "settings-primary.csv",
        "settings-standby.csv",
        "summary.json",
        "timeline.csv",
        "timeline.png",
        "versions.txt",
        "wal.json",
    ];
    assert_eq!(names, expected);
    let report = text_of(&files, "made/REPORT.md");
    for part in [
        "## What was done",
        "## What was expected",
        "## What was seen",
        "no commit for 80 s",
        "18.6",
        "SIGTERM to the walreceiver",
    ] {
        assert!(report.contains(part), "{part} is not in:\n{report}");
    }
    assert!(!report.contains("overwrote"), "{report}");
    assert!(
        text_of(&files, "made/analysis.md")
            .contains("of the reads that held replay up were for pages that replay overwrote")
    );
    assert_eq!(
        text_of(&files, "made/settings-standby.csv"),
        "name,setting\nmax_wal_size,32GB\nrecovery_prefetch,try\nshared_buffers,128MB\n"
    );
    assert_eq!(text_of(&files, "made/logs/standby.log.gz"), LOGS[1].1);
}

#[test]
fn the_texts_of_a_bundle() {
    let dir = tempfile::tempdir().unwrap();
    let run = write_run(dir.path(), "run", &explain::stalled(), &LOGS);
    let files = unpacked(&bundled(&dir, &[run]).archive);
    let texts = ["REPORT.md", "expected.md", "versions.txt", "platform.txt"];
    let texts = texts.map(|name| format!("==== {name}\n{}", text_of(&files, &format!("made/{name}"))));
    insta::assert_snapshot!(texts.join("\n"));
}

/// One of each kind, found in no other text.
const PLANTED: [&str; 9] = [
    "sesame-7x",
    "db7-prod",
    "pg.shop.example.com",
    "10.17.23.4",
    "2001:db8:aa::17",
    "alice",
    "/tmp/q1",
    "erebus",
    "hidden-place",
];

/// All of them as they may stand in a text of one line; `mark` tells the text.
fn planted(mark: &str) -> String {
    format!(
        "{mark}: password=sesame-7x host=db7-prod via pg.shop.example.com 10.17.23.4:5432 [2001:db8:aa::17] \
         /home/alice/hidden-place/x /tmp/q1/y erebus"
    )
}

#[test]
fn nothing_planted_in_any_file_gets_through() {
    let dir = tempfile::tempdir().unwrap();
    let mut story = explain::stalled();
    let (run, hostile) = (&mut story.run, planted("run"));
    run.command_line = vec!["/home/alice/hidden-place/stall-lab".to_owned(), format!("--set={hostile}")];
    run.profile_mut().description.clone_from(&hostile);
    run.profile_mut().workload.script = format!("-- {hostile}\nSELECT 1;\n");
    run.profile_name = "/home/alice/hidden-place/mine".to_owned();
    run.server.note = Some(hostile.clone());
    run.server.image = Some("pg.shop.example.com:5000/pg:18".to_owned());
    run.platform.as_mut().unwrap().os.clone_from(&hostile);
    run.nodes[1].settings.insert("primary_conninfo".to_owned(), hostile);
    story.event(50.0, EventKind::Note, Some("standby"), None, &planted("events"));
    story.text("standby", &Metric::StartupWait, 60..=61, &planted("timeline"));
    let logs: Vec<(&str, String)> =
        ["standby.log", "primary.log", "pgbench.txt"].map(|name| (name, planted(name))).into();
    let logs: Vec<(&str, &str)> = logs.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let folder = write_run(dir.path(), "run", &story, &logs);
    let mut account = explain::account();
    account.ranges[0].relations[0].relation = planted("wal");
    folder.save_wal(&account).unwrap();

    let surroundings = Surroundings { hosts: vec!["erebus.lab".to_owned()], ..Surroundings::default() };
    for (name, runs) in [("one", vec![folder.clone()]), ("two", vec![folder.clone(), folder])] {
        let made = bundle(&runs, &[], &dir.path().join(name), &surroundings).unwrap();
        for kind in [Kind::Password, Kind::Host, Kind::Address, Kind::Home, Kind::Temporary] {
            assert!(made.redacted[&kind] >= 7, "{kind}: {:?}", made.redacted);
        }
        for (path, bytes) in unpacked(&made.archive) {
            let text = String::from_utf8_lossy(&bytes);
            for secret in PLANTED {
                assert!(!text.contains(secret) && !path.contains(secret), "{secret} is in {path}");
            }
        }
        // What it runs would have to be another thing.
        assert!(
            made.lacks[0].contains("no repro.sh") && made.lacks[0].contains("redacted"),
            "{:?}",
            made.lacks
        );
    }
}

#[test]
fn what_every_planted_text_was_is_still_told() {
    let dir = tempfile::tempdir().unwrap();
    let mut story = explain::stalled();
    story.event(50.0, EventKind::Note, None, None, &planted("events"));
    let run = write_run(dir.path(), "run", &story, &[("standby.log", &planted("standby.log"))]);
    let surroundings = Surroundings { hosts: vec!["erebus".to_owned()], ..Surroundings::default() };
    let made = bundle(&[run], &[], &dir.path().join("made"), &surroundings).unwrap();
    let files = unpacked(&made.archive);
    let told =
        "password=[password] host=[host] via [host] [address]:5432 [[address]] [home] [temporary] [host]";
    assert_eq!(text_of(&files, "made/logs/standby.log.gz"), format!("standby.log: {told}"));
    assert!(text_of(&files, "made/events.csv").contains(&format!("events: {told}")));
    // Nothing of it is in what the script runs.
    assert!(files.contains_key("made/repro.sh"));
}

#[test]
fn several_runs_are_side_by_side_each_with_its_own_script() {
    let dir = tempfile::tempdir().unwrap();
    let runs = [
        write_run(dir.path(), "a", &explain::stalled(), &LOGS),
        write_run(dir.path(), "b", &explain::no_stall(), &[]),
    ];
    let made = bundled(&dir, &runs);
    assert_eq!(made.lacks, ["off: no server logs: the run's folder has none"]);
    let files = unpacked(&made.archive);
    for path in [
        "try/README.md",
        "try/repro.sh",
        "off/repro.sh",
        "off/expected.md",
        "comparison/comparison.png",
        "comparison/comparison.csv",
    ] {
        assert!(files.contains_key(&format!("made/{path}")), "{path} is not in {:?}", files.keys());
    }
    let report = text_of(&files, "made/REPORT.md");
    assert!(
        report.contains("[try](try/README.md): stalled") && report.contains("[off](off/README.md): no stall"),
        "{report}"
    );
    // Links within the bundle lead somewhere.
    let comparison = text_of(&files, "made/comparison/README.md");
    assert!(comparison.contains("[try](../try/README.md)"), "{comparison}");
    assert!(text_of(&files, "made/off/README.md").contains("no server logs"));
    assert!(text_of(&files, "made/off/expected.md").contains("`stalled=no`"));
}

#[test]
fn runs_of_the_same_arm_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let runs = ["a", "b"].map(|name| write_run(dir.path(), name, &explain::stalled(), &[]));
    let files = unpacked(&bundled(&dir, &runs).archive);
    assert!(files.contains_key("made/try-1/README.md") && files.contains_key("made/try-2/README.md"));
}

#[test]
fn a_run_whose_fault_the_script_does_not_know_has_none_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut story = explain::stalled();
    story.run.profile_mut().fault.kind = crate::profile::FaultKind::CutNetwork;
    let made = bundled(&dir, &[write_run(dir.path(), "run", &story, &LOGS)]);
    let files = unpacked(&made.archive);
    assert!(!files.contains_key("made/repro.sh"));
    assert!(made.lacks[0].starts_with("try: no repro.sh: its fault, cut-network"), "{:?}", made.lacks);
    assert!(text_of(&files, "made/REPORT.md").contains("There is no `repro.sh`: its fault, cut-network"));
}

/// A run of servers that were only watched, reached at these addresses.
fn watched(addresses: [&str; 2]) -> Story {
    let mut story = explain::stalled();
    let server = |(node, address): (&str, &str)| ObservedServer {
        node: node.to_owned(),
        address: address.to_owned(),
        version: "18.6".to_owned(),
        application_name: Some("walreceiver".to_owned()),
        hidden: vec![],
    };
    story.run.subject = Subject::Observed(Observed {
        servers: ["primary", "standby"].into_iter().zip(addresses).map(server).collect(),
        synchronous_standby_names: Some("walreceiver".to_owned()),
        length: Duration::from_secs(600),
        stall_after: Duration::from_secs(10),
        probe_per_s: None,
    });
    story.run.platform = None;
    story.run.capped = None;
    story.run.server.image = None;
    story.run.server.image_id = None;
    story
}

#[test]
fn servers_that_were_watched_have_no_script_and_their_hosts_are_taken_out_wherever_they_stand() {
    let dir = tempfile::tempdir().unwrap();
    let mut story = watched(["pluto:5432", "10.17.23.4:5433"]);
    story.event(50.0, EventKind::Note, None, None, "pluto was slow");
    let made = bundled(&dir, &[write_run(dir.path(), "run", &story, &LOGS)]);
    assert!(made.lacks[0].contains("no repro.sh: its servers were only watched"), "{:?}", made.lacks);
    let files = unpacked(&made.archive);
    for (path, bytes) in &files {
        let text = String::from_utf8_lossy(bytes);
        assert!(!text.contains("pluto") && !text.contains("10.17.23.4"), "{path}:\n{text}");
    }
    let report = text_of(&files, "made/REPORT.md");
    assert!(report.contains("[host]:5432") && report.contains("[address]:5433"), "{report}");
    assert!(report.contains("the lab did not build these servers"), "{report}");
    assert!(text_of(&files, "made/platform.txt").starts_with("Not known"));
}

#[test]
fn a_run_that_was_stopped_and_has_no_account_is_bundled_as_what_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let run = write_run(dir.path(), "run", &Story::stalled().cut_after(20.0), &[]);
    std::fs::remove_file(run.path().join("wal.json")).unwrap();
    let made = bundled(&dir, &[run]);
    let files = unpacked(&made.archive);
    assert!(text_of(&files, "made/REPORT.md").contains("inconclusive"));
    assert!(text_of(&files, "made/analysis.md").contains("not known"));
    assert!(made.lacks.iter().any(|lack| lack.contains("wal.json")), "{:?}", made.lacks);
}

#[test]
fn an_archive_larger_than_trackers_take_is_known_as_such() {
    let dir = tempfile::tempdir().unwrap();
    let run = write_run(dir.path(), "run", &explain::stalled(), &LOGS);
    let mut made = bundled(&dir, &[run]);
    assert_eq!(made.archive_bytes, std::fs::metadata(&made.archive).unwrap().len());
    assert!(made.files.windows(2).all(|pair| pair[0].bytes >= pair[1].bytes));
    for (bytes, attachable) in [(ATTACHABLE, true), (ATTACHABLE + 1, false)] {
        made.archive_bytes = bytes;
        assert_eq!(made.is_attachable(), attachable);
    }
}

#[test]
fn what_is_there_stays_and_what_fails_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let run = write_run(dir.path(), "run", &explain::stalled(), &LOGS);
    let out = dir.path().join("made");
    std::fs::write(dir.path().join("made.tar.gz"), "mine").unwrap();
    let taken = bundle(std::slice::from_ref(&run), &[], &out, &Surroundings::default());
    assert!(matches!(taken, Err(BundleError::Taken { .. })), "{taken:?}");
    assert_eq!(std::fs::read_to_string(dir.path().join("made.tar.gz")).unwrap(), "mine");
    assert!(!out.exists());

    let other = dir.path().join("no/such/place");
    let unwritable = dir.path().join("file");
    std::fs::write(&unwritable, "").unwrap();
    let failed = bundle(&[run], &[], &unwritable.join("made"), &Surroundings::default());
    assert!(matches!(failed, Err(BundleError::Io { .. })), "{failed:?}");
    assert!(!other.exists());
}

#[test]
fn the_runs_own_folder_is_only_read() {
    let dir = tempfile::tempdir().unwrap();
    let run = write_run(dir.path(), "run", &explain::stalled(), &LOGS);
    let before = files::list(run.path()).unwrap();
    bundled(&dir, std::slice::from_ref(&run));
    assert_eq!(files::list(run.path()).unwrap(), before);
}

#[test]
fn a_bundle_is_named_after_its_run_whatever_the_profile_is_called() {
    let dir = tempfile::tempdir().unwrap();
    let mut story = explain::stalled();
    story.run.profile_name = "/home/alice/my profile".to_owned();
    let run = write_run(dir.path(), "run", &story, &[]);
    assert_eq!(name(std::slice::from_ref(&run)).unwrap(), "stall-lab-bundle-my-profile-20261130T173320Z-try");
    assert_eq!(name(&[run.clone(), run]).unwrap(), "stall-lab-bundle-my-profile-20261130T173320Z-2-runs");
    assert!(matches!(name(&[]), Err(BundleError::Nothing)));
}
