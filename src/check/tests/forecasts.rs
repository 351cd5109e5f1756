use crate::check::facts::{Facts, Seen};
use crate::check::testing::{MB, behind, change, judged, quiet, set, set_primary};
use crate::check::{BacklogFrom, DensityFrom, HangFrom, StandbyAssessment};

fn only(facts: &Facts, iops: Option<u64>) -> StandbyAssessment {
    judged(facts, iops).standbys.remove(0)
}

#[test]
fn a_backlog_is_reckoned_by_the_reads_and_by_the_pace_of_the_interval() {
    // 1000 prefetches for 8 MB, 133 MB left: 16,625 reads; 133 MB at 1.6 MB/s.
    let standby = only(&behind(), Some(200));
    let now = standby.now.unwrap();
    assert_eq!((now.bytes, now.reads, now.reads_from), (133 * MB, Some(16_625), Some(DensityFrom::Interval)));
    assert_eq!((now.hang_s, now.hang_from), (Some(83.125), Some(HangFrom::Pace)));
    assert_eq!(
        now.formula,
        "133 MB x 125.0 reads/MB of the interval = 16,625 reads; / 200 IOPS = 83 s; 133 MB / 1.6 MB/s, the pace of the \
         last 5.0 s = 83 s"
    );
    assert_eq!((standby.predicted_reads, standby.predicted_hang_s), (Some(16_625), Some(83.125)));
}

#[test]
fn a_backlog_that_does_not_shrink_is_reckoned_by_its_reads() {
    let mut facts = behind();
    change(&mut facts, |standby| standby.samples.1 = standby.samples.0.clone());
    let now = only(&facts, Some(200)).now.unwrap();
    // 141 MB at one read for 8 kB.
    assert_eq!((now.reads, now.reads_from), (Some(18_048), Some(DensityFrom::ImagesAlone)));
    assert_eq!((now.hang_s, now.hang_from), (Some(18_048.0 / 200.0), Some(HangFrom::Iops)));
    let unsaid = only(&facts, None).now.unwrap();
    assert_eq!((unsaid.reads, unsaid.hang_s, unsaid.hang_from), (Some(18_048), None, None));
}

#[test]
fn counters_since_their_reset_stand_in_for_a_quiet_interval() {
    let mut facts = behind();
    change(&mut facts, |standby| {
        for sample in [&mut standby.samples.0, &mut standby.samples.1] {
            if let Seen::Value(sample) = sample {
                (sample.prefetched, sample.images, sample.replay_lsn) =
                    (Some(11_000), Some(10_000), Some(72 * MB));
            }
        }
    });
    // 1.1 prefetches for an image, 20,000 images in 205 MB of WAL.
    let now = only(&facts, Some(200)).now.unwrap();
    assert_eq!(now.reads_from, Some(DensityFrom::SinceReset));
    assert_eq!(now.reads, Some((133.0_f64 * 1.1 * 20_000.0 / 205.0).round() as u64));
}

#[test]
fn the_worst_backlog_is_the_largest_that_is_credible() {
    let worst = |facts: &Facts| {
        let worst = only(facts, Some(200)).worst.unwrap();
        (worst.bytes_from, worst.bytes / MB)
    };
    let mut facts = behind();
    assert_eq!(worst(&facts), (BacklogFrom::MaxWalSize, 4096));
    set_primary(&mut facts, &[("max_wal_size", "67108864")]);
    assert_eq!(worst(&facts), (BacklogFrom::Now, 133));
    change(&mut facts, |standby| standby.redo_lsn = Seen::Value(5 * MB));
    assert_eq!(worst(&facts), (BacklogFrom::Restart, 200));
}

#[test]
fn the_worst_takes_the_densest_wal_that_was_seen_or_that_images_make() {
    let worst = only(&behind(), Some(200)).worst.unwrap();
    // The interval's 125 reads/MB are fewer than the 128 of images alone.
    assert_eq!((worst.reads, worst.reads_from), (Some(4096 * 128), Some(DensityFrom::ImagesAlone)));
    assert_eq!(worst.hang_s, Some(4096.0 * 128.0 / 200.0));
    let mut dense = behind();
    change(&mut dense, |standby| {
        if let Seen::Value(sample) = &mut standby.samples.1 {
            sample.prefetched = Some(4_000 + 1_600);
        }
    });
    let worst = only(&dense, Some(1_000)).worst.unwrap();
    assert_eq!((worst.reads, worst.reads_from), (Some(4096 * 200), Some(DensityFrom::Interval)));
}

#[test]
fn a_standby_without_prefetching_is_reckoned_by_what_replay_itself_reads() {
    let mut facts = behind();
    set(&mut facts, &[("recovery_prefetch", "off")]);
    let standby = only(&facts, Some(200));
    assert_eq!((standby.predicted_reads, standby.predicted_hang_s), (None, Some(83.125)));
    assert_eq!((standby.worst_reads, standby.worst_hang_s), (None, None));
    change(&mut facts, |standby| {
        if let Seen::Value(sample) = &mut standby.samples.1 {
            sample.startup_reads = Some(800);
        }
    });
    assert_eq!(only(&facts, Some(200)).predicted_reads, Some(13_300));
}

#[test]
fn nothing_left_to_replay_takes_no_time_and_what_is_not_known_is_not_zero() {
    let standby = only(&quiet(), Some(200));
    assert_eq!(
        (standby.lag_bytes, standby.predicted_reads, standby.predicted_hang_s),
        (Some(0), Some(0), Some(0.0))
    );
    let mut blind = quiet();
    change(&mut blind, |standby| {
        standby.samples = (Seen::Hidden("no".to_owned()), Seen::Hidden("no".to_owned()));
    });
    let standby = only(&blind, Some(200));
    assert_eq!((standby.lag_bytes, standby.predicted_reads, standby.predicted_hang_s), (None, None, None));
}

#[test]
fn a_standby_that_has_not_received_yet_may_have_all_that_the_primary_wrote() {
    let mut facts = quiet();
    change(&mut facts, |standby| {
        if let Seen::Value(sample) = &mut standby.samples.1 {
            (sample.receive_lsn, sample.replay_lsn) = (None, Some(105 * MB));
        }
    });
    assert_eq!(only(&facts, None).lag_bytes, Some(100 * MB));
}

#[test]
fn a_delay_is_the_least_and_a_pause_has_no_end() {
    let mut facts = behind();
    set(&mut facts, &[("recovery_min_apply_delay", "3600000")]);
    let now = only(&facts, Some(200)).now.unwrap();
    assert_eq!((now.hang_s, now.hang_from), (Some(3600.0), Some(HangFrom::ApplyDelay)));
    change(&mut facts, |standby| {
        if let Seen::Value(sample) = &mut standby.samples.1 {
            sample.paused = Some(true);
        }
    });
    let standby = only(&facts, Some(200));
    assert_eq!((standby.predicted_hang_s, standby.worst_hang_s), (None, None));
    assert!(standby.now.unwrap().formula.ends_with("it takes until it is resumed"));
}

#[test]
fn a_counter_that_was_reset_meanwhile_says_nothing() {
    let mut facts = behind();
    change(&mut facts, |standby| {
        if let Seen::Value(sample) = &mut standby.samples.1 {
            sample.prefetched = Some(3);
        }
    });
    let pace = only(&facts, None).pace.unwrap();
    assert_eq!((pace.prefetches_per_s, pace.bytes_per_s, pace.behind), (None, 8.0 * MB as f64 / 5.0, true));
}

#[test]
fn no_more_reads_are_reckoned_than_the_disk_can_have_made() {
    let mut facts = behind();
    change(&mut facts, |standby| {
        if let Seen::Value(sample) = &mut standby.samples.1 {
            sample.prefetched = Some(4_000 + 1_200);
        }
    });
    // 240 prefetches a second at 200 IOPS: the operating system had a sixth of the pages.
    assert_eq!(only(&facts, Some(200)).predicted_reads, Some(16_625));
    assert_eq!(only(&facts, Some(1_000)).predicted_reads, Some(16_625 * 6 / 5));
    assert_eq!(only(&facts, None).predicted_reads, Some(16_625 * 6 / 5));
}
