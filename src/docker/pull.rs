//! Images fetched from a registry.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use bollard::models::CreateImageInfo;
use bollard::query_parameters::CreateImageOptions;

use super::engine::{Engine, next_within};
use super::error::{Cause, DockerError};

/// How long a pull may show no progress: unpacking one large layer on a slow disk takes minutes.
const SILENCE: Duration = Duration::from_secs(300);

/// The name of an image, with the tag or digest that a pull has to name: without one every tag is pulled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageReference {
    name: String,
    version: Version,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Version {
    Tag(String),
    Digest(String),
}

impl ImageReference {
    /// Reads `[host[:port]/]path[:tag][@digest]`; without tag and digest the tag is `latest`.
    pub fn parse(text: &str) -> ImageReference {
        if let Some((name, digest)) = text.split_once('@') {
            let (name, _) = split_tag(name);
            return ImageReference { name: name.to_owned(), version: Version::Digest(digest.to_owned()) };
        }
        let (name, tag) = split_tag(text);
        ImageReference { name: name.to_owned(), version: Version::Tag(tag.unwrap_or("latest").to_owned()) }
    }
}

/// A colon before a slash belongs to a port.
fn split_tag(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
        _ => (text, None),
    }
}

impl fmt::Display for ImageReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.version {
            Version::Tag(tag) => write!(f, "{}:{tag}", self.name),
            Version::Digest(digest) => write!(f, "{}@{digest}", self.name),
        }
    }
}

/// How far a pull has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PullProgress {
    /// Bytes fetched so far.
    pub done_bytes: u64,
    /// Bytes to fetch, of the layers whose size is known so far; it grows while the pull begins.
    pub total_bytes: u64,
    /// The engine's last message, like `Extracting`.
    pub status: String,
}

/// Adds the layers' progress up.
#[derive(Debug, Default)]
struct Layers {
    layers: BTreeMap<String, (u64, u64)>,
    status: String,
}

impl Layers {
    fn update(&mut self, info: CreateImageInfo) -> PullProgress {
        let status = info.status.unwrap_or_default();
        if let Some(id) = info.id {
            let bytes = |value: Option<i64>| value.and_then(|value| u64::try_from(value).ok()).unwrap_or(0);
            match status.as_str() {
                "Downloading" => {
                    let detail = info.progress_detail.unwrap_or_default();
                    self.layers.insert(id, (bytes(detail.current), bytes(detail.total)));
                }
                "Download complete" | "Pull complete" => {
                    if let Some((done, total)) = self.layers.get_mut(&id) {
                        *done = *total;
                    }
                }
                _ => {}
            }
        }
        if !status.is_empty() {
            self.status = status;
        }
        PullProgress {
            done_bytes: self.layers.values().map(|(done, _)| done).sum(),
            total_bytes: self.layers.values().map(|(_, total)| total).sum(),
            status: self.status.clone(),
        }
    }
}

impl Engine {
    /// Fetches an image from its registry. `on_progress` is called at each message of the engine, several times a second.
    ///
    /// # Errors
    /// [`DockerError::PullImage`]; [`Cause::is_not_found`] tells an image that is not in the registry from a registry that
    /// cannot be reached, as far as the engine does.
    pub async fn pull_image(
        &self,
        reference: &ImageReference,
        mut on_progress: impl FnMut(&PullProgress),
    ) -> Result<(), DockerError> {
        let failed = |cause| DockerError::PullImage { reference: reference.to_string(), cause };
        let (Version::Tag(version) | Version::Digest(version)) = &reference.version;
        let options = CreateImageOptions {
            from_image: Some(reference.name.clone()),
            tag: Some(version.clone()),
            ..Default::default()
        };
        let mut messages = Box::pin(self.docker.create_image(Some(options), None, None));
        let mut layers = Layers::default();
        while let Some(message) = next_within(SILENCE, &mut messages).await.map_err(failed)? {
            if let Some(detail) = message.error_detail {
                let reason = detail.message.unwrap_or_else(|| "the engine gave no reason".to_owned());
                return Err(failed(Cause::Reported(reason)));
            }
            on_progress(&layers.update(message));
        }
        // Some engines end the answer without a word when the pull failed.
        match self.inspect_image(&reference.to_string()).await? {
            Some(_) => Ok(()),
            None => Err(failed(Cause::Reported("the pull ended, and the image is not there".to_owned()))),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;
    use crate::docker::fake::{Answer, FakeEngine};

    #[test]
    fn a_reference_without_tag_gets_latest_and_a_port_is_no_tag() {
        for (text, whole) in [
            ("postgres", "postgres:latest"),
            ("postgres:18", "postgres:18"),
            ("localhost:5000/pg", "localhost:5000/pg:latest"),
            ("localhost:5000/pg:18", "localhost:5000/pg:18"),
            ("pg@sha256:abc", "pg@sha256:abc"),
            ("localhost:5000/pg:18@sha256:abc", "localhost:5000/pg@sha256:abc"),
        ] {
            assert_eq!(ImageReference::parse(text).to_string(), whole);
        }
    }

    const PULL: &str = concat!(
        r#"{"status":"Pulling from library/postgres","id":"18"}"#,
        "\r\n",
        r#"{"status":"Pulling fs layer","progressDetail":{},"id":"l1"}"#,
        "\r\n",
        r#"{"status":"Downloading","progressDetail":{"current":10,"total":100},"id":"l1"}"#,
        "\r\n",
        r#"{"status":"Downloading","progressDetail":{"current":5,"total":50},"id":"l2"}"#,
        "\r\n",
        r#"{"status":"Download complete","progressDetail":{},"id":"l1"}"#,
        "\r\n",
        r#"{"status":"Extracting","progressDetail":{"current":1,"total":100},"id":"l1"}"#,
        "\r\n",
    );

    fn fake(pull: Answer) -> FakeEngine {
        FakeEngine::start()
            .answer("POST /images/create", pull)
            .answer("GET /images/postgres:18/json", Answer::json(r#"{"Id":"sha256:1"}"#))
    }

    #[tokio::test]
    async fn progress_is_the_sum_over_the_layers() {
        let fake = fake(Answer::stream(PULL.as_bytes()));
        let mut seen = Vec::new();
        let reference = ImageReference::parse("postgres:18");
        let engine = fake.connect().await;
        engine.pull_image(&reference, |progress| seen.push(progress.clone())).await.unwrap();
        let counts: Vec<(u64, u64)> =
            seen.iter().map(|progress| (progress.done_bytes, progress.total_bytes)).collect();
        assert_eq!(counts, [(0, 0), (0, 0), (10, 100), (15, 150), (105, 150), (105, 150)]);
        assert_eq!(seen.last().unwrap().status, "Extracting");
        let pull = fake.requests().into_iter().find(|request| request.contains("/images/create")).unwrap();
        assert!(pull.contains("fromImage=postgres&") && pull.contains("tag=18"), "{pull}");
    }

    #[tokio::test]
    async fn an_error_inside_a_200_answer_is_an_error() {
        let body = r#"{"errorDetail":{"message":"toomanyrequests"},"error":"toomanyrequests"}"#;
        let fake = fake(Answer::stream(body.as_bytes()));
        let error =
            fake.connect().await.pull_image(&ImageReference::parse("postgres:18"), |_| ()).await.unwrap_err();
        assert_eq!(error.to_string(), "cannot pull image postgres:18: toomanyrequests");
    }

    #[tokio::test]
    async fn a_pull_that_breaks_off_is_an_error() {
        let fake = fake(Answer::cut_stream(PULL.as_bytes()));
        let error =
            fake.connect().await.pull_image(&ImageReference::parse("postgres:18"), |_| ()).await.unwrap_err();
        assert!(matches!(error, DockerError::PullImage { .. }), "{error}");
    }

    #[tokio::test]
    async fn a_pull_that_ends_without_an_image_is_an_error() {
        let fake = FakeEngine::start()
            .answer("POST /images/create", Answer::stream(b""))
            .answer("GET /images/postgres:18/json", Answer::error(404, "No such image"));
        let error =
            fake.connect().await.pull_image(&ImageReference::parse("postgres:18"), |_| ()).await.unwrap_err();
        assert!(error.to_string().contains("the image is not there"), "{error}");
    }

    #[tokio::test]
    async fn an_image_that_the_registry_does_not_have_is_not_found() {
        let fake = fake(Answer::error(404, "manifest for postgres:99 not found: manifest unknown"));
        let error =
            fake.connect().await.pull_image(&ImageReference::parse("postgres:18"), |_| ()).await.unwrap_err();
        assert!(matches!(&error, DockerError::PullImage { cause, .. } if cause.is_not_found()), "{error}");
    }
}
