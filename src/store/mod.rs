//! The files of a run: the only thing that measuring and judging share.
//!
//! A run writes them as it goes; verdict, plot and report read nothing else, so a run can be judged and drawn again
//! years later, without Docker.

mod events;
mod folder;
mod log;
mod metric;
mod run;
mod subject;
mod summary;
mod timeline;
mod wait_for;
mod wal;

pub use events::{Event, EventKind, EventLog, read_events};
pub(crate) use folder::replace;
pub use folder::{RunFolder, StoreError};
pub use metric::{Column, Metric};
pub use run::{CapProof, NodeInfo, OwnBuild, Platform, Role, RunInfo, Server};
pub use subject::{Observed, ObservedServer, Subject};
pub use summary::{HangWait, NodeSummary, ProbeSummary, Summary, Verdict};
pub use timeline::{Cell, Phase, Row, Timeline, TimelineWriter};
pub use wait_for::{
    LatencySummary, LoadRatio, LoadSummary, LoadWindow, Refusal, RefusalSummary, Trial, WaitForFolder,
    WaitForInfo, WaitForRows, WaitForSummary, WakeReturn, WakeSummary,
};
pub use wal::{BlockCounts, LAST_LSN, RelationCounts, Stretch, WalAccount, WalModel, WalRange};
