//! `stall-lab clean`

use super::Exit;
use crate::cluster::{Scope, tear_down};
use crate::docker::Engine;
use crate::image;

pub(super) async fn run() -> anyhow::Result<Exit> {
    let engine = Engine::connect().await?;
    let images = image::list(&engine).await?;
    let image = images.first().map(|listed| listed.image.reference.as_str());
    let removal = tear_down(&engine, &Scope::Leftovers, image).await?;
    let leftovers = image::remove_leftovers(&engine).await?;
    for line in removal.to_string().lines() {
        say!("{line}")?;
    }
    if leftovers > 0 {
        say!("removed {leftovers} unfinished images")?;
    }
    if removal.is_empty() && leftovers == 0 {
        say!("nothing to remove")?;
    }
    say!(
        "kept: runs that still go on, loaded databases (`stall-lab cache`) and server images (`stall-lab image`)"
    )?;
    Ok(if removal.failures.is_empty() { Exit::Success } else { Exit::Failure })
}
