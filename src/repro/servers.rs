//! What servers are called in the names of arms.

use std::collections::BTreeSet;
use std::path::Component;

use crate::image::ImageRequest;

/// A name for each server, so that a folder says what ran in it: `pg15`, the folder of a prefix, the name of an image.
/// Where prefixes end in the same folder, the names hold as much of the way to it as tells them apart.
///
/// One and the same server twice has one and the same name.
#[must_use]
pub fn server_names(servers: &[ImageRequest]) -> Vec<String> {
    let words: Vec<Vec<String>> = servers.iter().map(words).collect();
    let different: BTreeSet<&ImageRequest> = servers.iter().collect();
    let names = |depth: usize| words.iter().map(|words| last(words, depth)).collect::<Vec<_>>();
    let longest = words.iter().map(Vec::len).max().unwrap_or_default();
    (1..longest)
        .map(names)
        .find(|names| names.iter().collect::<BTreeSet<_>>().len() == different.len())
        .unwrap_or_else(|| names(longest))
}

/// What a server may be called by, from the general to the particular.
fn words(server: &ImageRequest) -> Vec<String> {
    match server {
        ImageRequest::Default => vec!["default".to_owned()],
        ImageRequest::Version(major) => vec![format!("pg{major}")],
        ImageRequest::Reference(image) => vec![sign(image)],
        ImageRequest::Prefix(path) => {
            let folder = |part: Component<'_>| match part {
                Component::Normal(name) => Some(sign(&name.to_string_lossy())),
                _ => None,
            };
            path.components().filter_map(folder).collect()
        }
    }
}

fn last(words: &[String], count: usize) -> String {
    words[words.len().saturating_sub(count)..].join("-")
}

/// Lower-case letters, digits, hyphens and dots: what a folder's name takes anywhere.
fn sign(text: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '.' { c.to_ascii_lowercase() } else { '-' }
    };
    text.chars().map(plain).collect::<String>().trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn names(servers: &[&str]) -> Vec<String> {
        let request = |text: &&str| match text.strip_prefix("prefix ") {
            Some(path) => ImageRequest::Prefix(path.into()),
            None => text.parse().unwrap(),
        };
        server_names(&servers.iter().map(request).collect::<Vec<_>>())
    }

    #[test]
    fn a_server_is_called_by_its_version_its_image_or_the_folder_of_its_prefix() {
        assert_eq!(
            names(&["15", "19", "host:5000/My_pg:18", "prefix /opt/patched/"]),
            ["pg15", "pg19", "host-5000-my-pg-18", "patched"]
        );
    }

    #[test]
    fn prefixes_that_end_alike_are_called_by_more_of_their_way() {
        assert_eq!(names(&["18", "prefix /a/x/pg", "prefix /b/x/pg"]), ["pg18", "a-x-pg", "b-x-pg"]);
        assert_eq!(names(&["prefix /opt/pg", "prefix /opt/pg"]), ["pg", "pg"]);
        assert_eq!(names(&["prefix /pg18", "18"]), ["pg18", "pg18"]);
    }
}
