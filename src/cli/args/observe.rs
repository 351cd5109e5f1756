//! Flags of `observe`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use jiff::SignedDuration;

use crate::observe::{DiskCommand, PerSecond};

/// Record servers of your own as a run of the lab is recorded.
///
/// Asks the primary and its standbys once a second, over SQL alone and in sessions that only read: commits and who waits
/// for a standby, WAL positions, lag, prefetching, what replay waits for. The result has the files, the verdict, the
/// picture and the page of a run. Press Enter (or send SIGUSR1) at the moment when you break something, or see it break:
/// the verdict is about what follows; without a mark it is about the record's longest stretch without a commit. A server
/// that goes away costs its own cells, and is looked for again. Ctrl-C ends the record with a valid result.
///
/// CONNINFO is a connection string as libpq reads it, completed by the PG* variables, pg_service.conf and .pgpass. The
/// standbys' columns are called standby, or standby_1, standby_2 ... in the order of the flags. A role in pg_monitor
/// sees all that is recorded; what another cannot see is said, and stays empty.
#[derive(Debug, Args)]
#[command(after_long_help = OBSERVE_HELP)]
pub(in crate::cli) struct ObserveArgs {
    /// The primary
    #[arg(long, value_name = "CONNINFO")]
    pub primary: String,
    /// A standby; may be repeated
    #[arg(long, value_name = "CONNINFO", required = true, num_args = 1..)]
    pub standby: Vec<String>,
    /// How long to record
    #[arg(long = "for", default_value = "30m", value_name = "TIME", value_parser = time)]
    pub length: Duration,
    /// Folder for the record; results/observed/<time> if it is not given
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// From how long on a stretch without a commit is called a stall
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = time)]
    pub stall_after: Duration,
    /// Write so often to a table made for it and dropped at the end, so that a hang shows even when nobody else writes
    #[arg(long, value_name = "N/s")]
    pub probe: Option<PerSecond>,
    /// When a write of --probe is cancelled; cancelled while it waits for a standby, it has committed on the primary
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = time, requires = "probe")]
    pub probe_deadline: Duration,
    /// A command that prints a line of JSON with the counters of a server's disk; may be repeated
    #[arg(long, value_name = "NODE=COMMAND")]
    pub disk_command: Vec<DiskCommand>,
}

const OBSERVE_HELP: &str = r#"Examples:
  stall-lab observe --primary "host=db1 user=monitor" --standby "host=db2 user=monitor" --for 30m
  stall-lab observe --primary service=db1 --standby service=db2 --probe 5/s --out /tmp/staging

Disks:
  SQL does not tell what a disk does. --disk-command NODE=COMMAND runs COMMAND by sh for as long as the record goes on;
  NODE is primary, standby, or standby_1 ... It prints a line of JSON whenever it has news, with any of the counters
  reads_total, read_bytes_total, writes_total, write_bytes_total, with in_flight, or with the rates read_iops and
  write_iops. What it prints on stderr is shown.

  /proc/diskstats of a standby, over ssh (the device is nvme1n1; a sector is 512 bytes):

    cat > diskstats.sh <<'END'
    ssh db2 'while grep -w nvme1n1 /proc/diskstats; do sleep 1; done' |
      while read -r _ _ _ reads _ read_sectors _ writes _ write_sectors _ in_flight _; do
        printf '{"reads_total":%s,"read_bytes_total":%s,"writes_total":%s,"write_bytes_total":%s,"in_flight":%s}\n' \
            "$reads" $((read_sectors * 512)) "$writes" $((write_sectors * 512)) "$in_flight"
      done
    END
    stall-lab observe ... --disk-command "standby=sh diskstats.sh"

  A cloud volume, here of AWS; its figures come once a minute and some minutes late, so they show a level, no shape:

    cat > volume.sh <<'END'
    while sleep 60; do
      reads=$(aws cloudwatch get-metric-statistics --namespace AWS/EBS --metric-name VolumeReadOps \
          --dimensions Name=VolumeId,Value=vol-0123456789abcdef0 --period 60 --statistics Sum \
          --start-time "$(date -ud '-10 minutes' +%FT%TZ)" --end-time "$(date -u +%FT%TZ)" \
          --query 'max_by(Datapoints, &Timestamp).Sum' --output text)
      printf '{"read_iops":%s}\n' "$(echo "$reads / 60" | bc)"
    done
    END
    stall-lab observe ... --disk-command "standby=sh volume.sh""#;

fn time(text: &str) -> Result<Duration, String> {
    let wrong = || "a time is written 45s, 30m or 2h, and is from a second to a week".to_owned();
    let time: SignedDuration = text.parse().map_err(|_| wrong())?;
    let time = Duration::try_from(time).map_err(|_| wrong())?;
    let allowed = Duration::from_secs(1)..=Duration::from_secs(7 * 86_400);
    allowed.contains(&time).then_some(time).ok_or_else(wrong)
}
