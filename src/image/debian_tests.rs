#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;

const TARGETS: &str = "\
MetaKey: main/binary-amd64/Packages
Repo-URI: https://example.org/vendor/
Origin: Vendor
Label: Vendor
Component: main
Created-By: Packages

MetaKey: main/binary-amd64/Packages
Repo-URI: https://example.org/debian-security/
Origin: Debian
Label: Debian-Security
Component: main
Created-By: Packages

MetaKey: main/dep11/Components-amd64.yml
Repo-URI: https://example.org/dep11/
Origin: Debian
Label: Debian
Component: main
Created-By: DEP-11

MetaKey: main/binary-amd64/Packages
ShortDesc: Packages
Repo-URI: https://example.org/debian/
Codename: bookworm
Label: Debian
Origin: Debian
Component: main
Created-By: Packages
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
";

#[test]
fn the_main_archive_of_debian_is_taken_and_no_other() {
    let archive = debian_archive(TARGETS).unwrap();
    assert_eq!(archive.uri, "https://example.org/debian/");
    assert_eq!(archive.signed_by.as_deref(), Some("/usr/share/keyrings/debian-archive-keyring.gpg"));
    assert_eq!(debian_archive(&TARGETS.replace("Origin: Debian", "Origin: Ubuntu")), None);
    assert_eq!(debian_archive(""), None);
}

#[test]
fn a_fingerprint_is_no_keyring() {
    let targets = TARGETS.replace("/usr/share/keyrings/debian-archive-keyring.gpg", "0123ABCD");
    assert_eq!(debian_archive(&targets).unwrap().signed_by, None);
}

#[test]
fn proxy_and_certificates_are_kept_and_the_rest_is_not() {
    let dump = "\
APT::Architecture \"amd64\";
Acquire::http \"\";
Acquire::http::Proxy \"http://10.0.0.1:3142\";
Acquire::https::CaInfo \"/etc/ssl/own.pem\";
Acquire::http::Proxy::mirror.example.org \"DIRECT\";
Acquire::Check-Date \"false\";
Acquire::Languages:: \"en\";
DPkg::Post-Invoke:: \"true\";
";
    assert_eq!(
        apt_options(dump),
        [
            "Acquire::http::Proxy \"http://10.0.0.1:3142\"",
            "Acquire::https::CaInfo \"/etc/ssl/own.pem\"",
            "Acquire::http::Proxy::mirror.example.org \"DIRECT\"",
            "Acquire::Check-Date \"false\"",
        ]
    );
}

#[test]
fn a_version_of_experimental_is_taken_on_top_of_sid() {
    let archive = Archive { uri: "https://example.org/debian/".to_owned(), signed_by: None };
    let suite = suite(19).unwrap();
    let arguments = arguments(19, suite, &archive, &[]);
    assert!(arguments.iter().any(|argument| argument.starts_with("--include=postgresql-19/experimental,")));
    assert_eq!(
        source_lines(suite, &archive),
        ["deb https://example.org/debian/ sid main", "deb https://example.org/debian/ experimental main"]
    );
}

#[test]
fn keyring_and_stale_mirror_are_told_to_mmdebstrap() {
    let archive = Archive { uri: String::new(), signed_by: Some("/k.gpg".to_owned()) };
    let arguments = arguments(17, suite(17).unwrap(), &archive, &["Acquire::Retries \"3\"".to_owned()]);
    for expected in [
        "--keyring=/k.gpg",
        "--aptopt=Acquire::Check-Valid-Until \"false\"",
        "--aptopt=Acquire::Retries \"3\"",
    ] {
        assert!(arguments.iter().any(|argument| argument == expected), "{expected} is not in {arguments:?}");
    }
}

#[test]
fn a_version_that_debian_does_not_have_is_none() {
    assert_eq!(suite(16), None);
    assert_eq!(suite(18).map(|suite| suite.name), Some("sid"));
}
