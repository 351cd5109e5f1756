//! Scenes and pictures of whole runs.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use plotters::style::Color;

use super::scene::{Panel, Scene};
use super::style::Ink;
use super::testing::{Course, Files, MINUTE, QUICK, made_up, made_up_off, outage};
use super::*;
use crate::profile::FaultKind;
use crate::store::{Cell, Column, EventKind, Metric, Verdict};

/// A decoded picture.
struct Pixels {
    size: (u32, u32),
    bytes: Vec<u8>,
}

/// Draws and decodes. With `STALL_LAB_PICTURES=DIR` the picture stays there, to be looked at.
fn drawn(name: &str, draw: impl FnOnce(&Path) -> Result<(), PlotError>) -> Pixels {
    let scratch = tempfile::tempdir().unwrap();
    let folder = std::env::var_os("STALL_LAB_PICTURES").map_or(scratch.path().to_owned(), PathBuf::from);
    let path = folder.join(format!("{name}.png"));
    draw(&path).unwrap();
    let mut reader =
        png::Decoder::new(io::BufReader::new(std::fs::File::open(&path).unwrap())).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    Pixels { size: (info.width, info.height), bytes }
}

fn drawn_run(name: &str, files: &Files) -> Pixels {
    drawn(name, |path| timeline(&files.recorded(), path))
}

/// How many pixels have exactly this colour.
fn pixels_of(pixels: &Pixels, ink: Ink) -> usize {
    let (r, g, b) = ink.colour().rgb();
    pixels.bytes.chunks(3).filter(|pixel| *pixel == [r, g, b]).count()
}

fn titles(scene: &Scene) -> Vec<&str> {
    scene.panels.iter().map(|panel| panel.title.as_str()).collect()
}

fn legend(panel: &Panel) -> Vec<&str> {
    panel.curves.iter().filter_map(|curve| curve.label.as_deref()).collect()
}

fn labels(scene: &Scene) -> Vec<&str> {
    scene.marks.iter().map(|mark| mark.label.as_str()).collect()
}

#[test]
fn the_outage_is_told_by_four_panels() {
    let files = outage();
    let scene = timeline::scene(&files.recorded());
    assert_eq!(scene.title, "outage, recovery_prefetch=try: stalled, no commit for 38 min 29 s");
    assert_eq!(
        scene.subtitles.first().unwrap().text,
        "PostgreSQL 18.6 \u{b7} scale 640 \u{b7} 5 TPS offered \u{b7} standby capped at 500 reads/s"
    );
    assert_eq!(
        titles(&scene),
        [
            "Primary: commits per second (TPS)",
            "standby: disk reads per second",
            "Lag: WAL of the primary not replayed, GB",
            "standby: totals since the start, millions",
        ]
    );
    assert_eq!(
        labels(&scene),
        [
            "fault: walreceiver killed 17:50:12 UTC",
            "commits again +38 min 30 s",
            "streaming again +38 min 30 s"
        ]
    );
    let names: Vec<_> = scene.phases.iter().map(|phase| phase.name).collect();
    assert_eq!(names, ["baseline", "update", "flush", "recovery", "tail"]);
    assert_eq!(scene.time.title, "minutes since the fault");
    drawn_run("outage", &files);
}

#[test]
fn the_panels_of_the_outage_hold_its_figures() {
    let files = outage();
    let scene = timeline::scene(&files.recorded());
    let [tps, reads, lag, totals] = scene.panels.as_slice() else { panic!("{:?}", titles(&scene)) };
    let bursts: Vec<_> = tps.bursts.iter().map(|burst| burst.label.as_str()).collect();
    assert_eq!(bursts, ["catch-up: 326/s", "catch-up: 267/s"]);
    assert!(tps.axis.top < 20.0, "the offered 5 TPS stay legible: {}", tps.axis.top);
    assert_eq!(tps.spans.first().unwrap().label, "no commit for 38 min 29 s");
    assert_eq!(reads.levels.first().unwrap().label, "cap 500/s");
    assert_eq!(legend(reads), ["primary", "standby"]);
    assert_eq!(lag.notes.first().unwrap().label, "9.3 GB at the fault");
    assert_eq!(legend(totals), ["blocks prefetched 1,401,320", "disk reads 1,241,042"]);
    let samples = tps.curves.first().unwrap().series.samples().count();
    assert!((300..500).contains(&samples), "2,493 rows are thinned to {samples}");
}

#[test]
fn a_picture_has_its_size_and_its_colours() {
    let pixels = drawn_run("minute", &made_up(MINUTE, &["standby"]));
    assert_eq!(pixels.size.0, 1400);
    assert!((1200..1500).contains(&pixels.size.1), "{:?}", pixels.size);
    for ink in [Ink::Text, Ink::Primary, Ink::Standby(0), Ink::Prefetched] {
        let count = pixels_of(&pixels, ink);
        assert!(count > 500, "{ink:?}: {count}");
    }
    assert_eq!(pixels_of(&pixels, Ink::Standby(1)), 0);
}

#[test]
fn the_hang_is_shaded_where_there_is_one() {
    let mut files = made_up(MINUTE, &["standby"]);
    let with = pixels_of(&drawn_run("hang", &files), Ink::Hang);
    files.summary = testing::summary(Verdict::NoStall);
    let without = pixels_of(&drawn_run("no-hang", &files), Ink::Hang);
    assert!(with > 100_000, "{with}");
    assert_eq!(without, 0);
}

#[test]
fn each_standby_has_a_panel_of_its_own() {
    let one = drawn_run("quick", &made_up(QUICK, &["standby"]));
    let files = made_up(QUICK, &["standby_1", "standby_2"]);
    let scene = timeline::scene(&files.recorded());
    assert_eq!(
        titles(&scene)[1..4],
        [
            "standby_1: disk reads per second",
            "standby_2: disk reads per second",
            "Lag: WAL of the primary not replayed, MB",
        ]
    );
    assert_eq!(legend(&scene.panels[3]), ["standby_1", "standby_2"]);
    let setup = &scene.subtitles[0].text;
    assert!(setup.ends_with("2 standbys, each capped at 200 reads/s"), "{setup}");
    let two = drawn_run("quick-two", &files);
    assert!(two.size.1 > one.size.1 + 200);
    drawn_run("quick-three", &made_up(QUICK, &["standby_1", "standby_2", "standby_3"]));
}

#[test]
fn the_counters_stand_side_by_side_where_the_version_has_them() {
    let mut files = made_up(QUICK, &["standby"]);
    let totals = |files: &Files| {
        let scene = timeline::scene(&files.recorded());
        legend(scene.panels.last().unwrap()).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        totals(&files),
        ["blocks prefetched 24,840", "disk reads 21,600", "the startup process's own reads 30"]
    );
    for row in &mut files.timeline.rows {
        row.cells.retain(|column, _| column.metric != Metric::StartupReadsTotal);
    }
    assert_eq!(totals(&files).len(), 2, "PostgreSQL 15 has no pg_stat_io");
}

#[test]
fn what_is_received_is_told_apart_where_it_is_less_than_the_lag() {
    let mut files = made_up(QUICK, &["standby"]);
    let lag = |files: &Files| timeline::scene(&files.recorded()).panels[2].clone();
    assert_eq!(legend(&lag(&files)), Vec::<&str>::new());
    for row in &mut files.timeline.rows {
        let replayed = row.number("standby", &Metric::ReplayLsn).unwrap();
        let column = Column::new("standby", Metric::ReceiveLsn);
        row.cells.entry(column).and_modify(|received| {
            *received = Cell::Number(replayed + (received.number().unwrap() - replayed) * 0.6);
        });
    }
    assert_eq!(legend(&lag(&files)), ["received, not replayed", "all that is not replayed"]);
    drawn_run("received", &files);
}

#[test]
fn an_uncapped_run_says_so_and_has_no_cap() {
    let mut files = made_up(QUICK, &["standby"]);
    files.uncap();
    let scene = timeline::scene(&files.recorded());
    assert!(scene.title.contains("UNCAPPED"), "{}", scene.title);
    assert!(scene.subtitles.iter().any(|line| line.ink == Ink::Alarm));
    assert!(scene.panels[1].levels.is_empty());
    drawn_run("uncapped", &files);
}

#[test]
fn an_inconclusive_run_says_why() {
    let mut files = made_up(QUICK, &["standby"]);
    files.summary = testing::summary(Verdict::Inconclusive);
    files.summary.reasons = vec!["the standby's postmaster died; ".repeat(9)];
    let scene = timeline::scene(&files.recorded());
    assert!(scene.title.ends_with(": inconclusive"), "{}", scene.title);
    assert!(scene.subtitles[1].text.starts_with("inconclusive: the standby's"));
    drawn_run("inconclusive", &files);
}

#[test]
fn a_run_without_a_fault_counts_from_its_start() {
    let mut files = made_up(MINUTE, &["standby"]);
    files.events.retain(|event| event.kind == EventKind::Phase);
    files.summary = testing::summary(Verdict::Inconclusive);
    let scene = timeline::scene(&files.recorded());
    assert_eq!((scene.time.from, scene.time.to), (0.0, 60.0));
    assert_eq!(scene.time.title, "seconds since the start");
    assert!(scene.marks.is_empty() && scene.hang.is_none());
    drawn_run("no-fault", &files);
}

#[test]
fn a_hang_that_did_not_end_is_a_lower_bound() {
    let mut files = made_up(Course { end: 120.0, ..QUICK }, &["standby"]);
    files.events.retain(|event| event.t_s < QUICK.back);
    files.events.push(Event { t_s: 120.0, kind: EventKind::Deadline, ..files.events[0].clone() });
    files.summary.hang_ended = Some(false);
    files.summary.hang_s = Some(70.0);
    let scene = timeline::scene(&files.recorded());
    assert!(scene.title.ends_with("no commit for \u{2265} 70 s"), "{}", scene.title);
    assert_eq!(labels(&scene)[1..], ["deadline +70 s"]);
    assert_eq!(scene.hang, Some((0.0, 70.0)));
    drawn_run("deadline", &files);
}

#[test]
fn each_moment_is_the_one_that_ended_the_hang_at_the_node_that_was_broken() {
    let mut files = made_up(QUICK, &["standby_1", "standby_2"]);
    let of = |kind, t_s, node: &str| Event {
        t_s,
        kind,
        node: Some(node.to_owned()),
        ..outage().events[0].clone()
    };
    files.events.splice(
        0..0,
        [
            of(EventKind::Deadline, QUICK.fault - 5.0, "standby_2"),
            of(EventKind::CommitsAgain, QUICK.fault - 20.0, "primary"),
            of(EventKind::StreamingAgain, QUICK.fault + 1.0, "standby_2"),
        ],
    );
    let scene = timeline::scene(&files.recorded());
    assert_eq!(
        labels(&scene),
        [
            "fault: walreceiver killed 17:50:50 UTC",
            "commits again +88 s",
            "streaming again +89 s",
            "deadline \u{2212}5 s",
        ]
    );
}

#[test]
fn rows_without_a_value_leave_panels_that_say_so() {
    let mut files = made_up(MINUTE, &["standby"]);
    for row in &mut files.timeline.rows {
        row.cells.clear();
    }
    let scene = timeline::scene(&files.recorded());
    assert_eq!(scene.panels.len(), 4);
    assert!(scene.panels.iter().all(|panel| panel.curves.is_empty() && panel.notes.is_empty()));
    let pixels = drawn_run("empty-cells", &files);
    assert_eq!(pixels_of(&pixels, Ink::Standby(0)), 0);
}

#[test]
fn runs_of_no_row_of_one_row_and_of_no_standby_are_drawn() {
    let mut files = made_up(MINUTE, &["standby"]);
    files.timeline.rows.truncate(1);
    drawn_run("one-row", &files);
    files.timeline.rows.clear();
    drawn_run("no-row", &files);
    files.events.clear();
    files.summary = testing::summary(Verdict::Inconclusive);
    let scene = timeline::scene(&files.recorded());
    assert_eq!((scene.time.from, scene.time.to), (0.0, 1.0));
    drawn_run("nothing", &files);
    let alone = made_up(MINUTE, &[]);
    assert_eq!(titles(&timeline::scene(&alone.recorded())).len(), 2);
    drawn_run("no-standby", &alone);
}

#[test]
fn events_with_impossible_times_are_left_out() {
    let mut files = made_up(MINUTE, &["standby"]);
    let wrong = files.events.iter().map(|event| Event { t_s: f64::NAN, ..event.clone() });
    files.events = wrong.collect();
    let scene = timeline::scene(&files.recorded());
    assert!(scene.marks.is_empty() && scene.phases.is_empty());
    assert_eq!(scene.time.to, 60.0);
}

#[test]
fn twelve_hours_are_thinned_to_what_the_picture_resolves() {
    let course = Course { update: 3600.0, flush: 5400.0, fault: 6000.0, back: 40_000.0, end: 43_200.0 };
    let files = made_up(course, &["standby"]);
    let scene = timeline::scene(&files.recorded());
    for curve in scene.panels.iter().flat_map(|panel| &panel.curves) {
        assert!(curve.series.samples().count() < 500);
    }
    assert_eq!(scene.time.title, "hours since the fault");
    drawn_run("twelve-hours", &files);
}

#[test]
fn arms_that_are_not_named_after_a_way_of_prefetching_are_called_by_their_names() {
    let (mut a, mut b) = (made_up(QUICK, &["standby"]), made_up_off(MINUTE));
    a.run.arm = "any-1".to_owned();
    b.run.arm = "first-1".to_owned();
    assert!(timeline::scene(&a.recorded()).title.starts_with("quick, any-1: stalled"));
    let scene = comparison::scene(&[a.recorded(), b.recorded()]);
    assert_eq!(scene.title, "quick: 2 arms compared");
    assert_eq!(scene.legend[0].text, "any-1: stalled, no commit for 88 s");
}

#[test]
fn the_end_of_a_fault_that_lasts_is_marked_with_what_was_put_right() {
    for (kind, words) in [
        (FaultKind::RestartStandby, "standby started +7 s"),
        (FaultKind::CutNetwork, "network restored +7 s"),
    ] {
        let mut files = made_up(QUICK, &["standby"]);
        files.run.profile_mut().fault.kind = kind;
        files.events.push(Event {
            t_s: QUICK.fault + 7.0,
            unix_s: 0.0,
            kind: EventKind::FaultEnded,
            node: Some("standby".to_owned()),
            lsn: None,
            detail: String::new(),
        });
        let scene = timeline::scene(&files.recorded());
        assert!(labels(&scene).contains(&words), "{:?}", labels(&scene));
    }
}

#[test]
fn a_comparison_lays_the_arms_over_each_other_at_the_fault() {
    let (a, b) = (made_up(QUICK, &["standby"]), made_up_off(MINUTE));
    let arms = [a.recorded(), b.recorded()];
    let scene = comparison::scene(&arms);
    assert_eq!(scene.title, "quick: recovery_prefetch try and off compared");
    let words: Vec<_> = scene.legend.iter().map(|words| words.text.as_str()).collect();
    assert_eq!(
        words,
        [
            "recovery_prefetch=try: stalled, no commit for 88 s",
            "recovery_prefetch=off: no stall, longest gap 1 s"
        ]
    );
    assert_eq!((scene.time.from, scene.time.to), (-50.0, 120.0));
    assert_eq!(labels(&scene), ["fault"]);
    assert_eq!(
        titles(&scene),
        [
            "Primary: commits per second (TPS)",
            "Standby: disk reads per second",
            "Standby: WAL of the primary not replayed, MB",
            "Standby: blocks prefetched since the start",
        ]
    );
    let spans: Vec<_> = scene.panels[0].spans.iter().map(|span| span.ink).collect();
    assert_eq!(spans, [Ink::Arm(0)], "only what stalled");
    let inks = |panel: &Panel| panel.curves.iter().map(|curve| curve.ink).collect::<Vec<_>>();
    assert!(scene.panels.iter().all(|panel| inks(panel) == [Ink::Arm(0), Ink::Arm(1)]));
    let pixels = drawn("comparison", |path| comparison(&arms, path));
    assert!(pixels_of(&pixels, Ink::Arm(0)) > 1000 && pixels_of(&pixels, Ink::Arm(1)) > 1000);
    drawn_run("off", &b);
}

#[test]
fn a_comparison_of_unlike_arms_says_what_is_unlike() {
    let (a, mut b) = (made_up(QUICK, &["standby"]), made_up_off(QUICK));
    b.events.clear();
    b.run.profile_mut().workload.scale = 640;
    b.uncap();
    let scene = comparison::scene(&[a.recorded(), b.recorded()]);
    assert_eq!(scene.subtitles.len(), 2);
    let text = &scene.legend[1].text;
    assert!(text.ends_with("(UNCAPPED) (no fault: from its start)"), "{text}");
    drawn("comparison-nothing", |path| comparison(&[], path));
}

#[test]
fn a_picture_that_cannot_be_written_names_its_file() {
    let files = made_up(MINUTE, &["standby"]);
    let error = timeline(&files.recorded(), Path::new("/no/such/folder/x.png")).unwrap_err();
    assert!(matches!(error, PlotError::Create { .. }), "{error}");
    assert!(error.to_string().starts_with("/no/such/folder/x.png: "), "{error}");
}

/// A watched run, judged.
fn watched(story: crate::verdict::testing::Story) -> Files {
    let summary = crate::verdict::judge(&story.run, &story.timeline, &story.events);
    Files { run: story.run, timeline: story.timeline, events: story.events, summary }
}

#[test]
fn servers_that_were_only_watched_are_told_as_such_with_who_waits_and_without_reads_nobody_told() {
    let mut story = crate::verdict::testing::Story::watched();
    story.blank("standby", &Metric::ReadIops, 1..=140);
    let files = watched(story);
    let scene = timeline::scene(&files.recorded());
    assert_eq!(scene.title, "observed servers: stalled, no synchronous commit for 80 s");
    assert_eq!(
        scene.subtitles[0].text,
        "PostgreSQL 18.6 \u{b7} watched, not built by the lab \u{b7} synchronous: ANY 1 (db2, db3)"
    );
    let panels = titles(&scene);
    assert_eq!(panels[0], "Primary: writing transactions that ended, per second");
    assert_eq!(panels[1], "Primary: sessions waiting for a synchronous standby");
    assert!(panels[2].starts_with("Lag") && panels.len() == 4, "{panels:?}");
    assert!(labels(&scene)[0].starts_with("marked "), "{:?}", labels(&scene));
    assert_eq!(scene.time.title, "seconds since the mark");
    let pixels = drawn_run("watched", &files);
    assert!(pixels_of(&pixels, Ink::Primary) > 500);
}

#[test]
fn without_a_mark_time_counts_from_when_commits_stopped() {
    let story = crate::verdict::testing::Story::watched().without(EventKind::Fault);
    let files = watched(story);
    let scene = timeline::scene(&files.recorded());
    assert_eq!(scene.time.title, "seconds since commits stopped");
    assert!(labels(&scene)[0].starts_with("commits stop "), "{:?}", labels(&scene));
    assert!(
        labels(&scene).iter().any(|label| label.starts_with("streaming again +80")),
        "{:?}",
        labels(&scene)
    );
}
