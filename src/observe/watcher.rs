//! What the rows of servers that are only watched say as they come: the events of the record.

use std::collections::BTreeMap;

use crate::store::{EventKind, Metric, Row};
use crate::verdict::Witness;

/// Rows without an answer from which a server is called silent: one or two are jitter.
const SILENT_ROWS: u32 = 3;

/// Seconds without a commit from which their end is worth an event.
const GAP_S: f64 = 3.0;

/// Something that a row shows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    pub kind: EventKind,
    pub node: Option<String>,
    pub detail: String,
}

/// What of the rows before is needed to tell what is new.
#[derive(Debug)]
pub(super) struct Watcher {
    primary: String,
    servers: BTreeMap<String, ServerState>,
    witness: Witness,
    /// Since when commits have stood still.
    still_since_s: Option<f64>,
    before_s: Option<f64>,
}

#[derive(Debug, Default)]
struct ServerState {
    silent_rows: u32,
    silent_since_s: f64,
    /// Of a standby, whether it streamed when that was last known.
    streams: Option<bool>,
    /// When it was started, where it tells.
    started_unix_s: Option<f64>,
}

impl Watcher {
    pub fn new(primary: &str, standbys: &[String], witness: Witness) -> Self {
        let names = standbys.iter().map(String::as_str).chain([primary]);
        Self {
            primary: primary.to_owned(),
            servers: names.map(|name| (name.to_owned(), ServerState::default())).collect(),
            witness,
            still_since_s: None,
            before_s: None,
        }
    }

    /// What is new in this row.
    pub fn see(&mut self, row: &Row) -> Vec<Seen> {
        let mut seen = Vec::new();
        for (node, state) in &mut self.servers {
            let answers =
                [Metric::WalLsn, Metric::ReplayLsn].iter().any(|lsn| row.number(node, lsn).is_some());
            seen.extend(state.answers(node, answers, row.t_s));
            seen.extend(
                row.number(node, &Metric::WalreceiverStreaming)
                    .and_then(|streams| state.streams(node, streams > 0.0)),
            );
        }
        let primary = self.servers.get_mut(&self.primary);
        let started = row.number(&self.primary, &Metric::StartedUnixS);
        let anew = primary.zip(started).and_then(|(state, started)| state.starts(&self.primary, started));
        seen.extend(anew);
        seen.extend(self.commits(row));
        self.before_s = Some(row.t_s);
        seen
    }

    fn commits(&mut self, row: &Row) -> Option<Seen> {
        match self.witness.stood_still(row, &self.primary)? {
            true => {
                self.still_since_s = self.still_since_s.or(self.before_s).or(Some(row.t_s));
                None
            }
            false => {
                // The commit came some time in the second before the row.
                let since_s = self.still_since_s.take()?;
                let still_s = self.before_s.unwrap_or(row.t_s) - since_s;
                let detail = format!("after {still_s:.0} s without one");
                (still_s >= GAP_S).then_some(Seen { kind: EventKind::CommitsAgain, node: None, detail })
            }
        }
    }
}

impl ServerState {
    fn answers(&mut self, node: &str, answers: bool, t_s: f64) -> Option<Seen> {
        let note = |detail: String| Some(Seen { kind: EventKind::Note, node: Some(node.to_owned()), detail });
        if answers {
            let was_silent = std::mem::take(&mut self.silent_rows) >= SILENT_ROWS;
            let silent_s = t_s - self.silent_since_s;
            return if was_silent { note(format!("answers again, after {silent_s:.0} s")) } else { None };
        }
        if self.silent_rows == 0 {
            self.silent_since_s = t_s;
        }
        self.silent_rows = self.silent_rows.saturating_add(1);
        if self.silent_rows == SILENT_ROWS { note("does not answer".to_owned()) } else { None }
    }

    fn starts(&mut self, node: &str, started_unix_s: f64) -> Option<Seen> {
        let before = self.started_unix_s.replace(started_unix_s)?;
        let detail = "was started anew, or another server has taken its place".to_owned();
        (before != started_unix_s).then(|| Seen {
            kind: EventKind::Note,
            node: Some(node.to_owned()),
            detail,
        })
    }

    fn streams(&mut self, node: &str, streams: bool) -> Option<Seen> {
        let before = self.streams.replace(streams)?;
        let (kind, detail) = match (before, streams) {
            (true, false) => (EventKind::Note, "does not stream any more"),
            (false, true) => (EventKind::StreamingAgain, ""),
            _ => return None,
        };
        Some(Seen { kind, node: Some(node.to_owned()), detail: detail.to_owned() })
    }
}
