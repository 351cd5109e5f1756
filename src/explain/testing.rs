//! A made-up run with an account of its WAL.

use crate::store::{BlockCounts, Metric, RelationCounts, Stretch, Summary, WalAccount, WalModel, WalRange};
use crate::verdict::judge;
use crate::verdict::testing::Story;

use super::Explanation;

/// The WAL of the made-up runs.
pub(crate) const UPDATE: (u64, u64) = (1 << 30, (1 << 30) + (300 << 20));

/// A stalled run, the end of whose backlog is in its rows.
pub(crate) fn stalled() -> Story {
    let mut story = Story::stalled();
    story.number("standby", &Metric::ReceiveLsn, 1..=140, UPDATE.1 as f64);
    story
}

/// A run without a stall, level at the fault.
pub(crate) fn no_stall() -> Story {
    let mut story = Story::no_stall();
    story.number("standby", &Metric::ReceiveLsn, 1..=140, UPDATE.1 as f64);
    story
}

/// What the WAL of such a run comes to: reads enough for 80 s at 200/s after the fault.
pub(crate) fn account() -> WalAccount {
    let part = |heap_reads: u64, index_reads: u64| {
        let counts = |reads: u64| BlockCounts {
            image: reads + 40,
            init: reads / 20,
            new: reads / 2,
            repeated: 7 * reads,
            hit: reads / 4,
            needless_prefetches: reads + reads / 10,
            useful_prefetches: reads / 50,
            needless_reads: reads - reads / 100,
            useful_reads: reads / 100,
            replay_reads: 0,
            needed_pages: reads / 100,
            needed_reads: reads / 200,
        };
        let relation =
            |name: &str, reads| RelationCounts { relation: name.to_owned(), counts: counts(reads) };
        vec![relation("pgbench_accounts", heap_reads), relation("pgbench_accounts_pkey", index_reads)]
    };
    let range = |stretch, from_lsn, to_lsn, records, relations: Vec<RelationCounts>| WalRange {
        stretch,
        from_lsn,
        to_lsn,
        records,
        total: relations.iter().fold(BlockCounts::default(), |sum, relation| sum.plus(relation.counts)),
        relations,
    };
    WalAccount {
        model: WalModel {
            shared_buffers_pages: 16_384,
            maintenance_io_concurrency: 16,
            wal_decode_buffer_bytes: 512 << 10,
            read_ahead_pages: 16,
        },
        from_lsn: UPDATE.0 - 1_000,
        to_lsn: UPDATE.1,
        records: 300_000,
        unknown_lines: 0,
        seconds: 3.5,
        ranges: vec![
            range(Stretch::Update, UPDATE.0, UPDATE.1, 290_000, part(19_000, 3_000)),
            range(Stretch::Backlog, UPDATE.1 - (220 << 20), UPDATE.1, 210_000, part(14_000, 2_200)),
        ],
    }
}

/// The run explained by this account.
pub(crate) fn explained(story: &Story, account: Option<&WalAccount>) -> Explanation {
    let summary: Summary = judge(&story.run, &story.timeline, &story.events);
    Explanation::of_run(&story.run, &story.timeline, &story.events, &summary, account)
}
