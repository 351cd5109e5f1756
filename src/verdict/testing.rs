//! Runs made up for tests: a row a second, each with what the reference setup would show, in small.

#![allow(clippy::unwrap_used)]

use std::ops::RangeInclusive;

use crate::profile::Settings;
use crate::store::{
    CapProof, Cell, Column, Event, EventKind, Metric, NodeInfo, Phase, Platform, Role, Row, RunInfo, Server,
    Subject, Timeline,
};

/// The fault comes half way through this second.
pub(crate) const FAULT_S: f64 = 40.5;
/// End of WAL before the update, and after it.
const WAL_BEFORE: u64 = 1 << 30;
const WAL_AFTER: u64 = WAL_BEFORE + (300 << 20);
/// The cap on reads of every node.
pub(crate) const CAP: u64 = 200;

/// A made-up run: 140 s, the update from 10 s to 30 s, the fault at 40.5 s.
pub(crate) struct Story {
    pub run: RunInfo,
    pub timeline: Timeline,
    pub events: Vec<Event>,
}

impl Story {
    /// `recovery_prefetch=try`: no commit from 41 s to 121 s, reads at the cap.
    pub fn stalled() -> Self {
        let mut story = Self::quiet("try");
        story.number("primary", &Metric::Tps, 42..=121, 0.0);
        story.number("standby", &Metric::Walreceiver, 41..=121, 0.0);
        story.number("standby", &Metric::WalreceiverStreaming, 41..=121, 0.0);
        story.counter("standby", &Metric::ReadsTotal, |t| rate_between(t, 12.0, 121.0, 200.0));
        story.counter("standby", &Metric::ReadBytesTotal, |t| rate_between(t, 12.0, 121.0, 200.0 * 8192.0));
        story.counter("standby", &Metric::prefetched(), |t| rate_between(t, 12.0, 121.0, 210.0));
        story.counter("standby", &Metric::ReplayLsn, |t| {
            WAL_BEFORE as f64 + rate_between(t, 12.0, 121.0, (300 << 20) as f64 / 109.0)
        });
        story.counter("standby", &Metric::LagBytes, |t| {
            rate_between(t, 10.0, 30.0, (15 << 20) as f64)
                - rate_between(t, 12.0, 121.0, (300 << 20) as f64 / 109.0)
        });
        story.text("standby", &Metric::StartupWait, 12..=121, "IO/DataFilePrefetch");
        story.event(121.3, EventKind::StreamingAgain, Some("standby"), None, "the walreceiver streams");
        story.event(121.6, EventKind::CommitsAgain, Some("primary"), None, "140 transactions in a second");
        story
    }

    /// `recovery_prefetch=off`: the standby replays as it receives, and streams again within a second.
    pub fn no_stall() -> Self {
        let mut story = Self::quiet("off");
        story.number("primary", &Metric::Tps, 42..=42, 0.0);
        story.number("standby", &Metric::Walreceiver, 41..=41, 0.0);
        story.number("standby", &Metric::WalreceiverStreaming, 41..=41, 0.0);
        story.event(41.7, EventKind::StreamingAgain, Some("standby"), None, "the walreceiver streams");
        story
    }

    /// What both arms share, with a standby that follows without reading.
    fn quiet(arm: &str) -> Self {
        let rows = (1..=140).map(|tick| Row {
            tick,
            t_s: tick as f64,
            unix_s: 1_796_060_000.0 + tick as f64,
            phase: phase(tick),
            cells: std::iter::empty().collect(),
        });
        let mut story = Self {
            run: run(arm),
            timeline: Timeline { columns: Vec::new(), rows: rows.collect() },
            events: Vec::new(),
        };
        story.number("primary", &Metric::Tps, 1..=140, 5.0);
        for node in ["primary", "standby"] {
            story.counter(node, &Metric::WritesTotal, |t| t * 50.0);
            story.counter(node, &Metric::WriteBytesTotal, |t| t * 50.0 * 16_384.0);
            story.counter(node, &Metric::CpuSecondsTotal, |t| t * 0.25);
        }
        story.counter("primary", &Metric::ReadsTotal, |t| rate_between(t, 10.0, 30.0, 40.0));
        story.counter("primary", &Metric::ReadBytesTotal, |t| rate_between(t, 10.0, 30.0, 40.0 * 131_072.0));
        story.counter("standby", &Metric::ReadsTotal, |_| 0.0);
        story.counter("standby", &Metric::ReadBytesTotal, |_| 0.0);
        story.number("standby", &Metric::Walreceiver, 1..=140, 1.0);
        story.number("standby", &Metric::WalreceiverStreaming, 1..=140, 1.0);
        story.number("standby", &Metric::ReplayPaused, 1..=140, 0.0);
        story.number("standby", &Metric::LagBytes, 1..=140, -64.0);
        story.counter("standby", &Metric::StartupReadsTotal, |_| 12.0);
        story.counter("standby", &Metric::ReplayLsn, |t| {
            WAL_BEFORE as f64 + rate_between(t, 10.0, 30.0, (15 << 20) as f64)
        });
        for (column, a_second) in [
            ("prefetch", 0.0),
            ("hit", 40.0),
            ("skip_init", 10.0),
            ("skip_new", 0.0),
            ("skip_fpw", 170.0),
            ("skip_rep", 1000.0),
        ] {
            let metric = Metric::RecoveryPrefetch(column.to_owned());
            story.counter("standby", &metric, |t| rate_between(t, 12.0, 121.0, a_second));
        }
        story.shared_events();
        story
    }

    fn shared_events(&mut self) {
        self.event(1.0, EventKind::Phase, None, None, "baseline");
        self.event(10.0, EventKind::UpdateStarted, None, Some(WAL_BEFORE), "5 % of pgbench_accounts");
        self.event(29.0, EventKind::UpdateExecuted, None, Some(WAL_AFTER), "100,000 rows");
        self.event(30.0, EventKind::UpdateCommitted, None, Some(WAL_AFTER), "");
        self.event(FAULT_S, EventKind::Fault, Some("standby"), None, "SIGTERM to the walreceiver, pid 41");
        self.event(
            40.8,
            EventKind::FaultVerified,
            Some("standby"),
            None,
            "the log says \"terminating walreceiver process due to administrator command\"; the postmaster lives",
        );
        self.concluded(140.5);
    }

    /// Puts a number into these rows.
    pub fn number(&mut self, node: &str, metric: &Metric, ticks: RangeInclusive<u64>, value: f64) {
        self.fill(node, metric, ticks, |_| Cell::Number(value));
    }

    /// Puts a word into these rows.
    pub fn text(&mut self, node: &str, metric: &Metric, ticks: RangeInclusive<u64>, value: &str) {
        self.fill(node, metric, ticks, |_| Cell::Text(value.to_owned()));
    }

    /// Empties these rows.
    pub fn blank(&mut self, node: &str, metric: &Metric, ticks: RangeInclusive<u64>) {
        self.fill(node, metric, ticks, |_| Cell::Empty);
    }

    /// Puts a function of the time into every row.
    pub fn counter(&mut self, node: &str, metric: &Metric, value: impl Fn(f64) -> f64) {
        self.fill(node, metric, 1..=140, |t_s| Cell::Number(value(t_s)));
    }

    fn fill(&mut self, node: &str, metric: &Metric, ticks: RangeInclusive<u64>, cell: impl Fn(f64) -> Cell) {
        let column = Column::new(node, metric.clone());
        if !self.timeline.columns.contains(&column) {
            self.timeline.columns.push(column.clone());
        }
        for row in self.timeline.rows.iter_mut().filter(|row| ticks.contains(&row.tick)) {
            row.cells.insert(column.clone(), cell(row.t_s));
        }
    }

    /// Adds an event in its place by time.
    pub fn event(&mut self, t_s: f64, kind: EventKind, node: Option<&str>, lsn: Option<u64>, detail: &str) {
        let at = self.events.partition_point(|event| event.t_s <= t_s);
        let event = Event {
            t_s,
            unix_s: 1_796_060_000.0 + t_s,
            kind,
            node: node.map(str::to_owned),
            lsn,
            detail: detail.to_owned(),
        };
        self.events.insert(at, event);
    }

    /// Takes all events of this kind out.
    pub fn without(mut self, kind: EventKind) -> Self {
        self.events.retain(|event| event.kind != kind);
        self
    }

    /// Ends the run after this second, as a run ends.
    pub fn cut_after(self, t_s: f64) -> Self {
        let mut story = self.killed_after(t_s);
        story.concluded(t_s);
        story
    }

    /// Ends the files after this second, and nothing more.
    pub fn killed_after(mut self, t_s: f64) -> Self {
        self.timeline.rows.retain(|row| row.t_s <= t_s);
        self.events.retain(|event| event.t_s <= t_s);
        self
    }

    fn concluded(&mut self, t_s: f64) {
        self.event(t_s, EventKind::Concluded, None, None, "the servers' logs and states were looked at");
    }
}

/// What a counter shows at `t` that rises by `a_second` between two moments.
fn rate_between(t: f64, from: f64, to: f64, a_second: f64) -> f64 {
    (t.clamp(from, to) - from) * a_second
}

fn phase(tick: u64) -> Phase {
    match tick {
        0..=10 => Phase::Baseline,
        11..=30 => Phase::Update,
        31..=40 => Phase::Flush,
        41..=122 => Phase::Recovery,
        _ => Phase::Tail,
    }
}

const PROFILE: &str = r#"
description = "in small"
[workload]
scale = 20
rate_tps = 5.0
clients = 2
baseline = "9s"
[update]
fraction = 0.05
batches = 1
batch_interval = "0s"
flush_deadline = "1m"
[fault]
kind = "kill-walreceiver"
node = "standby"
after = "3s"
[synchronous]
method = "FIRST"
count = 1
[postgres]
data_checksums = true
[primary]
cpus = 2.0
memory = "2GB"
shm = "256MB"
read_iops = 200
write_iops = 200
read_ahead_kb = 128
[[standby]]
name = "standby"
cpus = 2.0
memory = "2GB"
shm = "256MB"
read_iops = 200
write_iops = 200
read_ahead_kb = 128
[watch]
deadline = "10m"
tail = "15s"
stall_after = "10s"
"#;

fn run(arm: &str) -> RunInfo {
    let settings = |own: &[(&str, &str)]| -> Settings {
        [("max_wal_size", "32GB"), ("shared_buffers", "128MB")]
            .iter()
            .chain(own)
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    };
    let node = |name: &str, role, settings| NodeInfo {
        name: name.to_owned(),
        role,
        read_iops_cap: Some(CAP),
        write_iops_cap: Some(CAP),
        cap_proof: Some(CapProof { read_iops: 200.4, reads: 601, seconds: 3.0 }),
        read_ahead_kb: Some(128),
        settings,
        defaults: [].into(),
    };
    RunInfo {
        schema: RunInfo::SCHEMA,
        run_id: format!("20261130T173320Z-{arm}"),
        profile_name: "quick".to_owned(),
        arm: arm.to_owned(),
        started: "2026-11-30T17:33:20Z".parse().unwrap(),
        command_line: ["target/release/stall-lab", "repro", "--prefetch", arm, "--profile", "quick"]
            .map(str::to_owned)
            .to_vec(),
        lab_version: "0.1.0".to_owned(),
        git_revision: Some("586edf3".to_owned()),
        capped: Some(true),
        subject: Subject::Profile(toml::from_str(PROFILE).unwrap()),
        server: Server {
            version: "18.6 (Debian 18.6-3)".to_owned(),
            version_num: 180_006,
            image: Some("postgres:18".to_owned()),
            image_id: Some("sha256:3f1b2c".to_owned()),
            source: "the official image".to_owned(),
            note: None,
            build: None,
            unknown_settings: vec![],
        },
        platform: Some(Platform {
            engine: "Docker Engine 20.10.24".to_owned(),
            api_version: "1.41".to_owned(),
            kernel: "6.18.0".to_owned(),
            os: "Debian GNU/Linux 13 (trixie)".to_owned(),
            arch: "x86_64".to_owned(),
            cgroup_version: "1".to_owned(),
            cgroup_driver: "cgroupfs".to_owned(),
            storage_driver: "overlay2".to_owned(),
            cpus: Some(2),
            memory_bytes: Some(24 << 30),
        }),
        nodes: vec![
            node("primary", Role::Primary, settings(&[("synchronous_standby_names", "FIRST 1 (standby)")])),
            node("standby", Role::Standby, settings(&[("recovery_prefetch", arm)])),
        ],
    }
}
