//! The cluster as the experiment sees it.

use std::sync::Arc;

use anyhow::Context as _;
use async_trait::async_trait;

use super::load::Load;
use super::logs;
use super::machine::MachineSource;
use super::raise::{Cluster, PROMPT};
use crate::experiment::{FaultReport, Finding, Lab, Severity};
use crate::measure::{LoadSource, Source};
use crate::postgres::{PrimaryInquiry, SqlSource, StandbyInquiry};
use crate::profile::Fault;
use crate::store::Role;

#[async_trait]
impl Lab for Cluster {
    fn primary(&self) -> &str {
        &self.primary.name
    }

    fn standbys(&self) -> Vec<String> {
        self.standbys.iter().map(|node| node.name.clone()).collect()
    }

    async fn sources(&self) -> anyhow::Result<Vec<Box<dyn Source>>> {
        let mut sources: Vec<Box<dyn Source>> =
            vec![Box::new(LoadSource::new(&self.primary.name, Arc::clone(&self.feed)))];
        for node in self.nodes() {
            sources.push(Box::new(MachineSource::new(&self.engine, node)));
            let (name, access) = (&node.name, &node.access);
            sources.push(match node.role {
                Role::Primary => {
                    let inquiry = PrimaryInquiry::new(name, Lab::standbys(self));
                    Box::new(SqlSource::open(access, inquiry, PROMPT).await?)
                }
                Role::Standby => {
                    let inquiry = StandbyInquiry::new(name, self.order.image.version.number);
                    Box::new(SqlSource::open(access, inquiry, PROMPT).await?)
                }
            });
        }
        for source in &mut sources {
            source.read().await.with_context(|| format!("first question to {}", source.name()))?;
        }
        Ok(sources)
    }

    async fn checkpoint(&self) -> anyhow::Result<()> {
        Ok(self.control.execute("CHECKPOINT", "CHECKPOINT").await?)
    }

    async fn start_load(&self) -> anyhow::Result<()> {
        let log = self.order.logs.join("pgbench.txt");
        let (primary, workload) = (&self.primary, &self.order.profile.workload);
        let load =
            Load::start(&self.engine, primary, &self.order.image, workload, Arc::clone(&self.feed), &log)
                .await?;
        *self.load.lock().await = Some(load);
        Ok(())
    }

    async fn stop_load(&self) -> anyhow::Result<()> {
        match self.load.lock().await.take() {
            Some(load) => load.stop(&self.engine).await,
            None => Ok(()),
        }
    }

    fn load_end(&self) -> Option<String> {
        self.feed.end()
    }

    async fn wal_lsn(&self) -> anyhow::Result<u64> {
        let sql = "SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::int8";
        let rows = self.control.query("the end of WAL", sql, &[]).await?;
        let lsn: i64 = rows.first().context("no answer")?.get(0);
        Ok(u64::try_from(lsn)?)
    }

    async fn execute_update(&self, batch: u32) -> anyhow::Result<()> {
        let profile = &self.order.profile;
        let rows = profile.batches().nth(batch as usize).context("there is no such batch")?;
        let sql = format!("BEGIN; {}", profile.update_statement(rows));
        Ok(self.writer.execute_long("the update", &sql).await?)
    }

    async fn commit_update(&self) -> anyhow::Result<()> {
        Ok(self.writer.execute_long("the update's commit", "COMMIT").await?)
    }

    async fn inject(&self, fault: &Fault) -> anyhow::Result<FaultReport> {
        self.break_by(fault).await
    }

    async fn mend(&self, fault: &Fault) -> anyhow::Result<FaultReport> {
        self.mend_after(fault).await
    }

    async fn ailments(&self) -> anyhow::Result<Vec<Finding>> {
        let mut ailments = Vec::new();
        let down = self.down.borrow().clone();
        for node in self.nodes().filter(|node| down.as_ref() != Some(&node.name)) {
            let state = self.engine.inspect_container(&node.container).await?;
            let what = match state {
                None => "its container is gone".to_owned(),
                Some(state) if state.oom_killed => "it ran out of memory".to_owned(),
                Some(state) if !state.running => match state.exit_code {
                    Some(code) => format!("its container ended with exit code {code}"),
                    None => "its container does not run".to_owned(),
                },
                Some(_) => continue,
            };
            ailments.push(Finding { node: node.name.clone(), severity: Severity::Disqualifying, what });
        }
        Ok(ailments)
    }

    async fn findings(&self) -> anyhow::Result<Vec<Finding>> {
        let mut findings = Vec::new();
        for node in self.nodes() {
            let mut reading = logs::Reading::default();
            self.engine.read_log(&node.container, |line| reading.line(line)).await?;
            findings.extend(reading.findings(&node.name));
        }
        findings.extend(self.feed.lost_client().map(|line| Finding {
            node: self.primary.name.clone(),
            severity: Severity::Disqualifying,
            what: format!("the load lost a client and went on with the others: {line}"),
        }));
        Ok(findings)
    }
}
