//! The kernel's read-ahead, for pages that replay reads itself.

use super::bitmap::PageSet;
use super::block::Page;

/// First window of a sequence, pages.
const FIRST: u32 = 2;

/// What Linux reads when replay reads page after page (`mm/readahead.c`): a page alone where it comes from nowhere; where
/// it follows the one before, a window that doubles up to the disk's read-ahead, and the next window as soon as the
/// last one is entered. A prefetch bypasses this: an advice is for the pages it names.
#[derive(Debug)]
pub(super) struct ReadAhead {
    /// The largest window, pages.
    most: u32,
    /// By fork: each is a file of its own.
    files: Vec<File>,
}

#[derive(Debug, Clone, Copy, Default)]
struct File {
    /// The page that was read last.
    previous: Option<u32>,
    /// The window that was read last: it begins there and ends before this.
    window: Option<(u32, u32)>,
}

impl ReadAhead {
    /// With windows of at most so many pages.
    pub fn new(most: u32) -> Self {
        Self { most: most.max(1), files: Vec::new() }
    }

    /// Replay reads a page that is in no buffer. The number of reads the disk makes; what they bring is put into
    /// `cached`.
    pub fn read(&mut self, page: Page, cached: &mut PageSet) -> u64 {
        let (at, most) = (page.fork.index(), self.most);
        if self.files.len() <= at {
            self.files.resize(at + 1, File::default());
        }
        let Some(file) = self.files.get_mut(at) else { return 0 };
        let follows = page.block == 0 || file.previous.is_some_and(|last| page.block.wrapping_sub(last) <= 1);
        file.previous = Some(page.block);
        let alone = (page.block, page.block.saturating_add(1));
        match file.window {
            Some((from, to)) if (from..to).contains(&page.block) => {
                let next = (to, to.saturating_add((to - from).saturating_mul(2).min(most)));
                file.window = Some(next);
                runs(page, next, cached)
            }
            _ if cached.contains(page) => 0,
            _ if follows && most >= FIRST => {
                let first = (page.block, page.block.saturating_add(FIRST));
                file.window = Some(first);
                runs(page, first, cached)
            }
            _ => {
                file.window = None;
                runs(page, alone, cached)
            }
        }
    }
}

/// Reads what is not cached of a window: one read for each stretch of neighbours.
fn runs(page: Page, (from, to): (u32, u32), cached: &mut PageSet) -> u64 {
    let mut reads = 0;
    let mut reading = false;
    for block in from..to {
        let missing = cached.insert(Page { block, ..page });
        reads += u64::from(missing && !reading);
        reading = missing;
    }
    reads
}

#[cfg(test)]
mod tests {
    use super::super::block::{Fork, Forks, RelFile};
    use super::*;

    /// Reads these pages in order; the reads the disk makes.
    fn reads(most: u32, cached: &[u32], blocks: impl IntoIterator<Item = u32>) -> u64 {
        let fork = Forks::default().id(RelFile { tablespace: 1663, database: 5, number: 1 }, Fork::Main);
        let mut set = PageSet::default();
        for block in cached {
            set.insert(Page { fork, block: *block });
        }
        let mut kernel = ReadAhead::new(most);
        blocks.into_iter().map(|block| kernel.read(Page { fork, block }, &mut set)).sum()
    }

    #[test]
    fn page_after_page_is_read_in_windows_that_double() {
        // 2, 4, 8, then 16 at a time; the next is read when the last is entered.
        assert_eq!(reads(16, &[], 0..1), 1);
        assert_eq!(reads(16, &[], 0..2), 2);
        assert_eq!(reads(16, &[], 0..1_614), 3 + 101);
    }

    #[test]
    fn pages_from_nowhere_are_read_one_by_one() {
        assert_eq!(reads(16, &[], (1..100).map(|at| at * 1_000)), 99);
    }

    #[test]
    fn without_read_ahead_each_page_is_a_read() {
        assert_eq!(reads(1, &[], 0..100), 100);
    }

    #[test]
    fn a_page_that_is_cached_cuts_a_read_in_two() {
        assert_eq!(reads(16, &[20], 0..30), reads(16, &[], 0..30) + 1);
        assert_eq!(reads(16, &[500], [500]), 0);
    }
}
