//! The description of a container, as a value.

use std::collections::{BTreeMap, HashMap};

use bollard::models::{
    ContainerCreateBody, EndpointSettings, HostConfig, HostConfigCgroupnsModeEnum, HostConfigLogConfig,
    Mount as BollardMount, MountType, NetworkingConfig, PortBinding, ThrottleDevice,
};

use super::labels::Labels;

/// A container that is to be created. Everything not said is off: no network, no added capabilities, no limits.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContainerSpec {
    /// Name, unique on the engine.
    pub name: String,
    /// Image, by tag or id.
    pub image: String,
    /// `user` or `uid:gid`; `None` is the image's.
    pub user: Option<String>,
    /// Program and first arguments; `None` is the image's.
    pub entrypoint: Option<Vec<String>>,
    /// Arguments after the entrypoint; empty is the image's (unless an entrypoint is given).
    pub cmd: Vec<String>,
    /// Environment.
    pub env: BTreeMap<String, String>,
    /// Labels; see [`super::labels::of`].
    pub labels: Labels,
    /// What is mounted, and where.
    pub mounts: Vec<Mount>,
    /// The network.
    pub network: NetworkMode,
    /// TCP ports of the container that get a random port on 127.0.0.1 of the engine's host.
    pub published_ports: Vec<u16>,
    /// Limits on CPU, memory and I/O.
    pub limits: Limits,
    /// Capabilities beyond the engine's default set, like `SYS_ADMIN`.
    pub cap_add: Vec<String>,
    /// Capabilities taken away; `ALL` takes every one.
    pub cap_drop: Vec<String>,
    /// The filter of system calls.
    pub seccomp: Seccomp,
    /// Rules of the device cgroup, like `b 7:* rwm`.
    pub device_cgroup_rules: Vec<String>,
    /// Whether a process may gain rights by executing a set-user-id program.
    pub new_privileges: NewPrivileges,
    /// What it sees of the control groups.
    pub cgroup_namespace: CgroupNamespace,
}

/// One mount of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mount {
    /// A named volume.
    Volume {
        /// Name of the volume.
        name: String,
        /// Absolute path in the container.
        target: String,
        /// Whether it may be written.
        access: Access,
    },
    /// A directory of the engine's host.
    Bind {
        /// Absolute path on the engine's host.
        host: String,
        /// Absolute path in the container.
        target: String,
        /// Whether it may be written.
        access: Access,
    },
}

/// Whether a mount may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// Read and written.
    #[default]
    ReadWrite,
    /// Read alone.
    ReadOnly,
}

/// What a container sees of the network.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum NetworkMode {
    /// Its own loopback alone.
    #[default]
    None,
    /// A named network.
    Named {
        /// Name of the network.
        network: String,
        /// The container's host name, by which others on the network find it too.
        alias: String,
    },
}

/// The filter of system calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Seccomp {
    /// The engine's default profile.
    #[default]
    Default,
    /// No filter.
    Unconfined,
}

/// Whether a process may gain rights by executing a set-user-id program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NewPrivileges {
    /// It may not.
    #[default]
    Forbidden,
    /// It may.
    Allowed,
}

/// What a container sees of the control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CgroupNamespace {
    /// What the engine gives it, which an engine can be told to make the host's.
    #[default]
    Engine,
    /// Its own alone: what is counted there is this container's.
    Private,
}

/// Operations a second allowed on one block device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceRate {
    /// Path of the device on the engine's host.
    pub device: String,
    /// Operations a second.
    pub iops: u64,
}

/// Limits on a container's resources. What is not limited is `None` or empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Limits {
    /// CPUs, 1.5 being one and a half.
    pub cpus: Option<f64>,
    /// Memory in bytes. Swap is set equal, so there is none.
    pub memory_bytes: Option<u64>,
    /// Size of `/dev/shm` in bytes; the engine's default is 64 MiB.
    pub shm_bytes: Option<u64>,
    /// Caps on reads, a device each.
    pub read_iops: Vec<DeviceRate>,
    /// Caps on writes, a device each.
    pub write_iops: Vec<DeviceRate>,
}

impl Limits {
    /// Whether anything is limited that the kernel has to keep; the size of `/dev/shm` it always keeps.
    pub(super) fn need_cgroups(&self) -> bool {
        self.cpus.is_some()
            || self.memory_bytes.is_some()
            || !self.read_iops.is_empty()
            || !self.write_iops.is_empty()
    }
}

impl ContainerSpec {
    /// The request body that creates this container.
    pub(super) fn to_request(&self) -> ContainerCreateBody {
        let labels: HashMap<String, String> = self.labels.clone().into_iter().collect();
        let (hostname, networking_config) = match &self.network {
            NetworkMode::None => (None, None),
            NetworkMode::Named { network, alias } => {
                let endpoint = EndpointSettings { aliases: Some(vec![alias.clone()]), ..Default::default() };
                let endpoints_config = Some(HashMap::from([(network.clone(), endpoint)]));
                (Some(alias.clone()), Some(NetworkingConfig { endpoints_config }))
            }
        };
        ContainerCreateBody {
            image: Some(self.image.clone()),
            hostname,
            user: self.user.clone(),
            entrypoint: self.entrypoint.clone(),
            cmd: (!self.cmd.is_empty()).then(|| self.cmd.clone()),
            env: Some(self.env.iter().map(|(key, value)| format!("{key}={value}")).collect()),
            labels: Some(labels),
            exposed_ports: Some(self.published_ports.iter().map(|port| port_key(*port)).collect()),
            host_config: Some(self.host_config()),
            networking_config,
            ..Default::default()
        }
    }

    fn host_config(&self) -> HostConfig {
        let limits = &self.limits;
        let loopback = PortBinding { host_ip: Some("127.0.0.1".to_owned()), host_port: Some(String::new()) };
        let ports = self.published_ports.iter().map(|port| (port_key(*port), Some(vec![loopback.clone()])));
        HostConfig {
            // What helpers answer and what servers log is read through the engine, whatever its default driver is.
            log_config: Some(HostConfigLogConfig { typ: Some("json-file".to_owned()), config: None }),
            network_mode: Some(match &self.network {
                NetworkMode::None => "none".to_owned(),
                NetworkMode::Named { network, .. } => network.clone(),
            }),
            port_bindings: Some(ports.collect()),
            mounts: Some(self.mounts.iter().map(mount).collect()),
            nano_cpus: limits.cpus.map(nano_cpus),
            memory: limits.memory_bytes.map(signed),
            memory_swap: limits.memory_bytes.map(signed),
            shm_size: limits.shm_bytes.map(signed),
            blkio_device_read_iops: throttles(&limits.read_iops),
            blkio_device_write_iops: throttles(&limits.write_iops),
            cap_add: listed(&self.cap_add),
            cap_drop: listed(&self.cap_drop),
            device_cgroup_rules: listed(&self.device_cgroup_rules),
            security_opt: listed(&self.security_options()),
            cgroupns_mode: match self.cgroup_namespace {
                CgroupNamespace::Engine => None,
                CgroupNamespace::Private => Some(HostConfigCgroupnsModeEnum::PRIVATE),
            },
            ..Default::default()
        }
    }

    fn security_options(&self) -> Vec<String> {
        let mut options = Vec::new();
        if self.new_privileges == NewPrivileges::Forbidden {
            options.push("no-new-privileges".to_owned());
        }
        if self.seccomp == Seccomp::Unconfined {
            options.push("seccomp=unconfined".to_owned());
        }
        options
    }
}

/// The API's name of a TCP port.
pub(super) fn port_key(port: u16) -> String {
    format!("{port}/tcp")
}

fn listed(values: &[String]) -> Option<Vec<String>> {
    (!values.is_empty()).then(|| values.to_vec())
}

fn mount(mount: &Mount) -> BollardMount {
    let (typ, source, target, access) = match mount {
        Mount::Volume { name, target, access } => (MountType::VOLUME, name, target, access),
        Mount::Bind { host, target, access } => (MountType::BIND, host, target, access),
    };
    BollardMount {
        typ: Some(typ),
        source: Some(source.clone()),
        target: Some(target.clone()),
        read_only: Some(*access == Access::ReadOnly),
        ..Default::default()
    }
}

fn throttles(rates: &[DeviceRate]) -> Option<Vec<ThrottleDevice>> {
    let throttle =
        |rate: &DeviceRate| ThrottleDevice { path: Some(rate.device.clone()), rate: Some(signed(rate.iops)) };
    (!rates.is_empty()).then(|| rates.iter().map(throttle).collect())
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[allow(clippy::cast_possible_truncation, reason = "a cast from f64 saturates, and no host has so many CPUs")]
fn nano_cpus(cpus: f64) -> i64 {
    (cpus * 1e9).round() as i64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    #[test]
    fn an_empty_spec_asks_for_no_network_and_no_new_privileges() {
        let body = serde_json::to_value(ContainerSpec::default().to_request()).unwrap();
        assert_eq!(body["HostConfig"]["NetworkMode"], "none");
        assert_eq!(body["HostConfig"]["SecurityOpt"], serde_json::json!(["no-new-privileges"]));
        for absent in ["Memory", "NanoCpus", "CapAdd", "BlkioDeviceReadIOps", "Privileged"] {
            assert!(body["HostConfig"].get(absent).is_none(), "{absent} is in {body}");
        }
    }

    #[test]
    fn limits_are_written_as_the_engine_wants_them() {
        let limits = Limits {
            cpus: Some(1.5),
            memory_bytes: Some(1 << 30),
            shm_bytes: Some(1 << 28),
            read_iops: vec![DeviceRate { device: "/dev/loop7".to_owned(), iops: 500 }],
            write_iops: vec![DeviceRate { device: "/dev/loop7".to_owned(), iops: 400 }],
        };
        let spec = ContainerSpec { limits, ..Default::default() };
        let host = serde_json::to_value(spec.to_request()).unwrap()["HostConfig"].clone();
        assert_eq!(host["NanoCpus"], 1_500_000_000_u64);
        assert_eq!((&host["Memory"], &host["MemorySwap"]), (&(1 << 30).into(), &(1 << 30).into()));
        assert_eq!(host["ShmSize"], 1 << 28);
        assert_eq!(host["BlkioDeviceReadIOps"], serde_json::json!([{"Path": "/dev/loop7", "Rate": 500}]));
        assert_eq!(host["BlkioDeviceWriteIOps"], serde_json::json!([{"Path": "/dev/loop7", "Rate": 400}]));
    }

    #[test]
    fn a_named_network_gives_host_name_alias_and_loopback_ports() {
        let spec = ContainerSpec {
            network: NetworkMode::Named { network: "net".to_owned(), alias: "primary".to_owned() },
            published_ports: vec![5432],
            ..Default::default()
        };
        let body = serde_json::to_value(spec.to_request()).unwrap();
        assert_eq!(body["Hostname"], "primary");
        assert_eq!(
            body["NetworkingConfig"]["EndpointsConfig"]["net"]["Aliases"],
            serde_json::json!(["primary"])
        );
        assert_eq!(
            body["HostConfig"]["PortBindings"]["5432/tcp"],
            serde_json::json!([{"HostIp": "127.0.0.1", "HostPort": ""}])
        );
        assert!(body["ExposedPorts"].get("5432/tcp").is_some());
    }

    #[test]
    fn mounts_keep_their_kind_and_access() {
        let spec = ContainerSpec {
            mounts: vec![
                Mount::Volume { name: "v".to_owned(), target: "/v".to_owned(), access: Access::ReadOnly },
                Mount::Bind { host: "/dev".to_owned(), target: "/dev".to_owned(), access: Access::ReadWrite },
            ],
            seccomp: Seccomp::Unconfined,
            new_privileges: NewPrivileges::Allowed,
            ..Default::default()
        };
        let host = serde_json::to_value(spec.to_request()).unwrap()["HostConfig"].clone();
        assert_eq!(
            host["Mounts"],
            serde_json::json!([
                {"Target": "/v", "Source": "v", "Type": "volume", "ReadOnly": true},
                {"Target": "/dev", "Source": "/dev", "Type": "bind", "ReadOnly": false},
            ])
        );
        assert_eq!(host["SecurityOpt"], serde_json::json!(["seccomp=unconfined"]));
    }
}
