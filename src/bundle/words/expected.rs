//! `expected.md`: what the server should have done, and what `repro.sh` should show.

use crate::bundle::part::Part;
use crate::human;
use crate::report::{faulted, or_none, or_not_known};
use crate::store::{RunInfo, Verdict};

use super::{has_images, prefetches};

/// What was expected.
pub(in crate::bundle) fn expected(part: &Part) -> String {
    let run = &part.analysed.run;
    let stall_after = human::seconds(run.stall_after().as_secs_f64());
    format!(
        "# What was expected\n\n\
         After the fault the standby connects again and commits go on within seconds. A gap of {stall_after} or longer \
         without a commit is called a stall.\n\n{}\n## What repro.sh should show\n\n{}",
        why(run, faulted(run, &part.analysed.summary)),
        script(part)
    )
}

/// What the documentation lets one expect of the reads.
fn why(run: &RunInfo, standby: &str) -> String {
    if !has_images(run) {
        return "`full_page_writes` is off: replay has to read the pages that it changes, prefetched or not.\n"
            .to_owned();
    }
    if !prefetches(run, standby) {
        return "Nothing is prefetched on this standby, and with full-page images in its WAL replay has next to nothing \
                to read.\n"
            .to_owned();
    }
    "The documentation says of `recovery_prefetch` that it prefetches blocks \"that are not yet in the buffer pool\", \
     and that this \"can reduce I/O wait times during recovery\"; of `pg_stat_recovery_prefetch.skip_fpw`, that it \
     counts blocks \"not prefetched because a full page image was included in the WAL\". So no read is expected for a \
     page whose full-page image precedes in the same WAL: replay overwrites such a page whole. With \
     `recovery_prefetch = off` replay makes no such read.\n"
        .to_owned()
}

fn script(part: &Part) -> String {
    let (run, summary) = (&part.analysed.run, &part.analysed.summary);
    if let Err(why) = &part.script {
        return format!("There is none for this run: {why}.\n");
    }
    match summary.verdict {
        Verdict::Stalled => format!(
            "- `stalled=yes`; the run had {} without a commit. On another machine it may be longer or shorter: replay \
             goes on between the update and the fault.\n\
             - the standby's reads a second, in that time, at the cap ({}), within a few per cent; the run had {}\n\
             - blocks prefetched: about {}\n\
             - the startup process waits for `DataFilePrefetch`\n",
            or_not_known(summary.hang_s, human::seconds),
            or_none(summary.read_iops_cap),
            or_not_known(summary.hang_read_iops_mean, human::rate),
            or_not_known(summary.prefetched_blocks, human::count)
        ),
        Verdict::NoStall => format!(
            "- `stalled=no`: no gap without a commit of {} or longer after the fault\n- blocks prefetched: about {}\n",
            human::seconds(run.stall_after().as_secs_f64()),
            or_not_known(summary.prefetched_blocks, human::count)
        ),
        Verdict::Inconclusive => {
            "The run was inconclusive: what the script should show is not known from it.\n".to_owned()
        }
    }
}
