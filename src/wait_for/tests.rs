#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::fake::{FakePair, FakePairSite, QUESTION_S, REPLAY, Trouble};
use crate::progress::Progress;
use crate::store::{LoadWindow, Refusal, Trial, WaitForFolder, WakeReturn};

fn pair(trouble: Trouble) -> Arc<dyn Pair> {
    Arc::new(FakePair::with(trouble))
}

async fn latency_of(request: &Request) -> Vec<Trial> {
    latency::measure(pair(Trouble::None), request.clone(), Progress::silent()).await.unwrap()
}

async fn load_of(trouble: Trouble, request: &Request) -> anyhow::Result<Vec<LoadWindow>> {
    let mut kept = Vec::new();
    let mut keep = |windows: &[LoadWindow]| {
        kept = windows.to_vec();
        Ok(())
    };
    load::measure(&pair(trouble), &Clients::here(), request, &Progress::silent(), &mut keep).await?;
    Ok(kept)
}

async fn wake_of(trouble: Trouble) -> anyhow::Result<Vec<WakeReturn>> {
    let mut kept = Vec::new();
    let mut keep = |returns: &[WakeReturn]| {
        kept = returns.to_vec();
        Ok(())
    };
    let request = testing::request();
    wake::measure(&pair(trouble), &Clients::here(), &request, &Progress::silent(), &mut keep).await?;
    Ok(kept)
}

async fn refusals_of(trouble: Trouble, upstream: Option<&str>) -> Vec<Refusal> {
    let mut kept = Vec::new();
    let mut keep = |answers: &[Refusal]| {
        kept = answers.to_vec();
        Ok(())
    };
    let pair = pair(trouble);
    let measured = refusals::measure(&pair, &Clients::here(), upstream, &Progress::silent(), &mut keep).await;
    measured.unwrap();
    kept
}

#[tokio::test(start_paused = true)]
async fn every_round_has_each_methods_trials_in_an_order_that_its_seed_decides() {
    let request = testing::request();
    let trials = latency_of(&request).await;
    // Four methods and the round trip.
    assert_eq!(trials.len(), 5 * 30 * 2);
    for repeat in [1, 2] {
        let of_round = |method: &str| {
            trials.iter().filter(|trial| trial.repeat == repeat && trial.method == method).count()
        };
        assert_eq!(["poll", "busy-poll", "wait-for", "round-trip"].map(of_round), [30; 4]);
    }
    let order = |trials: &[Trial]| trials.iter().map(|trial| trial.method.clone()).collect::<Vec<_>>();
    let changes = order(&trials).windows(2).filter(|two| two[0] != two[1]).count();
    assert!(changes > 200, "methods follow each other in blocks: {changes} changes");
    assert_eq!(order(&latency_of(&request).await), order(&trials));
    let other = Request { seed: 8, ..request };
    assert_ne!(order(&latency_of(&other).await), order(&trials));
}

#[tokio::test(start_paused = true)]
async fn a_wait_lasts_until_replay_and_a_poll_knows_what_it_slept() {
    let trials = latency_of(&testing::request()).await;
    let of = |method: &str| trials.iter().find(|trial| trial.method == method).unwrap();
    // The question for the LSN has taken one of the milliseconds that replay takes.
    let left_ms = REPLAY.as_secs_f64() * 1e3 - 1.0;
    let wait_for = of("wait-for");
    assert!((left_ms..=left_ms + 1.0).contains(&wait_for.wait_ms), "{wait_for:?}");
    assert_eq!((wait_for.queries, wait_for.slept_ms, wait_for.lsn_ms), (1, 0.0, Some(1.0)));
    let (busy, poll) = (of("busy-poll"), of("poll"));
    assert!(busy.queries > poll.queries && poll.slept_ms > 0.0 && busy.slept_ms == 0.0, "{busy:?} {poll:?}");
    assert!(poll.slept_ms < poll.wait_ms);
    let round_trip = of("round-trip");
    assert_eq!((round_trip.wait_ms, round_trip.insert_ms), (1.0, None));
}

#[tokio::test(start_paused = true)]
async fn windows_count_what_ended_in_them_and_the_cpu_that_it_took() {
    let windows = load_of(Trouble::None, &testing::request()).await.unwrap();
    // Three rounds of three methods, one round of the open loop, two of the sweep without what is compared anyway.
    assert_eq!(windows.len(), 9 + 3 + 6);
    assert!(windows.iter().zip(1..).all(|(window, order)| window.order == order));
    let closed =
        |method: &str| windows.iter().find(|window| window.method == method && window.workers == 4).unwrap();
    let (busy, wait_for) = (closed("busy-poll"), closed("wait-for"));
    for window in [busy, wait_for] {
        assert!((1.99..2.02).contains(&window.window_s), "{window:?}");
        // Insert, LSN and wait take some ten milliseconds: four workers do some 400 a second.
        assert!((600..1_000).contains(&window.completions), "{window:?}");
        assert!(window.p50_ms.is_some_and(|ms| (9.0..13.0).contains(&ms)), "{window:?}");
        let expected = window.standby_queries as f64 * QUESTION_S;
        assert!((window.standby_cpu_s.unwrap() / expected - 1.0).abs() < 0.02, "{window:?}");
        assert!(window.standby_cpu_peak_pct.unwrap() >= window.standby_cpu_s.unwrap() / 2.0 * 100.0 * 0.99);
        assert_eq!(window.machine_busy, Some(0.5));
    }
    assert!(busy.standby_queries > wait_for.standby_queries * 3);
}

#[tokio::test(start_paused = true)]
async fn an_open_loop_is_offered_the_same_to_all_and_its_times_leave_nothing_out() {
    let windows = load_of(Trouble::None, &testing::request()).await.unwrap();
    let open: Vec<_> = windows.iter().filter(|window| window.shape == "open").collect();
    let rate = open[0].rate_per_s.unwrap();
    assert!(open.len() == 3 && open.iter().all(|window| window.rate_per_s == Some(rate)));
    assert!((200.0..=230.0).contains(&rate), "half of what four workers complete: {rate}");
    for window in &open {
        let completed = window.completions as f64 / window.window_s;
        assert!((completed / rate - 1.0).abs() < 0.05, "{window:?}");
    }
    // Four times what it can: what is due waits for a worker, and that is in its time.
    let request = Request { open: OpenLoop::Rate(1_600.0), ..testing::request() };
    let windows = load_of(Trouble::None, &request).await.unwrap();
    let flooded =
        windows.iter().find(|window| window.shape == "open" && window.method == "wait-for").unwrap();
    let (closed, behind) = (windows[0].p99_ms.unwrap(), flooded.p99_ms.unwrap());
    assert!(behind > closed * 20.0, "{behind} ms beside {closed} ms");
    assert!(flooded.wait_p99_ms.unwrap() < closed);
}

#[tokio::test(start_paused = true)]
async fn what_the_probe_does_not_say_is_missing_and_not_zero() {
    let windows = load_of(Trouble::NoCpu, &testing::request()).await.unwrap();
    assert!(
        windows.iter().all(|window| window.standby_cpu_s.is_none() && window.standby_cpu_peak_pct.is_none())
    );
    let rows = crate::store::WaitForRows { load: windows, ..Default::default() };
    let summary = judge(&testing::info("19rc1"), &rows);
    assert!(summary.load.iter().all(|window| {
        window.cpu_us_per_completion.is_none()
            && window.client_bound.is_none()
            && window.other_cpu_pct.is_none()
    }));
    assert!(summary.ratios.iter().all(|ratio| ratio.cpu_us_per_completion.is_none()));
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_loses_its_connection_ends_the_load_and_says_where() {
    let error = load_of(Trouble::LostAt(50), &testing::request()).await.unwrap_err();
    let error = format!("{error:#}");
    assert!(
        error.contains("a worker of") && error.ends_with("inserting on the primary: connection closed"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn all_waiters_are_seen_waiting_before_they_are_woken() {
    let returns = wake_of(Trouble::None).await.unwrap();
    assert_eq!(returns.len(), (2 + 15) * 3);
    let written_ms = REPLAY.as_secs_f64() * 1e3;
    assert!(
        returns.iter().all(|one| one.returned_ms >= written_ms && one.wait_event == "IPC/WaitForWalReplay")
    );
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_returns_before_what_it_waits_for_is_an_error_and_no_figure() {
    let error = wake_of(Trouble::WokenEarly).await.unwrap_err();
    let error = format!("{error:#}");
    assert_eq!(error, "2 waiters: a waiter returned before what it waits for was written");
}

fn answer<'a>(answers: &'a [Refusal], case: &str, role: &str, no_throw: bool) -> &'a Refusal {
    let is_it = |row: &&Refusal| row.case == case && row.role == role && row.no_throw == no_throw;
    answers.iter().find(is_it).unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_table_has_errors_rows_and_waits_that_somebody_ended() {
    let answers = refusals_of(Trouble::None, Some("host=primary port=5432")).await;
    let told = |case, role, no_throw| {
        let row = answer(&answers, case, role, no_throw);
        (row.sqlstate.as_str(), row.status.as_str())
    };
    assert_eq!(told("reached", "standby", false), ("", "success"));
    assert_eq!(told("reached", "primary", false), ("55000", ""));
    assert_eq!(told("reached", "primary", true), ("", "not in recovery"));
    assert_eq!(told("timeout", "standby", false), ("57014", ""));
    assert_eq!(told("timeout", "standby", true), ("", "timeout"));
    assert_eq!(told("garbage-lsn", "standby", true), ("22P02", ""));
    // The last row: that of the wait.
    assert_eq!(told("several-statements", "standby", false), ("", "success"));
    assert_eq!(told("promotion-standby_replay", "standby", true), ("", "not in recovery"));
    assert_eq!(told("timeline-switch-standby_replay", "standby", false), ("", "success"));
    assert_eq!(told("promoted-reached-primary_flush", "promoted", false), ("", "success"));
    let held = answer(&answers, "timeout-zero", "standby", false);
    assert_eq!((held.sqlstate.as_str(), held.wait_event.as_str()), ("57014", "IPC/WaitForWalReplay"));
    assert!(held.waited_ms.is_some_and(|ms| ms >= 3_000), "{held:?}");
    let terminated = answer(&answers, "terminated", "primary", true);
    assert!(
        terminated.sqlstate == "57P01" && terminated.waited_ms.is_some_and(|ms| ms < 1_000),
        "{terminated:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn without_a_follower_there_is_a_promotion_and_no_timeline_switch() {
    let answers = refusals_of(Trouble::None, None).await;
    assert!(answers.iter().any(|row| row.case.starts_with("promotion-")));
    assert!(!answers.iter().any(|row| row.case.starts_with("timeline-switch-")));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_expected_is_a_finding_and_ends_nothing() {
    let answers = refusals_of(Trouble::AlwaysThrows, None).await;
    let rows = crate::store::WaitForRows { refusals: answers, ..Default::default() };
    let summary = judge(&testing::info("19rc1"), &rows);
    let row = |case: &str, no_throw| {
        summary
            .refusals
            .iter()
            .find(|row| row.case == case && row.role == "standby" && row.no_throw == no_throw)
    };
    assert_eq!(row("timeout", true).unwrap().as_expected, Some(false));
    assert_eq!(row("timeout", false).unwrap().as_expected, Some(true));
    let unknown = judge(&testing::info("20.0"), &rows);
    assert!(unknown.refusals.iter().all(|row| row.as_expected.is_none()));
}

async fn carry_out(
    site: &FakePairSite,
    results: &Path,
    request: &Request,
    stop_after: Option<Duration>,
) -> Result<Outcome, WaitForError> {
    let stop = CancellationToken::new();
    if let Some(length) = stop_after {
        let stop = stop.clone();
        tokio::spawn(async move {
            sleep(length).await;
            stop.cancel();
        });
    }
    let command_line = ["stall-lab", "wait-for", "all"].map(str::to_owned).to_vec();
    let order = Order { request, results, command_line, clients: Clients::here() };
    run(site, order, &Progress::silent(), &stop).await
}

#[tokio::test(start_paused = true)]
async fn a_whole_run_gives_a_folder_that_can_be_made_again_from_its_rows() {
    let results = tempfile::tempdir().unwrap();
    let site = FakePairSite::of("19rc1");
    let outcome = carry_out(&site, results.path(), &testing::request(), None).await.unwrap();
    // An engine with one CPU refuses nodes with two.
    assert_eq!(site.calls(), ["prepare", "raise standby+follower with 1 CPUs", "tear down"]);
    let analysed = outcome.analysed.unwrap();
    assert!(analysed.summary.conclusive && !outcome.interrupted);
    let folder = analysed.folder.path();
    for file in [
        "wait-for.json",
        "latency.csv",
        "load.csv",
        "wake.csv",
        "refusals.csv",
        "summary.json",
        "latency.png",
        "load.png",
        "README.md",
        "logs",
    ] {
        assert!(folder.join(file).exists(), "{file}");
    }
    let made = ["summary.json", "README.md", "load.png"].map(|file| folder.join(file));
    let before = made.each_ref().map(|file| std::fs::read(file).unwrap());
    made.iter().for_each(|file| std::fs::remove_file(file).unwrap());
    crate::analysis::redraw(folder).unwrap();
    assert!(made.map(|file| std::fs::read(file).unwrap()) == before);
    let latest = std::fs::read_link(results.path().join("wait-for/latest")).unwrap();
    assert_eq!(Some(latest.as_os_str()), folder.file_name());
}

#[tokio::test(start_paused = true)]
async fn a_part_alone_needs_no_follower() {
    let results = tempfile::tempdir().unwrap();
    let site = FakePairSite::of("19rc1");
    let request = Request { parts: vec![Part::Wake], ..testing::request() };
    carry_out(&site, results.path(), &request, None).await.unwrap();
    assert_eq!(site.calls()[1], "raise standby with 1 CPUs");
}

#[tokio::test(start_paused = true)]
async fn an_older_server_is_refused_before_anything_is_loaded() {
    let results = tempfile::tempdir().unwrap();
    let site = FakePairSite::of("18.6");
    let error = carry_out(&site, results.path(), &testing::request(), None).await.unwrap_err();
    assert!(
        matches!(&error, WaitForError::Server(words) if words.contains("18.6 has no WAIT FOR LSN")),
        "{error}"
    );
    assert_eq!(site.calls(), ["abandon"]);
    let request = Request {
        parts: vec![Part::Latency],
        latency_methods: vec![Method::POLL, Method::BusyPoll],
        load_methods: vec![],
        ..testing::request()
    };
    let outcome = carry_out(&site, results.path(), &request, None).await.unwrap();
    assert!(!outcome.analysed.unwrap().summary.conclusive);
}

#[tokio::test(start_paused = true)]
async fn nodes_that_cannot_be_set_up_are_removed() {
    let results = tempfile::tempdir().unwrap();
    let site = FakePairSite { broken: true, ..FakePairSite::of("19rc1") };
    let error = carry_out(&site, results.path(), &testing::request(), None).await.unwrap_err();
    assert_eq!(format!("{:#}", anyhow::Error::from(error)), "setting up the nodes: standby did not start");
    assert_eq!(site.calls().last().map(String::as_str), Some("tear down"));
}

#[tokio::test(start_paused = true)]
async fn a_part_that_fails_is_named_and_those_before_it_are_kept() {
    let results = tempfile::tempdir().unwrap();
    let site = FakePairSite { trouble: Trouble::WokenEarly, ..FakePairSite::of("19rc1") };
    let request = Request { parts: vec![Part::Latency, Part::Wake], ..testing::request() };
    let error = carry_out(&site, results.path(), &request, None).await.unwrap_err().to_string();
    assert!(error.starts_with("wake: 2 waiters: ") && error.contains("is in "), "{error}");
    assert_eq!(site.calls().last().map(String::as_str), Some("tear down"));
    let folder = WaitForFolder::at(results.path().join("wait-for/latest"));
    assert_eq!(folder.info().unwrap().finished, ["latency"]);
    assert!(!folder.summary().unwrap().latency.is_empty());
}

#[tokio::test(start_paused = true)]
async fn stopping_keeps_the_windows_that_were_whole() {
    let results = tempfile::tempdir().unwrap();
    let site = FakePairSite::of("19rc1");
    let request = Request { parts: vec![Part::Load], ..testing::request() };
    let outcome = carry_out(&site, results.path(), &request, Some(Duration::from_secs(6))).await.unwrap();
    assert!(outcome.interrupted);
    let analysed = outcome.analysed.unwrap();
    assert_eq!(analysed.rows.load.len(), 2);
    assert!(analysed.info.finished.is_empty());
    assert_eq!(site.calls().last().map(String::as_str), Some("tear down"));
}
