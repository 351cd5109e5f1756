//! What came of each run: a row of `sweep.csv`.

use std::path::Path;

use super::{Design, Run};
use crate::analysis::Analysed;
use crate::store::{StoreError, Verdict};

/// Did a run give what it was run for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It has a verdict.
    Finished,
    /// It failed, was stopped, or cannot tell: it is run again when the sweep is taken up again.
    Broken,
}

/// One run. What is not known is none, an empty field.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Which run of the design.
    pub run: Run,
    /// Did it give what it was run for.
    pub status: Status,
    /// What it showed.
    pub verdict: Option<Verdict>,
    /// Length of the hang, seconds.
    pub hang_s: Option<f64>,
    /// False when the run ended before the hang did: then `hang_s` is a lower bound.
    pub hang_ended: Option<bool>,
    /// Reads of the faulted standby in the hang.
    pub reads: Option<u64>,
    /// Reads that the backlog makes for, by its WAL.
    pub predicted_reads: Option<u64>,
    /// Seconds that these take at the standby's cap.
    pub predicted_hang_s: Option<f64>,
    /// Cap on reads of the faulted standby, a second.
    pub read_iops_cap: Option<u64>,
    /// The server, as in `18.6 (Debian 18.6-3)`.
    pub server_version: Option<String>,
    /// The run's folder, relative to the sweep's.
    pub folder: Option<String>,
    /// Why it is broken.
    pub problem: Option<String>,
}

impl Record {
    /// Of a run that was judged. `problem` is what broke it, if something did.
    ///
    /// # Errors
    /// When its `wal.json` is not the lab's.
    pub fn of(
        run: Run,
        analysed: &Analysed,
        sweep: &Path,
        problem: Option<String>,
    ) -> Result<Self, StoreError> {
        let summary = &analysed.summary;
        let inconclusive = (summary.verdict == Verdict::Inconclusive).then(|| summary.reasons.join("; "));
        let problem = problem.or(inconclusive);
        let why = analysed.explanation()?;
        Ok(Self {
            status: if problem.is_none() { Status::Finished } else { Status::Broken },
            verdict: Some(summary.verdict),
            hang_s: summary.hang_s,
            hang_ended: summary.hang_ended,
            reads: summary.hang_reads,
            predicted_reads: why.as_ref().and_then(|why| why.predicted_reads),
            predicted_hang_s: why.and_then(|why| why.predicted_replay_s),
            read_iops_cap: summary.read_iops_cap,
            server_version: Some(analysed.run.server.version.clone()),
            folder: relative(analysed.folder.path(), sweep),
            problem,
            run,
        })
    }

    /// Of a run that left nothing to judge.
    #[must_use]
    pub fn broken(run: Run, folder: Option<String>, problem: String) -> Self {
        Self {
            run,
            status: Status::Broken,
            verdict: None,
            hang_s: None,
            hang_ended: None,
            reads: None,
            predicted_reads: None,
            predicted_hang_s: None,
            read_iops_cap: None,
            server_version: None,
            folder,
            problem: Some(problem),
        }
    }
}

/// The way from the sweep's folder to one in it.
pub(super) fn relative(folder: &Path, sweep: &Path) -> Option<String> {
    Some(folder.strip_prefix(sweep).ok()?.display().to_string())
}

/// Names of the columns behind those of the varied keys.
const COLUMNS: [&str; 12] = [
    "repeat",
    "status",
    "verdict",
    "hang_s",
    "hang_ended",
    "reads",
    "predicted_reads",
    "predicted_hang_s",
    "read_iops_cap",
    "server_version",
    "folder",
    "problem",
];

/// The rows as `sweep.csv`: the varied keys by name, then [`COLUMNS`].
///
/// # Errors
/// When a row cannot be written, which plain texts always can.
pub(super) fn to_csv(design: &Design, records: &[Record]) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let keys = design.axes.iter().map(|axis| axis.key.as_str());
    writer.write_record(keys.chain(COLUMNS))?;
    for record in records {
        let values = design.values(record.run.point).into_iter().map(str::to_owned);
        writer.write_record(values.chain(fields(record)))?;
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn fields(record: &Record) -> [String; COLUMNS.len()] {
    fn text<T: ToString>(value: &Option<T>) -> String {
        value.as_ref().map(T::to_string).unwrap_or_default()
    }
    [
        record.run.repeat.to_string(),
        match record.status {
            Status::Finished => "finished".to_owned(),
            Status::Broken => "broken".to_owned(),
        },
        text(&record.verdict),
        text(&record.hang_s),
        text(&record.hang_ended),
        text(&record.reads),
        text(&record.predicted_reads),
        text(&record.predicted_hang_s),
        text(&record.read_iops_cap),
        text(&record.server_version),
        text(&record.folder),
        // One line a run, whatever an error has to say.
        text(&record.problem).replace(['\n', '\r'], " "),
    ]
}

/// Why a row of `sweep.csv` is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct NotARecord {
    line: u64,
    what: String,
}

/// Reads the rows of `sweep.csv`.
///
/// # Errors
/// With the line that is not of this design.
pub(super) fn from_csv(design: &Design, text: &str) -> Result<Vec<Record>, NotARecord> {
    let refused = |line: u64, what: &str| NotARecord { line, what: what.to_owned() };
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| refused(1, &error.to_string()))?;
    let keys = design.axes.iter().map(|axis| axis.key.as_str());
    if !header.iter().eq(keys.chain(COLUMNS)) {
        return Err(refused(1, "the columns are not those of this sweep"));
    }
    let mut records = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|error| {
            let line = error.position().map_or(0, csv::Position::line);
            refused(line, &error.to_string())
        })?;
        let line = row.position().map_or(0, csv::Position::line);
        records.push(record(design, &row).map_err(|what| NotARecord { line, what })?);
    }
    Ok(records)
}

fn record(design: &Design, row: &csv::StringRecord) -> Result<Record, String> {
    let (values, fields): (Vec<_>, Vec<_>) =
        row.iter().enumerate().partition(|(at, _)| *at < design.axes.len());
    let values: Vec<&str> = values.into_iter().map(|(_, value)| value).collect();
    let point = design.points().position(|point| point == values);
    let point = point.ok_or_else(|| format!("there is no point {}", values.join(", ")))?;
    let field = |name: &str| {
        let at = COLUMNS.iter().position(|column| *column == name);
        at.and_then(|at| fields.get(at)).map_or("", |(_, value)| *value)
    };
    Ok(Record {
        run: Run { repeat: parsed(field("repeat"))?.ok_or("there is no repeat")?, point },
        status: match field("status") {
            "finished" => Status::Finished,
            "broken" => Status::Broken,
            other => return Err(format!("{other:?} is no status")),
        },
        verdict: match field("verdict") {
            "" => None,
            text => {
                let known = [Verdict::Stalled, Verdict::NoStall, Verdict::Inconclusive];
                let verdict = known.into_iter().find(|verdict| verdict.to_string() == text);
                Some(verdict.ok_or_else(|| format!("{text:?} is no verdict"))?)
            }
        },
        hang_s: parsed(field("hang_s"))?,
        hang_ended: parsed(field("hang_ended"))?,
        reads: parsed(field("reads"))?,
        predicted_reads: parsed(field("predicted_reads"))?,
        predicted_hang_s: parsed(field("predicted_hang_s"))?,
        read_iops_cap: parsed(field("read_iops_cap"))?,
        server_version: parsed(field("server_version"))?,
        folder: parsed(field("folder"))?,
        problem: parsed(field("problem"))?,
    })
}

/// An empty field is none.
fn parsed<T: std::str::FromStr>(field: &str) -> Result<Option<T>, String> {
    if field.is_empty() {
        return Ok(None);
    }
    field.parse().map(Some).map_err(|_| format!("{field:?} is not what belongs there"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::testing::{design, finished};
    use super::*;

    #[test]
    fn rows_are_read_as_they_were_written_keys_by_name() {
        let design = design(&["standby.read_iops=100,200", "prefetch=try,off"], 2);
        let whole = Record {
            hang_ended: Some(true),
            reads: Some(17_600),
            server_version: Some("18.6 (Debian, \"own\")".to_owned()),
            folder: Some("quick/x".to_owned()),
            ..finished(1, 2, 88.5)
        };
        let broken = Record::broken(Run { repeat: 2, point: 3 }, None, "no room\nat all".to_owned());
        let text = to_csv(&design, &[whole.clone(), broken.clone()]).unwrap();
        assert!(text.starts_with("standby.read_iops,prefetch,repeat,status,verdict,hang_s,"), "{text}");
        assert!(
            text.lines().nth(1).unwrap().starts_with("200,try,1,finished,stalled,88.5,true,17600,"),
            "{text}"
        );
        let expected = Record { problem: Some("no room at all".to_owned()), ..broken };
        assert_eq!(from_csv(&design, &text).unwrap(), [whole, expected]);
    }

    #[test]
    fn a_row_of_another_sweep_is_refused_with_its_line() {
        let of_sweep = design(&["a=1,2"], 1);
        let text = to_csv(&of_sweep, &[finished(1, 0, 5.0)]).unwrap();
        let refused = |design: &Design, text: &str| from_csv(design, text).unwrap_err().to_string();
        assert_eq!(refused(&design(&["b=1,2"], 1), &text), "line 1: the columns are not those of this sweep");
        assert_eq!(refused(&design(&["a=7,8"], 1), &text), "line 2: there is no point 1");
        assert_eq!(refused(&of_sweep, &text.replace("finished", "maybe")), "line 2: \"maybe\" is no status");
        assert_eq!(
            refused(&of_sweep, &text.replace(",5,", ",long,")),
            "line 2: \"long\" is not what belongs there"
        );
        assert!(refused(&of_sweep, &format!("{text}1,2")).starts_with("line 3: "));
    }
}
