//! Faults that take the standby's whole server down, with its container: its disk is unmounted and comes back cold.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use tokio::time::Instant;

use super::PROMPT;
use super::evidence::line_with;
use crate::cluster::config::PORT;
use crate::cluster::logs::{BEGAN_IN_RECOVERY, REDO_STARTS_AT, SHUT_DOWN};
use crate::cluster::node::Node;
use crate::docker::Engine;
use crate::experiment::FaultReport;
use crate::wal::parse_lsn;

/// Exit code of a container whose processes were killed: 128 and SIGKILL.
const KILLED: i64 = 137;

/// Lines at the end of a log among which the last words of a server are.
const LAST_LINES: usize = 20;

/// Fast shutdown. It writes a restartpoint first, behind the cap, and may take `within`.
pub(super) async fn shut_down(engine: &Engine, node: &Node, within: Duration) -> anyhow::Result<FaultReport> {
    // Replication ends with the first moments of a shutdown, however long the rest of it takes.
    let at = Instant::now();
    engine.stop_container(&node.container, within).await?;
    let code = engine.wait_container(&node.container, PROMPT).await?;
    ensure!(code != KILLED, "{} did not shut down within {within:?} and was killed", node.name);
    Ok(FaultReport {
        at,
        done: format!("fast shutdown of {}", node.name),
        evidence: format!("its log says: {}", line_with(engine, node, &[SHUT_DOWN]).await?),
        redo_lsn: None,
    })
}

/// SIGKILL of all processes at once.
pub(super) async fn crash(engine: &Engine, node: &Node) -> anyhow::Result<FaultReport> {
    engine.kill_container(&node.container, "SIGKILL").await?;
    let at = Instant::now();
    let code = engine.wait_container(&node.container, PROMPT).await?;
    let log = engine.log_tail(&node.container, LAST_LINES).await?;
    ensure!(code == KILLED, "{} ended with exit code {code}, not by SIGKILL", node.name);
    ensure!(
        !log.iter().any(|(_, line)| line.contains(SHUT_DOWN)),
        "{} shut down before it was killed",
        node.name
    );
    Ok(FaultReport {
        at,
        done: format!("SIGKILL of all processes of {}", node.name),
        evidence: format!("it ended with exit code {KILLED}, and its log does not say that it shut down"),
        redo_lsn: None,
    })
}

/// Starts the server again. The engine may publish its port at another one of the host.
pub(super) async fn start(engine: &Engine, node: &Node) -> anyhow::Result<FaultReport> {
    engine.start_container(&node.container).await?;
    let at = Instant::now();
    let state = engine.inspect_container(&node.container).await?;
    let state = state.with_context(|| format!("the container of {} is gone", node.name))?;
    let port = state.published_ports.get(&PORT);
    node.access.moved_to(*port.with_context(|| format!("no port is published for {}", node.name))?);
    let began = line_with(engine, node, &[BEGAN_IN_RECOVERY]).await?;
    let redo = line_with(engine, node, &[REDO_STARTS_AT]).await?;
    Ok(FaultReport {
        at,
        done: format!("{} was started", node.name),
        evidence: format!("its log says: {began}"),
        redo_lsn: redo.rsplit_once(REDO_STARTS_AT).and_then(|(_, lsn)| parse_lsn(lsn.trim())),
    })
}
