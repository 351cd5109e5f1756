//! `stall-lab image`

use super::args::{ImageAction, ImageArgs, ServerArgs};
use super::exit::UsageError;
use super::{Exit, interrupt};
use crate::docker::Engine;
use crate::human;
use crate::image::{self, ImageError, ImageProgress};
use crate::progress::Progress;

pub(super) async fn run(args: ImageArgs) -> anyhow::Result<Exit> {
    let engine = Engine::connect().await?;
    match args.action.unwrap_or(ImageAction::List) {
        ImageAction::List => list(&engine).await,
        ImageAction::Build(server) => build(&engine, server).await,
        ImageAction::Remove { images, all } => {
            let images = if all { references(&engine).await? } else { images };
            for image in &images {
                image::remove(&engine, image).await.map_err(|error| match error {
                    ImageError::NotOurs { .. } => anyhow::Error::new(UsageError(error.to_string())),
                    other => other.into(),
                })?;
                say!("removed {image}")?;
            }
            Ok(Exit::Success)
        }
    }
}

async fn list(engine: &Engine) -> anyhow::Result<Exit> {
    let images = image::list(engine).await?;
    if images.is_empty() {
        say!("no server image yet; a run builds one, or `stall-lab image build`")?;
    }
    for listed in images {
        let size = listed.size_bytes.map_or_else(String::new, |bytes| human::bytes(bytes as f64));
        let image = listed.image;
        say!("{:<44} {:>9}  PostgreSQL {} ({})", image.reference, size, image.version, image.source)?;
    }
    Ok(Exit::Success)
}

async fn references(engine: &Engine) -> anyhow::Result<Vec<String>> {
    Ok(image::list(engine).await?.into_iter().map(|listed| listed.image.reference).collect())
}

async fn build(engine: &Engine, server: ServerArgs) -> anyhow::Result<Exit> {
    let progress = Progress::for_terminal();
    let request = server.request();
    let stop = interrupt::stop_on_signal(&progress)?;
    let mut tell = |told| match told {
        ImageProgress::Step(step) => progress.step(&step),
        ImageProgress::Pull(pull) => progress.detail(&pull.status),
        ImageProgress::Output(line) => progress.detail(&line),
    };
    // Dropped when the user stops it, which ends the tools it has started.
    let image = stop.run_until_cancelled(image::resolve(engine, &request, &mut tell)).await;
    progress.finish();
    let Some(image) = image else { return Ok(Exit::Interrupted) };
    let image = image?;
    say!("{}  PostgreSQL {} ({})", image.reference, image.version, image.source)?;
    if let Some(note) = image.note {
        say!("{note}")?;
    }
    Ok(Exit::Success)
}
