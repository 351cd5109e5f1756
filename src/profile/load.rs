//! From a text to a checked profile, and back to text.

use serde::Deserialize;

use super::error::{Complaint, Problem};
use super::tree::{Place, Table};
use super::{
    ArmSpec, Override, Problems, Profile, ProfileError, Template, arm, check, overlay, overrides, read,
    schema,
};

impl Profile {
    /// The profile of that name or in that file, with the overrides laid over it: see [`Template::find`].
    ///
    /// # Errors
    /// An unknown name, a file that cannot be read, or everything that is wrong with the profile.
    pub fn load(name_or_path: &str, overrides: &[Override]) -> Result<Self, ProfileError> {
        Ok(Template::find(name_or_path)?.profile(overrides)?)
    }

    /// The profile that `text` is, with the overrides laid over it. `origin` names the text in messages.
    ///
    /// # Errors
    /// All problems of its keys, or, if each key is sound by itself, all that do not agree with each other.
    pub fn parse(origin: &str, text: &str, overrides: &[Override]) -> Result<Self, Problems> {
        Template::of_text(origin, text).profile(overrides)
    }

    /// The whole profile as TOML, which reads back as the same profile.
    ///
    /// # Errors
    /// A number that TOML cannot hold; a profile that was read has none.
    pub fn to_toml(&self) -> Result<String, ProfileError> {
        Ok(toml::to_string(self)?)
    }
}

/// The profile that a text is.
pub(super) fn profile(text: &str, overrides: &[Override]) -> Result<Profile, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut root = overlay::tree_of(text, &mut problems).map_err(|problem| vec![problem])?;
    arm::take(&mut root, &mut problems);
    overrides::apply(overrides, &mut root, &mut problems);
    let sound = read::table(schema::PROFILE, &root, Place::File, "", &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    agreeing(sound, &root)
}

/// The arms that a text has.
pub(super) fn arms(text: &str) -> Result<Vec<ArmSpec>, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut root = overlay::tree_of(text, &mut problems).map_err(|problem| vec![problem])?;
    let arms = arm::take(&mut root, &mut problems);
    if problems.is_empty() { Ok(arms) } else { Err(problems) }
}

fn agreeing(sound: toml::Table, written: &Table) -> Result<Profile, Vec<Problem>> {
    let profile = Profile::deserialize(sound).map_err(|error| {
        let complaint = Complaint::Shape(error.message().to_owned());
        vec![Problem { place: Place::File, key: String::new(), complaint }]
    })?;
    let problems = check::check(&profile, written);
    if problems.is_empty() { Ok(profile) } else { Err(problems) }
}
