//! One node: its container, its disk, its limits.

use crate::disk::{AttachedDisk, Caps, PGDATA, data_mount};
use crate::docker::labels::{self, Kind};
use crate::docker::{CgroupNamespace, ContainerSpec, DeviceRate, Limits, NetworkMode};
use crate::image::ServerImage;
use crate::postgres::Access;
use crate::profile::{Iops, Machine};
use crate::store::{CapProof, Role};

use super::config::{PORT, config_file};

/// First process of a node.
const SCRIPT: &str = include_str!("../../docker/node.sh");

/// A node that runs.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its name in the profile.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// Name of its container.
    pub container: String,
    /// Its disk.
    pub disk: AttachedDisk,
    /// How to reach its server.
    pub access: Access,
    /// Cap on its reads a second, if it has one.
    pub read_iops_cap: Option<u64>,
    /// Cap on its writes a second, if it has one.
    pub write_iops_cap: Option<u64>,
    /// What the probe measured.
    pub cap_proof: Option<CapProof>,
}

/// The limits of a node's container.
pub(super) fn limits(machine: &Machine, disk: &AttachedDisk, caps: Caps) -> Limits {
    let rate = |iops: Iops| match (caps, iops) {
        // On the lower device: see the disk module.
        (Caps::On, Iops::Capped(iops)) => vec![DeviceRate { device: disk.lower.clone(), iops }],
        (Caps::On, Iops::Unlimited) | (Caps::Off, _) => vec![],
    };
    Limits {
        cpus: Some(machine.cpus),
        memory_bytes: Some(machine.memory.0),
        shm_bytes: Some(machine.shm.0),
        read_iops: rate(machine.read_iops),
        write_iops: rate(machine.write_iops),
    }
}

/// What a node's container is made from.
#[derive(Debug)]
pub(super) struct Blueprint<'a> {
    pub run_id: &'a str,
    pub name: &'a str,
    pub role: Role,
    pub image: &'a ServerImage,
    pub limits: Limits,
}

impl Blueprint<'_> {
    /// Name of the node's container.
    pub(super) fn container(&self) -> String {
        object_name(self.run_id, self.name)
    }

    /// The container: unprivileged, as the image's postgres user, with no capability at all.
    pub(super) fn spec(&self) -> ContainerSpec {
        let role = match self.role {
            Role::Primary => "primary",
            Role::Standby => "standby",
        };
        let postgres = format!("{}/postgres", self.image.bindir);
        let args = ["-c", SCRIPT, "node.sh", role, &postgres, PGDATA, &config_file()].map(str::to_owned);
        ContainerSpec {
            name: self.container(),
            image: self.image.reference.clone(),
            user: Some(format!("{}:{}", self.image.uid, self.image.gid)),
            entrypoint: Some(vec!["sh".to_owned()]),
            cmd: args.into(),
            labels: labels::of(self.run_id, Kind::Node),
            mounts: vec![data_mount(&disk_volume(self.run_id, self.name))],
            network: NetworkMode::Named {
                network: lab_network(self.run_id),
                // No dot: what follows one is a domain that is searched for short names.
                alias: format!("{}-lab", self.name),
            },
            published_ports: vec![PORT],
            limits: self.limits.clone(),
            cap_drop: vec!["ALL".to_owned()],
            // Or the probe would read the CPU time of the whole machine.
            cgroup_namespace: CgroupNamespace::Private,
            ..ContainerSpec::default()
        }
    }
}

/// Name of an object of a run.
fn object_name(run_id: &str, what: &str) -> String {
    format!("stall-lab-{run_id}-{what}")
}

/// The node whose container has this name.
pub(super) fn node_of<'a>(run_id: &str, container: &'a str) -> Option<&'a str> {
    container.strip_prefix(&object_name(run_id, ""))
}

/// Name of the network over which the lab reaches the nodes. It stays whole whatever breaks between them.
pub(super) fn lab_network(run_id: &str) -> String {
    object_name(run_id, "network-lab")
}

/// Name of the network over which the nodes reach each other.
pub(super) fn replication_network(run_id: &str) -> String {
    object_name(run_id, "network-replication")
}

/// Name of the volume that mounts a node's disk.
pub(super) fn disk_volume(run_id: &str, node: &str) -> String {
    object_name(run_id, &format!("disk-{node}"))
}

/// Name of the volume that holds the run's image files.
pub(super) fn images_volume(run_id: &str) -> String {
    object_name(run_id, "images")
}

/// Name of a node's image file. Unique, since losetup shows a file without its mount.
pub(super) fn image_file(run_id: &str, node: &str) -> String {
    object_name(run_id, &format!("{node}.img"))
}
