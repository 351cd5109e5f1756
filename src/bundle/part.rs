//! What a bundle has of one run.

use std::path::{Path, PathBuf};

use super::original::Original;
use super::redact::{Counts, Redactor};
use super::script::{self, Inexpressible};
use super::{BundleError, facts, files, words};
use crate::analysis::{self, Analysed};
use crate::explain::Explanation;
use crate::store::RunFolder;
use crate::verdict;

/// One run's part of a bundle, written but for its report.
#[derive(Debug)]
pub(super) struct Part {
    /// The redacted run, judged again.
    pub analysed: Analysed,
    /// Why replay took as long as it did, where the run's WAL was accounted for.
    pub explanation: Option<Explanation>,
    /// Why there is no `repro.sh`, if there is none.
    pub script: Result<(), Inexpressible>,
    /// Names of the logs.
    pub logs: Vec<String>,
}

impl Part {
    /// Writes a run's redacted files into `folder`, and all that is made from them.
    pub(super) fn write(
        original: &Original,
        folder: PathBuf,
        redactor: &Redactor,
        counts: &mut Counts,
    ) -> Result<Self, BundleError> {
        files::make_folder(&folder)?;
        for file in &original.recorded {
            let text = match file.name.strip_suffix(".json") {
                Some(_) => redacted_json(&folder.join(&file.name), &file.text, redactor, counts)?,
                None => redactor.text(&file.text, counts),
            };
            files::write(&folder.join(&file.name), &text)?;
        }
        let logs = write_logs(original, &folder, redactor, counts)?;
        let analysed = analysis::judge(RunFolder::at(&folder))?;
        let explanation = analysed.explanation()?;
        let script = write_script(original, &folder, redactor)?;
        let built = facts::built(original.logs.iter().map(|log| log.text.as_str()));
        // It has been counted where it stands.
        let built = built.map(|built| redactor.text(built, &mut Counts::new()));
        facts::write(&folder, &analysed.run, built.as_deref())?;
        let part = Self { analysed, explanation, script, logs };
        files::write(&folder.join("expected.md"), &words::expected(&part))?;
        files::write(&folder.join("analysis.md"), &words::analysis(&part))?;
        Ok(part)
    }

    pub(super) fn folder(&self) -> &Path {
        self.analysed.folder.path()
    }

    /// Its report.
    pub(super) fn report(&self, redacted: &Counts) -> String {
        words::report(self, redacted)
    }

    /// What it lacks, and why, a sentence each.
    pub(super) fn lacks(&self) -> Vec<String> {
        let arm = &self.analysed.run.arm;
        let mut lacks = Vec::new();
        if let Err(why) = &self.script {
            lacks.push(format!("{arm}: no repro.sh: {why}"));
        }
        if self.logs.is_empty() {
            lacks.push(format!("{arm}: no server logs: the run's folder has none"));
        }
        if self.explanation.is_none() {
            lacks.push(format!(
                "{arm}: analysis.md cannot say what the reads were for: the run has no wal.json"
            ));
        }
        lacks
    }
}

fn redacted_json(
    path: &Path,
    text: &str,
    redactor: &Redactor,
    counts: &mut Counts,
) -> Result<String, BundleError> {
    let mut value = serde_json::from_str(text).map_err(BundleError::json(path))?;
    redactor.json(&mut value, counts);
    Ok(serde_json::to_string_pretty(&value).map_err(BundleError::json(path))? + "\n")
}

fn write_logs(
    original: &Original,
    folder: &Path,
    redactor: &Redactor,
    counts: &mut Counts,
) -> Result<Vec<String>, BundleError> {
    let logs = folder.join("logs");
    if !original.logs.is_empty() {
        files::make_folder(&logs)?;
    }
    let mut names = Vec::new();
    for file in &original.logs {
        let name = format!("{}.gz", redactor.text(&file.name, counts));
        files::write_compressed(&logs.join(&name), &redactor.text(&file.text, counts))?;
        names.push(name);
    }
    Ok(names)
}

/// Writes `repro.sh` as the run was, unless what it runs would have to be redacted: the script would be another one.
fn write_script(
    original: &Original,
    folder: &Path,
    redactor: &Redactor,
) -> Result<Result<(), Inexpressible>, BundleError> {
    let redacted = RunFolder::at(folder);
    let (timeline, events) = (redacted.timeline()?, redacted.events()?);
    let summary = verdict::judge(&original.run, &timeline, &events);
    let script = match script::script(&original.run, &summary, &timeline) {
        Ok(script) => script,
        Err(why) => return Ok(Err(why)),
    };
    // What is taken out of its comments has been counted in the run's files.
    let told = redactor.text(&script, &mut Counts::new());
    if !script::is_whole(&script, &told) {
        return Ok(Err(Inexpressible::Redacted));
    }
    files::write_script(&folder.join("repro.sh"), &told).map(Ok)
}
