//! `stall-lab bundle`: one folder and one archive to attach to a bug report.
//!
//! Made after PostgreSQL's bug reporting guidelines: the exact steps, what was seen, what was expected, the settings
//! that differ from the defaults, versions and platform, as facts; the interpretation of them apart, in `analysis.md`. Knows
//! nothing but the folders of runs. Their files are redacted first, and all else, pictures included, is made from the
//! redacted files: what was taken out cannot come back by another way.

mod archive;
mod error;
mod facts;
mod files;
mod original;
mod part;
mod redact;
mod script;
#[cfg(test)]
mod tests;
mod words;

pub use error::BundleError;
pub use redact::{Counts, Kind, Surroundings};
pub use script::Inexpressible;

use std::path::{Path, PathBuf};

use files::Listed;
use original::Original;
use part::Part;
use redact::Redactor;

use crate::analysis;
use crate::store::RunFolder;

/// The largest archive that trackers and the mailing list's archives can be expected to take, bytes.
pub const ATTACHABLE: u64 = 10 << 20;

/// A bundle that was made.
#[derive(Debug)]
pub struct Bundle {
    /// The folder.
    pub folder: PathBuf,
    /// The archive of it.
    pub archive: PathBuf,
    /// Size of the archive, bytes.
    pub archive_bytes: u64,
    /// What is in the folder, the largest first.
    pub files: Vec<Listed>,
    /// What was taken out of the runs' files.
    pub redacted: Counts,
    /// What a run's part lacks, and why.
    pub lacks: Vec<String>,
}

impl Bundle {
    /// Is it small enough to be attached.
    #[must_use]
    pub fn is_attachable(&self) -> bool {
        self.archive_bytes <= ATTACHABLE
    }
}

/// Makes the folder `out` and the archive `out.tar.gz` of these runs. The runs' own folders are only read. `on_purpose`
/// is what several runs were asked to differ in, if they were run for it.
///
/// # Errors
/// When a run cannot be read, `out` is there already, or a file cannot be written; `out` is removed again.
pub fn bundle(
    runs: &[RunFolder],
    on_purpose: &[String],
    out: &Path,
    surroundings: &Surroundings,
) -> Result<Bundle, BundleError> {
    let archive = archive::path_for(out);
    for path in [out, &archive] {
        if path.exists() {
            return Err(BundleError::Taken { path: path.to_owned() });
        }
    }
    let originals = runs.iter().map(Original::read).collect::<Result<Vec<_>, _>>()?;
    let made = fill(&originals, on_purpose, out, &archive, surroundings);
    if made.is_err() {
        // What is half made is of no use; that it cannot be removed is not what is to be told.
        let _ = std::fs::remove_dir_all(out);
        let _ = std::fs::remove_file(&archive);
    }
    made
}

/// A name for the bundle of these runs: `stall-lab-bundle-quick-20261130T191500Z-try`, or with the number of runs.
///
/// # Errors
/// When the first run cannot be read.
pub fn name(runs: &[RunFolder]) -> Result<String, BundleError> {
    let Some(first) = runs.first() else { return Err(BundleError::Nothing) };
    let run = first.run()?;
    let what = match runs {
        [_] => run.arm,
        several => format!("{}-runs", several.len()),
    };
    // A profile may be named by the way to its file.
    let profile = run.profile_name.rsplit('/').next().unwrap_or_default();
    let started = run.started.strftime("%Y%m%dT%H%M%SZ");
    Ok(file_name(&format!("stall-lab-bundle-{profile}-{started}-{what}")))
}

fn fill(
    originals: &[Original],
    on_purpose: &[String],
    out: &Path,
    archive: &Path,
    surroundings: &Surroundings,
) -> Result<Bundle, BundleError> {
    let known: Vec<&str> = originals.iter().flat_map(Original::names).collect();
    let texts = originals.iter().flat_map(Original::texts);
    let hosts: Vec<String> = originals.iter().flat_map(Original::hosts).collect();
    let surroundings =
        Surroundings { hosts: [surroundings.hosts.clone(), hosts].concat(), ..surroundings.clone() };
    let redactor = Redactor::learn(&surroundings, &known, texts).map_err(BundleError::Pattern)?;
    let mut redacted = Counts::new();
    let mut parts = Vec::new();
    for (original, folder) in originals.iter().zip(folders(originals, out, &redactor)) {
        parts.push(Part::write(original, folder, &redactor, &mut redacted)?);
    }
    let report = match parts.as_slice() {
        [only] => only.report(&redacted),
        several => {
            let comparison = out.join("comparison");
            files::make_folder(&comparison)?;
            let analysed: Vec<_> = several.iter().map(|part| &part.analysed).collect();
            analysis::compare(&comparison, &analysed, on_purpose)?;
            for part in several {
                files::write(&part.folder().join("README.md"), &part.report(&redacted))?;
            }
            words::report_of_several(several, &redacted)
        }
    };
    files::write(&out.join("REPORT.md"), &report)?;
    let listed = files::list(out)?;
    files::find_leaks(out, &listed, &redactor)?;
    let made = originals.iter().map(|original| original.run.started.as_second()).max().unwrap_or_default();
    let archive_bytes = archive::pack(out, &listed, u64::try_from(made).unwrap_or_default(), archive)?;
    Ok(Bundle {
        folder: out.to_owned(),
        archive: archive.to_owned(),
        archive_bytes,
        files: listed,
        redacted,
        lacks: parts.iter().flat_map(Part::lacks).collect(),
    })
}

/// Where each run's part is: in the bundle itself, or below it by the arm's name; numbered where arms share one.
fn folders(originals: &[Original], out: &Path, redactor: &Redactor) -> Vec<PathBuf> {
    if let [_] = originals {
        return vec![out.to_owned()];
    }
    let names: Vec<String> = originals
        .iter()
        .map(|original| file_name(&redactor.text(&original.run.arm, &mut Counts::new())))
        .collect();
    let is_alone = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
    let folder = |(at, name): (usize, &String)| match name {
        name if is_alone(name) => out.join(name),
        name => out.join(format!("{name}-{}", at + 1)),
    };
    names.iter().enumerate().map(folder).collect()
}

/// A name without what a file system, a shell or an archive could take for something else.
fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' };
    name.chars().map(plain).collect()
}
