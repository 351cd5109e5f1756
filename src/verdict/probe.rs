//! What became of the lab's own writes on servers that it watched.

use crate::store::{Metric, ProbeSummary};

use super::case::Case;

/// Counted over the whole record; none of a run without such writes.
pub(super) fn counted(case: &Case) -> Option<ProbeSummary> {
    case.run.observed()?.probe_per_s?;
    let primary = case.run.primary();
    let sum = |metric: &Metric| case.timeline.series(primary, metric).map(|(_, count)| count).sum::<f64>();
    // Casts of floats saturate.
    Some(ProbeSummary {
        acknowledged: sum(&Metric::ProbeAcknowledged) as u64,
        committed_locally: sum(&Metric::ProbeLocalCommits) as u64,
        failed: sum(&Metric::ProbeFailed) as u64,
    })
}
