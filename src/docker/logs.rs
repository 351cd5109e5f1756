//! What a container wrote.

use std::collections::VecDeque;
use std::time::Duration;

use bollard::query_parameters::LogsOptions;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use super::engine::{CALL, Engine, next_within};
use super::error::{Cause, DockerError};
use super::lines::{Line, LineCutter, stream_of};

/// Whether the log of a container is read to what it is now, or as long as the container runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follow {
    No,
    Yes,
}

fn options(follow: Follow, tail: &str) -> LogsOptions {
    LogsOptions {
        follow: follow == Follow::Yes,
        stdout: true,
        stderr: true,
        tail: tail.to_owned(),
        ..Default::default()
    }
}

impl Engine {
    /// The last `lines` lines that a container wrote, standard output and error in the order of writing.
    ///
    /// # Errors
    /// [`DockerError::ReadLogs`].
    pub async fn log_tail(&self, name: &str, lines: usize) -> Result<Vec<Line>, DockerError> {
        let mut collected = VecDeque::new();
        let tail = lines.to_string();
        self.each_log_line(name, options(Follow::No, &tail), CALL, |line| collected.push_back(line))
            .await
            .map_err(|cause| DockerError::ReadLogs { name: name.to_owned(), cause })?;
        Ok(collected.into())
    }

    /// Calls `on_line` for each line that a container has written so far. The log passes through in pieces, so it may be
    /// large.
    ///
    /// # Errors
    /// [`DockerError::ReadLogs`].
    pub async fn read_log(&self, name: &str, mut on_line: impl FnMut(&str)) -> Result<(), DockerError> {
        self.each_log_line(name, options(Follow::No, "all"), CALL, |(_, line)| on_line(&line))
            .await
            .map_err(|cause| DockerError::ReadLogs { name: name.to_owned(), cause })
    }

    /// Calls `on_line` for each line of a container's log until the container ends or nothing came for `silence`.
    pub(super) async fn follow_log(
        &self,
        name: &str,
        silence: Duration,
        on_line: impl FnMut(Line),
    ) -> Result<(), Cause> {
        self.each_log_line(name, options(Follow::Yes, "all"), silence, on_line).await
    }

    async fn each_log_line(
        &self,
        name: &str,
        options: LogsOptions,
        silence: Duration,
        mut on_line: impl FnMut(Line),
    ) -> Result<(), Cause> {
        let mut frames = Box::pin(self.docker.logs(name, Some(options)));
        let mut cutter = LineCutter::default();
        let mut lines = VecDeque::new();
        while let Some(frame) = next_within(silence, &mut frames).await? {
            cutter.push(stream_of(&frame), frame.as_ref(), &mut lines);
            lines.drain(..).for_each(&mut on_line);
        }
        cutter.finish(&mut lines);
        lines.drain(..).for_each(on_line);
        Ok(())
    }

    /// Writes all that a container wrote, standard output and error in the order of writing, and returns the number of
    /// bytes. The log passes through in pieces, so it may be large.
    ///
    /// # Errors
    /// [`DockerError::ReadLogs`] or [`DockerError::SaveLogs`]; what came before the error is written.
    pub async fn save_logs(
        &self,
        name: &str,
        writer: &mut (impl AsyncWrite + Unpin),
    ) -> Result<u64, DockerError> {
        let mut frames = Box::pin(self.docker.logs(name, Some(options(Follow::No, "all"))));
        let mut written = 0;
        let not_saved = |error: std::io::Error| DockerError::SaveLogs {
            name: name.to_owned(),
            reason: error.to_string(),
        };
        loop {
            let frame = next_within(CALL, &mut frames).await;
            match frame.map_err(|cause| DockerError::ReadLogs { name: name.to_owned(), cause }) {
                Ok(Some(frame)) => {
                    let bytes = frame.into_bytes();
                    writer.write_all(&bytes).await.map_err(not_saved)?;
                    written += bytes.len() as u64;
                }
                Ok(None) => break,
                Err(error) => {
                    writer.flush().await.map_err(not_saved)?;
                    return Err(error);
                }
            }
        }
        writer.flush().await.map_err(not_saved)?;
        Ok(written)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;
    use crate::docker::OutputStream::{Stderr, Stdout};
    use crate::docker::fake::{Answer, FakeEngine, frame};

    fn log() -> Vec<u8> {
        [frame(1, "one\ntw"), frame(2, "oops\n"), frame(1, "o\n")].concat()
    }

    #[tokio::test]
    async fn a_tail_is_lines_with_their_stream() {
        let fake = FakeEngine::start().answer("GET /containers/c/logs", Answer::stream(&log()));
        let lines = fake.connect().await.log_tail("c", 5).await.unwrap();
        assert_eq!(
            lines,
            [(Stdout, "one".to_owned()), (Stderr, "oops".to_owned()), (Stdout, "two".to_owned())]
        );
        assert!(fake.requests().pop().unwrap().contains("tail=5"));
    }

    #[tokio::test]
    async fn a_saved_log_is_the_bytes_in_the_order_of_writing() {
        let fake = FakeEngine::start().answer("GET /containers/c/logs", Answer::stream(&log()));
        let mut saved = Vec::new();
        let written = fake.connect().await.save_logs("c", &mut saved).await.unwrap();
        assert_eq!((saved.as_slice(), written), (&b"one\ntwoops\no\n"[..], 13));
    }

    #[tokio::test]
    async fn a_log_that_is_cut_is_an_error_and_what_came_is_kept() {
        let fake = FakeEngine::start().answer("GET /containers/c/logs", Answer::cut_stream(&log()));
        let mut saved = Vec::new();
        let error = fake.connect().await.save_logs("c", &mut saved).await.unwrap_err();
        assert!(matches!(error, DockerError::ReadLogs { .. }), "{error}");
        assert_eq!(saved, b"one\ntwoops\no\n");
    }
}
