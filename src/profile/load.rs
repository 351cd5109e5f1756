//! From a name, a path or a text to a checked profile, and back to text.

use std::fs;
use std::path::{Path, is_separator};

use serde::Deserialize;

use super::error::{Complaint, Problem};
use super::tree::{self, Place, Table};
use super::{Builtin, Override, Problems, Profile, ProfileError, check, overrides, read, schema, setting};

impl Profile {
    /// The profile of that name or in that file, with the overrides laid over it.
    ///
    /// What ends in `.toml` or holds a path separator is a file, all else the name of a built-in profile.
    ///
    /// # Errors
    /// An unknown name, a file that cannot be read, or everything that is wrong with the profile.
    pub fn load(name_or_path: &str, overrides: &[Override]) -> Result<Self, ProfileError> {
        if !name_or_path.ends_with(".toml") && !name_or_path.contains(is_separator) {
            let builtin = Builtin::named(name_or_path)
                .ok_or_else(|| ProfileError::Unknown { name: name_or_path.to_owned() })?;
            return Ok(Self::parse(builtin.name, builtin.text, overrides)?);
        }
        let path = Path::new(name_or_path);
        let text = fs::read_to_string(path)
            .map_err(|source| ProfileError::Read { path: path.to_owned(), source })?;
        Ok(Self::parse(name_or_path, &text, overrides)?)
    }

    /// The profile that `text` is, with the overrides laid over it. `origin` names the text in messages.
    ///
    /// # Errors
    /// All problems of its keys, or, if each key is sound by itself, all that do not agree with each other.
    pub fn parse(origin: &str, text: &str, overrides: &[Override]) -> Result<Self, Problems> {
        read_checked(text, overrides).map_err(|mut found| {
            found.sort_by_key(|problem| problem.place);
            // A setting, or one --set, may reach several nodes: a mistake in it is told once.
            found.dedup();
            let overrides = overrides.iter().map(ToString::to_string).collect();
            Problems { origin: origin.to_owned(), overrides, found }
        })
    }

    /// The whole profile as TOML, which reads back as the same profile.
    ///
    /// # Errors
    /// A number that TOML cannot hold; a profile that was read has none.
    pub fn to_toml(&self) -> Result<String, ProfileError> {
        Ok(toml::to_string(self)?)
    }
}

fn read_checked(text: &str, overrides: &[Override]) -> Result<Profile, Vec<Problem>> {
    let mut root = tree::parse(text).map_err(|problem| vec![problem])?;
    let mut problems = Vec::new();
    setting::flatten_all(schema::PROFILE, &mut root, "", &mut problems);
    overrides::apply(overrides, &mut root, &mut problems);
    let sound = read::table(schema::PROFILE, &root, Place::File, "", &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    agreeing(sound, &root)
}

fn agreeing(sound: toml::Table, written: &Table) -> Result<Profile, Vec<Problem>> {
    let profile = Profile::deserialize(sound).map_err(|error| {
        let complaint = Complaint::Shape(error.message().to_owned());
        vec![Problem { place: Place::File, key: String::new(), complaint }]
    })?;
    let problems = check::check(&profile, written);
    if problems.is_empty() { Ok(profile) } else { Err(problems) }
}
