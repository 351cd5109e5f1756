//! `pg_waldump` in a container of its own, which sees the WAL read-only and has no cap on its disk.

mod segments;

pub use segments::{NoSegments, SegmentFiles};

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::docker::labels::{self, Kind};
use crate::docker::{ContainerSpec, DockerError, Engine, ExecSpec, Mount, OutputStream};
use crate::image::ServerImage;
use crate::wal::Survey;

/// The container's own process: it waits, and `pg_waldump` is run beside it, so that its output goes to the lab alone
/// and not into the engine's log files, which would hold gigabytes.
const WAIT: [&str; 2] = ["-c", "exec sleep 86400"];

/// How often progress is told.
const TELL_EVERY: Duration = Duration::from_millis(500);

/// Lines read between two looks at the clock.
const LINES: u64 = 10_000;

/// Last lines of the error output that are kept.
const LAST_WORDS: usize = 5;

/// WAL that is to be read.
#[derive(Debug, Clone)]
pub struct WalSource {
    /// The mount it is on.
    pub mount: Mount,
    /// Where the segments are, in the container.
    pub directory: String,
    /// The timeline.
    pub timeline: u32,
    /// Where to begin, bytes from 0/0; a place within a record means the next one.
    pub start: u64,
    /// Where to end; else where there is no valid record any more.
    pub end: Option<u64>,
}

/// Why WAL could not be read.
#[derive(Debug, thiserror::Error)]
pub enum WaldumpError {
    /// The container could not be run.
    #[error("running pg_waldump")]
    Docker(#[from] DockerError),
    /// `pg_waldump` did not get to the end that was asked for.
    #[error("pg_waldump ended with exit code {exit_code} after {records} records: {last_words}")]
    Failed {
        /// Its exit code.
        exit_code: i64,
        /// Records it had printed by then.
        records: u64,
        /// What it said.
        last_words: String,
    },
    /// The user stopped it.
    #[error("stopped by the user")]
    Stopped,
}

/// Reads WAL into a survey. `on_lsn` is told now and then how far it is.
///
/// WAL without an end that was asked for ends where `pg_waldump` finds no valid record, and what it says of that is
/// no error if there was one before.
///
/// # Errors
/// When the container cannot be run, or `pg_waldump` fails.
pub async fn survey(
    engine: &Engine,
    image: &ServerImage,
    run_id: &str,
    source: &WalSource,
    survey: &mut Survey,
    on_lsn: &(dyn Fn(u64) + Sync),
    stop: &CancellationToken,
) -> Result<(), WaldumpError> {
    let spec = container(image, run_id, source);
    let read = async {
        engine.create_container(&spec).await?;
        engine.start_container(&spec.name).await?;
        dump(engine, &spec.name, image, source, survey, on_lsn).await
    };
    let read = stop.run_until_cancelled(read).await.unwrap_or(Err(WaldumpError::Stopped));
    let removed = engine.remove_container(&spec.name).await;
    read.and_then(|()| Ok(removed?))
}

async fn dump(
    engine: &Engine,
    container: &str,
    image: &ServerImage,
    source: &WalSource,
    survey: &mut Survey,
    on_lsn: &(dyn Fn(u64) + Sync),
) -> Result<(), WaldumpError> {
    let mut output = engine.exec_stream(container, &ExecSpec::new(command(image, source))).await?;
    let mut last_words = Vec::new();
    let (mut lines, mut told) = (0_u64, Instant::now());
    while let Some((stream, line)) = output.next_line().await? {
        match stream {
            OutputStream::Stdout => survey.line(&line),
            OutputStream::Stderr => {
                last_words.push(line);
                if last_words.len() > LAST_WORDS {
                    last_words.remove(0);
                }
            }
        }
        lines += 1;
        if lines.is_multiple_of(LINES) && told.elapsed() >= TELL_EVERY {
            told = Instant::now();
            on_lsn(survey.reached());
        }
    }
    let exit_code = output.exit_code().await?;
    let open_end = source.end.is_none() && survey.records() > 0;
    if exit_code == 0 || open_end {
        return Ok(());
    }
    Err(WaldumpError::Failed { exit_code, records: survey.records(), last_words: last_words.join("; ") })
}

fn command(image: &ServerImage, source: &WalSource) -> Vec<String> {
    let mut command = vec![
        format!("{}/pg_waldump", image.bindir),
        "--path".to_owned(),
        source.directory.clone(),
        "--timeline".to_owned(),
        source.timeline.to_string(),
        "--start".to_owned(),
        lsn(source.start),
    ];
    command.extend(source.end.into_iter().flat_map(|end| ["--end".to_owned(), lsn(end)]));
    command
}

/// An LSN as PostgreSQL's programs take it.
fn lsn(position: u64) -> String {
    format!("{:X}/{:X}", position >> 32, position & 0xffff_ffff)
}

fn container(image: &ServerImage, run_id: &str, source: &WalSource) -> ContainerSpec {
    ContainerSpec {
        name: format!("stall-lab-{run_id}-waldump-{:08x}", rand::random::<u32>()),
        image: image.reference.clone(),
        // Root, with the right to read what belongs to others: WAL is its owner's alone. The mount is read-only.
        user: Some("0:0".to_owned()),
        entrypoint: Some(vec!["sh".to_owned()]),
        cmd: WAIT.map(str::to_owned).into(),
        labels: labels::of(run_id, Kind::Helper),
        mounts: vec![source.mount.clone()],
        cap_add: vec!["DAC_OVERRIDE".to_owned()],
        cap_drop: vec!["ALL".to_owned()],
        ..ContainerSpec::default()
    }
}
