//! Reads and writes of a disk, from a command that the user gives.
//!
//! The command runs for as long as the servers are watched and prints a line of JSON whenever it has something to say,
//! with any of the keys `reads_total`, `read_bytes_total`, `writes_total`, `write_bytes_total` (counters that only
//! grow), `in_flight`, `read_iops` and `write_iops`. Rates are made of counters by the time between their lines. A
//! command that ends is started again, a while later.

use std::process::{ExitStatus, Stdio};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::measure::Source;
use crate::progress::Progress;
use crate::store::{Cell, Column, Metric};

/// How long after its end a command is started again: one that fails at once is no storm of processes.
const AGAIN: Duration = Duration::from_secs(10);

/// Complaints about one command that are shown: the first tells, a thousand more do not tell more.
const COMPLAINTS: u32 = 3;

/// `NODE=COMMAND`: what tells of the disk of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskCommand {
    /// The node.
    pub node: String,
    /// A command for `sh -c`.
    pub command: String,
}

impl FromStr for DiskCommand {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((node, command)) if !node.is_empty() && !command.trim().is_empty() => {
                Ok(Self { node: node.to_owned(), command: command.to_owned() })
            }
            _ => Err("it is NODE=COMMAND, as in standby=./diskstats.sh".to_owned()),
        }
    }
}

/// The columns that a command can fill.
const METRICS: [Metric; 7] = [
    Metric::ReadsTotal,
    Metric::ReadBytesTotal,
    Metric::WritesTotal,
    Metric::WriteBytesTotal,
    Metric::InFlight,
    Metric::ReadIops,
    Metric::WriteIops,
];

/// What a line says; an error when it says nothing of a disk.
fn parse(line: &str) -> Result<Vec<(Metric, f64)>, String> {
    let value: Value = serde_json::from_str(line).map_err(|error| format!("no JSON ({error})"))?;
    let Value::Object(object) = value else { return Err("no JSON object".to_owned()) };
    let mut told = Vec::new();
    for metric in METRICS {
        match object.get(&metric.name()) {
            None | Some(Value::Null) => {}
            Some(value) => {
                let number = value.as_f64().filter(|number| number.is_finite() && *number >= 0.0);
                told.push((metric.clone(), number.ok_or_else(|| format!("{} is {value}", metric.name()))?));
            }
        }
    }
    if told.is_empty() {
        let keys = METRICS.map(|metric| metric.name()).join(", ");
        return Err(format!("none of {keys}"));
    }
    Ok(told)
}

/// The last line, until the sampler takes it, and the counters of the line before.
#[derive(Debug, Default)]
struct Inbox {
    fresh: Vec<(Metric, f64)>,
    before: Vec<(Metric, f64)>,
    before_at: Option<Instant>,
}

impl Inbox {
    /// Takes a line that arrived at `at`. What is a rate in it stays one; a counter becomes a rate as well.
    fn line(&mut self, told: Vec<(Metric, f64)>, at: Instant) {
        let value = |told: &[(Metric, f64)], metric: &Metric| {
            told.iter().find(|(known, _)| known == metric).map(|(_, value)| *value)
        };
        let mut fresh = told.clone();
        for (total, rate) in
            [(Metric::ReadsTotal, Metric::ReadIops), (Metric::WritesTotal, Metric::WriteIops)]
        {
            let grown = || Some(value(&told, &total)? - value(&self.before, &total)?);
            let seconds = self.before_at.map_or(0.0, |before| (at - before).as_secs_f64());
            if value(&told, &rate).is_none()
                && let Some(grown) = grown().filter(|grown| *grown >= 0.0 && seconds > 0.0)
            {
                fresh.push((rate, grown / seconds));
            }
        }
        (self.fresh, self.before, self.before_at) = (fresh, told, Some(at));
    }
}

/// A command as a source of the sampler. Dropped, it ends the command.
#[derive(Debug)]
pub(super) struct DiskSource {
    node: String,
    inbox: Arc<Mutex<Inbox>>,
    running: JoinHandle<()>,
}

impl DiskSource {
    /// Starts the command. What is wrong with it is told to `progress`, and costs its own cells alone.
    pub fn start(disk: &DiskCommand, progress: &Progress) -> Self {
        let inbox = Arc::new(Mutex::new(Inbox::default()));
        let running = tokio::spawn(keep_running(disk.clone(), Arc::clone(&inbox), progress.clone()));
        Self { node: disk.node.clone(), inbox, running }
    }
}

impl Drop for DiskSource {
    fn drop(&mut self) {
        self.running.abort();
    }
}

async fn keep_running(disk: DiskCommand, inbox: Arc<Mutex<Inbox>>, progress: Progress) {
    let mut complaints = 0;
    let mut complain = |what: String| {
        complaints += 1;
        if complaints <= COMPLAINTS {
            progress.note(&format!("disk command of {}: {what}", disk.node));
        }
    };
    loop {
        match run_once(&disk.command, &inbox, &mut complain).await {
            Ok(status) => complain(format!("it ended ({status}); it is started again in {AGAIN:?}")),
            Err(error) => complain(format!("it cannot be run: {error}")),
        }
        sleep(AGAIN).await;
    }
}

async fn run_once(
    command: &str,
    inbox: &Mutex<Inbox>,
    complain: &mut impl FnMut(String),
) -> std::io::Result<ExitStatus> {
    // A group of its own: what the shell starts ends with it. What it says on stderr is for the user.
    let child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let mut running = Running { child };
    if let Some(stdout) = running.child.stdout.take() {
        listen(stdout, inbox, complain).await?;
    }
    running.child.wait().await
}

async fn listen(
    stdout: impl AsyncRead + Unpin,
    inbox: &Mutex<Inbox>,
    complain: &mut impl FnMut(String),
) -> std::io::Result<()> {
    let mut lines = BufReader::new(stdout).lines();
    while let Some(line) = lines.next_line().await? {
        if line.trim().is_empty() {
            continue;
        }
        match parse(&line) {
            Ok(told) => inbox.lock().unwrap_or_else(PoisonError::into_inner).line(told, Instant::now()),
            Err(what) => complain(format!("it printed {line:?}: {what}")),
        }
    }
    Ok(())
}

/// A command that runs in a process group of its own, which goes when this goes.
struct Running {
    child: Child,
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(pid) = self.child.id().filter(|_| matches!(self.child.try_wait(), Ok(None))) else { return };
        // There is no safe call for it in the standard library; a failure means that the group is gone.
        let _ = std::process::Command::new("kill")
            .args(["-TERM", "--", &format!("-{pid}")])
            .stderr(Stdio::null())
            .status();
    }
}

#[async_trait]
impl Source for DiskSource {
    fn name(&self) -> String {
        format!("disk command of {}", self.node)
    }

    fn columns(&self) -> Vec<Column> {
        METRICS.map(|metric| Column::new(&self.node, metric)).into()
    }

    async fn read(&mut self) -> anyhow::Result<Vec<(Column, Cell)>> {
        let fresh = std::mem::take(&mut self.inbox.lock().unwrap_or_else(PoisonError::into_inner).fresh);
        Ok(fresh
            .into_iter()
            .map(|(metric, value)| (Column::new(&self.node, metric), Cell::Number(value)))
            .collect())
    }
}
