//! pgbench in the primary's container, over its Unix socket.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::config::SOCKET_DIR;
use super::node::Node;
use crate::docker::{Engine, ExecSpec, ExecStream, UploadFile};
use crate::image::ServerImage;
use crate::measure::LoadFeed;
use crate::profile::Workload;

/// Says its process id before it becomes pgbench: the engine cannot kill what it runs in a container.
const SCRIPT: &str = r#"echo "pid $$"; exec "$@""#;

/// Where the user's own script is in the primary's container.
const SCRIPT_FILE: &str = "/tmp/stall-lab-load.sql";

/// How long pgbench may take to start, and to end once it is told to.
const PROMPT: Duration = Duration::from_secs(30);

/// pgbench under way.
#[derive(Debug)]
pub(super) struct Load {
    pid: u32,
    container: String,
    reader: JoinHandle<()>,
}

impl Load {
    /// Starts pgbench and a task that hands its progress to `feed` and all it prints to `log`.
    pub(super) async fn start(
        engine: &Engine,
        primary: &Node,
        image: &ServerImage,
        workload: &Workload,
        feed: Arc<LoadFeed>,
        log: &Path,
    ) -> anyhow::Result<Self> {
        let pgbench = format!("{}/pgbench", image.bindir);
        let (clients, rate) = (workload.clients.to_string(), workload.rate_tps.to_string());
        let mut command = vec![
            "sh",
            "-c",
            SCRIPT,
            "load",
            &pgbench,
            "-n",
            "-c",
            &clients,
            "-R",
            &rate,
            "-P",
            "1",
            // Longer than any run: it is stopped when it is no longer needed.
            "-T",
            "100000000",
            // Where the connections go, and to which database.
            "-h",
            SOCKET_DIR,
            "-U",
            "postgres",
            "-d",
            "postgres",
        ];
        if !workload.script.is_empty() {
            let file = script_file(image, &workload.script);
            engine.upload(&primary.container, std::slice::from_ref(&file)).await?;
            command.extend(["-f", SCRIPT_FILE]);
        }
        let stream = engine.exec_stream(&primary.container, &ExecSpec::new(command)).await?;
        let file = tokio::fs::File::create(log).await.with_context(|| log.display().to_string())?;
        let (said_pid, pid) = oneshot::channel();
        feed.started();
        let reader = tokio::spawn(read(stream, feed, file, said_pid));
        let pid =
            timeout(PROMPT, pid).await.context("pgbench did not start")?.context("pgbench did not start")?;
        Ok(Self { pid, container: primary.container.clone(), reader })
    }

    /// Ends pgbench, and waits until all it has printed is on disk.
    pub(super) async fn stop(self, engine: &Engine) -> anyhow::Result<()> {
        let kill =
            ExecSpec::new(["sh", "-c", r#"kill -TERM "$1" 2>/dev/null || :"#, "kill", &self.pid.to_string()]);
        let killed = engine.exec(&self.container, &kill, None, PROMPT).await?;
        ensure!(killed.exit_code == 0, "pgbench could not be ended: {}", killed.stderr);
        match timeout(PROMPT, self.reader).await {
            Ok(ended) => Ok(ended?),
            Err(_) => bail!("pgbench, pid {}, did not end within {PROMPT:?}", self.pid),
        }
    }
}

fn script_file(image: &ServerImage, script: &str) -> UploadFile {
    UploadFile {
        path: SCRIPT_FILE.to_owned(),
        mode: 0o600,
        uid: image.uid,
        gid: image.gid,
        bytes: script.as_bytes().to_vec(),
    }
}

async fn read(
    mut stream: ExecStream,
    feed: Arc<LoadFeed>,
    mut file: tokio::fs::File,
    said_pid: oneshot::Sender<u32>,
) {
    let mut said_pid = Some(said_pid);
    let mut last_line = String::new();
    let ended = loop {
        let line = match stream.next_line().await {
            Ok(Some((_, line))) => line,
            Ok(None) => break stream.exit_code().await,
            Err(error) => break Err(error),
        };
        if let Some(pid) = line.strip_prefix("pid ").and_then(|pid| pid.parse().ok()) {
            // Whoever waits may have given up.
            let _ = said_pid.take().map(|said_pid| said_pid.send(pid));
            continue;
        }
        feed.line(&line);
        if let Err(error) = file.write_all(format!("{line}\n").as_bytes()).await {
            tracing::warn!("pgbench's output cannot be kept: {error}");
        }
        last_line = line;
    };
    if let Err(error) = file.flush().await {
        tracing::warn!("pgbench's output cannot be kept: {error}");
    }
    feed.ended(match ended {
        Ok(code) => format!("exit code {code}, its last line: {last_line}"),
        Err(error) => format!("{error}, its last line: {last_line}"),
    });
}
