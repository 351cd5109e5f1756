#![allow(clippy::unwrap_used)]

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::*;

/// Lines of every kind that PostgreSQL 15 and 18 wrote, one each.
const CAPTURES: [&str; 2] = [
    include_str!("../../tests/captures/waldump-15.txt"),
    include_str!("../../tests/captures/waldump-18.txt"),
];

fn blocks(line: &str) -> Vec<(u32, Fork, u32, Image)> {
    let mut parser = LineParser::default();
    let record = parser.parse(line).unwrap();
    record.blocks.iter().map(|block| (block.relation.number, block.fork, block.block, block.image)).collect()
}

#[test]
fn every_line_of_both_versions_is_a_record_with_all_its_blocks() {
    for line in CAPTURES.iter().flat_map(|capture| capture.lines()) {
        let found = blocks(line).len();
        let written = line.matches("blkref #").count();
        let users_text = line.contains("RESTORE_POINT") || line.contains("LogicalMessage");
        assert_eq!(found, if users_text { 0 } else { written }, "{line}");
    }
}

#[test]
fn an_update_has_its_lsn_its_length_and_its_pages() {
    let line = "rmgr: Heap        len (rec/tot):     81/   501, tx:        765, lsn: 1/017955B0, prev 0/017915A8, \
                desc: UPDATE old_xmax: 765, old_off: 53, old_infobits: [], flags: 0x03, new_xmax: 0, new_off: 3, \
                blkref #0: rel 1663/5/16399 blk 4918 FPW, blkref #1: rel 1663/5/16399 blk 403, \
                blkref #2: rel 1663/5/16399 fork vm blk 0";
    let mut parser = LineParser::default();
    let record = parser.parse(line).unwrap();
    assert_eq!((record.lsn, record.length), (0x1_0179_55B0, 501));
    assert_eq!(record.blocks[0].relation, RelFile { tablespace: 1663, database: 5, number: 16_399 });
    assert_eq!(
        blocks(line),
        [
            (16_399, Fork::Main, 4918, Image::Full),
            (16_399, Fork::Main, 403, Image::None),
            (16_399, Fork::Vm, 0, Image::None),
        ]
    );
}

#[test]
fn an_update_to_a_new_page_initialises_it() {
    let line = "rmgr: Heap        len (rec/tot):    171/   171, tx: 793, lsn: 0/01824CD0, prev 0/01822C80, desc: \
                UPDATE+INIT off 27 xmax 737, blkref #0: rel 1663/5/7 blk 9, blkref #1: rel 1663/5/7 blk 1";
    assert_eq!(blocks(line), [(7, Fork::Main, 9, Image::Init), (7, Fork::Main, 1, Image::None)]);
}

#[test]
fn an_image_to_compare_with_replaces_nothing_unless_the_page_is_initialised() {
    let line = |desc: &str| {
        format!(
            "rmgr: Hash len (rec/tot): 90/  5226, tx: 739, lsn: 0/02676A98, prev 0/02675580, desc: {desc}, blkref #0: \
             rel 1663/5/7 blk 3 FPW for WAL verification, blkref #1: rel 1663/5/7 blk 14 FPW for WAL verification"
        )
    };
    let images = |desc: &str| blocks(&line(desc)).iter().map(|block| block.3).collect::<Vec<_>>();
    assert_eq!(images("INSERT off 84"), [Image::ForChecking, Image::ForChecking]);
    assert_eq!(images("SPLIT_ALLOCATE_PAGE new_bucket 10"), [Image::ForChecking, Image::Full]);
}

#[test]
fn only_a_page_logged_as_new_may_not_have_been_there() {
    let makes_page = |rmgr: &str, desc: &str| {
        let line = format!(
            "rmgr: {rmgr} len (rec/tot): 49/ 8241, tx: 0, lsn: 0/1, prev 0/0, desc: {desc}, blkref #0: rel 1/2/3 blk 4 FPW"
        );
        LineParser::default().parse(&line).unwrap().blocks[0].makes_page
    };
    assert!(makes_page("XLOG", "FPI "));
    assert!(!makes_page("XLOG", "FPI_FOR_HINT "));
    assert!(!makes_page("Heap", "LOCK off 1"));
}

#[test]
fn a_users_text_that_looks_like_a_block_is_none() {
    for line in CAPTURES[0].lines().filter(|line| line.contains("RESTORE_POINT") || line.contains("MESSAGE"))
    {
        assert!(line.contains("blkref #0"), "{line}");
        assert_eq!(blocks(line), [], "{line}");
    }
}

#[test]
fn what_is_no_record_is_none() {
    for line in [
        "",
        "rmgr: ",
        "rmgr: Heap",
        "pg_waldump: first record is after 0/178C7B0, at 0/178C7C0, skipping over 16 bytes",
        "rmgr: Heap len (rec/tot): 54/ x, tx: 1, lsn: 0/1, prev 0/0, desc: LOCK off 1",
        "rmgr: Heap len (rec/tot): 54/ 54, tx: 1, lsn: 0-1, prev 0/0, desc: LOCK off 1",
    ] {
        assert_eq!(LineParser::default().parse(line), None, "{line}");
    }
}

/// Mutated lines never panic, and never name more pages than they have block references.
#[test]
fn two_thousand_broken_lines_are_read_or_refused() {
    let mut random = StdRng::seed_from_u64(20_261_130);
    let lines: Vec<&str> = CAPTURES.iter().flat_map(|capture| capture.lines()).collect();
    let (mut parser, mut refused) = (LineParser::default(), 0);
    for _ in 0..2_000 {
        let mut line: Vec<char> = lines[random.random_range(0..lines.len())].chars().collect();
        for _ in 0..random.random_range(1..=4) {
            if line.is_empty() {
                break;
            }
            let at = random.random_range(0..line.len());
            match random.random_range(0..4) {
                0 => line[at] = char::from(random.random_range(32..127_u8)),
                1 => drop(line.drain(at..(at + 9).min(line.len()))),
                2 => line.insert(at, '\u{fffd}'),
                _ => line.truncate(at.max(1)),
            }
        }
        let line: String = line.into_iter().collect();
        match parser.parse(&line) {
            Some(record) => assert!(record.blocks.len() <= line.matches("blkref").count(), "{line}"),
            None => refused += 1,
        }
    }
    assert!((200..1_900).contains(&refused), "{refused} were refused");
}
