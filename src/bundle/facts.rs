//! Facts without a sentence around them: settings, versions, platform.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::{BundleError, files};
use crate::profile::Machine;
use crate::store::{NodeInfo, Role, RunInfo};

/// Writes `settings-<node>.csv`, `versions.txt` and `platform.txt`. `built` is what a server said of its build.
pub(super) fn write(folder: &Path, run: &RunInfo, built: Option<&str>) -> Result<(), BundleError> {
    for node in &run.nodes {
        let path = folder.join(settings_file(node));
        write_settings(&path, node).map_err(BundleError::csv(&path))?;
    }
    files::write(&folder.join("versions.txt"), &versions(run, built))?;
    files::write(&folder.join("platform.txt"), &platform(run))
}

/// Name of the file with a node's settings.
pub(super) fn settings_file(node: &NodeInfo) -> String {
    format!("settings-{}.csv", node.name)
}

/// What the server reports to differ from its built-in defaults.
fn write_settings(path: &Path, node: &NodeInfo) -> Result<(), csv::Error> {
    let mut csv = csv::Writer::from_path(path)?;
    csv.write_record(["name", "setting"])?;
    for (name, value) in &node.settings {
        csv.write_record([name, value])?;
    }
    Ok(csv.flush()?)
}

/// What a server's log says of its build: version, platform, compiler; none where there is no such log.
pub(super) fn built<'a>(mut logs: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    logs.find_map(|log| {
        log.lines().find_map(|line| line.split_once("LOG:  starting ")).map(|(_, build)| build)
    })
}

fn versions(run: &RunInfo, built: Option<&str>) -> String {
    let mut text = String::from("PostgreSQL\n");
    text += &fields(&run.server);
    text += &lines(&[("built", built.unwrap_or("not known: the run's folder has no server log").to_owned())]);
    text += "\nstall-lab\n";
    text += &lines(&[
        ("version", run.lab_version.clone()),
        ("revision", run.git_revision.clone().unwrap_or_else(not_known)),
        ("run", run.run_id.clone()),
    ]);
    text + "\nKernel, engine and operating system: platform.txt\n"
}

fn platform(run: &RunInfo) -> String {
    let Some(platform) = &run.platform else {
        return "Not known: the lab did not build these servers.\n".to_owned();
    };
    let mut text = String::from("Machine and engine, as the engine reports them\n");
    text += &fields(platform);
    for node in &run.nodes {
        let _ = write!(text, "\n{}: limits{}\n", node.name, kept(run));
        text += &limits(run, node);
    }
    text
}

/// A run starts only when the engine reports the limits that were asked for.
fn kept(run: &RunInfo) -> &'static str {
    if run.is_uncapped() {
        " of its container; UNCAPPED"
    } else {
        " of its container, as the engine reported them"
    }
}

fn limits(run: &RunInfo, node: &NodeInfo) -> String {
    let number = |value: Option<String>| value.unwrap_or_else(not_known);
    let cap = |cap: Option<u64>| cap.map_or_else(|| "none".to_owned(), |cap| format!("{cap}/s"));
    let machine = machine(run, node);
    let proof = node.cap_proof.map(|proof| {
        format!(
            "{:.1}/s ({} reads of 8 kB in {:.2} s, before the experiment)",
            proof.read_iops, proof.reads, proof.seconds
        )
    });
    lines(&[
        ("cpus", number(machine.map(|machine| machine.cpus.to_string()))),
        ("memory", number(machine.map(|machine| machine.memory.to_string()))),
        ("shm", number(machine.map(|machine| machine.shm.to_string()))),
        ("read_iops_cap", cap(node.read_iops_cap)),
        ("read_iops_measured", proof.unwrap_or_else(|| "not measured".to_owned())),
        ("write_iops_cap", cap(node.write_iops_cap)),
        ("read_ahead", number(node.read_ahead_kb.map(|kb| format!("{kb} kB")))),
        (
            "storage",
            "ext4 on an image file under two stacked loop devices; the caps are on the lower one".to_owned(),
        ),
    ])
}

fn machine<'a>(run: &'a RunInfo, node: &NodeInfo) -> Option<&'a Machine> {
    let profile = run.profile()?;
    match node.role {
        Role::Primary => Some(&profile.primary),
        Role::Standby => {
            let standby = profile.standby.iter().find(|standby| standby.name == node.name);
            standby.map(|standby| &standby.machine)
        }
    }
}

/// Every field of a part of `run.json`, whatever fields there are.
fn fields(part: &impl Serialize) -> String {
    // Plain data with string keys: it has a JSON value. Were it not so, nothing would be told.
    let Ok(Value::Object(fields)) = serde_json::to_value(part) else { return String::new() };
    let told = |(name, value): (String, Value)| {
        let value = match value {
            Value::Null => String::new(),
            Value::String(text) => text,
            other => other.to_string(),
        };
        format!("  {name}: {}", value.replace(['\n', '\r'], " ")).trim_end().to_owned() + "\n"
    };
    fields.into_iter().map(told).collect()
}

fn lines(lines: &[(&str, String)]) -> String {
    lines.iter().map(|(name, value)| format!("  {name}: {value}\n")).collect()
}

fn not_known() -> String {
    "not known".to_owned()
}
