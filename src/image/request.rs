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
        Ok(ImageRequest::Reference(text.to_owned()))
    }
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
    fn a_version_the_lab_does_not_run_is_refused() {
        for text in ["", "14", "20", "18.3", "99999999"] {
            assert!(text.parse::<ImageRequest>().is_err(), "{text}");
        }
    }
}
