//! Lines in, an account out.

use std::collections::HashMap;

use super::block::RelFile;
use super::line::LineParser;
use super::plan::Ranges;
use super::replay::{Event, Replay};
use crate::store::{BlockCounts, RelationCounts, Stretch, WalAccount, WalModel, WalRange};

/// Relations that a range tells apart; the rest are added up.
const RELATIONS: usize = 30;

/// Names of relations by database and relfilenumber. Tablespaces are left out: the catalogue has 0 for a database's
/// own.
pub type RelationNames = HashMap<(u32, u32), String>;

/// Counts what `pg_waldump` prints.
#[derive(Debug)]
pub struct Survey {
    model: WalModel,
    parser: LineParser,
    replay: Replay,
    tallies: Tallies,
    from_lsn: Option<u64>,
    to_lsn: u64,
    records: u64,
    unknown_lines: u64,
}

#[derive(Debug)]
struct Tallies(Vec<Tally>);

#[derive(Debug)]
struct Tally {
    stretch: Stretch,
    from_lsn: u64,
    to_lsn: u64,
    records: u64,
    relations: HashMap<RelFile, BlockCounts>,
}

impl Survey {
    /// A survey of these ranges, for a standby such as the model is.
    #[must_use]
    pub fn new(model: WalModel, ranges: &Ranges) -> Self {
        let tally = |(stretch, from_lsn, to_lsn)| Tally {
            stretch,
            from_lsn,
            to_lsn,
            records: 0,
            relations: HashMap::new(),
        };
        Self {
            model,
            parser: LineParser::default(),
            replay: Replay::new(&model),
            tallies: Tallies(ranges.stretches().map(tally).collect()),
            from_lsn: None,
            to_lsn: 0,
            records: 0,
            unknown_lines: 0,
        }
    }

    /// Takes a line. What is no record of a known form is counted and passed over.
    pub fn line(&mut self, line: &str) {
        let Some(record) = self.parser.parse(line) else {
            self.unknown_lines += 1;
            return;
        };
        self.records += 1;
        self.from_lsn.get_or_insert(record.lsn);
        self.to_lsn = record.lsn + u64::from(record.length);
        self.tallies.record(record.lsn);
        self.replay.push(&record, &mut |lsn, relation, event| self.tallies.event(lsn, relation, event));
    }

    /// Records so far.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Where the last record ends, images included and page headers not; 0 before the first.
    #[must_use]
    pub fn reached(&self) -> u64 {
        self.to_lsn
    }

    /// The account of all lines so far; `names` are put to the relations that have one.
    #[must_use]
    pub fn finish(mut self, names: &RelationNames, seconds: f64) -> WalAccount {
        self.replay.finish(&mut |lsn, relation, event| self.tallies.event(lsn, relation, event));
        let to_lsn = self.to_lsn;
        WalAccount {
            model: self.model,
            from_lsn: self.from_lsn.unwrap_or_default(),
            to_lsn,
            records: self.records,
            unknown_lines: self.unknown_lines,
            seconds,
            ranges: self.tallies.0.into_iter().map(|tally| tally.range(names, to_lsn)).collect(),
        }
    }
}

impl Tallies {
    fn record(&mut self, lsn: u64) {
        for tally in self.0.iter_mut().filter(|tally| tally.covers(lsn)) {
            tally.records += 1;
        }
    }

    fn event(&mut self, lsn: u64, relation: RelFile, event: Event) {
        for tally in self.0.iter_mut().filter(|tally| tally.covers(lsn)) {
            count(tally.relations.entry(relation).or_default(), event);
        }
    }
}

impl Tally {
    fn covers(&self, lsn: u64) -> bool {
        (self.from_lsn..self.to_lsn).contains(&lsn)
    }

    /// `end` is where WAL ended, for a range that is open.
    fn range(self, names: &RelationNames, end: u64) -> WalRange {
        let total = self.relations.values().fold(BlockCounts::default(), |sum, counts| sum.plus(*counts));
        let mut relations: Vec<RelationCounts> = self
            .relations
            .into_iter()
            .map(|(relation, counts)| RelationCounts {
                relation: names
                    .get(&(relation.database, relation.number))
                    .cloned()
                    .unwrap_or_else(|| relation.to_string()),
                counts,
            })
            .collect();
        relations.sort_by_cached_key(|relation| {
            let counts = &relation.counts;
            let weight = (counts.reads_with_prefetch(), counts.prefetches(), counts.image);
            (std::cmp::Reverse(weight), relation.relation.clone())
        });
        if relations.len() > RELATIONS {
            let rest = relations.split_off(RELATIONS - 1);
            let counts = rest.iter().fold(BlockCounts::default(), |sum, relation| sum.plus(relation.counts));
            relations.push(RelationCounts { relation: format!("{} others", rest.len()), counts });
        }
        let to_lsn = self.to_lsn.min(end.max(self.from_lsn));
        WalRange {
            stretch: self.stretch,
            from_lsn: self.from_lsn,
            to_lsn,
            records: self.records,
            total,
            relations,
        }
    }
}

fn count(counts: &mut BlockCounts, event: Event) {
    match event {
        Event::Image => counts.image += 1,
        Event::Init => counts.init += 1,
        Event::New => counts.new += 1,
        Event::Repeated => counts.repeated += 1,
        Event::Hit => counts.hit += 1,
        Event::Prefetch { useful: true, from_disk } => {
            counts.useful_prefetches += 1;
            counts.useful_reads += u64::from(from_disk);
        }
        Event::Prefetch { useful: false, from_disk } => {
            counts.needless_prefetches += 1;
            counts.needless_reads += u64::from(from_disk);
        }
        Event::ReplayRead => counts.replay_reads += 1,
        Event::Needed { reads } => {
            counts.needed_pages += 1;
            counts.needed_reads += reads;
        }
    }
}
