//! `stall-lab cache`

use anyhow::{Context as _, ensure};

use super::Exit;
use super::args::{CacheAction, CacheArgs};
use super::exit::UsageError;
use crate::cluster::Lease;
use crate::disk::{CACHE_VOLUME, Cache, CachedDatabase, DiskHelper};
use crate::docker::Engine;
use crate::docker::labels::{CACHE, Selector};
use crate::human;
use crate::image;

pub(super) async fn run(args: CacheArgs) -> anyhow::Result<Exit> {
    let engine = Engine::connect().await?;
    if engine.volumes(&Selector::run(CACHE)).await?.is_empty() {
        say!("no loaded database")?;
        return Ok(Exit::Success);
    }
    let images = image::list(&engine).await?;
    let image = images
        .first()
        .context("the cache can only be looked into with a server image: `stall-lab image build`")?;
    // An id of its own, so that `clean` finds what is left when this is killed.
    let run_id = format!("cache-{:08x}", rand::random::<u32>());
    let _lease = Lease::take(&run_id)?;
    let helper = DiskHelper::new(engine.clone(), &image.image.reference, &run_id);
    let cache = Cache::new(&engine, &helper, &run_id);
    let databases = cache.list().await?;
    match args.action.unwrap_or(CacheAction::List) {
        CacheAction::List => list(&databases)?,
        CacheAction::Remove { databases: names, all } => {
            ensure!(
                !all || !cache.is_loading().await?,
                "a database is being loaded, or a load was killed: wait for it, or `stall-lab clean` first"
            );
            for database in chosen(&databases, &names, all)? {
                helper.remove_from_cache(&database.file).await?;
                say!("removed {}", database.name())?;
            }
            if all {
                engine.remove_volume(CACHE_VOLUME).await?;
                say!("removed volume {CACHE_VOLUME}")?;
            }
        }
    }
    Ok(Exit::Success)
}

fn list(databases: &[CachedDatabase]) -> std::io::Result<()> {
    if databases.is_empty() {
        say!("no loaded database")?;
    }
    for database in databases {
        let size = human::bytes(database.bytes_on_disk as f64);
        say!("{:<48} {size:>9}  loaded {}", database.name(), database.loaded.strftime("%Y-%m-%d %H:%M UTC"))?;
    }
    Ok(())
}

fn chosen<'a>(
    databases: &'a [CachedDatabase],
    names: &[String],
    all: bool,
) -> Result<Vec<&'a CachedDatabase>, UsageError> {
    if all {
        return Ok(databases.iter().collect());
    }
    let find = |name: &String| {
        let found = databases.iter().find(|database| database.name() == name);
        found.ok_or_else(|| {
            UsageError(format!("there is no loaded database {name}; see `stall-lab cache list`"))
        })
    };
    names.iter().map(find).collect()
}
