use crate::check::facts::Seen;
use crate::check::testing::{behind, change, judged, quiet, set_primary, streaming};
use crate::check::{headline, in_words};

#[test]
fn all_of_it_reads_so() {
    insta::assert_snapshot!("exposed", in_words(&judged(&behind(), Some(200))));
    insta::assert_snapshot!("iops_not_said", in_words(&judged(&quiet(), None)));
    let mut blind = quiet();
    blind.standbys[0].standby = Seen::Hidden("standby: no connection to db2:5432 after 4s".to_owned());
    blind.primary.waiters = Seen::Hidden("the role is not a member of pg_monitor".to_owned());
    insta::assert_snapshot!("half_visible", in_words(&judged(&blind, None)));
}

#[test]
fn the_first_line_is_one_that_monitoring_reads() {
    assert_eq!(
        headline(&judged(&behind(), Some(200))),
        "EXPOSED - standby: 133 MB wait to be replayed: if its walreceiver dies now, commits hang 83 s | \
         'standby_lag'=139460608B;;;0 'standby_hang_now'=83.1s;15;;0 'standby_hang_worst'=2621.4s;15;;0"
    );
    let mut facts = quiet();
    set_primary(&mut facts, &[("synchronous_standby_names", "")]);
    facts.standbys.clear();
    facts.primary.walsenders = Seen::Value(vec![]);
    assert_eq!(
        headline(&judged(&facts, None)),
        "NOT EXPOSED - synchronous_standby_names is empty: no commit waits for a standby"
    );
    let mut odd = behind();
    change(&mut odd, |standby| standby.name = Seen::Value("it's | odd".to_owned()));
    set_primary(&mut odd, &[("synchronous_standby_names", "*")]);
    odd.primary.walsenders = Seen::Value(vec![streaming("it's | odd")]);
    let line = headline(&judged(&odd, None));
    assert_eq!(line.matches('|').count(), 1, "{line}");
    assert!(line.contains("'it_s___odd_lag'="), "{line}");
}

#[test]
fn the_json_keeps_its_fields_and_says_null_of_what_is_not_known() {
    insta::assert_snapshot!("json", serde_json::to_string_pretty(&judged(&behind(), Some(200))).unwrap());
    let mut blind = quiet();
    blind.standbys[0].standby = Seen::Hidden("down".to_owned());
    let json = serde_json::to_value(judged(&blind, None)).unwrap();
    let standby = &json["standbys"][0];
    assert_eq!(json["verdict"], "unknown");
    for field in ["recovery_prefetch", "lag_bytes", "predicted_hang_s", "worst_hang_s"] {
        assert!(standby.get(field).is_some_and(serde_json::Value::is_null), "{field}");
    }
}
