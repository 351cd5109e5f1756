use super::super::line::BlockRef;
use super::*;

const HEAP: RelFile = RelFile { tablespace: 1663, database: 5, number: 16_399 };
const INDEX: RelFile = RelFile { tablespace: 1663, database: 5, number: 16_407 };

/// Pages that an eighth of a gigabyte of buffers holds are more than these tests name.
fn model() -> WalModel {
    WalModel {
        shared_buffers_pages: 16_384,
        maintenance_io_concurrency: 16,
        wal_decode_buffer_bytes: 512 << 10,
        read_ahead_pages: 16,
    }
}

fn of(relation: RelFile, block: u32, image: Image) -> BlockRef {
    BlockRef { relation, fork: Fork::Main, block, image, makes_page: image == Image::Init }
}

fn heap(block: u32, image: Image) -> BlockRef {
    of(HEAP, block, image)
}

/// Feeds records of these blocks; what became of them, record by record, in the order in which it was told.
fn events(model: WalModel, records: &[Vec<BlockRef>]) -> Vec<Event> {
    let mut events = Vec::new();
    let mut replay = Replay::new(&model);
    for (at, blocks) in records.iter().enumerate() {
        let record = Record { lsn: 1_000 * (at as u64 + 1), length: 100, blocks };
        replay.push(&record, &mut |_, _, event| events.push(event));
    }
    replay.finish(&mut |_, _, event| events.push(event));
    events
}

fn looked(model: WalModel, records: &[Vec<BlockRef>]) -> Vec<Event> {
    let of_replay = |event: &Event| matches!(event, Event::ReplayRead | Event::Needed { .. });
    events(model, records).into_iter().filter(|event| !of_replay(event)).collect()
}

const NEEDLESS: Event = Event::Prefetch { useful: false, from_disk: true };
const USEFUL: Event = Event::Prefetch { useful: true, from_disk: true };

/// Enough records between two to have the first of them replayed when the second is looked at, and its page put out
/// of a small pool.
fn long_since() -> Vec<Vec<BlockRef>> {
    (0..100).map(|block| vec![of(INDEX, block, Image::Full)]).collect()
}

#[test]
fn a_page_whose_image_is_just_before_is_prefetched_needlessly() {
    let records = [vec![heap(7, Image::Full)], vec![heap(7, Image::None)]];
    assert_eq!(events(model(), &records), [Event::Image, NEEDLESS]);
}

#[test]
fn a_page_whose_image_was_replayed_long_since_is_in_the_pool() {
    let records = [vec![vec![heap(7, Image::Full)]], long_since(), vec![vec![heap(7, Image::None)]]].concat();
    assert_eq!(looked(model(), &records).last(), Some(&Event::Hit));
}

#[test]
fn a_page_without_image_is_prefetched_to_use_and_needed() {
    let records = [vec![heap(7, Image::None)]];
    assert_eq!(events(model(), &records), [USEFUL, Event::Needed { reads: 1 }]);
}

#[test]
fn a_page_is_repeated_within_four_lookups_and_prefetched_again_after_them_without_a_read() {
    let refs =
        |blocks: &[u32]| blocks.iter().map(|block| vec![heap(*block, Image::None)]).collect::<Vec<_>>();
    assert_eq!(looked(model(), &refs(&[1, 20, 30, 40, 1]))[4], Event::Repeated);
    let again = Event::Prefetch { useful: true, from_disk: false };
    assert_eq!(looked(model(), &refs(&[1, 20, 30, 40, 50, 1]))[5], again);
}

#[test]
fn an_image_is_not_remembered_in_the_window() {
    let records = [vec![heap(7, Image::Full)], vec![heap(7, Image::Full)], vec![heap(7, Image::None)]];
    assert_eq!(looked(model(), &records), [Event::Image, Event::Image, NEEDLESS]);
}

#[test]
fn a_page_that_wal_has_yet_to_make_is_not_there_and_filters_those_behind_it() {
    let records = [
        vec![heap(100, Image::Init), heap(3, Image::None)],
        vec![heap(100, Image::None)],
        vec![heap(101, Image::None)],
        vec![heap(4, Image::None)],
    ];
    assert_eq!(looked(model(), &records), [Event::Init, USEFUL, Event::New, Event::New, USEFUL]);
}

#[test]
fn a_page_that_is_initialised_anew_is_there_and_prefetched_needlessly() {
    let records = [vec![heap(100, Image::None)], vec![heap(7, Image::Init)], vec![heap(7, Image::None)]];
    assert_eq!(looked(model(), &records), [USEFUL, Event::Init, NEEDLESS]);
}

#[test]
fn other_forks_are_not_looked_at_but_replay_reads_them() {
    let vm = BlockRef { fork: Fork::Vm, ..heap(0, Image::None) };
    assert_eq!(events(model(), &[vec![vm]]), [Event::ReplayRead, Event::Needed { reads: 1 }]);
}

#[test]
fn an_image_for_checking_counts_as_an_image_and_the_page_is_read_all_the_same() {
    let records = [vec![heap(7, Image::ForChecking)]];
    assert_eq!(events(model(), &records), [Event::Image, Event::ReplayRead, Event::Needed { reads: 1 }]);
}

#[test]
fn a_page_that_left_the_pool_is_prefetched_from_the_operating_systems_cache() {
    let small = WalModel { shared_buffers_pages: 16, ..model() };
    let records = [vec![vec![heap(7, Image::Full)]], long_since(), vec![vec![heap(7, Image::None)]]].concat();
    let again = Event::Prefetch { useful: true, from_disk: false };
    assert_eq!(looked(small, &records).last(), Some(&again));
}

/// How many records with an image are ahead of replay when another is looked at shows in how late it still finds one.
fn distance(model: WalModel) -> usize {
    (1..500)
        .take_while(|between| {
            let filler = (0..*between).map(|block| vec![of(INDEX, block, Image::Full)]);
            let records: Vec<_> = std::iter::once(vec![heap(7, Image::Full)])
                .chain(filler)
                .chain([vec![heap(7, Image::None)]])
                .collect();
            looked(model, &records).last() == Some(&NEEDLESS)
        })
        .count()
}

#[test]
fn the_look_ahead_is_four_references_for_each_prefetch_in_flight() {
    assert_eq!(distance(model()), 62);
    assert_eq!(distance(WalModel { maintenance_io_concurrency: 10, ..model() }), 38);
}

#[test]
fn the_look_ahead_ends_where_the_decode_buffer_is_full() {
    let small = WalModel { wal_decode_buffer_bytes: 8 << 10, ..model() };
    assert!((15..30).contains(&distance(small)), "{}", distance(small));
}

#[test]
fn prefetches_in_flight_end_the_look_ahead_too() {
    let narrow = WalModel { maintenance_io_concurrency: 1, ..model() };
    // The first prefetch is in flight until its record is replayed: the image is replayed before it.
    let records = [vec![heap(7, Image::Full)], vec![heap(50, Image::None)], vec![heap(7, Image::None)]];
    assert_eq!(looked(narrow, &records), [Event::Image, USEFUL, Event::Hit]);
}

#[test]
fn a_record_that_replay_has_come_to_is_looked_at_no_further() {
    let narrow = WalModel { maintenance_io_concurrency: 1, ..model() };
    let records = [vec![heap(7, Image::None), heap(50, Image::None)]];
    let replay = [Event::Needed { reads: 1 }, Event::ReplayRead, Event::Needed { reads: 1 }];
    assert_eq!(events(narrow, &records), [vec![USEFUL], replay.to_vec()].concat());
}

#[test]
fn without_prefetching_pages_in_a_row_take_fewer_reads_than_with() {
    let records: Vec<_> = (0..640).map(|block| vec![heap(block, Image::None)]).collect();
    let events = events(model(), &records);
    let prefetched = events.iter().filter(|event| **event == USEFUL).count();
    let needed: u64 =
        events.iter().map(|event| if let Event::Needed { reads } = event { *reads } else { 0 }).sum();
    assert_eq!((prefetched, needed), (640, 3 + 41));
}
