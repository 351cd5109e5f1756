#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use super::*;
use crate::fake::{FakeLab, Mishap, Script, WaitsFor};
use crate::profile::FaultKind;
use crate::store::{Event, EventKind, Metric, Row, Timeline};

/// A run under virtual time, and what it left on disk.
struct Told {
    ending: Result<Ending, ExperimentError>,
    timeline: Timeline,
    events: Vec<Event>,
    took: Duration,
    _dir: TempDir,
}

impl Told {
    fn at(&self, kind: EventKind) -> Option<f64> {
        self.events.iter().find(|event| event.kind == kind).map(|event| event.t_s)
    }

    fn detail(&self, kind: EventKind) -> &str {
        self.events.iter().find(|event| event.kind == kind).map_or("", |event| &event.detail)
    }

    fn phases(&self) -> Vec<&str> {
        self.events.iter().filter(|e| e.kind == EventKind::Phase).map(|e| e.detail.as_str()).collect()
    }

    fn seconds_without_a_commit(&self, phase: Phase) -> usize {
        let rows = self.timeline.rows.iter().filter(|row| row.phase == phase);
        rows.filter(|row| row.number("primary", &Metric::Tps) == Some(0.0)).count()
    }
}

fn profile() -> Profile {
    let mut profile = Profile::load("smoke", &[]).unwrap();
    profile.workload.baseline = Duration::from_secs(10);
    profile.update.batches = 1;
    profile.update.flush_deadline = Duration::from_secs(60);
    profile.fault.after = Duration::from_secs(3);
    profile.watch.deadline = Duration::from_secs(120);
    profile.watch.tail = Duration::from_secs(10);
    profile
}

async fn tell(script: Script, profile: &Profile, stop_after: Option<Duration>) -> Told {
    let dir = tempfile::tempdir().unwrap();
    let folder = RunFolder::at(dir.path());
    let (rows, _) = watch::channel(None);
    let stop = CancellationToken::new();
    if let Some(after) = stop_after {
        let stop = stop.clone();
        tokio::spawn(async move {
            sleep(after).await;
            stop.cancel();
        });
    }
    let began = Instant::now();
    let clock = Clock::start_virtual(1_800_000_000.0);
    let ending = run(&FakeLab::new(script), profile, &folder, clock, &rows, &stop).await;
    let took = began.elapsed();
    let (timeline, events) = (folder.timeline().unwrap_or_default(), folder.events().unwrap());
    Told { ending, timeline, events, took, _dir: dir }
}

#[tokio::test(start_paused = true)]
async fn a_standby_at_its_cap_stalls_the_primary_until_it_has_replayed_all() {
    let told = tell(Script::stalling(), &profile(), None).await;
    assert_eq!(told.ending.as_ref().unwrap(), &Ending::Completed);
    assert_eq!(told.phases(), ["settle", "baseline", "update", "flush", "recovery", "tail"]);
    let hang = told.seconds_without_a_commit(Phase::Recovery);
    // 100 MB at 2 MB/s, less what was replayed in the 5 s of the update and the 3 s before the fault.
    assert!((38..=44).contains(&hang), "{hang}");
    let (fault, streaming) =
        (told.at(EventKind::Fault).unwrap(), told.at(EventKind::StreamingAgain).unwrap());
    assert!((38.0..=44.0).contains(&(streaming - fault)), "{fault} {streaming}");
    assert!(told.at(EventKind::CommitsAgain).unwrap() >= streaming);
    let ticks: Vec<u64> = told.timeline.rows.iter().map(|row| row.tick).collect();
    assert_eq!(ticks, (1..=ticks.len() as u64).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_keeps_up_stalls_nobody() {
    let told = tell(Script::fast(), &profile(), None).await;
    assert_eq!(told.ending.as_ref().unwrap(), &Ending::Completed);
    assert!(told.seconds_without_a_commit(Phase::Recovery) <= 1);
    assert_eq!(told.at(EventKind::CommitsAgain), None);
    assert!(told.at(EventKind::StreamingAgain).is_some());
    assert_eq!(told.timeline.rows.last().unwrap().phase, Phase::Tail);
}

#[tokio::test(start_paused = true)]
async fn the_updates_wal_stands_in_its_events() {
    let told = tell(Script::fast(), &profile(), None).await;
    let lsn = |kind| told.events.iter().find(|event| event.kind == kind).unwrap().lsn.unwrap();
    let written = lsn(EventKind::UpdateExecuted) - lsn(EventKind::UpdateStarted);
    assert!(written.abs_diff(100 << 20) < 4 << 20, "{written}");
}

#[tokio::test(start_paused = true)]
async fn a_paced_update_starts_its_batches_at_their_interval() {
    let mut profile = profile();
    profile.update.batches = 3;
    profile.update.batch_interval = Duration::from_secs(20);
    let told = tell(Script::fast(), &profile, None).await;
    let took = told.at(EventKind::UpdateExecuted).unwrap() - told.at(EventKind::UpdateStarted).unwrap();
    assert!((45.0..46.0).contains(&took), "{took}");
}

#[tokio::test(start_paused = true)]
async fn a_walreceiver_that_never_comes_back_ends_at_the_deadline() {
    let told = tell(Script::stalling().with(Mishap::NeverStreams), &profile(), None).await;
    assert_eq!(told.ending.as_ref().unwrap(), &Ending::GaveUp);
    assert!(told.detail(EventKind::Deadline).contains("the standby to stream"), "{:?}", told.events);
    assert!(told.seconds_without_a_commit(Phase::Recovery) > 115);
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_dies_in_the_hang_ends_the_run_without_waiting_for_the_deadline() {
    let told =
        tell(Script::stalling().with(Mishap::StandbyDies(Duration::from_secs(10))), &profile(), None).await;
    assert_eq!(told.ending.as_ref().unwrap(), &Ending::GaveUp);
    assert!(told.detail(EventKind::Disqualified).contains("exit code 137"));
    assert!(told.took < Duration::from_secs(60), "{:?}", told.took);
}

#[tokio::test(start_paused = true)]
async fn a_load_that_dies_ends_the_run_with_how_it_died() {
    let told =
        tell(Script::stalling().with(Mishap::LoadDies(Duration::from_secs(30))), &profile(), None).await;
    assert_eq!(told.ending.as_ref().unwrap(), &Ending::GaveUp);
    assert!(told.detail(EventKind::Disqualified).contains("exit code 1"));
}

#[tokio::test(start_paused = true)]
async fn a_paused_replay_is_seen_before_the_fault_which_is_then_not_injected() {
    let told = tell(Script::stalling().with(Mishap::ReplayPaused), &profile(), None).await;
    assert_eq!(told.ending.as_ref().unwrap(), &Ending::GaveUp);
    assert_eq!(told.detail(EventKind::Disqualified), "replay was paused before the fault");
    assert_eq!(told.at(EventKind::Fault), None);
}

#[tokio::test(start_paused = true)]
async fn a_fault_that_cannot_be_injected_is_an_error_and_the_last_word_of_the_events() {
    let told = tell(Script::stalling().with(Mishap::FaultFails), &profile(), None).await;
    let error = told.ending.as_ref().unwrap_err();
    assert_eq!(error.to_string(), "phase recovery: the fault");
    assert_eq!(
        told.detail(EventKind::Disqualified),
        "phase recovery: the fault: there is no walreceiver on standby"
    );
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_is_never_acknowledged_fails_at_its_deadline() {
    let told = tell(Script::fast().with(Mishap::CommitHangs), &profile(), None).await;
    assert!(told.ending.is_err());
    assert!(told.detail(EventKind::Disqualified).contains("the update's commit: not done after 60s"));
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_run_ends_at_once_and_keeps_what_it_has_seen() {
    for after in [2, 12, 17, 40] {
        let told = tell(Script::stalling(), &profile(), Some(Duration::from_secs(after))).await;
        assert_eq!(told.ending.as_ref().unwrap(), &Ending::Interrupted, "after {after} s");
        assert!(told.at(EventKind::Interrupted).is_some());
        assert!(told.took <= Duration::from_secs(after + 1), "{:?}", told.took);
        assert!(told.timeline.rows.len() as u64 + 1 >= after);
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_logs_say_at_the_end_is_an_event() {
    let told = tell(Script::fast().with(Mishap::Conflict), &profile(), None).await;
    assert_eq!(told.ending.as_ref().unwrap(), &Ending::Completed);
    assert!(told.detail(EventKind::Note).contains("recovery conflict"));
}

#[tokio::test(start_paused = true)]
async fn a_full_size_hang_of_forty_minutes_misses_no_second() {
    let mut profile = profile();
    profile.watch.deadline = Duration::from_secs(4_500);
    let script =
        Script { update_wal: 4_800.0 * 1_048_576.0, update: Duration::from_secs(160), ..Script::stalling() };
    profile.update.flush_deadline = Duration::from_secs(600);
    let told = tell(script, &profile, None).await;
    assert_eq!(told.ending.as_ref().unwrap(), &Ending::Completed);
    assert!(told.seconds_without_a_commit(Phase::Recovery) > 2_200);
    assert!(told.timeline.rows.iter().zip(1..).all(|(row, tick)| row.tick == tick));
}

/// The test's profile with a fault that lasts.
fn with_fault(kind: FaultKind, lasts: u64) -> Profile {
    let mut profile = profile();
    profile.fault.kind = kind;
    profile.fault.lasts = Duration::from_secs(lasts);
    profile
}

#[tokio::test(start_paused = true)]
async fn a_restarted_standby_is_down_as_long_as_it_was_asked_to_and_replays_from_its_restartpoint() {
    for kind in [FaultKind::RestartStandby, FaultKind::CrashStandby] {
        let told = tell(Script::stalling(), &with_fault(kind, 8), None).await;
        assert_eq!(told.ending.as_ref().unwrap(), &Ending::Completed);
        let at = |kind| told.at(kind).unwrap();
        let down = at(EventKind::FaultEnded) - at(EventKind::Fault);
        assert!((8.0..8.1).contains(&down), "{down}");
        // 100 MB at 2 MB/s, all of it once more.
        let replay = at(EventKind::StreamingAgain) - at(EventKind::FaultEnded);
        assert!((50.0..=52.0).contains(&replay), "{replay}");
        let silent = |row: &&Row| row.number("standby", &Metric::ReplayLsn).is_none();
        // Those ticks that fall into it.
        assert!((7..=8).contains(&told.timeline.rows.iter().filter(silent).count()));
        assert_eq!(told.detail(EventKind::FaultEnded), "put right; it is back");
    }
}

#[tokio::test(start_paused = true)]
async fn a_killed_walsender_has_no_end_to_wait_for() {
    let told = tell(Script::stalling(), &with_fault(FaultKind::KillWalsender, 0), None).await;
    assert_eq!(told.ending.as_ref().unwrap(), &Ending::Completed);
    assert_eq!(told.at(EventKind::FaultEnded), None);
    assert!(told.seconds_without_a_commit(Phase::Recovery) >= 38);
}

#[tokio::test(start_paused = true)]
async fn a_cut_network_costs_its_own_length_and_the_replay_only_if_the_walreceiver_gives_up() {
    for (timeout, expected) in [(60, 9..=11), (5, 38..=44)] {
        let script = Script { receiver_timeout: Duration::from_secs(timeout), ..Script::stalling() };
        let told = tell(script, &with_fault(FaultKind::CutNetwork, 10), None).await;
        assert_eq!(told.ending.as_ref().unwrap(), &Ending::Completed);
        let hang = told.seconds_without_a_commit(Phase::Recovery);
        assert!(expected.contains(&hang), "{hang} with a timeout of {timeout} s");
        // A walreceiver that does not know it is cut off streams nothing.
        assert!(told.at(EventKind::StreamingAgain) > told.at(EventKind::FaultEnded));
    }
}

#[tokio::test(start_paused = true)]
async fn a_row_from_before_the_fault_does_not_show_the_standby_streaming_again() {
    let told = tell(Script::stalling(), &profile(), None).await;
    let again: Vec<f64> =
        told.events.iter().filter(|e| e.kind == EventKind::StreamingAgain).map(|e| e.t_s).collect();
    assert_eq!(again.len(), 1);
    assert!(again[0] > told.at(EventKind::Fault).unwrap() + 30.0);
}

#[tokio::test(start_paused = true)]
async fn a_fault_that_cannot_be_put_right_is_an_error_and_the_last_word_of_the_events() {
    let script = Script::stalling().with(Mishap::MendFails);
    let told = tell(script, &with_fault(FaultKind::RestartStandby, 2), None).await;
    assert_eq!(told.ending.as_ref().unwrap_err().to_string(), "phase recovery: ending the fault");
    assert!(told.detail(EventKind::Disqualified).ends_with("ending the fault: standby does not start"));
}

#[tokio::test(start_paused = true)]
async fn with_any_1_a_second_standby_keeps_commits_flowing_while_the_first_replays() {
    for (waits_for, expected) in [(WaitsFor::Any, 0..=0), (WaitsFor::First, 38..=44)] {
        let names = ["standby", "healthy"].map(str::to_owned);
        let script = Script { standbys: names.into(), waits_for, ..Script::stalling() };
        let told = tell(script, &profile(), None).await;
        assert_eq!(told.ending.as_ref().unwrap(), &Ending::Completed);
        let hang = told.seconds_without_a_commit(Phase::Recovery);
        assert!(expected.contains(&hang), "{hang} with {waits_for:?}");
        // The run waits for the faulted one all the same.
        let replay = told.at(EventKind::StreamingAgain).unwrap() - told.at(EventKind::Fault).unwrap();
        assert!((38.0..=44.0).contains(&replay), "{replay}");
        let streams = |row: &Row| row.number("healthy", &Metric::WalreceiverStreaming) == Some(1.0);
        assert!(told.timeline.rows.iter().all(streams));
    }
}

/// Makes this file one whose reader goes away at a moment of the run: from then on it cannot be written. What was
/// written until then is lost, too.
fn becomes_full(path: &Path, after: Duration) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    // Opened for writing, too, it does not wait for a writer.
    let reader = File::options().read(true).write(true).open(path).unwrap();
    tokio::spawn(async move {
        sleep(after).await;
        drop(reader);
    });
}

/// How the run ends whose file of this name cannot be written after a while, and does its load still run.
async fn full(name: &str, after: u64) -> (ExperimentError, TempDir, bool) {
    let dir = tempfile::tempdir().unwrap();
    becomes_full(&dir.path().join(name), Duration::from_secs(after));
    let (rows, _) = watch::channel(None);
    let (lab, stop) = (FakeLab::new(Script::stalling()), CancellationToken::new());
    let clock = Clock::start_virtual(1_800_000_000.0);
    let ended = run(&lab, &profile(), &RunFolder::at(dir.path()), clock, &rows, &stop).await;
    (ended.unwrap_err(), dir, lab.load_runs())
}

#[tokio::test(start_paused = true)]
async fn a_row_that_cannot_be_written_ends_the_run_and_the_reason_is_the_last_word_of_the_events() {
    for after in [1, 8, 15, 20, 45] {
        let (error, dir, load_runs) = full("timeline.csv", after).await;
        let said = crate::human::in_full(&error);
        assert!(said.contains("timeline.csv: Broken pipe"), "{said}");
        assert!(!load_runs);
        let events = RunFolder::at(dir.path()).events().unwrap();
        let [.., reason, last] = events.as_slice() else { panic!("{events:?}") };
        assert_eq!((reason.kind, last.kind), (EventKind::Disqualified, EventKind::Concluded));
        assert_eq!(reason.detail, said);
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_that_cannot_be_written_ends_the_run_and_its_load_all_the_same() {
    for after in [1, 8, 15, 20] {
        let (error, dir, load_runs) = full("events.csv", after).await;
        assert!(crate::human::in_full(&error).contains("events.csv: Broken pipe"), "{error:?}");
        assert!(!load_runs);
        // What was sampled until then is there.
        let rows = RunFolder::at(dir.path()).timeline().unwrap().rows.len() as u64;
        assert!(rows >= after, "{rows} rows after {after} s");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_nobody_can_look_back_on_is_disqualified() {
    let told = tell(Script::stalling().with(Mishap::EngineLost), &profile(), None).await;
    assert_eq!(told.ending.as_ref().unwrap(), &Ending::Completed);
    assert_eq!(
        told.detail(EventKind::Disqualified),
        "the servers' logs and states could not be looked at: the engine does not answer"
    );
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_dies_in_the_last_second_is_found_when_all_is_over() {
    let script = Script::fast().with(Mishap::StandbyDies(Duration::from_millis(12_900)));
    let told = tell(script, &profile(), None).await;
    assert_eq!(told.ending.as_ref().unwrap(), &Ending::Completed, "{:?}", told.events);
    assert!(told.detail(EventKind::Disqualified).contains("exit code 137"));
}

#[tokio::test(start_paused = true)]
async fn every_run_that_ends_by_itself_has_a_last_word() {
    for script in [
        Script::fast(),
        Script::stalling(),
        Script::stalling().with(Mishap::NeverStreams),
        Script::stalling().with(Mishap::FaultFails),
        Script::stalling().with(Mishap::LoadDies(Duration::from_secs(30))),
    ] {
        let told = tell(script, &profile(), None).await;
        assert_eq!(told.events.last().unwrap().kind, EventKind::Concluded);
    }
    let told = tell(Script::stalling(), &profile(), Some(Duration::from_secs(17))).await;
    assert_eq!(told.events.last().unwrap().kind, EventKind::Concluded);
}
