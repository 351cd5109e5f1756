//! What no key can tell by itself: whether the keys of a profile agree with each other.

use std::collections::BTreeSet;

use super::bytes::Bytes;
use super::error::{Complaint, Problem};
use super::tree::{self, Step, Table};
use super::{Course, Iops, Machine, PRIMARY, Profile, setting};

/// PostgreSQL's own default of `shared_buffers`.
const DEFAULT_SHARED_BUFFERS: Bytes = Bytes(128 << 20);

/// What in the profile does not agree; `written` tells where each key stands.
pub(super) fn check(profile: &Profile, written: &Table) -> Vec<Problem> {
    let mut checker = Checker { profile, written, problems: Vec::new() };
    checker.machines();
    checker.watch();
    checker.fault_lasts();
    // What refers to a standby by its name can be judged only where a name means one standby.
    if checker.standby_names() == Names::Unique {
        checker.synchronous();
        checker.fault();
        checker.faulted_is_capped();
    }
    checker.problems
}

/// Does each name of a standby mean one?
#[derive(PartialEq, Eq)]
enum Names {
    Unique,
    Shared,
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
        self.problems.push(Problem { place, key, complaint: Complaint::NotAllowed { value, allowed } });
    }

    fn machines(&mut self) {
        let profile = self.profile;
        self.machine(&[Step::Key(PRIMARY)], PRIMARY, &profile.primary);
        for (index, standby) in profile.standby.iter().enumerate() {
            self.machine(&[Step::Key("standby"), Step::Item(index)], &standby.name, &standby.machine);
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
        let set = settings.get("shared_buffers").and_then(|text| setting::size(text));
        let buffers = set.unwrap_or(DEFAULT_SHARED_BUFFERS);
        if buffers > memory {
            let default = if set.is_none() { " as the profile does not set it" } else { "" };
            let allowed = format!("at least the shared_buffers of {node:?}, {buffers}{default}");
            self.refuse(&key("memory"), memory.to_string(), allowed);
        }
    }

    fn standby_names(&mut self) -> Names {
        let mut seen = BTreeSet::new();
        let mut names = Names::Unique;
        for (index, standby) in self.profile.standby.iter().enumerate() {
            if !seen.insert(standby.name.as_str()) {
                let way = [Step::Key("standby"), Step::Item(index), Step::Key("name")];
                self.refuse(
                    &way,
                    format!("{:?}", standby.name),
                    "each standby has a name of its own".to_owned(),
                );
                names = Names::Shared;
            }
        }
        names
    }

    fn synchronous(&mut self) {
        let profile = self.profile;
        let mut seen = BTreeSet::new();
        for (index, name) in profile.synchronous.standbys.iter().enumerate() {
            let way = [Step::Key("synchronous"), Step::Key("standbys"), Step::Item(index)];
            if profile.standby.iter().all(|standby| standby.name != *name) {
                self.refuse(&way, format!("{name:?}"), self.names_of_standbys());
            } else if !seen.insert(name) {
                self.refuse(&way, format!("{name:?}"), "each standby stands in the list once".to_owned());
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
        let node = &self.profile.fault.node;
        if self.profile.standby.iter().all(|standby| standby.name != *node) {
            let allowed = format!("faults happen to standbys: {}", self.names_of_standbys());
            self.refuse(&[Step::Key("fault"), Step::Key("node")], format!("{node:?}"), allowed);
        }
    }

    /// What the hang is measured against.
    fn faulted_is_capped(&mut self) {
        let node = &self.profile.fault.node;
        let hit = self.profile.standby.iter().enumerate().find(|(_, standby)| standby.name == *node);
        if let Some((index, standby)) = hit
            && standby.machine.read_iops == Iops::Unlimited
        {
            let way = [Step::Key("standby"), Step::Item(index), Step::Key("read_iops")];
            let allowed =
                "a number for the standby that the fault happens to; --uncapped runs without any cap";
            self.refuse(&way, Iops::Unlimited.to_string(), allowed.to_owned());
        }
    }

    fn fault_lasts(&mut self) {
        let Profile { fault, watch, .. } = self.profile;
        let allowed = match fault.kind.course() {
            Course::Moment if !fault.lasts.is_zero() => {
                format!("0s for {}, after which the servers go on by themselves", fault.kind)
            }
            Course::CutOff if fault.lasts.is_zero() => {
                format!("above zero for {}, or nobody would notice", fault.kind)
            }
            _ if fault.lasts >= watch.stall_after => {
                let stall_after = compact(watch.stall_after);
                format!(
                    "less than watch.stall_after, {stall_after}, or the fault itself would be called a stall"
                )
            }
            Course::Moment | Course::Down | Course::CutOff => return,
        };
        self.refuse(&[Step::Key("fault"), Step::Key("lasts")], compact(fault.lasts), allowed);
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
        let names = self.profile.standby.iter().map(|standby| format!("{:?}", standby.name));
        format!("one of {}", names.collect::<Vec<_>>().join(", "))
    }
}

fn compact(time: std::time::Duration) -> String {
    use jiff::fmt::friendly::{Designator, SpanPrinter};
    SpanPrinter::new().designator(Designator::Compact).unsigned_duration_to_string(&time)
}
