//! Paths in a user's home and temporary paths: what follows their beginning may name people, customers, machines.

use regex::Regex;

use super::{Counts, Kind, Surroundings, took};

/// Where homes are.
const HOMES: [&str; 4] = ["/home", "/Users", "/export/home", "/root"];

/// Where temporary files are.
const TEMPORARY: [&str; 7] =
    ["/tmp", "/var/tmp", "/private/tmp", "/private/var", "/var/folders", "/run/user", "/dev/shm"];

/// A server's socket has the same name everywhere.
const SOCKET: &str = "/tmp/.s.PGSQL.";

/// The beginnings of such paths.
#[derive(Debug)]
pub(super) struct Paths {
    beginnings: Vec<(Kind, String)>,
    form: Regex,
}

impl Paths {
    pub(super) fn new(surroundings: &Surroundings) -> Result<Self, regex::Error> {
        // A place of one step, as "/", says nothing and would take every path with it.
        let own = |kind: Kind, place: &Option<String>| {
            let place = place.as_deref().map(|place| place.trim_end_matches('/').to_owned());
            place.filter(|place| place.matches('/').count() > 1).map(|place| (kind, place))
        };
        let mut beginnings: Vec<(Kind, String)> = own(Kind::Home, &surroundings.home)
            .into_iter()
            .chain(own(Kind::Temporary, &surroundings.temporary))
            .collect();
        beginnings.extend(HOMES.map(|place| (Kind::Home, place.to_owned())));
        beginnings.extend(TEMPORARY.map(|place| (Kind::Temporary, place.to_owned())));
        let places: Vec<String> = beginnings.iter().map(|(_, place)| regex::escape(place)).collect();
        // Up to the end of the quotation, where it begins with one; else to what ends a word.
        let places = places.join("|");
        let form = format!(
            r#""(?P<q>(?:{places})/[^"\n]*)|'(?P<a>(?:{places})/[^'\n]*)|(?P<w>(?:{places})[^\s"'`,;:()\[\]{{}}<>|\\]*)"#
        );
        Ok(Self { beginnings, form: Regex::new(&form)? })
    }

    pub(super) fn redact(&self, text: &str, counts: &mut Counts) -> String {
        let mut redacted = String::with_capacity(text.len());
        let mut done = 0;
        for found in self.form.captures_iter(text) {
            let Some(path) = ["q", "a", "w"].iter().find_map(|group| found.name(group)) else { continue };
            let begins = text[..path.start()].chars().next_back().is_none_or(|before| !is_of_path(before));
            let Some(kind) = self.kind_of(path.as_str()).filter(|_| begins) else { continue };
            redacted += &text[done..path.start()];
            redacted += took(kind, counts);
            done = path.end();
        }
        redacted + &text[done..]
    }

    /// What a path is, by its beginning. `/tmp` alone says nothing, as `/home`; `/root` is a home by itself.
    pub(super) fn kind_of(&self, path: &str) -> Option<Kind> {
        let below = |place: &str| {
            path.strip_prefix(place).is_some_and(|rest| rest.starts_with('/') && rest.len() > 1)
        };
        let is_own =
            |place: &str| path == place && !HOMES[..3].contains(&place) && !TEMPORARY.contains(&place);
        if path.starts_with(SOCKET) {
            return None;
        }
        let found = self.beginnings.iter().find(|(_, place)| below(place) || is_own(place));
        found.map(|(kind, _)| *kind)
    }
}

fn is_of_path(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '~')
}
