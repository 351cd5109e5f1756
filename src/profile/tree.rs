//! A profile's text as a tree of values that know where each was written.

use std::collections::BTreeMap;
use std::fmt;

use toml::de::{DeTable, DeValue};

use super::error::{Complaint, Problem};

/// Where a value was written. Orders as problems are reported: by line, what the whole file lacks, then `--set`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// On a line of the file, from 1 up.
    Line(usize),
    /// Nowhere in particular: a whole table is missing.
    File,
    /// In an override, by its index.
    Set(usize),
}

/// Values by key.
pub(super) type Table = BTreeMap<String, Entry>;

/// A value and where its key stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) place: Place,
    pub(super) value: Value,
}

/// A value as it was written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    Whole(i64),
    Number(f64),
    Bool(bool),
    /// What no field of a profile takes, as written: a date, a number beyond 64 bits.
    Other(String),
    List(Vec<Entry>),
    Table(Table),
}

/// The table in an entry, if it is one.
pub(super) fn as_table(entry: &mut Entry) -> Option<&mut Table> {
    match &mut entry.value {
        Value::Table(table) => Some(table),
        _ => None,
    }
}

/// The longest text that a message repeats, characters.
const SHOWN: usize = 60;

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) if text.chars().count() > SHOWN => {
                let start: String = text.chars().take(SHOWN).collect();
                write!(f, "{start:?}...")
            }
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Whole(number) => write!(f, "{number}"),
            Self::Number(number) => write!(f, "{number:?}"),
            Self::Bool(truth) => write!(f, "{truth}"),
            Self::Other(written) => f.write_str(written),
            Self::List(_) => f.write_str("a list"),
            Self::Table(_) => f.write_str("a table"),
        }
    }
}

/// Reads TOML.
///
/// # Errors
/// The first error of syntax, with its line.
pub(super) fn parse(text: &str) -> Result<Table, Problem> {
    let lines = Lines::of(text);
    match DeTable::parse(text) {
        Ok(root) => Ok(table(root.get_ref(), &lines)),
        Err(error) => Err(Problem {
            place: error.span().map_or(Place::File, |span| lines.place(span.start)),
            key: String::new(),
            complaint: Complaint::Syntax(error.message().replace('\n', ", ")),
        }),
    }
}

fn table(written: &DeTable<'_>, lines: &Lines) -> Table {
    let entry = |(key, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
        let name: &std::borrow::Cow<'_, str> = key.get_ref();
        let place = lines.place(key.span().start);
        (name.to_string(), Entry { place, value: self::value(value.get_ref(), lines) })
    };
    written.iter().map(entry).collect()
}

fn value(written: &DeValue<'_>, lines: &Lines) -> Value {
    match written {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_| Value::Other(number.to_string()), Value::Whole),
        DeValue::Float(number) => {
            number.as_str().parse().map_or_else(|_| Value::Other(number.to_string()), Value::Number)
        }
        DeValue::Boolean(truth) => Value::Bool(*truth),
        DeValue::Datetime(date) => Value::Other(date.to_string()),
        DeValue::Array(items) => {
            let entry = |item: &toml::Spanned<DeValue<'_>>| Entry {
                place: lines.place(item.span().start),
                value: value(item.get_ref(), lines),
            };
            Value::List(items.iter().map(entry).collect())
        }
        DeValue::Table(inner) => Value::Table(table(inner, lines)),
    }
}

/// One step on the way to a value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step<'a> {
    Key(&'a str),
    Item(usize),
}

/// Where the value at the end of `way` was written, or the nearest above it that was.
pub(super) fn place(root: &Table, way: &[Step<'_>]) -> Place {
    let mut place = Place::File;
    let mut table = Some(root);
    let mut list: Option<&[Entry]> = None;
    for step in way {
        let found = match step {
            Step::Key(key) => table.and_then(|table| table.get(*key)),
            Step::Item(index) => list.and_then(|list| list.get(*index)),
        };
        let Some(entry) = found else { break };
        place = entry.place;
        (table, list) = match &entry.value {
            Value::Table(inner) => (Some(inner), None),
            Value::List(items) => (None, Some(items.as_slice())),
            _ => (None, None),
        };
    }
    place
}

/// The byte offsets at which the lines of a text begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        let after_breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Self(std::iter::once(0).chain(after_breaks).collect())
    }

    fn place(&self, offset: usize) -> Place {
        Place::Line(self.0.partition_point(|start| *start <= offset))
    }
}
