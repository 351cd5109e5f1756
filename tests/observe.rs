//! `stall-lab observe` on real servers that were set up by hand, through real hangs.
//!
//! Replay is held up by `recovery_min_apply_delay`: once the walreceiver is gone, the standby replays all it has, at its
//! own pace, before it asks for another, and commits hang for as long. Without PostgreSQL on the host the tests say that
//! they are skipped; with `STALL_LAB_REQUIRE_POSTGRES` set that is a failure.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::servers::{Node, Servers};
use serde_json::Value;

/// How long the standby holds replay up.
const DELAY_S: u64 = 12;

/// How long anything may take that is a matter of seconds.
const PROMPT: Duration = Duration::from_secs(90);

/// An `observe` that runs.
struct Observing {
    /// None when it has ended.
    child: Option<Child>,
    out: PathBuf,
}

impl Observing {
    /// Of both servers by this role over checked TLS, with the password from the file.
    fn start(servers: &Servers, role: &str, out: &Path, more: &[&str]) -> Self {
        let (primary, standby) =
            (servers.conninfo(Node::Primary, role), servers.conninfo(Node::Standby, role));
        let mut command = Command::new(env!("CARGO_BIN_EXE_stall-lab"));
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PG")) {
            command.env_remove(name);
        }
        command.env("HOME", servers.home()).args(["observe", "--primary", &primary, "--standby", &standby]);
        command.args(["--stall-after", "5s", "--out"]).arg(out).args(more);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self { child: Some(command.spawn().unwrap()), out: out.to_owned() }
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.as_ref().unwrap().id().to_string();
        let status = Command::new("kill").args([signal, &pid]).status().unwrap();
        assert!(status.success());
    }

    /// Waits until the record has so many rows more than now.
    fn wait_for_rows(&self, more: usize) {
        let rows = || text(&self.out.join("timeline.csv")).lines().count();
        let (before, deadline) = (rows(), Instant::now() + PROMPT);
        while rows() < before + more {
            assert!(Instant::now() < deadline, "no {more} rows more than {before}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until an event of this kind has been written.
    fn wait_for_event(&self, kind: &str) {
        let deadline = Instant::now() + PROMPT;
        while !text(&self.out.join("events.csv")).contains(&format!(",{kind},")) {
            assert!(Instant::now() < deadline, "no {kind} in {}", text(&self.out.join("events.csv")));
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn end(mut self) -> (Output, Value) {
        let output = self.child.take().unwrap().wait_with_output().unwrap();
        for text in [&output.stdout, &output.stderr] {
            let text = String::from_utf8_lossy(text);
            assert!(!text.contains("-secret"), "a password: {text}");
        }
        for file in ["run.json", "timeline.csv", "events.csv", "summary.json", "README.md"] {
            let text = text(&self.out.join(file));
            assert!(!text.is_empty(), "{file}: {}", String::from_utf8_lossy(&output.stderr));
            assert!(!text.contains("-secret"), "a password in {file}");
        }
        assert!(self.out.join("timeline.png").exists());
        let summary = serde_json::from_str(&text(&self.out.join("summary.json"))).unwrap();
        (output, summary)
    }
}

impl Drop for Observing {
    /// One that a failed test leaves behind would go on for ten minutes.
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What is in a file; nothing when it is not there yet.
fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Waits until replay is held up by what was written a moment ago, so that something is left when the receiver goes.
fn kill_the_walreceiver(servers: &Servers) {
    servers.wait_for(Node::Standby, "SELECT pg_last_wal_receive_lsn() > pg_last_wal_replay_lsn()", "t");
    servers.signal_walreceiver("-TERM");
}

/// The hang is what replay was held up for: with what was committed last before the receiver went, at most the delay
/// and the five seconds after which a walreceiver is asked for again.
fn assert_a_hang(summary: &Value) {
    let hang_s = summary["hang_s"].as_f64().unwrap();
    let expected = DELAY_S as f64 - 3.0..=DELAY_S as f64 + 9.0;
    assert_eq!(summary["verdict"], "stalled", "{summary:#}");
    assert!(expected.contains(&hang_s), "{summary:#}");
    assert_eq!(summary["hang_ended"], true, "{summary:#}");
    assert_eq!(summary["hang_wait"]["event"], "Timeout/RecoveryApplyDelay", "{summary:#}");
}

/// A load of its own, a mark by signal, a disk that a command tells of.
fn a_marked_hang(servers: &Servers, results: &Path) {
    let out = results.join("marked");
    let disk = "standby=i=0; while sleep 0.5; do i=$((i+50)); echo \"{\\\"reads_total\\\":$i}\"; done";
    let observing = Observing::start(servers, "monitor", &out, &["--for", "40s", "--disk-command", disk]);
    observing.wait_for_rows(6);
    let mut load = servers.client("pgbench", &["-n", "-c", "4", "-R", "20", "-T", "60"]);
    observing.wait_for_rows(6);
    observing.signal("-USR1");
    kill_the_walreceiver(servers);
    let (output, summary) = observing.end();
    load.kill().unwrap();
    load.wait().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_a_hang(&summary);
    assert_eq!(summary["standby"], "standby", "{summary:#}");
    assert!(summary["lag_at_fault_bytes"].as_u64().unwrap() > 0, "{summary:#}");
    let back_s = summary["time_to_streaming_s"].as_f64().unwrap();
    assert!((back_s - summary["hang_s"].as_f64().unwrap()).abs() < 4.0, "{summary:#}");
    let rate = summary["hang_read_iops_mean"].as_f64().unwrap();
    assert!((80.0..=110.0).contains(&rate), "{summary:#}");
    assert_eq!(summary["missed_ticks"], 0, "{summary:#}");
    let events = text(&out.join("events.csv"));
    for kind in ["fault", "streaming-again", "commits-again"] {
        assert!(events.contains(&format!(",{kind},")), "{kind} is not in {events}");
    }
    let page = text(&out.join("README.md"));
    assert!(page.contains("servers watched, not built by the lab") && page.contains("standby1"), "{page}");
    let run: Value = serde_json::from_str(&text(&out.join("run.json"))).unwrap();
    assert!(run["observed"].is_object() && run["profile"].is_null(), "{run:#}");
    assert_eq!(run["nodes"][1]["settings"]["recovery_min_apply_delay"], format!("{DELAY_S}s"), "{run:#}");
    let settings = run["nodes"].to_string();
    assert!(!settings.contains("primary_conninfo") && !settings.contains("ssl_key_file"), "{settings}");

    // Its files are those of a run: judged and drawn again, they say the same.
    let again = Command::new(env!("CARGO_BIN_EXE_stall-lab")).arg("plot").arg(&out).output().unwrap();
    assert!(again.status.success() && again.stdout.starts_with(b"stalled: no synchronous commit for"));
    assert_eq!(serde_json::from_str::<Value>(&text(&out.join("summary.json"))).unwrap(), summary);
}

/// Nobody writes but the probe, nothing is marked, the primary is restarted in the middle, Ctrl-C ends it.
fn an_idle_primary_restarted_in_the_hang(servers: &Servers, results: &Path) {
    let out = results.join("restarted");
    let probe = ["--probe", "5/s", "--probe-deadline", "2s", "--for", "10m"];
    let observing = Observing::start(servers, "monitor", &out, &probe);
    observing.wait_for_rows(6);
    kill_the_walreceiver(servers);
    observing.wait_for_rows(6);
    servers.restart(Node::Primary);
    observing.wait_for_event("commits-again");
    observing.wait_for_rows(3);
    let table = "SELECT count(*) FROM pg_class WHERE relname LIKE 'stall_lab_probe_%' AND relkind = 'r'";
    assert_eq!(servers.sql(Node::Primary, table), "1");
    observing.signal("-INT");
    let (output, summary) = observing.end();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert_a_hang(&summary);
    assert_eq!(servers.sql(Node::Primary, table), "0", "the table is left");
    let probe = &summary["probe"];
    assert!(probe["acknowledged"].as_u64().unwrap() > 30, "{summary:#}");
    assert!(probe["committed_locally"].as_u64().unwrap() >= 2, "{summary:#}");
    let events = text(&out.join("events.csv"));
    assert!(events.contains(",interrupted,") && events.contains("was started anew"), "{events}");
}

/// A walreceiver that is stopped streams, to look at it, and acknowledges nothing: no stall of replay. Ctrl-C comes while
/// a write of the probe hangs.
fn a_walreceiver_that_hangs(servers: &Servers, results: &Path) {
    let out = results.join("stopped");
    let observing =
        Observing::start(servers, "monitor", &out, &["--probe", "5/s", "--probe-deadline", "60s"]);
    observing.wait_for_rows(4);
    servers.signal_walreceiver("-STOP");
    observing.wait_for_rows(9);
    observing.signal("-INT");
    let (output, summary) = observing.end();
    servers.signal_walreceiver("-CONT");
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(summary["verdict"], "inconclusive", "{summary:#}");
    let reasons = summary["reasons"].to_string();
    assert!(reasons.contains("something other than replay held them back"), "{summary:#}");
    let events = text(&out.join("events.csv"));
    assert!(events.contains("it has committed on the primary alone"), "{events}");
    let table = "SELECT count(*) FROM pg_class WHERE relname LIKE 'stall_lab_probe_%'";
    assert_eq!(servers.sql(Node::Primary, table), "0", "the table is left");
}

/// A role that sees little says what it did not see, and an idle primary is not said to be well.
fn half_visible(servers: &Servers, results: &Path) {
    let out = results.join("plain");
    let observing = Observing::start(servers, "plain", &out, &["--for", "8s"]);
    let (output, summary) = observing.end();
    assert_eq!(summary["verdict"], "inconclusive", "{summary:#}");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("primary: this role may not see who waits"), "{stderr}");
    let timeline = text(&out.join("timeline.csv"));
    let header: Vec<&str> = timeline.lines().next().unwrap().split(',').collect();
    for hidden in ["primary_sync_rep_waiters", "standby_walreceiver_streaming"] {
        let at = header.iter().position(|column| *column == hidden).unwrap();
        let cells: Vec<&str> =
            timeline.lines().skip(1).map(|line| line.split(',').nth(at).unwrap()).collect();
        assert!(cells.iter().all(|cell| cell.is_empty()), "{hidden}: {cells:?}");
    }
}

/// What cannot be watched is said at once, and a folder with a record is left alone.
fn refusals(servers: &Servers, results: &Path) {
    let refused = |primary: &str, standby: &str, more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stall-lab"));
        command.env("HOME", servers.home()).args(["observe", "--primary", primary, "--standby", standby]);
        let output = command.args(["--for", "2s"]).args(more).stdin(Stdio::null()).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let [primary, standby] = [Node::Primary, Node::Standby].map(|node| servers.conninfo(node, "monitor"));
    let taken = results.join("marked").display().to_string();
    let cases: [(&str, &str, &[&str], i32, &str); 5] = [
        (&standby, &standby, &[], 2, "--primary: the server at"),
        (&primary, &primary, &[], 2, "--standby: the server at"),
        (&primary, &standby, &["--out", &taken], 2, "holds a run already"),
        (&primary, &standby, &["--disk-command", "db2=true"], 2, "there is no node db2"),
        (&primary, "host=127.0.0.1 port=1 user=x", &[], 1, "at the start every server has to answer"),
    ];
    for (primary, standby, more, code, what) in cases {
        let (exit, stderr) = refused(primary, standby, more);
        assert!(exit == code && stderr.contains(what), "{exit}: {stderr}");
    }
    let plain = servers.conninfo(Node::Primary, "plain");
    let elsewhere = results.join("refused").display().to_string();
    let (exit, stderr) = refused(&plain, &standby, &["--probe", "1/s", "--out", &elsewhere]);
    assert!(exit == 1 && stderr.contains("--probe: the role needs a schema"), "{exit}: {stderr}");
}

#[test]
fn on_the_hosts_own_postgresql_real_hangs_are_recorded_and_what_is_no_stall_is_not_called_one() {
    let Some(servers) = Servers::of_host() else { return };
    let results = tempfile::tempdir().unwrap();
    servers.write_pgpass();
    servers.sql(Node::Primary, "GRANT CREATE ON SCHEMA public TO monitor");
    let filled = servers.client("pgbench", &["-i", "-q", "-s", "1"]).wait().unwrap();
    assert!(filled.success());
    servers.set(Node::Primary, "synchronous_standby_names", "standby1");
    half_visible(&servers, results.path());
    servers.set(Node::Standby, "recovery_min_apply_delay", &format!("{DELAY_S}s"));
    a_marked_hang(&servers, results.path());
    an_idle_primary_restarted_in_the_hang(&servers, results.path());
    a_walreceiver_that_hangs(&servers, results.path());
    refusals(&servers, results.path());
    if let Some(kept) = std::env::var_os("STALL_LAB_KEEP_OBSERVED") {
        let copied = Command::new("cp").arg("-r").arg(results.path()).arg(kept).status().unwrap();
        assert!(copied.success());
    }
}
