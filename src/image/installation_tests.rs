#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn version(text: &str) -> ServerVersion {
    ServerVersion::parse(&format!("postgres (PostgreSQL) {text}")).unwrap()
}

/// A prefix with all that an installation has, as empty files.
pub(in crate::image) fn prefix(share: &str, lib: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: String, mode: u32| {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    };
    for program in NEEDED_PROGRAMS {
        write(format!("bin/{program}"), 0o755);
    }
    write(format!("{share}/postgres.bki"), 0o644);
    write(format!("{share}/man/page"), 0o644);
    write(format!("{share}/extension/plpgsql.control"), 0o644);
    for module in ["libpqwalreceiver.so", "plpgsql.so", "llvmjit.so", "jsonb_plperl.so", "libpgcommon.a"] {
        write(format!("{lib}/{module}"), 0o755);
    }
    dir
}

async fn find(dir: &tempfile::TempDir) -> Result<Installation, ImageError> {
    installation(&dir.path().join("bin"), Some(dir.path())).await
}

#[tokio::test]
async fn share_and_modules_are_found_in_either_layout() {
    for (share, lib) in
        [("share", "lib"), ("share/postgresql", "lib/postgresql"), ("share/pgsql", "lib64/pgsql")]
    {
        let dir = prefix(share, lib);
        let found = find(&dir).await.unwrap();
        assert_eq!(found.sharedir, dir.path().join(share));
        assert_eq!(found.pkglibdir, dir.path().join(lib));
    }
}

#[tokio::test]
async fn pg_config_knows_better_than_the_usual_layouts() {
    let dir = prefix("share", "lib");
    let elsewhere = prefix("odd-share", "odd-lib");
    let (share, lib) = (elsewhere.path().join("odd-share"), elsewhere.path().join("odd-lib"));
    let script = dir.path().join("bin/pg_config");
    fs::write(&script, format!("#!/bin/sh\necho {}\necho {}\n", share.display(), lib.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let found = find(&dir).await.unwrap();
    assert_eq!((found.sharedir, found.pkglibdir), (share, lib));
}

#[tokio::test]
async fn an_installation_without_a_program_names_it() {
    let dir = prefix("share", "lib");
    fs::remove_file(dir.path().join("bin/pgbench")).unwrap();
    let text = find(&dir).await.unwrap_err().to_string();
    assert!(text.ends_with("is no PostgreSQL installation: it has no bin/pgbench"), "{text}");
}

#[tokio::test]
async fn an_installation_without_the_walreceiver_names_it() {
    let dir = prefix("share", "lib");
    fs::remove_file(dir.path().join("lib/libpqwalreceiver.so")).unwrap();
    assert!(find(&dir).await.unwrap_err().to_string().ends_with("lib/libpqwalreceiver.so"));
}

#[test]
fn the_newest_that_is_new_enough_is_taken() {
    let installed = || ["14.9", "15.18", "17.2"].map(|text| (version(text), PathBuf::from(text))).to_vec();
    let taken = |major| newest(installed(), major).map(|(version, _)| version.number);
    assert_eq!(taken(None), Some(170_002));
    assert_eq!(taken(Some(15)), Some(150_018));
    assert_eq!(taken(Some(14)), None);
    assert_eq!(taken(Some(18)), None);
}
