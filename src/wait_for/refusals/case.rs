//! One case: what is run, and how it ends.

use super::super::Node;
use super::super::method::{Mode, in_words};

/// An LSN that no WAL of a run reaches.
const FUTURE: u64 = 0xffff << 32;

/// A way to call `WAIT FOR LSN`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Case {
    /// Its name.
    pub name: &'static str,
    /// What is waited for.
    pub lsn: Target,
    /// What stands in `WITH (...)`; `{mode}` is a mode that the server's role allows.
    pub options: &'static [&'static str],
    /// What is run before on the same session, each alone.
    pub before: &'static [&'static str],
    /// What is run; `{wait}` is the statement itself.
    pub sql: &'static str,
    /// How it is sent.
    pub protocol: Protocol,
    /// What ends it.
    pub end: End,
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// What the server has already.
    Reached,
    /// What it will not have.
    Future,
    /// A text.
    Text(&'static str),
}

/// How a statement is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// As psql sends it.
    Simple,
    /// As most drivers send it.
    Extended,
}

/// What ends a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It ends.
    ByItself,
    /// `pg_cancel_backend`, after it was seen to wait and still to wait much later.
    Cancelled,
    /// `pg_terminate_backend`, once it is seen to wait.
    Terminated,
}

impl Case {
    /// The plain statement, for an LSN that is there.
    pub(super) const fn new(name: &'static str, options: &'static [&'static str]) -> Self {
        Self {
            name,
            lsn: Target::Reached,
            options,
            before: &[],
            sql: "{wait}",
            protocol: Protocol::Simple,
            end: End::ByItself,
        }
    }

    pub(super) const fn of(self, lsn: Target) -> Self {
        Self { lsn, ..self }
    }

    pub(super) const fn after(self, before: &'static [&'static str]) -> Self {
        Self { before, ..self }
    }

    pub(super) const fn inside(self, sql: &'static str) -> Self {
        Self { sql, ..self }
    }

    pub(super) const fn by(self, protocol: Protocol) -> Self {
        Self { protocol, ..self }
    }

    pub(super) const fn until(self, end: End) -> Self {
        Self { end, ..self }
    }

    /// What is run on this node, which has `reached`.
    pub(super) fn statement(&self, node: Node, throw: Throw, reached: u64) -> String {
        let lsn = match self.lsn {
            Target::Reached => in_words(reached),
            Target::Future => in_words(FUTURE),
            Target::Text(text) => text.to_owned(),
        };
        let mode = match node {
            Node::Primary => Mode::PrimaryFlush,
            Node::Standby | Node::Follower => Mode::StandbyReplay,
        };
        let mut options: Vec<String> = self
            .options
            .iter()
            .map(|option| option.replace("{mode}", &format!("MODE '{}'", mode.keyword())))
            .collect();
        if throw == Throw::No {
            options.push("NO_THROW".to_owned());
        }
        let with = if options.is_empty() { String::new() } else { format!(" WITH ({})", options.join(", ")) };
        self.sql.replace("{wait}", &format!("WAIT FOR LSN '{lsn}'{with}"))
    }
}

/// Is a failed wait an error or a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Throw {
    /// An error.
    Yes,
    /// A row: `NO_THROW`.
    No,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_spelt_out_for_its_server() {
        let plain = Case::new("plain", &[]);
        assert_eq!(plain.statement(Node::Standby, Throw::Yes, 0x10), "WAIT FOR LSN '0/00000010'");
        assert_eq!(
            plain.statement(Node::Standby, Throw::No, 0x10),
            "WAIT FOR LSN '0/00000010' WITH (NO_THROW)"
        );
        let within = Case::new("do", &["{mode}", "TIMEOUT '1s'"])
            .of(Target::Future)
            .inside("DO $$BEGIN {wait}; END$$");
        assert_eq!(
            within.statement(Node::Primary, Throw::No, 0),
            "DO $$BEGIN WAIT FOR LSN 'FFFF/00000000' WITH (MODE 'primary_flush', TIMEOUT '1s', NO_THROW); END$$"
        );
    }
}
