//! How far the prefetcher looks ahead of replay.

use std::collections::VecDeque;

/// Block references the prefetcher may be ahead, for each prefetch it may have in flight
/// (`XLOGPREFETCHER_DISTANCE_MULTIPLIER`).
const DISTANCE: usize = 4;

/// Room a decoded record takes beyond its length in WAL: `DecodedXLogRecord` with padding, and a `DecodedBkpBlock` for
/// each page.
const RECORD: u64 = 96;
const BLOCK: u64 = 64;

/// Room that must be free for a record to be decoded ahead: that of a record with as many pages as one can have
/// (`DecodeXLogRecordRequiredSpace`).
const ROOM_FOR_ANY: u64 = 33 * BLOCK + 200;

/// Did looking at a block reference start a prefetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Io {
    /// It did.
    Started,
    /// It did not.
    None,
}

/// `LsnReadQueue` of `xlogprefetcher.c`, and the buffer that records are decoded into (`wal_decode_buffer_size`).
#[derive(Debug)]
pub(super) struct LookAhead {
    max_in_flight: usize,
    decode_buffer: u64,
    decoded: u64,
    in_flight: usize,
    /// Record and kind of every reference that was looked at and not yet replayed.
    entries: VecDeque<(u64, Io)>,
}

impl LookAhead {
    /// With at most so many prefetches in flight (`maintenance_io_concurrency`) and so many bytes of decoded records.
    pub fn new(max_in_flight: usize, decode_buffer: u64) -> Self {
        let max_in_flight = max_in_flight.max(1);
        Self { max_in_flight, decode_buffer, decoded: 0, in_flight: 0, entries: VecDeque::new() }
    }

    /// May another block reference be looked at before more has been replayed?
    pub fn may_look(&self) -> bool {
        self.in_flight < self.max_in_flight && self.entries.len() < self.max_in_flight * DISTANCE
    }

    /// Is there room to decode a record of this length?
    pub fn may_decode(&self, length: u32) -> bool {
        self.decoded + u64::from(length) + ROOM_FOR_ANY <= self.decode_buffer
    }

    /// A record was decoded.
    pub fn decode(&mut self, length: u32, blocks: usize) {
        self.decoded += decoded_size(length, blocks);
    }

    /// A reference of the record at `lsn` was looked at.
    pub fn look(&mut self, lsn: u64, io: Io) {
        self.entries.push_back((lsn, io));
        self.in_flight += usize::from(io == Io::Started);
    }

    /// The record at `lsn` has been replayed; what was started for it has ended.
    pub fn replayed(&mut self, lsn: u64, length: u32, blocks: usize) {
        self.decoded = self.decoded.saturating_sub(decoded_size(length, blocks));
        while let Some((_, io)) = self.entries.front().copied().filter(|(of, _)| *of <= lsn) {
            self.entries.pop_front();
            self.in_flight -= usize::from(io == Io::Started);
        }
    }
}

fn decoded_size(length: u32, blocks: usize) -> u64 {
    u64::from(length) + RECORD + blocks as u64 * BLOCK
}
