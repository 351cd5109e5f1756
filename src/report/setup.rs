//! What ran, on what.

use std::collections::BTreeSet;

use crate::human;
use crate::profile::{Machine, Profile, SyncMethod, Update};
use crate::store::{NodeInfo, OwnBuild, Platform, Role, RunInfo, Server, Subject};

use super::markdown::Table;
use super::observed;
use super::{or_none, or_not_known, plural};

/// Software and machine, a line each.
pub(super) fn lines(run: &RunInfo) -> String {
    let server = &run.server;
    let mut lines = vec![software(server)];
    lines.extend(server.build.as_ref().map(own_build));
    match &run.subject {
        Subject::Profile(profile) => {
            lines.push(format!(
                "profile `{}`: pgbench scale {}, {} TPS by {} clients; {} in {}; data checksums {}",
                run.profile_name,
                profile.workload.scale,
                profile.workload.rate_tps,
                profile.workload.clients,
                update(profile),
                batches(&profile.update),
                profile.postgres.data_checksums,
            ));
            lines.push(format!("synchronous replication: {}", synchronous(profile)));
        }
        Subject::Observed(watched) => lines.extend(observed::setup(watched)),
    }
    lines.extend(run.platform.iter().flat_map(platform));
    lines.push(format!(
        "stall-lab {}{}, run `{}`, started {}",
        run.lab_version,
        run.git_revision.as_deref().map(|revision| format!(" ({revision})")).unwrap_or_default(),
        run.run_id,
        run.started
    ));
    if !server.unknown_settings.is_empty() {
        let names: Vec<String> = server.unknown_settings.iter().map(|name| format!("`{name}`")).collect();
        let what = "settings of the profile that this server does not know and that were left out";
        lines.push(format!("{what}: {}", names.join(", ")));
    }
    lines.extend(server.note.clone());
    lines.iter().map(|line| format!("- {line}\n")).collect()
}

pub(super) fn software(server: &Server) -> String {
    let Server { version, source, .. } = server;
    match (&server.image, &server.image_id) {
        (Some(image), Some(id)) => format!("PostgreSQL {version}, image `{image}` ({source}; `{id}`)"),
        _ => format!("PostgreSQL {version}, {source}"),
    }
}

/// Where a build of the user's own is from, what it says it is, and how it was configured.
fn own_build(build: &OwnBuild) -> String {
    let said = or_not_known(build.version.as_ref(), String::clone);
    let configured = build.configure.as_ref().map(|options| format!(", `{options}`")).unwrap_or_default();
    format!("built by its user, from `{}`: {said}{configured}", build.prefix)
}

/// Engine and machine.
pub(super) fn platform(platform: &Platform) -> [String; 2] {
    [
        format!(
            "{}, API {}, storage driver {}, cgroup v{} ({})",
            platform.engine,
            platform.api_version,
            platform.storage_driver,
            platform.cgroup_version,
            platform.cgroup_driver
        ),
        format!(
            "kernel {}, {}, {}, CPUs: {}, memory: {}",
            platform.kernel,
            platform.os,
            platform.arch,
            or_not_known(platform.cpus, |cpus| cpus.to_string()),
            or_not_known(platform.memory_bytes, |bytes| human::bytes(bytes as f64))
        ),
    ]
}

/// What the update runs.
fn update(profile: &Profile) -> String {
    if profile.workload.update_sql.is_empty() {
        format!("update of {} of `pgbench_accounts`", human::percent(profile.update.fraction))
    } else {
        "the profile's own SQL for the update".to_owned()
    }
}

/// "1 transaction", or "20 transactions, one every 5 s at most".
fn batches(update: &Update) -> String {
    let batches = plural(update.batches as usize, "transaction");
    if update.batches > 1 && !update.batch_interval.is_zero() {
        let interval = human::seconds(update.batch_interval.as_secs_f64());
        format!("{batches}, one every {interval} at most")
    } else {
        batches
    }
}

fn synchronous(profile: &Profile) -> String {
    let rule = &profile.synchronous;
    if rule.count == 0 {
        return "none, no commit waits for a standby".to_owned();
    }
    let method = match rule.method {
        SyncMethod::First => "FIRST",
        SyncMethod::Any => "ANY",
    };
    let names: Vec<&str> = if rule.standbys.is_empty() {
        profile.standby.iter().map(|standby| standby.name.as_str()).collect()
    } else {
        rule.standbys.iter().map(String::as_str).collect()
    };
    format!("`{method} {} ({})`", rule.count, names.join(", "))
}

/// The nodes side by side: their limits.
pub(super) fn limits(run: &RunInfo) -> String {
    let nodes = &run.nodes;
    let mut table = Table::new(header("limit", nodes));
    let mut row = |name: &str, value: &dyn Fn(&NodeInfo) -> String| {
        table.row(std::iter::once(name.to_owned()).chain(nodes.iter().map(value)));
    };
    row("CPUs", &|node| or_not_known(machine(run, node), |machine| machine.cpus.to_string()));
    row("memory", &|node| or_not_known(machine(run, node), |machine| machine.memory.to_string()));
    row("reads, cap", &|node| or_none(node.read_iops_cap));
    row("reads, measured before the run", &|node| match node.cap_proof {
        Some(proof) => human::rate(proof.read_iops),
        None => "not measured".to_owned(),
    });
    row("writes, cap", &|node| or_none(node.write_iops_cap));
    row("read-ahead", &|node| or_not_known(node.read_ahead_kb, |kb| format!("{kb} kB")));
    table.render()
}

fn machine<'a>(run: &'a RunInfo, node: &NodeInfo) -> Option<&'a Machine> {
    let profile = run.profile()?;
    match node.role {
        Role::Primary => Some(&profile.primary),
        Role::Standby => {
            profile.standby.iter().find(|standby| standby.name == node.name).map(|standby| &standby.machine)
        }
    }
}

/// The settings of each node's configuration, and those defaults that depend on the version; nothing when there is
/// neither.
pub(super) fn settings(run: &RunInfo) -> Option<String> {
    let of_node =
        |node: &'_ NodeInfo| node.settings.keys().chain(node.defaults.keys()).cloned().collect::<Vec<_>>();
    let names: BTreeSet<String> = run.nodes.iter().flat_map(of_node).collect();
    let mut table = Table::new(header("setting", &run.nodes));
    for name in names {
        let value = |node: &NodeInfo| match (node.settings.get(&name), node.defaults.get(&name)) {
            (Some(value), _) => format!("`{value}`"),
            (None, Some(value)) => format!("default: `{value}`"),
            (None, None) => "default".to_owned(),
        };
        table.row(std::iter::once(format!("`{name}`")).chain(run.nodes.iter().map(value)));
    }
    (!table.is_empty()).then(|| table.render())
}

fn header(first: &str, nodes: &[NodeInfo]) -> Vec<String> {
    std::iter::once(first.to_owned()).chain(nodes.iter().map(|node| node.name.clone())).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::verdict::testing::Story;

    #[test]
    fn a_paced_update_says_its_pace() {
        let mut run = Story::stalled().run;
        run.profile_mut().update.batches = 20;
        assert_eq!(batches(&run.profile_mut().update), "20 transactions");
        run.profile_mut().update.batch_interval = Duration::from_secs(5);
        assert_eq!(batches(&run.profile_mut().update), "20 transactions, one every 5.0 s at most");
    }

    #[test]
    fn the_synchronous_rule_is_written_as_the_server_has_it() {
        let mut run = Story::stalled().run;
        assert_eq!(synchronous(run.profile_mut()), "`FIRST 1 (standby)`");
        run.profile_mut().synchronous.method = SyncMethod::Any;
        run.profile_mut().synchronous.standbys = ["b", "a"].map(str::to_owned).to_vec();
        assert_eq!(synchronous(run.profile_mut()), "`ANY 1 (b, a)`");
        run.profile_mut().synchronous.count = 0;
        assert_eq!(synchronous(run.profile_mut()), "none, no commit waits for a standby");
    }
}
