//! Words that are secret by themselves: addresses, full host names, and what was learned elsewhere.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::{Counts, Kind, took};

/// Hosts that everybody has or knows, and words that stand for hosts in the servers' own files.
const TELL_NOTHING: [&str; 15] = [
    "localhost",
    "all",
    "any",
    "none",
    "samehost",
    "samenet",
    "sha256",
    "host",
    "docker",
    "linux",
    "debian",
    "postgres",
    "docker.io",
    "www.postgresql.org",
    "lists.postgresql.org",
];

/// Ends of host names that no file of a run has.
const DOMAINS: [&str; 25] = [
    "com",
    "net",
    "org",
    "io",
    "dev",
    "edu",
    "gov",
    "mil",
    "info",
    "biz",
    "cloud",
    "local",
    "localdomain",
    "localhost",
    "internal",
    "intranet",
    "corp",
    "lan",
    "home",
    "private",
    "example",
    "test",
    "invalid",
    "arpa",
    "onion",
];

/// Ends of file names that are countries, too.
const ENDINGS: [&str; 14] =
    ["md", "sh", "rs", "py", "so", "gz", "js", "go", "pl", "cc", "db", "id", "in", "am"];

/// Shorter words are not learned: they would be found in everything.
const LEAST: usize = 3;

/// What was learned, and what tells nothing.
#[derive(Debug)]
pub(super) struct Words {
    learned: BTreeMap<String, Kind>,
    known: Vec<String>,
}

impl Words {
    pub(super) fn new(known: &[&str]) -> Self {
        let known = known.iter().chain(&TELL_NOTHING).map(|word| (*word).to_owned());
        Self { learned: BTreeMap::new(), known: known.collect() }
    }

    pub(super) fn learn(&mut self, kind: Kind, word: &str) {
        // A number stands for too much else.
        let is_number = word.chars().all(|c| c.is_ascii_digit() || c == '.');
        // A password that is a word of the lab's is taken out where it stands as one.
        let is_known = self.known.iter().any(|known| known.eq_ignore_ascii_case(word));
        if word.len() >= LEAST && !is_number && !is_known && !self.tells_nothing(kind, word) {
            self.learned.insert(word.to_owned(), kind);
        }
    }

    /// Would it be of no use to take this out.
    pub(super) fn tells_nothing(&self, kind: Kind, word: &str) -> bool {
        let is_known = kind == Kind::Host && self.known.iter().any(|known| known.eq_ignore_ascii_case(word));
        // Where an address stands for a host it is told as what it is.
        is_known || word == kind.placeholder() || (kind == Kind::Host && address_in(word).is_some())
    }

    pub(super) fn redact(&self, text: &str, counts: &mut Counts) -> String {
        let text = self.take_out_learned(text, counts);
        let mut redacted = String::with_capacity(text.len());
        for word in pieces(&text, is_of_word) {
            redacted += &self.redact_word(word, counts);
        }
        redacted
    }

    /// Learned words, wherever they stand as words. The longest first: one may begin with another.
    fn take_out_learned(&self, text: &str, counts: &mut Counts) -> String {
        let mut text = text.to_owned();
        let mut learned: Vec<(&String, &Kind)> = self.learned.iter().collect();
        learned.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
        for (word, kind) in learned {
            if !text.contains(word.as_str()) {
                continue;
            }
            let mut redacted = String::with_capacity(text.len());
            let mut done = 0;
            for (at, _) in text.match_indices(word.as_str()) {
                let end = at + word.len();
                let stands_alone = !text[..at].chars().next_back().is_some_and(char::is_alphanumeric)
                    && !text[end..].chars().next().is_some_and(char::is_alphanumeric);
                if at >= done && stands_alone {
                    redacted += &text[done..at];
                    redacted += took(*kind, counts);
                    done = end;
                }
            }
            text = redacted + &text[done..];
        }
        text
    }

    fn redact_word(&self, word: &str, counts: &mut Counts) -> String {
        let (core, end) = word.split_at(word.trim_end_matches(['.', ':', '-']).len());
        if !core.contains(['.', ':']) {
            return word.to_owned();
        }
        if let Some(address) = core.split('%').next().and_then(|core| core.parse::<Ipv6Addr>().ok()) {
            let everybodys = address.is_loopback() || address.is_unspecified();
            return if everybodys {
                word.to_owned()
            } else {
                format!("{}{end}", took(Kind::Address, counts))
            };
        }
        // An address or a name with a port, or within a longer word.
        let part = |part: &str| match part.trim_matches('.') {
            address
                if address_in(address)
                    .is_some_and(|address| !address.is_loopback() && !address.is_unspecified()) =>
            {
                part.replace(address, took(Kind::Address, counts))
            }
            _ => part.to_owned(),
        };
        let core: String = pieces(core, |c| c.is_ascii_digit() || c == '.').map(part).collect();
        let host = |part: &str| {
            if is_full_name(part) && !self.tells_nothing(Kind::Host, part) {
                took(Kind::Host, counts).to_owned()
            } else {
                part.to_owned()
            }
        };
        let core: String = pieces(&core, |c| is_of_word(c) && c != ':').map(host).collect();
        core + end
    }
}

fn address_in(word: &str) -> Option<Ipv4Addr> {
    word.parse().ok()
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | ':' | '-' | '_' | '%')
}

/// `db1.example.com`: labels, the last of which is a domain's; a country's after two others at least.
fn is_full_name(word: &str) -> bool {
    let labels: Vec<&str> = word.split('.').collect();
    let is_label = |label: &&str| {
        !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
    };
    let Some(last) = labels.last().map(|last| last.to_ascii_lowercase()) else { return false };
    let is_country =
        last.len() == 2 && last.chars().all(|c| c.is_ascii_lowercase()) && !ENDINGS.contains(&last.as_str());
    labels.iter().all(is_label)
        && ((labels.len() > 1 && DOMAINS.contains(&last.as_str())) || (labels.len() > 2 && is_country))
}

/// The text in pieces, in turn of characters that are of a word and of such that are not.
fn pieces(text: &str, is_of_word: impl Fn(char) -> bool) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = is_of_word(rest.chars().next()?);
        let end = rest.find(|c| is_of_word(c) != first).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}
