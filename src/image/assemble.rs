//! The last steps, the same for every source: build, verify, label, name.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use super::error::ImageError;
use super::server::{BUILD, Facts, ImageSource, Provenance, REPOSITORY, ServerImage, labels_of};
use super::version::{OLDEST_MAJOR, ServerVersion};
use super::{ImageProgress, OnProgress};
use crate::docker::labels::{self, Kind, Labels, Selector};
use crate::docker::{BuildContext, BuildSpec, ContextArchive, ContextFile, Engine};

const DOCKERFILE_ROOTFS: &str = include_str!("../../docker/Dockerfile.rootfs");
const DOCKERFILE_IMAGE: &str = include_str!("../../docker/Dockerfile.image");
const DOCKERFILE_NAMED: &str = include_str!("../../docker/Dockerfile.named");
const VERIFY: &str = include_str!("../../docker/verify.sh");
const TOOLS: &str = include_str!("../../docker/tools.sh");
/// Takes out of a file system what no server reads.
pub(super) const SLIM: &str = include_str!("../../docker/slim.sh");

/// How `verify.sh` begins the lines that the lab reads.
const MARK: &str = "stall-lab: ";

/// What an image is made from.
pub(super) enum Material<'a> {
    /// A tar archive of a whole file system.
    Rootfs {
        archive: &'a Path,
        /// Where the server's programs are, if that is known.
        bindir: Option<&'a str>,
        /// Where libraries are besides the usual directories.
        library_path: Option<&'a str>,
    },
    /// Another image, by id or tag.
    Image(&'a str),
}

/// Where an image is from, for its tag and labels.
pub(super) struct Origin<'a> {
    pub(super) source: ImageSource,
    /// The digest of what it is made from, where that is one thing.
    pub(super) digest: Option<&'a str>,
}

/// Builds the image, proves it, and gives it its labels and tag.
pub(super) async fn assemble(
    engine: &Engine,
    material: Material<'_>,
    origin: Origin<'_>,
    on_progress: OnProgress<'_>,
) -> Result<ServerImage, ImageError> {
    on_progress(ImageProgress::Step("Building the image and proving that it works".to_owned()));
    let build = format!("{:016x}", rand::random::<u64>());
    let built = build_verified(engine, material, &build, on_progress).await;
    let named = match built {
        Ok((id, facts)) => name(engine, &id, facts, origin, on_progress).await,
        Err(error) => Err(error),
    };
    remove_rest(engine, &build).await;
    named
}

async fn build_verified(
    engine: &Engine,
    material: Material<'_>,
    build: &str,
    on_progress: OnProgress<'_>,
) -> Result<(String, Facts), ImageError> {
    let mut spec = match material {
        Material::Rootfs { archive, bindir, library_path } => {
            let mut spec =
                spec("Dockerfile.rootfs", &[DOCKERFILE_ROOTFS, VERIFY], &["Dockerfile.rootfs", "verify.sh"]);
            spec.context.archive =
                Some(ContextArchive { name: "rootfs.tar".to_owned(), path: archive.to_owned() });
            for (name, value) in [("BINDIR", bindir), ("LIBRARY_PATH", library_path)] {
                if let Some(value) = value {
                    spec.build_args.insert(name.to_owned(), value.to_owned());
                }
            }
            spec
        }
        Material::Image(base) => {
            let names = ["Dockerfile.image", "verify.sh", "tools.sh", "slim.sh"];
            let mut spec = spec("Dockerfile.image", &[DOCKERFILE_IMAGE, VERIFY, TOOLS, SLIM], &names);
            spec.build_args.insert("BASE".to_owned(), base.to_owned());
            spec
        }
    };
    spec.build_args.insert("BUILD".to_owned(), build.to_owned());
    let mut said = BTreeMap::new();
    let id = engine
        .build_image(&spec, |line| {
            if let Some((name, value)) = line.strip_prefix(MARK).and_then(|rest| rest.split_once('=')) {
                said.insert(name.to_owned(), value.to_owned());
            }
            on_progress(ImageProgress::Output(line.to_owned()));
        })
        .await?;
    let facts = facts(&said).map_err(|fact| ImageError::NoFact { tag: REPOSITORY.to_owned(), fact })?;
    Ok((id, facts))
}

fn spec(dockerfile: &str, contents: &[&str], names: &[&str]) -> BuildSpec {
    let file = |(name, content): (&&str, &&str)| ContextFile {
        name: (*name).to_owned(),
        mode: 0o644,
        bytes: content.as_bytes().to_vec(),
    };
    BuildSpec {
        dockerfile: dockerfile.to_owned(),
        context: BuildContext { files: names.iter().zip(contents).map(file).collect(), archive: None },
        ..Default::default()
    }
}

/// What `verify.sh` said; the error is the fact that is missing.
fn facts(said: &BTreeMap<String, String>) -> Result<Facts, &'static str> {
    let fact = |name: &'static str| said.get(name).ok_or(name);
    Ok(Facts {
        version: ServerVersion::parse(fact("version")?).ok_or("version")?,
        bindir: fact("bindir")?.clone(),
        uid: fact("uid")?.parse().map_err(|_| "uid")?,
        gid: fact("gid")?.parse().map_err(|_| "gid")?,
    })
}

async fn name(
    engine: &Engine,
    verified: &str,
    facts: Facts,
    origin: Origin<'_>,
    on_progress: OnProgress<'_>,
) -> Result<ServerImage, ImageError> {
    let reference = tag(&facts.version, &origin);
    if facts.version.major < OLDEST_MAJOR {
        return Err(ImageError::TooOld { reference, version: facts.version.short().to_owned() });
    }
    let labels = label_instruction(&labels_of(&facts, origin.source, origin.digest));
    let mut spec = spec("Dockerfile.named", &[&format!("{DOCKERFILE_NAMED}{labels}")], &["Dockerfile.named"]);
    spec.tag = Some(reference.clone());
    spec.build_args.insert("VERIFIED".to_owned(), verified.to_owned());
    spec.build_args.insert("BINDIR".to_owned(), facts.bindir.clone());
    let id = engine.build_image(&spec, |line| on_progress(ImageProgress::Output(line.to_owned()))).await?;
    let Facts { version, bindir, uid, gid } = facts;
    let provenance = Provenance::BuiltNow;
    Ok(ServerImage {
        reference,
        id,
        source: origin.source,
        provenance,
        version,
        bindir,
        uid,
        gid,
        note: None,
        build: None,
    })
}

/// One instruction for all labels: the classic builder makes a step, and a layer, of each label that is given beside the Dockerfile.
fn label_instruction(labels: &Labels) -> String {
    let mut instruction = "LABEL".to_owned();
    for (key, value) in labels {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$").replace('\n', " ");
        // Writing to a String does not fail.
        let _ = write!(instruction, " {key}=\"{value}\"");
    }
    instruction.push('\n');
    instruction
}

/// `stall-lab/postgres:18.6-debian`, and the beginning of the digest where there may be several of one version.
fn tag(version: &ServerVersion, origin: &Origin<'_>) -> String {
    let allowed = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' }
    };
    let version: String = version.short().chars().map(allowed).collect();
    let source = origin.source.as_str();
    match origin.digest {
        Some(digest) if !origin.source.is_stock() => {
            let digest: String = digest.trim_start_matches("sha256:").chars().take(12).collect();
            format!("{REPOSITORY}:{version}-{source}-{digest}")
        }
        _ => format!("{REPOSITORY}:{version}-{source}"),
    }
}

/// Removes the images without a name that a build leaves: stages, and the steps before one that failed.
async fn remove_rest(engine: &Engine, build: &str) {
    let selector = Selector::run(labels::IMAGE).kind(Kind::ServerImage).label(BUILD, build);
    let rest = engine.images(&selector).await.unwrap_or_default();
    for image in rest.iter().filter(|image| image.tags.is_empty()) {
        // The one that the named image is built on is refused, as it should be.
        if let Err(error) = engine.remove_image(&image.id).await {
            tracing::debug!("{error}");
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    fn said(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_facts_are_what_verify_said() {
        let all =
            [("bindir", "/b"), ("version", "postgres (PostgreSQL) 18.6"), ("uid", "100"), ("gid", "102")];
        let facts = facts(&said(&all)).unwrap();
        assert_eq!(
            (facts.bindir.as_str(), facts.version.number, facts.uid, facts.gid),
            ("/b", 180_006, 100, 102)
        );
    }

    #[test]
    fn a_fact_that_is_missing_or_odd_is_named() {
        let version = ("version", "postgres (PostgreSQL) 18.6");
        assert_eq!(facts(&said(&[("bindir", "/b"), ("uid", "1"), ("gid", "1")])), Err("version"));
        assert_eq!(facts(&said(&[version, ("uid", "1"), ("gid", "1")])), Err("bindir"));
        assert_eq!(facts(&said(&[version, ("bindir", "/b"), ("uid", "root"), ("gid", "1")])), Err("uid"));
    }

    #[test]
    fn labels_are_one_instruction_whatever_is_in_them() {
        let labels =
            Labels::from([("a".to_owned(), "x y".to_owned()), ("b".to_owned(), r#"q"$\"#.to_owned())]);
        assert_eq!(label_instruction(&labels), "LABEL a=\"x y\" b=\"q\\\"\\$\\\\\"\n");
    }

    #[test]
    fn a_tag_tells_version_and_source_and_builds_of_one_version_apart() {
        let tag = |version: &str, source, digest| {
            tag(&ServerVersion::parse(version).unwrap(), &Origin { source, digest })
        };
        let long = Some("sha256:0123456789abcdef");
        assert_eq!(
            tag("postgres (PostgreSQL) 18.6 (Debian 18.6-1)", ImageSource::Debian, None),
            "stall-lab/postgres:18.6-debian"
        );
        assert_eq!(
            tag("postgres (PostgreSQL) 18.6", ImageSource::Registry, long),
            "stall-lab/postgres:18.6-registry"
        );
        assert_eq!(
            tag("postgres (PostgreSQL) 19devel+my", ImageSource::Prefix, long),
            "stall-lab/postgres:19devel-my-prefix-0123456789ab"
        );
    }
}
