//! Faults that end one process of a server.

use anyhow::{Context as _, ensure};
use tokio::time::Instant;

use super::PROMPT;
use super::evidence::line_with;
use crate::cluster::logs::{BACKEND_TERMINATED, WALRECEIVER_TERMINATED};
use crate::cluster::node::Node;
use crate::docker::{Engine, ExecSpec};
use crate::experiment::FaultReport;
use crate::postgres::Connection;

/// SIGTERM to the walreceiver. `pg_terminate_backend` cannot reach it: it is no backend.
pub(super) async fn kill_walreceiver(
    engine: &Engine,
    node: &Node,
    control: &Connection,
) -> anyhow::Result<FaultReport> {
    let rows = control.query("the walreceiver's pid", "SELECT pid FROM pg_stat_wal_receiver", &[]).await?;
    let pid: Option<i32> = rows.first().and_then(|row| row.get(0));
    let pid = pid.with_context(|| format!("there is no walreceiver on {}", node.name))?;
    let kill = ExecSpec::new(["sh", "-c", r#"kill -TERM "$1""#, "kill", &pid.to_string()]);
    let killed = engine.exec(&node.container, &kill, None, PROMPT).await?;
    let at = Instant::now();
    ensure!(killed.exit_code == 0, "kill -TERM {pid} on {}: {}", node.name, killed.stderr.trim());
    Ok(FaultReport {
        at,
        done: format!("SIGTERM to the walreceiver, pid {pid}"),
        evidence: last_words(engine, node, WALRECEIVER_TERMINATED, pid).await?,
        redo_lsn: None,
    })
}

/// `pg_terminate_backend` of the walsender that serves `standby`, on the primary.
pub(super) async fn kill_walsender(
    engine: &Engine,
    primary: &Node,
    control: &Connection,
    standby: &str,
) -> anyhow::Result<FaultReport> {
    let sql = "SELECT pid, pg_terminate_backend(pid) FROM pg_stat_replication WHERE application_name = $1";
    let rows = control.query("ending the walsender", sql, &[&standby]).await?;
    let at = Instant::now();
    let row = rows.first().with_context(|| format!("{} has no walsender for {standby}", primary.name))?;
    let (pid, told): (i32, bool) = (row.get(0), row.get(1));
    ensure!(told, "the walsender for {standby}, pid {pid}, could not be told to end");
    Ok(FaultReport {
        at,
        done: format!("pg_terminate_backend of the walsender for {standby} on {}, pid {pid}", primary.name),
        evidence: last_words(engine, primary, BACKEND_TERMINATED, pid).await?,
        redo_lsn: None,
    })
}

/// What the log says of the process that was told to end; the postmaster has to have survived it.
async fn last_words(engine: &Engine, node: &Node, sign: &str, pid: i32) -> anyhow::Result<String> {
    let line = line_with(engine, node, &[sign, &format!("[{pid}]")]).await?;
    let state = engine.inspect_container(&node.container).await?;
    ensure!(
        state.is_some_and(|state| state.running),
        "the postmaster of {} ended with the process that was killed",
        node.name
    );
    Ok(format!("the postmaster lives, its log says: {line}"))
}
