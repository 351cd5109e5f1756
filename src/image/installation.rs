//! Finds PostgreSQL on this host: its programs, and the share files and modules that belong to them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::process::Command;

use super::error::ImageError;
use super::process::{self, find_program, is_program};
use super::version::{OLDEST_MAJOR, ServerVersion};

/// Programs of PostgreSQL without which there is no server image.
pub(super) const NEEDED_PROGRAMS: [&str; 7] =
    ["postgres", "initdb", "pg_ctl", "psql", "pgbench", "pg_waldump", "pg_controldata"];
/// How long one of PostgreSQL's programs may take to say its version or its directories.
const TOOL_DEADLINE: Duration = Duration::from_secs(30);

/// A PostgreSQL on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Installation {
    /// Where the programs are.
    pub(super) bindir: PathBuf,
    /// Where `postgres.bki` is.
    pub(super) sharedir: PathBuf,
    /// Where the modules are, like `libpqwalreceiver.so`.
    pub(super) pkglibdir: PathBuf,
    /// Where libraries are that the dynamic linker may not find by itself.
    pub(super) library_path: Option<PathBuf>,
}

/// A build of the user's own, as its `pg_config` tells of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnBuild {
    /// The prefix it was taken from.
    pub prefix: PathBuf,
    /// What `pg_config --version` says; none without a `pg_config` that works.
    pub version: Option<String>,
    /// What `pg_config --configure` says: the options it was built with.
    pub configure: Option<String>,
}

impl OwnBuild {
    /// Asks the build under this prefix.
    pub(super) async fn of(prefix: &Path) -> Self {
        let mut command = Command::new(prefix.join("bin/pg_config"));
        command.args(["--version", "--configure"]);
        let answer = process::run(command, TOOL_DEADLINE, |_| ()).await.unwrap_or_default();
        let mut lines = answer.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned);
        Self { prefix: prefix.to_owned(), version: lines.next(), configure: lines.next() }
    }
}

/// Where a PostgreSQL may be installed: directories with a `postgres`, each once.
pub(super) fn bindirs() -> Vec<PathBuf> {
    let mut dirs = Vec::new();
    for (parent, prefix) in [("/usr/lib/postgresql", ""), ("/usr", "pgsql-"), ("/opt", "postgresql")] {
        for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(prefix) {
                dirs.push(entry.path().join("bin"));
            }
        }
    }
    dirs.push(PathBuf::from("/usr/local/pgsql/bin"));
    for program in ["pg_config", "postgres"] {
        // Both may be links from a directory in PATH to where the server is.
        let real = find_program(program).and_then(|program| fs::canonicalize(program).ok());
        dirs.extend(real.and_then(|program| program.parent().map(Path::to_path_buf)));
    }
    let mut dirs: Vec<PathBuf> = dirs.into_iter().filter_map(|dir| fs::canonicalize(dir).ok()).collect();
    dirs.retain(|dir| is_program(&dir.join("postgres")));
    dirs.sort();
    dirs.dedup();
    dirs
}

/// The version of the `postgres` in a directory.
pub(super) async fn version_of(bindir: &Path) -> Result<ServerVersion, ImageError> {
    let mut command = Command::new(bindir.join("postgres"));
    command.arg("--version");
    let text = process::run(command, TOOL_DEADLINE, |_| ()).await?;
    ServerVersion::parse(&text).ok_or(ImageError::UnknownVersion { text: text.trim().to_owned() })
}

/// The newest that the lab can run, of `major` if that is given.
pub(super) fn newest(
    installed: Vec<(ServerVersion, PathBuf)>,
    major: Option<u16>,
) -> Option<(ServerVersion, PathBuf)> {
    installed
        .into_iter()
        .filter(|(version, _)| {
            version.major >= OLDEST_MAJOR && major.is_none_or(|major| version.major == major)
        })
        .max_by_key(|(version, _)| version.number)
}

/// Finds what belongs to the programs in `bindir`: where their own `pg_config` says, or else in the usual layouts.
pub(super) async fn installation(bindir: &Path, prefix: Option<&Path>) -> Result<Installation, ImageError> {
    let root = bindir.parent().unwrap_or(bindir);
    let missing = |missing: &str| ImageError::NotAnInstallation {
        prefix: prefix.unwrap_or(root).to_owned(),
        missing: missing.to_owned(),
    };
    if let Some(program) = NEEDED_PROGRAMS.iter().find(|program| !is_program(&bindir.join(program))) {
        return Err(missing(&format!("bin/{program}")));
    }
    let (mut shares, mut libs) = (Vec::new(), Vec::new());
    // It looks from where it is, as the server does, so its answer holds for an installation that was moved.
    if let Some((share, lib)) = ask_pg_config(bindir).await {
        shares.push(share);
        libs.push(lib);
    }
    shares.extend(["share", "share/postgresql", "share/pgsql"].map(|dir| root.join(dir)));
    libs.extend(
        ["lib", "lib/postgresql", "lib/pgsql", "lib64", "lib64/postgresql", "lib64/pgsql"]
            .map(|dir| root.join(dir)),
    );
    // Debian: /usr/lib/postgresql/15/bin and /usr/share/postgresql/15.
    if let Ok(version) = root.strip_prefix("/usr/lib/postgresql") {
        shares.push(Path::new("/usr/share/postgresql").join(version));
    }
    let holding = |dirs: Vec<PathBuf>, file: &str| dirs.into_iter().find(|dir| dir.join(file).is_file());
    Ok(Installation {
        bindir: bindir.to_owned(),
        sharedir: holding(shares, "postgres.bki").ok_or_else(|| missing("share/postgres.bki"))?,
        pkglibdir: holding(libs, "libpqwalreceiver.so").ok_or_else(|| missing("lib/libpqwalreceiver.so"))?,
        library_path: prefix.map(|prefix| prefix.join("lib")).filter(|dir| dir.is_dir()),
    })
}

/// The directories of share files and modules; `None` without a `pg_config` that works.
async fn ask_pg_config(bindir: &Path) -> Option<(PathBuf, PathBuf)> {
    let mut command = Command::new(bindir.join("pg_config"));
    command.args(["--sharedir", "--pkglibdir"]);
    let answer = process::run(command, TOOL_DEADLINE, |_| ()).await.ok()?;
    let mut lines = answer.lines();
    Some((PathBuf::from(lines.next()?), PathBuf::from(lines.next()?)))
}

#[cfg(test)]
#[path = "installation_tests.rs"]
pub(super) mod tests;
