#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::OutputStream::{Stderr, Stdout};
use super::*;
use crate::docker::fake::{Answer, FakeEngine, frame};

const SOON: Duration = Duration::from_secs(20);

fn fake(start: Answer) -> FakeEngine {
    FakeEngine::start()
        .answer("POST /containers/c/exec", Answer::json(r#"{"Id":"e"}"#))
        .answer("POST /exec/e/start", start)
        .answer("GET /exec/e/json", Answer::json(r#"{"Running":true,"ExitCode":null}"#))
        .answer("GET /exec/e/json", Answer::json(r#"{"Running":false,"ExitCode":3}"#))
}

fn output() -> Vec<u8> {
    [frame(1, "a\nb"), frame(2, "warning\n"), frame(1, "c\n")].concat()
}

#[tokio::test]
async fn a_command_gives_its_outputs_and_the_exit_code_it_ended_with_after_them() {
    let fake = fake(Answer::upgraded(&output()));
    let spec = ExecSpec::new(["psql", "-c", "select 1"]).user("postgres").env("PGAPPNAME", "lab");
    let done = fake.connect().await.exec("c", &spec, None, SOON).await.unwrap();
    assert_eq!(
        done,
        ExecOutput { stdout: "a\nbc\n".to_owned(), stderr: "warning\n".to_owned(), exit_code: 3 }
    );
}

#[tokio::test]
async fn a_stream_gives_lines_then_none_then_the_exit_code() {
    let fake = fake(Answer::upgraded(&output()));
    let mut stream = fake.connect().await.exec_stream("c", &ExecSpec::new(["x"])).await.unwrap();
    let mut lines = Vec::new();
    while let Some(line) = stream.next_line().await.unwrap() {
        lines.push(line);
    }
    assert_eq!(lines, [(Stdout, "a".to_owned()), (Stderr, "warning".to_owned()), (Stdout, "bc".to_owned())]);
    assert_eq!(stream.next_line().await.unwrap(), None);
    assert_eq!(stream.exit_code().await.unwrap(), 3);
}

#[tokio::test]
async fn a_silent_command_meets_the_deadline() {
    let fake = fake(Answer::upgraded(&frame(1, "a\n")).then_silence());
    let deadline = Duration::from_millis(50);
    let error =
        fake.connect().await.exec("c", &ExecSpec::new(["sleep", "9"]), None, deadline).await.unwrap_err();
    assert!(
        error.to_string().starts_with("cannot run `sleep 9` in container c: no answer within"),
        "{error}"
    );
}

#[tokio::test]
async fn a_container_that_does_not_run_is_named() {
    let fake = FakeEngine::start()
        .answer("POST /containers/c/exec", Answer::error(409, "Container c is not running"));
    let error = fake.connect().await.exec("c", &ExecSpec::new(["x"]), None, SOON).await.unwrap_err();
    assert!(error.to_string().contains("Container c is not running"), "{error}");
}

#[tokio::test]
async fn writing_after_the_input_is_closed_is_an_error() {
    let fake = fake(Answer::upgraded(&output()));
    let mut stream = fake.connect().await.exec_stream("c", &ExecSpec::new(["x"])).await.unwrap();
    stream.close_input().await.unwrap();
    assert!(matches!(stream.write(b"late").await.unwrap_err(), DockerError::ExecInput { .. }));
}
