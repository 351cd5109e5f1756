//! What a version is expected to answer. Compared are SQLSTATE and status: wording changes between versions.

use std::collections::HashMap;

use serde::Deserialize;

/// Of PostgreSQL 19, as 19rc1 answered and as its documentation has it.
const OF_19: &str = include_str!("expected/19.csv");

#[derive(Debug, Deserialize)]
struct Row {
    case: String,
    role: String,
    no_throw: bool,
    sqlstate: String,
    status: String,
}

/// The answers expected of one version.
#[derive(Debug, Default)]
pub struct Expected {
    answers: HashMap<(String, String, bool), (String, String)>,
}

impl Expected {
    /// Of the server with this `server_version_num`; knows nothing of versions that have no stored answers.
    #[must_use]
    pub fn of(version_num: u32) -> Self {
        match version_num / 10_000 {
            19 => Self::read(OF_19),
            _ => Self::default(),
        }
    }

    /// A row that cannot be read is no expectation; a test reads them all.
    fn read(text: &str) -> Self {
        let rows = csv::Reader::from_reader(text.as_bytes()).into_deserialize::<Row>().flatten();
        let answers =
            rows.map(|row| ((row.case, row.role, row.no_throw), (row.sqlstate, row.status))).collect();
        Self { answers }
    }

    /// SQLSTATE and status that are expected; none where nothing is.
    #[must_use]
    pub fn answer(&self, case: &str, role: &str, no_throw: bool) -> Option<(&str, &str)> {
        let (sqlstate, status) = self.answers.get(&(case.to_owned(), role.to_owned(), no_throw))?;
        Some((sqlstate, status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stored_answer_can_be_read_and_is_an_error_or_a_status() {
        let expected = Expected::of(190_000);
        assert_eq!(expected.answers.len(), OF_19.lines().count() - 1);
        for (case, (sqlstate, status)) in &expected.answers {
            assert!(sqlstate.len() == 5 || sqlstate.is_empty(), "{case:?}: {sqlstate}");
            // A DO block that is let run returns no row.
            assert!(sqlstate.is_empty() || status.is_empty(), "{case:?}");
        }
    }

    #[test]
    fn what_the_documentation_promises_is_what_is_stored() {
        let expected = Expected::of(190_000);
        for (case, role, no_throw, answer) in [
            ("reached", "standby", false, ("", "success")),
            ("timeout", "standby", false, ("57014", "")),
            ("timeout", "standby", true, ("", "timeout")),
            ("reached-standby_replay", "primary", true, ("", "not in recovery")),
            ("reached-primary_flush", "standby", true, ("55000", "")),
            ("garbage-lsn", "standby", true, ("22P02", "")),
            ("unknown-mode", "standby", false, ("22023", "")),
        ] {
            assert_eq!(expected.answer(case, role, no_throw), Some(answer), "{case} on {role}");
        }
    }

    #[test]
    fn a_version_without_stored_answers_is_expected_nothing_of() {
        assert_eq!(Expected::of(200_000).answer("reached", "standby", false), None);
    }
}
