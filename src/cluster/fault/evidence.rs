//! What a server's log says of a fault.

use std::time::Duration;

use anyhow::ensure;
use tokio::time::{Instant, sleep};

use super::PROMPT;
use crate::cluster::logs::BEGAN_TO_STREAM;
use crate::cluster::node::Node;
use crate::docker::Engine;

/// Pause between two looks for the evidence.
const RETRY: Duration = Duration::from_millis(50);

/// Lines of the log that are looked through: the message comes at once.
const LOG_LINES: usize = 50;

/// The newest line of the node's log that holds all of `signs`, as soon as there is one.
pub(super) async fn line_with(engine: &Engine, node: &Node, signs: &[&str]) -> anyhow::Result<String> {
    let deadline = Instant::now() + PROMPT;
    loop {
        let log = engine.log_tail(&node.container, LOG_LINES).await?;
        let found = log.into_iter().rev().find(|(_, line)| signs.iter().all(|sign| line.contains(sign)));
        if let Some((_, line)) = found {
            return Ok(line);
        }
        ensure!(
            Instant::now() < deadline,
            "the log of {} has no line with {:?}; is log_min_messages above fatal?",
            node.name,
            signs.join(" ... ")
        );
        sleep(RETRY).await;
    }
}

/// Refuses a standby whose walreceiver has gone away and come back since it was set up, if only between two samples: it
/// replayed everything before it came back, and what the fault does to it is not what it would have done.
pub(super) async fn has_streamed_throughout(engine: &Engine, node: &Node) -> anyhow::Result<()> {
    let mut times = 0;
    engine.read_log(&node.container, |line| times += usize::from(line.contains(BEGAN_TO_STREAM))).await?;
    ensure!(
        times <= 1,
        "the walreceiver of {} had come back by itself before the fault: its log says {times} times \
         {BEGAN_TO_STREAM:?}",
        node.name
    );
    Ok(())
}
