//! Tests of profiles as a whole: those built in, and everything that is refused, with its message.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod accepted;
mod fuzz;
mod refused;

use super::*;

fn overrides(texts: &[&str]) -> Vec<Override> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// The quick profile, changed.
pub(super) fn quick(changes: &[&str]) -> Profile {
    Profile::load("quick", &overrides(changes)).unwrap()
}

/// The quick profile's text with a second standby, "other".
fn two_standbys_text() -> String {
    let quick = Builtin::named("quick").unwrap().text;
    let (_, standby) = quick.split_once("[[standby]]").unwrap();
    let (standby, _) = standby.split_once("[watch]").unwrap();
    format!("{quick}\n[[standby]]{}", standby.replace("\"standby\"", "\"other\""))
}

/// The quick profile with a second standby, changed.
pub(super) fn two_standbys(changes: &[&str]) -> Profile {
    Profile::parse("two.toml", &two_standbys_text(), &overrides(changes)).unwrap()
}

#[test]
fn every_built_in_profile_is_valid_and_reads_back_from_its_own_text() {
    for builtin in BUILTINS {
        let profile = Profile::load(builtin.name, &[]).unwrap();
        let text = profile.to_toml().unwrap();
        assert_eq!(Profile::parse("resolved", &text, &[]).unwrap(), profile, "{text}");
        let json = serde_json::to_string(&profile).unwrap();
        assert_eq!(serde_json::from_str::<Profile>(&json).unwrap(), profile, "{json}");
    }
}

/// Asserts that `written` has every key of the schema, at every level.
fn assert_mentions(keys: &[schema::Key], written: &toml::Table, profile: &str) {
    for key in keys {
        let value = written.get(key.name);
        assert!(value.is_some(), "{profile} does not mention {}", key.name);
        match key.kind {
            schema::Kind::Table(inner) => assert_mentions(inner, value.unwrap().as_table().unwrap(), profile),
            schema::Kind::Standbys(inner) => {
                for standby in value.unwrap().as_array().unwrap() {
                    assert_mentions(inner, standby.as_table().unwrap(), profile);
                }
            }
            _ => {}
        }
    }
}

#[test]
fn every_built_in_profile_mentions_every_key_there_is() {
    for builtin in BUILTINS {
        assert_mentions(schema::PROFILE, &builtin.text.parse().unwrap(), builtin.name);
    }
}

#[test]
fn every_key_of_a_built_in_profile_stands_under_a_comment() {
    for builtin in BUILTINS {
        let mut explained = false;
        for (index, line) in builtin.text.lines().enumerate() {
            match line.chars().next() {
                None | Some('[') => explained = false,
                Some('#') => explained = true,
                // Keys that belong together share a comment.
                Some(_) => {
                    assert!(explained, "{}.toml:{}: {line:?} is not explained", builtin.name, index + 1)
                }
            }
        }
    }
}

#[test]
fn the_default_profile_is_the_reference_to_the_number() {
    let outage = Profile::load(BUILTINS[0].name, &[]).unwrap();
    assert_eq!((outage.workload.scale, outage.workload.rate_tps), (640, 5.0));
    assert_eq!((outage.update_share().predicate().as_str(), outage.update.batches), ("aid % 20 = 0", 1));
    assert_eq!(outage.standby.len(), 1);
    assert_eq!(outage.standby[0].machine, outage.primary);
    let Machine { cpus, memory, read_iops, write_iops, .. } = outage.primary;
    assert_eq!(
        (cpus, memory, read_iops, write_iops),
        (2.0, Bytes(8 << 30), Iops::Capped(500), Iops::Capped(500))
    );
    assert_eq!(outage.synchronous_standby_names(), "FIRST 1 (\"standby\")");
    assert_eq!(outage.postgres.data_checksums, Checksums::On);
}

#[test]
fn a_name_that_is_neither_built_in_nor_a_path_lists_the_built_in_ones() {
    let said = Profile::load("qick", &[]).unwrap_err().to_string();
    assert!(
        said.starts_with(
            "no profile is named \"qick\": built in are outage, quick, smoke, and what `stall-lab scenarios` "
        ),
        "{said}"
    );
}

#[test]
fn a_file_is_named_by_its_ending_or_by_a_separator() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["mine.toml", "mine"] {
        let path = folder.path().join(name);
        std::fs::write(&path, Builtin::named("smoke").unwrap().text).unwrap();
        let profile = Profile::load(path.to_str().unwrap(), &[]).unwrap();
        assert_eq!(profile, Profile::load("smoke", &[]).unwrap());
    }
}

#[test]
fn a_file_that_is_missing_or_not_text_is_told_with_its_path() {
    let error = Profile::load("missing.toml", &[]).unwrap_err();
    assert!(error.to_string().starts_with("cannot read the profile missing.toml: "), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bytes.toml");
    std::fs::write(&path, [0xff, 0xfe]).unwrap();
    let error = Profile::load(path.to_str().unwrap(), &[]).unwrap_err();
    assert!(error.to_string().contains("valid UTF-8"), "{error}");
}

#[test]
fn a_set_argument_without_key_or_value_is_refused_and_one_with_them_is_shown_as_given() {
    for text in ["workload.scale", "=5", " =5", ""] {
        let said = text.parse::<Override>().map_err(|error| error.to_string());
        assert_eq!(said, Err(format!("{text:?} is not KEY=VALUE, as in standby.read_iops=1000")));
    }
    assert_eq!("a.b=c=d".parse::<Override>().unwrap().to_string(), "--set a.b=c=d");
}
