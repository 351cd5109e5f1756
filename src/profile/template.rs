//! A profile's text, before anything is laid over it.

use std::fs;
use std::path::{Path, is_separator};

use super::{ArmSpec, Builtin, Override, Problems, Profile, ProfileError, load};

/// The text of a profile, and where it is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    origin: String,
    text: String,
}

impl Template {
    /// The text of that name or in that file.
    ///
    /// What ends in `.toml` or holds a path separator is a file, all else the name of a built-in profile or scenario.
    ///
    /// # Errors
    /// An unknown name, or a file that cannot be read.
    pub fn find(name_or_path: &str) -> Result<Self, ProfileError> {
        let origin = name_or_path.to_owned();
        if !name_or_path.ends_with(".toml") && !name_or_path.contains(is_separator) {
            let builtin =
                Builtin::named(name_or_path).ok_or(ProfileError::Unknown { name: origin.clone() })?;
            return Ok(Self { origin, text: builtin.text.to_owned() });
        }
        let path = Path::new(name_or_path);
        let text = fs::read_to_string(path)
            .map_err(|source| ProfileError::Read { path: path.to_owned(), source })?;
        Ok(Self { origin, text })
    }

    /// A text that is no file; `origin` names it in messages.
    #[must_use]
    pub fn of_text(origin: &str, text: &str) -> Self {
        Self { origin: origin.to_owned(), text: text.to_owned() }
    }

    /// The profile, with the overrides laid over it.
    ///
    /// # Errors
    /// All problems of its keys, or, if each key is sound by itself, all that do not agree with each other.
    pub fn profile(&self, overrides: &[Override]) -> Result<Profile, Problems> {
        load::profile(&self.text, overrides).map_err(|found| Problems::new(&self.origin, overrides, found))
    }

    /// The arms that the text itself has, in its order; most have none.
    ///
    /// # Errors
    /// What is wrong with them, or with the text as TOML.
    pub fn arms(&self) -> Result<Vec<ArmSpec>, Problems> {
        load::arms(&self.text).map_err(|found| Problems::new(&self.origin, &[], found))
    }
}
