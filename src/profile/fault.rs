//! What breaks, and when.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What breaks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// The standby it happens to.
    pub node: String,
    /// Time from "the standbys have flushed the update" to the fault.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub after: Duration,
    /// How long the standby stays down or cut off before the lab puts it right; zero for a fault of a moment.
    #[serde(default, with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub lasts: Duration,
}

/// The faults the lab can inject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// SIGTERM to the walreceiver, as an administrator's or an out-of-memory killer's would reach it.
    KillWalreceiver,
    /// `pg_terminate_backend` of the walsender that serves the standby, on the primary.
    KillWalsender,
    /// Fast shutdown of the standby, and its start: a planned restart of its machine, caches and all.
    RestartStandby,
    /// SIGKILL of everything on the standby, and its start: a crash of its machine.
    CrashStandby,
    /// The network between the standby and the primary is cut, and restored.
    CutNetwork,
}

/// How a fault goes on after it was injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// It is over at once; the servers put right what it broke.
    Moment,
    /// The standby's server is down until the lab starts it again.
    Down,
    /// The standby cannot reach the primary until the lab restores the network.
    CutOff,
}

impl FaultKind {
    /// Every fault by its name in a profile.
    pub(super) const NAMES: [&'static str; 5] =
        ["kill-walreceiver", "kill-walsender", "restart-standby", "crash-standby", "cut-network"];

    /// How it goes on after it was injected.
    #[must_use]
    pub fn course(self) -> Course {
        match self {
            Self::KillWalreceiver | Self::KillWalsender => Course::Moment,
            Self::RestartStandby | Self::CrashStandby => Course::Down,
            Self::CutNetwork => Course::CutOff,
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::KillWalreceiver => "kill-walreceiver",
            Self::KillWalsender => "kill-walsender",
            Self::RestartStandby => "restart-standby",
            Self::CrashStandby => "crash-standby",
            Self::CutNetwork => "cut-network",
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::tests::quick;
    use super::*;

    #[test]
    fn every_name_is_read_as_the_fault_that_shows_itself_by_it() {
        for name in FaultKind::NAMES {
            let lasts = if name == "cut-network" { "10s" } else { "0s" };
            let fault = quick(&[&format!("fault.kind={name}"), &format!("fault.lasts={lasts}")]).fault;
            assert_eq!(fault.kind.to_string(), name);
        }
    }

    #[test]
    fn a_fault_stored_before_faults_could_last_is_one_of_a_moment() {
        let stored = r#"{"kind": "kill-walreceiver", "node": "standby", "after": "3s"}"#;
        assert_eq!(serde_json::from_str::<Fault>(stored).unwrap().lasts, Duration::ZERO);
    }
}
