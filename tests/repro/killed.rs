//! SIGKILL, to the lab in every phase and to its containers: what was sampled is on disk and can be drawn, and all that
//! was made goes by its label.

use super::foreign::Foreign;
use super::*;
use stall_lab::store::{Event, EventKind, Metric, Phase, Row};

fn start(results: &Path) -> std::process::Child {
    lab(results).args(["--prefetch", "try"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// The run's folder, as soon as this holds of it.
async fn once(results: &Path, what: &str, holds: impl Fn(&RunFolder) -> Option<bool>) -> RunFolder {
    wait_for(what, || {
        let folder = RunFolder::at(runs(results).into_iter().next()?);
        holds(&folder)?.then_some(folder)
    })
    .await
}

/// The run's folder, as soon as the run is in this phase.
async fn in_phase(results: &Path, phase: Phase) -> RunFolder {
    let is_phase = |event: &Event| event.kind == EventKind::Phase && event.detail == phase.name();
    once(results, phase.name(), |folder| Some(folder.events().ok()?.iter().any(is_phase))).await
}

/// The fault has been injected, and was seen to be.
fn fault_was_verified(folder: &RunFolder) -> Option<bool> {
    Some(folder.events().ok()?.iter().any(|event| event.kind == EventKind::FaultVerified))
}

/// The load has committed something.
fn load_runs(folder: &RunFolder) -> Option<bool> {
    let timeline = folder.timeline().ok()?;
    let commits = |row: &Row| row.number("primary", &Metric::Tps).is_some_and(|tps| tps > 0.0);
    Some(timeline.rows.iter().any(commits))
}

/// Draws what is in the folder; what `plot` says of it.
fn plotted(folder: &RunFolder) -> String {
    let plot = Command::new(env!("CARGO_BIN_EXE_stall-lab")).arg("plot").arg(folder.path()).output().unwrap();
    assert!(plot.status.success(), "{}", String::from_utf8_lossy(&plot.stderr));
    assert!(folder.plot_path().exists() && folder.page_path().exists());
    String::from_utf8(plot.stdout).unwrap()
}

#[tokio::test]
async fn a_lab_killed_in_any_phase_leaves_what_it_sampled_and_nothing_that_its_label_does_not_find() {
    let Some(docker) = Docker::new().await else { return };
    let foreign = Foreign::make(&docker).await;
    // Servers that are only watched have a phase of their own, and nothing that was made.
    for phase in Phase::ALL.into_iter().filter(|phase| *phase != Phase::Observed) {
        let results = tempfile::tempdir().unwrap();
        let mut child = start(results.path());
        let folder = in_phase(results.path(), phase).await;
        let seen = folder.timeline().map_or(0, |timeline| timeline.rows.len());
        child.kill().unwrap();
        child.wait().unwrap();

        let rows = folder.timeline().unwrap_or_default().rows;
        assert!(rows.len() >= seen, "{phase:?}: of {seen} rows {} are left", rows.len());
        assert!(rows.iter().zip(rows.iter().skip(1)).all(|(before, row)| row.t_s > before.t_s), "{phase:?}");
        if rows.is_empty() {
            // Killed between the first event and the first row.
            assert_eq!(phase, Phase::Settle);
        }
        assert!(plotted(&folder).starts_with("inconclusive: "), "{phase:?}");
        assert_eq!(folder.summary().unwrap().verdict, Verdict::Inconclusive, "{phase:?}");

        let run = folder.run().unwrap().run_id;
        assert!(docker.things_of(std::slice::from_ref(&run)).await.len() >= 4, "{phase:?}");
        let scope = Scope::Run(run.clone());
        let removal = tear_down(&docker.engine, &scope, Some(&docker.image.reference)).await.unwrap();
        assert_eq!(removal.failures, [""; 0], "{phase:?}");
        // `clean` asks whether the run still lives and takes the lock with it; here nobody asked.
        std::fs::remove_file(format!("/tmp/stall-lab-{run}.lock")).unwrap();
        docker.assert_nothing_is_left_of(&[run]).await;
    }
    foreign.assert_untouched(&docker).await;
    foreign.remove(&docker).await;
}

#[tokio::test]
async fn a_container_that_is_killed_leaves_its_run_without_a_verdict() {
    let Some(docker) = Docker::new().await else { return };
    type Holds = fn(&RunFolder) -> Option<bool>;
    let cases: [(&str, &str, Holds); 2] =
        [("standby", "the fault", fault_was_verified), ("primary", "a commit of the load", load_runs)];
    for (node, what, holds) in cases {
        let results = tempfile::tempdir().unwrap();
        let mut child = start(results.path());
        let folder = once(results.path(), what, holds).await;
        let run = folder.run().unwrap().run_id;
        docker.engine.kill_container(&format!("stall-lab-{run}-{node}"), "SIGKILL").await.unwrap();
        let ended = child.wait().unwrap();
        assert!(matches!(ended.code(), Some(0 | 1)), "{node}: {ended:?}");
        let summary = folder.summary().unwrap();
        assert_eq!(summary.verdict, Verdict::Inconclusive, "{node}: {summary:?}");
        let named = summary
            .reasons
            .iter()
            .any(|reason| reason.contains("exit code 137") || reason.contains("the load ended"));
        assert!(named, "{node}: {:?}", summary.reasons);
        docker.assert_nothing_is_left_of(&[run]).await;
    }
}

#[tokio::test]
async fn two_labs_at_once_do_not_disturb_each_other() {
    let Some(docker) = Docker::new().await else { return };
    let results = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let children = results.each_ref().map(|results| {
        let args = ["--prefetch", "off", "--expect", "no-stall"];
        lab(results.path()).args(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    });
    for child in children {
        let ended = child.wait_with_output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    let made = results.each_ref().map(|results| run_ids(results.path())).concat();
    assert_eq!(made.len(), 2);
    assert_ne!(made[0], made[1]);
    docker.assert_nothing_is_left_of(&made).await;
}
