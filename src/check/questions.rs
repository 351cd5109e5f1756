//! The questions, each of which may be refused without spoiling the others.

use tokio::time::Instant;

use super::facts::{Identity, Seen, Slot, WalSample, Walsender};
use super::gather::hidden;
use crate::postgres::{Connection, PostgresError};

/// What a role needs to see what others do.
const NEEDS_MONITOR: &str = "the role is not a member of pg_monitor";

/// The settings that matter, with their units.
pub(super) const SETTINGS: &str = "
    SELECT name, setting, unit FROM pg_settings
     WHERE name IN ('synchronous_standby_names', 'synchronous_commit', 'full_page_writes', 'wal_compression',
                    'checkpoint_timeout', 'max_wal_size', 'max_slot_wal_keep_size', 'wal_keep_size',
                    'data_checksums', 'wal_log_hints', 'recovery_prefetch', 'maintenance_io_concurrency',
                    'wal_decode_buffer_size', 'recovery_min_apply_delay', 'shared_buffers', 'cluster_name',
                    'hot_standby_feedback')
       AND setting IS NOT NULL";

/// The cluster that a server belongs to.
pub(super) async fn system_identifier(connection: &Connection) -> Seen<i64> {
    one(
        connection
            .query("its system identifier", "SELECT system_identifier FROM pg_control_system()", &[])
            .await,
        |row| row.get(0),
    )
}

/// Who streams. Without pg_monitor the server gives their names and nothing else.
pub(super) async fn walsenders(connection: &Connection) -> Seen<Vec<Walsender>> {
    let sql = "SELECT application_name, state FROM pg_stat_replication ORDER BY backend_start, pid";
    match connection.query("who streams from it", sql, &[]).await {
        Ok(rows) => {
            let walsender = |name: Option<String>, state| Walsender { name: name.unwrap_or_default(), state };
            Seen::Value(rows.iter().map(|row| walsender(row.get(0), row.get(1))).collect())
        }
        Err(error) => hidden(&error),
    }
}

/// Sessions in `IPC/SyncRep`. Without pg_monitor the waits of others are not shown.
pub(super) async fn waiters(connection: &Connection) -> Seen<u64> {
    let sql = "SELECT pg_has_role('pg_read_all_stats', 'USAGE'),
                      (SELECT count(*) FROM pg_stat_activity
                        WHERE wait_event_type = 'IPC' AND wait_event = 'SyncRep')";
    let counted = one(connection.query("whose commit waits", sql, &[]).await, |row| {
        (row.get::<_, bool>(0), row.get::<_, i64>(1))
    });
    match counted {
        Seen::Value((true, count)) => Seen::Value(at_least_zero(count)),
        Seen::Value((false, _)) => Seen::Hidden(NEEDS_MONITOR.to_owned()),
        Seen::Hidden(why) => Seen::Hidden(why),
    }
}

/// The slots, and how much WAL each holds back.
pub(super) async fn slots(connection: &Connection) -> Seen<Vec<Slot>> {
    let sql = "SELECT slot_name::text, active, (pg_current_wal_lsn() - restart_lsn)::int8
                 FROM pg_replication_slots WHERE slot_type = 'physical' ORDER BY slot_name";
    match connection.query("its replication slots", sql, &[]).await {
        Ok(rows) => {
            let slot =
                |name, active, kept: Option<i64>| Slot { name, active, kept_bytes: kept.map(at_least_zero) };
            Seen::Value(rows.iter().map(|row| slot(row.get(0), row.get(1), row.get(2))).collect())
        }
        Err(error) => hidden(&error),
    }
}

/// The end of WAL, and what `pg_stat_wal` counts.
pub(super) async fn wal(connection: &Connection, clock: Instant) -> Seen<WalSample> {
    let sql = "SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::int8, wal_bytes::int8, wal_fpi::int8
                 FROM pg_stat_wal";
    let row = connection.query("its WAL", sql, &[]).await;
    one(row, |row| {
        let [lsn, bytes, images] = [0, 1, 2].map(|at| at_least_zero(row.get(at)));
        WalSample { at_s: clock.elapsed().as_secs_f64(), lsn, bytes, images }
    })
}

/// Where replay would begin after a restart.
pub(super) async fn redo_lsn(connection: &Connection) -> Seen<u64> {
    let sql = "SELECT (redo_lsn - '0/0'::pg_lsn)::int8 FROM pg_control_checkpoint()";
    one(connection.query("its last restartpoint", sql, &[]).await, |row| at_least_zero(row.get(0)))
}

/// The name under which the primary knows a standby: that which its walreceiver gave, and where that cannot be seen
/// the one it would give, its `cluster_name`.
pub(super) async fn name_of_standby(connection: &Connection, identity: &Identity) -> Seen<String> {
    let sql = "SELECT conninfo FROM pg_stat_wal_receiver";
    let conninfo = match connection.query("its walreceiver", sql, &[]).await {
        Ok(rows) => rows.first().and_then(|row| row.get::<_, Option<String>>(0)),
        Err(error) => return hidden(&error),
    };
    let given = conninfo.as_deref().and_then(application_name);
    let own = identity.setting("cluster_name").filter(|name| !name.is_empty()).map(str::to_owned);
    match given.or(own) {
        Some(name) => Seen::Value(name),
        None => Seen::Hidden(format!("its walreceiver's connection cannot be seen ({NEEDS_MONITOR}?)")),
    }
}

/// `application_name` of a connection string that a server shows, or what stands in for it.
fn application_name(conninfo: &str) -> Option<String> {
    crate::postgres::parameter(conninfo, "application_name")
        .or_else(|| crate::postgres::parameter(conninfo, "fallback_application_name"))
}

/// What the only row says.
fn one<R, T>(rows: Result<Vec<R>, PostgresError>, read: impl FnOnce(&R) -> T) -> Seen<T> {
    match rows {
        Ok(rows) => match rows.first() {
            Some(row) => Seen::Value(read(row)),
            None => Seen::Hidden("the server has no answer".to_owned()),
        },
        Err(error) => hidden(&error),
    }
}

/// Counters and LSNs, which a server sends with a sign.
fn at_least_zero(value: i64) -> u64 {
    u64::try_from(value).unwrap_or_default()
}
