//! The texts of a bundle. Facts in the reports, what was expected apart, and the interpretation apart from both.

mod analysis;
mod expected;
mod report;
mod several;

pub(super) use analysis::analysis;
pub(super) use expected::expected;
pub(super) use report::report;
pub(super) use several::report_of_several;

use super::redact::Counts;
use crate::profile::{FaultKind, Profile};
use crate::store::RunInfo;

/// What the fault was, as the end of "then ...".
fn fault(profile: &Profile) -> String {
    let node = &profile.fault.node;
    match profile.fault.kind {
        FaultKind::KillWalreceiver => format!("SIGTERM to the walreceiver of {node}"),
        FaultKind::KillWalsender => {
            format!("`pg_terminate_backend`, on the primary, of the walsender that served {node}")
        }
        FaultKind::RestartStandby => format!("fast shutdown of {node}, and its start"),
        FaultKind::CrashStandby => format!("SIGKILL of all processes of {node}, and its start"),
        FaultKind::CutNetwork => format!("the network between the primary and {node} was cut, and restored"),
    }
}

/// A setting of a node as its server reported it; none where it is the default.
fn setting<'a>(run: &'a RunInfo, node: &str, name: &str) -> Option<&'a str> {
    let node = run.nodes.iter().find(|candidate| candidate.name == node)?;
    node.settings.get(name).map(String::as_str)
}

/// Does WAL of the primary carry full-page images. It does by default.
fn has_images(run: &RunInfo) -> bool {
    setting(run, run.primary(), "full_page_writes") != Some("off")
}

/// Did the standby of the figures prefetch. It does by default.
fn prefetches(run: &RunInfo, standby: &str) -> bool {
    let is_off = |name: &str, off: &str| setting(run, standby, name) == Some(off);
    !is_off("recovery_prefetch", "off") && !is_off("maintenance_io_concurrency", "0")
}

/// What was taken out of the files.
fn redaction(redacted: &Counts) -> String {
    let what = "Passwords, host names, addresses, paths in a home and temporary paths are taken out of every file and \
                log; in their place stands `[password]` and so on.";
    let counts: Vec<String> = redacted.iter().map(|(kind, count)| format!("{kind}: {count}")).collect();
    let counts = if counts.is_empty() { "nothing was found".to_owned() } else { counts.join(", ") };
    format!("{what} Taken out: {counts}.\n")
}
