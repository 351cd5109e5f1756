//! What a bundle must not tell of the people and machines it comes from: passwords, host names, addresses, the home of
//! the user and temporary paths.
//!
//! Some are told by their form, as an address is. Others only by what stands beside them, as in `host=db1`; such a name
//! is first learned wherever it stands so, in any file, and then taken out of all of them.

mod forms;
mod paths;
#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use forms::Forms;
use paths::Paths;
use words::Words;

/// What is taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A password, or what is derived from one.
    Password,
    /// Name of a host.
    Host,
    /// IPv4 or IPv6 address, but for those that every machine has.
    Address,
    /// A path in a user's home.
    Home,
    /// A temporary path.
    Temporary,
}

impl Kind {
    /// What stands in its place. Brackets: Markdown takes `<host>` for a tag and shows nothing.
    fn placeholder(self) -> &'static str {
        match self {
            Self::Password => "[password]",
            Self::Host => "[host]",
            Self::Address => "[address]",
            Self::Home => "[home]",
            Self::Temporary => "[temporary]",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Password => "passwords",
            Self::Host => "host names",
            Self::Address => "addresses",
            Self::Home => "paths in a home",
            Self::Temporary => "temporary paths",
        })
    }
}

/// How often what was taken out.
pub type Counts = BTreeMap<Kind, usize>;

/// What the machine calls itself and its places. What is asked of it here may also stand in files that it wrote.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// Names of the machine.
    pub hosts: Vec<String>,
    /// Home of the user.
    pub home: Option<String>,
    /// Directory for temporary files.
    pub temporary: Option<String>,
}

impl Surroundings {
    /// Of this machine and user.
    #[must_use]
    pub fn here() -> Self {
        let from_file = |path: &str| std::fs::read_to_string(path).ok();
        let hosts = [
            from_file("/proc/sys/kernel/hostname"),
            from_file("/etc/hostname"),
            std::env::var("HOSTNAME").ok(),
        ];
        Self {
            hosts: hosts.into_iter().flatten().map(|name| name.trim().to_owned()).collect(),
            home: std::env::var("HOME").ok(),
            temporary: std::env::var("TMPDIR").ok(),
        }
    }
}

/// Takes out what a bundle must not tell.
#[derive(Debug)]
pub struct Redactor {
    forms: Forms,
    paths: Paths,
    words: Words,
}

impl Redactor {
    /// One that knows its surroundings, and every name and password that stands as such in `texts`. `known` are names
    /// that tell nothing, as those of a run's nodes.
    ///
    /// # Errors
    /// When a pattern is damaged.
    pub fn learn<'a>(
        surroundings: &Surroundings,
        known: &[&str],
        texts: impl Iterator<Item = &'a str>,
    ) -> Result<Self, regex::Error> {
        let forms = Forms::new()?;
        let mut words = Words::new(known);
        for host in &surroundings.hosts {
            words.learn(Kind::Host, host);
            words.learn(Kind::Host, host.split('.').next().unwrap_or_default());
        }
        for text in texts {
            for (kind, word) in forms.found_in(text, &words) {
                words.learn(kind, &word);
            }
        }
        Ok(Self { forms, paths: Paths::new(surroundings)?, words })
    }

    /// The text without them; what was taken out is counted.
    #[must_use]
    pub fn text(&self, text: &str, counts: &mut Counts) -> String {
        let text = self.forms.redact(text, &self.words, counts);
        let text = self.paths.redact(&text, counts);
        self.words.redact(&text, counts)
    }

    /// The same of every string in a JSON value. A value by name, as in `"password": "..."`, and the word after a flag,
    /// as in `["--password", "..."]`, are found by what stands before them.
    pub fn json(&self, value: &mut Value, counts: &mut Counts) {
        match value {
            Value::String(text) => *text = self.whole(text, counts),
            Value::Array(items) => {
                let mut is_secret = false;
                for item in items {
                    let asks_for_secret =
                        item.as_str().is_some_and(|text| text.starts_with('-') && forms::is_secret(text));
                    self.named(is_secret, item, counts);
                    is_secret = asks_for_secret;
                }
            }
            Value::Object(fields) => {
                for (name, field) in fields {
                    match field {
                        Value::String(text) if name == "address" => *text = self.address(text, counts),
                        field => self.named(forms::is_secret(name), field, counts),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn named(&self, is_secret: bool, value: &mut Value, counts: &mut Counts) {
        match value {
            Value::String(text) if is_secret && !text.is_empty() => {
                *text = took(Kind::Password, counts).to_owned();
            }
            other => self.json(other, counts),
        }
    }

    /// `host:port`, where a server that was only watched was reached.
    fn address(&self, text: &str, counts: &mut Counts) -> String {
        let host = host_of(text);
        let is_taken_out =
            [Kind::Host, Kind::Address].iter().any(|kind| text.starts_with(kind.placeholder()));
        if is_taken_out
            || host.is_empty()
            || host.starts_with('/')
            || self.words.tells_nothing(Kind::Host, host)
        {
            return self.text(text, counts);
        }
        text.replacen(host, took(Kind::Host, counts), 1)
    }

    /// A string that stands alone: a path in it may have spaces.
    fn whole(&self, text: &str, counts: &mut Counts) -> String {
        match self.paths.kind_of(text) {
            Some(kind) if !text.contains('\n') => took(kind, counts).to_owned(),
            _ => self.text(text, counts),
        }
    }
}

/// The host of `host:port`.
pub(super) fn host_of(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.trim_start_matches('[').trim_end_matches(']')
}

/// Counts one more, and says what stands in its place.
fn took(kind: Kind, counts: &mut Counts) -> &'static str {
    *counts.entry(kind).or_default() += 1;
    kind.placeholder()
}
