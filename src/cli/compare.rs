//! `stall-lab compare`

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use jiff::Timestamp;

use super::Exit;
use super::args::CompareArgs;
use super::exit::UsageError;
use crate::analysis::{self, Analysed};
use crate::repro::comparison_name;

pub(super) fn run(args: &CompareArgs) -> anyhow::Result<Exit> {
    let folders = args.runs.iter().map(|run| whole(run)).collect::<Result<Vec<_>, _>>()?;
    let runs = folders
        .into_iter()
        .map(|folder| analysis::analyse(analysis::run_folder(folder)?))
        .collect::<Result<Vec<Analysed>, _>>()?;
    let out = match (&args.out, runs.first().and_then(|run| run.folder.path().parent())) {
        (Some(out), _) => out.clone(),
        (None, Some(parent)) => parent.join(comparison_name(Timestamp::now())),
        (None, None) => {
            return Err(UsageError("the first run has no folder around it: say --out DIR".to_owned()).into());
        }
    };
    std::fs::create_dir_all(&out).with_context(|| out.display().to_string())?;
    if let Some(caution) = analysis::compare(&out, &runs.iter().collect::<Vec<_>>(), &[])? {
        eprintln!("{caution}");
    }
    say!("{}", out.display())?;
    Ok(Exit::Success)
}

/// The folder itself, where `latest` and the like point at it: the way to it is stored.
fn whole(run: &Path) -> Result<PathBuf, UsageError> {
    std::fs::canonicalize(run).map_err(|error| UsageError(format!("{}: {error}", run.display())))
}
