//! What distinguishes the arms of a comparison, found in their `run.json`.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::profile::Profile;
use crate::store::RunInfo;

/// Parts of `run.json` that name a run or were measured in it, and so always differ.
const OWN: [&str; 6] = ["run_id", "started", "arm", "command_line", "cap_proof", "description"];

/// What runs of different servers differ in, as [`subjects`] calls it.
pub const SERVER: &str = "server";

/// A place in `run.json` and what stands there in each arm, in the order of the arms.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub place: String,
    pub values: Vec<String>,
    /// The thing that differs: several places may tell of one.
    subject: String,
}

/// Every place at which the runs differ. Nodes are told by name; a setting that an arm lacks is `default` there, anything
/// else `none`.
pub(super) fn differences<'a>(runs: impl Iterator<Item = &'a RunInfo>) -> Vec<Difference> {
    let runs: Vec<&RunInfo> = runs.collect();
    let unknown: Vec<&str> =
        runs.iter().flat_map(|run| &run.server.unknown_settings).map(String::as_str).collect();
    between(&runs.iter().map(|run| flat("", run)).collect::<Vec<_>>(), &unknown)
}

/// The things in which profiles differ, each once.
#[must_use]
pub fn varied(profiles: &[&Profile]) -> Vec<String> {
    let profiles: Vec<_> = profiles.iter().map(|profile| flat("profile", profile)).collect();
    subjects(&between(&profiles, &[])).into_iter().map(str::to_owned).collect()
}

/// Between runs, of whose servers some do not know these settings.
fn between(runs: &[BTreeMap<String, String>], unknown: &[&str]) -> Vec<Difference> {
    let mut places: Vec<&String> = runs.iter().flat_map(BTreeMap::keys).collect();
    places.sort_unstable();
    places.dedup();
    places
        .into_iter()
        .map(|place| Difference {
            place: place.clone(),
            values: runs
                .iter()
                .map(|run| run.get(place).cloned().unwrap_or_else(|| absent(place).to_owned()))
                .collect(),
            subject: subject(place, unknown).to_owned(),
        })
        .filter(|difference| difference.values.windows(2).any(|pair| pair.first() != pair.last()))
        .collect()
}

/// The things that differ, each once, as in `read_iops`: what a profile asks for and what the servers then report are
/// one thing.
pub(super) fn subjects(differences: &[Difference]) -> Vec<&str> {
    let mut subjects: Vec<&str> = differences.iter().map(|difference| difference.subject.as_str()).collect();
    subjects.sort_unstable();
    subjects.dedup();
    subjects
}

fn subject<'a>(place: &'a str, unknown: &[&str]) -> &'a str {
    let after = |prefix: &str| place.strip_prefix(prefix);
    // What a version has by default, and what it lacks, comes with the version.
    if place.contains(".defaults.") {
        return SERVER;
    }
    if let Some((node, setting)) = place.split_once(".settings.") {
        return if node.starts_with("nodes.") && unknown.contains(&setting) { SERVER } else { setting };
    }
    // profile.postgres.<nodes>.<setting>, nodes.<node>.<what>, profile.standby.<node>.<what>
    for prefix in ["profile.postgres.", "nodes.", "profile.standby."] {
        if let Some((_, what)) = after(prefix).and_then(|rest| rest.split_once('.')) {
            return what.trim_end_matches("_cap");
        }
    }
    if after("server.").is_some() {
        return SERVER;
    }
    if after("platform.").is_some() {
        return "machine";
    }
    after("profile.").unwrap_or(place)
}

/// What stands for a place that a run lacks.
fn absent(place: &str) -> &'static str {
    if place.contains(".settings.") || place.starts_with("profile.postgres.") { "default" } else { "none" }
}

fn flat(place: &str, value: &impl Serialize) -> BTreeMap<String, String> {
    let mut places = BTreeMap::new();
    // Plain data with string keys: it has a JSON value. Were it not so, the run would show no difference.
    let value = serde_json::to_value(value).unwrap_or_default();
    walk(place, &value, &mut places);
    places
}

fn walk(place: &str, value: &Value, places: &mut BTreeMap<String, String>) {
    let below = |name: &str| {
        if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
    };
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter().filter(|(name, _)| !OWN.contains(&name.as_str())) {
                walk(&below(name), value, places);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                let name = item.get("name").and_then(Value::as_str);
                walk(&below(name.unwrap_or(&at.to_string())), item, places);
            }
        }
        Value::String(text) => {
            places.insert(place.to_owned(), text.clone());
        }
        Value::Null => {
            places.insert(place.to_owned(), "none".to_owned());
        }
        plain => {
            places.insert(place.to_owned(), plain.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::profile::Iops;
    use crate::verdict::testing::Story;

    #[test]
    fn what_one_run_lacks_is_its_default_or_none_and_what_names_a_run_is_no_difference() {
        let (mut one, mut other) = (Story::stalled().run, Story::stalled().run);
        for node in &mut one.nodes {
            node.settings.remove("max_wal_size");
        }
        other.profile_mut().synchronous.standbys.push("standby".to_owned());
        other.run_id = "another".to_owned();
        let found: Vec<(String, String)> = differences([&one, &other].into_iter())
            .into_iter()
            .map(|difference| (difference.place, difference.values.join(" ")))
            .collect();
        let expected = [
            ("nodes.primary.settings.max_wal_size", "default 32GB"),
            ("nodes.standby.settings.max_wal_size", "default 32GB"),
            ("profile.synchronous.standbys.0", "none standby"),
        ];
        assert_eq!(found, expected.map(|(place, values)| (place.to_owned(), values.to_owned())));
    }

    #[test]
    fn a_thing_that_stands_in_several_places_differs_once() {
        let (one, mut other) = (Story::stalled().run, Story::stalled().run);
        for standby in &mut other.profile_mut().standby {
            standby.machine.read_iops = Iops::Capped(400);
        }
        for node in &mut other.nodes {
            node.read_iops_cap = Some(400);
            node.settings.insert("full_page_writes".to_owned(), "off".to_owned());
        }
        other.profile_mut().postgres.common.insert("full_page_writes".to_owned(), "off".to_owned());
        other.server.version = "17.12".to_owned();
        other.server.version_num = 170_012;
        let found = differences([&one, &other].into_iter());
        assert_eq!(subjects(&found), ["full_page_writes", "read_iops", "server"]);
    }

    #[test]
    fn what_comes_with_a_version_is_no_difference_of_its_own() {
        let (mut old, mut new) = (Story::stalled().run, Story::stalled().run);
        for run in [&mut old, &mut new] {
            run.profile_mut().postgres.common.insert("io_method".to_owned(), "worker".to_owned());
        }
        old.server.version_num = 150_018;
        old.server.unknown_settings = vec!["io_method".to_owned()];
        for node in &mut new.nodes {
            node.settings.insert("io_method".to_owned(), "worker".to_owned());
            node.defaults.insert("effective_io_concurrency".to_owned(), "16".to_owned());
        }
        assert_eq!(subjects(&differences([&old, &new].into_iter())), [SERVER]);
        // One that both know and only one sets is.
        old.server.unknown_settings.clear();
        assert_eq!(subjects(&differences([&old, &new].into_iter())), ["io_method", SERVER]);
    }

    #[test]
    fn profiles_vary_in_the_things_that_runs_of_them_differ_in() {
        let (one, mut other) = (Story::stalled().run, Story::stalled().run);
        let varied = |other: &RunInfo| varied(&[one.profile().unwrap(), other.profile().unwrap()]);
        assert_eq!(varied(&other), [""; 0]);
        *other.profile_mut() = other.profile().unwrap().clone().with_prefetch(crate::profile::Prefetch::Off);
        other.profile_mut().workload.scale += 1;
        let expected = ["recovery_prefetch", "workload.scale"];
        assert_eq!(varied(&other), expected);
        assert_eq!(subjects(&differences([&one, &other].into_iter())), expected);
    }
}
