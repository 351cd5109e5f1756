//! What no key can tell by itself: whether the keys of a profile agree with each other.

use std::collections::BTreeSet;

use super::bytes::Bytes;
use super::error::{Complaint, Problem};
use super::tree::{self, Step, Table};
use super::{FaultKind, Machine, PRIMARY, Profile};

/// PostgreSQL's own default of `shared_buffers`.
const DEFAULT_SHARED_BUFFERS: Bytes = Bytes(128 << 20);

/// What in the profile does not agree; `written` tells where each key stands.
pub(super) fn check(profile: &Profile, written: &Table) -> Vec<Problem> {
    let mut checker = Checker {
        profile,
        written,
        problems: Vec::new(),
    };
    checker.machines();
    checker.standby_names();
    checker.synchronous();
    checker.fault();
    checker.watch();
    checker.problems
}

struct Checker<'a> {
    profile: &'a Profile,
    written: &'a Table,
    problems: Vec<Problem>,
}

impl Checker<'_> {
    fn refuse(&mut self, way: &[Step<'_>], value: String, allowed: String) {
        let names = way.iter().filter_map(|step| match step {
            Step::Key(name) => Some(*name),
            Step::Item(_) => None,
        });
        let key = names.collect::<Vec<_>>().join(".");
        let place = tree::place(self.written, way);
        self.problems.push(Problem {
            place,
            key,
            complaint: Complaint::NotAllowed { value, allowed },
        });
    }

    fn machines(&mut self) {
        let profile = self.profile;
        self.machine(&[Step::Key(PRIMARY)], PRIMARY, &profile.primary);
        for (index, standby) in profile.standby.iter().enumerate() {
            self.machine(
                &[Step::Key("standby"), Step::Item(index)],
                &standby.name,
                &standby.machine,
            );
        }
    }

    fn machine(&mut self, at: &[Step<'_>], node: &str, machine: &Machine) {
        let key = |name| [at, &[Step::Key(name)]].concat();
        let Machine { memory, shm, .. } = *machine;
        if shm > memory {
            self.refuse(
                &key("shm"),
                shm.to_string(),
                format!("no more than the memory of {node:?}, {memory}"),
            );
        }
        let settings = self.profile.effective_settings(node);
        match settings
            .get("shared_buffers")
            .map(|text| (text, setting_size(text)))
        {
            Some((text, None)) => self.shared_buffers_unreadable(at, node, text),
            Some((text, Some(buffers))) if buffers > memory => {
                let allowed = format!("at least the shared_buffers of {node:?}, {text}");
                self.refuse(&key("memory"), memory.to_string(), allowed);
            }
            None if DEFAULT_SHARED_BUFFERS > memory => {
                let allowed = format!(
                    "at least the shared_buffers of {node:?}, {DEFAULT_SHARED_BUFFERS} as the profile does not set it"
                );
                self.refuse(&key("memory"), memory.to_string(), allowed);
            }
            Some(_) | None => {}
        }
    }

    /// The value is reported where it comes from: the table nearest to the node that sets it.
    fn shared_buffers_unreadable(&mut self, at: &[Step<'_>], node: &str, text: &str) {
        let name = Step::Key("shared_buffers");
        let own = [at, &[Step::Key("settings"), name]].concat();
        let of_kind = if node == PRIMARY { PRIMARY } else { "standby" };
        let kind = [Step::Key("postgres"), Step::Key(of_kind), name];
        let common = [Step::Key("postgres"), Step::Key("common"), name];
        let postgres = &self.profile.postgres;
        let settings = if node == PRIMARY {
            &postgres.primary
        } else {
            &postgres.standby
        };
        let is_own = self
            .profile
            .standby
            .iter()
            .any(|standby| standby.name == node && standby.settings.contains_key("shared_buffers"));
        let way: &[Step<'_>] = match (is_own, settings.contains_key("shared_buffers")) {
            (true, _) => &own,
            (false, true) => &kind,
            (false, false) => &common,
        };
        let allowed = "a size as PostgreSQL has it, \"128MB\", or a number of 8 kB blocks".to_owned();
        self.refuse(way, format!("{text:?}"), allowed);
    }

    fn standby_names(&mut self) {
        let mut seen = BTreeSet::new();
        for (index, standby) in self.profile.standby.iter().enumerate() {
            if !seen.insert(standby.name.as_str()) {
                let way = [Step::Key("standby"), Step::Item(index), Step::Key("name")];
                self.refuse(
                    &way,
                    format!("{:?}", standby.name),
                    "each standby has a name of its own".to_owned(),
                );
            }
        }
    }

    fn synchronous(&mut self) {
        let profile = self.profile;
        let mut seen = BTreeSet::new();
        for (index, name) in profile.synchronous.standbys.iter().enumerate() {
            let way = [Step::Key("synchronous"), Step::Key("standbys"), Step::Item(index)];
            if profile.standby.iter().all(|standby| standby.name != *name) {
                self.refuse(&way, format!("{name:?}"), self.names_of_standbys());
            } else if !seen.insert(name) {
                self.refuse(
                    &way,
                    format!("{name:?}"),
                    "each standby stands in the list once".to_owned(),
                );
            }
        }
        let candidates = profile.synchronous_candidates().len();
        let count = profile.synchronous.count;
        if usize::try_from(count).is_ok_and(|count| count > candidates) {
            let way = [Step::Key("synchronous"), Step::Key("count")];
            let allowed = format!("no more than the standbys that count, which are {candidates}");
            self.refuse(&way, count.to_string(), allowed);
        }
    }

    fn fault(&mut self) {
        let FaultKind::KillWalreceiver = self.profile.fault.kind;
        let node = &self.profile.fault.node;
        if self.profile.standby.iter().all(|standby| standby.name != *node) {
            let allowed = format!("only a standby has a walreceiver: {}", self.names_of_standbys());
            self.refuse(
                &[Step::Key("fault"), Step::Key("node")],
                format!("{node:?}"),
                allowed,
            );
        }
    }

    fn watch(&mut self) {
        let watch = &self.profile.watch;
        if watch.deadline < watch.stall_after {
            let (deadline, stall_after) = (compact(watch.deadline), compact(watch.stall_after));
            let allowed = format!("at least watch.stall_after, {stall_after}, or no stall could be seen");
            self.refuse(&[Step::Key("watch"), Step::Key("deadline")], deadline, allowed);
        }
    }

    fn names_of_standbys(&self) -> String {
        let names = self
            .profile
            .standby
            .iter()
            .map(|standby| format!("{:?}", standby.name));
        format!("one of {}", names.collect::<Vec<_>>().join(", "))
    }
}

fn compact(time: std::time::Duration) -> String {
    use jiff::fmt::friendly::{Designator, SpanPrinter};
    SpanPrinter::new()
        .designator(Designator::Compact)
        .unsigned_duration_to_string(&time)
}

/// The size of a setting that PostgreSQL counts in blocks of 8 kB unless it has a unit; fractions are allowed there.
fn setting_size(text: &str) -> Option<Bytes> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit: u64 = match unit.trim() {
        "" => 8 << 10,
        unit => format!("1{unit}").parse::<Bytes>().ok()?.0,
    };
    let number: f64 = number.parse().ok()?;
    // A cast from f64 ends at the bounds of the integer, which is as good as any size beyond a machine's memory.
    Some(Bytes((number * unit as f64) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_buffers_are_read_as_postgresql_reads_them() {
        for (text, size) in [
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
            assert_eq!(setting_size(text), size.map(Bytes), "{text:?}");
        }
    }
}
