//! `stall-lab bundle`

use std::path::PathBuf;

use super::Exit;
use super::args::BundleArgs;
use super::exit::UsageError;
use crate::analysis::{self, AnalysisError, Results};
use crate::bundle::{self, ATTACHABLE, Bundle, BundleError, Surroundings};
use crate::human;
use crate::store::RunFolder;

/// Files that are named when a bundle is too large to be attached.
const LARGEST: usize = 5;

pub(super) fn run(args: &BundleArgs) -> anyhow::Result<Exit> {
    let (runs, on_purpose) = runs_in(&args.runs)?;
    let out = match &args.out {
        Some(out) => out.clone(),
        None => PathBuf::from(bundle::name(&runs)?),
    };
    let made = match bundle::bundle(&runs, &on_purpose, &out, &Surroundings::here()) {
        Err(taken @ BundleError::Taken { .. }) => return Err(UsageError(taken.to_string()).into()),
        made => made?,
    };
    for lack in &made.lacks {
        eprintln!("{lack}");
    }
    say!("{}/  {} files", made.folder.display(), made.files.len())?;
    say!("{}  {}", made.archive.display(), human::bytes(made.archive_bytes as f64))?;
    say!("{}", taken_out(&made))?;
    if !made.is_attachable() {
        say!("{}", too_large(&made).trim_end())?;
    }
    Ok(Exit::Success)
}

/// The runs of the folders: themselves, or those that a comparison is of; and what a comparison that stands alone was
/// made for.
fn runs_in(folders: &[PathBuf]) -> Result<(Vec<RunFolder>, Vec<String>), AnalysisError> {
    let mut runs = Vec::new();
    let mut purpose = Vec::new();
    for folder in folders {
        match analysis::results_in(folder)? {
            Results::Run(run) => runs.push(run),
            Results::Comparison { runs: compared, on_purpose } => {
                runs.extend(compared);
                purpose = on_purpose;
            }
        }
    }
    if folders.len() > 1 {
        purpose.clear();
    }
    Ok((runs, purpose))
}

fn taken_out(made: &Bundle) -> String {
    let counts: Vec<String> = made.redacted.iter().map(|(kind, count)| format!("{kind}: {count}")).collect();
    let counts = if counts.is_empty() { "nothing was found".to_owned() } else { counts.join(", ") };
    format!("taken out: {counts}; look through it all the same before you publish it")
}

/// What to do with an archive that is too large.
fn too_large(made: &Bundle) -> String {
    let mut text = format!(
        "The archive is larger than {}, which trackers and mailing lists may refuse. Attach REPORT.md, repro.sh and the \
         pictures, put the archive where it can be downloaded, and link it. The largest files in it:\n",
        human::bytes(ATTACHABLE as f64)
    );
    for file in made.files.iter().take(LARGEST) {
        text += &format!("  {:>8}  {}\n", human::bytes(file.bytes as f64), file.path.display());
    }
    text
}
