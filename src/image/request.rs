//! Which server image is asked for.

use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::error::ImageError;
use super::version::{NEWEST_MAJOR, OLDEST_MAJOR};

/// The image that is asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImageRequest {
    /// PostgreSQL 18, or else the best that can be had.
    #[default]
    Default,
    /// This major version and no other.
    Version(u16),
    /// Any image, by name.
    Reference(String),
    /// An installation on this host, like one's own build, under a prefix with `bin`, `lib` and `share`.
    Prefix(PathBuf),
}

impl FromStr for ImageRequest {
    type Err = ImageError;

    /// Reads `--postgres`: a major version or an image.
    fn from_str(text: &str) -> Result<ImageRequest, ImageError> {
        let unknown = || ImageError::UnknownVersion { text: text.to_owned() };
        if text.is_empty() {
            return Err(unknown());
        }
        // "18.3" would be an image's name, but whoever writes it means a version.
        if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            return match text.parse() {
                Ok(major) if (OLDEST_MAJOR..=NEWEST_MAJOR).contains(&major) => {
                    Ok(ImageRequest::Version(major))
                }
                _ => Err(unknown()),
            };
        }
        if !is_reference(text) {
            return Err(ImageError::NotAReference { text: text.to_owned() });
        }
        Ok(ImageRequest::Reference(text.to_owned()))
    }
}

/// Can this be an image's name: what it is made of, and that no part of it is empty. The engine knows the rest.
fn is_reference(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
    let whole = |part: &str| part.starts_with(|c: char| c.is_ascii_alphanumeric());
    text.chars().all(allowed) && text.split(['/', ':', '@']).all(whole)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_number_is_a_version_and_anything_else_an_image() {
        for (text, request) in [
            ("15", ImageRequest::Version(15)),
            ("19", ImageRequest::Version(19)),
            ("postgres:18-alpine", ImageRequest::Reference("postgres:18-alpine".to_owned())),
            ("host:5000/pg", ImageRequest::Reference("host:5000/pg".to_owned())),
        ] {
            assert_eq!(text.parse::<ImageRequest>().unwrap(), request);
        }
    }

    #[test]
    fn what_cannot_be_an_images_name_is_none() {
        for text in
            [" ", "a b", "$(reboot)", "'; drop table x", "postgres:", ":18", "a//b", "-x", "pg@", "a\nb", "é"]
        {
            let error = text.parse::<ImageRequest>().unwrap_err().to_string();
            assert!(error.contains("neither a version"), "{error}");
        }
        for text in
            ["pg", "docker.io/library/postgres:18.6", "pg@sha256:3f1b2c", "localhost:5000/my-pg_1:v1.2-x"]
        {
            assert!(text.parse::<ImageRequest>().is_ok(), "{text}");
        }
    }

    #[test]
    fn a_version_the_lab_does_not_run_is_refused() {
        for text in ["", "14", "20", "18.3", "99999999"] {
            assert!(text.parse::<ImageRequest>().is_err(), "{text}");
        }
    }
}
