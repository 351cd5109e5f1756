//! The server image: PostgreSQL and the few tools the lab needs, from wherever it can be had.
//!
//! [`resolve`] tries the ways ([`Way`]) in order: an image the lab built already, the official image from a registry, Debian's
//! packages, a PostgreSQL found on the host. Whatever the base, the image ends the same: `docker/verify.sh` proves it in the last
//! build step, and labels carry what the lab has to know of it.

mod assemble;
mod base;
mod closure;
mod debian;
mod error;
mod host;
mod installation;
mod pack;
mod plan;
mod process;
mod request;
mod server;
mod version;

#[cfg(test)]
pub(crate) mod testing {
    pub(crate) use super::server::tests::image;
}

use crate::docker::{DockerError, Engine, PullProgress, labels};

pub use error::{ImageError, Tried};
pub use installation::OwnBuild;
pub use plan::Way;
pub use request::ImageRequest;
#[cfg(test)]
mod faults;
#[cfg(test)]
pub(crate) use server::tests::image as server_image_of;
pub use server::{ImageSource, ListedImage, Provenance, ServerImage};
pub use version::{NEWEST_MAJOR, OLDEST_MAJOR, ServerVersion, WISHED_MAJOR};

/// What is going on while an image is sought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageProgress {
    /// A new step begins, described in words for the user.
    Step(String),
    /// A pull from a registry goes on.
    Pull(PullProgress),
    /// A line of a build's or a host tool's output.
    Output(String),
}

/// Where progress is reported to.
pub type OnProgress<'a> = &'a mut (dyn FnMut(ImageProgress) + Send);

/// Finds or builds the image that `request` asks for.
///
/// # Errors
/// [`ImageError::NotToBeHad`] with every way that was tried and why it failed; the other variants for a request that names one
/// thing, which is missing or unusable.
pub async fn resolve(
    engine: &Engine,
    request: &ImageRequest,
    on_progress: OnProgress<'_>,
) -> Result<ServerImage, ImageError> {
    match request {
        ImageRequest::Reference(reference) => base::from_reference(engine, reference, on_progress).await,
        ImageRequest::Prefix(prefix) => host::from_prefix(engine, prefix, on_progress).await,
        ImageRequest::Default => first_that_works(engine, None, on_progress).await,
        ImageRequest::Version(major) => first_that_works(engine, Some(*major), on_progress).await,
    }
}

async fn first_that_works(
    engine: &Engine,
    asked_for: Option<u16>,
    on_progress: OnProgress<'_>,
) -> Result<ServerImage, ImageError> {
    let mut tried = Vec::new();
    for way in asked_for.map_or_else(plan::for_default, plan::for_version) {
        match go(engine, way, on_progress).await {
            Ok(image) if !is_as_asked(&image, asked_for) => {
                tried.push(Tried { way, reason: format!("it has PostgreSQL {}", image.version) });
            }
            Ok(mut image) => {
                if asked_for.is_none() && image.version.major != WISHED_MAJOR {
                    image.note = Some(plan::note(&image, &tried));
                }
                return Ok(image);
            }
            Err(reason) => tried.push(Tried { way, reason: reason.to_string() }),
        }
    }
    Err(ImageError::NotToBeHad { asked_for, tried })
}

/// A mirror may serve anything under any tag.
fn is_as_asked(image: &ServerImage, asked_for: Option<u16>) -> bool {
    asked_for.is_none_or(|major| image.version.major == major)
}

async fn go(engine: &Engine, way: Way, on_progress: OnProgress<'_>) -> Result<ServerImage, ImageError> {
    match way {
        Way::Built(major) => server::built_earlier(engine, Some(major)).await,
        Way::AnyBuilt => server::built_earlier(engine, None).await,
        Way::Registry(major) => base::from_registry(engine, major, on_progress).await,
        Way::Debian(major) => debian::from_packages(engine, major, on_progress).await,
        Way::Host(major) => host::from_host(engine, Some(major), on_progress).await,
        Way::AnyHost => host::from_host(engine, None, on_progress).await,
    }
}

/// The server images that the lab has built, newest first.
///
/// # Errors
/// [`ImageError::Engine`].
pub async fn list(engine: &Engine) -> Result<Vec<ListedImage>, ImageError> {
    server::list(engine).await
}

/// Removes a server image by its tag. Only what the lab built is removed.
///
/// # Errors
/// [`ImageError::NotOurs`] for an image that the lab did not build, or of which there is none; [`ImageError::Engine`], also while a
/// container uses it.
pub async fn remove(engine: &Engine, reference: &str) -> Result<(), ImageError> {
    let ours = list(engine).await?.into_iter().any(|listed| listed.image.reference == reference);
    if !ours {
        return Err(ImageError::NotOurs { reference: reference.to_owned() });
    }
    Ok(engine.remove_image(reference).await?)
}

/// An image without a name that is younger than this may belong to a build that still goes on, seconds.
const LEFT_OVER_AFTER_S: i64 = 3_600;

/// Removes what builds that were killed an hour ago or longer have left: unfinished images of the lab without a name.
/// Returns how many.
///
/// # Errors
/// [`ImageError::Engine`].
pub async fn remove_leftovers(engine: &Engine) -> Result<usize, ImageError> {
    let selector = labels::Selector::run(labels::IMAGE).kind(labels::Kind::ServerImage);
    let mut removed = 0;
    for image in engine.images(&selector).await? {
        let age_s = jiff::Timestamp::now().as_second() - image.created_unix;
        if image.tags.is_empty() && !server::is_finished(&image.labels) && age_s > LEFT_OVER_AFTER_S {
            match engine.remove_image(&image.id).await {
                Ok(()) => removed += 1,
                // Another image is built on it, so it is no leftover.
                Err(DockerError::RemoveImage { cause, .. }) if cause.is_conflict() => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(removed)
}
