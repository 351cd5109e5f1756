//! What a standby says once a tick.

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio_postgres::{Client, Row, Statement};

use super::Inquiry;
use super::primary::count;
use crate::store::{Cell, Column, Metric};

/// Functions rather than the views over them, as on the primary. `pg_stat_recovery_prefetch` comes as JSON by the
/// names of its columns: patched servers may have more of them. A role without
/// `pg_monitor` sees that there is a walreceiver, and not what it does. What stands between @ depends on the version.
const ITSELF: &str = "
    SELECT (pg_last_wal_receive_lsn() - '0/0'::pg_lsn)::int8,
           (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::int8,
           (SELECT count(*) FROM pg_stat_get_wal_receiver() WHERE pid IS NOT NULL)::int8,
           (SELECT CASE WHEN pid IS NULL THEN 0 WHEN status IS NOT NULL THEN (status = 'streaming')::int END
              FROM pg_stat_get_wal_receiver())::int8,
           (pg_get_wal_replay_pause_state() <> 'not paused')::int::int8,
           (SELECT wait_event_type || '/' || wait_event FROM pg_stat_get_activity(NULL)
             WHERE backend_type = 'startup'),
           @STARTUP_READS@::int8,
           @PREFETCH@::text";

/// `pg_stat_io` is there since 16. It does not count prefetches: an advice is no read. Since 18 it counts the reading
/// of WAL too, which is left out here: the question is which pages of relations replay reads for itself.
const STARTUP_READS: &str =
    "(SELECT sum(reads) FROM pg_stat_get_io() WHERE backend_type = 'startup' AND object = 'relation')";

/// The prefetcher is there since 15.
const PREFETCH: &str = "(SELECT to_jsonb(p) - 'stats_reset' FROM pg_stat_recovery_prefetch p)";

/// What a standby is asked.
#[derive(Debug)]
pub struct StandbyInquiry {
    node: String,
    sql: String,
}

impl StandbyInquiry {
    /// Questions to the standby of this name, whose server has this `server_version_num`.
    #[must_use]
    pub fn new(node: &str, version_num: u32) -> Self {
        let startup_reads = if version_num >= 160_000 { STARTUP_READS } else { "NULL" };
        let prefetch = if version_num >= 150_000 { PREFETCH } else { "NULL" };
        let sql = ITSELF.replace("@STARTUP_READS@", startup_reads).replace("@PREFETCH@", prefetch);
        Self { node: node.to_owned(), sql }
    }
}

#[async_trait]
impl Inquiry for StandbyInquiry {
    type Statements = Statement;

    async fn prepare(&self, client: &Client) -> Result<Statement, tokio_postgres::Error> {
        client.prepare(&self.sql).await
    }

    async fn ask(
        &self,
        client: &Client,
        itself: &Statement,
    ) -> Result<Vec<(Column, Cell)>, tokio_postgres::Error> {
        Ok(cells(&self.node, &client.query_one(itself, &[]).await?))
    }
}

fn cells(node: &str, row: &Row) -> Vec<(Column, Cell)> {
    let wait: Option<String> = row.get(5);
    let counters = [
        (Metric::ReceiveLsn, 0),
        (Metric::ReplayLsn, 1),
        (Metric::Walreceiver, 2),
        (Metric::WalreceiverStreaming, 3),
        (Metric::ReplayPaused, 4),
        (Metric::StartupReadsTotal, 6),
    ];
    let prefetch: Option<String> = row.get(7);
    counters
        .into_iter()
        .map(|(metric, at)| (metric, count(row.get(at))))
        .chain([(Metric::StartupWait, wait.map_or(Cell::Empty, Cell::Text))])
        .chain(prefetch.map(|json| prefetch_counters(&json)).unwrap_or_default())
        .map(|(metric, cell)| (Column::new(node, metric), cell))
        .collect()
}

/// The columns of `pg_stat_recovery_prefetch` that are numbers, by name.
fn prefetch_counters(json: &str) -> Vec<(Metric, Cell)> {
    let columns: Map<String, Value> = serde_json::from_str(json).unwrap_or_default();
    let number =
        |(name, value): (String, Value)| Some((Metric::RecoveryPrefetch(name), value.as_f64()?.into()));
    columns.into_iter().filter_map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patched_servers_extra_counters_are_kept_and_what_is_no_number_is_not() {
        let counters =
            prefetch_counters(r#"{"prefetch": 44318, "skip_new_in_a_patch": 7, "note": "x", "hit": null}"#);
        let expected = [
            (Metric::prefetched(), Cell::Number(44_318.0)),
            (Metric::RecoveryPrefetch("skip_new_in_a_patch".to_owned()), Cell::Number(7.0)),
        ];
        assert_eq!(counters, expected);
        assert_eq!(prefetch_counters("not json"), []);
    }
}
