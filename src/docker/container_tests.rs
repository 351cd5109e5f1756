#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::docker::fake::{Answer, FakeEngine};
use crate::docker::spec::Limits;

const SOON: Duration = Duration::from_secs(20);

fn limited() -> ContainerSpec {
    ContainerSpec {
        name: "c".to_owned(),
        image: "i".to_owned(),
        limits: Limits { memory_bytes: Some(1 << 30), ..Default::default() },
        ..Default::default()
    }
}

fn created(warning: &str) -> FakeEngine {
    let body = serde_json::json!({"Id": "1", "Warnings": [warning]}).to_string();
    FakeEngine::start()
        .answer("POST /containers/create", Answer::json(&body))
        .answer("DELETE /containers/c", Answer::text(204, ""))
}

#[tokio::test]
async fn a_warning_about_a_discarded_limit_is_an_error_and_the_container_goes() {
    let fake =
        created("Your kernel does not support IOPS Block read limit. Block I/O IOPS read limit discarded.");
    let error = fake.connect().await.create_container(&limited()).await.unwrap_err();
    assert!(
        matches!(&error, DockerError::LimitsDiscarded { name, warnings } if name == "c" && warnings.len() == 1)
    );
    assert!(error.to_string().contains("Block I/O IOPS read limit discarded"), "{error}");
    assert_eq!(fake.requests().last().unwrap(), "DELETE /v1.41/containers/c?v=true&force=true&link=false");
}

#[tokio::test]
async fn a_limit_kept_in_part_is_no_error() {
    let fake = created("Your kernel does not support swap limit capabilities. Memory limited without swap.");
    fake.connect().await.create_container(&limited()).await.unwrap();
}

#[tokio::test]
async fn a_discarded_limit_that_nobody_asked_for_is_no_error() {
    let fake = created("Limitation discarded.");
    let spec = ContainerSpec { limits: Limits::default(), ..limited() };
    fake.connect().await.create_container(&spec).await.unwrap();
}

#[tokio::test]
async fn an_error_carries_the_name_and_the_engines_own_words() {
    let fake = FakeEngine::start()
        .answer("POST /containers/create", Answer::error(404, "No such image: i"))
        .answer("POST /containers/c/start", Answer::error(500, "loop device is busy"))
        .answer("POST /containers/c/kill", Answer::error(409, "Container c is not running"));
    let engine = fake.connect().await;
    for (error, words) in [
        (
            engine.create_container(&limited()).await.unwrap_err(),
            "cannot create container c from image i: No such image",
        ),
        (
            engine.start_container("c").await.unwrap_err(),
            "cannot start container c: loop device is busy (HTTP 500)",
        ),
        (
            engine.kill_container("c", "SIGINT").await.unwrap_err(),
            "cannot send SIGINT to container c: Container c is not",
        ),
    ] {
        assert!(error.to_string().starts_with(words), "{error}");
    }
}

#[tokio::test]
async fn a_container_that_is_not_there_is_removed_and_none() {
    let fake = FakeEngine::start()
        .answer("DELETE /containers/c", Answer::error(404, "No such container: c"))
        .answer("GET /containers/c/json", Answer::error(404, "No such container: c"));
    let engine = fake.connect().await;
    engine.remove_container("c").await.unwrap();
    assert_eq!(engine.inspect_container("c").await.unwrap(), None);
}

#[tokio::test]
async fn a_removal_in_progress_is_awaited() {
    let fake = FakeEngine::start()
        .answer("DELETE /containers/c", Answer::error(409, "removal of container c is already in progress"))
        .answer("POST /containers/c/wait", Answer::json(r#"{"StatusCode":137}"#));
    fake.connect().await.remove_container("c").await.unwrap();
    assert_eq!(fake.requests().last().unwrap(), "POST /v1.41/containers/c/wait?condition=removed");
}

#[tokio::test]
async fn a_removal_that_fails_is_an_error() {
    let fake = FakeEngine::start().answer("DELETE /containers/c", Answer::error(500, "device busy"));
    let error = fake.connect().await.remove_container("c").await.unwrap_err();
    assert_eq!(error.to_string(), "cannot remove container c: device busy (HTTP 500)");
}

#[tokio::test]
async fn wait_returns_any_exit_code() {
    for code in [0, 3] {
        let answer = Answer::json(&format!(r#"{{"StatusCode":{code}}}"#));
        let fake = FakeEngine::start().answer("POST /containers/c/wait", answer);
        assert_eq!(fake.connect().await.wait_container("c", SOON).await.unwrap(), code);
    }
}

#[tokio::test]
async fn wait_tells_a_cut_answer_from_an_exit() {
    let fake = FakeEngine::start().answer("POST /containers/c/wait", Answer::stream(b""));
    let error = fake.connect().await.wait_container("c", SOON).await.unwrap_err();
    assert!(error.to_string().contains("before the container ended"), "{error}");
}

#[tokio::test]
async fn wait_has_a_deadline() {
    let fake = FakeEngine::start().answer("POST /containers/c/wait", Answer::cut_stream(b"").then_silence());
    let error = fake.connect().await.wait_container("c", Duration::from_millis(50)).await.unwrap_err();
    assert!(matches!(error, DockerError::WaitContainer { cause: Cause::Deadline(_), .. }), "{error}");
}

#[tokio::test]
async fn a_listing_asks_for_the_labels_and_sorts_by_name() {
    let body = r#"[{"Names":["/b"],"State":"running","Labels":{"org.stall-lab.run":"r"}},{"Names":["/a"],"State":"exited","Labels":{}}]"#;
    let fake = FakeEngine::start().answer("GET /containers/json", Answer::json(body));
    let entries = fake.connect().await.containers(&Selector::any()).await.unwrap();
    let seen: Vec<(&str, &str)> =
        entries.iter().map(|entry| (entry.name.as_str(), entry.state.as_str())).collect();
    assert_eq!(seen, [("a", "exited"), ("b", "running")]);
    let request = fake.requests().pop().unwrap();
    assert!(request.contains("all=true") && request.contains("org.stall-lab.run"), "{request}");
}
