//! Images: inspected, listed, removed.

use bollard::query_parameters::{ListImagesOptions, RemoveImageOptions};

use super::engine::{CALL, Engine, within};
use super::error::DockerError;
use super::labels::{Labels, Selector};

/// What the engine knows about an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageFacts {
    /// Id, a digest of its configuration (`sha256:...`).
    pub id: String,
    /// Labels.
    pub labels: Labels,
    /// Architecture as the Go language names it, like `amd64`.
    pub architecture: Option<String>,
    /// Size of all its layers, in bytes.
    pub size_bytes: Option<u64>,
}

/// An image in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageEntry {
    /// Id.
    pub id: String,
    /// Its names; none for an image left over by a build.
    pub tags: Vec<String>,
    /// Labels.
    pub labels: Labels,
    /// Size of all its layers, in bytes.
    pub size_bytes: Option<u64>,
    /// When it was made, in seconds since 1970.
    pub created_unix: i64,
}

impl Engine {
    /// What the engine knows about an image, by tag or id; `None` if it has no such image.
    ///
    /// # Errors
    /// [`DockerError::InspectImage`].
    pub async fn inspect_image(&self, reference: &str) -> Result<Option<ImageFacts>, DockerError> {
        match within(CALL, self.docker.inspect_image(reference)).await {
            Ok(image) => Ok(Some(ImageFacts {
                id: image.id.unwrap_or_default(),
                labels: image
                    .config
                    .and_then(|config| config.labels)
                    .unwrap_or_default()
                    .into_iter()
                    .collect(),
                architecture: image.architecture.filter(|architecture| !architecture.is_empty()),
                size_bytes: image.size.and_then(|size| u64::try_from(size).ok()),
            })),
            Err(cause) if cause.is_not_found() => Ok(None),
            Err(cause) => Err(DockerError::InspectImage { reference: reference.to_owned(), cause }),
        }
    }

    /// The images of the lab that `selector` selects, newest first.
    ///
    /// # Errors
    /// [`DockerError::ListImages`].
    pub async fn images(&self, selector: &Selector) -> Result<Vec<ImageEntry>, DockerError> {
        let options = ListImagesOptions { filters: Some(selector.filters()), ..Default::default() };
        let listed = within(CALL, self.docker.list_images(Some(options)));
        let listed = listed.await.map_err(|cause| DockerError::ListImages { cause })?;
        let mut entries: Vec<ImageEntry> = listed
            .into_iter()
            .map(|image| ImageEntry {
                id: image.id,
                tags: image.repo_tags.into_iter().filter(|tag| tag != "<none>:<none>").collect(),
                labels: image.labels.into_iter().collect(),
                size_bytes: u64::try_from(image.size).ok(),
                created_unix: image.created,
            })
            .collect();
        entries
            .sort_by(|one, other| other.created_unix.cmp(&one.created_unix).then(one.tags.cmp(&other.tags)));
        Ok(entries)
    }

    /// Removes an image by tag (then only the tag, if it has others) or id. One that is not there is a success.
    ///
    /// # Errors
    /// [`DockerError::RemoveImage`], also while a container uses it.
    pub async fn remove_image(&self, reference: &str) -> Result<(), DockerError> {
        match within(CALL, self.docker.remove_image(reference, None::<RemoveImageOptions>, None)).await {
            Ok(_) => Ok(()),
            Err(cause) if cause.is_not_found() => Ok(()),
            Err(cause) => Err(DockerError::RemoveImage { reference: reference.to_owned(), cause }),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;
    use crate::docker::fake::{Answer, FakeEngine};

    #[tokio::test]
    async fn an_image_that_is_not_there_is_none_and_any_other_answer_an_error() {
        let fake = FakeEngine::start()
            .answer("GET /images/gone/json", Answer::error(404, "No such image: gone"))
            .answer("GET /images/odd/json", Answer::error(500, "disk full"))
            .answer("DELETE /images/gone", Answer::error(404, "No such image: gone"));
        let engine = fake.connect().await;
        assert_eq!(engine.inspect_image("gone").await.unwrap(), None);
        engine.remove_image("gone").await.unwrap();
        let error = engine.inspect_image("odd").await.unwrap_err();
        assert_eq!(error.to_string(), "cannot inspect image odd: disk full (HTTP 500)");
    }

    #[tokio::test]
    async fn labels_size_and_architecture_are_kept() {
        let body = r#"{"Id":"sha256:1","Architecture":"amd64","Size":42,"Config":{"Labels":{"a":"b"}}}"#;
        let fake = FakeEngine::start().answer("GET /images/i/json", Answer::json(body));
        let facts = fake.connect().await.inspect_image("i").await.unwrap().unwrap();
        assert_eq!((facts.id.as_str(), facts.size_bytes), ("sha256:1", Some(42)));
        assert_eq!(facts.labels.get("a").map(String::as_str), Some("b"));
    }

    #[tokio::test]
    async fn a_listing_is_newest_first_and_knows_an_image_without_name() {
        let image = |id: &str, tags: &str, created: i64| {
            format!(
                r#"{{"Id":"{id}","ParentId":"","RepoTags":{tags},"RepoDigests":null,"Created":{created},"Size":1,
                    "SharedSize":-1,"Labels":null,"Containers":-1}}"#
            )
        };
        let body = format!("[{},{}]", image("old", r#"["<none>:<none>"]"#, 1), image("new", r#"["x:1"]"#, 2));
        let fake = FakeEngine::start().answer("GET /images/json", Answer::json(&body));
        let entries = fake.connect().await.images(&Selector::any()).await.unwrap();
        assert_eq!(entries[0].tags, ["x:1"]);
        assert_eq!((entries[1].id.as_str(), entries[1].tags.len()), ("old", 0));
    }
}
