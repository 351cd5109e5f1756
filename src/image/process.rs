//! Tools of the host, run with a deadline, their output kept for the error.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::error::ImageError;

/// How many lines of its output a failed tool leaves in the error.
const LAST_LINES: usize = 12;
/// How long a tool may take to clean up after itself when it is stopped.
const CLEAN_UP: Duration = Duration::from_secs(5);

/// A tool that runs in a process group of its own, which goes when this goes.
struct Running {
    child: Child,
}

impl Running {
    fn signal(&self, signal: &str) {
        if let Some(pid) = self.child.id() {
            let group = format!("-{pid}");
            // There is no safe call for it in the standard library; a failure means that the group is gone.
            let _ = std::process::Command::new("kill")
                .args([signal, "--", &group])
                .stderr(Stdio::null())
                .status();
        }
    }
}

impl Drop for Running {
    /// Runs also when the caller is cancelled: mmdebstrap removes its half-made file system when it is asked to end.
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        self.signal("-TERM");
        let end = std::time::Instant::now() + CLEAN_UP;
        while matches!(self.child.try_wait(), Ok(None)) {
            if std::time::Instant::now() >= end {
                self.signal("-KILL");
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Runs a tool and returns what it wrote to standard output. `on_line` gets the lines of standard error.
pub(super) async fn run(
    mut command: Command,
    deadline: Duration,
    mut on_line: impl FnMut(&str),
) -> Result<String, ImageError> {
    let shown = shown(&command);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    let not_run = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => ImageError::NoProgram { program: command_name(&shown).to_owned() },
        _ => ImageError::ToolNotRun { command: shown.clone(), reason: error.to_string() },
    };
    let mut running = Running { child: command.spawn().map_err(not_run)? };
    let (stdout, stderr) = (running.child.stdout.take(), running.child.stderr.take());
    let mut last = VecDeque::new();
    let finished = tokio::time::timeout(deadline, async {
        let errors = each_line(stderr, |line| {
            keep_last(&mut last, line);
            on_line(line);
        });
        let (output, ()) = futures_util::future::join(read_all(stdout), errors).await;
        Ok::<(String, ExitStatus), std::io::Error>((output?, running.child.wait().await?))
    })
    .await;
    let output = |last: VecDeque<String>| {
        if last.is_empty() { String::new() } else { format!(":\n{}", Vec::from(last).join("\n")) }
    };
    match finished {
        Ok(Ok((stdout, status))) if status.success() => Ok(stdout),
        Ok(Ok((_, status))) => {
            Err(ImageError::ToolFailed { command: shown, status: status.to_string(), output: output(last) })
        }
        Ok(Err(error)) => Err(ImageError::ToolNotRun { command: shown, reason: error.to_string() }),
        Err(_) => Err(ImageError::ToolTimedOut { command: shown, deadline, output: output(last) }),
    }
}

fn keep_last(last: &mut VecDeque<String>, line: &str) {
    if last.len() == LAST_LINES {
        last.pop_front();
    }
    last.push_back(line.to_owned());
}

async fn read_all(stdout: Option<impl AsyncRead + Unpin>) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(mut stdout) = stdout {
        stdout.read_to_end(&mut bytes).await?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

async fn each_line(stderr: Option<impl AsyncRead + Unpin>, mut on_line: impl FnMut(&str)) {
    let Some(stderr) = stderr else {
        return;
    };
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    // A tool whose standard error breaks off still has its exit status.
    while matches!(reader.read_until(b'\n', &mut line).await, Ok(1..)) {
        on_line(String::from_utf8_lossy(&line).trim_end());
        line.clear();
    }
}

/// The command for messages: its program and first arguments.
fn shown(command: &Command) -> String {
    let command = command.as_std();
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    let mut arguments = command.get_args();
    words.extend(arguments.by_ref().take(4).map(|argument| argument.to_string_lossy().into_owned()));
    if arguments.next().is_some() {
        words.push("...".to_owned());
    }
    words.join(" ")
}

fn command_name(shown: &str) -> &str {
    shown.split(' ').next().unwrap_or(shown)
}

/// The program of this name, searched in `PATH` and in the directories of the administrator's programs.
pub(super) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(system).map(|dir| dir.join(name)).find(|file| is_program(file))
}

/// Whether it is a file that can be executed.
pub(super) fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Fails if `dir` has less than `needed_mb` megabytes free, as far as `df` can tell.
pub(super) async fn check_space(dir: &Path, needed_mb: u64) -> Result<(), ImageError> {
    let mut df = Command::new("df");
    df.arg("-Pk").arg(dir).env("LC_ALL", "C");
    // A host without df finds out when the space is gone.
    let Ok(output) = run(df, Duration::from_secs(10), |_| ()).await else {
        return Ok(());
    };
    match free_kib(&output) {
        Some(free) if free / 1024 < needed_mb => {
            Err(ImageError::NoSpace { dir: dir.to_owned(), free_mb: free / 1024, needed_mb })
        }
        _ => Ok(()),
    }
}

/// The free space in the output of `df -Pk`.
fn free_kib(df: &str) -> Option<u64> {
    df.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    const SOON: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn the_output_comes_back_and_the_errors_come_line_by_line() {
        let mut errors = Vec::new();
        let output =
            run(sh("echo out; echo one >&2; echo two >&2"), SOON, |line| errors.push(line.to_owned())).await;
        assert_eq!(output.unwrap(), "out\n");
        assert_eq!(errors, ["one", "two"]);
    }

    #[tokio::test]
    async fn a_failure_carries_status_and_last_lines() {
        let error = run(sh("echo broken >&2; exit 3"), SOON, |_| ()).await.unwrap_err().to_string();
        assert!(error.contains("exit status: 3") && error.ends_with("broken"), "{error}");
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_named() {
        let error = run(Command::new("no-such-tool"), SOON, |_| ()).await.unwrap_err();
        assert!(matches!(error, ImageError::NoProgram { program } if program == "no-such-tool"));
    }

    #[tokio::test]
    async fn a_tool_that_hangs_is_stopped_at_the_deadline() {
        let error = run(sh("sleep 1000"), Duration::from_millis(50), |_| ()).await.unwrap_err();
        assert!(matches!(error, ImageError::ToolTimedOut { .. }), "{error}");
    }

    #[tokio::test]
    async fn a_tool_that_is_cancelled_goes_with_its_children_and_may_clean_up() {
        let dir = tempfile::tempdir().unwrap();
        let script = format!(
            "trap 'echo bye > {0}/cleaned; exit 1' TERM; sleep 1000 & echo $! > {0}/child; echo ready >&2; wait",
            dir.path().display()
        );
        let ready = tokio::sync::Notify::new();
        tokio::select! {
            ended = run(sh(&script), SOON, |_| ready.notify_one()) => panic!("{ended:?}"),
            () = ready.notified() => {}
        }
        assert_eq!(std::fs::read_to_string(dir.path().join("cleaned")).unwrap(), "bye\n");
        let child = std::fs::read_to_string(dir.path().join("child")).unwrap();
        // A process that is told to end does so a moment later; a zombie, not yet reaped, has an empty command line.
        let end = std::time::Instant::now() + SOON;
        while std::fs::read(format!("/proc/{}/cmdline", child.trim()))
            .is_ok_and(|command| !command.is_empty())
        {
            assert!(std::time::Instant::now() < end, "the child still runs");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[test]
    fn free_space_is_read_from_df() {
        let df = "Filesystem     1024-blocks     Used Available Capacity Mounted on\n/dev/vda         263174212 16345688  79234212      18% /\n";
        assert_eq!(free_kib(df), Some(79_234_212));
        assert_eq!(free_kib("df: no file systems processed"), None);
    }

    #[tokio::test]
    async fn too_little_space_says_how_much_is_needed() {
        let error = check_space(Path::new("/"), u64::MAX).await.unwrap_err().to_string();
        assert!(error.contains("TMPDIR"), "{error}");
        check_space(Path::new("/"), 0).await.unwrap();
    }

    #[test]
    fn programs_of_the_administrator_are_found_without_being_in_path() {
        assert!(find_program("sh").is_some());
        assert_eq!(find_program("no-such-tool"), None);
    }
}
