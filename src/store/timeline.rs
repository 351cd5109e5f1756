//! `timeline.csv`: one row a tick, every source side by side on one monotonic clock.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::log::{CsvLog, moment, whole_lines};
use super::{Column, Metric, StoreError};

/// What the experiment was doing. Phases follow each other in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Nodes are up; checkpoint, connections warmed.
    Settle,
    /// The load runs alone.
    Baseline,
    /// The update runs beside the load.
    Update,
    /// The update has ended; the standbys flush what is left of its WAL.
    Flush,
    /// From the fault until the standby streams and commits flow again.
    Recovery,
    /// A while longer.
    Tail,
    /// Servers that the lab only watches: nothing that happens is its doing.
    Observed,
}

impl Phase {
    /// All phases in their order.
    pub const ALL: [Self; 7] =
        [Self::Settle, Self::Baseline, Self::Update, Self::Flush, Self::Recovery, Self::Tail, Self::Observed];

    /// The phase's name in the files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Settle => "settle",
            Self::Baseline => "baseline",
            Self::Update => "update",
            Self::Flush => "flush",
            Self::Recovery => "recovery",
            Self::Tail => "tail",
            Self::Observed => "observed",
        }
    }

    /// The phase of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.name() == name)
    }
}

/// One value of the timeline.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Cell {
    /// Not known: the source did not answer, or does not have it.
    #[default]
    Empty,
    /// A number.
    Number(f64),
    /// A word.
    Text(String),
}

impl Cell {
    /// The number, if the cell holds one.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        if let Self::Number(value) = self { Some(*value) } else { None }
    }

    fn write(&self) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Number(value) => format_number(*value),
            Self::Text(text) => text.clone(),
        }
    }

    fn parse(text: &str) -> Self {
        match text.parse::<f64>() {
            _ if text.is_empty() => Self::Empty,
            Ok(value) if value.is_finite() => Self::Number(value),
            Ok(_) => Self::Empty,
            Err(_) => Self::Text(text.to_owned()),
        }
    }
}

impl<T: Into<f64>> From<T> for Cell {
    fn from(value: T) -> Self {
        Self::Number(value.into())
    }
}

/// Whole numbers whole, others to the millionth: enough for microseconds, without the noise of binary fractions.
fn format_number(value: f64) -> String {
    if value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        let text = format!("{value:.6}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

/// All that was seen at one tick.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Number of the tick; a gap is a missed tick.
    pub tick: u64,
    /// Seconds since the run's clock started, at the moment the sources were asked.
    pub t_s: f64,
    /// The same moment as seconds since 1970, by the wall clock of the machine that runs the lab.
    pub unix_s: f64,
    /// What the experiment was doing.
    pub phase: Phase,
    /// What was seen. A column that is not here is empty.
    pub cells: HashMap<Column, Cell>,
}

impl Row {
    /// The number in this column, if there is one.
    #[must_use]
    pub fn number(&self, node: &str, metric: &Metric) -> Option<f64> {
        self.cells.get(&Column::new(node, metric.clone())).and_then(Cell::number)
    }

    /// The word in this column, if there is one.
    #[must_use]
    pub fn text(&self, node: &str, metric: &Metric) -> Option<&str> {
        match self.cells.get(&Column::new(node, metric.clone())) {
            Some(Cell::Text(text)) => Some(text),
            _ => None,
        }
    }
}

/// The columns every row begins with.
const FIXED: [&str; 4] = ["tick", "t_s", "unix_s", "phase"];

/// Appends rows to `timeline.csv`; each is with the kernel when `append` returns.
#[derive(Debug)]
pub struct TimelineWriter {
    csv: CsvLog,
    columns: Vec<Column>,
}

impl TimelineWriter {
    /// Creates the file with its header.
    ///
    /// # Errors
    /// When the file cannot be made or written.
    pub fn create(path: &Path, columns: Vec<Column>) -> Result<Self, StoreError> {
        let names = columns.iter().map(Column::to_string);
        let header = FIXED.iter().map(|name| (*name).to_owned()).chain(names);
        Ok(Self { csv: CsvLog::create(path, header)?, columns })
    }

    /// Appends one row.
    ///
    /// # Errors
    /// When it cannot be written, as on a full disk; then nothing of it is in the file.
    pub fn append(&mut self, row: &Row) -> Result<(), StoreError> {
        let fixed = [
            row.tick.to_string(),
            format_number(row.t_s),
            format!("{:.3}", row.unix_s),
            row.phase.name().to_owned(),
        ];
        let cells =
            self.columns.iter().map(|column| row.cells.get(column).map(Cell::write).unwrap_or_default());
        self.csv.append(|line| line.write_record(fixed.into_iter().chain(cells)))
    }
}

/// A timeline read back.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    /// The columns that are the lab's, in the order of the file.
    pub columns: Vec<Column>,
    /// The rows, in the order of the file.
    pub rows: Vec<Row>,
}

impl Timeline {
    /// Reads a timeline. Columns that the lab does not know are passed over. A last line that was cut short, as by a
    /// kill in the middle of a write, is dropped.
    ///
    /// # Errors
    /// When the file cannot be read, has no `tick`, `t_s`, `unix_s` or `phase`, or holds a row that is not one.
    pub fn read(path: &Path) -> Result<Self, StoreError> {
        let text = std::fs::read_to_string(path).map_err(StoreError::read(path))?;
        let lines = whole_lines(path, &text)?;
        if lines.is_empty() {
            return Ok(Self::default());
        }
        let mut csv = csv::Reader::from_reader(lines.as_bytes());
        let header = csv.headers().map_err(StoreError::csv(path))?.clone();
        let (fixed, columns) = columns(&header).map_err(|what| StoreError::foreign(path, 1, what))?;
        let mut rows: Vec<Row> = Vec::new();
        for record in csv.records() {
            let record = record.map_err(StoreError::csv(path))?;
            let line = record.position().map_or(0, csv::Position::line);
            let row =
                parse_row(&record, fixed, &columns).map_err(|what| StoreError::foreign(path, line, what))?;
            if let Some(before) = rows.last()
                && (row.tick < before.tick || row.t_s < before.t_s)
            {
                let what = format!("tick {} at {} s does not follow the row before it", row.tick, row.t_s);
                return Err(StoreError::foreign(path, line, what));
            }
            rows.push(row);
        }
        Ok(Self { columns: columns.into_iter().map(|(_, column)| column).collect(), rows })
    }

    /// The values of one column, with the time of their rows; rows without a number are left out.
    pub fn series<'a>(&'a self, node: &str, metric: &Metric) -> impl Iterator<Item = (f64, f64)> + use<'a> {
        let column = Column::new(node, metric.clone());
        self.rows.iter().filter_map(move |row| Some((row.t_s, row.cells.get(&column)?.number()?)))
    }
}

/// Where the columns that every row has are, and those of the lab's others.
type Places = ([usize; 4], Vec<(usize, Column)>);

fn columns(header: &csv::StringRecord) -> Result<Places, String> {
    let mut fixed = [0; 4];
    for (place, name) in fixed.iter_mut().zip(FIXED) {
        *place = header
            .iter()
            .position(|column| column == name)
            .ok_or_else(|| format!("there is no column {name}"))?;
    }
    let columns: Vec<(usize, Column)> =
        header.iter().enumerate().filter_map(|(at, name)| Some((at, Column::parse(name)?))).collect();
    let mut seen = HashSet::new();
    match columns.iter().find(|(_, column)| !seen.insert(column.clone())) {
        Some((_, column)) => Err(format!("the column {column} is there twice")),
        None => Ok((fixed, columns)),
    }
}

fn parse_row(
    record: &csv::StringRecord,
    fixed: [usize; 4],
    columns: &[(usize, Column)],
) -> Result<Row, String> {
    let field = |at: usize| record.get(at).unwrap_or_default();
    let number = |at: usize| -> Result<f64, String> {
        field(at).parse().map_err(|_| format!("{:?} is not a number", field(at)))
    };
    let [tick, t_s, unix_s, phase] = fixed;
    let (t_s, unix_s) = (number(t_s)?, number(unix_s)?);
    moment(t_s, unix_s)?;
    let cells = columns
        .iter()
        .map(|(at, column)| (column.clone(), Cell::parse(field(*at))))
        .filter(|(_, cell)| *cell != Cell::Empty);
    Ok(Row {
        tick: field(tick).parse().map_err(|_| format!("{:?} is not the number of a tick", field(tick)))?,
        t_s,
        unix_s,
        phase: Phase::parse(field(phase)).ok_or_else(|| format!("{:?} is not a phase", field(phase)))?,
        cells: cells.collect(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn row(tick: u64, cells: &[(&str, Metric, Cell)]) -> Row {
        let cells =
            cells.iter().map(|(node, metric, cell)| (Column::new(node, metric.clone()), cell.clone()));
        Row { tick, t_s: tick as f64 + 0.25, unix_s: 1.5, phase: Phase::Baseline, cells: cells.collect() }
    }

    fn written(rows: &[Row]) -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("timeline.csv");
        let columns = vec![Column::new("primary", Metric::Tps), Column::new("standby", Metric::StartupWait)];
        let mut writer = TimelineWriter::create(&path, columns).unwrap();
        for row in rows {
            writer.append(row).unwrap();
        }
        (dir, path)
    }

    #[test]
    fn what_was_written_is_read_back_and_missing_stays_empty() {
        let rows = [
            row(1, &[("primary", Metric::Tps, Cell::Number(0.0))]),
            row(3, &[("standby", Metric::StartupWait, Cell::Text("IO/DataFilePrefetch".to_owned()))]),
        ];
        let (_dir, path) = written(&rows);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            text,
            "tick,t_s,unix_s,phase,primary_tps,standby_startup_wait\n\
             1,1.25,1.500,baseline,0,\n3,3.25,1.500,baseline,,IO/DataFilePrefetch\n"
        );
        let timeline = Timeline::read(&path).unwrap();
        assert_eq!(timeline.rows, rows);
        assert_eq!(timeline.series("primary", &Metric::Tps).collect::<Vec<_>>(), [(1.25, 0.0)]);
    }

    #[test]
    fn a_row_is_on_disk_before_the_writer_is_closed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("timeline.csv");
        let mut writer = TimelineWriter::create(&path, vec![]).unwrap();
        writer.append(&row(7, &[])).unwrap();
        assert_eq!(Timeline::read(&path).unwrap().rows.len(), 1);
    }

    #[test]
    fn a_last_line_that_was_cut_is_dropped() {
        let (_dir, path) = written(&[row(1, &[]), row(2, &[])]);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 4]).unwrap();
        assert_eq!(Timeline::read(&path).unwrap().rows.len(), 1);
    }

    #[test]
    fn a_foreign_file_is_refused_with_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.csv");
        for (text, what) in [
            ("a,b\n1,2\n", "x.csv:1: there is no column tick"),
            ("tick,t_s,unix_s,phase\n1,1,1,lunch\n", "x.csv:2: \"lunch\" is not a phase"),
            ("tick,t_s,unix_s,phase\n1,NaN,1,tail\n", "x.csv:2: NaN is no time of a run"),
            ("tick,t_s,unix_s,phase\n-1,1,1,tail\n", "x.csv:2: \"-1\" is not the number of a tick"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = Timeline::read(&path).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }

    #[test]
    fn an_infinite_or_not_a_number_value_is_empty() {
        assert_eq!(Cell::parse("NaN"), Cell::Empty);
        assert_eq!(Cell::parse("inf"), Cell::Empty);
        assert_eq!(Cell::parse("0"), Cell::Number(0.0));
    }
}
