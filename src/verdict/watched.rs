//! The made-up stalled run as it would be recorded of servers that the lab only watched.

use std::time::Duration;

use super::testing::{FAULT_S, Story};
use crate::store::{EventKind, Metric, Observed, ObservedServer, Phase, Subject};

impl Story {
    /// With a mark where the fault was; no disk tells of itself, and a load that nobody offered.
    pub fn watched() -> Self {
        let mut story = Self::stalled();
        story.run.profile_name = "observed".to_owned();
        story.run.arm = "observed".to_owned();
        story.run.command_line =
            ["stall-lab", "observe", "--primary", "<db1:5432>", "--standby", "<db2:5432>"]
                .map(str::to_owned)
                .to_vec();
        story.run.capped = None;
        story.run.platform = None;
        story.run.server.image = None;
        story.run.server.image_id = None;
        story.run.server.source = "not built by the lab".to_owned();
        for node in &mut story.run.nodes {
            (node.read_iops_cap, node.write_iops_cap) = (None, None);
            (node.cap_proof, node.read_ahead_kb) = (None, None);
        }
        let server = |node: &str, address: &str, name: Option<&str>, hidden: &[&str]| ObservedServer {
            node: node.to_owned(),
            address: address.to_owned(),
            version: "18.6".to_owned(),
            application_name: name.map(str::to_owned),
            hidden: hidden.iter().map(|what| (*what).to_owned()).collect(),
        };
        story.run.subject = Subject::Observed(Observed {
            servers: vec![
                server("primary", "db1:5432", None, &[]),
                server("standby", "db2:5432", Some("db2"), &[]),
            ],
            synchronous_standby_names: Some("ANY 1 (db2, db3)".to_owned()),
            length: Duration::from_secs(1_800),
            stall_after: Duration::from_secs(10),
            probe_per_s: None,
        });
        for node in ["primary", "standby"] {
            for metric in [Metric::ReadsTotal, Metric::ReadBytesTotal, Metric::WritesTotal] {
                story.blank(node, &metric, 1..=140);
            }
        }
        story.counter("primary", &Metric::WalLsn, |t| (1_u64 << 30) as f64 + t * 1e6);
        story.number("primary", &Metric::SyncRepWaiters, 1..=140, 0.0);
        story.number("primary", &Metric::SyncRepWaitS, 1..=140, 0.0);
        story.number("primary", &Metric::SyncStandbys, 1..=140, 1.0);
        story.number("primary", &Metric::SyncStandbys, 41..=121, 0.0);
        for second in 42..=121_u64 {
            story.number(
                "primary",
                &Metric::SyncRepWaiters,
                second..=second,
                4.0_f64.min((second - 41) as f64),
            );
            story.number("primary", &Metric::SyncRepWaitS, second..=second, (second - 41) as f64);
        }
        story
            .events
            .retain(|event| matches!(event.kind, EventKind::StreamingAgain | EventKind::CommitsAgain));
        story.timeline.rows.iter_mut().for_each(|row| row.phase = Phase::Observed);
        story.event(0.0, EventKind::Phase, None, None, "observed");
        story.event(FAULT_S, EventKind::Fault, None, None, "marked by Enter");
        story
    }
}
