//! Tests of profiles as a whole: those built in, and everything that is refused, with its message.
#![allow(clippy::unwrap_used, clippy::expect_used)]

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
    format!(
        "{quick}\n[[standby]]{}",
        standby.replace("\"standby\"", "\"other\"")
    )
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
