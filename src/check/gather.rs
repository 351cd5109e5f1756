//! Asking the servers: read-only, once before an interval and once after, with an end to every wait.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{Instant, sleep_until, timeout};

use super::facts::{Asked, Facts, Identity, Primary, ReplaySample, Seen, Standby};
use super::questions::{self, SETTINGS};
use crate::human::in_full;
use crate::postgres::{Connection, Endpoint, PostgresError, StandbyInquiry};
use crate::profile::Settings;
use crate::store::{Cell, Metric};

/// How long it may take to connect to a server and to hear what it says of itself.
const INTRODUCTION: Duration = Duration::from_secs(5);

/// Of which, to connect.
const CONNECTING: Duration = Duration::from_secs(4);

/// How long the questions after the interval may take.
const SECOND_LOOK: Duration = Duration::from_secs(4);

/// How long one statement may run on a server.
pub const STATEMENT_TIMEOUT: Duration = Duration::from_secs(3);

/// The first version that is understood.
const OLDEST: u32 = 140_000;

/// Why nothing can be said of a cluster.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    /// The primary does not answer.
    #[error("the primary cannot be asked")]
    Primary(#[source] PostgresError),
    /// The primary does not answer in time.
    #[error("the primary at {place} cannot be asked: {doing}: no answer within {waited:?}")]
    Silent {
        /// Where it is.
        place: String,
        /// What was asked.
        doing: &'static str,
        /// How long it was waited.
        waited: Duration,
    },
    /// It is a standby.
    #[error("{0} is in recovery: it is a standby, give it with --standby and its primary with --primary")]
    NotThePrimary(String),
    /// A server that was given as a standby is none.
    #[error("{0} is not in recovery: it is no standby")]
    NotAStandby(String),
    /// A server that was given as a standby is one of another cluster.
    #[error("{standby} is no standby of {primary}: their system identifiers differ")]
    OfAnotherCluster {
        /// The standby.
        standby: String,
        /// The primary.
        primary: String,
    },
    /// A server is too old.
    #[error("{place}: PostgreSQL {version} is not known here: 14 and newer are")]
    TooOld {
        /// Where it is.
        place: String,
        /// Its version.
        version: String,
    },
}

/// Asks the primary and these standbys, side by side.
///
/// A standby that does not answer costs what it would have said; without the primary there is nothing to say. It
/// takes the interval and at most nine seconds more.
///
/// # Errors
/// When the primary does not answer, or a server is not what it was given as.
pub async fn gather(
    primary: &Endpoint,
    standbys: &[Endpoint],
    interval: Duration,
) -> Result<Facts, GatherError> {
    let clock = Instant::now();
    let (primary_met, standbys_met) = tokio::join!(
        timeout(INTRODUCTION, meet_primary(primary, clock)),
        join_all(standbys.iter().map(|standby| meet_standby_in_time(standby, clock)))
    );
    let silent = |doing, waited| GatherError::Silent { place: primary.place(), doing, waited };
    let (connection, mut facts) = primary_met.map_err(|_| silent("who it is", INTRODUCTION))??;
    check_roles(&facts, &standbys_met)?;

    sleep_until(Instant::now() + interval).await;
    let (second, standbys) = tokio::join!(
        timeout(SECOND_LOOK, questions::wal(&connection, clock)),
        join_all(standbys_met.into_iter().map(|met| look_again(met, clock)))
    );
    facts.samples.1 = second.unwrap_or_else(|_| no_answer(SECOND_LOOK));
    Ok(Facts { primary: facts, standbys })
}

/// A standby that was connected to, or not.
struct Met {
    place: String,
    standby: Seen<(Connection, StandbyInquiry, Standby)>,
}

async fn meet_standby_in_time(endpoint: &Endpoint, clock: Instant) -> Met {
    let standby = match timeout(INTRODUCTION, meet_standby(endpoint, clock)).await {
        Ok(Ok(met)) => Seen::Value(met),
        Ok(Err(error)) => Seen::Hidden(in_full(&error)),
        Err(_) => no_answer(INTRODUCTION),
    };
    Met { place: endpoint.place(), standby }
}

async fn look_again(met: Met, clock: Instant) -> Asked {
    let standby = match met.standby {
        Seen::Value((connection, inquiry, mut standby)) => {
            let again = timeout(SECOND_LOOK, replay(&connection, &inquiry, clock)).await;
            standby.samples.1 = again.unwrap_or_else(|_| no_answer(SECOND_LOOK));
            Seen::Value(standby)
        }
        Seen::Hidden(why) => Seen::Hidden(why),
    };
    Asked { place: met.place, standby }
}

fn no_answer<T>(waited: Duration) -> Seen<T> {
    Seen::Hidden(format!("the server did not answer within {waited:?}"))
}

/// What of a statement's failure is of use to a reader.
pub(super) fn hidden<T>(error: &PostgresError) -> Seen<T> {
    Seen::Hidden(in_full(error))
}

async fn meet_primary(endpoint: &Endpoint, clock: Instant) -> Result<(Connection, Primary), GatherError> {
    let connection = Connection::open_once(endpoint, CONNECTING).await.map_err(GatherError::Primary)?;
    let identity = identity(&connection, endpoint).await.map_err(GatherError::Primary)?;
    if identity.version_num < OLDEST {
        return Err(GatherError::TooOld { place: identity.place, version: identity.version });
    }
    if identity.in_recovery {
        return Err(GatherError::NotThePrimary(identity.place));
    }
    let facts = Primary {
        identity,
        walsenders: questions::walsenders(&connection).await,
        waiters: questions::waiters(&connection).await,
        slots: questions::slots(&connection).await,
        samples: (
            questions::wal(&connection, clock).await,
            Seen::Hidden("it was not asked again".to_owned()),
        ),
    };
    Ok((connection, facts))
}

async fn meet_standby(
    endpoint: &Endpoint,
    clock: Instant,
) -> Result<(Connection, StandbyInquiry, Standby), PostgresError> {
    let connection = Connection::open_once(endpoint, CONNECTING).await?;
    let identity = identity(&connection, endpoint).await?;
    let inquiry = StandbyInquiry::new(endpoint.name(), identity.version_num);
    let standby = Standby {
        name: questions::name_of_standby(&connection, &identity).await,
        redo_lsn: questions::redo_lsn(&connection).await,
        samples: (
            replay(&connection, &inquiry, clock).await,
            Seen::Hidden("it was not asked again".to_owned()),
        ),
        identity,
    };
    Ok((connection, inquiry, standby))
}

async fn identity(connection: &Connection, endpoint: &Endpoint) -> Result<Identity, PostgresError> {
    let sql = "SELECT current_setting('server_version'), current_setting('server_version_num')::int8,
                      pg_is_in_recovery()";
    let rows = connection.query("its version", sql, &[]).await?;
    let row = rows.first();
    let rows = connection.query("its settings", SETTINGS, &[]).await?;
    let settings: Settings = rows
        .iter()
        .map(|row| {
            let (name, value, unit): (String, String, Option<String>) = (row.get(0), row.get(1), row.get(2));
            (name, in_base_units(&value, unit.as_deref()))
        })
        .collect();
    Ok(Identity {
        place: endpoint.place(),
        version: row.map(|row| row.get(0)).unwrap_or_default(),
        version_num: row.and_then(|row| u32::try_from(row.get::<_, i64>(1)).ok()).unwrap_or_default(),
        in_recovery: row.is_some_and(|row| row.get(2)),
        system_identifier: questions::system_identifier(connection).await,
        settings,
    })
}

/// In bytes or milliseconds; what has no unit, and -1, which means none, as they are.
fn in_base_units(value: &str, unit: Option<&str>) -> String {
    let factor = match unit {
        Some("kB") => 1 << 10,
        Some("8kB") => 8 << 10,
        Some("MB") => 1 << 20,
        Some("s") => 1_000,
        Some("min") => 60_000,
        _ => 1,
    };
    match value.parse::<i64>() {
        Ok(number) if number > 0 => number.saturating_mul(factor).to_string(),
        _ => value.to_owned(),
    }
}

/// What the lab's own sampler asks a standby once a second.
async fn replay(connection: &Connection, inquiry: &StandbyInquiry, clock: Instant) -> Seen<ReplaySample> {
    let cells = match connection.ask("its replay", inquiry).await {
        Ok(cells) => cells,
        Err(error) => return hidden(&error),
    };
    let cell =
        |metric: &Metric| cells.iter().find(|(column, _)| column.metric == *metric).map(|(_, cell)| cell);
    // LSNs and counters are exact in a float up to 2^53.
    let number = |metric: &Metric| cell(metric).and_then(Cell::number).map(|number| number as u64);
    let prefetch = |name: &str| number(&Metric::RecoveryPrefetch(name.to_owned()));
    let walreceiver = number(&Metric::Walreceiver).map(|count| count > 0);
    let streaming = number(&Metric::WalreceiverStreaming).map(|count| count > 0);
    Seen::Value(ReplaySample {
        at_s: clock.elapsed().as_secs_f64(),
        receive_lsn: number(&Metric::ReceiveLsn),
        replay_lsn: number(&Metric::ReplayLsn),
        // A role that may not see a walreceiver's status sees that there is one.
        streaming: if walreceiver == Some(true) {
            streaming.filter(|streaming| *streaming)
        } else {
            walreceiver
        },
        paused: number(&Metric::ReplayPaused).map(|paused| paused > 0),
        startup_wait: match cell(&Metric::StartupWait) {
            Some(Cell::Text(wait)) => Some(wait.clone()),
            _ => None,
        },
        prefetched: prefetch("prefetch"),
        images: prefetch("skip_fpw"),
        startup_reads: number(&Metric::StartupReadsTotal),
    })
}

/// A server that is not what it was given as is a mistake of the caller, not a finding.
fn check_roles(primary: &Primary, standbys: &[Met]) -> Result<(), GatherError> {
    for (_, _, standby) in standbys.iter().filter_map(|met| met.standby.value()) {
        let Identity { place, version, version_num, in_recovery, system_identifier, .. } = &standby.identity;
        if *version_num < OLDEST {
            return Err(GatherError::TooOld { place: place.clone(), version: version.clone() });
        }
        if !in_recovery {
            return Err(GatherError::NotAStandby(place.clone()));
        }
        let identifiers = (system_identifier.value(), primary.identity.system_identifier.value());
        if let (Some(standbys), Some(primarys)) = identifiers
            && standbys != primarys
        {
            let primary = primary.identity.place.clone();
            return Err(GatherError::OfAnotherCluster { standby: place.clone(), primary });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_come_in_bytes_and_times_in_milliseconds() {
        for (value, unit, expected) in [
            ("1024", Some("MB"), "1073741824"),
            ("16384", Some("8kB"), "134217728"),
            ("524288", Some("B"), "524288"),
            ("300", Some("s"), "300000"),
            ("7", Some("min"), "420000"),
            ("-1", Some("MB"), "-1"),
            ("0", Some("ms"), "0"),
            ("try", None, "try"),
            ("16", None, "16"),
        ] {
            assert_eq!(in_base_units(value, unit), expected, "{value} {unit:?}");
        }
    }
}
