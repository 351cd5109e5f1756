//! The table of cases.

use super::case::{Case, End, Protocol, Target};

const SOON: &str = "TIMEOUT '100ms'";

/// What is run on a primary and on a standby.
pub(super) const CASES: &[Case] = &[
    // What is there already, and in which mode it can be asked for.
    Case::new("reached", &[]),
    Case::new("reached-standby_replay", &["MODE 'standby_replay'"]),
    Case::new("reached-standby_write", &["MODE 'standby_write'"]),
    Case::new("reached-standby_flush", &["MODE 'standby_flush'"]),
    Case::new("reached-primary_flush", &["MODE 'primary_flush'"]),
    Case::new("reached-zero", &["{mode}"]).of(Target::Text("0/0")),
    // What does not come in time.
    Case::new("timeout", &[SOON]).of(Target::Future),
    Case::new("timeout-standby_replay", &["MODE 'standby_replay'", SOON]).of(Target::Future),
    Case::new("timeout-standby_write", &["MODE 'standby_write'", SOON]).of(Target::Future),
    Case::new("timeout-standby_flush", &["MODE 'standby_flush'", SOON]).of(Target::Future),
    Case::new("timeout-primary_flush", &["MODE 'primary_flush'", SOON]).of(Target::Future),
    Case::new("timeout-without-unit", &["{mode}", "TIMEOUT 100"]).of(Target::Future),
    Case::new("timeout-fraction", &["{mode}", "TIMEOUT '50.5ms'"]).of(Target::Future),
    Case::new("statement-timeout", &["{mode}"])
        .of(Target::Future)
        .after(&["SET statement_timeout = '100ms'"]),
    // What waits without end.
    Case::new("no-timeout", &["{mode}"]).of(Target::Future).until(End::Cancelled),
    Case::new("timeout-zero", &["{mode}", "TIMEOUT '0'"]).of(Target::Future).until(End::Cancelled),
    Case::new("terminated", &["{mode}"]).of(Target::Future).until(End::Terminated),
    // What is wrong with the words.
    Case::new("garbage-lsn", &["{mode}"]).of(Target::Text("not-an-lsn")),
    Case::new("empty-lsn", &["{mode}"]).of(Target::Text("")),
    Case::new("too-large-lsn", &["{mode}"]).of(Target::Text("100000000/0")),
    Case::new("unknown-mode", &["MODE 'replay'"]),
    Case::new("empty-mode", &["MODE ''"]),
    Case::new("upper-case-mode", &["MODE 'STANDBY_REPLAY'"]),
    Case::new("negative-timeout", &["{mode}", "TIMEOUT '-1s'"]),
    Case::new("garbage-timeout", &["{mode}", "TIMEOUT 'soon'"]),
    Case::new("too-large-timeout", &["{mode}", "TIMEOUT '100d'"]),
    Case::new("repeated-timeout", &["{mode}", "TIMEOUT '1s'", "TIMEOUT '2s'"]),
    Case::new("repeated-mode", &["{mode}", "{mode}"]),
    Case::new("repeated-no-throw", &["{mode}", "NO_THROW", "NO_THROW"]),
    Case::new("unknown-option", &["{mode}", "PATIENCE '1s'"]),
    // Where it is called.
    Case::new("in-transaction", &["{mode}"]).after(&["BEGIN"]),
    Case::new("in-transaction-after-query", &["{mode}"])
        .after(&["BEGIN", "SELECT count(*) FROM stall_lab_wait_for"]),
    Case::new("in-transaction-with-lock", &["{mode}"])
        .after(&["BEGIN", "LOCK TABLE stall_lab_wait_for IN ROW EXCLUSIVE MODE"]),
    Case::new("in-transaction-after-write", &["{mode}"])
        .after(&["BEGIN", "INSERT INTO stall_lab_wait_for (at) VALUES (now())"]),
    Case::new("in-transaction-with-cursor", &["{mode}"]).after(&[
        "BEGIN",
        "DECLARE c CURSOR FOR SELECT * FROM stall_lab_wait_for",
        "FETCH 1 FROM c",
    ]),
    Case::new("in-subtransaction", &["{mode}"]).after(&["BEGIN", "SAVEPOINT s"]),
    Case::new("repeatable-read", &["{mode}"]).after(&["BEGIN ISOLATION LEVEL REPEATABLE READ"]),
    Case::new("repeatable-read-after-query", &["{mode}"])
        .after(&["BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT count(*) FROM stall_lab_wait_for"]),
    Case::new("serializable", &["{mode}"]).after(&["BEGIN ISOLATION LEVEL SERIALIZABLE"]),
    Case::new("default-repeatable-read", &["{mode}"])
        .after(&["SET default_transaction_isolation = 'repeatable read'"]),
    Case::new("in-do-block", &["{mode}"]).inside("DO $do$ BEGIN {wait}; END $do$"),
    Case::new("in-do-block-dynamic", &["{mode}"]).inside("DO $do$ BEGIN EXECUTE $sql${wait}$sql$; END $do$"),
    Case::new("in-function", &["{mode}"]).inside("SELECT stall_lab_run($sql${wait}$sql$)"),
    Case::new("in-procedure", &["{mode}"]).inside("CALL stall_lab_call($sql${wait}$sql$)"),
    Case::new("in-with-query", &["{mode}"]).inside("WITH w AS ({wait}) SELECT * FROM w"),
    Case::new("explain", &["{mode}"]).inside("EXPLAIN {wait}"),
    Case::new("prepare", &["{mode}"]).inside("PREPARE p AS {wait}"),
    Case::new("extended-protocol", &["{mode}"]).by(Protocol::Extended),
    Case::new("several-statements", &["{mode}"]).inside("SELECT 'first'; {wait}"),
];

/// What is run on a standby that was promoted.
pub(super) const PROMOTED: &[Case] = &[
    Case::new("promoted-reached-standby_replay", &["MODE 'standby_replay'"]),
    Case::new("promoted-reached-standby_write", &["MODE 'standby_write'"]),
    Case::new("promoted-reached-standby_flush", &["MODE 'standby_flush'"]),
    Case::new("promoted-reached-primary_flush", &["MODE 'primary_flush'"]),
    Case::new("promoted-future-standby_replay", &["MODE 'standby_replay'", SOON]).of(Target::Future),
];

/// What the cases need on the primary: a function and a procedure that run what they are given.
pub(super) const FIXTURES: [&str; 2] = [
    "CREATE OR REPLACE FUNCTION stall_lab_run(statement text) RETURNS void LANGUAGE plpgsql
         AS $$ BEGIN EXECUTE statement; END $$",
    "CREATE OR REPLACE PROCEDURE stall_lab_call(statement text) LANGUAGE plpgsql
         AS $$ BEGIN EXECUTE statement; END $$",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_case_has_a_name_of_its_own() {
        let names: BTreeSet<&str> = CASES.iter().chain(PROMOTED).map(|case| case.name).collect();
        assert_eq!(names.len(), CASES.len() + PROMOTED.len());
    }
}
