//! Every command and flag.

mod bundle;
mod check;
mod observe;
mod sweep;
mod wait_for;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(super) use check::CheckArgs;
pub(super) use observe::ObserveArgs;
pub(super) use sweep::SweepArgs;
pub(super) use wait_for::WaitForArgs;

use crate::image::ImageRequest;
use crate::profile::{ArmSpec, Bytes, Override, Prefetch};
use crate::repro::Expectation;

pub(super) use bundle::BundleArgs;

/// Reproduces, measures and explains the PostgreSQL standby replay stall.
///
/// When a standby's walreceiver dies, the standby replays all WAL on its disk before it reconnects. With
/// recovery_prefetch=try it reads pages first whose full-page image is in that WAL; on a disk with an IOPS cap that
/// takes so long that a synchronous primary hangs for half an hour.
#[derive(Debug, Parser)]
#[command(name = "stall-lab", version, max_term_width = 100, after_long_help = EXIT_CODES)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// Documented where a script's author looks for them.
const EXIT_CODES: &str = "\
Exit codes:
  0    done; with --expect: as expected
  1    failed; the message says in which phase, and what to do
  2    a flag, a profile or a path is wrong; nothing was done
  3    done, but not as --expect says
  130  stopped by the user; what was recorded is kept
check has codes of its own: check --help";

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Reproduce the stall: primary, IOPS-capped standby, update, fault, verdict and plot
    Repro(ReproArgs),
    /// Measure the hang at many points, each several times: median, confidence interval, prediction
    Sweep(SweepArgs),
    /// Say why replay took as long as it did, from a run's WAL or your own
    Explain(ExplainArgs),
    /// Measure PostgreSQL 19's WAIT FOR LSN against polling on an asynchronous standby
    WaitFor(WaitForArgs),
    /// Judge and draw again from the files of a run, a comparison or a sweep; needs no Docker
    Plot(PlotArgs),
    /// Put runs side by side: one picture aligned at the fault, one table, what differs
    Compare(CompareArgs),
    /// Say whether a cluster of your own would stall, for how long, and what would help
    Check(CheckArgs),
    /// Record servers of your own as a run of the lab is recorded, over SQL alone
    Observe(ObserveArgs),
    // Its own words: those given here would stand in place of the longer ones.
    Bundle(BundleArgs),
    /// List the built-in profiles, or show one as TOML
    Profiles(ProfilesArgs),
    /// List the scenarios: ready profiles that compare variants, with what each shows
    Scenarios,
    /// List, build or remove server images
    Image(ImageArgs),
    /// List or remove loaded databases
    Cache(CacheArgs),
    /// Remove what killed runs have left: containers, networks, volumes, loop devices
    Clean,
    /// Say what the Docker engine is and whether a run would work on it
    Doctor,
}

/// Reproduce the stall.
///
/// Builds a primary and a standby on disks with an IOPS cap, loads pgbench, updates a share of the rows, kills the
/// standby's walreceiver and records both servers once a second until commits flow again. Results are in
/// results/<profile>/<time>-<arm>/.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stall-lab repro --prefetch try                              the reference outage: about an hour, 60 GB of disk
  stall-lab repro --prefetch try,off --profile quick          both arms, about four minutes
  stall-lab repro --profile full-page-writes                  a scenario with arms of its own (stall-lab scenarios)
  stall-lab repro --profile mine.toml --set standby.read_iops=1000
  stall-lab repro --profile quick --prefetch try,off \\
      --arm fpw:postgres.common.full_page_writes=on --arm no-fpw:postgres.common.full_page_writes=off
  stall-lab repro --profile quick --prefetch try,off --postgres 15,17,18,19
  stall-lab repro --profile quick --prefetch try --postgres 18 --pg-prefix ~/pg18-patched    stock beside patched
  stall-lab repro --prefetch try --profile quick --expect stall")]
pub(super) struct ReproArgs {
    /// Values of recovery_prefetch to run, one arm each; without it the profile's own
    #[arg(long, value_delimiter = ',', value_name = "try|off|on")]
    pub prefetch: Vec<Prefetch>,
    /// A variant of the profile, run beside the others; may be repeated. Each is run once for every value of --prefetch
    #[arg(long, value_name = "NAME:KEY=VALUE,...")]
    pub arm: Vec<ArmSpec>,
    /// Profile or scenario: a built-in one's name, or a TOML file
    #[arg(long, default_value = "outage", value_name = "NAME|FILE")]
    pub profile: String,
    /// Change a key of the profile, as in standby.read_iops=1000; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<Override>,
    #[command(flatten)]
    pub servers: ServersArgs,
    /// Folder for results
    #[arg(long, default_value = "results", value_name = "DIR")]
    pub results: PathBuf,
    /// Print the plan and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Run without IOPS caps; the results are marked so everywhere
    #[arg(long)]
    pub uncapped: bool,
    /// Leave the nodes up and say how to connect
    #[arg(long)]
    pub keep: bool,
    /// Exit with 3 unless the verdict is this, for every arm or for one; may be repeated
    #[arg(long, value_delimiter = ',', value_name = "[ARM=]stall|no-stall")]
    pub expect: Vec<Expectation>,
}

/// Which PostgreSQL.
#[derive(Debug, Clone, Args)]
pub(super) struct ServerArgs {
    /// Major version (15 to 19) or an image; 18 if it can be had
    #[arg(long, value_name = "VERSION|IMAGE", conflicts_with = "pg_prefix")]
    pub postgres: Option<ImageRequest>,
    /// A PostgreSQL of your own, perhaps patched: the prefix it is installed under, with bin, lib and share
    #[arg(long, value_name = "DIR")]
    pub pg_prefix: Option<PathBuf>,
}

impl ServerArgs {
    /// The image that is asked for.
    pub(super) fn request(self) -> ImageRequest {
        match self.pg_prefix {
            Some(prefix) => ImageRequest::Prefix(prefix),
            None => self.postgres.unwrap_or_default(),
        }
    }
}

/// Which PostgreSQL servers, side by side.
#[derive(Debug, Clone, Args)]
pub(super) struct ServersArgs {
    /// Major versions (15 to 19) or images, one set of arms each; 18 if it can be had
    #[arg(long, value_delimiter = ',', value_name = "VERSION|IMAGE")]
    pub postgres: Vec<ImageRequest>,
    /// A PostgreSQL of your own, perhaps patched: the prefix it is installed under, with bin, lib and share; may be
    /// repeated, and stand beside --postgres
    #[arg(long, value_name = "DIR")]
    pub pg_prefix: Vec<PathBuf>,
}

impl ServersArgs {
    /// The servers that are asked for, in order.
    pub(super) fn requests(&self) -> Vec<ImageRequest> {
        let prefixes = self.pg_prefix.iter().cloned().map(ImageRequest::Prefix);
        let servers: Vec<ImageRequest> = self.postgres.iter().cloned().chain(prefixes).collect();
        if servers.is_empty() { vec![ImageRequest::Default] } else { servers }
    }
}

/// Say why replay took as long as it did.
///
/// Counts every block reference of the WAL as the standby's prefetcher sees it: which reads replay needs, and which are
/// for pages that it overwrites. From a run's files; or from WAL of your own, which answers how long a standby would
/// take to replay it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stall-lab explain results/quick/latest
  stall-lab explain results/quick/latest --predict outage     what the hour-long run would show
  stall-lab explain --wal /var/lib/postgresql/18/main/pg_wal --postgres 18 --iops 500")]
pub(super) struct ExplainArgs {
    /// Folder of a run
    #[arg(value_name = "RUN", required_unless_present = "wal", conflicts_with = "wal")]
    pub run: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Scale the run's figures to this profile: a built-in one's name, or a TOML file
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "wal")]
    pub predict: Option<String>,
    #[command(flatten)]
    pub wal: ExplainWalArgs,
}

/// WAL without a run.
#[derive(Debug, Args)]
pub(super) struct ExplainWalArgs {
    /// A directory with WAL segments, on the Docker engine's host; it is only read
    #[arg(long, value_name = "DIR", requires = "iops")]
    pub wal: Option<PathBuf>,
    /// With --wal: reads a second that the standby's disk allows
    #[arg(long, value_name = "N", requires = "wal", value_parser = clap::value_parser!(u64).range(1..))]
    pub iops: Option<u64>,
    /// With --wal: the standby's shared_buffers, 128MB unless said
    #[arg(long, value_name = "SIZE", requires = "wal")]
    pub shared_buffers: Option<Bytes>,
    /// With --wal: the standby's recovery_prefetch, try unless said
    #[arg(long, value_name = "try|off|on", requires = "wal")]
    pub prefetch: Option<Prefetch>,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Debug, Args)]
pub(super) struct PlotArgs {
    /// Folders of runs, comparisons or sweeps
    #[arg(required = true, value_name = "RESULTS_DIR")]
    pub folders: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct CompareArgs {
    /// Folders of runs
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Folder for the comparison; beside the first run if it is not given
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct ProfilesArgs {
    /// The profile to show
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct ImageArgs {
    #[command(subcommand)]
    pub action: Option<ImageAction>,
}

#[derive(Debug, Subcommand)]
pub(super) enum ImageAction {
    /// List the server images the lab has built (the default)
    List,
    /// Find or build a server image now
    Build(ServerArgs),
    /// Remove server images
    Remove {
        /// Images, as `list` shows them
        #[arg(required_unless_present = "all", value_name = "IMAGE")]
        images: Vec<String>,
        /// All that the lab has built
        #[arg(long, conflicts_with = "images")]
        all: bool,
    },
}

#[derive(Debug, Args)]
pub(super) struct CacheArgs {
    #[command(subcommand)]
    pub action: Option<CacheAction>,
}

#[derive(Debug, Subcommand)]
pub(super) enum CacheAction {
    /// List the loaded databases (the default)
    List,
    /// Remove loaded databases
    Remove {
        /// Databases, as `list` shows them
        #[arg(required_unless_present = "all", value_name = "DATABASE")]
        databases: Vec<String>,
        /// All of them, and the volume they are in
        #[arg(long, conflicts_with = "databases")]
        all: bool,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
