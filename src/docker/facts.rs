//! What the engine says about itself and its host.

use bollard::models::{SystemInfo, SystemVersion};
use serde::{Deserialize, Serialize};

use super::engine::{CALL, Engine, within};
use super::error::DockerError;

/// The engine and its host, as the engine describes them. What it does not say is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineFacts {
    /// Address of the engine, as a URL.
    pub endpoint: String,
    /// What the engine is part of: `Docker Engine`, `Docker Desktop`, `Podman` ...
    pub platform: String,
    /// Version of the engine.
    pub engine_version: Option<String>,
    /// API version agreed on, like `1.41`.
    pub api_version: String,
    /// Operating system of the engine's host.
    pub os: Option<String>,
    /// Kernel release of the engine's host (inside a desktop product: of its virtual machine).
    pub kernel: Option<String>,
    /// Architecture of the engine's host, as `uname -m` names it.
    pub arch: Option<String>,
    /// cgroup version, `1` or `2`.
    pub cgroup_version: Option<String>,
    /// Who manages the cgroups: `cgroupfs`, `systemd` or `none`.
    pub cgroup_driver: Option<String>,
    /// Storage driver of images and container layers.
    pub storage_driver: Option<String>,
    /// Number of CPUs the engine can use.
    pub cpus: Option<u64>,
    /// Memory of the engine's host in bytes.
    pub memory_bytes: Option<u64>,
    /// Whether the engine runs without root.
    pub privilege: Privilege,
    /// The engine's own warnings, such as missing support for a limit.
    pub warnings: Vec<String>,
}

/// With whose rights the engine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Privilege {
    /// As root of its host.
    Rootful,
    /// As an ordinary user, who cannot set up loop devices or I/O limits.
    Rootless,
}

impl Engine {
    /// Asks the engine about itself and its host.
    ///
    /// # Errors
    /// [`DockerError::EngineFacts`] if it does not answer.
    pub async fn facts(&self) -> Result<EngineFacts, DockerError> {
        let failed = |cause| DockerError::EngineFacts { cause };
        let version = within(CALL, self.docker.version()).await.map_err(failed)?;
        let info = within(CALL, self.docker.info()).await.map_err(failed)?;
        Ok(facts(self, version, info))
    }
}

fn facts(engine: &Engine, version: SystemVersion, info: SystemInfo) -> EngineFacts {
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    let rootless = info.security_options.iter().flatten().any(|option| option.contains("rootless"));
    EngineFacts {
        endpoint: engine.endpoint().address.to_string(),
        platform: platform(&version, &info),
        engine_version: given(info.server_version).or(given(version.version)),
        api_version: engine.api_version().to_string(),
        os: given(info.operating_system),
        kernel: given(info.kernel_version),
        arch: given(info.architecture),
        cgroup_version: given(info.cgroup_version.map(|version| version.to_string())),
        cgroup_driver: given(info.cgroup_driver.map(|driver| driver.to_string())),
        storage_driver: given(info.driver),
        cpus: info.ncpu.and_then(|cpus| u64::try_from(cpus).ok()),
        memory_bytes: info.mem_total.and_then(|bytes| u64::try_from(bytes).ok()),
        privilege: if rootless { Privilege::Rootless } else { Privilege::Rootful },
        warnings: info.warnings.unwrap_or_default(),
    }
}

fn platform(version: &SystemVersion, info: &SystemInfo) -> String {
    let mut components = version.components.iter().flatten();
    if components.any(|component| component.name.starts_with("Podman")) {
        return "Podman".to_owned();
    }
    match info.operating_system.as_deref() {
        Some(desktop @ ("Docker Desktop" | "OrbStack" | "Rancher Desktop WSL Distribution")) => {
            desktop.to_owned()
        }
        _ => match &version.platform {
            Some(platform) if !platform.name.is_empty() => platform.name.clone(),
            _ => "Docker Engine".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;
    use crate::docker::fake::{Answer, FakeEngine};

    async fn facts_of(version: &str, info: &str) -> EngineFacts {
        let fake = FakeEngine::bare()
            .answer("GET /version", Answer::json(version))
            .answer("GET /info", Answer::json(info));
        fake.connect().await.facts().await.unwrap()
    }

    #[tokio::test]
    async fn what_the_engine_says_is_kept_and_what_it_does_not_say_is_none() {
        let facts = facts_of(
            r#"{"ApiVersion":"1.41","Platform":{"Name":""}}"#,
            r#"{"ServerVersion":"20.10.24","Driver":"overlay2","CgroupVersion":"1","CgroupDriver":"cgroupfs",
                "NCPU":2,"MemTotal":1024,"SecurityOptions":["name=seccomp,profile=default"],"Warnings":["no swap"]}"#,
        )
        .await;
        assert_eq!(facts.engine_version.as_deref(), Some("20.10.24"));
        assert_eq!(facts.cgroup_version.as_deref(), Some("1"));
        assert_eq!(facts.cgroup_driver.as_deref(), Some("cgroupfs"));
        assert_eq!((facts.cpus, facts.memory_bytes), (Some(2), Some(1024)));
        assert_eq!(facts.kernel, None);
        assert_eq!(facts.platform, "Docker Engine");
        assert_eq!(facts.privilege, Privilege::Rootful);
        assert_eq!(facts.warnings, ["no swap"]);
    }

    #[tokio::test]
    async fn podman_and_desktop_products_are_recognised() {
        let podman = facts_of(
            r#"{"ApiVersion":"1.41","Components":[{"Name":"Podman Engine","Version":"5.0"}]}"#,
            r#"{"SecurityOptions":["name=rootless"]}"#,
        )
        .await;
        assert_eq!(podman.platform, "Podman");
        assert_eq!(podman.privilege, Privilege::Rootless);
        let desktop = facts_of(r#"{"ApiVersion":"1.41"}"#, r#"{"OperatingSystem":"Docker Desktop"}"#).await;
        assert_eq!(desktop.platform, "Docker Desktop");
    }
}
