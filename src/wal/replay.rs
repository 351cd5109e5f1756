//! A standby that replays WAL: the prefetcher ahead, the startup process behind, the caches under both.

use std::collections::VecDeque;

use super::bitmap::PageSet;
use super::block::{Fork, Forks, Page, RelFile};
use super::filter::Filters;
use super::line::{Image, Record};
use super::lookahead::{Io, LookAhead};
use super::pool::{BufferPool, Found};
use super::readahead::ReadAhead;
use crate::store::WalModel;

/// How many blocks the prefetcher remembers to have looked up (`XLOGPREFETCHER_SEQ_WINDOW_SIZE`).
const WINDOW: usize = 4;

/// What became of a block reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Looked at: it carries a full-page image (`skip_fpw`).
    Image,
    /// Looked at: its page will be initialised (`skip_init`).
    Init,
    /// Looked at: its page is not there yet (`skip_new`).
    New,
    /// Looked at: its page was looked up a moment ago (`skip_rep`).
    Repeated,
    /// Looked at: its page is in the buffer pool (`hit`).
    Hit,
    /// Looked at, and prefetched (`prefetch`).
    Prefetch {
        /// Is it of use: false when a record before it, not yet replayed, replaces the page whole.
        useful: bool,
        /// Did it read from the disk: false when the operating system has the page.
        from_disk: bool,
    },
    /// Replayed: the page had to be read from the disk by replay itself.
    ReplayRead,
    /// Replayed: without prefetching, the page would have had to be read here.
    Needed {
        /// Reads from the disk that takes: none where the kernel's read-ahead had brought it.
        reads: u64,
    },
}

/// What is told of each block reference: the LSN of its record, its relation, and what became of it.
pub type OnEvent<'a> = &'a mut dyn FnMut(u64, RelFile, Event);

/// The model of a standby's startup process, after `xlogprefetcher.c`.
///
/// It assumes that the prefetcher is always as far ahead as it may be, as it is with a backlog; that the buffers are
/// filled by replay alone; and that the operating system keeps every page it has once had.
#[derive(Debug)]
pub struct Replay {
    ahead: LookAhead,
    pool: BufferPool,
    forks: Forks,
    /// Pages that the operating system or the buffer pool has.
    cached: PageSet,
    /// Pages that they would have without prefetching, where the kernel reads ahead.
    cached_unasked: PageSet,
    kernel: ReadAhead,
    /// The greatest page of each fork that a record has named.
    greatest: Vec<Option<u32>>,
    filters: Filters,
    window: [Option<Page>; WINDOW],
    window_next: usize,
    /// Records that were decoded and not yet replayed, and their pages.
    records: VecDeque<Queued>,
    pages: VecDeque<QueuedPage>,
}

#[derive(Debug, Clone, Copy)]
struct Queued {
    lsn: u64,
    length: u32,
    pages: usize,
}

#[derive(Debug, Clone, Copy)]
struct QueuedPage {
    page: Page,
    image: Image,
    /// Is the page there only when this has been replayed.
    extends: bool,
}

impl Replay {
    /// A standby that has just started, with nothing in its buffers.
    #[must_use]
    pub fn new(model: &WalModel) -> Self {
        let buffers = usize::try_from(model.shared_buffers_pages).unwrap_or(usize::MAX);
        Self {
            ahead: LookAhead::new(model.maintenance_io_concurrency as usize, model.wal_decode_buffer_bytes),
            pool: BufferPool::new(buffers),
            forks: Forks::default(),
            cached: PageSet::default(),
            cached_unasked: PageSet::default(),
            kernel: ReadAhead::new(model.read_ahead_pages),
            greatest: Vec::new(),
            filters: Filters::default(),
            window: [None; WINDOW],
            window_next: 0,
            records: VecDeque::new(),
            pages: VecDeque::new(),
        }
    }

    /// Decodes a record and looks at its pages, replaying as many before it as must have been by then.
    pub fn push(&mut self, record: &Record<'_>, on_event: OnEvent<'_>) {
        while !(self.ahead.may_look() && self.ahead.may_decode(record.length)) && self.replay_one(on_event) {}
        let count = record.blocks.len();
        self.ahead.decode(record.length, count);
        self.records.push_back(Queued { lsn: record.lsn, length: record.length, pages: count });
        let first = self.pages.len();
        for block in record.blocks {
            let page = Page { fork: self.forks.id(block.relation, block.fork), block: block.block };
            let extends = block.makes_page && self.is_greatest(page);
            self.pages.push_back(QueuedPage { page, image: block.image, extends });
        }
        self.raise_greatest(first);
        for block in record.blocks {
            while !self.ahead.may_look() && self.records.len() > 1 {
                self.replay_one(on_event);
            }
            if !self.ahead.may_look() {
                // Replay has come to this very record: the prefetcher forgets the rest of it.
                break;
            }
            let page = Page { fork: self.forks.id(block.relation, block.fork), block: block.block };
            let event =
                if block.fork == Fork::Main { Some(self.look(page, block.image, record.lsn)) } else { None };
            let started = matches!(event, Some(Event::Prefetch { .. }));
            self.ahead.look(record.lsn, if started { Io::Started } else { Io::None });
            if let Some(event) = event {
                on_event(record.lsn, block.relation, event);
            }
        }
    }

    /// Replays what is left.
    pub fn finish(&mut self, on_event: OnEvent<'_>) {
        while self.replay_one(on_event) {}
    }

    /// The prefetcher looks at a page of the main fork (`XLogPrefetcherNextBlock`).
    fn look(&mut self, page: Page, image: Image, lsn: u64) -> Event {
        match image {
            Image::Full | Image::ForChecking => return Event::Image,
            Image::Init => return Event::Init,
            Image::None => {}
        }
        if self.filters.cover(page) {
            return Event::New;
        }
        if self.window.contains(&Some(page)) {
            return Event::Repeated;
        }
        if let Some(oldest) = self.window.get_mut(self.window_next) {
            *oldest = Some(page);
        }
        self.window_next = (self.window_next + 1) % WINDOW;
        if self.pages.iter().any(|queued| queued.extends && queued.page == page) {
            self.filters.add(page, lsn);
            return Event::New;
        }
        if self.pool.holds(page) {
            return Event::Hit;
        }
        let replaced = self.pages.iter().any(|queued| queued.page == page && queued.image.replaces_page());
        Event::Prefetch { useful: !replaced, from_disk: self.cached.insert(page) }
    }

    /// Replays the oldest record; false if there is none.
    fn replay_one(&mut self, on_event: OnEvent<'_>) -> bool {
        let Some(record) = self.records.pop_front() else { return false };
        for _ in 0..record.pages {
            // Every record's pages were queued with it.
            let Some(queued) = self.pages.pop_front() else { break };
            let in_pool = self.pool.fetch(queued.page) == Found::InPool;
            let cached = !self.cached.insert(queued.page);
            let Some(relation) = self.forks.relation(queued.page.fork) else { continue };
            if queued.image.replaces_page() || in_pool {
                self.cached_unasked.insert(queued.page);
                continue;
            }
            if !cached {
                on_event(record.lsn, relation, Event::ReplayRead);
            }
            let reads = self.kernel.read(queued.page, &mut self.cached_unasked);
            on_event(record.lsn, relation, Event::Needed { reads });
        }
        self.filters.replayed(record.lsn);
        self.ahead.replayed(record.lsn, record.length, record.pages);
        true
    }

    /// Is the page beyond all that were named of its fork: then a record that makes it extends the fork.
    fn is_greatest(&self, page: Page) -> bool {
        match self.greatest.get(page.fork.index()) {
            Some(Some(greatest)) => page.block > *greatest,
            Some(None) | None => true,
        }
    }

    /// Takes note of the pages queued from this place on.
    fn raise_greatest(&mut self, first: usize) {
        for QueuedPage { page, .. } in self.pages.range(first..) {
            let fork = page.fork.index();
            if self.greatest.len() <= fork {
                self.greatest.resize(fork + 1, None);
            }
            if let Some(greatest) = self.greatest.get_mut(fork) {
                *greatest = (*greatest).max(Some(page.block));
            }
        }
    }
}

#[cfg(test)]
#[path = "replay_tests.rs"]
mod tests;
