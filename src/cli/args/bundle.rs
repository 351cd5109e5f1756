//! `stall-lab bundle`

use std::path::PathBuf;

use clap::Args;

/// Make one thing to attach to a bug report: facts, repro.sh, logs, all redacted
///
/// A folder and a .tar.gz after PostgreSQL's bug reporting guidelines: REPORT.md with the steps, what was seen and what
/// was expected, repro.sh (the same experiment without the lab), settings, versions, platform, pictures, tables and
/// logs; the interpretation apart. Passwords, host names, addresses and paths of a home or for temporary files are taken
/// out. Needs no Docker.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stall-lab bundle results/quick/latest
  stall-lab bundle results/quick/20261130T211224Z-comparison   all its runs, side by side
  stall-lab bundle results/quick/latest --out report           report/ and report.tar.gz")]
pub(in crate::cli) struct BundleArgs {
    /// Folders of runs, or of comparisons for all that they compare
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Folder to make; the archive is made beside it. In this directory, named after the run, if it is not given
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
