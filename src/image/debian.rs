//! A file system of Debian's packages, put together by mmdebstrap from the archive that the host's apt uses.

use std::path::Path;
use std::time::Duration;

use tokio::process::Command;

use super::assemble::{Material, Origin, SLIM, assemble};
use super::error::ImageError;
use super::host::check_same_machine;
use super::process;
use super::server::{ImageSource, ServerImage};
use super::{ImageProgress, OnProgress};
use crate::docker::Engine;

/// How long it may take to fetch and unpack about a hundred packages over a slow line.
const DEADLINE: Duration = Duration::from_secs(1800);
/// Space for packages, file system and archive together.
const NEEDED_MB: u64 = 900;
/// What is not even unpacked; `slim.sh` takes the rest.
const EXCLUDED: [&str; 5] =
    ["/usr/share/man/*", "/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/info/*", "/usr/lib/llvm*"];

/// Where Debian has a major version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Suite {
    name: &'static str,
    /// Another suite of which packages may be taken.
    on_top: Option<&'static str>,
}

fn suite(major: u16) -> Option<Suite> {
    match major {
        15 => Some(Suite { name: "bookworm", on_top: None }),
        17 => Some(Suite { name: "trixie", on_top: None }),
        18 => Some(Suite { name: "sid", on_top: None }),
        19 => Some(Suite { name: "sid", on_top: Some("experimental") }),
        _ => None,
    }
}

/// An archive that apt knows.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Archive {
    uri: String,
    signed_by: Option<String>,
}

/// Builds an image of Debian's packages.
pub(super) async fn from_packages(
    engine: &Engine,
    major: u16,
    on_progress: OnProgress<'_>,
) -> Result<ServerImage, ImageError> {
    let suite = suite(major).ok_or(ImageError::NotInDebian(major))?;
    let mmdebstrap = process::find_program("mmdebstrap")
        .ok_or_else(|| ImageError::NoProgram { program: "mmdebstrap".to_owned() })?;
    check_same_machine(engine).await?;
    let targets = apt("apt-get", &["indextargets"]).await?;
    let archive = debian_archive(&targets).ok_or(ImageError::NoDebianArchive)?;
    let options = apt_options(&apt("apt-config", &["dump"]).await?);

    let dir = tempfile::Builder::new()
        .prefix("stall-lab-debian-")
        .tempdir()
        .map_err(|error| ImageError::file("make a directory in", std::env::temp_dir(), &error))?;
    process::check_space(dir.path(), NEEDED_MB).await?;
    let slim = dir.path().join("slim.sh");
    std::fs::write(&slim, SLIM).map_err(|error| ImageError::file("write", &slim, &error))?;
    let rootfs = dir.path().join("rootfs.tar");
    on_progress(ImageProgress::Step(format!("Fetching PostgreSQL {major} from Debian's {}", suite.name)));
    let mut command = Command::new(mmdebstrap);
    command
        .args(arguments(major, suite, &archive, &options))
        .arg(format!("--customize-hook=sh '{}' \"$1\"", slim.display()))
        .args([suite.name.as_ref(), rootfs.as_os_str()])
        .args(source_lines(suite, &archive))
        .env("TMPDIR", dir.path())
        .env("LC_ALL", "C.UTF-8");
    process::run(command, DEADLINE, |line| on_progress(ImageProgress::Output(line.to_owned()))).await?;
    from_rootfs(engine, &rootfs, on_progress).await
}

async fn from_rootfs(
    engine: &Engine,
    rootfs: &Path,
    on_progress: OnProgress<'_>,
) -> Result<ServerImage, ImageError> {
    let material = Material::Rootfs { archive: rootfs, bindir: None, library_path: None };
    assemble(engine, material, Origin { source: ImageSource::Debian, digest: None }, on_progress).await
}

async fn apt(program: &str, arguments: &[&str]) -> Result<String, ImageError> {
    let mut command = Command::new(program);
    command.args(arguments).env("LC_ALL", "C.UTF-8");
    process::run(command, Duration::from_secs(60), |_| ()).await
}

/// The options of mmdebstrap but for its hook, and its last arguments.
fn arguments(major: u16, suite: Suite, archive: &Archive, apt_options: &[String]) -> Vec<String> {
    let server = match suite.on_top {
        // apt takes from there no more than it is told, so what the server depends on of its own source is named too.
        Some(on_top) => {
            format!("postgresql-{major}/{on_top},postgresql-client-{major}/{on_top},libpq5/{on_top}")
        }
        None => format!("postgresql-{major}"),
    };
    let mut arguments = vec![
        "--variant=essential".to_owned(),
        "--format=tar".to_owned(),
        "--components=main".to_owned(),
        format!("--include={server},mount,util-linux,e2fsprogs"),
        // They would look for what the hook has removed.
        "--skip=cleanup/apt,cleanup/mmdebstrap".to_owned(),
        // A mirror may have stopped being updated; its signatures are still checked.
        "--aptopt=Acquire::Check-Valid-Until \"false\"".to_owned(),
    ];
    arguments.extend(apt_options.iter().map(|option| format!("--aptopt={option}")));
    arguments.extend(EXCLUDED.map(|path| format!("--dpkgopt=path-exclude={path}")));
    arguments.extend(archive.signed_by.iter().map(|keyring| format!("--keyring={keyring}")));
    arguments
}

fn source_lines(suite: Suite, archive: &Archive) -> Vec<String> {
    [Some(suite.name), suite.on_top]
        .into_iter()
        .flatten()
        .map(|suite| format!("deb {} {suite} main", archive.uri))
        .collect()
}

/// The first Debian archive in the output of `apt-get indextargets`. That of security updates has no whole suites.
fn debian_archive(targets: &str) -> Option<Archive> {
    targets.split("\n\n").find_map(|target| {
        let field = |name: &str| {
            target.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim))
        };
        let is_main = field("Created-By") == Some("Packages")
            && field("Origin") == Some("Debian")
            && field("Label") == Some("Debian")
            && field("Component") == Some("main");
        let signed_by = field("Signed-By").filter(|keyring| keyring.starts_with('/')).map(ToOwned::to_owned);
        is_main.then_some(Archive { uri: field("Repo-URI")?.to_owned(), signed_by })
    })
}

/// The options in the output of `apt-config dump` that say how an archive is reached.
fn apt_options(dump: &str) -> Vec<String> {
    let reaches = |name: &str| {
        [
            "Acquire::http::",
            "Acquire::https::",
            "Acquire::Retries",
            "Acquire::Check-Date",
            "Acquire::ForceIPv",
        ]
        .iter()
        .any(|prefix| name.starts_with(prefix))
    };
    dump.lines()
        .filter_map(|line| {
            let (name, value) = line.trim_end_matches(';').split_once(' ')?;
            (reaches(name) && value != "\"\"" && !name.ends_with("::")).then(|| format!("{name} {value}"))
        })
        .collect()
}

#[cfg(test)]
#[path = "debian_tests.rs"]
mod tests;
