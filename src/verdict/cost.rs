//! What the update cost: on each node, and in prefetches of the faulted standby.

use std::collections::BTreeSet;

use crate::store::{EventKind, Metric, NodeInfo, NodeSummary, Role};

use super::Finding;
use super::case::Case;
use super::rounded;
use super::window::{Edges, Lost, Window};

/// How long the update took and how much WAL it wrote.
#[derive(Debug, Default)]
pub(super) struct UpdateFigures {
    pub executed_s: Option<f64>,
    pub committed_s: Option<f64>,
    pub wal_bytes: Option<u64>,
}

impl UpdateFigures {
    pub fn of(case: &Case) -> Self {
        let Some(started) = case.first(EventKind::UpdateStarted) else {
            return Self::default();
        };
        let executed = case.first(EventKind::UpdateExecuted);
        let committed = case.first(EventKind::UpdateCommitted);
        Self {
            executed_s: executed.map(|event| event.t_s - started.t_s),
            committed_s: committed.map(|event| event.t_s - started.t_s),
            wal_bytes: executed.and_then(|event| event.lsn?.checked_sub(started.lsn?)),
        }
    }
}

/// What the update cost each node, the primary until it was committed, a standby until it had replayed it.
#[derive(Debug)]
pub(super) struct Cost {
    pub nodes: Vec<NodeSummary>,
    primary: String,
    faulted: String,
    unknown: Vec<String>,
}

impl Cost {
    pub fn of(case: &Case) -> Self {
        let mut unknown = Vec::new();
        let nodes = case.run.nodes.iter().map(|node| node_summary(case, node, &mut unknown)).collect();
        Self { nodes, primary: case.run.primary().to_owned(), faulted: case.faulted().to_owned(), unknown }
    }

    /// Reads of the faulted standby for each read of the primary.
    pub fn amplification(&self) -> Option<f64> {
        let primary = self.reads_of(&self.primary).filter(|reads| *reads > 0)?;
        Some(self.reads_of(&self.faulted)? as f64 / primary as f64)
    }

    pub fn findings(&self) -> impl Iterator<Item = Finding> + use<> {
        self.unknown.clone().into_iter().map(Finding::Limits)
    }

    fn reads_of(&self, name: &str) -> Option<u64> {
        self.nodes.iter().find(|node| node.name == name)?.reads
    }
}

/// The node's share, all of it unknown when its window is. The first counter that was lost is told in `unknown`.
fn node_summary(case: &Case, node: &NodeInfo, unknown: &mut Vec<String>) -> NodeSummary {
    let window = update_window(case, node);
    let mut lost = None;
    let mut grown = |metric: Metric| {
        let counter = case.counter(&node.name, &metric);
        let growth = counter.growth(window?, Edges::Around);
        // A source that does not exist on this machine, other than the disk's reads, is no surprise to tell of.
        if let Err(error) = growth
            && (error != Lost::Absent || metric == Metric::ReadsTotal)
        {
            lost.get_or_insert((metric, error));
        }
        growth.ok()
    };
    let reads = grown(Metric::ReadsTotal);
    let summary = NodeSummary {
        name: node.name.clone(),
        reads: reads.map(|growth| growth.whole()),
        read_bytes: grown(Metric::ReadBytesTotal).map(|growth| growth.whole()),
        writes: grown(Metric::WritesTotal).map(|growth| growth.whole()),
        write_bytes: grown(Metric::WriteBytesTotal).map(|growth| growth.whole()),
        cpu_s: rounded(grown(Metric::CpuSecondsTotal).map(|growth| growth.amount)),
        seconds: rounded(window.map(|window| window.to_s - window.from_s)),
    };
    if let Some((metric, lost)) = lost {
        unknown.push(format!(
            "what the update cost {} is known only in part: {} {lost}",
            node.name,
            metric.name(),
        ));
    }
    summary
}

fn update_window(case: &Case, node: &NodeInfo) -> Option<Window> {
    let from_s = case.first(EventKind::UpdateStarted)?.t_s;
    let to_s = match node.role {
        Role::Primary => case.first(EventKind::UpdateCommitted)?.t_s,
        Role::Standby => {
            let end = case
                .first(EventKind::UpdateExecuted)
                .and_then(|event| event.lsn)
                .or_else(|| case.first(EventKind::UpdateCommitted)?.lsn)?;
            case.timeline.series(&node.name, &Metric::ReplayLsn).find(|(_, lsn)| *lsn >= end as f64)?.0
        }
    };
    Some(Window { from_s, to_s })
}

/// What the faulted standby prefetched and read itself, from the start of the update (where there was none, from the begin
/// of the hang, or of what is judged) to the end of a hang that is long
/// enough to be a stall, or else of the run.
#[derive(Debug, Default)]
pub(super) struct Prefetching {
    pub blocks: Option<u64>,
    pub share: Option<f64>,
    pub startup_reads: Option<u64>,
    unknown: Option<String>,
}

impl Prefetching {
    pub fn of(case: &Case) -> Self {
        let from_s = match case.run.observed() {
            // What a standby prefetched for hours before says nothing of what it did when it mattered.
            Some(_) => case.broke_s().unwrap_or_default(),
            None if case.first(EventKind::UpdateStarted).is_none() => return Self::default(),
            None => case.experiment().from_s,
        };
        let to_s = case.long_hang().map_or(case.experiment().to_s, |hang| hang.window().to_s);
        let window = Window { from_s, to_s };
        let grown = |metric: &Metric| case.counter(case.faulted(), metric).growth(window, Edges::Around);
        let blocks = grown(&Metric::prefetched());
        Self {
            blocks: blocks.ok().map(|growth| growth.whole()),
            share: share(case, window),
            // The startup process tells of its reads only now and then: the last it told is taken.
            startup_reads: case
                .counter(case.faulted(), &Metric::StartupReadsTotal)
                .growth(Window { from_s, ..case.experiment() }, Edges::Around)
                .ok()
                .map(|growth| growth.whole()),
            // Servers before 15 have no such counter.
            unknown: blocks.err().filter(|lost| *lost != Lost::Absent || case.run.observed().is_none()).map(
                |lost| {
                    format!(
                        "how many blocks {} prefetched is not known: {} {lost}",
                        case.faulted(),
                        Metric::prefetched().name(),
                    )
                },
            ),
        }
    }

    pub fn findings(&self) -> Option<Finding> {
        self.unknown.clone().map(Finding::Limits)
    }
}

/// Prefetched block references of all that the prefetcher looked at: what it prefetched, found in the buffers (`hit`)
/// or passed over for one of the reasons it counts (`skip_*`, of which a patched server may have more).
fn share(case: &Case, window: Window) -> Option<f64> {
    let columns: BTreeSet<&str> = case
        .timeline
        .columns
        .iter()
        .filter(|column| column.node == case.faulted())
        .filter_map(|column| match &column.metric {
            Metric::RecoveryPrefetch(name) => Some(name.as_str()),
            _ => None,
        })
        .filter(|name| matches!(*name, "prefetch" | "hit") || name.starts_with("skip_"))
        .chain(["prefetch", "hit", "skip_init", "skip_new", "skip_fpw", "skip_rep"])
        .collect();
    let mut all = 0.0;
    let mut prefetched = None;
    for name in columns {
        let metric = Metric::RecoveryPrefetch(name.to_owned());
        let growth = case.counter(case.faulted(), &metric).growth(window, Edges::Around).ok()?;
        all += growth.amount;
        if metric == Metric::prefetched() {
            prefetched = Some(growth.amount);
        }
    }
    (all > 0.0).then_some(prefetched? / all)
}
