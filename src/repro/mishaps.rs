//! What can go wrong in a run, and what then becomes of its verdict: from the fault to the files, on the fake lab.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use super::tests::{carry_out, folders, request};
use crate::fake::{FakeSite, Mishap, Script};
use crate::profile::Prefetch;
use crate::store::{RunFolder, Summary, Verdict};

/// How a run has to end.
enum End {
    /// Done, with this verdict, of which this is said.
    Verdict(Verdict, &'static str),
    /// With an error that says this; the folder cannot tell anything either, and says the same.
    Error(&'static str),
}

use End::{Error, Verdict as Judged};

const SECOND: Duration = Duration::from_secs(1);

/// Everything the fake lab knows to do wrong.
fn mishaps() -> Vec<(Mishap, End)> {
    vec![
        (
            Mishap::LoadDies(SECOND * 8),
            Judged(Verdict::Inconclusive, "the load ended while it was needed: exit code 1"),
        ),
        (
            Mishap::LoadDies(SECOND * 40),
            Judged(Verdict::Inconclusive, "the load ended while it was needed: exit code 1"),
        ),
        (
            Mishap::StandbyDies(SECOND * 10),
            Judged(Verdict::Inconclusive, "its container ended with exit code 137"),
        ),
        (Mishap::ReplayPaused, Judged(Verdict::Inconclusive, "replay was paused before the fault")),
        (Mishap::FaultFails, Error("there is no walreceiver on standby")),
        (Mishap::CommitHangs, Error("the update's commit: not done after")),
        (Mishap::CapLifted, Judged(Verdict::Inconclusive, "the cap did not hold: standby read")),
        (Mishap::StandbySilent, Judged(Verdict::Inconclusive, "what held them back was not seen")),
        (Mishap::ReceiverFlaps, Judged(Verdict::Inconclusive, "before the fault, and came back by itself")),
        (Mishap::EngineLost, Judged(Verdict::Inconclusive, "the engine does not answer")),
        // These do not hide what is asked: the stall was there, and what is known of it is said.
        (Mishap::NeverStreams, Judged(Verdict::Stalled, "the run ended before the hang did")),
        (Mishap::Conflict, Judged(Verdict::Stalled, "")),
    ]
}

async fn summary_after(mishap: Mishap, end: &End) -> Summary {
    let results = tempfile::tempdir().unwrap();
    let script = Some(Script::stalling().with(mishap));
    let site = FakeSite { script, ..FakeSite::default() };
    let outcome = carry_out(&site, &request(results.path(), &[Prefetch::Try]), None).await;
    match (outcome, end) {
        (Ok(outcome), Judged(..)) => assert_eq!(outcome.arms.len(), 1, "{mishap:?}"),
        (Err(error), Error(reason)) => {
            let said = format!("{:#}", anyhow::Error::from(error));
            assert!(said.contains(reason), "{mishap:?}: {said}");
        }
        (ended, _) => panic!("{mishap:?} ended with {ended:?}"),
    }
    let folder = folders(&results).into_iter().find(|name| name.ends_with("-try")).unwrap();
    let folder = RunFolder::at(results.path().join("smoke").join(folder));
    assert!(folder.plot_path().exists() && folder.page_path().exists(), "{mishap:?}");
    folder.summary().unwrap()
}

#[tokio::test(start_paused = true)]
async fn whatever_goes_wrong_no_run_tells_what_it_cannot_know() {
    for (mishap, end) in mishaps() {
        let summary = summary_after(mishap, &end).await;
        let (verdict, reason) = match end {
            Judged(verdict, reason) => (verdict, reason),
            Error(reason) => (Verdict::Inconclusive, reason),
        };
        assert_eq!(summary.verdict, verdict, "{mishap:?}: {:?}", summary.reasons);
        let says = summary.reasons.iter().any(|said| said.contains(reason));
        assert!(says || reason.is_empty(), "{mishap:?}: {:?}", summary.reasons);
    }
}
