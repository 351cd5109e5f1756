//! A container as the engine reports it.

use std::collections::BTreeMap;

use bollard::models::{ContainerInspectResponse, HostConfig, PortMap, ThrottleDevice};

use super::spec::{DeviceRate, Limits};

/// What `inspect` says about a container.
#[derive(Debug, Clone, PartialEq)]
pub struct ContainerState {
    /// Whether its first process runs.
    pub running: bool,
    /// How its first process ended; `None` while it runs and before it ever ran.
    pub exit_code: Option<i64>,
    /// Whether the kernel killed a process of it for want of memory.
    pub oom_killed: bool,
    /// When it was last started; `None` if never.
    pub started_at: Option<jiff::Timestamp>,
    /// How often the engine restarted it.
    pub restart_count: Option<i64>,
    /// Port on the engine's host, by TCP port of the container.
    pub published_ports: BTreeMap<u16, u16>,
    /// The limits as the engine has kept them, to be compared with those asked for.
    pub limits: Limits,
}

impl ContainerState {
    pub(super) fn from_inspect(response: ContainerInspectResponse) -> ContainerState {
        let state = response.state.unwrap_or_default();
        let running = state.running.unwrap_or(false);
        // The engine writes year 1 for "never".
        let started_at = state.started_at.as_deref().and_then(|time| time.parse::<jiff::Timestamp>().ok());
        let started_at = started_at.filter(|time| *time > jiff::Timestamp::UNIX_EPOCH);
        ContainerState {
            running,
            exit_code: state.exit_code.filter(|_| !running && started_at.is_some()),
            oom_killed: state.oom_killed.unwrap_or(false),
            started_at,
            restart_count: response.restart_count,
            published_ports: published(response.network_settings.and_then(|network| network.ports)),
            limits: response.host_config.map(limits).unwrap_or_default(),
        }
    }
}

fn published(ports: Option<PortMap>) -> BTreeMap<u16, u16> {
    let mut published = BTreeMap::new();
    for (key, bindings) in ports.unwrap_or_default() {
        let container = key.strip_suffix("/tcp").and_then(|port| port.parse::<u16>().ok());
        let host =
            bindings.iter().flatten().find_map(|binding| binding.host_port.as_ref()?.parse::<u16>().ok());
        if let (Some(container), Some(host)) = (container, host) {
            published.insert(container, host);
        }
    }
    published
}

/// The engine writes 0 for "no limit".
fn limits(host: HostConfig) -> Limits {
    let set =
        |value: Option<i64>| value.and_then(|value| u64::try_from(value).ok()).filter(|value| *value > 0);
    #[allow(clippy::cast_precision_loss, reason = "thousandths of a CPU are far from 2^53 billionths")]
    let cpus = set(host.nano_cpus).map(|nano| nano as f64 / 1e9);
    Limits {
        cpus,
        memory_bytes: set(host.memory),
        shm_bytes: set(host.shm_size),
        read_iops: rates(host.blkio_device_read_iops),
        write_iops: rates(host.blkio_device_write_iops),
    }
}

fn rates(throttles: Option<Vec<ThrottleDevice>>) -> Vec<DeviceRate> {
    let rate = |throttle: ThrottleDevice| {
        Some(DeviceRate { device: throttle.path?, iops: u64::try_from(throttle.rate?).ok()? })
    };
    throttles.unwrap_or_default().into_iter().filter_map(rate).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    fn state(json: &str) -> ContainerState {
        ContainerState::from_inspect(serde_json::from_str(json).unwrap())
    }

    #[test]
    fn a_container_that_never_ran_has_no_exit_code_and_no_start() {
        let state = state(r#"{"State":{"Running":false,"ExitCode":0,"StartedAt":"0001-01-01T00:00:00Z"}}"#);
        assert_eq!((state.exit_code, state.started_at), (None, None));
    }

    #[test]
    fn a_running_container_has_no_exit_code() {
        let state = state(r#"{"State":{"Running":true,"ExitCode":0,"StartedAt":"2026-11-30T19:00:00.5Z"}}"#);
        assert!(state.running);
        assert_eq!(state.exit_code, None);
        assert_eq!(state.started_at, Some("2026-11-30T19:00:00.5Z".parse().unwrap()));
    }

    #[test]
    fn a_container_that_was_killed_for_memory_says_so() {
        let state = state(
            r#"{"State":{"Running":false,"ExitCode":137,"OOMKilled":true,"StartedAt":"2026-11-30T19:00:00Z"},
                "RestartCount":0}"#,
        );
        assert_eq!((state.exit_code, state.oom_killed, state.restart_count), (Some(137), true, Some(0)));
    }

    #[test]
    fn limits_are_read_back_and_missing_ones_are_none() {
        let with = state(
            r#"{"HostConfig":{"NanoCpus":1500000000,"Memory":1073741824,"ShmSize":67108864,
                "BlkioDeviceReadIOps":[{"Path":"/dev/loop7","Rate":500}],"BlkioDeviceWriteIOps":null}}"#,
        );
        assert_eq!(with.limits.cpus, Some(1.5));
        assert_eq!(with.limits.memory_bytes, Some(1 << 30));
        assert_eq!(with.limits.read_iops, [DeviceRate { device: "/dev/loop7".to_owned(), iops: 500 }]);
        assert!(with.limits.write_iops.is_empty());
        let without = state(r#"{"HostConfig":{"NanoCpus":0,"Memory":0,"BlkioDeviceReadIOps":null}}"#);
        assert_eq!(without.limits, Limits::default());
    }

    #[test]
    fn published_ports_are_found_by_the_port_of_the_container() {
        let state = state(
            r#"{"NetworkSettings":{"Ports":{"5432/tcp":[{"HostIp":"127.0.0.1","HostPort":"49153"}],
                "80/tcp":null,"53/udp":[{"HostIp":"127.0.0.1","HostPort":"1"}]}}}"#,
        );
        assert_eq!(state.published_ports, BTreeMap::from([(5432, 49153)]));
    }
}
