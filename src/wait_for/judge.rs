//! From the rows of a run to `summary.json`: a pure function.

use std::collections::{BTreeMap, BTreeSet};

use super::estimate::{self, Estimate};
use super::latency::ROUND_TRIP;
use super::refusals::Expected;
use super::{Conclusions, Method};
use crate::store::{
    LatencySummary, LoadRatio, LoadSummary, LoadWindow, RefusalSummary, Trial, WaitForInfo, WaitForRows,
    WaitForSummary, WakeReturn, WakeSummary,
};

/// From this share of what its threads can do on, the client is taken to be full.
const FULL_CLIENT: f64 = 0.9;

/// From this share on, the machine is.
const FULL_MACHINE: f64 = 0.95;

/// What a run showed.
#[must_use]
pub fn judge(info: &WaitForInfo, rows: &WaitForRows) -> WaitForSummary {
    let round_trips = times(&rows.latency, ROUND_TRIP, None);
    let empty_round_trip_ms = estimate::median(&round_trips);
    let load: Vec<LoadSummary> = rows.load.iter().map(|window| load(window, info)).collect();
    WaitForSummary {
        server_version: info.server.version.clone(),
        conclusive: Conclusions::of(&info.server.version) == Conclusions::Drawn,
        empty_round_trip_ms,
        latency: latency(&rows.latency, empty_round_trip_ms),
        ratios: ratios(&load),
        load,
        wake: wake(&rows.wake),
        refusals: refusals(info, rows),
    }
}

/// The waits of a method, of one round or of all, milliseconds.
fn times(trials: &[Trial], method: &str, repeat: Option<u32>) -> Vec<f64> {
    let is_of = |trial: &&Trial| trial.method == method && repeat.is_none_or(|repeat| trial.repeat == repeat);
    trials.iter().filter(is_of).map(|trial| trial.wait_ms).collect()
}

/// Every method, all rounds together and then each.
fn latency(trials: &[Trial], round_trip: Option<f64>) -> Vec<LatencySummary> {
    let methods: BTreeSet<&str> = trials.iter().map(|trial| trial.method.as_str()).collect();
    let repeats: BTreeSet<u32> = trials.iter().map(|trial| trial.repeat).collect();
    let parts: Vec<Option<u32>> = std::iter::once(None).chain(repeats.into_iter().map(Some)).collect();
    let of = |method: &str, repeat: Option<u32>| {
        let sorted = estimate::sorted(&times(trials, method, repeat));
        let median = estimate::bootstrap(&sorted, estimate::median)?;
        let mean = estimate::bootstrap(&sorted, estimate::mean)?;
        let share = |share| estimate::quantile(&sorted, share);
        let same =
            |trial: &&Trial| trial.method == method && repeat.is_none_or(|repeat| trial.repeat == repeat);
        let mean_of =
            |of: fn(&Trial) -> f64| estimate::mean(&trials.iter().filter(same).map(of).collect::<Vec<_>>());
        Some(LatencySummary {
            method: method.to_owned(),
            repeat,
            trials: sorted.len(),
            min_ms: share(0.0)?,
            median_ms: median.value,
            median_interval_ms: median.low.zip(median.high).map(|(low, high)| [low, high]),
            from_commit_median_ms: estimate::median(
                &trials
                    .iter()
                    .filter(same)
                    .filter_map(|trial| Some(trial.lsn_ms? + trial.wait_ms))
                    .collect::<Vec<_>>(),
            ),
            mean_ms: mean.value,
            mean_interval_ms: mean.low.zip(mean.high).map(|(low, high)| [low, high]),
            p95_ms: share(0.95)?,
            p99_ms: share(0.99)?,
            max_ms: share(1.0)?,
            queries_mean: mean_of(|trial| f64::from(trial.queries))?,
            slept_mean_ms: mean_of(|trial| trial.slept_ms)?,
            round_trip_share: round_trip.map(|round_trip| round_trip / median.value),
        })
    };
    methods.iter().flat_map(|method| parts.iter().filter_map(move |repeat| of(method, *repeat))).collect()
}

fn load(window: &LoadWindow, info: &WaitForInfo) -> LoadSummary {
    let seconds = window.window_s;
    let completions = window.completions as f64;
    let percent = |cpu_s: Option<f64>| cpu_s.map(|cpu_s| cpu_s / seconds * 100.0);
    LoadSummary {
        method: window.method.clone(),
        workers: window.workers,
        repeat: window.repeat,
        shape: window.shape.clone(),
        rate_per_s: window.rate_per_s,
        completions_per_s: completions / seconds,
        cpu_us_per_completion: window
            .standby_cpu_s
            .filter(|_| window.completions > 0)
            .map(|cpu_s| cpu_s / completions * 1e6),
        cpu_mean_pct: percent(window.standby_cpu_s),
        cpu_peak_pct: window.standby_cpu_peak_pct,
        client_cpu_pct: percent(window.client_cpu_s),
        primary_cpu_pct: percent(window.primary_cpu_s),
        machine_busy_pct: window.machine_busy.map(|busy| busy * 100.0),
        other_cpu_pct: other_cpu_s(window, info.platform.cpus).map(|cpu_s| cpu_s / seconds * 100.0),
        client_bound: client_bound(window, info.client_threads),
        standby_queries_per_s: window.standby_queries as f64 / seconds,
        p50_ms: window.p50_ms,
        p99_ms: window.p99_ms,
        max_ms: window.max_ms,
        wait_p50_ms: window.wait_p50_ms,
        wait_p99_ms: window.wait_p99_ms,
    }
}

/// CPU time of what is neither client nor server. Ticks and cgroup counters do not agree to the last of it: less than
/// none is none.
fn other_cpu_s(window: &LoadWindow, cpus: Option<u64>) -> Option<f64> {
    let busy_s = window.machine_busy? * cpus? as f64 * window.window_s;
    let own_s = window.standby_cpu_s? + window.primary_cpu_s? + window.client_cpu_s?;
    Some((busy_s - own_s).max(0.0))
}

/// Was the client what limited a window: its threads were full, or the machine was and the client took more of it than
/// both servers. None where its CPU time is not known.
fn client_bound(window: &LoadWindow, client_threads: usize) -> Option<bool> {
    let client_s = window.client_cpu_s?;
    if client_s >= FULL_CLIENT * client_threads as f64 * window.window_s {
        return Some(true);
    }
    let servers_s = window.standby_cpu_s? + window.primary_cpu_s?;
    Some(window.machine_busy? >= FULL_MACHINE && client_s > servers_s)
}

/// `wait-for` over `busy-poll`, where a round has both.
fn ratios(load: &[LoadSummary]) -> Vec<LoadRatio> {
    let (wait_for, busy_poll) = (Method::WAIT_FOR.to_string(), Method::BusyPoll.to_string());
    let mut pairs: BTreeMap<(&str, u32), Vec<Comparison<'_>>> = BTreeMap::new();
    for window in load.iter().filter(|window| window.method == wait_for) {
        let same_round = |other: &&LoadSummary| {
            other.method == busy_poll
                && (&other.shape, other.workers, other.repeat, other.rate_per_s)
                    == (&window.shape, window.workers, window.repeat, window.rate_per_s)
        };
        let Some(other) = load.iter().find(same_round) else { continue };
        let both = Comparison { wait_for: window, busy_poll: other };
        pairs.entry((window.shape.as_str(), window.workers)).or_default().push(both);
    }
    let of = |((shape, workers), pairs): ((&str, u32), Vec<Comparison<'_>>)| {
        let ratio = |of: &dyn Fn(&LoadSummary) -> Option<f64>| {
            let ratios: Vec<f64> =
                pairs.iter().filter_map(|pair| Some(of(pair.wait_for)? / of(pair.busy_poll)?)).collect();
            estimate::ratio(&ratios)
        };
        Some(LoadRatio {
            shape: shape.to_owned(),
            workers,
            rounds: pairs.len(),
            completions_per_s: ratio(&|window| Some(window.completions_per_s))?,
            cpu_us_per_completion: ratio(&|window| window.cpu_us_per_completion),
            cpu_mean: ratio(&|window| window.cpu_mean_pct),
        })
    };
    pairs.into_iter().filter_map(of).collect()
}

/// Two windows of one round.
#[derive(Debug, Clone, Copy)]
struct Comparison<'a> {
    wait_for: &'a LoadSummary,
    busy_poll: &'a LoadSummary,
}

fn wake(returns: &[WakeReturn]) -> Vec<WakeSummary> {
    let mut rounds: BTreeMap<u32, BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
    for one in returns {
        rounds.entry(one.waiters).or_default().entry(one.round).or_default().push(one.returned_ms);
    }
    let events: BTreeMap<u32, &str> =
        returns.iter().map(|one| (one.waiters, one.wait_event.as_str())).collect();
    let of = |(waiters, rounds): (u32, BTreeMap<u32, Vec<f64>>)| {
        let sorted: Vec<Vec<f64>> = rounds.values().map(|times| estimate::sorted(times)).collect();
        let firsts: Vec<f64> = sorted.iter().filter_map(|times| times.first().copied()).collect();
        let spreads: Vec<f64> =
            sorted.iter().filter_map(|times| Some(times.last()? - times.first()?)).collect();
        let deviations: Vec<f64> = sorted.iter().filter_map(|times| estimate::deviation(times)).collect();
        Some(WakeSummary {
            waiters,
            rounds: sorted.len(),
            spread_ms: estimate::median(&spreads)?,
            spread_max_ms: spreads.iter().copied().reduce(f64::max)?,
            stddev_ms: estimate::median(&deviations)?,
            first_ms: estimate::median(&firsts)?,
            wait_event: events.get(&waiters).copied().unwrap_or_default().to_owned(),
        })
    };
    rounds.into_iter().filter_map(of).collect()
}

fn refusals(info: &WaitForInfo, rows: &WaitForRows) -> Vec<RefusalSummary> {
    let expected = Expected::of(info.server.version_num);
    rows.refusals
        .iter()
        .map(|row| RefusalSummary {
            case: row.case.clone(),
            role: row.role.clone(),
            no_throw: row.no_throw,
            sqlstate: row.sqlstate.clone(),
            status: row.status.clone(),
            as_expected: expected
                .answer(&row.case, &row.role, row.no_throw)
                .map(|answer| answer == (row.sqlstate.as_str(), row.status.as_str())),
        })
        .collect()
}

/// The figure that an estimate is of, in brackets its interval.
impl std::fmt::Display for Estimate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.low, self.high) {
            (Some(low), Some(high)) => write!(f, "{:.2} ({low:.2} to {high:.2})", self.value),
            _ => write!(f, "{:.2}", self.value),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::wait_for::testing;

    fn summary(rows: WaitForRows) -> WaitForSummary {
        judge(&testing::info("19rc1 (Debian 19~rc1-1)"), &rows)
    }

    #[test]
    fn latency_is_told_of_all_rounds_and_of_each() {
        let mut latency: Vec<Trial> = (1..=10).map(|at| testing::trial("wait-for", f64::from(at))).collect();
        latency[9].repeat = 2;
        latency.push(Trial { lsn_ms: None, ..testing::trial("round-trip", 0.5) });
        let summary = summary(WaitForRows { latency, ..Default::default() });
        assert_eq!(summary.empty_round_trip_ms, Some(0.5));
        let of = |repeat| summary.latency.iter().find(|row| row.method == "wait-for" && row.repeat == repeat);
        let whole = of(None).unwrap();
        assert_eq!((whole.trials, whole.min_ms, whole.median_ms, whole.max_ms), (10, 1.0, 5.5, 10.0));
        assert!((whole.from_commit_median_ms.unwrap() - 5.6).abs() < 1e-9);
        assert!((whole.round_trip_share.unwrap() - 0.5 / 5.5).abs() < 1e-9);
        let [low, high] = whole.median_interval_ms.unwrap();
        assert!(low < 5.5 && 5.5 < high);
        assert_eq!(of(Some(1)).unwrap().trials, 9);
        assert_eq!(of(Some(2)).unwrap().median_interval_ms, None);
        let round_trip = summary.latency.iter().find(|row| row.method == "round-trip").unwrap();
        assert_eq!(round_trip.from_commit_median_ms, None);
    }

    #[test]
    fn cpu_is_per_completion_and_of_one_cpu() {
        let load = testing::load("wait-for", 10, 1);
        assert_eq!((load.completions_per_s, load.cpu_us_per_completion), (500.0, Some(1000.0)));
        assert_eq!((load.cpu_mean_pct, load.client_cpu_pct), (Some(50.0), Some(25.0)));
        // Of two CPUs for two seconds 2.4 s were busy, of which client and servers used 2.
        assert!((load.other_cpu_pct.unwrap() - 20.0).abs() < 1e-9);
        assert_eq!(load.standby_queries_per_s, 1_500.0);
    }

    #[test]
    fn nothing_completed_has_no_cpu_for_each() {
        let window = LoadWindow { completions: 0, ..testing::window("wait-for", 1, 1) };
        let summary = summary(WaitForRows { load: vec![window], ..Default::default() });
        assert_eq!(summary.load[0].cpu_us_per_completion, None);
    }

    #[test]
    fn a_client_is_the_bottleneck_when_it_is_full_or_has_most_of_a_full_machine() {
        let bound = |client_cpu_s, machine_busy| {
            let window = LoadWindow { client_cpu_s, machine_busy, ..testing::window("wait-for", 1, 1) };
            client_bound(&window, 2)
        };
        // The servers used 1.5 s; two threads can use 4.
        assert_eq!(bound(Some(1.4), Some(1.0)), Some(false));
        assert_eq!(bound(Some(1.6), Some(1.0)), Some(true));
        assert_eq!(bound(Some(1.6), Some(0.8)), Some(false));
        assert_eq!(bound(Some(3.7), None), Some(true));
        assert_eq!(bound(Some(1.0), None), None);
        assert_eq!(bound(None, Some(1.0)), None);
    }

    #[test]
    fn a_ratio_is_of_windows_of_one_round_and_of_one_shape() {
        let window = |method: &str, repeat, completions| LoadWindow {
            completions,
            ..testing::window(method, 10, repeat)
        };
        let load = vec![
            window("wait-for", 1, 1_200),
            window("busy-poll", 1, 1_000),
            window("busy-poll", 2, 500),
            window("wait-for", 2, 600),
            window("wait-for", 3, 120),
            window("busy-poll", 3, 100),
            // No other to compare with.
            window("wait-for", 4, 9_000),
            LoadWindow { shape: "open".to_owned(), ..window("busy-poll", 4, 1) },
            LoadWindow { workers: 2, ..window("busy-poll", 4, 1) },
        ];
        let summary = summary(WaitForRows { load, ..Default::default() });
        let [ratio] = summary.ratios.as_slice() else { panic!("{:?}", summary.ratios) };
        assert_eq!((ratio.workers, ratio.rounds), (10, 3));
        assert!((ratio.completions_per_s.value - 1.2).abs() < 1e-9);
        assert!(ratio.completions_per_s.is_clear_of(1.0));
        assert!((ratio.cpu_us_per_completion.unwrap().value - 1.0 / 1.2).abs() < 1e-9);
        assert!((ratio.cpu_mean.unwrap().value - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_spread_is_from_the_first_return_to_the_last() {
        let wake = [
            (1, 1, 5.0),
            (1, 2, 6.0),
            (1, 3, 7.0),
            (2, 1, 1.0),
            (2, 2, 5.0),
            (2, 3, 3.0),
            (3, 1, 2.0),
            (3, 2, 2.0),
            (3, 3, 2.0),
        ]
        .map(|(round, waiter, at)| testing::returned(3, round, waiter, at))
        .to_vec();
        let summary = summary(WaitForRows { wake, ..Default::default() });
        let [row] = summary.wake.as_slice() else { panic!("{:?}", summary.wake) };
        assert_eq!((row.waiters, row.rounds, row.spread_ms, row.spread_max_ms), (3, 3, 2.0, 4.0));
        assert_eq!(row.first_ms, 2.0);
        assert!((row.stddev_ms - (2.0f64 / 3.0).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn nothing_measured_is_nothing_known() {
        let summary = summary(WaitForRows::default());
        assert_eq!(summary.empty_round_trip_ms, None);
        assert!(summary.latency.is_empty() && summary.load.is_empty() && summary.ratios.is_empty());
        assert!(!judge(&testing::info("19beta4"), &WaitForRows::default()).conclusive);
    }
}
