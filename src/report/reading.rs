//! What a reader of the page must know to draw no wrong conclusion.

use super::observed;
use crate::store::RunInfo;

/// How to read the figures. The mechanism is that of PostgreSQL 15 to 19 (`xlogprefetcher.c`).
const MECHANISM: &str = "\
- A commit waits until its standby has flushed its WAL. While the walreceiver lives, slow replay holds no commit up. \
Once it is gone, the startup process first replays all the WAL it has and only then asks for a new one; until then \
every commit waits (`IPC/SyncRep`). So the hang lasts as long as replay of what was left takes.
- Why replay is slow with `recovery_prefetch` at `try` or `on`: the first change of a page after a checkpoint carries \
a full-page image, and the prefetcher passes that reference over (`skip_fpw`). It does prefetch the next reference to \
the same page, though replay will have overwritten the page whole from the image by then. Such reads help nobody, and \
where reads are capped they set the pace.
- Prefetched blocks and reads of the disk then climb together, while the reads of the startup process itself stay flat: \
`pg_stat_io` does not count advice. They are not one to one: advice for a page that the operating system has makes no \
read, and WAL that memory could not keep until its replay is read as well, in larger pieces.
";

/// The same of what only a run of the lab has.
const OF_THE_LAB: &str = "\
- Slow commits between the update and the fault are a different thing from the hang: there a commit's WAL waits in the \
stream behind the update's. The two are never added up.
- After a hang pgbench works off what its rate limit had let queue up: that burst is no throughput of the server.
- 1 kB is 1,024 bytes. `timeline.csv` has every second, `summary.json` every figure, `logs/` the servers' logs.
";

/// How to read the figures of this run.
pub(crate) fn reading(run: &RunInfo) -> String {
    let rest = if run.observed().is_some() { observed::READING } else { OF_THE_LAB };
    format!("{MECHANISM}{rest}")
}

/// What the run cannot show.
pub(crate) fn limitations(run: &RunInfo) -> String {
    if run.observed().is_some() {
        return observed::LIMITATIONS.to_owned();
    }
    let mut text = String::new();
    if !run.is_uncapped() {
        text +=
            "- Reads and writes are capped apart; a cloud volume usually counts both against one limit.\n";
        if run.platform.as_ref().is_some_and(|platform| platform.cgroup_version == "1") {
            text += "- cgroup v1 does not throttle buffered write-back: reads, direct and synchronous writes are held \
                     to their cap, what the kernel writes back later is not.\n";
        }
    } else {
        text += "- UNCAPPED: no disk of this run was held to anything.\n";
    }
    text += "- The nodes share one machine: its CPUs and its disk can limit them before their own caps do. Times \
             belong to this machine; ratios, counters and shapes carry over.\n\
             - Commits are seen once a second: the hang is known to about a second at each end.\n\
             - This is one run: how far a repetition would differ is not known from it.\n";
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::verdict::testing::Story;

    #[test]
    fn limits_of_the_throttle_are_told_where_they_apply() {
        let mut run = Story::stalled().run;
        assert!(limitations(&run).contains("cgroup v1"));
        run.platform.as_mut().unwrap().cgroup_version = "2".to_owned();
        assert!(!limitations(&run).contains("cgroup"));
        run.capped = Some(false);
        assert!(!limitations(&run).contains("capped apart"));
    }
}
