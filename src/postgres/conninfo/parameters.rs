//! Connection parameters by name.

use std::collections::BTreeMap;

use super::error::{ConninfoError, Origin};
use super::keyword::{Handling, KEYWORDS};

/// Connection parameters by name. One that is empty is one that is not given, as in libpq. There is a password among
/// them, so they are not shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Parameters(BTreeMap<&'static str, (String, Source)>);

/// Where one came from, so that a message names what its reader has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Text,
    Environment,
}

impl Parameters {
    /// The value of a parameter, if it has one.
    pub(in crate::postgres) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|(value, _)| value.as_str()).filter(|value| !value.is_empty())
    }

    pub(super) fn set(&mut self, name: &'static str, value: String) {
        self.0.insert(name, (value, Source::Text));
    }

    /// Takes from a service what is not given.
    pub(super) fn or(&mut self, service: Self) {
        for (name, value) in service.0 {
            self.0.entry(name).or_insert(value);
        }
    }

    /// Takes from the environment what is not given.
    pub(super) fn or_from_environment(&mut self, variable: impl Fn(&str) -> Option<String>) {
        for keyword in KEYWORDS {
            if let Some(value) = keyword.variable.and_then(&variable) {
                self.0.entry(keyword.name).or_insert((value, Source::Environment));
            }
        }
    }

    /// Refuses what would have no effect.
    pub(super) fn check(&self) -> Result<(), ConninfoError> {
        for keyword in KEYWORDS {
            let Some((value, source)) = self.0.get(keyword.name).filter(|(value, _)| !value.is_empty())
            else {
                continue;
            };
            let origin = match (source, keyword.variable) {
                (Source::Environment, Some(variable)) => Origin::Variable(variable),
                _ => Origin::Parameter(keyword.name),
            };
            match keyword.handling {
                Handling::Refused => return Err(ConninfoError::Unsupported(origin)),
                Handling::OnlyAs(values) if !values.contains(&value.as_str()) => {
                    return Err(ConninfoError::OnlyAs { origin, allowed: values.join(", ") });
                }
                Handling::OnlyAs(_) | Handling::Used => {}
            }
        }
        Ok(())
    }

    /// A parameter that is a whole number.
    pub(in crate::postgres) fn number(&self, name: &'static str) -> Result<Option<i64>, ConninfoError> {
        let parsed = self.get(name).map(|value| value.trim().parse::<i64>()).transpose();
        parsed.map_err(|_| ConninfoError::Value { parameter: name, what: "it is a whole number".to_owned() })
    }

    /// A parameter that has one of these values.
    pub(in crate::postgres) fn one_of<T: Copy>(
        &self,
        name: &'static str,
        values: &[(&'static str, T)],
    ) -> Result<Option<T>, ConninfoError> {
        let Some(given) = self.get(name) else { return Ok(None) };
        let value = values.iter().find(|(value, _)| *value == given).map(|(_, meaning)| *meaning);
        value.map(Some).ok_or_else(|| {
            let names: Vec<&str> = values.iter().map(|(value, _)| *value).collect();
            ConninfoError::Value { parameter: name, what: format!("it is one of {}", names.join(", ")) }
        })
    }
}
