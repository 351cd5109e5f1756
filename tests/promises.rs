//! The page of promises names tests: every one of them is there.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeSet;
use std::path::Path;

/// All Rust code below a folder, as one text.
fn code_below(folder: &Path) -> String {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths
        .map(|path| match path.extension() {
            _ if path.is_dir() => code_below(&path),
            Some(ending) if ending == "rs" => std::fs::read_to_string(&path).unwrap(),
            _ => String::new(),
        })
        .collect()
}

/// What stands between backticks and reads like the name of a test: a sentence.
fn named(page: &str) -> BTreeSet<&str> {
    let quoted = page.split('`').skip(1).step_by(2);
    quoted
        .filter(|text| text.matches('_').count() >= 3)
        .filter(|text| text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'))
        .collect()
}

#[test]
fn every_test_that_the_page_of_promises_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("tests/README.md")).unwrap();
    let code = code_below(&root.join("src")) + &code_below(&root.join("tests"));
    let named = named(&page);
    assert!(named.len() > 50, "{} tests are named", named.len());
    let missing: Vec<&&str> = named.iter().filter(|name| !code.contains(&format!("fn {name}("))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
