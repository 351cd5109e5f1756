//! `REPORT.md` of several runs: each in a line, then side by side.

use std::path::Path;

use crate::bundle::part::Part;
use crate::bundle::redact::Counts;
use crate::human;
use crate::report::{Table, hang_in_words, headline, or_none, or_not_known};

use super::redaction;

/// The report of several runs.
pub(in crate::bundle) fn report_of_several(parts: &[Part], redacted: &Counts) -> String {
    let name = |part: &Part| {
        let folder = part.folder().file_name().unwrap_or_default();
        Path::new(folder).display().to_string()
    };
    let told: String = parts
        .iter()
        .map(|part| {
            let headline = headline(&part.analysed.run, &part.analysed.summary);
            format!("- [{0}]({0}/README.md): {headline}\n", name(part))
        })
        .collect();
    let mut table = Table::new([
        "run",
        "PostgreSQL",
        "verdict",
        "longest time without a commit",
        "reads a second in it",
        "cap",
        "blocks prefetched",
    ]);
    for part in parts {
        let (run, summary) = (&part.analysed.run, &part.analysed.summary);
        table.row([
            name(part),
            run.server.version.clone(),
            summary.verdict.to_string(),
            hang_in_words(summary),
            or_not_known(summary.hang_read_iops_mean, human::rate),
            or_none(summary.read_iops_cap),
            or_not_known(summary.prefetched_blocks, human::count),
        ]);
    }
    format!(
        "# {} runs of PostgreSQL with a fault of the standby\n\n{told}\n{}\n\
         ![The runs on one time axis](comparison/comparison.png)\n\n\
         [comparison/README.md](comparison/README.md) sets all figures side by side and says in what the runs \
         differ. Each run's folder has its report, `expected.md`, `repro.sh` where there is one, settings, versions, \
         platform, tables and logs; its `analysis.md` is interpretation, not facts.\n\n{}",
        parts.len(),
        table.render(),
        redaction(redacted)
    )
}
