//! Ranges of pages that are not prefetched until a record has been replayed.

use super::block::{ForkId, Page};

/// The prefetcher's filters (`XLogPrefetcherAddFilter`). It has them for relations that are created, truncated or
/// extended by WAL within its look-ahead; here they are set for what WAL extends.
#[derive(Debug, Default)]
pub(super) struct Filters {
    filters: Vec<Filter>,
}

#[derive(Debug)]
struct Filter {
    fork: ForkId,
    from_block: u32,
    until_lsn: u64,
}

impl Filters {
    /// No page of this relation from this one on is prefetched until the record at `lsn` has been replayed.
    pub fn add(&mut self, page: Page, lsn: u64) {
        match self.filters.iter_mut().find(|filter| filter.fork == page.fork) {
            Some(filter) => {
                filter.until_lsn = lsn;
                filter.from_block = filter.from_block.min(page.block);
            }
            None => self.filters.push(Filter { fork: page.fork, from_block: page.block, until_lsn: lsn }),
        }
    }

    /// Is the page not to be prefetched?
    pub fn cover(&self, page: Page) -> bool {
        self.filters.iter().any(|filter| filter.fork == page.fork && filter.from_block <= page.block)
    }

    /// The record at `lsn` has been replayed.
    pub fn replayed(&mut self, lsn: u64) {
        self.filters.retain(|filter| filter.until_lsn > lsn);
    }
}
