//! What a run showed: a pure function of its files.
//!
//! The figures are measured first, each null when it cannot be known. Then what would make the run untrustworthy is
//! looked for; only a sound run is called `stalled` or `no stall`.

mod case;
mod cost;
mod faulted;
mod gaps;
mod hang;
mod outcome;
mod probe;
mod silence;
mod soundness;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod watched;
mod window;

use crate::store::{Event, HangWait, RunInfo, Summary, Timeline, Verdict};

pub(crate) use gaps::Witness;

use case::Case;
use cost::{Cost, Prefetching, UpdateFigures};
use hang::HangReads;

/// Why the verdict is not what it could be, or what to know beside it.
#[derive(Debug, Clone, PartialEq)]
enum Finding {
    /// No verdict can be given because of this.
    Disqualifies(String),
    /// The verdict holds, within this limit.
    Limits(String),
}

/// Judges a run by its files.
///
/// The verdict is `stalled` when commits stood still after the fault for at least the profile's `watch.stall_after`
/// while the faulted standby did not stream; `no stall` when they did not, the standby streamed again and commits
/// flowed at the end; `inconclusive` when the run cannot tell. An uncapped run is judged by the same rule, and its
/// `reasons` say that it was uncapped.
#[must_use]
pub fn judge(run: &RunInfo, timeline: &Timeline, events: &[Event]) -> Summary {
    let case = Case::new(run, timeline, events);
    let reads = HangReads::of(&case);
    let prefetching = Prefetching::of(&case);
    let update = UpdateFigures::of(&case);
    let cost = Cost::of(&case);
    let (outcome, because) = outcome::outcome(&case, &reads);
    let findings: Vec<Finding> = soundness::findings(&case)
        .into_iter()
        .chain(because)
        .chain(reads.findings(&case))
        .chain(prefetching.findings())
        .chain(cost.findings())
        .collect();
    let hang = case.hang();
    Summary {
        verdict: if findings.iter().any(|f| matches!(f, Finding::Disqualifies(_))) {
            Verdict::Inconclusive
        } else {
            outcome
        },
        reasons: in_words(findings),
        standby: run.observed().map(|_| case.faulted().to_owned()),
        probe: probe::counted(&case),
        hang_wait: hang_wait(&case),
        hang_s: rounded(case.hang_s()),
        hang_ended: hang.map(|hang| hang.ended()),
        hang_start_s: rounded(hang.map(|hang| hang.window().from_s)),
        longest_gap_before_fault_s: rounded(case.longest_gap_before_fault_s()),
        time_to_streaming_s: rounded(case.time_to_streaming_s()),
        read_iops_cap: case.read_iops_cap(),
        hang_read_iops_mean: rounded(reads.mean),
        hang_read_iops_median: rounded(reads.median),
        hang_read_iops_peak: rounded(reads.peak),
        hang_reads: reads.reads,
        hang_read_bytes: reads.bytes,
        hang_read_bytes_mean: rounded(reads.bytes_mean()),
        prefetched_blocks: prefetching.blocks,
        prefetched_share: rounded(prefetching.share),
        startup_reads: prefetching.startup_reads,
        lag_at_fault_bytes: case.lag_at_fault_bytes(),
        update_executed_s: rounded(update.executed_s),
        update_s: rounded(update.committed_s),
        update_wal_bytes: update.wal_bytes,
        amplification: rounded(cost.amplification()),
        nodes: cost.nodes,
        rows: timeline.rows.len() as u64,
        missed_ticks: case.missed_ticks(),
    }
}

/// What the startup process of a standby that was only watched waited for: nobody chose what was to hold it up.
fn hang_wait(case: &Case) -> Option<HangWait> {
    case.run.observed()?;
    let (event, share) = outcome::waited_most_for(case, case.long_hang()?)?;
    Some(HangWait { event: event.to_owned(), share: (share * 1e3).round() / 1e3 })
}

/// To the millionth, as the timeline has it, without the noise of binary fractions.
fn rounded(figure: Option<f64>) -> Option<f64> {
    figure.map(|figure| (figure * 1e6).round() / 1e6)
}

/// What disqualifies comes first; of each kind the order stays.
fn in_words(mut findings: Vec<Finding>) -> Vec<String> {
    findings.sort_by_key(|finding| matches!(finding, Finding::Limits(_)));
    findings
        .into_iter()
        .map(|finding| match finding {
            Finding::Disqualifies(reason) | Finding::Limits(reason) => reason,
        })
        .collect()
}
