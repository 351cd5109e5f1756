//! Images built by the engine's classic builder from a context that is streamed.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bollard::models::BuildInfo;
use bollard::query_parameters::BuildImageOptions;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio_util::io::ReaderStream;

use super::engine::{Engine, next_within};
use super::error::{Cause, DockerError};
use super::labels::Labels;
use super::lines::Tail;

/// How long a build may write nothing: sending and unpacking some hundred megabytes is one silent step.
const SILENCE: Duration = Duration::from_secs(600);
/// How many lines of its output a failed build leaves in the error.
const LAST_LINES: usize = 20;
/// Size of a tar block, to which contents are padded.
const TAR_BLOCK: u64 = 512;

/// An image to build.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BuildSpec {
    /// Name of the Dockerfile in the context.
    pub dockerfile: String,
    /// Name of the image; `None` leaves it with its id alone.
    pub tag: Option<String>,
    /// Labels beyond those of the Dockerfile.
    pub labels: Labels,
    /// Values of the Dockerfile's `ARG`s.
    pub build_args: BTreeMap<String, String>,
    /// What the Dockerfile can copy from, and itself.
    pub context: BuildContext,
}

/// The files a build sees.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BuildContext {
    /// Small files, the Dockerfile among them.
    pub files: Vec<ContextFile>,
    /// A large file that is read while it is sent.
    pub archive: Option<ContextArchive>,
}

/// A small file of a build's context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    /// Path in the context.
    pub name: String,
    /// Permission bits.
    pub mode: u32,
    /// Content.
    pub bytes: Vec<u8>,
}

/// A large file of a build's context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextArchive {
    /// Path in the context.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

impl Engine {
    /// Builds an image and returns its id. No step is taken from the engine's build cache. `on_line` is called for each line
    /// of output.
    ///
    /// # Errors
    /// [`DockerError::BuildContext`] if the context cannot be read; [`DockerError::BuildImage`] with the last lines of output.
    pub async fn build_image(
        &self,
        spec: &BuildSpec,
        mut on_line: impl FnMut(&str),
    ) -> Result<String, DockerError> {
        let reference = spec.tag.clone().unwrap_or_else(|| "(no name)".to_owned());
        let context = open_context(&reference, &spec.context).await?;
        let options = BuildImageOptions {
            dockerfile: spec.dockerfile.clone(),
            t: spec.tag.clone(),
            labels: Some(spec.labels.clone().into_iter().collect()),
            buildargs: Some(spec.build_args.clone().into_iter().collect()),
            nocache: true,
            rm: true,
            forcerm: true,
            ..Default::default()
        };
        let body = bollard::body_try_stream(ReaderStream::with_capacity(context, 1 << 17));
        let patient = self.docker.clone().with_timeout(SILENCE);
        let mut messages = Box::pin(patient.build_image(options, None, Some(body)));
        let mut output = BuildOutput::default();
        let mut tail = Tail::new(LAST_LINES);
        let mut on_line = |line: &str| {
            tail.push(line);
            on_line(line);
        };
        let ended = loop {
            match next_within(SILENCE, &mut messages).await {
                Ok(Some(message)) => {
                    if let Err(cause) = output.take(message, &mut on_line) {
                        break Err(cause);
                    }
                }
                Ok(None) => break Ok(()),
                Err(cause) => break Err(cause),
            }
        };
        output.finish(ended).map_err(|cause| DockerError::BuildImage {
            reference,
            cause,
            last_lines: tail.into_lines(),
        })
    }
}

/// The output of a build, whose messages begin and end anywhere in a line.
#[derive(Debug, Default)]
struct BuildOutput {
    line: String,
    id: Option<String>,
}

impl BuildOutput {
    fn take(&mut self, message: BuildInfo, on_line: &mut impl FnMut(&str)) -> Result<(), Cause> {
        if let Some(detail) = message.error_detail {
            let reason = detail.message.unwrap_or_else(|| "the engine gave no reason".to_owned());
            return Err(Cause::Reported(reason));
        }
        if let Some(id) = message.aux.and_then(|aux| aux.id) {
            self.id = Some(id);
        }
        for piece in message.stream.iter().flat_map(|text| text.split_inclusive('\n')) {
            self.line.push_str(piece);
            if piece.ends_with('\n') {
                let line = plain(&std::mem::take(&mut self.line));
                if !line.is_empty() {
                    on_line(&line);
                }
            }
        }
        Ok(())
    }

    /// The image's id, which an engine names only when the build is through.
    fn finish(self, ended: Result<(), Cause>) -> Result<String, Cause> {
        match (ended, self.id) {
            (Ok(()), Some(id)) => Ok(id),
            (Ok(()), None) => Err(Cause::Connection("the output ended before the build did".to_owned())),
            (Err(cause), _) => Err(cause),
        }
    }
}

/// A line as it stays on a terminal, without the colours that the builder gives to standard error.
fn plain(line: &str) -> String {
    let last = line.trim_end().rsplit('\r').next().unwrap_or_default();
    let mut plain = String::with_capacity(last.len());
    let mut rest = last;
    while let Some((before, escape)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = escape.split_once('m').map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    plain
}

/// The context as a tar stream that reads the archive only while it is sent.
async fn open_context(
    reference: &str,
    context: &BuildContext,
) -> Result<impl AsyncRead + Send + 'static + use<>, DockerError> {
    let failed = |path: &Path, error: io::Error| DockerError::BuildContext {
        reference: reference.to_owned(),
        path: path.to_owned(),
        reason: error.to_string(),
    };
    let mut head = tar::Builder::new(Vec::new());
    for file in &context.files {
        let mut header = header(file.mode, file.bytes.len() as u64);
        head.append_data(&mut header, &file.name, file.bytes.as_slice())
            .map_err(|error| failed(Path::new(&file.name), error))?;
    }
    // Without `finish` there are no end blocks yet; the archive's header and content go before them.
    let mut head = head.get_ref().clone();
    let (content, size): (Box<dyn AsyncRead + Send + Unpin>, u64) = match &context.archive {
        None => (Box::new(tokio::io::empty()), 0),
        Some(archive) => {
            let file =
                tokio::fs::File::open(&archive.path).await.map_err(|error| failed(&archive.path, error))?;
            let size = file.metadata().await.map_err(|error| failed(&archive.path, error))?.len();
            let mut header = header(0o644, size);
            header.set_path(&archive.name).map_err(|error| failed(Path::new(&archive.name), error))?;
            header.set_cksum();
            head.extend_from_slice(header.as_bytes());
            (Box::new(file.take(size)), size)
        }
    };
    let padding = size.next_multiple_of(TAR_BLOCK) - size;
    let end = tokio::io::repeat(0).take(padding + 2 * TAR_BLOCK);
    Ok(io::Cursor::new(head).chain(content).chain(end))
}

fn header(mode: u32, size: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_mode(mode);
    header.set_size(size);
    header.set_entry_type(tar::EntryType::Regular);
    header
}

#[cfg(test)]
#[path = "build_tests.rs"]
mod tests;
