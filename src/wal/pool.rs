//! The buffer pool: which pages it holds, by PostgreSQL's own rule of replacement.

use std::collections::HashMap;

use super::block::Page;

/// A buffer's usage count goes no higher (`BM_MAX_USAGE_COUNT`).
const MOST_USED: u8 = 5;

/// Shared buffers under the clock sweep of `StrategyGetBuffer`. A page that comes in has been used once; each use
/// counts one more, up to five; the hand takes one from every buffer it passes, and the first at zero.
#[derive(Debug)]
pub(super) struct BufferPool {
    capacity: usize,
    buffers: Vec<Buffer>,
    places: HashMap<Page, usize>,
    hand: usize,
}

#[derive(Debug)]
struct Buffer {
    page: Page,
    used: u8,
}

/// Where a page was when it was wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// In a buffer.
    InPool,
    /// In none; it is in one now.
    Elsewhere,
}

impl BufferPool {
    /// An empty pool of so many buffers, at least one.
    pub fn new(buffers: usize) -> Self {
        Self { capacity: buffers.max(1), buffers: Vec::new(), places: HashMap::new(), hand: 0 }
    }

    /// Is the page in a buffer.
    pub fn holds(&self, page: Page) -> bool {
        self.places.contains_key(&page)
    }

    /// Uses a page, bringing it in if need be.
    pub fn fetch(&mut self, page: Page) -> Found {
        if let Some(buffer) = self.places.get(&page).and_then(|place| self.buffers.get_mut(*place)) {
            buffer.used = (buffer.used + 1).min(MOST_USED);
            return Found::InPool;
        }
        let fresh = Buffer { page, used: 1 };
        let place = if self.buffers.len() < self.capacity {
            self.buffers.push(fresh);
            self.buffers.len() - 1
        } else {
            self.replace(fresh)
        };
        self.places.insert(page, place);
        Found::Elsewhere
    }

    /// Puts a page where the hand finds a buffer that nobody has used since it last came by.
    fn replace(&mut self, fresh: Buffer) -> usize {
        loop {
            let place = self.hand;
            self.hand = (self.hand + 1) % self.capacity;
            // The hand stays below the capacity, and the pool is full.
            let Some(buffer) = self.buffers.get_mut(place) else { continue };
            if buffer.used == 0 {
                self.places.remove(&buffer.page);
                *buffer = fresh;
                return place;
            }
            buffer.used -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::block::{Fork, Forks, RelFile};
    use super::*;

    fn pages(count: u32) -> Vec<Page> {
        let fork = Forks::default().id(RelFile { tablespace: 1663, database: 5, number: 1 }, Fork::Main);
        (0..count).map(|block| Page { fork, block }).collect()
    }

    #[test]
    fn a_page_stays_until_its_buffer_is_needed() {
        let (mut pool, pages) = (BufferPool::new(3), pages(4));
        for page in &pages[..3] {
            assert_eq!(pool.fetch(*page), Found::Elsewhere);
        }
        assert!(pages[..3].iter().all(|page| pool.holds(*page)));
        pool.fetch(pages[3]);
        assert_eq!(pages.iter().filter(|page| pool.holds(**page)).count(), 3);
        assert!(pool.holds(pages[3]) && !pool.holds(pages[0]));
    }

    #[test]
    fn a_page_that_is_used_again_outlives_those_that_are_not() {
        let (mut pool, pages) = (BufferPool::new(4), pages(40));
        for page in &pages {
            pool.fetch(*page);
            pool.fetch(pages[0]);
        }
        assert!(pool.holds(pages[0]) && !pool.holds(pages[1]));
    }
}
