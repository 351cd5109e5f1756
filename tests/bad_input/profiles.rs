//! Profiles as files. What a profile's text can get wrong is a table of its own: `src/profile/tests/refused.rs`.

use std::path::Path;

use super::{USAGE, assert_refused, stall_lab};

const ARM: &str = "extends = \"smoke\"\ndescription = \"x\"\n";

/// A file's content, and what is said of it.
pub(crate) fn files() -> Vec<(Vec<u8>, &'static [&'static str])> {
    let arm = |text: &str| format!("{ARM}{text}").into_bytes();
    vec![
        (b"".to_vec(), &["mine.toml: description: missing", "mine.toml: watch: missing"]),
        (b"\n\n\n".to_vec(), &["mine.toml: description: missing"]),
        (vec![0xff, 0xfe, 0x00], &["cannot read the profile mine.toml: stream did not contain valid UTF-8"]),
        (b"\xef\xbb\xbfdescription = \"x\"\n".to_vec(), &["mine.toml: workload: missing"]),
        (b"description = \"x\"\nscale = 3\n".to_vec(), &["mine.toml:2: scale: unknown key"]),
        (b"description = \"x\"\nscale\n".to_vec(), &["mine.toml:2"]),
        (b"{\"description\": \"x\"}\n".to_vec(), &["mine.toml:1"]),
        ("[".repeat(100_000).into_bytes(), &["mine.toml:1"]),
        (b"extends = \"nope\"\n".to_vec(), &["mine.toml:1: extends: \"nope\" is not allowed"]),
        (b"extends = \"mine.toml\"\n".to_vec(), &["mine.toml:1: extends", "the name of a built-in profile"]),
        (b"extends = 5\n".to_vec(), &["mine.toml:1: extends: 5 is not allowed"]),
        (b"extends = [\"smoke\", \"quick\"]\n".to_vec(), &["mine.toml:1: extends"]),
        (arm("[[standby]]\nname = \"a_startup\"\n"), &["mine.toml:4", "a_startup"]),
        (arm("[[arm]]\nname = \"a\"\nset.x = 1\n"), &["arm a: x=1: unknown key \"x\""]),
        (arm("[[arm]]\nname = \"a/b\"\n"), &["mine.toml:4: arm.name: \"a/b\" is not allowed"]),
        (
            arm("[[arm]]\nname = \"a\"\n[[arm]]\nname = \"a\"\n"),
            &["arm.name: \"a\" is not allowed: each arm has"],
        ),
        (arm("[[arm]]\nset.\"workload.scale\" = 1\n"), &["mine.toml:3: arm.name: missing"]),
        (arm("arm = 5\n"), &["mine.toml:3: arm: 5 is not allowed: one [[arm]] for each"]),
        (arm("[workload]\nscale = 1_000_000\n"), &["mine.toml:4: workload.scale: 1000000 is not allowed"]),
        (
            arm("[postgres.common]\nlisten_addresses = \"0.0.0.0\"\n"),
            &["listen_addresses: a profile may not set it"],
        ),
        (
            arm("[postgres.common]\n\"a b\" = 1\n"),
            &["mine.toml:4", "is not the name of a PostgreSQL setting"],
        ),
    ]
}

fn refused(dir: &Path, profile: &str, words: &[&str]) {
    assert_refused(dir, &["repro", "--dry-run", "--profile", profile], USAGE, words);
}

#[test]
fn a_file_that_is_no_profile_is_named_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    for (text, words) in files() {
        std::fs::write(dir.path().join("mine.toml"), text).unwrap();
        refused(dir.path(), "mine.toml", words);
    }
}

#[test]
fn what_is_no_file_is_named_as_it_was_written() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("folder")).unwrap();
    for (name, words) in [
        ("", "no profile is named \"\": built in are outage, quick, smoke"),
        (" ", "no profile is named \" \""),
        ("$(reboot)", "no profile is named \"$(reboot)\""),
        ("folder", "no profile is named \"folder\""),
        ("./folder", "cannot read the profile ./folder: Is a directory"),
        ("../smoke", "cannot read the profile ../smoke: No such file"),
        ("no such/it's \"mine\".toml", "cannot read the profile no such/it's \"mine\".toml: No such file"),
    ] {
        refused(dir.path(), name, &[words]);
    }
}

#[test]
fn blanks_quotes_and_line_ends_of_windows_are_no_mistakes() {
    let dir = tempfile::tempdir().unwrap();
    let shown = stall_lab(dir.path(), &["profiles", "smoke"]).output().unwrap().stdout;
    let text = String::from_utf8(shown).unwrap().replace('\n', "\r\n");
    let name = "it's \"mine\" $(reboot).toml";
    std::fs::write(dir.path().join(name), text).unwrap();
    stall_lab(dir.path(), &["repro", "--dry-run", "--profile", name]).assert().success();
}
