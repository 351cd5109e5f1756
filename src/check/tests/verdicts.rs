use crate::check::facts::{Facts, ReplaySample, Seen};
use crate::check::testing::{MB, behind, change, judged, quiet, replay, set, set_primary, streaming};
use crate::check::{Assessment, Verdict};

/// The verdict of the only standby, which is that of all, and why.
fn verdict(facts: &Facts, iops: Option<u64>) -> (Verdict, String) {
    let Assessment { verdict, standbys, .. } = judged(facts, iops);
    assert_eq!(standbys.len(), 1);
    assert_eq!(standbys[0].verdict, verdict);
    (verdict, standbys[0].why.clone())
}

fn changed(mut facts: Facts, how: impl FnOnce(&mut Facts)) -> Facts {
    how(&mut facts);
    facts
}

#[track_caller]
fn expect(facts: &Facts, iops: Option<u64>, verdict_expected: Verdict, why_expected: &str) {
    let (verdict, why) = verdict(facts, iops);
    assert_eq!(verdict, verdict_expected, "{why}");
    assert!(why.contains(why_expected), "{why}");
}

#[test]
fn a_backlog_that_takes_long_at_its_pace_is_exposed_whatever_the_iops_are() {
    // 133 MB at 1.6 MB/s.
    for iops in [None, Some(200), Some(1_000_000)] {
        expect(
            &behind(),
            iops,
            Verdict::Exposed,
            "133 MB wait to be replayed: if its walreceiver dies now, commits hang 83 s",
        );
    }
    let off = changed(behind(), |facts| set(facts, &[("recovery_prefetch", "off")]));
    expect(&off, None, Verdict::Exposed, "commits hang 83 s");
}

#[test]
fn a_standby_that_keeps_up_is_exposed_by_what_may_pile_up() {
    expect(
        &quiet(),
        Some(200),
        Verdict::Exposed,
        "a backlog of max_wal_size, 4.0 GB, commits would hang 43 min 41 s",
    );
    expect(&quiet(), None, Verdict::Exposed, "for a time that depends on its disk's IOPS");
    let restart = changed(quiet(), |facts| {
        set_primary(facts, &[("max_wal_size", "1048576")]);
        change(facts, |standby| standby.redo_lsn = Seen::Value(5 * MB));
    });
    expect(
        &restart,
        Some(200),
        Verdict::Exposed,
        "with the 200 MB that it replays after a restart commits would hang 2 min 08 s",
    );
}

#[test]
fn a_disk_that_is_fast_enough_for_the_worst_is_not_exposed() {
    expect(
        &quiet(),
        Some(100_000),
        Verdict::NotExposed,
        "even the worst credible backlog is replayed within 5.2 s",
    );
    let small = changed(quiet(), |facts| {
        set_primary(facts, &[("max_wal_size", "33554432")]);
    });
    expect(&small, None, Verdict::NotExposed, "within 15 s at 500 IOPS");
}

#[test]
fn a_standby_that_does_not_prefetch_and_keeps_up_is_not_exposed() {
    let off = changed(quiet(), |facts| set(facts, &[("recovery_prefetch", "off")]));
    expect(&off, None, Verdict::NotExposed, "recovery_prefetch is off");
    let zero = changed(quiet(), |facts| set(facts, &[("maintenance_io_concurrency", "0")]));
    expect(&zero, Some(1), Verdict::NotExposed, "maintenance_io_concurrency is 0");
    let old = changed(quiet(), |facts| {
        change(facts, |standby| {
            standby.identity.version_num = 140_020;
            standby.identity.settings.remove("recovery_prefetch");
        });
    });
    expect(&old, None, Verdict::NotExposed, "its version does not prefetch in recovery");
}

#[test]
fn a_backlog_of_the_moment_makes_nobody_exposed_and_replay_that_stands_still_is_said() {
    let off = |from: u64, to: u64| {
        changed(behind(), |facts| {
            set(facts, &[("recovery_prefetch", "off")]);
            change(facts, |standby| {
                let sample = |at_s, replayed| ReplaySample { replay_lsn: Some(replayed), ..replay(at_s) };
                standby.samples = (Seen::Value(sample(0.0, from)), Seen::Value(sample(5.0, to)));
            });
        })
    };
    // 4 MB left of 16 after five seconds; a record received in part; not moving.
    let end = 205 * MB;
    expect(&off(end - 16 * MB, end - 4 * MB), None, Verdict::NotExposed, "recovery_prefetch is off");
    expect(&off(end - 8192, end - 8192), None, Verdict::NotExposed, "recovery_prefetch is off");
    expect(
        &off(end - 4 * MB, end - 4 * MB),
        None,
        Verdict::Unknown,
        "4.0 MB wait to be replayed and replay does not go on",
    );
}

#[test]
fn without_page_images_and_without_a_backlog_nothing_can_be_said() {
    for prefetch in ["try", "off"] {
        let facts = changed(quiet(), |facts| {
            set_primary(facts, &[("full_page_writes", "off")]);
            set(facts, &[("recovery_prefetch", prefetch)]);
        });
        expect(&facts, Some(200), Verdict::Unknown, "full_page_writes is off");
    }
    let facts = changed(behind(), |facts| set_primary(facts, &[("full_page_writes", "off")]));
    expect(&facts, Some(200), Verdict::Exposed, "commits hang 83 s");
}

#[test]
fn a_delay_or_a_pause_is_exposed_whatever_the_disk_is() {
    let delayed = changed(quiet(), |facts| {
        set(facts, &[("recovery_min_apply_delay", "60000"), ("recovery_prefetch", "off")])
    });
    expect(
        &delayed,
        Some(1_000_000),
        Verdict::Exposed,
        "recovery_min_apply_delay holds its replay, and so its return, up for 60 s",
    );
    let paused = changed(quiet(), |facts| {
        change(facts, |standby| {
            let sample = ReplaySample { paused: Some(true), ..replay(5.0) };
            standby.samples.1 = Seen::Value(sample);
        });
    });
    expect(&paused, Some(1_000_000), Verdict::Exposed, "its replay is paused");
}

#[test]
fn whom_no_commit_waits_for_is_not_exposed_whatever_its_backlog() {
    for settings in [
        [("synchronous_standby_names", "")],
        [("synchronous_standby_names", "other")],
        [("synchronous_commit", "local")],
        [("synchronous_commit", "off")],
    ] {
        let facts = changed(behind(), |facts| set_primary(facts, &settings));
        expect(&facts, Some(200), Verdict::NotExposed, "no commit waits for it");
    }
    let quorum = changed(behind(), |facts| {
        set_primary(facts, &[("synchronous_standby_names", "ANY 1 (standby, \"db-3\")")]);
        facts.primary.walsenders = Seen::Value(vec![streaming("standby"), streaming("db-3")]);
    });
    let assessment = judged(&quorum, Some(200));
    assert_eq!(assessment.verdict, Verdict::NotExposed);
    assert!(assessment.standbys.iter().all(|standby| standby.why.contains("commits go on without it")));
}

#[test]
fn commits_that_hang_already_are_said_to() {
    let facts = changed(behind(), |facts| facts.primary.walsenders = Seen::Value(vec![]));
    expect(&facts, Some(200), Verdict::Exposed, "too few that count stream: commits hang already");
}

#[test]
fn what_is_not_visible_makes_it_unknown_and_not_safe() {
    let silent =
        changed(quiet(), |facts| facts.standbys[0].standby = Seen::Hidden("no route to host".to_owned()));
    expect(&silent, Some(200), Verdict::Unknown, "it cannot be asked: no route to host");
    let not_asked = changed(quiet(), |facts| facts.standbys.clear());
    expect(&not_asked, Some(200), Verdict::Unknown, "commits wait for it, and it was not asked");
    let blind = changed(quiet(), |facts| {
        change(facts, |standby| {
            standby.samples = (Seen::Hidden("no".to_owned()), Seen::Hidden("no".to_owned()))
        });
        facts.primary.identity.settings.remove("max_wal_size");
    });
    expect(&blind, Some(200), Verdict::Unknown, "what is left to replay is not visible");
    let unread =
        changed(quiet(), |facts| set_primary(facts, &[("synchronous_standby_names", "MOST OF (standby)")]));
    expect(&unread, Some(200), Verdict::Unknown, "synchronous_standby_names is not understood");
}

#[test]
fn the_worst_standby_gives_the_verdict_and_none_at_all_is_unknown() {
    let mut facts = quiet();
    facts.primary.walsenders = Seen::Value(vec![streaming("standby"), streaming("idle")]);
    let assessment = judged(&facts, Some(200));
    let verdicts: Vec<(&str, Verdict)> =
        assessment.standbys.iter().map(|standby| (standby.name.as_str(), standby.verdict)).collect();
    assert_eq!(verdicts, [("standby", Verdict::Exposed), ("idle", Verdict::NotExposed)]);
    assert_eq!(assessment.verdict, Verdict::Exposed);

    facts.standbys.clear();
    facts.primary.walsenders = Seen::Value(vec![]);
    assert_eq!(judged(&facts, None).verdict, Verdict::Unknown);
    set_primary(&mut facts, &[("synchronous_standby_names", "")]);
    assert_eq!(judged(&facts, None).verdict, Verdict::NotExposed);
}
