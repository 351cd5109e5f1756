//! The load's own account of itself: the progress lines of `pgbench -P 1`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::Source;
use crate::store::{Cell, Column, Metric};

/// How long a tick waits for the progress line of its second. Less than the sampler waits for a source, so that a
/// report is never taken by a tick that has been given up.
const PATIENCE: Duration = Duration::from_millis(600);

/// More than any figure of pgbench can be; what is beyond it is none.
const MOST: f64 = 1e12;

/// One progress line.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Report {
    /// Seconds since pgbench's start, at the end of the interval.
    elapsed_s: f64,
    /// Transactions a second in the interval.
    tps: f64,
    /// Mean latency; not known when nothing completed.
    latency_ms: Option<f64>,
    /// Transactions that failed in the interval.
    failed: f64,
}

impl Report {
    /// Reads `progress: 1.0 s, 6.0 tps, lat 10.906 ms stddev 7.443, 0 failed, lag 0.156 ms`; other lines are none.
    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.strip_prefix("progress: ")?.split(", ");
        let number = |text: &str| text.parse().ok().filter(|number: &f64| (0.0..MOST).contains(number));
        let elapsed_s = number(parts.next()?.strip_suffix(" s")?)?;
        let tps = number(parts.next()?.strip_suffix(" tps")?)?;
        let latency = parts.next()?.strip_prefix("lat ")?.split(' ').next()?;
        let failed = parts.find_map(|part| part.strip_suffix(" failed")).map_or(Some(0.0), number)?;
        // With nothing completed pgbench prints NaN or 0.000, by version; neither is a latency.
        let latency_ms = number(latency).filter(|_| tps > 0.0);
        Some(Self { elapsed_s, tps, latency_ms, failed })
    }
}

#[derive(Debug, Default)]
enum State {
    #[default]
    NotStarted,
    Running,
    Ended(String),
}

#[derive(Debug, Default)]
struct Inbox {
    state: State,
    /// End of the last interval that was taken.
    taken_until_s: f64,
    reports: VecDeque<Report>,
    /// What pgbench said of the first client that it gave up.
    lost_client: Option<String>,
}

/// What pgbench says of a client that it gives up; it goes on with the others.
const CLIENT_LOST: &str = " aborted in ";

/// Where the reader of pgbench's output leaves the lines and the sampler finds them.
#[derive(Debug, Default)]
pub struct LoadFeed {
    inbox: Mutex<Inbox>,
    arrived: Notify,
}

impl LoadFeed {
    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// pgbench has been started.
    pub fn started(&self) {
        self.inbox().state = State::Running;
    }

    /// pgbench has printed a line.
    pub fn line(&self, line: &str) {
        if let Some(report) = Report::parse(line) {
            let mut inbox = self.inbox();
            let last_s = inbox.reports.back().map_or(inbox.taken_until_s, |last| last.elapsed_s);
            // Its clock only goes on.
            if report.elapsed_s > last_s {
                inbox.reports.push_back(report);
                self.arrived.notify_one();
            }
        } else if line.contains(CLIENT_LOST) {
            self.inbox().lost_client.get_or_insert_with(|| line.to_owned());
        }
    }

    /// What pgbench said of the first client that it gave up, if it did.
    #[must_use]
    pub fn lost_client(&self) -> Option<String> {
        self.inbox().lost_client.clone()
    }

    /// pgbench has ended; `how` says how.
    pub fn ended(&self, how: impl Into<String>) {
        self.inbox().state = State::Ended(how.into());
        self.arrived.notify_one();
    }

    /// How pgbench ended, if it has.
    #[must_use]
    pub fn end(&self) -> Option<String> {
        match &self.inbox().state {
            State::Ended(how) => Some(how.clone()),
            State::NotStarted | State::Running => None,
        }
    }

    /// Does pgbench run, with no report that has not been taken.
    fn is_owing(&self) -> bool {
        let inbox = self.inbox();
        matches!(inbox.state, State::Running) && inbox.reports.is_empty()
    }

    /// Takes all reports that have arrived, as one.
    fn take(&self) -> Option<Report> {
        let mut inbox = self.inbox();
        let mut start_s = inbox.taken_until_s;
        let elapsed_s = inbox.reports.back()?.elapsed_s;
        let (mut count, mut latency_sum, mut failed) = (0.0, 0.0, 0.0);
        for report in inbox.reports.drain(..) {
            let transactions = report.tps * (report.elapsed_s - start_s);
            count += transactions;
            latency_sum += report.latency_ms.unwrap_or(0.0) * transactions;
            failed += report.failed;
            start_s = report.elapsed_s;
        }
        let seconds = elapsed_s - inbox.taken_until_s;
        inbox.taken_until_s = elapsed_s;
        let latency_ms = (count > 0.0).then(|| latency_sum / count);
        (seconds > 0.0).then_some(Report { elapsed_s, tps: count / seconds, latency_ms, failed })
    }
}

/// The load as a source of the sampler.
#[derive(Debug)]
pub struct LoadSource {
    node: String,
    feed: Arc<LoadFeed>,
}

impl LoadSource {
    /// The load on `node`, which is the primary.
    #[must_use]
    pub fn new(node: &str, feed: Arc<LoadFeed>) -> Self {
        Self { node: node.to_owned(), feed }
    }
}

#[async_trait]
impl Source for LoadSource {
    fn name(&self) -> String {
        format!("pgbench on {}", self.node)
    }

    fn columns(&self) -> Vec<Column> {
        [Metric::Tps, Metric::LatencyMs, Metric::FailedTransactions]
            .map(|m| Column::new(&self.node, m))
            .into()
    }

    async fn read(&mut self) -> anyhow::Result<Vec<(Column, Cell)>> {
        // pgbench reports once a second, on its own clock: the tick takes what has come since the last one, and
        // waits a little when nothing has, so that jitter between the two clocks never shows as a hole.
        let report_or_end = async {
            while self.feed.is_owing() {
                self.feed.arrived.notified().await;
            }
        };
        let _ = timeout(PATIENCE, report_or_end).await;
        let Some(report) = self.feed.take() else {
            return Ok(vec![]);
        };
        let mut cells = vec![
            (Column::new(&self.node, Metric::Tps), Cell::Number(report.tps)),
            (Column::new(&self.node, Metric::FailedTransactions), Cell::Number(report.failed)),
        ];
        cells.extend(
            report.latency_ms.map(|ms| (Column::new(&self.node, Metric::LatencyMs), Cell::Number(ms))),
        );
        Ok(cells)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn line(elapsed_s: f64, tps: f64, latency: &str) -> String {
        format!(
            "progress: {elapsed_s:.1} s, {tps:.1} tps, lat {latency} ms stddev 0.1, 0 failed, lag 0.156 ms"
        )
    }

    fn cell(cells: &[(Column, Cell)], metric: &Metric) -> Option<f64> {
        cells.iter().find(|(column, _)| column.metric == *metric).and_then(|(_, cell)| cell.number())
    }

    #[test]
    fn a_client_that_pgbench_gives_up_is_remembered_with_what_it_said() {
        let feed = LoadFeed::default();
        feed.line(&line(1.0, 5.0, "2.0"));
        assert_eq!(feed.lost_client(), None);
        let said = "pgbench: error: client 3 aborted in command 8 (SQL) of script 0; perhaps the backend died while \
                    processing";
        feed.line(said);
        feed.line("pgbench: error: client 4 script 0 aborted in command 5 query 0: ERROR:  x");
        assert_eq!(feed.lost_client().as_deref(), Some(said));
    }

    #[test]
    fn progress_lines_of_every_shape_are_read_and_other_lines_are_not() {
        let report =
            Report::parse("progress: 3.0 s, 6.0 tps, lat 10.906 ms stddev 7.443, 2 failed, lag 0.156 ms");
        assert_eq!(report, Some(Report { elapsed_s: 3.0, tps: 6.0, latency_ms: Some(10.906), failed: 2.0 }));
        let hung =
            Report::parse("progress: 9.0 s, 0.0 tps, lat NaN ms stddev NaN, 0 failed, lag NaN ms").unwrap();
        assert_eq!((hung.tps, hung.latency_ms), (0.0, None));
        let hung = Report::parse("progress: 9.0 s, 0.0 tps, lat 0.000 ms stddev 0.000, 0 failed").unwrap();
        assert_eq!((hung.tps, hung.latency_ms), (0.0, None));
        for other in
            ["pgbench (18.6)", "progress: ", "progress: x s, 1 tps, lat 1 ms", "", "progress: 1.0 s, 2.0 tps"]
        {
            assert_eq!(Report::parse(other), None, "{other}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_hang_is_rows_of_explicit_zeros() {
        let feed = Arc::new(LoadFeed::default());
        let mut source = LoadSource::new("primary", Arc::clone(&feed));
        feed.started();
        feed.line(&line(1.0, 0.0, "NaN"));
        let cells = source.read().await.unwrap();
        assert_eq!(cell(&cells, &Metric::Tps), Some(0.0));
        assert_eq!(cell(&cells, &Metric::LatencyMs), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_report_that_comes_a_little_late_belongs_to_the_tick_that_waits_for_it() {
        let feed = Arc::new(LoadFeed::default());
        let mut source = LoadSource::new("primary", Arc::clone(&feed));
        feed.started();
        let late = Arc::clone(&feed);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(300)).await;
            late.line(&line(1.0, 5.0, "2.0"));
        });
        assert_eq!(cell(&source.read().await.unwrap(), &Metric::Tps), Some(5.0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_report_taken_without_waiting_does_not_cut_the_next_wait_short() {
        let feed = Arc::new(LoadFeed::default());
        let mut source = LoadSource::new("primary", Arc::clone(&feed));
        feed.started();
        feed.line(&line(1.0, 5.0, "2.0"));
        assert_eq!(cell(&source.read().await.unwrap(), &Metric::Tps), Some(5.0));
        let late = Arc::clone(&feed);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(300)).await;
            late.line(&line(2.0, 4.0, "2.0"));
        });
        assert_eq!(cell(&source.read().await.unwrap(), &Metric::Tps), Some(4.0));
    }

    #[tokio::test(start_paused = true)]
    async fn two_reports_in_one_tick_are_averaged_by_their_time_and_latency_by_transactions() {
        let feed = Arc::new(LoadFeed::default());
        let mut source = LoadSource::new("primary", Arc::clone(&feed));
        feed.started();
        feed.line(&line(1.0, 6.0, "1.0"));
        feed.line(&line(2.0, 2.0, "5.0"));
        let cells = source.read().await.unwrap();
        assert_eq!(cell(&cells, &Metric::Tps), Some(4.0));
        assert_eq!(cell(&cells, &Metric::LatencyMs), Some(2.0));
    }

    #[tokio::test(start_paused = true)]
    async fn before_the_load_and_after_its_end_there_is_nothing_and_no_waiting() {
        let feed = Arc::new(LoadFeed::default());
        let mut source = LoadSource::new("primary", Arc::clone(&feed));
        let before = tokio::time::Instant::now();
        assert_eq!(source.read().await.unwrap(), []);
        feed.started();
        feed.ended("exit code 1");
        assert_eq!(source.read().await.unwrap(), []);
        assert_eq!(feed.end().as_deref(), Some("exit code 1"));
        assert_eq!(before.elapsed(), Duration::ZERO);
    }

    #[test]
    fn the_captured_outage_has_a_report_for_every_second() {
        let text = include_str!("../../tests/captures/outage-try.pgbench-progress.txt");
        let reports: Vec<Report> = text.lines().filter_map(Report::parse).collect();
        assert!(reports.len() > 2_400);
        assert!(reports.windows(2).all(|pair| (pair[1].elapsed_s - pair[0].elapsed_s - 1.0).abs() < 0.2));
        assert!(reports.iter().filter(|report| report.tps == 0.0).count() > 2_300);
    }
}
