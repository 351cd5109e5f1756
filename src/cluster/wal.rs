//! What the WAL of the run made the faulted standby do.

use std::time::Instant;

use anyhow::Context as _;
use tokio_util::sync::CancellationToken;

use super::node::disk_volume;
use super::raise::Cluster;
use crate::disk::{PGDATA, data_mount};
use crate::docker::{Access, Mount};
use crate::store::{WalAccount, WalModel};
use crate::wal::{Ranges, Survey};
use crate::waldump::{self, WalSource};

/// The timeline every run is on: nobody is promoted.
const TIMELINE: u32 = 1;

impl Cluster {
    /// Reads the WAL of these ranges from the primary's disk and accounts for it. `on_share` is told how much of it
    /// is done, from 0 to 1.
    pub(super) async fn account_for_wal(
        &self,
        ranges: &Ranges,
        model: WalModel,
        on_share: &(dyn Fn(f64) + Sync),
        stop: &CancellationToken,
    ) -> anyhow::Result<WalAccount> {
        let started = Instant::now();
        let names = self.control.relations().await?.into_iter().collect();
        let start = ranges.start.context("it is not known where the run's WAL begins")?;
        let source = WalSource {
            mount: read_only(data_mount(&disk_volume(&self.order.run_id, &self.primary.name))),
            directory: format!("{PGDATA}/pg_wal"),
            timeline: TIMELINE,
            start,
            end: ranges.end,
        };
        let length = ranges.end.unwrap_or(start).saturating_sub(start).max(1);
        let on_lsn = |lsn: u64| on_share(lsn.saturating_sub(start) as f64 / length as f64);
        let (image, run_id) = (&self.order.image, &self.order.run_id);
        let mut survey = Survey::new(model, ranges);
        waldump::survey(&self.engine, image, run_id, &source, &mut survey, &on_lsn, stop).await?;
        Ok(survey.finish(&names, started.elapsed().as_secs_f64()))
    }
}

fn read_only(mount: Mount) -> Mount {
    match mount {
        Mount::Volume { name, target, .. } => Mount::Volume { name, target, access: Access::ReadOnly },
        Mount::Bind { host, target, .. } => Mount::Bind { host, target, access: Access::ReadOnly },
    }
}
