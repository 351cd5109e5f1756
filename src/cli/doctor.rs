//! `stall-lab doctor`

use super::Exit;
use crate::docker::{Engine, Privilege};
use crate::human;
use crate::image;

pub(super) async fn run() -> anyhow::Result<Exit> {
    let engine = Engine::connect().await?;
    let facts = engine.facts().await?;
    let known = |fact: &Option<String>| fact.clone().unwrap_or_else(|| "not known".to_owned());
    println!("engine     {} {} at {}", facts.platform, known(&facts.engine_version), facts.endpoint);
    println!("API        {}", facts.api_version);
    println!("host       {}, kernel {}, {}", known(&facts.os), known(&facts.kernel), known(&facts.arch));
    println!("cgroups    version {}, driver {}", known(&facts.cgroup_version), known(&facts.cgroup_driver));
    println!("storage    {}", known(&facts.storage_driver));
    let memory =
        facts.memory_bytes.map_or_else(|| "not known".to_owned(), |bytes| human::bytes(bytes as f64));
    println!(
        "machine    {} CPUs, {memory} memory",
        facts.cpus.map_or_else(|| "?".to_owned(), |cpus| cpus.to_string())
    );
    for image in image::list(&engine).await? {
        println!("image      {}, PostgreSQL {}", image.image.reference, image.image.version);
    }
    for warning in &facts.warnings {
        println!("warning    {warning}");
    }
    if facts.privilege == Privilege::Rootless {
        println!(
            "problem    the engine runs without root: it cannot set up loop devices nor keep I/O limits"
        );
        return Ok(Exit::Failure);
    }
    println!("a run proves the IOPS caps on its own disks before it starts; nothing here stands against one");
    Ok(Exit::Success)
}
