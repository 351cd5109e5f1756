//! `stall-lab sweep`

use std::path::PathBuf;

use clap::Args;

use super::ServerArgs;
use crate::profile::{Override, Prefetch};
use crate::sweep::Axis;

/// Measure the hang at many points, each several times.
///
/// Every value of one key meets every value of the others. Each repeat runs all points, in an order of its own, before the
/// next repeat begins. The same command again goes on where it was stopped: a finished run is never made again, a broken
/// one is. Results: sweep.csv, a page with medians and their confidence intervals, and a plot with what was predicted.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stall-lab sweep --vary standby.read_iops=100,200,400 --prefetch try
  stall-lab sweep --vary standby.read_iops=100,200,400 --vary prefetch=try,off --repeat 3 --profile quick
  stall-lab sweep --vary postgres=15,17,18,19 --repeat 6
  stall-lab sweep --vary standby.read_iops=100,200,400 --prefetch try --dry-run")]
pub(in crate::cli) struct SweepArgs {
    /// A key and the values it takes: a profile's, as for --set, or prefetch, or postgres; may be repeated
    #[arg(long, required = true, value_name = "KEY=VALUE,VALUE,...")]
    pub vary: Vec<Axis>,
    /// How often each point is run
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
    /// Values of recovery_prefetch, the same as --vary prefetch=...; without it the profile's own
    #[arg(long, value_delimiter = ',', value_name = "try|off|on")]
    pub prefetch: Vec<Prefetch>,
    /// Profile: a built-in one's name, or a TOML file
    #[arg(long, default_value = "quick", value_name = "NAME|FILE")]
    pub profile: String,
    /// Change a key of the profile at all points, as in workload.scale=20; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<Override>,
    #[command(flatten)]
    pub server: ServerArgs,
    /// Folder for results; the sweep's own is below it, with a name that the same command finds again
    #[arg(long, default_value = "results", value_name = "DIR")]
    pub results: PathBuf,
    /// The sweep's own folder, in place of one below --results
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// What the order of the runs is shuffled with; drawn, and kept with the sweep, if it is not given
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Print the plan and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Run without IOPS caps; the results are marked so everywhere
    #[arg(long)]
    pub uncapped: bool,
}
