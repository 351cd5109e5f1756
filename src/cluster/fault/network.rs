//! The cable between the standby and the primary.

use anyhow::ensure;
use tokio::time::Instant;

use super::PROMPT;
use crate::cluster::config::PORT;
use crate::cluster::node::{Node, replication_network};
use crate::cluster::raise::Cluster;
use crate::docker::ExecSpec;
use crate::experiment::FaultReport;

/// Exit code of `pg_isready` when the server accepts connections.
const ACCEPTS: i64 = 0;
/// Its exit code when nobody answers.
const NO_RESPONSE: i64 = 2;

/// Takes the standby off the network on which it finds the primary; the lab reaches it by another.
pub(super) async fn cut(cluster: &Cluster, node: &Node) -> anyhow::Result<FaultReport> {
    let network = replication_network(&cluster.order.run_id);
    cluster.engine.disconnect_network(&network, &node.container).await?;
    let at = Instant::now();
    let said = ask_for_primary(cluster, node, NO_RESPONSE).await?;
    Ok(FaultReport {
        at,
        done: format!("{} was taken off the network of the nodes", node.name),
        evidence: format!("pg_isready there says: {said}"),
        redo_lsn: None,
    })
}

/// Puts the standby on the network again.
pub(super) async fn restore(cluster: &Cluster, node: &Node) -> anyhow::Result<FaultReport> {
    let network = replication_network(&cluster.order.run_id);
    cluster.engine.connect_network(&network, &node.container, &node.name).await?;
    let at = Instant::now();
    let said = ask_for_primary(cluster, node, ACCEPTS).await?;
    Ok(FaultReport {
        at,
        done: format!("{} was put on the network of the nodes again", node.name),
        evidence: format!("pg_isready there says: {said}"),
        redo_lsn: None,
    })
}

/// What `pg_isready` says of the primary, asked on the standby.
async fn ask_for_primary(cluster: &Cluster, node: &Node, expected: i64) -> anyhow::Result<String> {
    let pg_isready = format!("{}/pg_isready", cluster.order.image.bindir);
    let port = PORT.to_string();
    let ask = ExecSpec::new([&pg_isready, "-h", &cluster.primary.name, "-p", &port, "-t", "3"]);
    let output = cluster.engine.exec(&node.container, &ask, None, PROMPT).await?;
    let said = format!("{}{}", output.stdout, output.stderr);
    ensure!(output.exit_code == expected, "pg_isready on {}: {}", node.name, said.trim());
    Ok(said.trim().to_owned())
}
