//! Watching without servers: sources and writers that are scripted, under virtual time.
#![allow(clippy::unwrap_used)]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tempfile::TempDir;
use tokio::time::sleep;

use super::probe::Writer;
use super::session::Probe;
use super::*;
use crate::measure::Source;
use crate::postgres::Written;
use crate::store::{
    Cell, Column, Event, EventKind, Metric, NodeInfo, Observed, Role, Server, Summary, Timeline, Verdict,
};
use crate::verdict::judge;

/// What a server says in a second of the record; none when it says nothing.
type Says = Box<dyn Fn(u64) -> Option<Vec<(Metric, f64)>> + Send>;

/// A server that says what it is told to, by the second.
struct Scripted {
    node: String,
    second: u64,
    says: Says,
}

#[async_trait]
impl Source for Scripted {
    fn name(&self) -> String {
        self.node.clone()
    }

    fn columns(&self) -> Vec<Column> {
        let said = (self.says)(1).unwrap_or_default();
        said.into_iter().map(|(metric, _)| Column::new(&self.node, metric)).collect()
    }

    async fn read(&mut self) -> anyhow::Result<Vec<(Column, Cell)>> {
        self.second += 1;
        let said = (self.says)(self.second).ok_or_else(|| anyhow::anyhow!("connection refused"))?;
        Ok(said.into_iter().map(|(metric, value)| (Column::new(&self.node, metric), value.into())).collect())
    }
}

fn server(node: &str, says: impl Fn(u64) -> Option<Vec<(Metric, f64)>> + Send + 'static) -> Box<dyn Source> {
    Box::new(Scripted { node: node.to_owned(), second: 0, says: Box::new(says) })
}

/// A primary with this rate, so many who wait and for how long.
fn primary(tps: f64, waiters: f64, waited_s: f64) -> Option<Vec<(Metric, f64)>> {
    Some(vec![
        (Metric::WalLsn, 1e9),
        (Metric::Tps, tps),
        (Metric::SyncRepWaiters, waiters),
        (Metric::SyncRepWaitS, waited_s),
        (Metric::SyncStandbys, if waiters > 0.0 { 0.0 } else { 1.0 }),
    ])
}

fn standby(streams: bool) -> Option<Vec<(Metric, f64)>> {
    let streams = f64::from(u8::from(streams));
    Some(vec![(Metric::ReplayLsn, 1e9), (Metric::WalreceiverStreaming, streams), (Metric::ReplayPaused, 0.0)])
}

/// Commits, except from second 20 to 50: then the standby is away and a session waits.
fn hanging() -> Vec<Box<dyn Source>> {
    let hangs = |second: u64| (21..=50).contains(&second);
    vec![
        server("primary", move |second| match second {
            second if hangs(second) => primary(0.0, 3.0, (second - 20) as f64),
            _ => primary(5.0, 0.0, 0.0),
        }),
        server("standby", move |second| standby(!hangs(second))),
    ]
}

/// A record under virtual time.
struct Told {
    watched: Watched,
    run: RunInfo,
    timeline: Timeline,
    events: Vec<Event>,
    _dir: TempDir,
}

impl Told {
    fn summary(&self) -> Summary {
        judge(&self.run, &self.timeline, &self.events)
    }

    fn details(&self, kind: EventKind) -> Vec<&str> {
        self.events.iter().filter(|event| event.kind == kind).map(|event| event.detail.as_str()).collect()
    }
}

/// What the user does, and after how many seconds.
#[derive(Clone, Copy)]
enum Hand {
    Marks(u64),
    Stops(u64),
}

async fn watch_for(
    seconds: u64,
    sources: Vec<Box<dyn Source>>,
    probe: Option<Probe>,
    hands: &[Hand],
) -> Told {
    let dir = tempfile::tempdir().unwrap();
    let folder = RunFolder::at(dir.path());
    let (rows, _) = watch::channel(None);
    let (sender, mut marks) = mpsc::channel(4);
    let stop = CancellationToken::new();
    for hand in hands.iter().copied() {
        let (sender, stop) = (sender.clone(), stop.clone());
        tokio::spawn(async move {
            match hand {
                Hand::Marks(after) => {
                    sleep(Duration::from_millis(after * 1000 + 500)).await;
                    sender.send(Mark { at: Instant::now(), by: "Enter" }).await.unwrap();
                }
                Hand::Stops(after) => {
                    sleep(Duration::from_secs(after)).await;
                    stop.cancel();
                }
            }
        });
    }
    let run = run_of(probe.is_some());
    let session = Session {
        primary: PRIMARY.to_owned(),
        standbys: vec!["standby".to_owned()],
        sources,
        probe,
        length: Duration::from_secs(seconds),
    };
    let clock = Clock::start_virtual(1_800_000_000.0);
    let watched = session.watch(&folder, clock, &rows, &mut marks, &stop).await.unwrap();
    let (timeline, events) = (folder.timeline().unwrap(), folder.events().unwrap());
    Told { watched, run, timeline, events, _dir: dir }
}

fn run_of(probes: bool) -> RunInfo {
    let node = |name: &str, role| NodeInfo {
        name: name.to_owned(),
        role,
        read_iops_cap: None,
        write_iops_cap: None,
        cap_proof: None,
        read_ahead_kb: None,
        settings: [].into(),
        defaults: [].into(),
    };
    RunInfo {
        schema: RunInfo::SCHEMA,
        run_id: "test".to_owned(),
        profile_name: OBSERVED.to_owned(),
        arm: OBSERVED.to_owned(),
        started: Timestamp::UNIX_EPOCH,
        command_line: vec![],
        lab_version: String::new(),
        git_revision: None,
        capped: None,
        subject: Subject::Observed(Observed {
            servers: vec![],
            synchronous_standby_names: Some("standby".to_owned()),
            length: Duration::from_secs(60),
            stall_after: Duration::from_secs(10),
            probe_per_s: probes.then_some(5.0),
        }),
        server: Server {
            version: "15.18".to_owned(),
            version_num: 150_018,
            image: None,
            image_id: None,
            source: "not built by the lab".to_owned(),
            note: None,
            build: None,
            unknown_settings: vec![],
        },
        platform: None,
        nodes: vec![node(PRIMARY, Role::Primary), node("standby", Role::Standby)],
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_mark_the_longest_stretch_without_a_commit_is_judged() {
    let told = watch_for(70, hanging(), None, &[]).await;
    assert_eq!(told.watched, Watched { ending: Ending::Completed, left_behind: None });
    let summary = told.summary();
    assert_eq!(summary.verdict, Verdict::Stalled, "{:?}", summary.reasons);
    assert_eq!((summary.hang_s, summary.hang_start_s), (Some(30.0), Some(20.0)));
    assert_eq!(summary.time_to_streaming_s, Some(31.0));
    assert_eq!(summary.lag_at_fault_bytes, Some(0));
    assert_eq!(summary.standby.as_deref(), Some("standby"));
    assert_eq!(told.details(EventKind::CommitsAgain), ["after 30 s without one"]);
    assert_eq!(told.details(EventKind::StreamingAgain).len(), 1);
    assert_eq!(told.details(EventKind::Note), ["does not stream any more"]);
}

#[tokio::test(start_paused = true)]
async fn what_follows_the_first_mark_is_judged_and_later_ones_are_noted() {
    let told = watch_for(70, hanging(), None, &[Hand::Marks(25), Hand::Marks(60)]).await;
    let summary = told.summary();
    assert_eq!(told.details(EventKind::Fault), ["marked by Enter"]);
    assert!(told.details(EventKind::Note).contains(&"marked again (2) by Enter"));
    assert_eq!((summary.verdict, summary.hang_s), (Verdict::Stalled, Some(24.5)));
    assert!(summary.reasons[0].contains("commits had stood still for 5.5 s"), "{:?}", summary.reasons);

    let after = watch_for(70, hanging(), None, &[Hand::Marks(55)]).await.summary();
    assert_eq!((after.verdict, after.hang_s), (Verdict::NoStall, Some(0.0)), "{:?}", after.reasons);
    assert_eq!(after.longest_gap_before_fault_s, Some(30.0));
}

#[tokio::test(start_paused = true)]
async fn a_record_that_is_stopped_is_a_valid_one_of_what_was_seen() {
    let told = watch_for(70, hanging(), None, &[Hand::Stops(41)]).await;
    assert_eq!(told.watched.ending, Ending::Interrupted);
    assert_eq!(told.details(EventKind::Interrupted), ["stopped by the user"]);
    let summary = told.summary();
    assert_eq!((summary.verdict, summary.hang_ended), (Verdict::Stalled, Some(false)));
}

#[tokio::test(start_paused = true)]
async fn an_idle_primary_is_neither_hanging_nor_well() {
    let idle = || {
        vec![
            server("primary", |second| primary(if second < 5 { 1.0 } else { 0.0 }, 0.0, 0.0)),
            server("standby", |second| standby(!(10..40).contains(&second))),
        ]
    };
    let summary = watch_for(60, idle(), None, &[]).await.summary();
    assert_eq!((summary.verdict, summary.hang_s), (Verdict::Inconclusive, Some(0.0)));
    assert!(summary.reasons[0].starts_with("nobody wrote for 30 s while standby did not stream"));
    let never = vec![server("primary", |_| primary(0.0, 0.0, 0.0)), server("standby", |_| standby(true))];
    let summary = watch_for(60, never, None, &[]).await.summary();
    assert_eq!((summary.verdict, summary.hang_s), (Verdict::Inconclusive, None));
}

#[tokio::test(start_paused = true)]
async fn an_idle_primary_whose_waiters_may_not_be_seen_is_not_called_stalled() {
    let hidden = |tps: f64| Some(vec![(Metric::WalLsn, 1e9), (Metric::Tps, tps)]);
    let sources = vec![
        server("primary", move |second| hidden(if second < 5 { 1.0 } else { 0.0 })),
        server("standby", |second| standby(second < 10)),
    ];
    let summary = watch_for(60, sources, None, &[]).await.summary();
    assert_eq!(summary.verdict, Verdict::Inconclusive);
    assert!(summary.reasons[0].contains("`pg_monitor` would show it"), "{:?}", summary.reasons);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_goes_away_costs_its_own_cells_and_is_told() {
    let down = |second: u64| (30..=34).contains(&second);
    let hangs = |second: u64| (21..=50).contains(&second);
    let sources = vec![
        server("primary", move |second| match second {
            second if down(second) => None,
            second if hangs(second) => primary(0.0, 1.0, (second - 20) as f64),
            _ => primary(5.0, 0.0, 0.0),
        }),
        server("standby", move |second| standby(!hangs(second))),
    ];
    let told = watch_for(70, sources, None, &[]).await;
    assert_eq!(told.timeline.rows.len(), 70);
    let notes = told.details(EventKind::Note);
    assert!(notes.contains(&"does not answer") && notes.contains(&"answers again, after 5 s"), "{notes:?}");
    let summary = told.summary();
    assert_eq!((summary.verdict, summary.hang_s), (Verdict::Stalled, Some(30.0)));
    assert_eq!(summary.reasons, ["the primary did not answer for 5.0 s of the 30 s without a commit"]);
}

#[tokio::test(start_paused = true)]
async fn a_primary_that_was_down_for_long_is_another_outage() {
    let sources = || {
        let down = |second: u64| (21..=50).contains(&second);
        vec![
            server("primary", move |second| if down(second) { None } else { primary(5.0, 0.0, 0.0) }),
            server("standby", move |second| standby(!down(second))),
        ]
    };
    let summary = watch_for(70, sources(), None, &[]).await.summary();
    assert_eq!(summary.verdict, Verdict::Inconclusive);
    assert!(summary.reasons[0].starts_with("the primary did not answer for 30 s"), "{:?}", summary.reasons);
    // The probe's writes fail meanwhile, which is no hang of theirs either.
    let script = (0..250).map(|write| if write < 100 { Writes::Succeeds } else { Writes::Fails }).collect();
    let summary = watch_for(70, sources(), Some(probe(script).0), &[]).await.summary();
    assert_eq!(summary.verdict, Verdict::Inconclusive);
}

#[tokio::test(start_paused = true)]
async fn commits_that_stand_still_while_the_standby_streams_are_held_back_by_something_else() {
    let hangs = |second: u64| (21..=50).contains(&second);
    let sources = vec![
        server("primary", move |second| match second {
            second if hangs(second) => primary(0.0, 1.0, (second - 20) as f64),
            _ => primary(5.0, 0.0, 0.0),
        }),
        server("standby", |_| standby(true)),
    ];
    let summary = watch_for(70, sources, None, &[]).await.summary();
    assert_eq!(summary.verdict, Verdict::Inconclusive);
    assert!(summary.reasons[0].contains("something other than replay"), "{:?}", summary.reasons);
}

#[tokio::test(start_paused = true)]
async fn what_is_cancelled_or_rolled_back_in_a_hang_does_not_end_it() {
    // Every waiting session gives up after a second: none is seen twice, and each counts as ended.
    let hangs = |second: u64| (21..=50).contains(&second);
    let sources = vec![
        server("primary", move |second| match second {
            second if hangs(second) => {
                primary(2.0, f64::from(u8::from(second.is_multiple_of(2))), 0.0).map(|mut cells| {
                    cells.retain(|(metric, _)| *metric != Metric::SyncStandbys);
                    cells.push((Metric::SyncStandbys, 0.0));
                    cells
                })
            }
            _ => primary(5.0, 0.0, 0.0),
        }),
        server("standby", move |second| standby(!hangs(second))),
    ];
    let summary = watch_for(70, sources, None, &[]).await.summary();
    assert_eq!(summary.verdict, Verdict::Stalled, "{:?}", summary.reasons);
    // From the first row that shows somebody waiting to the last.
    assert_eq!(summary.hang_s, Some(29.0));
}

/// What becomes of a scripted write.
#[derive(Debug, Clone, Copy)]
enum Writes {
    Succeeds,
    /// Hangs until its deadline of 3 s, or until there is a hurry.
    Hangs,
    Fails,
}

/// A writer that does what it is told, and then succeeds.
struct Script {
    writes: VecDeque<Writes>,
    removed: Arc<Mutex<bool>>,
    left: Option<String>,
}

#[async_trait]
impl Writer for Script {
    async fn write(&mut self, hurry: &CancellationToken) -> Written {
        match self.writes.pop_front().unwrap_or(Writes::Succeeds) {
            Writes::Succeeds => {
                sleep(Duration::from_millis(2)).await;
                Written::Acknowledged(Duration::from_millis(2))
            }
            Writes::Hangs => {
                let _ = hurry.run_until_cancelled(sleep(Duration::from_secs(3))).await;
                Written::CommittedLocally
            }
            Writes::Fails => Written::Failed("connection refused".to_owned()),
        }
    }

    async fn remove(&mut self) -> Result<(), String> {
        *self.removed.lock().unwrap() = true;
        self.left.take().map_or(Ok(()), Err)
    }
}

/// Five writes a second, and whether what was made for them has been removed.
fn probe(writes: VecDeque<Writes>) -> (Probe, Arc<Mutex<bool>>) {
    let removed = Arc::new(Mutex::new(false));
    let writer = Script { writes, removed: Arc::clone(&removed), left: None };
    (Probe { writer: Box::new(writer), pause: Duration::from_millis(200) }, removed)
}

/// A primary to which nobody else writes, and a standby that is away from second 10 to 40.
fn idle() -> Vec<Box<dyn Source>> {
    vec![
        server("primary", |_| primary(0.0, 0.0, 0.0)),
        server("standby", |second| standby(!(11..=40).contains(&second))),
    ]
}

#[tokio::test(start_paused = true)]
async fn the_probe_shows_a_hang_of_an_idle_primary_and_counts_cancelled_commits_apart() {
    // 50 writes in 10 s, then ten that hang for 3 s each.
    let writes = (0..60).map(|write| if write < 50 { Writes::Succeeds } else { Writes::Hangs }).collect();
    let (probe, removed) = probe(writes);
    let summary = watch_for(60, idle(), Some(probe), &[]).await.summary();
    assert!(*removed.lock().unwrap());
    assert_eq!(summary.verdict, Verdict::Stalled, "{:?}", summary.reasons);
    let hang_s = summary.hang_s.unwrap();
    // Ten times three seconds and what passes between a cancelled write and the next.
    assert!((29.0..=33.0).contains(&hang_s), "{hang_s}");
    let probe = summary.probe.unwrap();
    assert_eq!((probe.committed_locally, probe.failed), (10, 0));
    assert!(probe.acknowledged > 140, "{probe:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stop_in_the_middle_of_a_hanging_write_removes_the_table_all_the_same() {
    let (mut probe, removed) = probe((0..9).map(|_| Writes::Hangs).collect());
    probe.writer = {
        let left = Some("DROP TABLE x".to_owned());
        Box::new(Script {
            writes: (0..9).map(|_| Writes::Hangs).collect(),
            removed: Arc::clone(&removed),
            left,
        })
    };
    let told = watch_for(600, idle(), Some(probe), &[Hand::Stops(20)]).await;
    assert!(*removed.lock().unwrap());
    let left_behind = Some("DROP TABLE x".to_owned());
    assert_eq!(told.watched, Watched { ending: Ending::Interrupted, left_behind });
    assert_eq!(told.timeline.rows.len(), 20);
    assert!(told.details(EventKind::Note).iter().any(|note| note.contains("committed on the primary alone")));
}

#[tokio::test(start_paused = true)]
async fn a_record_that_cannot_be_written_ends_and_removes_the_table() {
    let (probe, removed) = probe(VecDeque::new());
    let dir = tempfile::tempdir().unwrap();
    // A folder where the file should be.
    std::fs::create_dir(dir.path().join("timeline.csv")).unwrap();
    let session = Session {
        primary: PRIMARY.to_owned(),
        standbys: vec!["standby".to_owned()],
        sources: idle(),
        probe: Some(probe),
        length: Duration::from_secs(60),
    };
    let (rows, _) = watch::channel(None);
    let (_sender, mut marks) = mpsc::channel(1);
    let (clock, stop) = (Clock::start_virtual(0.0), CancellationToken::new());
    let watched = session.watch(&RunFolder::at(dir.path()), clock, &rows, &mut marks, &stop).await;
    assert!(watched.is_err());
    assert!(*removed.lock().unwrap());
}

#[test]
fn a_rate_is_written_as_one() {
    assert_eq!("5/s".parse::<PerSecond>().unwrap().0, 5.0);
    assert_eq!("2.5/s".parse::<PerSecond>().unwrap().0, 2.5);
    for wrong in ["5", "0/s", "0.5/s", "1000/s", "x/s", "NaN/s", ""] {
        assert!(wrong.parse::<PerSecond>().is_err(), "{wrong}");
    }
}
