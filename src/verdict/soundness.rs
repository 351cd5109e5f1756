//! What would make a run untrustworthy, whatever its figures.

use crate::human;
use crate::store::{EventKind, Metric, Phase, Row};

use super::Finding::{self, Disqualifies, Limits};
use super::case::{self, Case};
use super::silence;
use super::window::{Edges, Lost, Window};

/// How many rows in a row may lack the load's report.
const SILENT_ROWS: usize = 5;
/// The share of rows after the fault that may be missing, or lack the load's report.
const MISSING_SHARE: f64 = 0.1;
/// How far above its cap a disk may read over a long time.
const CAP_SLACK: f64 = 1.05;
/// How long after its row's moment a counter may have been read: the sampler waits for it that long, seconds.
const LATE_S: f64 = 0.8;
/// The stretch over which a cap is held to its word, seconds.
const CAP_WINDOW_S: f64 = 30.0;
/// The shortest stretch over which it can be: the throttle lets a burst through when it starts, seconds.
const SHORTEST_CAP_WINDOW_S: f64 = 5.0;
/// How far above the cap a probe may have measured it.
const PROOF_SLACK: f64 = 1.1;
/// How far the wall clock may run from the run's own between two rows, seconds.
const CLOCK_STEP_S: f64 = 2.0;

/// Everything of that kind that the run shows.
pub(super) fn findings(case: &Case) -> Vec<Finding> {
    let mut findings: Vec<Finding> = [
        uncapped(case),
        no_fault(case),
        not_verified(case),
        no_last_word(case),
        cap_unproved(case),
        cap_exceeded(case),
        cap_unseen(case),
        load_silent(case),
        rows_missing(case),
        clock_stepped(case),
    ]
    .into_iter()
    .flatten()
    .collect();
    findings.extend(disqualified(case));
    findings.extend(deadlines_before_the_fault(case));
    findings.extend(replay_paused(case));
    findings.extend(away_before_the_fault(case));
    findings.extend(restarted(case));
    findings
}

fn uncapped(case: &Case) -> Option<Finding> {
    case.run
        .is_uncapped()
        .then(|| Limits("the disks were not capped: this says nothing of a server whose disk is".to_owned()))
}

fn no_fault(case: &Case) -> Option<Finding> {
    // Where the lab only watched, what is not marked is looked for.
    if case.fault().is_some() || case.run.observed().is_some() {
        return None;
    }
    Some(Disqualifies(match case.first(EventKind::Interrupted) {
        Some(event) => format!("the run was interrupted before the fault: {}", event.detail),
        None => "the run ended before the fault was injected".to_owned(),
    }))
}

fn not_verified(case: &Case) -> Option<Finding> {
    // A mark is the user's word.
    let fault = case.fault().filter(|_| case.run.observed().is_none())?;
    case.first(EventKind::FaultVerified).is_none().then(|| {
        Disqualifies(format!("nothing confirms that the fault did what it should: {}", fault.detail))
    })
}

/// A run that ended as it should, whatever it showed, has looked at the servers' logs and said so. Nothing is known
/// of one that was killed, or that could no longer write.
fn no_last_word(case: &Case) -> Option<Finding> {
    let has_last_word = case.run.has_last_word() && case.run.observed().is_none();
    let concluded = !has_last_word || case.first(EventKind::Concluded).is_some();
    (!concluded && case.first(EventKind::Disqualified).is_none()).then(|| {
        Disqualifies(
            "the run has no last word: the lab was killed, or its own disk was full; nobody looked at the servers' logs"
                .to_owned(),
        )
    })
}

/// The probe before the run is what shows that the cap was there at all.
fn cap_unproved(case: &Case) -> Option<Finding> {
    let cap = case.read_iops_cap().filter(|_| !case.run.is_uncapped())?;
    match case.cap_proof() {
        Some(proof) if proof.read_iops <= PROOF_SLACK * cap as f64 => None,
        Some(proof) => Some(Disqualifies(format!(
            "the cap was not there: before the run {} read {} under a cap of {cap}/s",
            case.faulted(),
            human::rate(proof.read_iops)
        ))),
        // Runs of layout 1 were proved, or by hand.
        None => case.run.has_last_word().then(|| {
            Disqualifies(format!("nothing proves the cap of {}: run.json has no probe of it", case.faulted()))
        }),
    }
}

fn disqualified(case: &Case) -> impl Iterator<Item = Finding> {
    case.events
        .iter()
        .filter(|event| event.kind == EventKind::Disqualified)
        .map(|event| Disqualifies(event.detail.clone()))
}

/// A deadline after the fault shows in how the hang ended.
fn deadlines_before_the_fault(case: &Case) -> impl Iterator<Item = Finding> {
    let fault_s = case.fault().map_or(f64::INFINITY, |fault| fault.t_s);
    case.events
        .iter()
        .filter(move |event| event.kind == EventKind::Deadline && event.t_s < fault_s)
        .map(|event| Limits(format!("a deadline passed before the fault: {}", event.detail)))
}

fn cap_exceeded(case: &Case) -> Option<Finding> {
    let cap = case.read_iops_cap()? as f64;
    let reads = case.counter(case.faulted(), &Metric::ReadsTotal);
    // A short run is held to it over all of its length.
    let Window { from_s, to_s } = case.experiment();
    let stretch_s = CAP_WINDOW_S.min((to_s - from_s).floor() - 2.0).max(SHORTEST_CAP_WINDOW_S);
    let fastest = reads.fastest(case.experiment(), stretch_s)?;
    (fastest > cap * (CAP_SLACK + LATE_S / stretch_s)).then(|| {
        Disqualifies(format!(
            "the cap did not hold: {} read {} over {} under a cap of {cap}/s",
            case.faulted(),
            human::rate(fastest),
            human::seconds(stretch_s)
        ))
    })
}

/// A cap whose disk was not watched from the update to the end may have been lifted meanwhile.
fn cap_unseen(case: &Case) -> Option<Finding> {
    case.read_iops_cap()?;
    case.fault()?;
    match case.counter(case.faulted(), &Metric::ReadsTotal).growth(case.experiment(), Edges::Around) {
        // One that fell is told as a restart.
        Ok(_) | Err(Lost::Backwards { .. }) => None,
        Err(lost) => Some(Disqualifies(format!(
            "whether the cap held is not known: {} of {} {lost}",
            Metric::ReadsTotal.name(),
            case.faulted()
        ))),
    }
}

/// A paused standby replays nothing, and with `synchronous_commit = remote_apply` any of them can hold a commit.
///
/// Nobody minds a pause of servers that were only watched, unless commits stood still in it.
fn replay_paused(case: &Case) -> impl Iterator<Item = Finding> {
    let window = match case.run.observed() {
        Some(_) => case.long_hang().map(|hang| hang.window()),
        None => Some(Window { to_s: f64::INFINITY, ..case.experiment() }),
    };
    let minded = |name: &str| case.run.observed().is_none() || name == case.faulted();
    case.run.standbys().filter(move |node| minded(&node.name)).filter_map(move |node| {
        let window = window?;
        let paused = |row: &&Row| row.number(&node.name, &Metric::ReplayPaused) == Some(1.0);
        let mut rows = case.rows_after(window.from_s).filter(|row| row.t_s <= window.to_s).filter(paused);
        let first = rows.next()?;
        Some(Disqualifies(format!(
            "replay was paused on {} from {} on, in {} rows",
            node.name,
            human::moment(first.t_s),
            rows.count() + 1
        )))
    })
}

/// A walreceiver that was away between the update and the fault has come back by itself, and replayed before it did:
/// what the fault did then is not what it would have done.
fn away_before_the_fault(case: &Case) -> impl Iterator<Item = Finding> {
    let from_s = case.experiment().from_s;
    // Of servers that were only watched, a mark is no fault of the lab's.
    let fault = case.fault().filter(|_| case.run.observed().is_none());
    let to_s = fault.map_or(f64::NEG_INFINITY, |fault| fault.t_s);
    case.run.standbys().filter_map(move |node| {
        let away = |row: &&Row| row.number(&node.name, &Metric::WalreceiverStreaming) == Some(0.0);
        // The fault takes effect a moment before the lab knows that it did, and notes it.
        let before = |row: &&Row| row.t_s < to_s && row.phase < Phase::Recovery;
        let first = case.rows_after(from_s).take_while(before).find(away)?;
        Some(Disqualifies(format!(
            "the walreceiver of {} did not stream at {}, before the fault, and came back by itself",
            node.name,
            human::moment(first.t_s)
        )))
    })
}

/// Without the load's reports nobody knows whether there were commits.
fn load_silent(case: &Case) -> Option<Finding> {
    if case.run.observed().is_some() {
        return silence::waiters_hidden(case);
    }
    let mut rows = 0_usize;
    let mut silent = 0_usize;
    let mut in_a_row = 0_usize;
    let mut longest = 0_usize;
    for row in case.rows_after(case.fault()?.t_s) {
        rows += 1;
        if row.number(case.run.primary(), &Metric::Tps).is_some() {
            in_a_row = 0;
        } else {
            silent += 1;
            in_a_row += 1;
            longest = longest.max(in_a_row);
        }
    }
    (longest > SILENT_ROWS || silent as f64 > (MISSING_SHARE * rows as f64).max(SILENT_ROWS as f64)).then(|| {
        Disqualifies(format!(
            "the load did not report in {silent} of {rows} rows after the fault, {longest} of them in a row: see the log of pgbench"
        ))
    })
}

fn rows_missing(case: &Case) -> Option<Finding> {
    let fault_s = case.judged_from_s()?;
    let rows = &case.timeline.rows;
    let (_, from_fault) =
        rows.split_at_checked(rows.partition_point(|row| row.t_s <= fault_s).saturating_sub(1))?;
    let missed = case::missed(from_fault);
    let ticks = missed + from_fault.len() as u64;
    (missed as f64 > MISSING_SHARE * ticks as f64).then(|| {
        Disqualifies(format!(
            "{missed} of {ticks} rows {} are missing: the machine did not keep up with the sampling",
            if case.fault().is_some() { "after the fault" } else { "of the record" },
        ))
    })
}

/// Counters of a server that fall mean that it was started anew, or its statistics reset, other than by the fault.
fn restarted(case: &Case) -> impl Iterator<Item = Finding> {
    case.run.nodes.iter().filter_map(|node| {
        let (t_s, metric) = [
            Metric::WalLsn,
            Metric::ReplayLsn,
            Metric::prefetched(),
            Metric::StartupReadsTotal,
            Metric::CpuSecondsTotal,
            Metric::ReadsTotal,
        ]
        .into_iter()
        .filter_map(|metric| {
            let counter = case.counter(&node.name, &metric);
            Some((counter.fall(case.experiment())?, metric))
        })
        .min_by(|one, other| one.0.total_cmp(&other.0))?;
        let what = format!(
            "{} of {} went backwards at {}: the server was started anew or its statistics were reset",
            metric.name(),
            node.name,
            human::moment(t_s)
        );
        // Servers that were only watched may be started anew; what cannot be counted over it is null.
        Some(if case.run.observed().is_some() { Limits(what) } else { Disqualifies(what) })
    })
}

/// The servers' own timeouts and delays go by the wall clock: a step of it can end a walreceiver that nothing was
/// wrong with, or keep one waiting.
fn clock_stepped(case: &Case) -> Option<Finding> {
    let Window { from_s, to_s } = case.experiment();
    let rows = &case.timeline.rows;
    rows.iter()
        .zip(rows.iter().skip(1))
        .filter(|(before, after)| before.t_s >= from_s && after.t_s <= to_s)
        .map(|(before, after)| (after.t_s, (after.unix_s - before.unix_s) - (after.t_s - before.t_s)))
        .find(|(_, step)| step.abs() > CLOCK_STEP_S)
        .map(|(t_s, step)| {
            let moment = human::moment(t_s);
            match case.run.observed() {
                // Their machines have clocks of their own.
                Some(_) => Limits(format!(
                    "the wall clock of the lab's machine stepped by {step:+.1} s at {moment}: from there on the times in \
                     the servers' logs are not those of the timeline"
                )),
                None => Disqualifies(format!(
                    "the wall clock stepped by {step:+.1} s at {moment}: the servers' timeouts and delays go by it"
                )),
            }
        })
}
