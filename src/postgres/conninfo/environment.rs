//! What of the process' surroundings connection parameters come from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::error::ConninfoError;
use super::parameters::Parameters;
use super::{service, text};

/// Environment variables, the home directory and the user's name. There may be a password in it, so it is not shown.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    home: Option<PathBuf>,
    user: Option<String>,
}

impl Environment {
    /// That of this process.
    #[must_use]
    pub fn of_process() -> Self {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, _)| name.starts_with("PG"));
        Self::new(variables, std::env::home_dir(), whoami::username().ok())
    }

    /// One with these variables, this home directory and this name of the user.
    pub fn new(
        variables: impl IntoIterator<Item = (String, String)>,
        home: Option<PathBuf>,
        user: Option<String>,
    ) -> Self {
        Self { variables: variables.into_iter().collect(), home, user }
    }

    /// A variable; one that is empty is one that is not set.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A file below the home directory.
    pub(in crate::postgres) fn at_home(&self, path: &str) -> Option<PathBuf> {
        self.home.as_deref().map(|home: &Path| home.join(path))
    }

    /// What the operating system calls the user.
    pub(in crate::postgres) fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// What a connection string says, and where it says nothing its service, and where that says nothing the
    /// variables.
    ///
    /// # Errors
    /// When the text is no connection string, its service cannot be found, or a parameter would have no effect here.
    pub(in crate::postgres) fn complete(&self, conninfo: &str) -> Result<Parameters, ConninfoError> {
        let mut parameters = text::parse(conninfo)?;
        let service = parameters.get("service").or_else(|| self.variable("PGSERVICE")).map(str::to_owned);
        if let Some(service) = service {
            let file = parameters.get("servicefile").map(PathBuf::from);
            parameters.or(service::find(&service, file, self)?);
        }
        parameters.or_from_environment(|name| self.variable(name).map(str::to_owned));
        parameters.check()?;
        Ok(parameters)
    }
}
