//! What a profile is read as.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use super::{overrides, quick, two_standbys};
use crate::profile::{Builtin, Bytes, Checksums, Iops, Profile, SyncMethod};

/// The quick profile with `lines` in place of its `[postgres.primary]` settings.
fn with_primary_settings(lines: &str, changes: &[&str]) -> Profile {
    let quick = Builtin::named("quick").unwrap().text;
    let text = quick.replace("synchronous_commit = \"on\"", lines);
    assert_ne!(text, quick);
    Profile::parse("mine.toml", &text, &overrides(changes)).unwrap()
}

#[test]
fn a_setting_may_be_text_number_or_truth_and_its_dots_need_no_quotes() {
    let lines = r#"
        a = 4
        b = 0.5
        c = true
        d = false
        e = "'; drop table x; --"
        f.g.h = 1
        "f.i" = 2
        f.j = -1
    "#;
    let primary = with_primary_settings(lines, &[]).postgres.primary;
    let read: Vec<(&str, &str)> = primary.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let expected = [
        ("a", "4"),
        ("b", "0.5"),
        ("c", "on"),
        ("d", "off"),
        ("e", "'; drop table x; --"),
        ("f.g.h", "1"),
        ("f.i", "2"),
        ("f.j", "-1"),
    ];
    assert_eq!(read, expected);
}

#[test]
fn settings_of_any_text_read_back_from_the_resolved_profile() {
    let lines = r#"
        a = "\"quoted\" \\ 'and' # é"
        b.c = ""
    "#;
    let profile = with_primary_settings(lines, &["standby.standby.settings.x.y=1 = 2"]);
    let text = profile.to_toml().unwrap();
    assert_eq!(Profile::parse("resolved", &text, &[]).unwrap(), profile, "{text}");
}

#[test]
fn an_override_replaces_a_setting_however_the_file_wrote_its_dots() {
    for lines in ["a.b = 1", "\"a.b\" = 1"] {
        let primary = with_primary_settings(lines, &["postgres.primary.a.b=2"]).postgres.primary;
        assert_eq!(primary.get("a.b").unwrap(), "2");
        assert_eq!(primary.len(), 1);
    }
}

#[test]
fn an_override_needs_no_quotes_for_any_kind_of_value() {
    let profile = quick(&[
        "description= my own, with = ",
        "workload.scale= 20",
        "workload.rate_tps=7",
        "primary.cpus=.5",
        "primary.memory=4GB",
        "watch.deadline=30m",
        "synchronous.method=ANY",
        "synchronous.standbys=standby, ",
        "postgres.data_checksums=false",
        "postgres.standby.maintenance_io_concurrency=0",
        "postgres.common.pg_stat_statements.max=100",
    ]);
    assert_eq!(profile.description, " my own, with = ");
    assert_eq!(profile.workload.scale, 20);
    assert_eq!(profile.workload.rate_tps.to_bits(), 7.0_f64.to_bits());
    assert_eq!(profile.primary.cpus.to_bits(), 0.5_f64.to_bits());
    assert_eq!(profile.primary.memory, Bytes(4 << 30));
    assert_eq!(profile.watch.deadline, Duration::from_secs(1800));
    assert_eq!(profile.synchronous.method, SyncMethod::Any);
    assert_eq!(profile.synchronous.standbys, ["standby"]);
    assert_eq!(profile.postgres.data_checksums, Checksums::Off);
    assert_eq!(profile.effective_settings("standby").get("maintenance_io_concurrency").unwrap(), "0");
    assert_eq!(profile.postgres.common.get("pg_stat_statements.max").unwrap(), "100");
}

#[test]
fn an_override_of_the_standbys_reaches_all_or_the_one_it_names() {
    let profile = two_standbys(&[
        "standby.read_iops=1000",
        "standby.other.read_iops=2000",
        "standby.settings.work_mem=1MB",
        "standby.other.settings.work_mem=2MB",
    ]);
    let of = |index: usize| {
        let standby = &profile.standby[index];
        (standby.machine.read_iops, standby.settings.get("work_mem").unwrap().as_str())
    };
    assert_eq!([of(0), of(1)], [(Iops::Capped(1000), "1MB"), (Iops::Capped(2000), "2MB")]);
    assert_eq!(profile.primary.read_iops, Iops::Capped(200));
}

#[test]
fn the_last_override_of_a_key_counts() {
    assert_eq!(quick(&["workload.scale=2", "workload.scale=3"]).workload.scale, 3);
}
