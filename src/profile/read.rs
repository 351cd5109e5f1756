//! From a tree of values to the values a profile takes, checked key by key against the schema.

use jiff::fmt::friendly::SpanParser;

use super::SERVER_DEFAULT;
use super::bytes::Bytes;
use super::error::{Complaint, Problem, printable};
use super::iops::UNLIMITED;
use super::schema::{self, Key, Kind, Least, MOST_BYTES, MOST_HOURS, Need, SHARE_PARTS, Zero};
use super::setting;
use super::tree::{Entry, Place, Table, Value};

/// Checks a table against its keys and returns what of it is sound; what is not is told in `problems`.
pub(super) fn table(
    keys: &'static [Key],
    written: &Table,
    place: Place,
    path: &str,
    problems: &mut Vec<Problem>,
) -> toml::Table {
    for (name, entry) in written {
        if schema::find(keys, name).is_none() {
            let complaint = Complaint::unknown_key(name, schema::names(keys));
            problems.push(Problem { place: entry.place, key: join(path, name), complaint });
        }
    }
    let mut sound = toml::Table::new();
    for key in keys {
        let path = join(path, key.name);
        match written.get(key.name) {
            Some(entry) => {
                if let Some(value) = value(&key.kind, entry, &path, problems) {
                    sound.insert(key.name.to_owned(), value);
                }
            }
            None if key.need == Need::Required => {
                let complaint = Complaint::Missing(key.kind.allowed());
                problems.push(Problem { place, key: path, complaint });
            }
            None => {}
        }
    }
    sound
}

/// `path.name`, on one line whatever the name.
fn join(path: &str, name: &str) -> String {
    let name = printable(name);
    if path.is_empty() { name } else { format!("{path}.{name}") }
}

fn value(kind: &Kind, entry: &Entry, path: &str, problems: &mut Vec<Problem>) -> Option<toml::Value> {
    let before = problems.len();
    let read = match (kind, &entry.value) {
        (Kind::Table(keys), Value::Table(written)) => {
            Some(table(keys, written, entry.place, path, problems).into())
        }
        (Kind::Settings, Value::Table(written)) => Some(settings(written, path, problems).into()),
        (Kind::Standbys(keys), Value::List(items)) if !items.is_empty() => {
            let each = |item: &Entry| value(&Kind::Table(keys), item, path, problems);
            Some(items.iter().filter_map(each).collect::<Vec<_>>().into())
        }
        (Kind::Names, Value::List(items)) => {
            let each = |item: &Entry| value(&Kind::Text, item, path, problems);
            Some(items.iter().filter_map(each).collect::<Vec<_>>().into())
        }
        (kind, single) => self::single(kind, single),
    };
    if read.is_none() && problems.len() == before {
        let complaint = Complaint::NotAllowed { value: entry.value.to_string(), allowed: kind.allowed() };
        problems.push(Problem { place: entry.place, key: path.to_owned(), complaint });
    }
    read
}

fn settings(written: &Table, path: &str, problems: &mut Vec<Problem>) -> toml::Table {
    let mut sound = toml::Table::new();
    for (name, entry) in written {
        let complaint = match setting::text(&entry.value) {
            Some(text) => {
                let complaint = setting::check(name, &text);
                sound.insert(name.clone(), text.into());
                complaint
            }
            None => Some(Complaint::NotAllowed {
                value: entry.value.to_string(),
                allowed: "a text, a number, true or false".to_owned(),
            }),
        };
        let problem = |complaint| Problem { place: entry.place, key: join(path, name), complaint };
        problems.extend(complaint.map(problem));
    }
    sound
}

/// A value that holds no others, if the key may hold it.
fn single(kind: &Kind, value: &Value) -> Option<toml::Value> {
    match (kind, value) {
        (Kind::Text, Value::Text(text)) => (!text.chars().any(char::is_control)).then(|| text.clone().into()),
        (Kind::Script, Value::Text(text)) => {
            let odd = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
            (!text.chars().any(odd)).then(|| text.clone().into())
        }
        (Kind::Iops, Value::Whole(number)) => (*number >= 1).then(|| (*number).into()),
        (Kind::Iops, Value::Text(word)) => (word == UNLIMITED).then(|| word.clone().into()),
        (Kind::Name, Value::Text(name)) => is_standby_name(name).then(|| name.clone().into()),
        (Kind::Checksums, Value::Bool(truth)) => Some((*truth).into()),
        (Kind::Checksums, Value::Text(word)) => (word == SERVER_DEFAULT).then(|| word.clone().into()),
        (Kind::Choice(words), Value::Text(word)) => {
            words.contains(&word.as_str()).then(|| word.clone().into())
        }
        (Kind::Whole { least, most, .. }, Value::Whole(number)) => {
            (least..=most).contains(&number).then(|| (*number).into())
        }
        (Kind::Number { least, most, .. }, value) => {
            let number = number(value)?;
            let enough = match *least {
                Least::From(least) => number >= least,
                Least::Above(least) => number > least,
            };
            (enough && number <= *most).then(|| number.into())
        }
        (Kind::Share, value) => number(value).filter(|share| is_share(*share)).map(Into::into),
        (Kind::Size { least }, Value::Text(text)) => {
            let size: Bytes = text.parse().ok()?;
            (*least..=MOST_BYTES).contains(&size).then(|| size.to_string().into())
        }
        (Kind::Time(zero), Value::Text(text)) => {
            let time = SpanParser::new().parse_unsigned_duration(text).ok()?;
            let enough = *zero == Zero::Allowed || !time.is_zero();
            (enough && time.as_secs() <= MOST_HOURS * 3600).then(|| text.clone().into())
        }
        _ => None,
    }
}

/// No key takes a number near 2^53, from where on not every whole number has an `f64`.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Whole(number) => Some(*number as f64),
        Value::Number(number) => Some(*number),
        _ => None,
    }
}

/// Above 0, up to 1, and the closest number to some millionths.
fn is_share(share: f64) -> bool {
    let parts = f64::from(SHARE_PARTS);
    let exact = (share * parts).round() / parts;
    share > 0.0 && share <= 1.0 && exact.to_bits() == share.to_bits()
}

/// A node whose name ends so has columns that read as other columns of a node with a shorter name.
const AMBIGUOUS_ENDINGS: [&str; 2] = ["_startup", "_probe"];

/// `[a-z][a-z0-9_]{0,30}`, but neither the primary's name nor one that `--set standby.NAME.KEY` would take for a key.
pub(crate) fn is_standby_name(name: &str) -> bool {
    let later = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(later)
        && name.len() <= 31
        && name != super::PRIMARY
        // Or a column of the node could be read as another of a node whose name is shorter.
        && !AMBIGUOUS_ENDINGS.iter().any(|ending| name.ends_with(ending))
        && !name.contains("_recovery_prefetch")
        && schema::find(schema::STANDBY, name).is_none()
}

/// The value that `--set` means by `text`: as the key's kind is written in TOML, without quotes.
///
/// What does not read as that kind stays text, so that the check names it and what is allowed.
pub(super) fn from_flag(kind: &Kind, text: &str, place: Place) -> Value {
    let as_text = || Value::Text(text.to_owned());
    let trimmed = text.trim();
    match kind {
        Kind::Iops | Kind::Whole { .. } => trimmed.parse().map_or_else(|_| as_text(), Value::Whole),
        Kind::Number { .. } | Kind::Share => trimmed.parse().map_or_else(|_| as_text(), Value::Number),
        Kind::Checksums => trimmed.parse().map_or_else(|_| as_text(), Value::Bool),
        Kind::Names => {
            let names = trimmed.split(',').map(str::trim).filter(|name| !name.is_empty());
            let entry = |name: &str| Entry { place, value: Value::Text(name.to_owned()) };
            Value::List(names.map(entry).collect())
        }
        Kind::Text | Kind::Script | Kind::Name | Kind::Choice(_) | Kind::Size { .. } | Kind::Time(_) => {
            as_text()
        }
        Kind::Settings | Kind::Table(_) | Kind::Standbys(_) => as_text(),
    }
}
