//! Lines that programs print: pgbench, the probe in a node, `pg_waldump`.

use std::path::Path;
use std::sync::Arc;

use super::Mutator;
use crate::measure::{LoadFeed, LoadSource, Source as _, machine_cells};
use crate::store::{Cell, Column, WalModel};
use crate::wal::{Ranges, RelationNames, Survey};

const COUNT: usize = 20_000;

fn captured(name: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name);
    std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

fn assert_sound(cells: &[(Column, Cell)], of: &str) {
    let sound = |number: f64| number.is_finite() && number >= 0.0;
    for (column, cell) in cells {
        assert!(cell.number().is_some_and(sound), "{column} is {cell:?}, of {of:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn mutated_lines_of_pgbench_are_reports_or_none() {
    let lines = captured("outage-try.pgbench-progress.txt");
    let mut mutator = Mutator::new(1);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..COUNT {
        let line = mutator.any(&lines).clone();
        let mutated = [mutator.mutate(&line), mutator.mutate(&line)];
        let feed = Arc::new(LoadFeed::default());
        mutated.iter().for_each(|line| feed.line(line));
        let cells = LoadSource::new("primary", feed).read().await.unwrap();
        assert_sound(&cells, &mutated.join(" and "));
        if cells.is_empty() { refused += 1 } else { read += 1 }
    }
    // Were all read, or none, this would test nothing.
    assert!(read > COUNT / 10 && refused > COUNT / 20, "{read} read, {refused} refused");
}

#[test]
fn mutated_answers_of_the_probe_are_counters_or_refused() {
    let answers = [
        "disk 1279446 3 39939540 77 115102 9 2044 5 128 0 0 0 0 0 0 0 0 cpu 2500000000 ns",
        "disk 359 5 7264 0 9 0 16 3 128 0 0 cpu 1500000 us",
        "disk - cpu 418720000 ns",
        "disk 1 0 8 0 0 0 0 0 0 0 0 cpu -",
    ];
    let mut mutator = Mutator::new(2);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..COUNT {
        let answer = *mutator.any(&answers);
        let mutated = mutator.mutate(answer);
        match machine_cells("standby", &mutated) {
            Ok(cells) => {
                assert_sound(&cells, &mutated);
                read += 1;
            }
            Err(error) => {
                assert!(error.to_string().contains("the probe in the node answered"), "{error}");
                refused += 1;
            }
        }
    }
    assert!(read > COUNT / 10 && refused > COUNT / 10, "{read} read, {refused} refused");
}

#[test]
fn mutated_lines_of_pg_waldump_are_records_or_counted_as_unknown() {
    // What is at the end of all WAL there can be is no record of any server, and a line all the same.
    let last = "rmgr: Heap        len (rec/tot):     72/  8340, tx:        765, lsn: FFFFFFFF/FFFFFFF0, prev 0/01790198, \
                desc: LOCK xmax: 765, blkref #0: rel 4294967295/4294967295/4294967295 blk 4294967295 FPW";
    let lines = [captured("waldump-15.txt"), captured("waldump-18.txt"), vec![last.to_owned()]].concat();
    let model = WalModel {
        shared_buffers_pages: 64,
        maintenance_io_concurrency: 10,
        wal_decode_buffer_bytes: 512 << 10,
        read_ahead_pages: 16,
    };
    let mut mutator = Mutator::new(3);
    let mut survey = Survey::new(model, &Ranges::whole());
    for _ in 0..COUNT / 2 {
        let line = mutator.any(&lines).clone();
        survey.line(&mutator.mutate(&line));
    }
    let account = survey.finish(&RelationNames::new(), 1.0);
    assert_eq!(account.records + account.unknown_lines, COUNT as u64 / 2);
    assert!(account.records > 1_000 && account.unknown_lines > 1_000, "{account:?}");
    for range in &account.ranges {
        let counted = range.relations.iter().map(|relation| relation.counts);
        let all = counted.fold(crate::store::BlockCounts::default(), crate::store::BlockCounts::plus);
        assert_eq!(all, range.total);
    }
}
