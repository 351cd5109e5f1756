//! The probe in a node as a source of the sampler: one process for the whole run, asked over its standard input.

use anyhow::Context as _;
use async_trait::async_trait;

use super::node::Node;
use crate::docker::{DockerError, Engine, ExecSpec, ExecStream, OutputStream};
use crate::measure::{MACHINE_TOTALS, Source, machine_cells};
use crate::store::{Cell, Column};

/// The probe's script.
const SCRIPT: &str = include_str!("../../docker/probe.sh");

/// Disk and CPU counters of a node.
#[derive(Debug)]
pub(super) struct MachineSource {
    node: String,
    container: String,
    device: String,
    engine: Engine,
    /// None until it is asked, and after it has ended.
    probe: Option<ExecStream>,
}

impl MachineSource {
    pub(super) fn new(engine: &Engine, node: &Node) -> Self {
        Self {
            node: node.name.clone(),
            container: node.container.clone(),
            device: node.disk.upper_name().to_owned(),
            engine: engine.clone(),
            probe: None,
        }
    }

    async fn ask(&mut self) -> Result<Option<String>, DockerError> {
        let mut probe = match self.probe.take() {
            Some(probe) => probe,
            None => {
                let spec = ExecSpec::new(["sh", "-c", SCRIPT, "probe.sh", &self.device]);
                self.engine.exec_stream(&self.container, &spec).await?
            }
        };
        probe.write(b"\n").await?;
        while let Some((stream, line)) = probe.next_line().await? {
            if stream == OutputStream::Stdout {
                self.probe = Some(probe);
                return Ok(Some(line));
            }
        }
        Ok(None)
    }
}

#[async_trait]
impl Source for MachineSource {
    fn name(&self) -> String {
        format!("disk and CPU of {}", self.node)
    }

    fn columns(&self) -> Vec<Column> {
        MACHINE_TOTALS.iter().map(|metric| Column::new(&self.node, metric.clone())).collect()
    }

    async fn read(&mut self) -> anyhow::Result<Vec<(Column, Cell)>> {
        let answer = self.ask().await?.context("the probe in the node has ended")?;
        Ok(machine_cells(&self.node, &answer)?)
    }
}
