//! Everything a profile is refused for, with the exact message.
#![allow(clippy::unwrap_used)]

use super::overrides;
use crate::profile::Profile;

/// A sound profile of two standbys; each case changes one text in it.
const SOUND: &str = include_str!("sound.toml");

const ACCEPTED: &str = "accepted";

/// What is said of the sound profile after these replacements and with these overrides.
fn message(changes: &[(&str, &str)], sets: &[&str]) -> String {
    let mut text = SOUND.to_owned();
    for (from, to) in changes {
        assert_eq!(SOUND.matches(from).count(), 1, "{from:?} is not once in the sound profile");
        text = text.replace(from, to);
    }
    match Profile::parse("mine.toml", &text, &overrides(sets)) {
        Ok(_) => ACCEPTED.to_owned(),
        Err(problems) => problems.to_string(),
    }
}

/// In the file: what is replaced, and by what.
const IN_FILE: &[(&str, &str)] = &[
    ("scale = 1", "scale = "),
    ("[watch]", "[watch"),
    ("tail = \"15s\"", "tail = \"15s\"\ntail = \"16s\""),
    ("description = \"sound\"", "description = \"sound"),
    ("rate_tps = 5", "rate_tsp = 5"),
    ("[watch]", "[wacht]"),
    ("[watch]", "[weather]\nsun = 1\n[watch]"),
    ("read_iops = 300", "read_iops = 300\niops = 5"),
    ("tail = \"15s\"", "\"ta\\nil\" = \"15s\""),
    ("read_iops = 300\n", ""),
    ("description = \"sound\"\n", ""),
    ("[watch]\ndeadline = \"6m\"\ntail = \"15s\"\nstall_after = \"30s\"\n", ""),
    ("name = \"b\"\n", ""),
    ("scale = 1", "scale = \"1\""),
    ("scale = 1", "scale = 1.5"),
    ("scale = 1", "scale = 99999999999999999999"),
    ("baseline = \"1s\"", "baseline = 1"),
    ("memory = \"3GB\"", "memory = 3"),
    ("data_checksums = true", "data_checksums = \"yes\""),
    ("standbys = [\"a\", \"b\"]", "standbys = \"a\""),
    ("standbys = [\"a\", \"b\"]", "standbys = [\n\"a\",\n2]"),
    ("[watch]\n", "[[watch]]\n"),
    ("description = \"sound\"", "description = 2026-10-20"),
    ("rate_tps = 5", "rate_tps = [5]"),
    ("scale = 1", "scale = 0"),
    ("scale = 1", "scale = 100001"),
    ("rate_tps = 5", "rate_tps = 0"),
    ("rate_tps = 5", "rate_tps = inf"),
    ("clients = 2", "clients = -1"),
    ("baseline = \"1s\"", "baseline = \"-1s\""),
    ("baseline = \"1s\"", "baseline = \"1001h\""),
    ("baseline = \"1s\"", "baseline = \"1 fortnight\""),
    ("fraction = 0.05", "fraction = 0"),
    ("fraction = 0.05", "fraction = 1.5"),
    ("fraction = 0.05", "fraction = nan"),
    ("fraction = 0.05", "fraction = 0.0000001"),
    ("fraction = 0.05", "fraction = 0.33333333"),
    ("batches = 1", "batches = 0"),
    ("flush_deadline = \"2m\"", "flush_deadline = \"0s\""),
    ("kind = \"kill-walreceiver\"", "kind = \"kill\""),
    ("method = \"FIRST\"", "method = \"first\""),
    ("count = 1", "count = -1"),
    ("cpus = 1.5", "cpus = 0"),
    ("cpus = 1.5", "cpus = -1.5"),
    ("memory = \"3GB\"", "memory = \"3 GiB\""),
    ("memory = \"3GB\"", "memory = \"63MB\""),
    ("memory = \"3GB\"", "memory = \"65TB\""),
    ("shm = \"128MB\"", "shm = \"0MB\""),
    ("read_iops = 300", "read_iops = -5"),
    ("write_iops = 301", "write_iops = 0"),
    ("read_ahead_kb = 129", "read_ahead_kb = -1"),
    ("stall_after = \"30s\"", "stall_after = \"0s\""),
    ("deadline = \"6m\"", "deadline = \"0s\""),
    ("description = \"sound\"", "description = \"so\\u0000und\""),
    ("name = \"b\"", "name = \"B\""),
    ("name = \"b\"", "name = \"primary\""),
    ("name = \"b\"", "name = \"memory\""),
    ("name = \"b\"", "name = \"\""),
    ("name = \"b\"", "name = \"b2345678901234567890123456789012\""),
    ("name = \"b\"", "name = \"b-2\""),
    ("shared_buffers = \"128MB\"", "\"Work Mem\" = 1"),
    ("shared_buffers = \"128MB\"", "port = 5432"),
    ("shared_buffers = \"128MB\"", "synchronous_standby_names = \"\""),
    ("shared_buffers = \"128MB\"", "wal_level = \"minimal\""),
    ("shared_buffers = \"128MB\"", "work_mem = \"4MB\\nport = 1\""),
    ("shared_buffers = \"128MB\"", "work_mem = [4]"),
    ("shared_buffers = \"128MB\"", "work_mem = nan"),
    ("shared_buffers = \"128MB\"", "a.b = 1\n\"a.b\" = 2"),
    ("shared_buffers = \"128MB\"", "a = {}"),
    ("settings.work_mem = \"4MB\"", "settings.hot_standby = false"),
    ("settings.work_mem = \"4MB\"", "settings = 4"),
    ("[postgres.common]\nshared_buffers = \"128MB\"", "common = \"x\""),
    ("name = \"b\"", "name = \"a\""),
    ("node = \"a\"", "node = \"c\""),
    ("node = \"a\"", "node = \"primary\""),
    ("standbys = [\"a\", \"b\"]", "standbys = [\"a\", \"c\"]"),
    ("standbys = [\"a\", \"b\"]", "standbys = [\"a\", \"a\"]"),
    ("count = 1", "count = 3"),
    ("deadline = \"6m\"", "deadline = \"29s\""),
    ("shm = \"128MB\"", "shm = \"4GB\""),
    ("memory = \"3GB\"", "memory = \"127MB\""),
    ("memory = \"2GB\"", "memory = \"64MB\""),
    ("shared_buffers = \"128MB\"", "shared_buffers = \"lots\""),
    ("settings.work_mem = \"4MB\"", "settings.shared_buffers = \"5GB\""),
    ("settings.work_mem = \"4MB\"", "settings.shared_buffers = \"5Gb\""),
    ("[postgres.common]\nshared_buffers = \"128MB\"", "[postgres.standby]\nshared_buffers = 1e9"),
    (
        "[postgres.common]\nshared_buffers = \"128MB\"\n[primary]\ncpus = 2\nmemory = \"2GB\"\nshm = \"256MB\"",
        "[primary]\ncpus = 2\nmemory = \"100MB\"\nshm = \"64MB\"",
    ),
];

/// By an override.
const BY_OVERRIDE: &[&str] = &[
    "standby.read_iops=-5",
    "standby.read_iops=lots",
    "standby.b.read_iops=0",
    "standby.c.read_iops=1",
    "standby.red_iops=1",
    "standby=1",
    "standby.b=1",
    "primary=1",
    "primary.mem=1GB",
    "primry.memory=1GB",
    "workload.scale.x=1",
    "workload.scale=",
    "workload..scale=1",
    "postgres.common=1",
    "postgres.common.port=1",
    "postgres.common.Port=1",
    "postgres.standby.wal_level=minimal",
    "postgres.data_checksums=on",
    "standby.settings=1",
    "standby.b.settings.listen_addresses=*",
    "synchronous.standbys=a,c",
    "synchronous.count=3",
    "watch.deadline=10s",
    "watch.deadline=30",
    "fault.node=primary",
    "fault.kind=none",
    "primary.memory=1MB",
    "primary.shm=3GB",
    "standby.name=x",
    "update.fraction=0.1e-9",
    "description=a\u{1b}[31m",
    "workload.rate_tps=NaN",
    "standby.a.name=b",
];

/// One case of a snapshot: what was done, and under it the message.
fn told(done: &str, message: &str) -> String {
    assert_ne!(message, ACCEPTED, "{done}");
    format!("{done}\n    {}\n", message.replace('\n', "\n    "))
}

#[test]
fn a_mistake_in_a_file_is_told_with_line_key_and_what_is_allowed() {
    let case = |(from, to): &(&str, &str)| {
        let done = format!("{from}  ->  {to}").replace('\n', "\\n");
        told(&done, &message(&[(from, to)], &[]))
    };
    insta::assert_snapshot!("in_file", IN_FILE.iter().map(case).collect::<String>());
}

#[test]
fn a_mistake_in_an_override_is_told_with_its_flag_and_what_is_allowed() {
    let case = |change: &&str| told(&change.escape_debug().to_string(), &message(&[], &[change]));
    insta::assert_snapshot!("by_override", BY_OVERRIDE.iter().map(case).collect::<String>());
}

#[test]
fn the_profile_that_the_cases_change_is_sound() {
    assert_eq!(message(&[], &[]), ACCEPTED);
}

#[test]
fn all_mistakes_are_told_together_by_line_then_by_override() {
    let changes = [("tail = \"15s\"", "tail = 15"), ("scale = 1", "scale = 0"), ("rate_tps = 5\n", "")];
    let said = message(&changes, &["update.batches=0", "fault.nod=b"]);
    let places: Vec<&str> = said.lines().filter_map(|line| line.split(": ").next()).collect();
    let expected =
        ["mine.toml:2", "mine.toml:3", "mine.toml:49", "--set update.batches=0", "--set fault.nod=b"];
    assert_eq!(places, expected, "{said}");
}

#[test]
fn a_mistake_of_the_file_that_an_override_replaces_is_not_told() {
    assert_eq!(message(&[("scale = 1", "scale = 0")], &["workload.scale=2"]), ACCEPTED);
    assert_eq!(message(&[], &["workload.scale=0", "workload.scale=2"]), ACCEPTED);
}

#[test]
fn a_table_that_only_an_override_begins_lacks_its_other_keys_in_the_file() {
    let watch = "[watch]\ndeadline = \"6m\"\ntail = \"15s\"\nstall_after = \"30s\"\n";
    let said = message(&[(watch, "")], &["watch.deadline=6m"]);
    let starts: Vec<&str> = said.lines().filter_map(|line| line.split(": it takes").next()).collect();
    assert_eq!(starts, ["mine.toml: watch.tail: missing", "mine.toml: watch.stall_after: missing"], "{said}");
}

#[test]
fn a_profile_without_standbys_is_refused_whatever_is_set_on_them() {
    let (before, rest) = SOUND.split_once("[[standby]]").unwrap();
    let (_, watch) = rest.split_once("[watch]").unwrap();
    for (text, says) in [
        (format!("{before}[watch]{watch}"), "none.toml: standby: missing: it takes "),
        (format!("standby = []\n{before}[watch]{watch}"), "none.toml:1: standby: a list is not allowed: "),
        (format!("{before}[standby]\n[watch]{watch}"), "none.toml:31: standby: a table is not allowed: "),
    ] {
        let error = Profile::parse("none.toml", &text, &overrides(&["standby.read_iops=1"])).unwrap_err();
        let allowed = "one [[standby]] table for each standby, at least one";
        assert_eq!(error.to_string(), format!("{says}{allowed}"));
    }
}
