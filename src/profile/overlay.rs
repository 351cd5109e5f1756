//! A profile that says only in what it differs from a built-in one.

use super::Builtin;
use super::error::{Complaint, Problem};
use super::schema::{self, Key, Kind};
use super::setting;
use super::tree::{self, Entry, Place, Table, Value};

/// The key that names the profile to differ from.
const KEY: &str = "extends";

/// The tree of a text, laid over that of the profile it extends, if it extends one.
///
/// Tables are joined key by key. The standbys are those of the text, if it has any; what one of them does not say is as
/// in the extended profile's standby of that name, or of its first.
pub(super) fn tree_of(text: &str, problems: &mut Vec<Problem>) -> Result<Table, Problem> {
    let mut own = tree::parse(text)?;
    setting::flatten_all(schema::PROFILE, &mut own, "", problems);
    let Some(Entry { place, value }) = own.remove(KEY) else {
        return Ok(own);
    };
    let base = match &value {
        Value::Text(name) => Builtin::named(name),
        _ => None,
    };
    let Some(base) = base else {
        let allowed = "the name of a built-in profile or scenario".to_owned();
        let complaint = Complaint::NotAllowed { value: value.to_string(), allowed };
        return Err(Problem { place, key: KEY.to_owned(), complaint });
    };
    // The built-in ones extend each other in no circle, as a test makes sure.
    let mut base = tree_of(base.text, problems)?;
    forget_places(&mut base);
    join(schema::PROFILE, &mut base, own);
    Ok(base)
}

/// What is wrong with a value of another text has no line in this one.
fn forget_places(table: &mut Table) {
    for entry in table.values_mut() {
        forget_place(entry);
    }
}

fn forget_place(entry: &mut Entry) {
    entry.place = Place::File;
    match &mut entry.value {
        Value::Table(table) => forget_places(table),
        Value::List(items) => items.iter_mut().for_each(forget_place),
        _ => {}
    }
}

fn join(keys: &[Key], base: &mut Table, own: Table) {
    for (name, entry) in own {
        let kind = schema::find(keys, &name).map(|key| &key.kind);
        let joined = match (kind, base.remove(&name), entry) {
            (Some(Kind::Table(keys)), Some(base), own) => join_tables(keys, base, own),
            (Some(Kind::Settings), Some(base), own) => join_tables(&[], base, own),
            (Some(Kind::Standbys(keys)), Some(base), own) => join_standbys(keys, base, own),
            (_, _, own) => own,
        };
        base.insert(name, joined);
    }
}

/// What is no table replaces the other, and the check says so.
fn join_tables(keys: &[Key], base: Entry, own: Entry) -> Entry {
    match (base.value, own.value) {
        (Value::Table(mut base), Value::Table(table)) => {
            join(keys, &mut base, table);
            Entry { place: own.place, value: Value::Table(base) }
        }
        (_, value) => Entry { place: own.place, value },
    }
}

fn join_standbys(keys: &[Key], base: Entry, own: Entry) -> Entry {
    let (Value::List(base), Value::List(items)) = (&base.value, &own.value) else {
        return own;
    };
    let joined = items.iter().cloned().map(|item| {
        let name = schema::name_of(&item).map(str::to_owned);
        let same = base.iter().find(|standby| schema::name_of(standby) == name.as_deref());
        match same.or(base.first()) {
            Some(standby) => {
                let mut standby = standby.clone();
                if let Some(table) = tree::as_table(&mut standby) {
                    table.remove("name");
                }
                join_tables(keys, standby, item)
            }
            None => item,
        }
    });
    Entry { place: own.place, value: Value::List(joined.collect()) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::profile::{Iops, Profile, SCENARIOS};

    fn parse(text: &str) -> Profile {
        Profile::parse("mine.toml", text, &[]).unwrap()
    }

    fn refused(text: &str) -> String {
        Profile::parse("mine.toml", text, &[]).unwrap_err().to_string()
    }

    #[test]
    fn a_profile_that_extends_another_says_only_in_what_it_differs() {
        let quick = Profile::load("quick", &[]).unwrap();
        assert_eq!(parse("extends = \"quick\""), quick);
        let mut expected = quick;
        expected.workload.scale = 20;
        expected.postgres.common.insert("work_mem".to_owned(), "8MB".to_owned());
        let text = "extends = \"quick\"\n[workload]\nscale = 20\n[postgres.common]\nwork_mem = \"8MB\"";
        assert_eq!(parse(text), expected);
    }

    #[test]
    fn a_standby_is_as_the_one_of_its_name_or_as_the_first_where_it_says_nothing_else() {
        let text = "extends = \"quick\"\n\
                    [[standby]]\nname = \"spare\"\nread_iops = \"unlimited\"\n\
                    [[standby]]\nname = \"standby\"\nsettings.work_mem = \"1MB\"";
        let profile = parse(text);
        let quick = Profile::load("quick", &[]).unwrap();
        let names: Vec<&str> = profile.standby.iter().map(|standby| standby.name.as_str()).collect();
        assert_eq!(names, ["spare", "standby"]);
        assert_eq!(profile.standby[0].machine.read_iops, Iops::Unlimited);
        assert_eq!(profile.standby[0].machine.write_iops, quick.primary.write_iops);
        assert_eq!(profile.standby[1].machine, quick.standby[0].machine);
        assert_eq!(profile.standby[1].settings.get("work_mem").unwrap(), "1MB");
    }

    #[test]
    fn a_mistake_is_told_with_its_own_line_and_what_comes_from_the_other_text_without_one() {
        let text = "extends = \"quick\"\n[workload]\nscale = 0\n[wach]\ntail = \"1s\"";
        let said = refused(text);
        let starts: Vec<&str> = said.lines().filter_map(|line| line.get(..27)).collect();
        assert_eq!(starts, ["mine.toml:3: workload.scale", "mine.toml:4: wach: unknown "], "{said}");
        let said = refused("extends = \"quick\"\n[postgres.common]\nshared_buffers = \"8GB\"");
        assert!(said.starts_with("mine.toml: primary.memory: 2GB is not allowed: at least"), "{said}");
        let said = refused("extends = \"quik\"");
        let expected =
            "mine.toml:1: extends: \"quik\" is not allowed: the name of a built-in profile or scenario";
        assert_eq!(said, expected);
    }

    #[test]
    fn what_is_no_table_where_one_belongs_is_refused_and_does_not_vanish() {
        for text in ["workload = 5", "standby = 5", "standby = [5]", "[postgres]\ncommon = 5"] {
            assert!(refused(&format!("extends = \"quick\"\n{text}")).contains("is not allowed"), "{text}");
        }
    }

    #[test]
    fn every_scenario_and_each_of_its_arms_is_a_valid_profile() {
        for scenario in SCENARIOS {
            let template = crate::profile::Template::find(scenario.name).unwrap();
            let arms = template.arms().unwrap();
            assert!(!arms.is_empty(), "{} compares nothing", scenario.name);
            for arm in arms {
                let changed = template.profile(arm.changes());
                assert!(changed.is_ok(), "{}", changed.unwrap_err());
            }
        }
    }
}
