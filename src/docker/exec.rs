//! Commands run in a running container.

use std::collections::VecDeque;
use std::pin::Pin;
use std::time::Duration;

use bollard::container::LogOutput;
use bollard::exec::{StartExecOptions, StartExecResults};
use bollard::models::ExecConfig;
use futures_util::{Stream, StreamExt as _};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::time::Instant;

use super::engine::{CALL, Engine, within};
use super::error::{Cause, DockerError};
use super::lines::{Line, LineCutter, OutputStream, stream_of};

/// How often the engine is asked again whether a command whose output has ended has ended itself.
const EXIT_POLL: Duration = Duration::from_millis(20);

/// A command to run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecSpec {
    /// Program and arguments; no shell is in between.
    pub command: Vec<String>,
    /// `user` or `uid:gid`; `None` is the container's.
    pub user: Option<String>,
    /// Environment beyond the container's.
    pub env: Vec<(String, String)>,
}

impl ExecSpec {
    /// A command run by the container's own user.
    pub fn new<T: Into<String>>(command: impl IntoIterator<Item = T>) -> ExecSpec {
        ExecSpec { command: command.into_iter().map(Into::into).collect(), ..Default::default() }
    }

    /// Runs it as this user.
    #[must_use]
    pub fn user(mut self, user: &str) -> ExecSpec {
        self.user = Some(user.to_owned());
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> ExecSpec {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// What a command that has ended wrote, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecOutput {
    /// All of standard output; bytes that are no UTF-8 are replaced.
    pub stdout: String,
    /// All of standard error.
    pub stderr: String,
    /// The exit code; 126 and 127 mean that the command could not be started.
    pub exit_code: i64,
}

/// Whether a command gets an input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Input {
    None,
    Attached,
}

type Frames = Pin<Box<dyn Stream<Item = Result<LogOutput, bollard::errors::Error>> + Send>>;

/// A command that runs, its output line by line.
pub struct ExecStream {
    engine: Engine,
    container: String,
    command: String,
    id: String,
    frames: Frames,
    input: Option<Pin<Box<dyn AsyncWrite + Send>>>,
    cutter: LineCutter,
    lines: VecDeque<Line>,
    ended: bool,
}

impl std::fmt::Debug for ExecStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExecStream")
            .field("container", &self.container)
            .field("command", &self.command)
            .finish()
    }
}

impl Engine {
    /// Runs a command to its end. `stdin` is its whole input, if it has one.
    ///
    /// The engine cannot kill such a command: after the deadline it may still run, until its container is stopped.
    ///
    /// # Errors
    /// [`DockerError::Exec`], also after the deadline; an exit code other than 0 is no error.
    pub async fn exec(
        &self,
        container: &str,
        spec: &ExecSpec,
        stdin: Option<&[u8]>,
        deadline: Duration,
    ) -> Result<ExecOutput, DockerError> {
        let run = async {
            let input = if stdin.is_some() { Input::Attached } else { Input::None };
            let mut stream = self.start_exec(container, spec, input).await?;
            let (stdout, stderr) = stream.exchange(stdin).await?;
            let exit_code = stream.exit_code().await?;
            Ok(ExecOutput { stdout, stderr, exit_code })
        };
        match tokio::time::timeout(deadline, run).await {
            Ok(done) => done,
            Err(_) => Err(DockerError::Exec {
                name: container.to_owned(),
                command: spec.command.join(" "),
                cause: Cause::Deadline(deadline),
            }),
        }
    }

    /// Starts a command whose output is read line by line while it runs, and whose input is written with
    /// [`ExecStream::write`].
    ///
    /// # Errors
    /// [`DockerError::Exec`].
    pub async fn exec_stream(&self, container: &str, spec: &ExecSpec) -> Result<ExecStream, DockerError> {
        self.start_exec(container, spec, Input::Attached).await
    }

    async fn start_exec(
        &self,
        container: &str,
        spec: &ExecSpec,
        input: Input,
    ) -> Result<ExecStream, DockerError> {
        let command = spec.command.join(" ");
        let failed =
            |cause| DockerError::Exec { name: container.to_owned(), command: command.clone(), cause };
        let config = ExecConfig {
            attach_stdin: Some(input == Input::Attached),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            cmd: Some(spec.command.clone()),
            user: spec.user.clone(),
            env: Some(spec.env.iter().map(|(name, value)| format!("{name}={value}")).collect()),
            ..Default::default()
        };
        let created = within(CALL, self.docker.create_exec(container, config)).await.map_err(failed)?;
        let started = within(CALL, self.docker.start_exec(&created.id, None::<StartExecOptions>)).await;
        let StartExecResults::Attached { output, input: writer } = started.map_err(failed)? else {
            return Err(failed(Cause::Unreadable("the command was detached".to_owned())));
        };
        Ok(ExecStream {
            engine: self.clone(),
            container: container.to_owned(),
            id: created.id,
            frames: output,
            input: (input == Input::Attached).then_some(writer),
            cutter: LineCutter::default(),
            lines: VecDeque::new(),
            ended: false,
            command,
        })
    }
}

impl ExecStream {
    fn failed(&self, cause: Cause) -> DockerError {
        DockerError::Exec { name: self.container.clone(), command: self.command.clone(), cause }
    }

    /// The next line of output; `None` at the end of the output. Waits as long as the command is silent; may be dropped
    /// while it waits without losing a line.
    ///
    /// # Errors
    /// [`DockerError::Exec`] if the connection breaks.
    pub async fn next_line(&mut self) -> Result<Option<Line>, DockerError> {
        while self.lines.is_empty() && !self.ended {
            match self.frames.next().await {
                Some(Ok(frame)) => self.cutter.push(stream_of(&frame), frame.as_ref(), &mut self.lines),
                Some(Err(error)) => return Err(self.failed(error.into())),
                None => {
                    self.ended = true;
                    self.cutter.finish(&mut self.lines);
                }
            }
        }
        Ok(self.lines.pop_front())
    }

    /// Writes to the command's input.
    ///
    /// # Errors
    /// [`DockerError::ExecInput`] if the input is closed.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), DockerError> {
        let written = match &mut self.input {
            None => Err(std::io::Error::from(std::io::ErrorKind::BrokenPipe)),
            Some(input) => write_all(input, bytes).await,
        };
        written.map_err(|error| self.input_failed(&error))
    }

    /// Ends the command's input.
    ///
    /// # Errors
    /// [`DockerError::ExecInput`].
    pub async fn close_input(&mut self) -> Result<(), DockerError> {
        match self.input.take() {
            None => Ok(()),
            Some(mut input) => input.shutdown().await.map_err(|error| self.input_failed(&error)),
        }
    }

    fn input_failed(&self, error: &std::io::Error) -> DockerError {
        DockerError::ExecInput {
            name: self.container.clone(),
            command: self.command.clone(),
            reason: error.to_string(),
        }
    }

    /// Writes the whole input while reading the whole output, as either alone could block the command.
    async fn exchange(&mut self, stdin: Option<&[u8]>) -> Result<(String, String), DockerError> {
        let input = self.input.take();
        let write = async {
            if let (Some(mut input), Some(bytes)) = (input, stdin) {
                // A command may end without reading its input: its exit code tells, not this.
                if write_all(&mut input, bytes).await.is_ok() {
                    let _ = input.shutdown().await;
                }
                return Some(input);
            }
            None
        };
        let frames = &mut self.frames;
        let read = async {
            let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
            while let Some(frame) = frames.next().await {
                let frame = frame?;
                match stream_of(&frame) {
                    OutputStream::Stdout => stdout.extend_from_slice(frame.as_ref()),
                    OutputStream::Stderr => stderr.extend_from_slice(frame.as_ref()),
                }
            }
            Ok::<_, bollard::errors::Error>((stdout, stderr))
        };
        let (_input, output) = futures_util::future::join(write, read).await;
        let (stdout, stderr) = output.map_err(|error| self.failed(error.into()))?;
        self.ended = true;
        Ok((String::from_utf8_lossy(&stdout).into_owned(), String::from_utf8_lossy(&stderr).into_owned()))
    }

    /// The exit code. To be asked for after the end of the output: the engine learns of the end a moment later.
    ///
    /// # Errors
    /// [`DockerError::Exec`], also if the command still runs long after the end of its output.
    pub async fn exit_code(&mut self) -> Result<i64, DockerError> {
        let deadline = Instant::now() + CALL;
        loop {
            let state = within(CALL, self.engine.docker.inspect_exec(&self.id)).await;
            let state = state.map_err(|cause| self.failed(cause))?;
            if let (false, Some(code)) = (state.running.unwrap_or(false), state.exit_code) {
                return Ok(code);
            }
            if Instant::now() >= deadline {
                return Err(self.failed(Cause::Deadline(CALL)));
            }
            tokio::time::sleep(EXIT_POLL).await;
        }
    }
}

async fn write_all(input: &mut Pin<Box<dyn AsyncWrite + Send>>, bytes: &[u8]) -> std::io::Result<()> {
    input.write_all(bytes).await?;
    input.flush().await
}

#[cfg(test)]
#[path = "exec_tests.rs"]
mod tests;
