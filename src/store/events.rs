//! `events.csv`: what happened, on the clock of the timeline.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::StoreError;
use super::log::{CsvLog, moment, whole_lines};

/// What kind of thing happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// A phase began; `detail` is its name.
    Phase,
    /// The update was sent; `lsn` is the end of WAL before it.
    UpdateStarted,
    /// The update's last statement returned; `lsn` is the end of WAL after it.
    UpdateExecuted,
    /// The update's last commit was acknowledged, synchronous standbys included; `lsn` is the end of WAL after it.
    UpdateCommitted,
    /// The fault was injected; `node` is where. Of servers that are only watched, the moment that the user marked.
    Fault,
    /// The server's log or state confirms that the fault did what it should.
    FaultVerified,
    /// What a fault that lasts had broken was put right: the server was started, the network restored; of a
    /// server, `lsn` is where its replay begins anew.
    FaultEnded,
    /// The standby streams again.
    StreamingAgain,
    /// The first commit after a gap.
    CommitsAgain,
    /// The deadline of the phase passed; what was waited for is in `detail`.
    Deadline,
    /// The user stopped the run.
    Interrupted,
    /// Something to know when reading the result; it does not change the verdict.
    Note,
    /// Something because of which no verdict can be given.
    Disqualified,
    /// The run's last word: the load was stopped, and the servers' logs and states were looked at. Without it the lab
    /// was killed, or could not write.
    Concluded,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Seconds since the run's clock started.
    pub t_s: f64,
    /// Seconds since 1970.
    pub unix_s: f64,
    /// What kind of thing.
    pub kind: EventKind,
    /// The node it happened to, if to one.
    pub node: Option<String>,
    /// Position in the WAL, bytes from 0/0, where it is known.
    pub lsn: Option<u64>,
    /// What is to be said of it.
    pub detail: String,
}

/// The columns, by the names of an [`Event`]'s fields.
const COLUMNS: [&str; 6] = ["t_s", "unix_s", "kind", "node", "lsn", "detail"];

/// Appends events to `events.csv`; each is with the kernel when `append` returns.
#[derive(Debug)]
pub struct EventLog {
    csv: CsvLog,
}

impl EventLog {
    /// Creates the file with its header.
    ///
    /// # Errors
    /// When the file cannot be made or written.
    pub fn create(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { csv: CsvLog::create(path, COLUMNS)? })
    }

    /// Appends one event.
    ///
    /// # Errors
    /// When it cannot be written, as on a full disk; then nothing of it is in the file.
    pub fn append(&mut self, event: &Event) -> Result<(), StoreError> {
        self.csv.append(|line| line.serialize(event))
    }
}

/// Reads `events.csv`; a last line that was cut short is dropped.
///
/// # Errors
/// When the file cannot be read or holds a row that is not an event.
pub fn read_events(path: &Path) -> Result<Vec<Event>, StoreError> {
    let text = std::fs::read_to_string(path).map_err(StoreError::read(path))?;
    let mut csv = csv::Reader::from_reader(whole_lines(path, &text)?.as_bytes());
    let header = csv.headers().map_err(StoreError::csv(path))?.clone();
    let missing = COLUMNS.iter().find(|name| !header.iter().any(|column| column == **name));
    if let Some(name) = missing.filter(|_| !text.is_empty()) {
        return Err(StoreError::foreign(path, 1, format!("there is no column {name}")));
    }
    let mut events = Vec::new();
    for record in csv.records() {
        let record = record.map_err(StoreError::csv(path))?;
        let line = record.position().map_or(0, csv::Position::line);
        let event: Event = record
            .deserialize(Some(&header))
            .map_err(|error| StoreError::foreign(path, line, csv_reason(&error)))?;
        moment(event.t_s, event.unix_s).map_err(|what| StoreError::foreign(path, line, what))?;
        events.push(event);
    }
    Ok(events)
}

/// Why a row is none, without the place that csv adds.
fn csv_reason(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Deserialize { err, .. } => err.to_string(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn events_are_read_back_as_written_commas_and_quotes_included() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.csv");
        let event = |kind, node: Option<&str>, lsn, detail: &str| Event {
            t_s: 1.5,
            unix_s: 2.25,
            kind,
            node: node.map(str::to_owned),
            lsn,
            detail: detail.to_owned(),
        };
        let events = [
            event(EventKind::Phase, None, None, "baseline"),
            event(EventKind::Fault, Some("standby"), Some(1 << 33), "SIGTERM to pid 7, \"walreceiver\""),
        ];
        let mut log = EventLog::create(&path).unwrap();
        for event in &events {
            log.append(event).unwrap();
        }
        assert_eq!(read_events(&path).unwrap(), events);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("t_s,unix_s,kind,node,lsn,detail\n1.5,2.25,phase,,,baseline\n"), "{text}");
    }
}
