//! Lines of `pg_waldump`, as PostgreSQL 15 to 19 write them without `--bkp-details`.

use super::block::{Fork, RelFile};
use super::init::will_init;
use crate::store::LAST_LSN;

/// What begins each block reference, after the description of the record (`XLogRecGetBlockRefInfo`).
const BLOCK_REF: &str = ", blkref #";

/// One WAL record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Where it begins, bytes from 0/0.
    pub lsn: u64,
    /// Its length in WAL, images included, bytes.
    pub length: u32,
    /// The pages it names, in order.
    pub blocks: &'a [BlockRef],
}

/// A page that a record names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockRef {
    /// The relation.
    pub relation: RelFile,
    /// The fork.
    pub fork: Fork,
    /// Number of the page in it.
    pub block: u32,
    /// What the record carries of the page.
    pub image: Image,
    /// Does the record make a page that may not have been there. Known of initialised pages, and of whole pages that
    /// are logged as such (`XLOG_FPI`).
    pub makes_page: bool,
}

/// What a record carries of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Image {
    /// Nothing: the change is applied to the page as it is.
    None,
    /// A full-page image, which replay puts in the page's place.
    Full,
    /// An image that replay compares with the page (`wal_consistency_checking`).
    ForChecking,
    /// Nothing, but replay initialises the page.
    Init,
}

impl Image {
    /// Does replay do without what is on the page?
    #[must_use]
    pub fn replaces_page(self) -> bool {
        matches!(self, Self::Full | Self::Init)
    }
}

/// Reads lines; keeps one record's block references at a time.
#[derive(Debug, Default)]
pub struct LineParser {
    blocks: Vec<BlockRef>,
}

impl LineParser {
    /// The record of this line; none if it is no such line.
    pub fn parse(&mut self, line: &str) -> Option<Record<'_>> {
        self.blocks.clear();
        let rest = line.strip_prefix("rmgr: ")?;
        let (rmgr, rest) = rest.split_once(' ')?;
        let (_, rest) = rest.split_once('/')?.1.split_once('/')?;
        let (length, rest) = rest.trim_start().split_once(',')?;
        let (_, rest) = rest.split_once("lsn: ")?;
        let (lsn, rest) = rest.split_once(',')?;
        let (_, description) = rest.split_once("desc: ")?;
        let kind = description.split([' ', ',']).next()?;
        // The only records of this kind that name pages. Others hold names that users choose, like restore points.
        if rmgr != "XLOG" || kind.starts_with("FPI") {
            self.read_blocks(description, rmgr, kind);
        }
        Some(Record { lsn: parse_lsn(lsn)?, length: length.parse().ok()?, blocks: &self.blocks })
    }

    /// Block references are what ends the line: a description may hold text of the user's that looks like one, so
    /// they are read from the end until something is none.
    fn read_blocks(&mut self, description: &str, rmgr: &str, kind: &str) {
        let mut rest = description;
        while let Some((before, text)) = rest.rsplit_once(BLOCK_REF) {
            let Some(block) = block_ref(text, rmgr, kind) else { break };
            self.blocks.push(block);
            rest = before;
        }
        self.blocks.reverse();
    }
}

/// An LSN as PostgreSQL writes it, in bytes from 0/0: `0/0178C7C0`.
pub(crate) fn parse_lsn(text: &str) -> Option<u64> {
    let (high, low) = text.split_once('/')?;
    let (high, low) = (u32::from_str_radix(high, 16).ok()?, u32::from_str_radix(low, 16).ok()?);
    // As far as PostgreSQL's own arithmetic on them goes: beyond that sums would have no meaning.
    Some(u64::from(high) << 32 | u64::from(low)).filter(|lsn| *lsn <= LAST_LSN)
}

/// `0: rel 1663/5/16399 [fork vm ]blk 7[ FPW[ for WAL verification]]`
fn block_ref(text: &str, rmgr: &str, kind: &str) -> Option<BlockRef> {
    let (id, rest) = text.split_once(": rel ")?;
    let id: u8 = id.parse().ok()?;
    let (relation, rest) = rest.split_once(' ')?;
    let (fork, rest) = match rest.strip_prefix("fork ") {
        Some(rest) => rest.split_once(' ')?,
        None => ("main", rest),
    };
    let rest = rest.strip_prefix("blk ")?;
    let (block, flags) = rest.split_once(' ').unwrap_or((rest, ""));
    let image = match flags {
        "" if will_init(rmgr, kind, id) => Image::Init,
        "" => Image::None,
        "FPW" => Image::Full,
        // Replay initialises the page whatever it is to be compared with.
        "FPW for WAL verification" if will_init(rmgr, kind, id) => Image::Full,
        "FPW for WAL verification" => Image::ForChecking,
        _ => return None,
    };
    let makes_page = image == Image::Init || (image == Image::Full && rmgr == "XLOG" && kind == "FPI");
    Some(BlockRef {
        relation: rel_file(relation)?,
        fork: Fork::parse(fork)?,
        block: block.parse().ok()?,
        image,
        makes_page,
    })
}

fn rel_file(text: &str) -> Option<RelFile> {
    let mut numbers = text.splitn(3, '/').map(str::parse);
    let mut next = || numbers.next()?.ok();
    Some(RelFile { tablespace: next()?, database: next()?, number: next()? })
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
