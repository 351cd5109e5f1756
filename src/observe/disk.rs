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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_line_tells_of_what_it_has_and_what_is_no_number_is_refused() {
        let line = r#"{"reads_total": 7, "in_flight": 128, "device": "nvme1n1", "write_iops": null}"#;
        assert_eq!(parse(line).unwrap(), [(Metric::ReadsTotal, 7.0), (Metric::InFlight, 128.0)]);
        for (line, what) in [
            ("reads 7", "no JSON"),
            ("[7]", "no JSON object"),
            ("{}", "none of reads_total"),
            (r#"{"device": "x"}"#, "none of reads_total"),
            (r#"{"reads_total": "7"}"#, "reads_total is \"7\""),
            (r#"{"reads_total": -1}"#, "reads_total is -1"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(what), "{line}: {error}");
        }
    }

    #[test]
    fn a_counter_is_a_rate_over_the_time_between_its_lines_unless_the_line_has_one() {
        let (mut inbox, start) = (Inbox::default(), Instant::now());
        let line = |reads: f64| vec![(Metric::ReadsTotal, reads)];
        inbox.line(line(100.0), start);
        assert_eq!(inbox.fresh, line(100.0));
        inbox.line(line(700.0), start + Duration::from_millis(1_500));
        assert_eq!(inbox.fresh, [(Metric::ReadsTotal, 700.0), (Metric::ReadIops, 400.0)]);
        // Started anew.
        inbox.line(line(5.0), start + Duration::from_secs(2));
        assert_eq!(inbox.fresh, line(5.0));
        let both = vec![(Metric::ReadsTotal, 9.0), (Metric::ReadIops, 3.0)];
        inbox.line(both.clone(), start + Duration::from_secs(3));
        assert_eq!(inbox.fresh, both);
    }

    #[test]
    fn a_command_is_given_with_its_node() {
        let disk: DiskCommand = "standby=sh -c 'a=b'".parse().unwrap();
        assert_eq!((disk.node.as_str(), disk.command.as_str()), ("standby", "sh -c 'a=b'"));
        for wrong in ["standby", "=x", "standby=", "standby= "] {
            assert!(wrong.parse::<DiskCommand>().is_err(), "{wrong}");
        }
    }

    #[tokio::test]
    async fn a_command_fills_the_cells_of_its_node_and_ends_with_all_it_has_started() {
        let dir = tempfile::tempdir().unwrap();
        let pid = dir.path().join("pid");
        let command = format!(
            "sleep 1000 & echo $! > {0}; echo nonsense; echo '{{\"in_flight\": 3}}'; wait",
            pid.display()
        );
        let disk = DiskCommand { node: "standby".to_owned(), command };
        let mut source = DiskSource::start(&disk, &Progress::silent());
        let cells = loop {
            let cells = source.read().await.unwrap();
            if !cells.is_empty() {
                break cells;
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(cells, [(Column::new("standby", Metric::InFlight), Cell::Number(3.0))]);
        assert_eq!(source.read().await.unwrap(), [], "a line counts once");
        drop(source);
        let child = std::fs::read_to_string(pid).unwrap();
        // One that was told to end and is not yet reaped has an empty command line.
        let cmdline = format!("/proc/{}/cmdline", child.trim());
        while std::fs::read(&cmdline).is_ok_and(|command| !command.is_empty()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
