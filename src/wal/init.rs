//! Which block references replay initialises from nothing.

/// Will replay initialise the page of this block reference without looking at what is on it?
///
/// Such a reference carries `BKPBLOCK_WILL_INIT`, which `pg_waldump` does not print. Where the server sets it
/// (`REGBUF_WILL_INIT`) follows from the kind of record and the reference's number, by the same rule in PostgreSQL 15
/// to 19. Left out is SP-GiST, which sets it by a flag that only some versions print, and extensions' own records:
/// they count as read.
pub(super) fn will_init(rmgr: &str, kind: &str, block_id: u8) -> bool {
    let init: &[u8] = match (rmgr, kind) {
        // heapam.c: the page that takes the new tuple is the first.
        ("Heap" | "Heap2" | "BRIN", kind) if kind.ends_with("+INIT") => &[0],
        // nbtinsert.c, nbtpage.c
        ("Btree", "SPLIT_L" | "SPLIT_R") => &[1],
        ("Btree", "NEWROOT") => &[0, 2],
        ("Btree", "INSERT_META") => &[2],
        ("Btree", "META_CLEANUP" | "MARK_PAGE_HALFDEAD") => &[0],
        ("Btree", "UNLINK_PAGE" | "UNLINK_PAGE_META") => &[0, 3, 4],
        // hash.c, hashovfl.c, hashpage.c
        ("Hash", "INIT_META_PAGE" | "INIT_BITMAP_PAGE") => &[0],
        ("Hash", "ADD_OVFL_PAGE") => &[0, 3],
        ("Hash", "SPLIT_ALLOCATE_PAGE") => &[1],
        // gininsert.c, ginfast.c
        ("Gin", "CREATE_PTREE" | "UPDATE_META_PAGE" | "INSERT_LISTPAGE") => &[0],
        ("Gin", "DELETE_LISTPAGE") => return true,
        // gistxlog.c: all but the left sibling.
        ("Gist", "PAGE_SPLIT") => return block_id > 0,
        // brin.c, brin_revmap.c
        ("BRIN", "CREATE_INDEX") => &[0],
        ("BRIN", "REVMAP_EXTEND") => &[1],
        // sequence.c
        ("Sequence", "LOG") => &[0],
        _ => &[],
    };
    init.contains(&block_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_to_a_new_page_initialises_that_and_not_the_old_one() {
        assert!(will_init("Heap", "UPDATE+INIT", 0));
        assert!(!will_init("Heap", "UPDATE+INIT", 1));
        assert!(!will_init("Heap", "UPDATE", 0));
        assert!(will_init("Heap2", "MULTI_INSERT+INIT", 0));
    }

    #[test]
    fn a_split_initialises_the_right_page_and_a_new_root_the_meta_page_too() {
        assert_eq!([0, 1, 2, 3].map(|id| will_init("Btree", "SPLIT_L", id)), [false, true, false, false]);
        assert_eq!([0, 1, 2].map(|id| will_init("Btree", "NEWROOT", id)), [true, false, true]);
        assert!(!will_init("Btree", "INSERT_LEAF", 0));
    }

    #[test]
    fn what_is_not_known_counts_as_read() {
        assert!(!will_init("custom128", "UNKNOWN", 0));
    }
}
