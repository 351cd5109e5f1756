//! Arms: variants of one profile that are run side by side.

use std::str::FromStr;

use super::error::{Complaint, Problem};
use super::overrides::Override;
use super::setting;
use super::tree::{Entry, Place, Table, Value};

/// A variant of a profile: its name, and what it changes.
///
/// As an argument it is `NAME:KEY=VALUE,KEY=VALUE`. A piece between commas that has no `=` belongs to the value before
/// it, so that `synchronous.standbys=a,b` needs no quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArmSpec {
    name: String,
    changes: Vec<Override>,
}

/// Why an argument is no arm.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not NAME:KEY=VALUE,KEY=VALUE, as in fpw-off:postgres.common.full_page_writes=off; {NAME}")]
pub struct NotAnArm(String);

/// What an arm's name is made of.
const NAME: &str = "a name is up to 40 lower-case letters, digits and hyphens";

impl ArmSpec {
    /// Its name, as its folder ends.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it changes, in order.
    #[must_use]
    pub fn changes(&self) -> &[Override] {
        &self.changes
    }

    /// Does it set this PostgreSQL setting, for whatever node.
    #[must_use]
    pub fn sets(&self, setting: &str) -> bool {
        self.changes
            .iter()
            .any(|change| change.key().strip_suffix(setting).is_some_and(|group| group.ends_with('.')))
    }
}

impl FromStr for ArmSpec {
    type Err = NotAnArm;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || NotAnArm(text.to_owned());
        let (name, pieces) = text.split_once(':').ok_or_else(refused)?;
        if !is_name(name) {
            return Err(refused());
        }
        let mut changes: Vec<String> = Vec::new();
        for piece in pieces.split(',') {
            match changes.last_mut() {
                Some(before) if !piece.contains('=') => *before = format!("{before},{piece}"),
                _ => changes.push(piece.to_owned()),
            }
        }
        let changes: Result<Vec<Override>, _> = changes.iter().map(|change| change.parse()).collect();
        let changes = changes.map_err(|_| refused())?.into_iter().map(|change| change.of_arm(name));
        Ok(Self { name: name.to_owned(), changes: changes.collect() })
    }
}

fn is_name(name: &str) -> bool {
    let part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty() && name.len() <= 40 && name.chars().all(part)
}

/// Takes the arms out of a profile's tree: `[[arm]]`, each with its `name` and a table `set` of keys and values.
pub(super) fn take(root: &mut Table, problems: &mut Vec<Problem>) -> Vec<ArmSpec> {
    let Some(Entry { place, value }) = root.remove(KEY) else {
        return vec![];
    };
    let Value::List(items) = value else {
        problems.push(refused(place, KEY, &value, SHAPE));
        return vec![];
    };
    let mut arms: Vec<ArmSpec> = Vec::new();
    for item in items {
        let Some(arm) = arm(item, problems) else { continue };
        if arms.iter().any(|earlier| earlier.name == arm.name) {
            problems.push(refused(
                place,
                "arm.name",
                &Value::Text(arm.name),
                "each arm has a name of its own",
            ));
        } else {
            arms.push(arm);
        }
    }
    arms
}

/// The key of the arms.
const KEY: &str = "arm";

const SHAPE: &str = "one [[arm]] for each, with its name and a table set of keys and values";

fn arm(item: Entry, problems: &mut Vec<Problem>) -> Option<ArmSpec> {
    let Value::Table(mut table) = item.value else {
        problems.push(refused(item.place, KEY, &item.value, SHAPE));
        return None;
    };
    let name = table.remove("name");
    let set = table.remove("set");
    for (key, entry) in table {
        let complaint = Complaint::unknown_key(&key, vec!["name".to_owned(), "set".to_owned()]);
        problems.push(Problem { place: entry.place, key: format!("{KEY}.{key}"), complaint });
    }
    let name = match name {
        Some(Entry { value: Value::Text(name), .. }) if is_name(&name) => name,
        Some(entry) => {
            problems.push(refused(entry.place, "arm.name", &entry.value, NAME));
            return None;
        }
        None => {
            let complaint = Complaint::Missing(NAME.to_owned());
            problems.push(Problem { place: item.place, key: "arm.name".to_owned(), complaint });
            return None;
        }
    };
    let changes = set.map_or_else(Vec::new, |set| changes(&name, set, problems));
    Some(ArmSpec { name, changes })
}

fn changes(arm: &str, set: Entry, problems: &mut Vec<Problem>) -> Vec<Override> {
    const KEY: &str = "arm.set";
    let Value::Table(mut set) = set.value else {
        problems.push(refused(set.place, KEY, &set.value, "a table of keys and values"));
        return vec![];
    };
    setting::flatten(&mut set, KEY, problems);
    let mut changes = Vec::new();
    for (key, entry) in set {
        match setting::text(&entry.value) {
            Some(text) => changes.push(Override::new(&key, &text).of_arm(arm)),
            None => {
                let key = format!("{KEY}.{key}");
                problems.push(refused(entry.place, &key, &entry.value, "a text, a number, true or false"));
            }
        }
    }
    changes
}

fn refused(place: Place, key: &str, value: &Value, allowed: &str) -> Problem {
    let complaint = Complaint::NotAllowed { value: value.to_string(), allowed: allowed.to_owned() };
    Problem { place, key: key.to_owned(), complaint }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn changes(text: &str) -> Vec<String> {
        let arm: ArmSpec = text.parse().unwrap();
        arm.changes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_arm_is_a_name_and_what_it_changes_commas_in_values_included() {
        assert_eq!(
            changes("b-2:synchronous.standbys=a,b,synchronous.method=ANY,description=x = y"),
            [
                "arm b-2: synchronous.standbys=a,b",
                "arm b-2: synchronous.method=ANY",
                "arm b-2: description=x = y"
            ]
        );
    }

    #[test]
    fn what_is_no_arm_is_told_how_one_is_written() {
        for text in ["", "x", "x:", "x:a", "x:a,b=c", ":a=b", "X:a=b", "a/b:c=d", "x:=b"] {
            let said = text.parse::<ArmSpec>().unwrap_err().to_string();
            assert!(said.starts_with(&format!("{text:?} is not NAME:KEY=VALUE")), "{said}");
        }
    }

    #[test]
    fn an_arm_sets_a_setting_of_any_node_and_no_other_of_a_longer_name() {
        let arm: ArmSpec = "x:standby.a.settings.recovery_prefetch=off".parse().unwrap();
        assert!(arm.sets("recovery_prefetch") && !arm.sets("prefetch"));
    }
}
