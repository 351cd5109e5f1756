//! What replay does with WAL, worked out from the WAL itself.
//!
//! `pg_waldump`'s lines ([`LineParser`]) are fed to a model of the standby ([`Replay`]): its recovery prefetcher, its
//! buffer pool and the operating system's cache. What the model finds is counted by relation and range ([`Survey`])
//! and kept in `wal.json`. Nothing grows with the WAL: a line is forgotten when it has been counted, and all that
//! stays are the buffers, the records within the prefetcher's look-ahead and two bits for each page that was touched.

mod bitmap;
mod block;
mod filter;
mod init;
mod line;
mod lookahead;
mod plan;
mod pool;
mod readahead;
mod replay;
mod survey;

pub use block::{Fork, RelFile};
pub(crate) use line::parse_lsn;
pub use line::{BlockRef, Image, LineParser, Record};
pub(crate) use plan::restarted;
pub use plan::{LINUX_READ_AHEAD_KB, Ranges, Replayed, StandbySettings};
pub use replay::{Event, Replay};
pub use survey::{RelationNames, Survey};
