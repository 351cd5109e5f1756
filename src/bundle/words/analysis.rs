//! `analysis.md`: what the lab makes of the facts.

use crate::bundle::part::Part;
use crate::report;

/// The interpretation, apart from the facts: a reader may hold it to be wrong and still use the report.
pub(in crate::bundle) fn analysis(part: &Part) -> String {
    let run = &part.analysed.run;
    let why = part.explanation.as_ref().map_or_else(
        || {
            "What the reads were for is not known: the run has no account of its WAL (`wal.json`).\n"
                .to_owned()
        },
        report::attribution,
    );
    format!(
        "# Analysis\n\nInterpretation, by a model that was fed with the run's WAL and by reading PostgreSQL's \
         source. The report does not depend on it.\n\n## Why replay took as long as it did\n\n{why}\n\
         ## How to read the figures\n\n{}\n## Limitations\n\n{}",
        report::reading(run),
        report::limitations(run)
    )
}
