//! A set of pages, as one bit for each.

use super::block::Page;

/// Pages that something has happened to. Its size goes with the size of the relations, an eighth of a byte a page.
#[derive(Debug, Default)]
pub(super) struct PageSet {
    forks: Vec<Vec<u64>>,
}

impl PageSet {
    /// Is the page in it.
    pub fn contains(&self, page: Page) -> bool {
        let bits = self.forks.get(page.fork.index()).and_then(|words| words.get(page.block as usize / 64));
        bits.is_some_and(|bits| bits & (1 << (page.block % 64)) != 0)
    }

    /// Adds a page; true if it was not there.
    pub fn insert(&mut self, page: Page) -> bool {
        let fork = page.fork.index();
        if self.forks.len() <= fork {
            self.forks.resize_with(fork + 1, Vec::new);
        }
        let (word, bit) = (page.block as usize / 64, 1_u64 << (page.block % 64));
        let Some(words) = self.forks.get_mut(fork) else { return false };
        if words.len() <= word {
            words.resize(word + 1, 0);
        }
        let Some(bits) = words.get_mut(word) else { return false };
        let new = *bits & bit == 0;
        *bits |= bit;
        new
    }
}

#[cfg(test)]
mod tests {
    use super::super::block::{Fork, Forks, RelFile};
    use super::*;

    #[test]
    fn a_page_is_new_once_in_each_fork() {
        let (mut forks, mut set) = (Forks::default(), PageSet::default());
        let relation = RelFile { tablespace: 1663, database: 5, number: 1 };
        let (main, vm) = (forks.id(relation, Fork::Main), forks.id(relation, Fork::Vm));
        for page in
            [Page { fork: vm, block: 64 }, Page { fork: main, block: 64 }, Page { fork: main, block: 0 }]
        {
            assert!(!set.contains(page), "{page:?}");
            assert!(set.insert(page), "{page:?}");
            assert!(set.contains(page), "{page:?}");
            assert!(!set.insert(page), "{page:?}");
        }
    }
}
