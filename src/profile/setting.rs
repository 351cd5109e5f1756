//! PostgreSQL settings in a profile: their names, their values as text, and those the lab keeps for itself.

use super::SERVER_DEFAULT;
use super::bytes::Bytes;
use super::error::{Complaint, Problem};
use super::schema::{Key, Kind};
use super::tree::{Entry, Table, Value, as_table};

/// Settings that a profile may not set, with the reason. The lab sets them itself or needs them as they are.
const RESERVED: &[(&str, &str)] = &[
    ("archive_cleanup_command", ONLY_STREAMING),
    ("cluster_name", "it is the node's name"),
    ("config_file", FILES),
    ("data_checksums", "it is fixed at initdb; set postgres.data_checksums instead"),
    ("data_directory", FILES),
    ("external_pid_file", FILES),
    ("hba_file", FILES),
    ("hot_standby", "standbys have to answer the lab's queries"),
    ("ident_file", FILES),
    ("include", DIRECTIVE),
    ("include_dir", DIRECTIVE),
    ("include_if_exists", DIRECTIVE),
    ("lc_messages", "the lab looks for messages in the servers' logs"),
    ("listen_addresses", NETWORK),
    ("log_checkpoints", LOGS),
    ("log_destination", LOGS),
    ("log_line_prefix", LOGS),
    ("log_recovery_conflict_waits", LOGS),
    ("logging_collector", LOGS),
    ("port", NETWORK),
    ("primary_conninfo", "the lab connects the standbys; their application_name is the standby's name"),
    ("primary_slot_name", "the lab makes no replication slots"),
    ("recovery_end_command", ONLY_STREAMING),
    ("recovery_target", WHOLE_TIMELINE),
    ("recovery_target_action", WHOLE_TIMELINE),
    ("recovery_target_inclusive", WHOLE_TIMELINE),
    ("recovery_target_lsn", WHOLE_TIMELINE),
    ("recovery_target_name", WHOLE_TIMELINE),
    ("recovery_target_time", WHOLE_TIMELINE),
    ("recovery_target_timeline", WHOLE_TIMELINE),
    ("recovery_target_xid", WHOLE_TIMELINE),
    ("restore_command", ONLY_STREAMING),
    ("synchronous_standby_names", "it is made from the table [synchronous]"),
    ("unix_socket_directories", NETWORK),
];

const FILES: &str = "the lab lays out each node's files";
const DIRECTIVE: &str = "it is a directive of postgresql.conf, not a setting";
const NETWORK: &str = "the lab connects to the nodes and chooses where they listen";
const LOGS: &str = "the lab keeps each server's log from its standard error";
const ONLY_STREAMING: &str = "standbys get WAL by streaming alone";
const WHOLE_TIMELINE: &str = "standbys replay all there is";

/// Values of `wal_level` with which a standby can stream.
const WAL_LEVELS: [&str; 2] = ["replica", "logical"];

/// What is wrong with a setting, if anything.
pub(super) fn check(name: &str, text: &str) -> Option<Complaint> {
    if !is_name(name) {
        return Some(Complaint::SettingName(name.to_owned()));
    }
    if let Some((_, reason)) = RESERVED.iter().find(|(reserved, _)| *reserved == name) {
        return Some(Complaint::Reserved(reason));
    }
    let refuse = |allowed: &str| Complaint::NotAllowed {
        value: Value::Text(text.to_owned()).to_string(),
        allowed: allowed.to_owned(),
    };
    if text == SERVER_DEFAULT {
        return None;
    }
    if text.chars().any(char::is_control) {
        return Some(refuse("text without control characters"));
    }
    if name == "wal_level" && !WAL_LEVELS.contains(&text) {
        return Some(refuse("\"replica\" or \"logical\", without which no standby streams"));
    }
    if name == "shared_buffers" && size(text).is_none() {
        return Some(refuse("a size as PostgreSQL has it, as in \"128MB\", or a number of 8 kB blocks"));
    }
    None
}

/// `[a-z_][a-z0-9_.]*`
fn is_name(name: &str) -> bool {
    let first = |c: char| c.is_ascii_lowercase() || c == '_';
    name.starts_with(first) && name.chars().all(|c| first(c) || c.is_ascii_digit() || c == '.')
}

/// The value as `postgresql.conf` would have it, unquoted; `None` for what is no single value.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.clone()),
        Value::Whole(number) => Some(number.to_string()),
        Value::Number(number) if number.is_finite() => Some(format!("{number:?}")),
        Value::Bool(true) => Some("on".to_owned()),
        Value::Bool(false) => Some("off".to_owned()),
        Value::Number(_) | Value::Other(_) | Value::List(_) | Value::Table(_) => None,
    }
}

/// The size of a setting that PostgreSQL counts in blocks of 8 kB unless it has a unit; fractions are allowed there.
pub fn size(text: &str) -> Option<Bytes> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit: u64 = match unit.trim() {
        "" => 8 << 10,
        unit => format!("1{unit}").parse::<Bytes>().ok()?.0,
    };
    let number: f64 = number.parse().ok()?;
    // A cast from f64 ends at the bounds of the integer, which is as good as any size beyond a machine's memory.
    Some(Bytes((number * unit as f64) as u64))
}

/// Joins the settings that TOML nested, wherever the schema has settings, so that a name finds its value.
pub(super) fn flatten_all(keys: &'static [Key], table: &mut Table, path: &str, problems: &mut Vec<Problem>) {
    for key in keys {
        let Some(entry) = table.get_mut(key.name) else {
            continue;
        };
        let path = if path.is_empty() { key.name.to_owned() } else { format!("{path}.{}", key.name) };
        match (&key.kind, &mut entry.value) {
            (Kind::Settings, Value::Table(settings)) => flatten(settings, &path, problems),
            (Kind::Table(keys), Value::Table(inner)) => flatten_all(keys, inner, &path, problems),
            (Kind::Standbys(keys), Value::List(items)) => {
                for standby in items.iter_mut().filter_map(as_table) {
                    flatten_all(keys, standby, &path, problems);
                }
            }
            _ => {}
        }
    }
}

/// Joins what TOML nests: `a.b = 1` without quotes is a table `a` with a key `b`, and means the setting `a.b`.
pub(super) fn flatten(settings: &mut Table, path: &str, problems: &mut Vec<Problem>) {
    let mut flat = Table::new();
    let mut open: Vec<(String, Entry)> = std::mem::take(settings).into_iter().collect();
    while let Some((name, entry)) = open.pop() {
        match entry.value {
            Value::Table(inner) if !inner.is_empty() => {
                open.extend(inner.into_iter().map(|(key, entry)| (format!("{name}.{key}"), entry)));
            }
            _ => {
                let place = entry.place;
                if let Some(other) = flat.insert(name.clone(), entry) {
                    let key = format!("{path}.{name}");
                    problems.push(Problem {
                        place: place.max(other.place),
                        key,
                        complaint: Complaint::Twice,
                    });
                }
            }
        }
    }
    *settings = flat;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_buffers_are_read_as_postgresql_reads_them() {
        for (text, bytes) in [
            ("128MB", Some(128 << 20)),
            ("16384", Some(128 << 20)),
            (" 1.5 GB ", Some(3 << 29)),
            ("800kB", Some(800 << 10)),
            ("128mb", None),
            ("lots", None),
            ("", None),
            ("MB", None),
            ("1.2.3MB", None),
        ] {
            assert_eq!(size(text), bytes.map(Bytes), "{text:?}");
        }
    }
}
