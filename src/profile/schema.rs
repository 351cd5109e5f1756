//! Every key of a profile with what it may hold: the one table that reading, `--set` and messages go by.

use super::SERVER_DEFAULT;
use super::bytes::Bytes;
use super::fault::FaultKind;
use super::iops::UNLIMITED;
use super::tree::{Entry, Value};

/// A key of a table.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) need: Need,
    pub(super) kind: Kind,
}

/// May a key be left out?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Required,
    Optional,
}

/// What a key holds.
#[derive(Debug)]
pub(super) enum Kind {
    /// Text without control characters.
    Text,
    /// Text of several lines: SQL, a script.
    Script,
    /// A standby's name.
    Name,
    /// A whole number of `unit` within bounds.
    Whole { least: i64, most: i64, unit: &'static str },
    /// A finite number of `unit` within bounds.
    Number { least: Least, most: f64, unit: &'static str },
    /// Operations a second from 1 up, or the word that there is no cap on them.
    Iops,
    /// Above 0 and up to 1, with so few decimals that rows can be chosen exactly.
    Share,
    /// `true`, `false`, or the word that leaves it to the server.
    Checksums,
    /// One of a few words.
    Choice(&'static [&'static str]),
    /// A size of at least so much.
    Size { least: Bytes },
    /// A length of time.
    Time(Zero),
    /// A list of texts.
    Names,
    /// PostgreSQL settings.
    Settings,
    /// Further keys.
    Table(&'static [Key]),
    /// One table of these keys for each standby.
    Standbys(&'static [Key]),
}

/// A lower bound.
#[derive(Debug, Clone, Copy)]
pub(super) enum Least {
    From(f64),
    Above(f64),
}

/// Is a time of zero of use?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zero {
    Allowed,
    Refused,
}

/// The largest size, well within what an engine takes.
pub(super) const MOST_BYTES: Bytes = Bytes(64 << 40);

/// The longest time, hours: sums of several stay far from the end of the clock.
pub(super) const MOST_HOURS: u64 = 1000;

/// Decimals of a share. Its denominator then divides 1,000,000, and `aid * numerator` stays within a `bigint`.
pub(super) const SHARE_PARTS: u32 = 1_000_000;

impl Kind {
    /// What is allowed, to follow "is not allowed:" or "it takes".
    pub(super) fn allowed(&self) -> String {
        match self {
            Self::Text => "text without control characters".into(),
            Self::Script => "text, on several lines if need be".into(),
            Self::Iops => format!("a whole number from 1 up (operations a second) or {UNLIMITED:?}"),
            Self::Name => {
                "a lower-case letter, then up to 30 lower-case letters, digits or underscores; not \
                           \"primary\", not a standby's key, no \"_startup\" or \"_probe\" at its end, no \"_recovery_prefetch\" in it"
                    .into()
            }
            Self::Whole { least, most, unit } => {
                format!("a whole number from {least} to {most} ({unit})")
            }
            Self::Number { least: Least::From(least), most, unit } => {
                format!("a number from {least} to {most} ({unit})")
            }
            Self::Number { least: Least::Above(least), most, unit } => {
                format!("a number above {least} and up to {most} ({unit})")
            }
            Self::Share => "a number above 0 and up to 1, with at most six decimals".into(),
            Self::Checksums => format!("true, false or {SERVER_DEFAULT:?}, the server's own default"),
            Self::Choice(words) => one_of(words),
            Self::Size { least } => {
                format!("a size from {least} to {MOST_BYTES} with its unit, as in \"512MB\" or \"8GB\"")
            }
            Self::Time(zero) => {
                let above = if *zero == Zero::Refused { " above zero" } else { "" };
                format!("a time{above} with its unit, up to {MOST_HOURS}h, as in \"30s\" or \"1h30m\"")
            }
            Self::Names => "a list of standbys' names, as in [\"standby\"]".into(),
            Self::Settings => "a table of PostgreSQL settings, each a text, a number or true or false".into(),
            Self::Table(keys) => format!("a table of {}", names(keys).join(", ")),
            Self::Standbys(_) => "one [[standby]] table for each standby, at least one".into(),
        }
    }
}

fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    match quoted.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => quoted.concat(),
    }
}

/// The name that a standby gives itself, if it does.
pub(super) fn name_of(standby: &Entry) -> Option<&str> {
    let Value::Table(table) = &standby.value else {
        return None;
    };
    match &table.get("name")?.value {
        Value::Text(name) => Some(name),
        _ => None,
    }
}

/// The names of keys, in their order.
pub(super) fn names(keys: &[Key]) -> Vec<String> {
    keys.iter().map(|key| key.name.to_owned()).collect()
}

/// The key of that name.
pub(super) fn find<'a>(keys: &'a [Key], name: &str) -> Option<&'a Key> {
    keys.iter().find(|key| key.name == name)
}

const fn required(name: &'static str, kind: Kind) -> Key {
    Key { name, need: Need::Required, kind }
}

const fn optional(name: &'static str, kind: Kind) -> Key {
    Key { name, need: Need::Optional, kind }
}

/// The keys of a profile.
pub(super) const PROFILE: &[Key] = &[
    required("description", Kind::Text),
    required("workload", Kind::Table(WORKLOAD)),
    required("update", Kind::Table(UPDATE)),
    required("fault", Kind::Table(FAULT)),
    required("synchronous", Kind::Table(SYNCHRONOUS)),
    required("postgres", Kind::Table(POSTGRES)),
    required("primary", Kind::Table(MACHINE)),
    required("standby", Kind::Standbys(STANDBY)),
    required("watch", Kind::Table(WATCH)),
];

const WORKLOAD: &[Key] = &[
    // 100,000 is 1.5 TB of accounts, 10^10 rows. Beyond 20,000 pgbench makes aid a bigint by itself.
    required("scale", Kind::Whole { least: 1, most: 100_000, unit: "100,000 accounts each" }),
    required("rate_tps", Kind::Number { least: Least::Above(0.0), most: 1e6, unit: "transactions a second" }),
    required("clients", Kind::Whole { least: 1, most: 10_000, unit: "connections" }),
    required("baseline", Kind::Time(Zero::Allowed)),
    optional("script", Kind::Script),
    optional("update_sql", Kind::Script),
];

const UPDATE: &[Key] = &[
    required("fraction", Kind::Share),
    // The smallest database has as many accounts, so no batch is without rows to look at.
    required("batches", Kind::Whole { least: 1, most: 100_000, unit: "transactions" }),
    required("batch_interval", Kind::Time(Zero::Allowed)),
    required("flush_deadline", Kind::Time(Zero::Refused)),
];

const FAULT: &[Key] = &[
    required("kind", Kind::Choice(&FaultKind::NAMES)),
    required("node", Kind::Text),
    required("after", Kind::Time(Zero::Allowed)),
    optional("lasts", Kind::Time(Zero::Allowed)),
];

const SYNCHRONOUS: &[Key] = &[
    required("method", Kind::Choice(&["FIRST", "ANY"])),
    required("count", Kind::Whole { least: 0, most: 1000, unit: "standbys; 0 is asynchronous" }),
    optional("standbys", Kind::Names),
];

const POSTGRES: &[Key] = &[
    required("data_checksums", Kind::Checksums),
    optional("common", Kind::Settings),
    optional("primary", Kind::Settings),
    optional("standby", Kind::Settings),
];

// Docker refuses fewer than 0.01 CPUs and takes a /dev/shm of 0 for its default.
const CPUS: Key =
    required("cpus", Kind::Number { least: Least::From(0.01), most: 1024.0, unit: "CPUs, in whole or part" });
const MEMORY: Key = required("memory", Kind::Size { least: Bytes(64 << 20) });
const SHM: Key = required("shm", Kind::Size { least: Bytes(1 << 20) });
const READ_IOPS: Key = required("read_iops", Kind::Iops);
const WRITE_IOPS: Key = required("write_iops", Kind::Iops);
const READ_AHEAD: Key = required("read_ahead_kb", Kind::Whole { least: 0, most: 1 << 20, unit: "kB" });

const MACHINE: &[Key] = &[CPUS, MEMORY, SHM, READ_IOPS, WRITE_IOPS, READ_AHEAD];

/// The keys of one standby.
pub(super) const STANDBY: &[Key] = &[
    required("name", Kind::Name),
    CPUS,
    MEMORY,
    SHM,
    READ_IOPS,
    WRITE_IOPS,
    READ_AHEAD,
    optional("settings", Kind::Settings),
];

const WATCH: &[Key] = &[
    required("deadline", Kind::Time(Zero::Refused)),
    required("tail", Kind::Time(Zero::Allowed)),
    required("stall_after", Kind::Time(Zero::Refused)),
];
