use crate::check::RemedyId::{
    AddStandby, ConcurrencyZero, CountAnother, DoNotCountDelayed, MoreIops, PrefetchOff, ResumeReplay,
};
use crate::check::facts::{Facts, Seen};
use crate::check::testing::{behind, change, judged, quiet, set, set_primary, streaming};
use crate::check::{Remedy, RemedyId};

fn remedies(facts: &Facts, iops: Option<u64>) -> Vec<Remedy> {
    judged(facts, iops).standbys.remove(0).remedies
}

fn ids(facts: &Facts, iops: Option<u64>) -> Vec<RemedyId> {
    remedies(facts, iops).into_iter().map(|remedy| remedy.id).collect()
}

#[test]
fn a_prefetching_standby_is_offered_all_that_helps_there_and_each_has_its_price() {
    assert_eq!(ids(&behind(), Some(200)), [PrefetchOff, ConcurrencyZero, AddStandby, MoreIops]);
    assert!(remedies(&behind(), Some(200)).iter().all(|remedy| !remedy.price.is_empty()));
    let more = remedies(&behind(), Some(200)).pop().unwrap();
    // 524,288 reads in 15 s.
    assert_eq!(more.action, "34,953 IOPS for the standby's disk keep the worst case below 15 s");
}

#[test]
fn a_standby_that_does_not_count_yet_comes_before_a_new_one() {
    let mut facts = behind();
    facts.primary.walsenders = Seen::Value(vec![streaming("standby"), streaming("db-3")]);
    let another = remedies(&facts, None).into_iter().find(|remedy| remedy.id == CountAnother).unwrap();
    assert!(
        another.action.contains("synchronous_standby_names = 'ANY 1 (standby, \"db-3\")'"),
        "{}",
        another.action
    );
}

#[test]
fn what_does_not_prefetch_is_not_told_to_stop() {
    let mut facts = behind();
    set(&mut facts, &[("recovery_prefetch", "off")]);
    assert_eq!(ids(&facts, Some(200)), [AddStandby]);
}

#[test]
fn without_page_images_prefetching_has_another_price() {
    let mut facts = behind();
    set_primary(&mut facts, &[("full_page_writes", "off")]);
    let offered = remedies(&facts, Some(200));
    assert_eq!(
        offered.iter().map(|remedy| remedy.id).collect::<Vec<_>>(),
        [PrefetchOff, AddStandby, MoreIops]
    );
    assert!(offered[0].price.contains("in random order nothing is won"));
}

#[test]
fn delay_and_pause_have_remedies_of_their_own() {
    let mut facts = quiet();
    set(&mut facts, &[("recovery_min_apply_delay", "60000"), ("recovery_prefetch", "off")]);
    assert_eq!(ids(&facts, None), [DoNotCountDelayed]);
    let mut facts = quiet();
    change(&mut facts, |standby| {
        if let Seen::Value(sample) = &mut standby.samples.1 {
            sample.paused = Some(true);
        }
    });
    assert_eq!(ids(&facts, None)[0], ResumeReplay);
}

#[test]
fn who_is_not_exposed_has_nothing_to_mend() {
    assert_eq!(ids(&quiet(), Some(1_000_000)), []);
}
