//! A container that lives for one command.

use std::time::Duration;

use tokio::time::Instant;

use super::engine::Engine;
use super::error::{Cause, DockerError};
use super::lines::{OutputStream, Tail};
use super::spec::ContainerSpec;

/// How many lines of its output a failed container leaves in the error.
const LAST_LINES: usize = 20;

impl Engine {
    /// Creates a container, starts it, calls `on_line` for each line it writes, waits for its end and removes it, however it
    /// ended. If this future is dropped half-way the container stays, and is found by its labels.
    ///
    /// # Errors
    /// [`DockerError::Failed`] for an exit code other than 0, [`DockerError::TimedOut`] if it has not ended after `deadline`,
    /// both with its last lines; or the error of the step that failed.
    pub async fn run_to_completion(
        &self,
        spec: &ContainerSpec,
        deadline: Duration,
        mut on_line: impl FnMut(OutputStream, &str),
    ) -> Result<(), DockerError> {
        if let Err(error) = self.create_container(spec).await {
            if may_have_been_created(&error) {
                self.remove_or_warn(&spec.name).await;
            }
            return Err(error);
        }
        let mut tail = Tail::new(LAST_LINES);
        let ended = self.run_created(&spec.name, deadline, |stream, line| {
            tail.push(line);
            on_line(stream, line);
        });
        let ended = ended.await;
        let removed = self.remove_container(&spec.name).await;
        let last_lines = tail.into_lines();
        match ended {
            Ok(Some(0)) => removed,
            Ok(Some(exit_code)) => {
                Err(DockerError::Failed { name: spec.name.clone(), exit_code, last_lines })
            }
            Ok(None) => Err(DockerError::TimedOut { name: spec.name.clone(), deadline, last_lines }),
            Err(error) => Err(error),
        }
        .inspect_err(|error| tracing::debug!("{error}"))
    }

    /// The exit code; `None` after the deadline.
    async fn run_created(
        &self,
        name: &str,
        deadline: Duration,
        mut on_line: impl FnMut(OutputStream, &str),
    ) -> Result<Option<i64>, DockerError> {
        let end = Instant::now() + deadline;
        self.start_container(name).await?;
        let followed = self.follow_log(name, deadline, |(stream, line)| on_line(stream, &line));
        match tokio::time::timeout_at(end, followed).await {
            Ok(Ok(())) => {}
            Err(_) | Ok(Err(Cause::Deadline(_))) => return Ok(None),
            Ok(Err(cause)) => {
                return Err(DockerError::ReadLogs { name: name.to_owned(), cause });
            }
        }
        match self.wait_container(name, end.saturating_duration_since(Instant::now())).await {
            Ok(code) => Ok(Some(code)),
            Err(DockerError::WaitContainer { cause: Cause::Deadline(_), .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn remove_or_warn(&self, name: &str) {
        if let Err(error) = self.remove_container(name).await {
            tracing::warn!("{error}");
        }
    }
}

/// After a refusal there is no container, or one of the same name that is somebody else's. Only when the answer was lost may
/// there be one of ours.
fn may_have_been_created(error: &DockerError) -> bool {
    match error {
        DockerError::CreateContainer { cause, .. } => {
            matches!(cause, Cause::Deadline(_) | Cause::Connection(_) | Cause::Unreadable(_))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;
    use crate::docker::fake::{Answer, FakeEngine, frame};

    const SOON: Duration = Duration::from_secs(20);

    fn spec() -> ContainerSpec {
        ContainerSpec { name: "c".to_owned(), image: "i".to_owned(), ..Default::default() }
    }

    fn fake(log: Answer, wait: Answer) -> FakeEngine {
        FakeEngine::start()
            .answer("POST /containers/create", Answer::json(r#"{"Id":"1","Warnings":[]}"#))
            .answer("POST /containers/c/start", Answer::text(204, ""))
            .answer("GET /containers/c/logs", log)
            .answer("POST /containers/c/wait", wait)
            .answer("DELETE /containers/c", Answer::text(204, ""))
    }

    async fn run(fake: &FakeEngine, deadline: Duration) -> (Result<(), DockerError>, Vec<String>) {
        let mut lines = Vec::new();
        let engine = fake.connect().await;
        let result = engine.run_to_completion(&spec(), deadline, |_, line| lines.push(line.to_owned())).await;
        (result, lines)
    }

    fn assert_removed(fake: &FakeEngine) {
        assert!(fake.requests().iter().any(|request| request.starts_with("DELETE")), "{:?}", fake.requests());
    }

    #[tokio::test]
    async fn a_success_gives_its_lines_and_leaves_nothing() {
        let fake = fake(Answer::stream(&frame(1, "one\ntwo\n")), Answer::json(r#"{"StatusCode":0}"#));
        let (result, lines) = run(&fake, SOON).await;
        result.unwrap();
        assert_eq!(lines, ["one", "two"]);
        assert_removed(&fake);
    }

    #[tokio::test]
    async fn a_failure_carries_the_exit_code_and_the_last_lines_and_leaves_nothing() {
        let log: String = (0..30).map(|n| format!("line {n}\n")).collect();
        let fake = fake(Answer::stream(&frame(2, &log)), Answer::json(r#"{"StatusCode":2}"#));
        match run(&fake, SOON).await.0.unwrap_err() {
            DockerError::Failed { exit_code: 2, last_lines, .. } => {
                assert_eq!(last_lines.len(), LAST_LINES);
                assert_eq!(last_lines.last().unwrap(), "line 29");
            }
            other => panic!("{other}"),
        }
        assert_removed(&fake);
    }

    #[tokio::test]
    async fn one_that_does_not_end_is_removed_at_the_deadline() {
        let log = Answer::cut_stream(&frame(1, "still here\n")).then_silence();
        let fake = fake(log, Answer::json(r#"{"StatusCode":0}"#));
        let error = run(&fake, Duration::from_secs(1)).await.0.unwrap_err();
        assert!(
            matches!(&error, DockerError::TimedOut { last_lines, .. } if last_lines == &["still here"]),
            "{error}"
        );
        assert_removed(&fake);
    }

    #[tokio::test]
    async fn a_log_that_breaks_off_is_an_error_and_leaves_nothing() {
        let fake = fake(Answer::cut_stream(&frame(1, "one\n")), Answer::json(r#"{"StatusCode":0}"#));
        assert!(matches!(run(&fake, SOON).await.0.unwrap_err(), DockerError::ReadLogs { .. }));
        assert_removed(&fake);
    }

    #[tokio::test]
    async fn one_that_does_not_start_leaves_nothing() {
        let fake = FakeEngine::start()
            .answer("POST /containers/create", Answer::json(r#"{"Id":"1","Warnings":[]}"#))
            .answer("POST /containers/c/start", Answer::error(500, "no such program"))
            .answer("DELETE /containers/c", Answer::text(204, ""));
        assert!(matches!(run(&fake, SOON).await.0.unwrap_err(), DockerError::StartContainer { .. }));
        assert_removed(&fake);
    }

    #[tokio::test]
    async fn somebody_elses_container_of_the_same_name_is_left_alone() {
        let fake = FakeEngine::start().answer(
            "POST /containers/create",
            Answer::error(409, "The container name \"/c\" is already in use"),
        );
        assert!(matches!(run(&fake, SOON).await.0.unwrap_err(), DockerError::CreateContainer { .. }));
        assert!(fake.requests().iter().all(|request| !request.starts_with("DELETE")));
    }

    #[tokio::test]
    async fn a_lost_answer_to_create_is_cleaned_up_after() {
        let fake = FakeEngine::start()
            .answer("POST /containers/create", Answer::json("cut"))
            .answer("DELETE /containers/c", Answer::text(204, ""));
        assert!(matches!(run(&fake, SOON).await.0.unwrap_err(), DockerError::CreateContainer { .. }));
        assert_removed(&fake);
    }
}
