//! `--set KEY=VALUE`: single keys laid over a profile's text before it is checked.

use std::fmt;
use std::str::FromStr;

use super::error::{Complaint, Problem, printable};
use super::read;
use super::schema::{self, Key, Kind};
use super::tree::{Entry, Place, Table, Value, as_table};

/// One `--set KEY=VALUE`. Keys are dotted paths; `standby.KEY` means every standby, `standby.NAME.KEY` one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    key: String,
    value: String,
    origin: Origin,
}

/// Where an override was written.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin {
    Flag,
    Arm(String),
    Vary,
}

impl Override {
    /// As `--set key=value`.
    pub(super) fn new(key: &str, value: &str) -> Self {
        Self { key: key.to_owned(), value: value.to_owned(), origin: Origin::Flag }
    }

    /// A value of a key that a sweep varies.
    #[must_use]
    pub fn varied(key: &str, value: &str) -> Self {
        Self { origin: Origin::Vary, ..Self::new(key, value) }
    }

    /// The same, written in the arm of that name.
    pub(super) fn of_arm(self, arm: &str) -> Self {
        Self { origin: Origin::Arm(arm.to_owned()), ..self }
    }

    /// The key.
    pub(super) fn key(&self) -> &str {
        &self.key
    }
}

/// Why an argument of `--set` is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not KEY=VALUE, as in standby.read_iops=1000")]
pub struct NotAnOverride(String);

impl FromStr for Override {
    type Err = NotAnOverride;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => Ok(Self::new(key.trim(), value)),
            _ => Err(NotAnOverride(text.to_owned())),
        }
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::Flag => f.write_str("--set ")?,
            Origin::Arm(name) => write!(f, "arm {name}: ")?,
            Origin::Vary => f.write_str("--vary ")?,
        }
        write!(f, "{}={}", printable(&self.key), printable(&self.value))
    }
}

/// Lays the overrides over the tree, in their order: the last one of a key counts.
pub(super) fn apply(overrides: &[Override], root: &mut Table, problems: &mut Vec<Problem>) {
    for (index, change) in overrides.iter().enumerate() {
        let place = Place::Set(index);
        let mut complaints = Vec::new();
        Setter { value: &change.value, place, complaints: &mut complaints }.within(
            schema::PROFILE,
            root,
            &change.key,
        );
        // The same key of several standbys is one mistake.
        complaints.dedup();
        let problem = |complaint| Problem { place, key: change.key.clone(), complaint };
        problems.extend(complaints.into_iter().map(problem));
    }
}

/// One override on its way down the tree.
struct Setter<'a> {
    value: &'a str,
    place: Place,
    complaints: &'a mut Vec<Complaint>,
}

impl Setter<'_> {
    /// Sets what `rest` of the key names within a table of `keys`.
    fn within(&mut self, keys: &'static [Key], table: &mut Table, rest: &str) {
        let (name, below) = split(rest);
        let Some(key) = schema::find(keys, name) else {
            self.complaints.push(Complaint::unknown_key(name, schema::names(keys)));
            return;
        };
        match (&key.kind, below) {
            (Kind::Table(keys), None) => self.complaints.push(Complaint::Group(schema::names(keys))),
            (Kind::Standbys(keys), None) => self.complaints.push(Complaint::Group(schema::names(keys))),
            (Kind::Settings, None) => self.complaints.push(Complaint::SettingsGroup),
            (Kind::Table(keys), Some(below)) => {
                if let Some(inner) = open(table, name) {
                    self.within(keys, inner, below);
                }
            }
            (Kind::Settings, Some(setting)) => {
                if let Some(settings) = open(table, name) {
                    let value = Value::Text(self.value.to_owned());
                    settings.insert(setting.to_owned(), Entry { place: self.place, value });
                }
            }
            (Kind::Standbys(keys), Some(below)) => self.standbys(keys, table.get_mut(name), below),
            (kind, None) => {
                let value = read::from_flag(kind, self.value, self.place);
                table.insert(name.to_owned(), Entry { place: self.place, value });
            }
            (_, Some(_)) => self.complaints.push(Complaint::NoKeysBelow(name.to_owned())),
        }
    }

    /// Sets a key of every standby, or of the one that is named.
    fn standbys(&mut self, keys: &'static [Key], list: Option<&mut Entry>, rest: &str) {
        // Without standbys there is nothing to set, and the check says that they are missing.
        let Some(Entry { value: Value::List(items), .. }) = list else {
            return;
        };
        let (name, below) = split(rest);
        if schema::find(keys, name).is_some() {
            for standby in items.iter_mut().filter_map(as_table) {
                self.within(keys, standby, rest);
            }
            return;
        }
        let mut known = schema::names(keys);
        known.extend(items.iter().filter_map(schema::name_of).map(str::to_owned));
        let Some(standby) =
            items.iter_mut().find(|item| schema::name_of(item) == Some(name)).and_then(as_table)
        else {
            self.complaints.push(Complaint::unknown_key(name, known));
            return;
        };
        match below {
            Some(below) => self.within(keys, standby, below),
            None => self.complaints.push(Complaint::Group(schema::names(keys))),
        }
    }
}

/// The first name of a dotted key, and what follows it.
fn split(key: &str) -> (&str, Option<&str>) {
    key.split_once('.').map_or((key, None), |(name, below)| (name, Some(below)))
}

/// The table of that name, made if it is not there; `None` if the file has something else in its place, which the
/// check reports.
fn open<'a>(table: &'a mut Table, name: &str) -> Option<&'a mut Table> {
    let empty = || Entry { place: Place::File, value: Value::Table(Table::new()) };
    as_table(table.entry(name.to_owned()).or_insert_with(empty))
}
