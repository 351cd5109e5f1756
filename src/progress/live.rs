//! The text of the live block: what the rows of a running experiment say.

use super::eta::Eta;
use super::words::{duration, estimate, rate, size};
use crate::store::{Metric, Phase, Row};

/// Seconds without a commit from which they are told: at a few transactions a second, and with the rate drawn at
/// random, one or two are no news.
const SILENCE_S: f64 = 3.0;

/// Which nodes of the rows are shown, and against what.
#[derive(Debug, Clone)]
pub struct View {
    /// The primary's name.
    pub primary: String,
    /// Each standby's name and its cap in reads a second; none if its disk is not capped.
    pub standbys: Vec<(String, Option<u64>)>,
    /// The node that the fault hits; its lag tells how long the hang still lasts.
    pub faulted: String,
}

/// What of the rows before the newest is needed to tell where the run stands.
#[derive(Debug)]
pub(super) struct Live {
    view: View,
    /// The phase, and when its first row was made.
    phase: Option<(Phase, f64)>,
    /// When the last commit was seen since the fault, or the fault itself.
    flowing_s: f64,
    eta: Eta,
}

impl Live {
    pub(super) fn new(view: View) -> Self {
        Self { view, phase: None, flowing_s: 0.0, eta: Eta::default() }
    }

    /// Takes the next row and says what to show: the phase and the primary, a line a standby, and in a hang how long
    /// it lasts.
    pub(super) fn advance(&mut self, row: &Row) -> Vec<String> {
        let since_s = match self.phase {
            Some((phase, since_s)) if phase == row.phase => since_s,
            _ => self.enter(row),
        };
        let tps = row.number(&self.view.primary, &Metric::Tps);
        if self.flows(row, tps) {
            self.flowing_s = row.t_s;
        }
        if matches!(row.phase, Phase::Recovery | Phase::Observed)
            && let Some(lag_bytes) = row.number(&self.view.faulted, &Metric::LagBytes)
        {
            self.eta.observe(row.t_s, lag_bytes);
        }
        let phase =
            format!("{} for {}, primary at {} TPS", row.phase.name(), duration(row.t_s - since_s), rate(tps));
        let standbys = self.view.standbys.iter().map(|(node, cap)| standby(row, node, *cap));
        std::iter::once(phase).chain(standbys).chain(self.hang(row)).collect()
    }

    /// Do commits flow; of servers that are only watched, also where nobody waits: nobody may want to write.
    fn flows(&self, row: &Row, tps: Option<f64>) -> bool {
        let commits = tps.is_some_and(|tps| tps > 0.0);
        match (row.phase, row.number(&self.view.primary, &Metric::SyncRepWaitS)) {
            (Phase::Observed, Some(waited_s)) => waited_s == 0.0,
            _ => commits,
        }
    }

    /// Notes that the row is the first of its phase. What was seen before the fault says nothing about the hang
    /// after it: a commit may have been slow, and the lag was still growing.
    fn enter(&mut self, row: &Row) -> f64 {
        self.phase = Some((row.phase, row.t_s));
        self.flowing_s = row.t_s;
        self.eta = Eta::default();
        row.t_s
    }

    fn hang(&self, row: &Row) -> Option<String> {
        let silent_s = row.t_s - self.flowing_s;
        if !matches!(row.phase, Phase::Recovery | Phase::Observed) || silent_s < SILENCE_S {
            return None;
        }
        let left = self
            .eta
            .left_s(row.t_s)
            .map(|left_s| format!(", about {} left", estimate(left_s)))
            .unwrap_or_default();
        Some(format!("no commit for {}{left}", duration(silent_s)))
    }
}

fn standby(row: &Row, node: &str, cap: Option<u64>) -> String {
    let known = row.number(node, &Metric::ReadIops);
    let reads = rate(known);
    let cap = cap.map(|cap| format!("/{cap}")).unwrap_or_default();
    let lag = row
        .number(node, &Metric::LagBytes)
        .map_or("lag unknown".to_owned(), |bytes| format!("{} behind", size(bytes)));
    // Of servers that are only watched, reads are known only where a command tells of them.
    if row.phase == Phase::Observed && known.is_none() {
        return format!("{node} {lag}");
    }
    format!("{node} {reads}{cap} reads/s, {lag}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Column;

    fn live() -> Live {
        Live::new(View {
            primary: "primary".into(),
            standbys: vec![("standby".into(), Some(200))],
            faulted: "standby".into(),
        })
    }

    fn row(t_s: f64, phase: Phase, cells: &[(&str, Metric, f64)]) -> Row {
        let cells =
            cells.iter().map(|(node, metric, value)| (Column::new(node, metric.clone()), (*value).into()));
        Row { tick: 0, t_s, unix_s: 0.0, phase, cells: cells.collect() }
    }

    /// A second of a hang in which the lag shrinks by 2 MB a second.
    fn hung(t_s: f64) -> Row {
        let cells = [
            ("primary", Metric::Tps, 0.0),
            ("standby", Metric::ReadIops, 199.8),
            ("standby", Metric::LagBytes, 312e6 - 2e6 * t_s),
        ];
        row(t_s, Phase::Recovery, &cells)
    }

    /// The block after the last of these rows.
    fn shown(live: &mut Live, rows: impl IntoIterator<Item = Row>) -> Vec<String> {
        rows.into_iter().map(|row| live.advance(&row)).last().unwrap_or_default()
    }

    #[test]
    fn before_the_fault_there_are_the_phase_and_the_standby() {
        let cells = [
            ("primary", Metric::Tps, 4.9),
            ("standby", Metric::ReadIops, 200.4),
            ("standby", Metric::LagBytes, 10.01e9),
        ];
        let rows = [row(10.0, Phase::Update, &cells), row(22.0, Phase::Update, &cells)];
        assert_eq!(
            shown(&mut live(), rows),
            ["update for 12 s, primary at 4.9 TPS", "standby 200/200 reads/s, 10.0 GB behind"]
        );
    }

    #[test]
    fn in_the_hang_there_are_its_length_and_what_is_left() {
        assert_eq!(
            shown(&mut live(), (0..=41).map(|t| hung(f64::from(t)))),
            [
                "recovery for 41 s, primary at 0 TPS",
                "standby 200/200 reads/s, 230 MB behind",
                "no commit for 41 s, about 115 s left"
            ]
        );
    }

    #[test]
    fn what_is_not_known_is_told_as_such_and_never_as_zero() {
        assert_eq!(
            shown(&mut live(), [row(1.0, Phase::Settle, &[])]),
            ["settle for 0 s, primary at ? TPS", "standby ?/200 reads/s, lag unknown"]
        );
    }

    #[test]
    fn without_a_rate_the_hang_is_told_without_an_estimate() {
        let standing = |t| row(f64::from(t), Phase::Recovery, &[("standby", Metric::LagBytes, 5e8)]);
        let block = shown(&mut live(), (0..20).map(standing));
        assert_eq!(block.last().map(String::as_str), Some("no commit for 19 s"));
    }

    #[test]
    fn a_second_or_two_without_a_commit_are_no_news() {
        let mut live = live();
        assert_eq!(shown(&mut live, (0..=2).map(|t| hung(f64::from(t)))).len(), 2);
        assert_eq!(shown(&mut live, [hung(3.0)]).len(), 3);
    }

    #[test]
    fn a_commit_ends_the_hang_and_the_next_one_starts_from_it() {
        let mut live = live();
        let commit = row(30.0, Phase::Recovery, &[("primary", Metric::Tps, 1.0)]);
        let rows = (0..30).map(|t| hung(f64::from(t))).chain([commit]);
        assert_eq!(shown(&mut live, rows).len(), 2);
        let block = shown(&mut live, (31..=35).map(|t| hung(f64::from(t))));
        assert_eq!(block.last().map(String::as_str), Some("no commit for 5 s, about 2 min left"));
    }

    #[test]
    fn commits_that_were_slow_before_the_fault_are_not_counted_to_the_hang() {
        let slow = (0..100).map(|t| row(f64::from(t), Phase::Flush, &[("primary", Metric::Tps, 0.0)]));
        let mut live = live();
        assert_eq!(shown(&mut live, slow).len(), 2);
        let block = shown(&mut live, (100..=104).map(|t| hung(f64::from(t))));
        assert_eq!(block.last().map(String::as_str), Some("no commit for 4 s"));
    }

    #[test]
    fn after_the_recovery_nothing_is_said_of_a_hang() {
        let quiet = (0..20).map(|t| row(f64::from(t), Phase::Tail, &[("primary", Metric::Tps, 0.0)]));
        assert_eq!(shown(&mut live(), quiet).len(), 2);
    }

    #[test]
    fn of_watched_servers_a_hang_is_told_where_somebody_waits_and_reads_where_they_are_known() {
        let waits = |t: u32, waited_s: f64| {
            let cells = [
                ("primary", Metric::Tps, 0.0),
                ("primary", Metric::SyncRepWaitS, waited_s),
                ("standby", Metric::LagBytes, 5e8),
            ];
            row(f64::from(t), Phase::Observed, &cells)
        };
        let mut live = Live::new(View { standbys: vec![("standby".into(), None)], ..live().view });
        let idle = shown(&mut live, (0..20).map(|t| waits(t, 0.0)));
        assert_eq!(idle, ["observed for 19 s, primary at 0 TPS", "standby 500 MB behind"]);
        let hung = shown(&mut live, (20..25).map(|t| waits(t, f64::from(t - 19))));
        assert_eq!(hung.last().map(String::as_str), Some("no commit for 5 s"));
    }

    #[test]
    fn every_standby_has_a_line_and_one_without_a_cap_shows_none() {
        let mut live = Live::new(View {
            primary: "primary".into(),
            standbys: vec![("standby_1".into(), Some(500)), ("standby_2".into(), None)],
            faulted: "standby_1".into(),
        });
        let cells = [
            ("standby_1", Metric::ReadIops, 499.8),
            ("standby_2", Metric::ReadIops, 12_345.0),
            ("standby_2", Metric::LagBytes, 0.0),
        ];
        assert_eq!(
            shown(&mut live, [row(1.0, Phase::Baseline, &cells)])[1..],
            ["standby_1 500/500 reads/s, lag unknown", "standby_2 12345 reads/s, 0 MB behind"]
        );
    }

    #[test]
    fn the_widest_line_of_one_standby_fits_a_terminal_of_60_columns_beside_its_margin() {
        let lag_bytes = |t: u32| 10e9 - 4.3e6 * f64::from(t);
        let rows = (0..=1_934).map(|t| {
            let cells = [
                ("primary", Metric::Tps, 0.0),
                ("standby", Metric::ReadIops, 12_345.0),
                ("standby", Metric::LagBytes, lag_bytes(t)),
            ];
            row(f64::from(t), Phase::Recovery, &cells)
        });
        let block = shown(&mut live(), rows);
        assert_eq!(block.len(), 3);
        assert!(block.iter().all(|line| line.len() < 50), "{block:?}");
    }
}
