use crate::check::Commits;
use crate::check::facts::{Facts, Seen, Walsender};
use crate::check::testing::{change, judged, quiet, set_primary, streaming};

fn facts(rule: &str, walsenders: &[(&str, Option<&str>)]) -> Facts {
    let mut facts = quiet();
    set_primary(&mut facts, &[("synchronous_standby_names", rule)]);
    let walsender = |(name, state): &(&str, Option<&str>)| Walsender {
        name: (*name).to_owned(),
        state: state.map(str::to_owned),
    };
    facts.primary.walsenders = Seen::Value(walsenders.iter().map(walsender).collect());
    facts
}

#[test]
fn what_commits_do_without_a_standby_follows_from_the_rule_and_who_else_streams() {
    let (streams, catches_up, hidden) = (Some("streaming"), Some("catchup"), None);
    for (rule, walsenders, expected) in [
        ("standby", vec![("standby", streams)], Some(Commits::Hang)),
        ("*", vec![("standby", streams)], Some(Commits::Hang)),
        ("STANDBY", vec![("standby", streams)], Some(Commits::Hang)),
        ("ANY 1 (standby, b)", vec![("standby", streams), ("b", streams)], Some(Commits::GoOn)),
        ("FIRST 1 (standby, b)", vec![("standby", streams), ("b", streams)], Some(Commits::GoOn)),
        ("*", vec![("standby", streams), ("b", streams)], Some(Commits::GoOn)),
        ("ANY 1 (standby, b)", vec![("standby", streams), ("b", catches_up)], Some(Commits::Hang)),
        ("ANY 2 (standby, b)", vec![("standby", streams), ("b", streams)], Some(Commits::Hang)),
        (
            "ANY 2 (standby, b, c)",
            vec![("standby", streams), ("b", streams), ("c", streams)],
            Some(Commits::GoOn),
        ),
        ("ANY 1 (standby, b)", vec![("standby", streams), ("c", streams)], Some(Commits::Hang)),
        ("standby", vec![("standby", catches_up)], Some(Commits::HangNow)),
        ("ANY 2 (standby, b)", vec![("standby", streams)], Some(Commits::HangNow)),
        ("b", vec![("standby", streams), ("b", streams)], Some(Commits::DoNotWait)),
        // Two that never were given a name of their own.
        ("*", vec![("standby", streams), ("standby", streams)], Some(Commits::GoOn)),
        // Who may not see states still sees that there is nobody else.
        ("standby", vec![("standby", hidden)], Some(Commits::Hang)),
        ("ANY 1 (standby, b)", vec![("standby", hidden), ("b", hidden)], None),
    ] {
        let assessment = judged(&facts(rule, &walsenders), None);
        assert_eq!(assessment.standbys[0].commits, expected, "{rule} {walsenders:?}");
    }
}

#[test]
fn a_standby_that_does_not_say_its_name_has_that_of_the_only_walsender() {
    let mut facts = facts("*", &[("walreceiver", Some("streaming"))]);
    change(&mut facts, |standby| standby.name = Seen::Hidden("not a member of pg_monitor".to_owned()));
    let only = judged(&facts, None);
    assert_eq!(only.standbys[0].name, "walreceiver");
    assert_eq!(only.standbys.len(), 1);

    facts.primary.walsenders = Seen::Value(vec![streaming("a"), streaming("b")]);
    let one_of_two = judged(&facts, None);
    let names: Vec<&str> = one_of_two.standbys.iter().map(|standby| standby.name.as_str()).collect();
    assert_eq!((names, one_of_two.standbys[0].commits), (vec!["db2:5432", "a", "b"], None));

    facts.primary.walsenders = Seen::Value(vec![]);
    set_primary(&mut facts, &[("synchronous_standby_names", "gone")]);
    let gone = judged(&facts, None);
    assert_eq!((gone.standbys[0].name.as_str(), gone.standbys[0].commits), ("gone", Some(Commits::HangNow)));
}

#[test]
fn of_two_with_the_same_name_the_one_that_was_not_asked_is_told_too() {
    let facts = facts("*", &[("standby", Some("streaming")), ("standby", Some("streaming"))]);
    let assessment = judged(&facts, None);
    let places: Vec<Option<&str>> =
        assessment.standbys.iter().map(|standby| standby.place.as_deref()).collect();
    assert_eq!(places, [Some("db2:5432"), None]);
    assert!(assessment.notes.iter().any(|note| note.contains("when the primary restarts")));
}

#[test]
fn receivers_of_wal_that_replay_nothing_are_no_standbys() {
    let facts = facts("standby", &[("standby", Some("streaming")), ("pg_receivewal", Some("streaming"))]);
    let assessment = judged(&facts, None);
    assert_eq!(assessment.standbys.len(), 1);
    assert!(assessment.standbys[0].remedies.iter().all(|remedy| !remedy.action.contains("pg_receivewal")));
}

#[test]
fn notes_tell_who_is_missing_and_what_other_sessions_may_do() {
    let mut facts = facts("FIRST 1 (standby, gone)", &[("standby", Some("streaming"))]);
    let has = |facts: &Facts, text: &str| judged(facts, None).notes.iter().any(|note| note.contains(text));
    assert!(has(&facts, "not connected to the primary, though they count: gone"));
    set_primary(&mut facts, &[("synchronous_commit", "remote_apply")]);
    assert!(has(&facts, "commits wait for replay"));
    set_primary(&mut facts, &[("synchronous_commit", "local")]);
    assert!(has(&facts, "sessions that set it higher wait all the same"));
}
