//! From facts to verdicts: a pure function.

use super::assessment::{Assessment, Commits, NotVisible, StandbyAssessment, Verdict};
use super::commits::{Synchrony, synchrony};
use super::describe::{blank, describe, primary};
use super::facts::{Asked, Facts, Primary, ReplaySample, Seen, Standby};
use super::forecast::{
    BacklogFrom, Density, Forecast, HangFrom, Inputs, Pace, latest, seconds_at, worst_backlog,
};
use super::reasons;
use super::remedy::{Remedy, Situation};
use crate::human;

/// IOPS that disks commonly have, for a reader who has not said theirs: small and large cloud volumes.
pub const COMMON_IOPS: [u64; 5] = [500, 1_000, 3_000, 6_000, 16_000];

/// What the user has said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// Reads a second that the standbys' disks allow.
    pub iops: Option<u64>,
    /// For how long commits may hang, seconds.
    pub tolerated_s: f64,
}

/// What the facts say.
#[must_use]
pub fn judge(facts: &Facts, terms: &Terms) -> Assessment {
    let synchrony = synchrony(&facts.primary, &facts.standbys);
    let mut standbys: Vec<StandbyAssessment> = facts
        .standbys
        .iter()
        .zip(&synchrony.asked)
        .map(|(asked, name)| {
            Judge { primary: &facts.primary, synchrony: &synchrony, terms }.asked(asked, name)
        })
        .collect();
    standbys.extend(synchrony.others.iter().map(|name| not_asked(name, &synchrony)));
    let verdict = standbys.iter().map(|standby| standby.verdict).max();
    // Whom no commit waits for can hold none up.
    let nobody = if synchrony.nobody_waits().is_some() { Verdict::NotExposed } else { Verdict::Unknown };
    Assessment {
        schema: 1,
        verdict: verdict.unwrap_or(nobody),
        tolerated_hang_s: terms.tolerated_s,
        iops: terms.iops,
        notes: notes(&facts.primary, &standbys, &synchrony, terms.iops),
        primary: primary(&facts.primary, &synchrony),
        standbys,
    }
}

struct Judge<'a> {
    primary: &'a Primary,
    synchrony: &'a Synchrony,
    terms: &'a Terms,
}

impl Judge<'_> {
    fn asked(&self, asked: &Asked, name: &Seen<String>) -> StandbyAssessment {
        let shown = name.value().unwrap_or(&asked.place);
        let commits = self.synchrony.without(name.value().map(String::as_str));
        match &asked.standby {
            Seen::Value(standby) => self.standby(standby, shown, &commits),
            Seen::Hidden(why) => {
                let mut blank = blank(shown, &commits);
                blank.place = Some(asked.place.clone());
                blank.not_visible.push(NotVisible::new("the standby", why));
                (blank.verdict, blank.why) = by_commits_alone(&commits)
                    .unwrap_or_else(|| (Verdict::Unknown, format!("it cannot be asked: {why}")));
                blank
            }
        }
    }

    fn standby(&self, standby: &Standby, name: &str, commits: &Seen<Commits>) -> StandbyAssessment {
        let mut found = blank(name, commits);
        describe(&mut found, standby);
        let latest = latest(&standby.samples);
        found.lag_bytes = latest.and_then(|sample| self.backlog(sample));
        found.pace = Pace::of(standby);
        let inputs = self.inputs(standby, &found);
        found.now = found.lag_bytes.map(|bytes| inputs.now(bytes));
        found.worst = worst_backlog(self.primary, standby, found.lag_bytes).map(|(bytes, from)| {
            match (&found.now, from) {
                (Some(now), BacklogFrom::Now) => now.clone(),
                _ => inputs.worst(bytes, from),
            }
        });
        // While replay is paused no backlog ends.
        if found.replay_paused == Some(true) {
            for forecast in [&mut found.now, &mut found.worst].into_iter().flatten() {
                (forecast.hang_s, forecast.hang_from) = (None, None);
                forecast.formula += "; replay is paused: it takes until it is resumed";
            }
        }
        let of = |forecast: &Option<Forecast>| {
            forecast.as_ref().map(|now| (now.reads, now.hang_s)).unwrap_or_default()
        };
        (found.predicted_reads, found.predicted_hang_s) = of(&found.now);
        (found.worst_reads, found.worst_hang_s) = of(&found.worst);
        (found.verdict, found.why) = match by_commits_alone(commits) {
            Some(verdict) => verdict,
            None => self.by_forecast(&found, commits),
        };
        if found.verdict != Verdict::NotExposed {
            found.remedies = self.remedies(&found);
        }
        found
    }

    /// WAL that the standby has and has not replayed. One that has had no walreceiver since its start does not say how
    /// much it has: then all that the primary has is taken.
    fn backlog(&self, sample: &ReplaySample) -> Option<u64> {
        let end = sample.receive_lsn.or_else(|| latest(&self.primary.samples).map(|wal| wal.lsn))?;
        Some(end.saturating_sub(sample.replay_lsn?))
    }

    fn inputs(&self, standby: &Standby, found: &StandbyAssessment) -> Inputs {
        let prefetches = found.prefetches.unwrap_or(true);
        let has_images = self.page_images() == Some(true);
        let of_interval =
            found.pace.as_ref().and_then(|pace| Density::of_interval(pace, prefetches, self.terms.iops));
        let since_reset = latest(&standby.samples)
            .zip(latest(&self.primary.samples))
            .filter(|_| prefetches && has_images)
            .and_then(|(replay, wal)| Density::since_reset(replay, wal));
        let alone = (prefetches && has_images).then(Density::images_alone);
        let densities = [of_interval, since_reset, alone];
        Inputs {
            pace: found.pace,
            density: densities.into_iter().flatten().next(),
            worst_density: densities
                .into_iter()
                .flatten()
                .max_by(|a, b| a.reads_per_byte.total_cmp(&b.reads_per_byte)),
            delay_s: found.apply_delay_s.unwrap_or(0.0),
            iops: self.terms.iops,
        }
    }

    fn page_images(&self) -> Option<bool> {
        self.primary.identity.setting("full_page_writes").map(|setting| setting == "on")
    }

    /// What commits would do is not settled by the rule alone: how long then would they hang.
    fn by_forecast(&self, found: &StandbyAssessment, commits: &Seen<Commits>) -> (Verdict, String) {
        let tolerated_s = self.terms.tolerated_s;
        let long = |forecast: &Option<Forecast>| self.is_long(forecast.as_ref());
        let (now, worst) = (long(&found.now), long(&found.worst));
        let is_paused = found.replay_paused == Some(true);
        if commits.value() == Some(&Commits::HangNow) {
            return (Verdict::Exposed, "too few that count stream: commits hang already".to_owned());
        }
        if let Seen::Hidden(why) = commits {
            // A standby that would be back at once holds nothing up, whatever the rule.
            return if worst == Some(false) && !is_paused {
                (Verdict::NotExposed, reasons::short(found, tolerated_s))
            } else {
                (Verdict::Unknown, format!("whether commits wait for it is not visible: {why}"))
            };
        }
        if is_paused {
            return (
                Verdict::Exposed,
                "its replay is paused: once its walreceiver is gone it does not come back".to_owned(),
            );
        }
        if now == Some(true) {
            return (Verdict::Exposed, reasons::long_now(found));
        }
        match (found.prefetches, self.page_images(), worst) {
            (_, _, Some(true)) => (Verdict::Exposed, reasons::long_at_worst(found)),
            (_, _, Some(false)) => (Verdict::NotExposed, reasons::short(found, tolerated_s)),
            (Some(false), Some(true), None) if now == Some(false) => {
                let why = match found.recovery_prefetch.as_deref() {
                    None => "its version does not prefetch in recovery",
                    Some("off") => "recovery_prefetch is off",
                    Some(_) => "maintenance_io_concurrency is 0, so it does not prefetch",
                };
                let rest = "replay needs no page whose image is in the WAL, and little is left to replay";
                (Verdict::NotExposed, format!("{why}; {rest}"))
            }
            (_, Some(false), None) => (
                Verdict::Unknown,
                "full_page_writes is off: replay reads the pages it changes, and how many those of a backlog are \
                 shows only while there is one"
                    .to_owned(),
            ),
            _ => (Verdict::Unknown, reasons::not_known(found, tolerated_s)),
        }
    }

    /// Does it take longer than is tolerated; without IOPS, at the fewest that are common.
    fn is_long(&self, forecast: Option<&Forecast>) -> Option<bool> {
        let forecast = forecast?;
        let reckoned = forecast.hang_s.or_else(|| seconds_at(forecast.reads?, COMMON_IOPS[0]));
        reckoned.map(|seconds| seconds > self.terms.tolerated_s)
    }

    fn remedies(&self, found: &StandbyAssessment) -> Vec<Remedy> {
        let Some(rule) = self.synchrony.rule() else { return vec![] };
        Situation {
            prefetches: found.prefetches.unwrap_or(true),
            page_images: self.page_images().unwrap_or(true),
            paused: found.replay_paused == Some(true),
            delayed: found.apply_delay_s.is_some_and(|delay_s| delay_s > self.terms.tolerated_s),
            name: &found.name,
            rule,
            idle: self.synchrony.idle.as_deref(),
            worst_reads: found.worst_reads,
            iops: self.terms.iops,
            tolerated_s: self.terms.tolerated_s,
        }
        .remedies()
    }
}

/// What the rule alone settles.
fn by_commits_alone(commits: &Seen<Commits>) -> Option<(Verdict, String)> {
    match commits.value()? {
        Commits::DoNotWait => Some((Verdict::NotExposed, "no commit waits for it".to_owned())),
        Commits::GoOn => Some((
            Verdict::NotExposed,
            "commits go on without it: enough others that count stream".to_owned(),
        )),
        Commits::Hang | Commits::HangNow => None,
    }
}

/// A standby that only the primary knows.
fn not_asked(name: &str, synchrony: &Synchrony) -> StandbyAssessment {
    let commits = synchrony.without(Some(name));
    let mut found = blank(name, &commits);
    found
        .not_visible
        .push(NotVisible::new("the standby", "it was not asked: give its connection with --standby"));
    (found.verdict, found.why) = by_commits_alone(&commits).unwrap_or_else(|| {
        (
            Verdict::Unknown,
            "commits wait for it, and it was not asked: give its connection with --standby".to_owned(),
        )
    });
    found
}

/// What limits all of this.
fn notes(
    primary: &Primary,
    standbys: &[StandbyAssessment],
    synchrony: &Synchrony,
    iops: Option<u64>,
) -> Vec<String> {
    let mut notes = synchrony.notes.clone();
    let reckons_reads = standbys.iter().any(|standby| standby.worst_reads.is_some_and(|reads| reads > 0));
    let reckons = |from: HangFrom| {
        standbys.iter().any(|standby| {
            [&standby.now, &standby.worst]
                .into_iter()
                .flatten()
                .any(|forecast| forecast.hang_from == Some(from))
        })
    };
    if reckons(HangFrom::Iops) {
        notes.push(
            "reads / IOPS takes every prefetch for a read of the disk, where in the lab's runs there were 6 to 14 % more \
             prefetches than reads; and the WAL itself to be in memory"
                .to_owned(),
        );
    }
    if standbys.iter().any(|standby| standby.commits == Some(Commits::GoOn)) {
        notes.push(
            "no rule helps when streaming ends to all standbys at once, as when the primary restarts: then commits \
             hang until enough of them have replayed what they have"
                .to_owned(),
        );
    }
    if iops.is_none() && reckons_reads {
        notes.push(format!(
            "without --iops the worst case is judged at {} IOPS, which is little for a cloud volume",
            human::count(COMMON_IOPS[0])
        ));
    }
    let is_compressed = primary.identity.setting("wal_compression").is_some_and(|setting| setting != "off");
    if is_compressed {
        notes.push(
            "wal_compression is on: page images are smaller, so the same WAL may hold several times the reads that \
             the worst case counts"
                .to_owned(),
        );
    }
    if standbys.iter().any(|standby| {
        standby.worst.as_ref().is_some_and(|worst| worst.bytes_from == BacklogFrom::MaxWalSize)
    }) {
        notes.push(
            "max_wal_size is no limit to what a standby has left to replay: a longer burst of writes makes a larger \
             backlog"
                .to_owned(),
        );
    }
    notes
}
