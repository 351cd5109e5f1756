//! Images made from other images: the official one, or one that the user names.

use super::assemble::{Material, Origin, assemble};
use super::error::ImageError;
use super::server::{self, ImageSource, ServerImage};
use super::version::NEWEST_MAJOR;
use super::{ImageProgress, OnProgress};
use crate::docker::{Cause, DockerError, Engine, ImageFacts, ImageReference};

/// The official image's name; the engine knows its registry.
const OFFICIAL: &str = "postgres";
/// Tags of versions that are not released yet, latest first, after the major version.
const PRERELEASES: [&str; 6] = ["rc3", "rc2", "rc1", "beta3", "beta2", "beta1"];

/// Whether a base was on the engine before the lab came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Before,
    PulledNow,
}

/// The official image of a major version.
pub(super) async fn from_registry(
    engine: &Engine,
    major: u16,
    on_progress: OnProgress<'_>,
) -> Result<ServerImage, ImageError> {
    let references = official_references(major);
    for reference in &references {
        match fetch(engine, reference, on_progress).await {
            Ok(base) => return build(engine, reference, base, ImageSource::Registry, on_progress).await,
            Err(DockerError::PullImage { cause, .. }) if says_no_such_image(&cause) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(ImageError::NotInRegistry { references: references.iter().map(ToString::to_string).collect() })
}

/// The image that the user names: taken as it is if the lab built it, else made into a server image.
pub(super) async fn from_reference(
    engine: &Engine,
    text: &str,
    on_progress: OnProgress<'_>,
) -> Result<ServerImage, ImageError> {
    if let Some(facts) = engine.inspect_image(text).await?
        && let Some(image) = ServerImage::from_labels(text, &facts.id, &facts.labels)
    {
        return Ok(image);
    }
    let reference = ImageReference::parse(text);
    let base = fetch(engine, &reference, on_progress).await?;
    build(engine, &reference, base, ImageSource::Image, on_progress).await
}

fn official_references(major: u16) -> Vec<ImageReference> {
    let mut tags = vec![format!("{OFFICIAL}:{major}")];
    if major == NEWEST_MAJOR {
        tags.extend(PRERELEASES.iter().map(|suffix| format!("{OFFICIAL}:{major}{suffix}")));
    }
    tags.iter().map(|tag| ImageReference::parse(tag)).collect()
}

/// Some engines wrap the registry's "manifest unknown" in an error of their own.
fn says_no_such_image(cause: &Cause) -> bool {
    cause.is_not_found() || cause.to_string().contains("manifest unknown")
}

async fn fetch(
    engine: &Engine,
    reference: &ImageReference,
    on_progress: OnProgress<'_>,
) -> Result<(ImageFacts, Presence), DockerError> {
    let name = reference.to_string();
    if let Some(facts) = engine.inspect_image(&name).await? {
        return Ok((facts, Presence::Before));
    }
    on_progress(ImageProgress::Step(format!("Pulling {name}")));
    engine.pull_image(reference, |progress| on_progress(ImageProgress::Pull(progress.clone()))).await?;
    match engine.inspect_image(&name).await? {
        Some(facts) => Ok((facts, Presence::PulledNow)),
        None => Err(DockerError::PullImage {
            reference: name,
            cause: Cause::Reported("the image was removed again".to_owned()),
        }),
    }
}

async fn build(
    engine: &Engine,
    reference: &ImageReference,
    (base, presence): (ImageFacts, Presence),
    source: ImageSource,
    on_progress: OnProgress<'_>,
) -> Result<ServerImage, ImageError> {
    // The same base may have become an image of another source: as the official one, and by its name.
    let earlier = server::built_from(engine, &base.id).await?.filter(|image| image.source == source);
    let image = match earlier {
        Some(image) => Ok(image),
        None => {
            let origin = Origin { source, digest: Some(&base.id) };
            assemble(engine, Material::Image(&base.id), origin, on_progress).await
        }
    };
    // The server image is flat, so it does not need its base; what was there before the lab stays.
    if presence == Presence::PulledNow
        && let Err(error) = engine.remove_image(&reference.to_string()).await
    {
        tracing::debug!("{error}");
    }
    image
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;
    use crate::docker::fake::{Answer, FakeEngine};

    #[test]
    fn a_version_that_may_not_be_released_has_tags_of_pre_releases() {
        let tags = |major| official_references(major).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(tags(18), ["postgres:18"]);
        assert_eq!(tags(19)[..3], ["postgres:19", "postgres:19rc3", "postgres:19rc2"]);
    }

    #[tokio::test]
    async fn a_registry_that_cannot_be_reached_is_asked_once() {
        let fake = FakeEngine::start()
            .answer("GET /images/postgres:19/json", Answer::error(404, "No such image"))
            .answer("POST /images/create", Answer::error(500, "dial tcp: no such host"));
        let error = from_registry(&fake.connect().await, 19, &mut |_| ()).await.unwrap_err();
        assert!(error.to_string().contains("no such host"), "{error}");
        assert_eq!(fake.requests().iter().filter(|request| request.contains("/images/create")).count(), 1);
    }

    #[tokio::test]
    async fn every_tag_is_tried_in_a_registry_that_answers() {
        let mut fake = FakeEngine::start().answer(
            "POST /images/create",
            Answer::error(404, "manifest for postgres:19 not found: manifest unknown"),
        );
        for tag in ["19", "19rc3", "19rc2", "19rc1", "19beta3", "19beta2", "19beta1"] {
            let request = format!("GET /images/postgres:{tag}/json");
            fake = fake.answer(&request, Answer::error(404, "No such image"));
        }
        let error = from_registry(&fake.connect().await, 19, &mut |_| ()).await.unwrap_err();
        assert!(
            matches!(&error, ImageError::NotInRegistry { references } if references.len() == 7),
            "{error}"
        );
    }
}
