//! A place where fake labs are set up, which remembers what was asked of it.

use std::sync::{Mutex, PoisonError};

use anyhow::bail;
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::{FakeLab, Script};
use crate::image::ImageRequest;
use crate::measure::Clock;
use crate::postgres::Endpoint;
use crate::profile::{PRIMARY, Profile};
use crate::progress::Progress;
use crate::repro::{Arm, ArmOrder, Ground, Raised, Site};
use crate::store::{CapProof, NodeInfo, Platform, Role, Server, WalAccount, WalModel};
use crate::wal::Ranges;

/// The site.
#[derive(Debug, Default)]
pub(crate) struct FakeSite {
    /// Getting ready never ends.
    pub prepare_hangs: bool,
    /// The arm of this name cannot be set up.
    pub broken_arm: Option<String>,
    /// What the arms that prefetch do instead of stalling.
    pub script: Option<Script>,
    pub calls: Mutex<Vec<String>>,
}

impl FakeSite {
    /// What was asked of the site, in order.
    pub(crate) fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn called(&self, what: &str) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(what.to_owned());
    }
}

fn prefetch(profile: &Profile) -> String {
    profile.effective_settings(&profile.fault.node).remove("recovery_prefetch").unwrap_or_default()
}

/// Of the version that is asked for, 18 where none is.
fn server(request: &ImageRequest) -> Server {
    let major = match request {
        ImageRequest::Version(major) => u32::from(*major),
        _ => 18,
    };
    Server {
        version: format!("{major}.6"),
        version_num: major * 10_000 + 6,
        image: Some(format!("fake-{major}")),
        image_id: Some("sha256:0".to_owned()),
        source: "fake".to_owned(),
        note: None,
        build: None,
        unknown_settings: vec![],
    }
}

#[async_trait]
impl Site for FakeSite {
    async fn prepare(&self, arms: &[Arm], _progress: &Progress) -> anyhow::Result<Vec<Ground>> {
        self.called(&format!("prepare {}", arms.len()));
        if self.prepare_hangs {
            std::future::pending::<()>().await;
        }
        Ok(arms
            .iter()
            .map(|arm| Ground { server: server(&arm.server), platform: Platform::default() })
            .collect())
    }

    async fn abandon(&self, _progress: &Progress) {
        self.called("abandon");
    }

    async fn raise(&self, order: ArmOrder, _progress: &Progress) -> anyhow::Result<Box<dyn Raised>> {
        let prefetch = prefetch(&order.profile);
        self.called(&format!("raise {prefetch}"));
        if self.broken_arm.as_ref() == Some(&prefetch) {
            bail!("standby did not start: no room for shared memory");
        }
        let stalling = || self.script.clone().unwrap_or_else(Script::stalling);
        let script = if prefetch == "off" { Script::fast() } else { stalling() };
        Ok(Box::new(FakeLab::new(script)))
    }

    fn start_clock(&self) -> Clock {
        Clock::start_virtual(1_800_000_000.0)
    }

    async fn tear_down(&self, _run_id: &str, _progress: &Progress) {
        self.called("tear down");
    }
}

#[async_trait]
impl Raised for FakeLab {
    async fn describe(&self) -> anyhow::Result<Vec<NodeInfo>> {
        let node = |name: &str, role| NodeInfo {
            name: name.to_owned(),
            role,
            read_iops_cap: Some(200),
            write_iops_cap: Some(200),
            cap_proof: Some(CapProof { read_iops: 200.0, reads: 400, seconds: 2.0 }),
            read_ahead_kb: Some(128),
            settings: [].into(),
            defaults: [].into(),
        };
        let standbys = self.standby_names().iter().map(|name| node(name, Role::Standby));
        Ok(std::iter::once(node(PRIMARY, Role::Primary)).chain(standbys).collect())
    }

    fn endpoints(&self) -> Vec<(Role, Endpoint)> {
        vec![]
    }

    async fn save_logs(&self) -> anyhow::Result<()> {
        Ok(())
    }

    async fn account_for_wal(
        &self,
        _ranges: &Ranges,
        _model: WalModel,
        _progress: &Progress,
        _stop: &CancellationToken,
    ) -> anyhow::Result<WalAccount> {
        bail!("a fake lab writes no WAL")
    }

    fn how_to_connect(&self) -> String {
        "there is nothing to connect to".to_owned()
    }
}
