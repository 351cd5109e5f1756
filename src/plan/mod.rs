//! What a `repro` would do, as a value that can be printed: `--dry-run` touches nothing.

mod sweep;

pub use sweep::SweepPlan;

use std::collections::BTreeMap;
use std::fmt;

use crate::disk::{Caps, Room};
use crate::human;
use crate::image::ImageRequest;
use crate::profile::{Machine, Profile};
use crate::repro::{Arm, Request, Teardown, server_names};

/// Reads that a prefetching standby makes for each heap page the update touches: measured 1.10 at scale 640, 1.12 at
/// scale 20; neighbouring blocks share reads, the index adds some.
const READS_PER_PAGE: f64 = 1.1;

/// Seconds for each unit of scale that loading, copying to a node, and updating take, as measured on two cores and an
/// ordinary disk; and the seconds that a start or an end takes whatever the scale. Only to tell minutes from hours.
const LOAD_S: f64 = 0.2;
const COPY_S: f64 = 0.1;
const UPDATE_S: f64 = 0.27;
const FIXED_S: f64 = 15.0;

/// Seconds that building a server image takes.
const IMAGE_S: f64 = 60.0;

/// What would be done for a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    profile_name: String,
    profile: Profile,
    caps: Caps,
    teardown: Teardown,
    results: String,
    room: Room,
    /// What the servers are called; one without a name where there is only one.
    servers: Vec<String>,
    databases: Databases,
    /// Bytes of the nodes of an arm, at most.
    nodes: u64,
    arms: Vec<PlannedArm>,
}

/// The loaded databases that a plan needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Databases {
    count: usize,
    bytes: u64,
}

impl Databases {
    /// Servers do not share a database, nor do profiles that fix another size or other checksums.
    fn of(arms: &[Arm]) -> Self {
        let key = |arm: &Arm| {
            let room = Room::of(&arm.profile);
            let checksums = arm.profile.postgres.data_checksums.to_string();
            ((arm.server.clone(), arm.profile.workload.scale, room.image, checksums), room.golden)
        };
        let databases: BTreeMap<_, u64> = arms.iter().map(key).collect();
        Self { count: databases.len(), bytes: databases.values().sum() }
    }
}

/// One arm of a plan.
#[derive(Debug, Clone, PartialEq)]
struct PlannedArm {
    name: String,
    /// Predicted hang, seconds; none where replay is not expected to wait for reads.
    hang_s: Option<f64>,
    /// Expected length from the copy to the page, seconds.
    seconds: f64,
}

impl Plan {
    /// The plan of a request, or none for a request without arms.
    #[must_use]
    pub fn of(request: &Request) -> Option<Self> {
        let profile = request.arms.first()?.profile.clone();
        let room = Room::of(&profile);
        let arms = request.arms.iter().map(|arm| planned(&arm.name, &arm.profile, request.caps)).collect();
        Some(Self {
            profile_name: request.profile_name.clone(),
            caps: request.caps,
            teardown: request.teardown,
            results: request.results.display().to_string(),
            room,
            servers: servers(&request.arms),
            databases: Databases::of(&request.arms),
            nodes: request.arms.iter().map(|arm| nodes_bytes(&arm.profile)).max()?,
            arms,
            profile,
        })
    }
}

/// The servers by name, if there are several.
fn servers(arms: &[Arm]) -> Vec<String> {
    let mut servers: Vec<ImageRequest> = arms.iter().map(|arm| arm.server.clone()).collect();
    servers.dedup();
    if servers.len() > 1 { server_names(&servers) } else { vec![] }
}

/// Bytes that the nodes of an arm take.
fn nodes_bytes(profile: &Profile) -> u64 {
    Room::of(profile).node * (1 + profile.standby.len() as u64)
}

fn planned(name: &str, profile: &Profile, caps: Caps) -> PlannedArm {
    let scale = f64::from(profile.workload.scale);
    let hang_s = predicted_hang_s(profile).filter(|_| caps == Caps::On);
    let nodes = 1.0 + profile.standby.len() as f64;
    let pauses = profile.update.batch_interval.as_secs_f64() * f64::from(profile.update.batches - 1);
    let seconds = FIXED_S
        + COPY_S * scale * nodes
        + profile.workload.baseline.as_secs_f64()
        + (UPDATE_S * scale).max(pauses)
        + profile.fault.after.as_secs_f64()
        + hang_s.unwrap_or(1.0)
        + profile.watch.tail.as_secs_f64();
    PlannedArm { name: name.to_owned(), hang_s, seconds }
}

/// Reads for pages that replay overwrites whole, over the cap; none when the faulted standby does not prefetch.
fn predicted_hang_s(profile: &Profile) -> Option<f64> {
    let settings = profile.effective_settings(&profile.fault.node);
    let is = |name: &str, value: &str| settings.get(name).is_some_and(|set| set == value);
    if !profile.workload.update_sql.is_empty()
        || is("recovery_prefetch", "off")
        || is("maintenance_io_concurrency", "0")
    {
        return None;
    }
    let machine = &profile.standby.iter().find(|standby| standby.name == profile.fault.node)?.machine;
    Some(profile.updated_pages() * READS_PER_PAGE / machine.read_iops.cap()? as f64)
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { profile, .. } = self;
        writeln!(f, "Profile {}: {}", self.profile_name, profile.description)?;
        writeln!(f, "\nNodes")?;
        let machine = |f: &mut fmt::Formatter<'_>, name: &str, machine: &Machine| {
            let caps = match self.caps {
                Caps::On => format!("{} read and {} write IOPS", machine.read_iops, machine.write_iops),
                Caps::Off => "UNCAPPED".to_owned(),
            };
            writeln!(f, "  {name:<12} {} CPUs, {} memory, {caps}", machine.cpus, machine.memory)
        };
        machine(f, crate::profile::PRIMARY, &profile.primary)?;
        for standby in &profile.standby {
            machine(f, &standby.name, &standby.machine)?;
        }
        writeln!(f, "  synchronous_standby_names = '{}'", profile.synchronous_standby_names())?;
        writeln!(f, "\nSteps")?;
        let load_s = FIXED_S + LOAD_S * f64::from(profile.workload.scale);
        for (step, what) in (1..).zip(self.steps(load_s)) {
            writeln!(f, "  {step}. {what}")?;
        }
        writeln!(f, "\nDisk on the engine's host, at most")?;
        let bytes = |bytes: u64| human::bytes(bytes as f64);
        let Databases { count, bytes: golden } = self.databases;
        let databases =
            if count > 1 { format!("{count} loaded databases") } else { "loaded database".to_owned() };
        writeln!(f, "  {:>9}  {databases}, kept in the cache", bytes(golden))?;
        let nodes = 1 + profile.standby.len() as u64;
        writeln!(
            f,
            "  {:>9}  {nodes} nodes of {} each, while an arm runs",
            bytes(self.nodes),
            bytes(self.nodes / nodes)
        )?;
        writeln!(f, "\nExpected duration")?;
        for arm in &self.arms {
            let hang = match arm.hang_s {
                Some(hang_s) => format!("a hang of about {}", human::seconds(hang_s)),
                None => "no hang".to_owned(),
            };
            writeln!(f, "  {:<12} about {}, with {hang}", arm.name, human::seconds(arm.seconds))?;
        }
        let total: f64 = self.arms.iter().map(|arm| arm.seconds).sum();
        let (images, databases) = (self.servers.len().max(1), self.databases.count);
        let first_s = IMAGE_S * images as f64 + load_s * databases as f64;
        let (image, database) =
            if images > 1 || databases > 1 { ("images", "databases") } else { ("an image", "the database") };
        write!(
            f,
            "  in all about {}; the first run also builds {image} and loads {database}, about {}",
            human::seconds(total),
            human::seconds(first_s)
        )
    }
}

impl Plan {
    fn steps(&self, load_s: f64) -> Vec<String> {
        let Self { profile, .. } = self;
        let names: Vec<&str> = self.arms.iter().map(|arm| arm.name.as_str()).collect();
        let kept = match self.teardown {
            Teardown::Remove => "Remove containers, disks and network",
            Teardown::Keep => "Keep the nodes up, and say how to connect",
        };
        let proof = match self.caps {
            Caps::On => ", prove the caps",
            Caps::Off => "",
        };
        let seconds = |time: std::time::Duration| human::seconds(time.as_secs_f64());
        vec![
            if self.servers.is_empty() {
                "Find or build a server image".to_owned()
            } else {
                format!("Find or build server images: {}", self.servers.join(", "))
            },
            format!(
                "Load pgbench at scale {} into a golden image, unless it is cached (about {})",
                profile.workload.scale,
                human::seconds(load_s)
            ),
            format!("For each arm ({}):", names.join(", ")),
            format!(
                "  Copy the image to {} disks, start and join the nodes{proof}",
                1 + profile.standby.len()
            ),
            format!(
                "  CHECKPOINT; pgbench at {} TPS for {}",
                profile.workload.rate_tps,
                seconds(profile.workload.baseline)
            ),
            if profile.workload.update_sql.is_empty() {
                format!(
                    "  Update {} of pgbench_accounts (about {} of WAL); wait until it is flushed",
                    human::percent(profile.update.fraction),
                    human::bytes(self.room.update_wal as f64)
                )
            } else {
                "  Run workload.update_sql; wait until its WAL is flushed".to_owned()
            },
            format!(
                "  {} later: {} on {}",
                seconds(profile.fault.after),
                profile.fault.kind,
                profile.fault.node
            ),
            format!(
                "  Watch until it streams and commits flow, {} at most; {} more",
                seconds(profile.watch.deadline),
                seconds(profile.watch.tail)
            ),
            format!("  {kept}; judge and draw, in {}/{}/", self.results, self.profile_name),
        ]
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::profile::Prefetch;

    fn plan(profile: &str, caps: Caps) -> Plan {
        let loaded = Profile::load(profile, &[]).unwrap();
        Plan::of(&Request {
            profile_name: profile.to_owned(),
            arms: Arm::of_prefetch(&loaded, &[Prefetch::Try, Prefetch::Off]),
            results: "results".into(),
            caps,
            teardown: Teardown::Remove,
            command_line: vec![],
        })
        .unwrap()
    }

    #[test]
    fn the_plan_of_the_outage_reads_as_a_whole() {
        insta::assert_snapshot!(plan("outage", Caps::On));
    }

    #[test]
    fn the_predicted_hang_is_what_was_measured_at_both_sizes() {
        let hang_s = |profile: &str, set: &[&str]| {
            let sets: Vec<_> = set.iter().map(|set| set.parse().unwrap()).collect();
            predicted_hang_s(&Profile::load(profile, &sets).unwrap())
        };
        // By hand: 2,311 s at scale 640 and 500 IOPS, 184 s at scale 20 and 200 IOPS.
        assert!((hang_s("outage", &[]).unwrap() / 2_311.0 - 1.0).abs() < 0.05);
        let small = ["workload.scale=20", "standby.read_iops=200"];
        assert!((hang_s("quick", &small).unwrap() / 184.0 - 1.0).abs() < 0.05);
        assert_eq!(hang_s("quick", &["postgres.standby.recovery_prefetch=off"]), None);
        assert_eq!(hang_s("quick", &["postgres.standby.maintenance_io_concurrency=0"]), None);
    }

    #[test]
    fn a_plan_of_several_servers_counts_a_database_and_an_image_for_each() {
        let profile = Profile::load("smoke", &[]).unwrap();
        let servers = [ImageRequest::Version(15), ImageRequest::Prefix("/opt/patched".into())];
        let arms = Arm::on_servers(Arm::of_prefetch(&profile, &[Prefetch::Try, Prefetch::Off]), &servers);
        let plan = Plan::of(&Request {
            profile_name: "smoke".to_owned(),
            arms,
            results: "results".into(),
            caps: Caps::On,
            teardown: Teardown::Remove,
            command_line: vec![],
        });
        let text = plan.unwrap().to_string();
        for line in [
            "Find or build server images: pg15, patched\n",
            "2 loaded databases, kept in the cache\n",
            "the first run also builds images and loads databases",
            "For each arm (pg15-try, pg15-off, patched-try, patched-off)",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }

    #[test]
    fn an_uncapped_plan_says_so() {
        let plan = plan("smoke", Caps::Off).to_string();
        assert_eq!((plan.matches("UNCAPPED").count(), plan.matches("with a hang of").count()), (2, 0));
    }
}
