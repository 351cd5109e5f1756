//! `stall-lab doctor`

use super::Exit;
use crate::docker::{Engine, EngineFacts, Privilege};
use crate::human;
use crate::image;

pub(super) async fn run() -> anyhow::Result<Exit> {
    let engine = Engine::connect().await?;
    let facts = engine.facts().await?;
    let known = |fact: &Option<String>| fact.clone().unwrap_or_else(|| "not known".to_owned());
    say!("engine     {} {} at {}", facts.platform, known(&facts.engine_version), facts.endpoint)?;
    say!("API        {}", facts.api_version)?;
    say!("host       {}, kernel {}, {}", known(&facts.os), known(&facts.kernel), known(&facts.arch))?;
    say!("cgroups    version {}, driver {}", known(&facts.cgroup_version), known(&facts.cgroup_driver))?;
    say!("storage    {}", known(&facts.storage_driver))?;
    let memory =
        facts.memory_bytes.map_or_else(|| "not known".to_owned(), |bytes| human::bytes(bytes as f64));
    say!(
        "machine    {} CPUs, {memory} memory",
        facts.cpus.map_or_else(|| "?".to_owned(), |cpus| cpus.to_string())
    )?;
    for image in image::list(&engine).await? {
        say!("image      {}, PostgreSQL {}", image.image.reference, image.image.version)?;
    }
    for warning in &facts.warnings {
        say!("warning    {warning}")?;
    }
    let problems = problems(&facts);
    for problem in &problems {
        say!("problem    {problem}")?;
    }
    if !problems.is_empty() {
        return Ok(Exit::Failure);
    }
    say!("a run proves the IOPS caps on its own disks before it starts; nothing here stands against one")?;
    Ok(Exit::Success)
}

/// What stands against a run.
fn problems(facts: &EngineFacts) -> Vec<String> {
    let mut problems = Vec::new();
    if facts.privilege == Privilege::Rootless {
        problems.push(
            "the engine runs without root: it cannot set up loop devices nor keep I/O limits".to_owned(),
        );
    }
    if !facts.endpoint.starts_with("unix:") {
        problems
            .push("the engine may be on another machine: the lab reaches its nodes on 127.0.0.1".to_owned());
    }
    // As `docker info` has it: "WARNING: No blkio throttle.read_iops_device support".
    let limits = ["blkio", "io controller", "cpu cfs", "memory limit"];
    let missing = facts.warnings.iter().filter(|warning| {
        let warning = warning.to_lowercase();
        limits.iter().any(|limit| warning.contains(limit))
    });
    problems.extend(
        missing.map(|warning| format!("the engine's kernel cannot keep a limit the lab needs: {warning}")),
    );
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> EngineFacts {
        EngineFacts {
            endpoint: "unix:///var/run/docker.sock".to_owned(),
            platform: "Docker Engine".to_owned(),
            engine_version: None,
            api_version: "1.41".to_owned(),
            os: None,
            kernel: None,
            arch: None,
            cgroup_version: None,
            cgroup_driver: None,
            storage_driver: None,
            cpus: None,
            memory_bytes: None,
            privilege: Privilege::Rootful,
            warnings: vec!["WARNING: No swap limit support".to_owned()],
        }
    }

    #[test]
    fn what_the_lab_needs_and_does_not_find_is_a_problem_and_nothing_else_is() {
        assert_eq!(problems(&facts()), [""; 0]);
        let warnings = vec!["WARNING: No blkio throttle.read_iops_device support".to_owned()];
        let endpoint = "tcp://10.0.0.7:2375".to_owned();
        let none = EngineFacts { privilege: Privilege::Rootless, endpoint, warnings, ..facts() };
        assert_eq!(problems(&none).len(), 3);
    }
}
