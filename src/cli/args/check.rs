//! Flags of `check`.

use std::time::Duration;

use clap::Args;
use jiff::SignedDuration;

/// Say whether a cluster of your own would stall, for how long, and what would help.
///
/// Connects once to the primary and to each standby, reads counters and settings twice with an interval between, and
/// changes nothing: the sessions are read-only, with a statement timeout. A role in pg_monitor sees all that is needed;
/// what another cannot see is said. It takes the interval and at most ten seconds more, even when a server hangs.
///
/// CONNINFO is a connection string as libpq reads it, "host=db1 user=monitor" or postgresql://monitor@db1/, completed
/// by the PG* variables, pg_service.conf and .pgpass. A password is best kept in .pgpass: others see command lines.
#[derive(Debug, Args)]
#[command(after_help = CHECK_HELP)]
pub(in crate::cli) struct CheckArgs {
    /// The primary
    #[arg(long, value_name = "CONNINFO")]
    pub primary: String,
    /// A standby; may be repeated. Of those that are not given only the primary's view is told
    #[arg(long, value_name = "CONNINFO")]
    pub standby: Vec<String>,
    /// Operations a second that the standbys' disks allow; SQL does not tell. Without it a table shows
    /// common ones, and the worst case is judged at 500
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub iops: Option<u64>,
    /// Time between the two looks, up to an hour
    #[arg(long, default_value = "5s", value_name = "TIME", value_parser = time)]
    pub interval: Duration,
    /// For how long commits may hang before a standby counts as exposed
    #[arg(long, default_value = "15s", value_name = "TIME", value_parser = time)]
    pub tolerate: Duration,
    /// Print JSON; its fields are documented in src/check/assessment.rs
    #[arg(long)]
    pub json: bool,
}

const CHECK_HELP: &str = "\
Examples:
  stall-lab check --primary \"host=db1 user=monitor\" --standby \"host=db2 user=monitor\" --iops 3000
  stall-lab check --primary service=db1 --standby service=db2 --standby service=db3 --json

Exit codes, for monitoring:
  0  not exposed
  1  exposed
  2  unknown: what would have to be known is not visible
  3  nothing could be said: a flag is wrong, or the primary does not answer";

fn time(text: &str) -> Result<Duration, String> {
    let wrong = || "a time is written 500ms, 5s or 2m, and is from 100ms to an hour".to_owned();
    let time: SignedDuration = text.parse().map_err(|_| wrong())?;
    let time = Duration::try_from(time).map_err(|_| wrong())?;
    let allowed = Duration::from_millis(100)..=Duration::from_secs(3600);
    allowed.contains(&time).then_some(time).ok_or_else(wrong)
}
