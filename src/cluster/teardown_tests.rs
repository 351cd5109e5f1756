#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::cluster::Lease;
use crate::docker::fake::{Answer, FakeEngine};

#[test]
fn a_runs_scope_is_its_own_and_neither_covers_what_outlives_runs() {
    let of = |run: &str| labels::of(run, Kind::Images);
    let one = Scope::Run("r1".to_owned());
    assert!(one.covers(&of("r1")) && !one.covers(&of("r2")));
    assert!(Scope::Leftovers.covers(&of("r1")) && Scope::Leftovers.covers(&of("r2")));
    for scope in [one, Scope::Leftovers] {
        assert!(!scope.covers(&of(CACHE)) && !scope.covers(&of(IMAGE)) && !scope.covers(&BTreeMap::new()));
    }
}

fn labelled(run: &str, kind: Kind) -> serde_json::Value {
    serde_json::to_value(labels::of(run, kind)).unwrap()
}

fn containers(of: &[(&str, serde_json::Value)]) -> Answer {
    let container = |(name, labels): &(&str, serde_json::Value)| serde_json::json!({ "Names": [format!("/{name}")], "State": "running", "Labels": labels });
    Answer::json(&serde_json::Value::from_iter(of.iter().map(container)).to_string())
}

fn volumes(of: &[(&str, serde_json::Value)]) -> Answer {
    let volume = |(name, labels): &(&str, serde_json::Value)| {
        serde_json::json!({
            "Name": name, "Driver": "local", "Mountpoint": "/m", "Labels": labels, "Options": {}, "Scope": "local"
        })
    };
    let volumes = serde_json::Value::from_iter(of.iter().map(volume));
    Answer::json(&serde_json::json!({ "Volumes": volumes, "Warnings": [] }).to_string())
}

fn networks(of: &[(&str, serde_json::Value)]) -> Answer {
    let network = |(name, labels): &(&str, serde_json::Value)| serde_json::json!({ "Id": name, "Name": name, "Labels": labels });
    Answer::json(&serde_json::Value::from_iter(of.iter().map(network)).to_string())
}

/// An engine with two containers, two volumes and a network of run r1; the first container cannot be removed.
fn stubborn() -> FakeEngine {
    let of = |kind| labelled("r1", kind);
    FakeEngine::start()
        .answer("GET /containers/json", containers(&[("a", of(Kind::Node)), ("b", of(Kind::Node))]))
        .answer("GET /containers/json", containers(&[("a", of(Kind::Node))]))
        .answer("DELETE /containers/a", Answer::error(500, "device busy"))
        .answer("DELETE /containers/b", Answer::text(204, ""))
        .answer("GET /volumes", volumes(&[("d", of(Kind::Disk)), ("i", of(Kind::Images))]))
        .answer("GET /volumes", volumes(&[]))
        .answer("GET /volumes", volumes(&[("i", of(Kind::Images))]))
        .answer("GET /volumes", volumes(&[]))
        .answer("DELETE /volumes/d", Answer::text(204, ""))
        .answer("DELETE /networks/n", Answer::text(204, ""))
}

#[tokio::test]
async fn what_cannot_be_removed_stops_nothing_else_and_is_told_with_what_to_do() {
    let fake = stubborn()
        .answer("GET /networks", networks(&[("n", labelled("r1", Kind::Network))]))
        .answer("GET /networks", networks(&[]));
    let removal = tear_down(&fake.connect().await, &Scope::Run("r1".to_owned()), None).await.unwrap();
    assert_eq!(removal.removed, ["container b", "volume d", "network n"]);
    let [busy, unreached] = removal.failures.as_slice() else { panic!("{:?}", removal.failures) };
    assert!(busy.starts_with("container a: cannot remove container a: device busy"), "{busy}");
    assert!(unreached.contains("`stall-lab image build` makes one"), "{unreached}");
}

#[tokio::test]
async fn an_engine_that_goes_away_in_the_middle_is_told_and_what_was_done_stays_done() {
    let fake = stubborn().answer("GET /networks", Answer::cut_stream(b"[{\"Id\":"));
    let error = tear_down(&fake.connect().await, &Scope::Run("r1".to_owned()), None).await.unwrap_err();
    assert!(error.to_string().starts_with("cannot list the lab's networks: "), "{error}");
    let requests = fake.requests();
    for done in ["DELETE /v1.41/containers/b", "DELETE /v1.41/volumes/d"] {
        assert!(requests.iter().any(|request| request.starts_with(done)), "{requests:?}");
    }
}

#[tokio::test]
async fn leftovers_are_those_of_runs_whose_lab_is_gone_and_no_other_thing_is_touched() {
    let live = format!("live-{}", std::process::id());
    let _lease = Lease::take(&live).unwrap();
    let all = [
        ("dead", labelled("a-run-that-never-was", Kind::Node)),
        ("living", labelled(&live, Kind::Node)),
        ("cache", labelled(CACHE, Kind::Helper)),
        ("foreign", serde_json::json!({})),
    ];
    let fake = FakeEngine::start()
        .answer("GET /containers/json", containers(&all))
        .answer("GET /containers/json", containers(&all[1..]))
        .answer("GET /volumes", volumes(&[]))
        .answer("GET /networks", networks(&[]))
        .answer("DELETE /containers/dead", Answer::text(204, ""));
    let removal = tear_down(&fake.connect().await, &Scope::Leftovers, None).await.unwrap();
    assert_eq!(
        (removal.removed.as_slice(), removal.failures.len()),
        (["container dead".to_owned()].as_slice(), 0)
    );
    let deleted: Vec<String> =
        fake.requests().into_iter().filter(|request| request.starts_with("DELETE")).collect();
    assert_eq!(deleted.len(), 1, "{deleted:?}");
}
