//! Passwords and host names that are told by what stands beside them.

use regex::{Captures, Regex};

use super::words::Words;
use super::{Counts, Kind, took};

/// Patterns; what is to be taken out is the group `s`. A quotation may be one within another, its quotes escaped.
const FORMS: [(Kind, &str); 14] = [
    // Connection strings, environment, YAML, log lines: password=..., PGPASSWORD=..., "secret": "..."
    (
        Kind::Password,
        r#"(?i)(?:passw(?:or)?d|passphrase|pwd|secret|token|api_?key)\\?["']?\s*[=:]\s*\\?'(?P<s>(?:[^'\\]|\\.|'')+)'"#,
    ),
    (
        Kind::Password,
        r#"(?i)(?:passw(?:or)?d|passphrase|pwd|secret|token|api_?key)\\?["']?\s*[=:]\s*\\?"(?P<s>[^"\\]+)"#,
    ),
    (
        Kind::Password,
        r#"(?i)(?:passw(?:or)?d|passphrase|pwd|secret|token|api_?key)\\?["']?\s*[=:]\s*(?P<s>[^\s,;"'\\]+)"#,
    ),
    // ALTER ROLE ... PASSWORD '...'
    (Kind::Password, r"(?i)password\s+E?'(?P<s>(?:[^']|'')+)'"),
    (Kind::Password, r#"(?i)--[a-z-]*(?:password|secret|token)\s+(?P<s>[^\s"'-][^\s"']*)"#),
    // Verifiers.
    (Kind::Password, r#"(?P<s>SCRAM-SHA-256\$[^\s"',;]+)"#),
    (Kind::Password, r"(?P<s>md5[0-9a-f]{32})"),
    // host:port:database:user:password
    (Kind::Password, r"(?m)^(?:\*|[^:\s]+):(?:\*|[0-9]+):(?:\*|[^:\s]+):[^:\s]+:(?P<s>\S+)$"),
    // scheme://user:password@host
    (Kind::Password, r#"(?i)[a-z][a-z0-9+.-]*://[^\s/:@"']*:(?P<s>[^\s"'@]+)@"#),
    (Kind::Host, r#"(?i)[a-z][a-z0-9+.-]*://(?:[^\s/@"']*@)?(?P<s>\[host\]|[a-z0-9][a-z0-9._-]*)"#),
    (Kind::Host, r#"(?i)host(?:name)?\\?["']?\s*[=:]\s*\\?["']?(?P<s>[a-z0-9][a-z0-9._-]*)"#),
    // could not translate host name "..."; no pg_hba.conf entry for host "..."; connection to server at "..."
    (
        Kind::Host,
        r#"(?i)(?:host name|from host|for host|on host|server at|server on) \\?["'](?P<s>[a-z0-9][a-z0-9._-]*)"#,
    ),
    (Kind::Host, r#"(?i)(?:\s|^)(?:-h|--host)\s+(?P<s>[a-z0-9][a-z0-9._-]*)"#),
    // user@host; an image's digest is none.
    (Kind::Host, r"(?i)[a-z0-9._+-]+@(?P<s>[a-z][a-z0-9.-]*[a-z0-9])"),
];

/// What is told by what stands beside it.
#[derive(Debug)]
pub(super) struct Forms {
    forms: Vec<(Kind, Regex)>,
}

/// Is this the name of something secret, as a field or a flag may be called.
pub(super) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["password", "passwd", "passphrase", "secret", "token"].iter().any(|word| name.contains(word))
        // How passwords are stored is no secret.
        && !name.ends_with("password_encryption")
}

impl Forms {
    pub(super) fn new() -> Result<Self, regex::Error> {
        let forms = FORMS.iter().map(|(kind, form)| Ok((*kind, Regex::new(form)?)));
        Ok(Self { forms: forms.collect::<Result<_, regex::Error>>()? })
    }

    /// What stands in a text as a secret and would be of use to take out.
    pub(super) fn found_in(&self, text: &str, words: &Words) -> Vec<(Kind, String)> {
        let mut found = Vec::new();
        self.take_out(text, words, |kind, secret| found.push((kind, secret.to_owned())));
        found
    }

    pub(super) fn redact(&self, text: &str, words: &Words, counts: &mut Counts) -> String {
        self.take_out(text, words, |kind, _| {
            took(kind, counts);
        })
    }

    /// One form after the other: what an earlier one took out, as the password in an address, misleads none after it.
    fn take_out(&self, text: &str, words: &Words, mut on_found: impl FnMut(Kind, &str)) -> String {
        let mut text = text.to_owned();
        for (kind, form) in &self.forms {
            let replaced = form.replace_all(&text, |found: &Captures<'_>| {
                let whole = &found[0];
                let Some(secret) = found.name("s") else { return whole.to_owned() };
                if words.tells_nothing(*kind, secret.as_str()) {
                    return whole.to_owned();
                }
                on_found(*kind, secret.as_str());
                let start = found.get(0).map_or(0, |whole| whole.start());
                let (before, after) = (secret.start() - start, secret.end() - start);
                format!("{}{}{}", &whole[..before], kind.placeholder(), &whole[after..])
            });
            text = replaced.into_owned();
        }
        text
    }
}
