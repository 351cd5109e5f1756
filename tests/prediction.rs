//! `check` held against the lab: asked just before the fault, on the lab's own nodes, it predicts the hang within a
//! fifth.
//!
//! `STALL_LAB_PREDICTION_PROFILE` takes another profile than `smoke`. Without an engine the test says that it is skipped;
//! with `STALL_LAB_REQUIRE_DOCKER` set that is a failure.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use common::engine_or_skip;
use stall_lab::check::{self, Assessment, STATEMENT_TIMEOUT, Terms};
use stall_lab::cluster::DockerSite;
use stall_lab::disk::Caps;
use stall_lab::experiment::{FaultReport, Finding, Lab};
use stall_lab::explain::Measured;
use stall_lab::measure::Source;
use stall_lab::postgres::Endpoint;
use stall_lab::profile::{Fault, Prefetch, Template};
use stall_lab::progress::Progress;
use stall_lab::repro::{self, Arm, ArmOrder, ArmOutcome, Ground, Raised, Request, Site, Teardown};
use stall_lab::store::{NodeInfo, Role, Verdict, WalAccount, WalModel};
use stall_lab::wal::Ranges;
use tokio_util::sync::CancellationToken;

/// Time between the two looks: short, for the backlog of `smoke` is gone in a few of them.
const INTERVAL: Duration = Duration::from_secs(3);

/// What was found just before the fault of each arm.
type Found = Arc<Mutex<Vec<Assessment>>>;

/// The lab's own site, whose labs are looked at before they are broken.
struct Watched {
    site: DockerSite,
    iops: u64,
    found: Found,
}

struct WatchedLab {
    lab: Box<dyn Raised>,
    iops: u64,
    found: Found,
}

impl WatchedLab {
    async fn look(&self) -> anyhow::Result<Assessment> {
        let of = |role: Role| -> Vec<Endpoint> {
            let endpoints = self.lab.endpoints().into_iter().filter(|(of, _)| *of == role);
            endpoints.map(|(_, endpoint)| endpoint.read_only(STATEMENT_TIMEOUT)).collect()
        };
        let facts = check::gather(&of(Role::Primary)[0], &of(Role::Standby), INTERVAL).await?;
        Ok(check::judge(&facts, &Terms { iops: Some(self.iops), tolerated_s: 10.0 }))
    }
}

#[async_trait]
impl Site for Watched {
    async fn prepare(&self, arms: &[Arm], progress: &Progress) -> anyhow::Result<Vec<Ground>> {
        self.site.prepare(arms, progress).await
    }

    async fn abandon(&self, progress: &Progress) {
        self.site.abandon(progress).await;
    }

    async fn raise(&self, order: ArmOrder, progress: &Progress) -> anyhow::Result<Box<dyn Raised>> {
        let lab = self.site.raise(order, progress).await?;
        Ok(Box::new(WatchedLab { lab, iops: self.iops, found: Arc::clone(&self.found) }))
    }

    async fn tear_down(&self, run_id: &str, progress: &Progress) {
        self.site.tear_down(run_id, progress).await;
    }
}

#[async_trait]
impl Raised for WatchedLab {
    async fn describe(&self) -> anyhow::Result<Vec<NodeInfo>> {
        self.lab.describe().await
    }

    fn endpoints(&self) -> Vec<(Role, Endpoint)> {
        self.lab.endpoints()
    }

    async fn save_logs(&self) -> anyhow::Result<()> {
        self.lab.save_logs().await
    }

    async fn account_for_wal(
        &self,
        ranges: &Ranges,
        model: WalModel,
        progress: &Progress,
        stop: &CancellationToken,
    ) -> anyhow::Result<WalAccount> {
        self.lab.account_for_wal(ranges, model, progress, stop).await
    }

    fn how_to_connect(&self) -> String {
        self.lab.how_to_connect()
    }
}

#[async_trait]
impl Lab for WatchedLab {
    fn primary(&self) -> &str {
        self.lab.primary()
    }

    fn standbys(&self) -> Vec<String> {
        self.lab.standbys()
    }

    async fn sources(&self) -> anyhow::Result<Vec<Box<dyn Source>>> {
        self.lab.sources().await
    }

    async fn checkpoint(&self) -> anyhow::Result<()> {
        self.lab.checkpoint().await
    }

    async fn start_load(&self) -> anyhow::Result<()> {
        self.lab.start_load().await
    }

    async fn stop_load(&self) -> anyhow::Result<()> {
        self.lab.stop_load().await
    }

    fn load_end(&self) -> Option<String> {
        self.lab.load_end()
    }

    async fn wal_lsn(&self) -> anyhow::Result<u64> {
        self.lab.wal_lsn().await
    }

    async fn execute_update(&self, batch: u32) -> anyhow::Result<()> {
        self.lab.execute_update(batch).await
    }

    async fn commit_update(&self) -> anyhow::Result<()> {
        self.lab.commit_update().await
    }

    /// Looks first.
    async fn inject(&self, fault: &Fault) -> anyhow::Result<FaultReport> {
        let found = self.look().await?;
        self.found.lock().unwrap().push(found);
        self.lab.inject(fault).await
    }

    async fn mend(&self, fault: &Fault) -> anyhow::Result<FaultReport> {
        self.lab.mend(fault).await
    }

    async fn ailments(&self) -> anyhow::Result<Vec<Finding>> {
        self.lab.ailments().await
    }

    async fn findings(&self) -> anyhow::Result<Vec<Finding>> {
        self.lab.findings().await
    }
}

#[tokio::test]
async fn the_hang_that_check_predicts_is_the_hang_that_comes_and_where_it_predicts_none_none_comes() {
    let Some(engine) = engine_or_skip().await else { return };
    let name = std::env::var("STALL_LAB_PREDICTION_PROFILE").unwrap_or_else(|_| "smoke".to_owned());
    let profile = Template::find(&name).unwrap().profile(&[]).unwrap();
    let iops = profile.standby[0].machine.read_iops.cap().unwrap();
    let results = tempfile::tempdir().unwrap();
    let request = Request {
        profile_name: name.clone(),
        arms: Arm::of_prefetch(&profile, &[Prefetch::Try, Prefetch::Off]),
        results: results.path().to_owned(),
        caps: Caps::On,
        teardown: Teardown::Remove,
        command_line: vec![],
    };
    let watched = Watched { site: DockerSite::new(engine), iops, found: Found::default() };
    let stop = CancellationToken::new();
    let outcome = repro::repro(&watched, &request, &Progress::plain(), &stop).await.unwrap();

    let found = std::mem::take(&mut *watched.found.lock().unwrap());
    let ([hung, flowed], [found_hung, found_flowed]) = (outcome.arms.as_slice(), found.as_slice()) else {
        panic!("two arms, and a look at each: {found:?}");
    };
    assert_eq!(
        (hung.analysed.summary.verdict, found_hung.verdict),
        (Verdict::Stalled, check::Verdict::Exposed)
    );
    let standby = &found_hung.standbys[0];
    let (hang_s, predicted_s) = (hung.analysed.summary.hang_s.unwrap(), standby.predicted_hang_s.unwrap());
    let (reads, predicted_reads) = (reads_of_backlog(hung), standby.predicted_reads.unwrap() as f64);
    eprintln!(
        "{name}: hang {hang_s:.1} s, predicted {predicted_s:.1} s; reads {reads}, predicted {predicted_reads}"
    );
    for (what, predicted, measured) in [("seconds", predicted_s, hang_s), ("reads", predicted_reads, reads)] {
        let ratio = predicted / measured;
        assert!((0.8..=1.2).contains(&ratio), "{what}: predicted {predicted}, measured {measured}: {ratio}");
    }

    // Without prefetching there is nothing left to replay, and no hang to predict.
    assert_eq!(
        (flowed.analysed.summary.verdict, found_flowed.verdict),
        (Verdict::NoStall, check::Verdict::NotExposed)
    );
    let predicted_s = found_flowed.standbys[0].predicted_hang_s.unwrap();
    assert!(predicted_s <= 2.0, "predicted {predicted_s}: {:?}", found_flowed.standbys[0].now);
}

/// Reads that the standby's disk made from the fault until the backlog was replayed.
fn reads_of_backlog(arm: &ArmOutcome) -> f64 {
    let folder = &arm.analysed.folder;
    let (run, timeline, events) =
        (folder.run().unwrap(), folder.timeline().unwrap(), folder.events().unwrap());
    Measured::of(&run, "standby", &timeline, &events).reads.unwrap() as f64
}
