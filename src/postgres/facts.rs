//! What a server that the lab did not build says of itself at the start.

use super::{Connection, PostgresError};
use crate::profile::Settings;

/// Settings that decide how a standby replays and for how long a commit waits. Others are nobody's business: some hold
/// passwords, or commands with them.
const TELLING: [&str; 42] = [
    "archive_mode",
    "autovacuum",
    "checkpoint_completion_target",
    "checkpoint_timeout",
    "data_checksums",
    "effective_io_concurrency",
    "fsync",
    "full_page_writes",
    "hot_standby_feedback",
    "huge_pages",
    "io_combine_limit",
    "io_max_combine_limit",
    "io_max_concurrency",
    "io_method",
    "io_workers",
    "maintenance_io_concurrency",
    "max_slot_wal_keep_size",
    "max_standby_archive_delay",
    "max_standby_streaming_delay",
    "max_wal_senders",
    "max_wal_size",
    "min_wal_size",
    "recovery_init_sync_method",
    "recovery_min_apply_delay",
    "recovery_prefetch",
    "shared_buffers",
    "synchronous_commit",
    "synchronous_standby_names",
    "track_io_timing",
    "wal_buffers",
    "wal_compression",
    "wal_decode_buffer_size",
    "wal_keep_size",
    "wal_level",
    "wal_log_hints",
    "wal_receiver_status_interval",
    "wal_receiver_timeout",
    "wal_recycle",
    "wal_retrieve_retry_interval",
    "wal_segment_size",
    "wal_sender_timeout",
    "wal_sync_method",
];

/// The name that a standby connects to its primary by: as its walreceiver does now, or else as it is told to. Only the
/// name leaves the server: the connection string holds more.
const ITSELF: &str = "
    SELECT current_setting('server_version'),
           current_setting('server_version_num')::int8,
           pg_is_in_recovery(),
           pg_has_role('pg_read_all_stats', 'USAGE'),
           nullif(current_setting('synchronous_standby_names'), ''),
           (SELECT coalesce(substring(conninfo FROM '(?:^| )application_name=([^ ]+)'),
                            substring(conninfo FROM '(?:^| )fallback_application_name=([^ ]+)'))
              FROM pg_stat_get_wal_receiver()),
           nullif(current_setting('cluster_name'), ''),
           pg_has_role('pg_read_all_settings', 'USAGE')";

/// For those who may read it.
const TOLD_NAME: &str = "
    SELECT substring(current_setting('primary_conninfo') FROM '(?:^|\\s)application_name\\s*=\\s*''?([^''\\s]+)')";

/// What a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFacts {
    /// `server_version`
    pub version: String,
    /// `server_version_num`
    pub version_num: u32,
    /// Is it a standby.
    pub in_recovery: bool,
    /// May this role see what other sessions do (`pg_read_all_stats`, of which `pg_monitor` is a part).
    pub sees_statistics: bool,
    /// `synchronous_standby_names`; none when it is empty.
    pub synchronous_standby_names: Option<String>,
    /// The name that a standby connects by; none where that is not to be seen.
    pub application_name: Option<String>,
    /// Of the settings that matter to replay and to commits, those that are not the built-in defaults.
    pub settings: Settings,
}

impl Connection {
    /// What the server is.
    ///
    /// # Errors
    /// When the server refuses, fails, or does not answer within two minutes.
    pub async fn server_facts(&self) -> Result<ServerFacts, PostgresError> {
        let row = self.query_one("what it is", ITSELF).await?;
        let (in_recovery, reads_settings): (bool, bool) = (row.get(2), row.get(7));
        let (connected_as, cluster_name): (Option<String>, Option<String>) = (row.get(5), row.get(6));
        let told_name = match &connected_as {
            None if in_recovery && reads_settings => self.query_one("its name", TOLD_NAME).await?.get(0),
            _ => None,
        };
        // With no other name it connects by that of its cluster.
        let application_name = connected_as.or(told_name).or(cluster_name).filter(|_| in_recovery);
        let number: i64 = row.get(1);
        Ok(ServerFacts {
            version: row.get(0),
            version_num: u32::try_from(number).unwrap_or_default(),
            in_recovery,
            sees_statistics: row.get(3),
            synchronous_standby_names: row.get(4),
            application_name,
            settings: self.telling_settings().await?,
        })
    }

    async fn telling_settings(&self) -> Result<Settings, PostgresError> {
        let sql = "SELECT name, current_setting(name) FROM pg_settings
                    WHERE name = ANY($1) AND source NOT IN ('session', 'client')
                      AND (source <> 'default' OR setting IS DISTINCT FROM boot_val)";
        let names: Vec<&str> = TELLING.to_vec();
        let rows = self.query("its settings", sql, &[&names]).await?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }
}
