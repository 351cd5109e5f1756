//! The faults, each with the evidence that it happened.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use tokio::time::{Instant, sleep};

use super::logs::WALRECEIVER_TERMINATED;
use super::node::Node;
use crate::docker::{Engine, ExecSpec};
use crate::experiment::FaultReport;
use crate::postgres::Connection;

/// How long the evidence may take to come.
const PROMPT: Duration = Duration::from_secs(15);

/// Pause between two looks for the evidence.
const RETRY: Duration = Duration::from_millis(50);

/// Lines of the log that are looked through: the message comes at once.
const LOG_LINES: usize = 50;

/// SIGTERM to the walreceiver. `pg_terminate_backend` cannot reach it: it is no backend.
pub(super) async fn kill_walreceiver(
    engine: &Engine,
    node: &Node,
    connection: &Connection,
) -> anyhow::Result<FaultReport> {
    let rows = connection.query("the walreceiver's pid", "SELECT pid FROM pg_stat_wal_receiver", &[]).await?;
    let pid: Option<i32> = rows.first().and_then(|row| row.get(0));
    let pid = pid.with_context(|| format!("there is no walreceiver on {}", node.name))?;
    let kill = ExecSpec::new(["sh", "-c", r#"kill -TERM "$1""#, "kill", &pid.to_string()]);
    let killed = engine.exec(&node.container, &kill, None, PROMPT).await?;
    let at = Instant::now();
    ensure!(killed.exit_code == 0, "kill -TERM {pid} on {}: {}", node.name, killed.stderr.trim());

    let line = wait_for_last_words(engine, node, pid).await?;
    let state = engine.inspect_container(&node.container).await?;
    ensure!(
        state.is_some_and(|state| state.running),
        "the postmaster of {} ended with the walreceiver",
        node.name
    );
    Ok(FaultReport {
        at,
        done: format!("SIGTERM to the walreceiver, pid {pid}"),
        evidence: format!("the postmaster lives, its log says: {line}"),
    })
}

/// The line of the log in which this walreceiver says that it was told to stop.
async fn wait_for_last_words(engine: &Engine, node: &Node, pid: i32) -> anyhow::Result<String> {
    let deadline = Instant::now() + PROMPT;
    let its_own = format!("[{pid}]");
    loop {
        let log = engine.log_tail(&node.container, LOG_LINES).await?;
        let found =
            log.iter().find(|(_, line)| line.contains(WALRECEIVER_TERMINATED) && line.contains(&its_own));
        if let Some((_, line)) = found {
            return Ok(line.clone());
        }
        ensure!(
            Instant::now() < deadline,
            "the log of {} does not say that the walreceiver, pid {pid}, was terminated; is log_min_messages above fatal?",
            node.name
        );
        sleep(RETRY).await;
    }
}
