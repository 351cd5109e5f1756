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
