//! A server image, and the labels that carry what is known of it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::error::ImageError;
use super::installation::OwnBuild;
use super::version::{OLDEST_MAJOR, ServerVersion};
use crate::docker::labels::{self, Kind, Labels, Selector};
use crate::docker::{Engine, ImageEntry};

/// Name of every server image of the lab, before the colon.
pub(super) const REPOSITORY: &str = "stall-lab/postgres";
const VERSION: &str = "org.stall-lab.image.version";
const BINDIR: &str = "org.stall-lab.image.bindir";
const UID: &str = "org.stall-lab.image.uid";
const GID: &str = "org.stall-lab.image.gid";
const SOURCE: &str = "org.stall-lab.image.source";
/// What the image was made from, where that is one thing with a digest: another image, or a prefix.
pub(super) const ORIGIN: &str = "org.stall-lab.image.origin";
/// The build that made a layer; images without a name that carry it are left over.
pub(super) const BUILD: &str = "org.stall-lab.image.build";

/// Where the PostgreSQL of an image is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImageSource {
    /// The official image.
    Registry,
    /// Debian's packages.
    Debian,
    /// The host's own installation.
    Host,
    /// A user's build under a prefix.
    Prefix,
    /// An image that the user named.
    Image,
}

impl ImageSource {
    const ALL: [ImageSource; 5] = [
        ImageSource::Registry,
        ImageSource::Debian,
        ImageSource::Host,
        ImageSource::Prefix,
        ImageSource::Image,
    ];

    /// The word for it in tags and labels.
    pub fn as_str(self) -> &'static str {
        match self {
            ImageSource::Registry => "registry",
            ImageSource::Debian => "debian",
            ImageSource::Host => "host",
            ImageSource::Prefix => "prefix",
            ImageSource::Image => "image",
        }
    }

    /// The source that shows itself by these words, as in `run.json`.
    pub fn in_words(words: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.to_string() == words)
    }

    /// Whether an image of this source may stand for its major version: a user's own build or image may be patched.
    pub fn is_stock(self) -> bool {
        matches!(self, ImageSource::Registry | ImageSource::Debian | ImageSource::Host)
    }
}

impl fmt::Display for ImageSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ImageSource::Registry => "official image",
            ImageSource::Debian => "Debian's packages",
            ImageSource::Host => "PostgreSQL of this host",
            ImageSource::Prefix => "build under a prefix",
            ImageSource::Image => "image given by name",
        })
    }
}

/// Whether an image was there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provenance {
    /// It was built just now.
    BuiltNow,
    /// It had been built before.
    BuiltEarlier,
}

/// An image that a node can run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerImage {
    /// Tag.
    pub reference: String,
    /// Id (`sha256:...`).
    pub id: String,
    /// Where its PostgreSQL is from.
    pub source: ImageSource,
    /// Whether it was there already.
    pub provenance: Provenance,
    /// Its PostgreSQL.
    pub version: ServerVersion,
    /// Directory with `postgres`, `initdb`, `pg_ctl`, `psql`, `pgbench` and `pg_waldump`.
    pub bindir: String,
    /// Numeric id of its user `postgres`.
    pub uid: u32,
    /// Numeric id of that user's group.
    pub gid: u32,
    /// What the user has to be told, if it is not what was wished for.
    pub note: Option<String>,
    /// Of a build under a prefix: what it says of itself.
    pub build: Option<OwnBuild>,
}

/// What a finished build knows of its image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) version: ServerVersion,
    pub(super) bindir: String,
    pub(super) uid: u32,
    pub(super) gid: u32,
}

/// The labels of a server image.
pub(super) fn labels_of(facts: &Facts, source: ImageSource, origin: Option<&str>) -> Labels {
    let mut labels = labels::of(labels::IMAGE, Kind::ServerImage);
    let mut set = |key: &str, value: String| labels.insert(key.to_owned(), value);
    set(VERSION, facts.version.text.clone());
    set(BINDIR, facts.bindir.clone());
    set(UID, facts.uid.to_string());
    set(GID, facts.gid.to_string());
    set(SOURCE, source.as_str().to_owned());
    if let Some(origin) = origin {
        set(ORIGIN, origin.to_owned());
    }
    labels
}

impl ServerImage {
    /// Reads an image from its labels; `None` for one that is not finished or of another version of the lab.
    pub(super) fn from_labels(reference: &str, id: &str, labels: &Labels) -> Option<ServerImage> {
        let label = |key: &str| labels.get(key).map(String::as_str);
        Some(ServerImage {
            reference: reference.to_owned(),
            id: id.to_owned(),
            source: ImageSource::ALL.into_iter().find(|source| Some(source.as_str()) == label(SOURCE))?,
            provenance: Provenance::BuiltEarlier,
            version: ServerVersion::parse(label(VERSION)?)?,
            bindir: label(BINDIR)?.to_owned(),
            uid: label(UID)?.parse().ok()?,
            gid: label(GID)?.parse().ok()?,
            note: None,
            build: None,
        })
    }
}

/// A server image in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedImage {
    /// The image.
    pub image: ServerImage,
    /// Size of its layers in bytes.
    pub size_bytes: Option<u64>,
    /// When it was built, in seconds since 1970.
    pub created_unix: i64,
}

/// Has an image the labels that the last step of a build gives.
pub(super) fn is_finished(labels: &Labels) -> bool {
    labels.contains_key(VERSION)
}

/// The tag by which the lab knows an image, whatever others a user has given it. An image without one is not the lab's:
/// whoever builds on a server image inherits its labels.
fn own_tag(tags: &[String]) -> Option<&str> {
    let repository = format!("{REPOSITORY}:");
    tags.iter().find(|tag| tag.starts_with(&repository)).map(String::as_str)
}

/// All server images of the lab, newest first.
pub(super) async fn list(engine: &Engine) -> Result<Vec<ListedImage>, ImageError> {
    let selector = Selector::run(labels::IMAGE).kind(Kind::ServerImage);
    let listed = |entry: ImageEntry| {
        let image = ServerImage::from_labels(own_tag(&entry.tags)?, &entry.id, &entry.labels)?;
        Some(ListedImage { image, size_bytes: entry.size_bytes, created_unix: entry.created_unix })
    };
    Ok(engine.images(&selector).await?.into_iter().filter_map(listed).collect())
}

/// The best image built earlier: of `major`, or of the newest version there is.
pub(super) async fn built_earlier(engine: &Engine, major: Option<u16>) -> Result<ServerImage, ImageError> {
    let images = list(engine).await?.into_iter().map(|listed| listed.image);
    best(images, major).ok_or(ImageError::NoneBuilt { major })
}

/// The newest of `images` that is stock, and of `major` if that is given; of two equal ones the first.
fn best(images: impl Iterator<Item = ServerImage>, major: Option<u16>) -> Option<ServerImage> {
    images
        .filter(|image| image.source.is_stock() && image.version.major >= OLDEST_MAJOR)
        .filter(|image| major.is_none_or(|major| image.version.major == major))
        .reduce(|best, image| if image.version.number > best.version.number { image } else { best })
}

/// The image that was made from `origin`, if there is one.
pub(super) async fn built_from(engine: &Engine, origin: &str) -> Result<Option<ServerImage>, ImageError> {
    let selector = Selector::run(labels::IMAGE).kind(Kind::ServerImage).label(ORIGIN, origin);
    let found = |entry: ImageEntry| ServerImage::from_labels(own_tag(&entry.tags)?, &entry.id, &entry.labels);
    Ok(engine.images(&selector).await?.into_iter().find_map(found))
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    pub(crate) fn image(version: &str) -> ServerImage {
        of_source(version, ImageSource::Host)
    }

    fn of_source(version: &str, source: ImageSource) -> ServerImage {
        let version = ServerVersion::parse(version).unwrap();
        let facts = Facts { version, bindir: "/usr/lib/postgresql/bin".to_owned(), uid: 100, gid: 101 };
        ServerImage::from_labels("stall-lab/postgres:x", "sha256:1", &labels_of(&facts, source, None))
            .unwrap()
    }

    #[test]
    fn an_image_is_read_back_from_its_labels() {
        let image = image("postgres (PostgreSQL) 18.6 (Debian 18.6-1)");
        assert_eq!((image.version.number, image.uid, image.gid), (180_006, 100, 101));
        assert_eq!(image.bindir, "/usr/lib/postgresql/bin");
        assert_eq!((image.source, image.provenance), (ImageSource::Host, Provenance::BuiltEarlier));
    }

    #[test]
    fn an_image_that_is_not_finished_is_none() {
        let labels = labels::of(labels::IMAGE, Kind::ServerImage);
        assert_eq!(ServerImage::from_labels("x", "sha256:1", &labels), None);
    }

    #[test]
    fn the_labs_own_tag_goes_before_a_users() {
        let tags = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            own_tag(&tags(&["mine:1", "stall-lab/postgres:18.6-debian"])),
            Some("stall-lab/postgres:18.6-debian")
        );
        // Somebody built on a server image: its labels are inherited, the image is not the lab's.
        assert_eq!(own_tag(&tags(&["mine:1"])), None);
        assert_eq!(own_tag(&[]), None);
    }

    #[test]
    fn the_newest_stock_image_of_the_version_is_the_best() {
        let images = || {
            [
                of_source("postgres (PostgreSQL) 18.9", ImageSource::Prefix),
                of_source("postgres (PostgreSQL) 18.5", ImageSource::Debian),
                of_source("postgres (PostgreSQL) 18.6", ImageSource::Registry),
                of_source("postgres (PostgreSQL) 19rc1", ImageSource::Debian),
                of_source("postgres (PostgreSQL) 14.9", ImageSource::Host),
            ]
            .into_iter()
        };
        let number = |major| best(images(), major).map(|image| image.version.number);
        assert_eq!(number(Some(18)), Some(180_006));
        assert_eq!(number(None), Some(190_000));
        assert_eq!(number(Some(14)), None);
        assert_eq!(number(Some(17)), None);
    }
}
