//! What a server's log has to say about the soundness of a run.

use std::path::Path;

use super::node::node_of;
use crate::docker::Engine;
use crate::docker::labels::{Kind, Selector};
use crate::experiment::{Finding, Severity};

/// Writes each server's whole log to `<dir>/<node>.log`, of whatever nodes of the run there are.
pub(super) async fn save(engine: &Engine, run_id: &str, dir: &Path) -> anyhow::Result<()> {
    for container in engine.containers(&Selector::run(run_id).kind(Kind::Node)).await? {
        let node = node_of(run_id, &container.name).unwrap_or(&container.name);
        let mut file = tokio::fs::File::create(dir.join(format!("{node}.log"))).await?;
        engine.save_logs(&container.name, &mut file).await?;
    }
    Ok(())
}

/// Written by a walreceiver that is told to stop, and by no other cause.
pub(super) const WALRECEIVER_TERMINATED: &str =
    "terminating walreceiver process due to administrator command";

/// Written by a backend, a walsender included, that `pg_terminate_backend` ends.
pub(super) const BACKEND_TERMINATED: &str = "terminating connection due to administrator command";

/// Written at the end of an orderly shutdown.
pub(super) const SHUT_DOWN: &str = "database system is shut down";

/// Written by a standby that starts again, after a shutdown (`was shut down in recovery at`) as after a crash (`was
/// interrupted while in recovery at log time`); not by one that starts for the first time.
pub(super) const BEGAN_IN_RECOVERY: &str = "in recovery at";

/// Written by a walreceiver that begins to stream, each time.
pub(super) const BEGAN_TO_STREAM: &str = "started streaming WAL from primary";

/// With the LSN: where replay begins, at the last restartpoint.
pub(super) const REDO_STARTS_AT: &str = "redo starts at ";

/// What is looked for, what it means, and how it is said.
const SIGNS: [(&str, Severity, &str); 9] = [
    ("was terminated by signal", Severity::Disqualifying, "a process of the server was killed"),
    (
        "all server processes terminated; reinitializing",
        Severity::Disqualifying,
        "the server restarted itself",
    ),
    ("PANIC:", Severity::Disqualifying, "the server panicked"),
    ("No space left on device", Severity::Disqualifying, "its disk was full"),
    ("was not properly shut down", Severity::Disqualifying, "the server started after a crash"),
    ("hot standby is not possible because of insufficient", Severity::Disqualifying, "a setting was too low"),
    ("recovery has paused", Severity::Disqualifying, "replay was paused"),
    ("due to conflict with recovery", Severity::Note, "a query was cancelled by a recovery conflict"),
    ("recovery still waiting", Severity::Note, "replay waited for a recovery conflict"),
];

/// The signs found in a log that is read line by line: each once, with the first line that shows it.
#[derive(Debug, Default)]
pub(super) struct Reading {
    first: [Option<String>; SIGNS.len()],
}

impl Reading {
    /// The next line.
    pub(super) fn line(&mut self, line: &str) {
        for ((sign, ..), first) in SIGNS.iter().zip(&mut self.first) {
            if first.is_none() && line.contains(sign) {
                *first = Some(line.trim().to_owned());
            }
        }
    }

    /// What they say of this node.
    pub(super) fn findings(self, node: &str) -> Vec<Finding> {
        let found = SIGNS.iter().zip(self.first);
        found
            .filter_map(|((_, severity, meaning), line)| {
                Some(Finding {
                    node: node.to_owned(),
                    severity: *severity,
                    what: format!("{meaning}; its log says: {}", line?),
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings<'a>(node: &str, lines: impl Iterator<Item = &'a str>) -> Vec<Finding> {
        let mut reading = Reading::default();
        lines.for_each(|line| reading.line(line));
        reading.findings(node)
    }

    #[test]
    fn an_ordinary_log_with_a_terminated_walreceiver_says_nothing() {
        let log = [
            "2026-11-30 19:00:01.123 UTC [1] postmaster: LOG:  database system is ready to accept read-only connections",
            "2026-11-30 19:00:09.001 UTC [41] walreceiver: FATAL:  terminating walreceiver process due to administrator command",
            "2026-11-30 19:00:09.002 UTC [26] startup: LOG:  invalid record length at 0/1A000060: expected at least 24, got 0",
        ];
        assert_eq!(findings("standby", log.into_iter()), []);
        assert!(log.iter().any(|line| line.contains(WALRECEIVER_TERMINATED)));
    }

    #[test]
    fn what_disqualifies_and_what_is_only_to_be_known_are_told_apart() {
        let log = [
            "LOG:  recovery still waiting after 1000.123 ms: recovery conflict on snapshot",
            "LOG:  startup process (PID 26) was terminated by signal 9: Killed",
            "LOG:  startup process (PID 27) was terminated by signal 9: Killed",
        ];
        let found = findings("standby", log.into_iter());
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].severity, Severity::Disqualifying);
        assert!(found[0].what.contains("PID 26"), "{}", found[0].what);
        assert_eq!(found[1].severity, Severity::Note);
    }
}
