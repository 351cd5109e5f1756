//! What would help, and what it costs.

use serde::Serialize;

use super::rule::Rule;
use crate::human;

/// Something that would help, here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remedy {
    /// Which.
    pub id: RemedyId,
    /// What to do, in one line.
    pub action: String,
    /// What it costs, or where it does not help.
    pub price: String,
}

/// Which remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RemedyId {
    /// `recovery_prefetch = off`
    PrefetchOff,
    /// `maintenance_io_concurrency = 0`
    ConcurrencyZero,
    /// A standby that is there already counts as well.
    CountAnother,
    /// One more standby.
    AddStandby,
    /// More IOPS for the standby.
    MoreIops,
    /// The delayed standby does not count.
    DoNotCountDelayed,
    /// Replay goes on.
    ResumeReplay,
}

/// What of a standby decides which remedies there are.
#[derive(Debug, Clone)]
pub struct Situation<'a> {
    /// Does it prefetch.
    pub prefetches: bool,
    /// Are page images in the WAL.
    pub page_images: bool,
    /// Is replay paused.
    pub paused: bool,
    /// Does it replay late on purpose.
    pub delayed: bool,
    /// Its name at the primary.
    pub name: &'a str,
    /// Whom commits wait for.
    pub rule: &'a Rule,
    /// A standby that streams and does not count.
    pub idle: Option<&'a str>,
    /// Reads of the worst backlog.
    pub worst_reads: Option<u64>,
    /// IOPS that were given.
    pub iops: Option<u64>,
    /// For how long commits may hang, seconds.
    pub tolerated_s: f64,
}

impl Situation<'_> {
    /// All that would help.
    #[must_use]
    pub fn remedies(&self) -> Vec<Remedy> {
        [
            self.resume(),
            self.do_not_count_delayed(),
            self.prefetch_off(),
            self.concurrency_zero(),
            self.another_standby(),
            self.more_iops(),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn resume(&self) -> Option<Remedy> {
        self.paused.then(|| Remedy {
            id: RemedyId::ResumeReplay,
            action: "on the standby: SELECT pg_wal_replay_resume()".to_owned(),
            price: "queries that need the standby's present state lose it; while replay is paused its walreceiver \
                    does not come back once it is gone"
                .to_owned(),
        })
    }

    fn do_not_count_delayed(&self) -> Option<Remedy> {
        self.delayed.then(|| Remedy {
            id: RemedyId::DoNotCountDelayed,
            action: format!(
                "take {} out of synchronous_standby_names, or set recovery_min_apply_delay = 0 on it",
                self.name
            ),
            price:
                "without the delay it no longer protects against mistakes; outside of the rule it no longer \
                    protects commits"
                    .to_owned(),
        })
    }

    fn prefetch_off(&self) -> Option<Remedy> {
        self.prefetches.then(|| Remedy {
            id: RemedyId::PrefetchOff,
            action: "on the standby: ALTER SYSTEM SET recovery_prefetch = off; SELECT pg_reload_conf()".to_owned(),
            price: if self.page_images {
                "pages whose image is not in the WAL that is replayed are read one by one, when replay needs them; \
                 after a checkpoint they are few"
            } else {
                "full_page_writes is off, so replay needs the pages: it reads them one by one, with the kernel's \
                 read-ahead where they follow each other; in random order nothing is won"
            }
            .to_owned(),
        })
    }

    fn concurrency_zero(&self) -> Option<Remedy> {
        (self.prefetches && self.page_images).then(|| Remedy {
            id: RemedyId::ConcurrencyZero,
            action: "where recovery_prefetch cannot be set, on the standby: ALTER SYSTEM SET \
                     maintenance_io_concurrency = 0; SELECT pg_reload_conf()"
                .to_owned(),
            price: "as recovery_prefetch = off; and VACUUM and ANALYZE prefetch no more on that server, should it become \
                    the primary"
                .to_owned(),
        })
    }

    fn another_standby(&self) -> Option<Remedy> {
        if self.delayed || self.paused {
            return None;
        }
        let limit = "a fault that ends streaming to all of them, as one of the primary's network, stops commits all \
                     the same";
        Some(match self.idle {
            Some(idle) => Remedy {
                id: RemedyId::CountAnother,
                action: format!(
                    "on the primary: ALTER SYSTEM SET synchronous_standby_names = '{}'; SELECT pg_reload_conf()",
                    self.rule.with(idle).to_string().replace('\'', "''")
                ),
                price: format!("which standby has a commit is no longer known beforehand; {limit}"),
            },
            None => Remedy {
                id: RemedyId::AddStandby,
                action: format!(
                    "one more standby, and synchronous_standby_names = '{}'",
                    self.rule.with("another").to_string().replace('\'', "''")
                ),
                price: format!("another server and its traffic; {limit}"),
            },
        })
    }

    fn more_iops(&self) -> Option<Remedy> {
        let reads = self.worst_reads.filter(|_| self.prefetches || !self.page_images)?;
        let needed = (reads as f64 / self.tolerated_s).ceil() as u64;
        (needed > self.iops.unwrap_or(0)).then(|| Remedy {
            id: RemedyId::MoreIops,
            action: format!(
                "{} IOPS for the standby's disk keep the worst case below {}",
                human::count(needed),
                human::seconds(self.tolerated_s)
            ),
            price: "paid for always, needed for minutes".to_owned(),
        })
    }
}
