//! The files of a run, to the verdict, the page and the picture.

use std::collections::BTreeMap;
use std::path::Path;

use super::Mutator;
use crate::analysis;
use crate::explain::Explanation;
use crate::report;
use crate::store::{Event, RunFolder, RunInfo, StoreError, Summary, Timeline, Verdict, WalAccount};
use crate::verdict;

const FILES: [&str; 4] = ["run.json", "timeline.csv", "events.csv", "wal.json"];

/// How many are judged, and how many of these are drawn, too.
const JUDGED: usize = 2_000;
const DRAWN_EVERY: usize = 250;

/// The files of a run, each as it was recorded and as it was read.
struct Recorded {
    texts: Vec<(&'static str, String)>,
    run: RunInfo,
    timeline: Timeline,
    events: Vec<Event>,
    account: Option<WalAccount>,
}

impl Recorded {
    fn read(path: &Path) -> Self {
        let text = |name: &'static str| Some((name, std::fs::read_to_string(path.join(name)).ok()?));
        let folder = RunFolder::at(path);
        Self {
            texts: FILES.into_iter().filter_map(text).collect(),
            run: folder.run().unwrap(),
            timeline: folder.timeline().unwrap(),
            events: folder.events().unwrap(),
            account: folder.wal().unwrap(),
        }
    }

    /// Everything that is made of a run, but for the picture, with this file read from the folder.
    fn judged_with(&self, name: &str, folder: &RunFolder) -> Result<Summary, StoreError> {
        let (mut run, mut timeline) = (self.run.clone(), self.timeline.clone());
        let (mut events, mut account) = (self.events.clone(), self.account.clone());
        match name {
            "run.json" => run = folder.run()?,
            "timeline.csv" => timeline = folder.timeline()?,
            "events.csv" => events = folder.events()?,
            _ => account = folder.wal()?,
        }
        let summary = verdict::judge(&run, &timeline, &events);
        let explanation = Explanation::of_run(&run, &timeline, &events, &summary, account.as_ref());
        let page = report::page(&run, &summary, &events, Some(&explanation));
        assert!(page.len() > 1_000 && report::headline(&run, &summary).len() > 10);
        Ok(summary)
    }
}

/// Short runs of each verdict, one with a restart and an account of its WAL among them.
fn recorded() -> Vec<Recorded> {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("results/scenarios");
    [
        "apply-delay/20261130T212305Z-no-delay",
        "apply-delay/20261130T214331Z-restart-7d",
        "full-page-writes/20261130T225253Z-fpw-off",
        "full-page-writes/20261130T225036Z-fpw-try",
    ]
    .map(|folder| Recorded::read(&results.join(folder)))
    .into()
}

#[test]
fn mutated_files_of_runs_are_judged_or_refused_with_their_name() {
    let (recorded, dir) = (recorded(), tempfile::tempdir().unwrap());
    let folder = RunFolder::at(dir.path());
    let mut mutator = Mutator::new(4);
    let mut ends: BTreeMap<(&str, bool), usize> = BTreeMap::new();
    for round in 0..JUDGED {
        let recorded = mutator.any(&recorded);
        for (name, text) in &recorded.texts {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let (name, text) = mutator.any(&recorded.texts).clone();
        std::fs::write(dir.path().join(name), mutator.mutate(&text)).unwrap();
        let judged = recorded.judged_with(name, &folder);
        match &judged {
            Ok(summary) => assert!(summary.verdict != Verdict::Inconclusive || !summary.reasons.is_empty()),
            Err(error) => assert!(error.to_string().contains(name), "{error}"),
        }
        *ends.entry((name, judged.is_ok())).or_default() += 1;
        if round % DRAWN_EVERY == 0 {
            // It may be refused, as above.
            let _ = analysis::analyse(folder.clone());
        }
        std::fs::remove_file(dir.path().join(name)).unwrap();
    }
    // Were all files of a kind read, or none, this would test nothing.
    assert_eq!(ends.len(), 2 * FILES.len(), "{ends:?}");
    assert!(ends.values().all(|count| *count >= 5), "{ends:?}");
}
