//! A PostgreSQL of this host, packed with its libraries and share files: the installed one, or a user's build under a prefix.

use std::fs;
use std::path::Path;

use super::assemble::{Material, Origin, assemble};
use super::closure;
use super::error::ImageError;
use super::installation::{
    Installation, NEEDED_PROGRAMS, OwnBuild, bindirs, installation, newest, version_of,
};
use super::pack::Pack;
use super::process::{self, find_program, is_program};
use super::server::{self, ImageSource, ServerImage};
use super::version::OLDEST_MAJOR;
use super::{ImageProgress, OnProgress};
use crate::docker::Engine;

/// Programs of PostgreSQL that are useful in a server container.
const MORE_PROGRAMS: [&str; 8] = [
    "pg_isready",
    "pg_basebackup",
    "pg_checksums",
    "pg_config",
    "pg_dump",
    "pg_receivewal",
    "pg_rewind",
    "pg_test_fsync",
];
/// Tools that the lab's helpers call.
const NEEDED_TOOLS: [&str; 22] = [
    "sh",
    "cp",
    "dd",
    "stat",
    "timeout",
    "sync",
    "mkdir",
    "chown",
    "chmod",
    "rm",
    "cat",
    "head",
    "sleep",
    "id",
    "mktemp",
    "grep",
    "tr",
    "losetup",
    "blockdev",
    "mkfs.ext4",
    "ls",
    "df",
];
/// Tools for whoever looks into a container.
const MORE_TOOLS: [&str; 22] = [
    "awk", "basename", "cut", "date", "dirname", "du", "e2fsck", "env", "kill", "ln", "mount", "mv", "ps",
    "readlink", "sed", "sort", "tail", "touch", "truncate", "umount", "uname", "wc",
];
/// Files without which libraries and tools do less, where a host has them.
const SUPPORT_FILES: [&str; 3] = ["/etc/ld.so.cache", "/etc/mke2fs.conf", "/etc/localtime"];
/// Trees of the same kind: the locale C.UTF-8, where the C library does not contain it.
const SUPPORT_TREES: [&str; 2] = ["/usr/lib/locale/C.utf8", "/usr/lib/locale/C.UTF-8"];
/// Where a server has its time zones if it has none of its own.
const SYSTEM_TIME_ZONES: &str = "/usr/share/zoneinfo";
/// Modules that need an interpreter or LLVM, which are not packed.
const UNWANTED_MODULES: [&str; 4] = ["llvmjit", "plperl", "plpython", "pltcl"];
/// Space for the archive, with room for a build with debugging symbols.
const NEEDED_MB: u64 = 600;

const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\n\
                      postgres:x:999:999:PostgreSQL:/tmp:/bin/sh\n\
                      nobody:x:65534:65534:nobody:/:/bin/false\n";
const GROUP: &str = "root:x:0:\npostgres:x:999:\nnogroup:x:65534:\n";
const NSSWITCH: &str = "passwd: files\ngroup: files\nhosts: files dns\n";

/// Packs the newest installed PostgreSQL, of `major` if that is given.
pub(super) async fn from_host(
    engine: &Engine,
    major: Option<u16>,
    on_progress: OnProgress<'_>,
) -> Result<ServerImage, ImageError> {
    let mut installed = Vec::new();
    for bindir in bindirs() {
        if let Ok(version) = version_of(&bindir).await {
            installed.push((version, bindir));
        }
    }
    let (version, bindir) = newest(installed, major).ok_or(ImageError::NoneOnHost { major })?;
    check_same_machine(engine).await?;
    on_progress(ImageProgress::Step(format!(
        "Packing PostgreSQL {version} of this host ({})",
        bindir.display()
    )));
    let pack = pack_server(&installation(&bindir, None).await?)?;
    build(engine, pack, &bindir, None, Origin { source: ImageSource::Host, digest: None }, on_progress).await
}

/// Packs the installation under `prefix`; one that was packed before and has not changed is taken as it is.
pub(super) async fn from_prefix(
    engine: &Engine,
    prefix: &Path,
    on_progress: OnProgress<'_>,
) -> Result<ServerImage, ImageError> {
    let prefix = fs::canonicalize(prefix).map_err(|error| ImageError::file("find", prefix, &error))?;
    let bindir = prefix.join("bin");
    let installation = installation(&bindir, Some(&prefix)).await?;
    let version = version_of(&bindir).await?;
    if version.major < OLDEST_MAJOR {
        return Err(ImageError::TooOld {
            reference: prefix.display().to_string(),
            version: version.short().to_owned(),
        });
    }
    check_same_machine(engine).await?;
    // Asked of the prefix itself each time: an image that was packed before may have been packed from another.
    let build = Some(OwnBuild::of(&prefix).await);
    let pack = pack_server(&installation)?;
    let (pack, digest) = blocking(move || pack.digest().map(|digest| (pack, digest))).await?;
    if let Some(image) = server::built_from(engine, &digest).await? {
        return Ok(ServerImage { build, ..image });
    }
    on_progress(ImageProgress::Step(format!("Packing PostgreSQL {version} of {}", prefix.display())));
    let origin = Origin { source: ImageSource::Prefix, digest: Some(&digest) };
    let library_path = installation.library_path.as_deref();
    let image = self::build(engine, pack, &bindir, library_path, origin, on_progress).await?;
    Ok(ServerImage { build, ..image })
}

/// Fails unless programs of this host run on the engine's.
pub(super) async fn check_same_machine(engine: &Engine) -> Result<(), ImageError> {
    let facts = engine.facts().await?;
    let engine = match facts.arch.as_deref().unwrap_or("an unknown architecture") {
        "amd64" => "x86_64".to_owned(),
        "arm64" => "aarch64".to_owned(),
        other => other.to_owned(),
    };
    let (host, os) = (std::env::consts::ARCH, std::env::consts::OS);
    if os == "linux" && engine == host {
        return Ok(());
    }
    Err(ImageError::OtherMachine { engine: format!("linux {engine}"), host: format!("{os} {host}") })
}

/// The server's own files, without what they need of the system.
fn pack_server(installation: &Installation) -> Result<Pack, ImageError> {
    let mut pack = Pack::default();
    for program in NEEDED_PROGRAMS {
        pack.add_file(&installation.bindir.join(program))?;
    }
    for program in MORE_PROGRAMS.map(|program| installation.bindir.join(program)) {
        if is_program(&program) {
            pack.add_file(&program)?;
        }
    }
    pack.add_tree(&installation.sharedir, &|path| {
        !["man", "doc", "locale"]
            .iter()
            .any(|unwanted| path.parent() == Some(&installation.sharedir) && path.ends_with(unwanted))
    })?;
    pack.add_tree(&installation.pkglibdir, &is_wanted_module)?;
    Ok(pack)
}

fn is_wanted_module(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".so")
        && !path.is_dir()
        && !UNWANTED_MODULES.iter().any(|unwanted| name.contains(unwanted))
}

/// Adds tools, libraries and the bare file system, and builds the image.
async fn build(
    engine: &Engine,
    mut pack: Pack,
    bindir: &Path,
    library_path: Option<&Path>,
    origin: Origin<'_>,
    on_progress: OnProgress<'_>,
) -> Result<ServerImage, ImageError> {
    add_tools(&mut pack)?;
    for library in closure::libraries(&pack.host_files(), library_path).await? {
        pack.add_file(&library)?;
        add_name_services(&mut pack, &library)?;
    }
    add_system(&mut pack)?;
    let dir = tempfile::Builder::new()
        .prefix("stall-lab-pack-")
        .tempdir()
        .map_err(|error| ImageError::file("make a directory in", std::env::temp_dir(), &error))?;
    process::check_space(dir.path(), NEEDED_MB).await?;
    let archive = dir.path().join("rootfs.tar");
    let to = archive.clone();
    blocking(move || pack.write(&to)).await?;
    let (bindir, library_path) = (bindir.to_string_lossy(), library_path.map(Path::to_string_lossy));
    let material =
        Material::Rootfs { archive: &archive, bindir: Some(&bindir), library_path: library_path.as_deref() };
    assemble(engine, material, origin, on_progress).await
}

fn add_tools(pack: &mut Pack) -> Result<(), ImageError> {
    // Scripts name it so, wherever PATH finds it.
    pack.add_file(Path::new("/bin/sh"))?;
    let mut missing = Vec::new();
    for tool in NEEDED_TOOLS {
        match find_program(tool) {
            Some(path) => pack.add_file(&path)?,
            None => missing.push(tool.to_owned()),
        }
    }
    if !missing.is_empty() {
        return Err(ImageError::MissingPrograms { what: "this host".to_owned(), missing });
    }
    for path in MORE_TOOLS.iter().filter_map(|tool| find_program(tool)) {
        pack.add_file(&path)?;
    }
    Ok(())
}

/// An older C library loads the modules that look up users and hosts by itself, so no linker knows of them.
fn add_name_services(pack: &mut Pack, library: &Path) -> Result<(), ImageError> {
    if library.file_name().is_some_and(|name| name == "libc.so.6") {
        for module in ["libnss_files.so.2", "libnss_dns.so.2", "libresolv.so.2"] {
            let module = library.with_file_name(module);
            if module.is_file() {
                pack.add_file(&module)?;
            }
        }
    }
    Ok(())
}

fn add_system(pack: &mut Pack) -> Result<(), ImageError> {
    for file in SUPPORT_FILES.map(Path::new) {
        if file.is_file() {
            pack.add_file(file)?;
        }
    }
    for tree in SUPPORT_TREES.map(Path::new) {
        if tree.is_dir() {
            pack.add_tree(tree, &|_| true)?;
        }
    }
    let zones = Path::new(SYSTEM_TIME_ZONES);
    if zones.is_dir() {
        pack.add_tree(zones, &|path| !path.ends_with("right") && !path.ends_with("posix"))?;
    }
    pack.add_text("/etc/passwd", PASSWD);
    pack.add_text("/etc/group", GROUP);
    pack.add_text("/etc/nsswitch.conf", NSSWITCH);
    for (dir, mode) in [("/root", 0o700), ("/run", 0o755), ("/tmp", 0o1777), ("/var/tmp", 0o1777)] {
        pack.add_directory(dir, mode);
    }
    pack.add_link("/var/run", "/run");
    Ok(())
}

/// Does what keeps a disk or a CPU busy outside the event loop.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ImageError> + Send + 'static,
) -> Result<T, ImageError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    }
}

#[cfg(test)]
#[path = "host_tests.rs"]
mod tests;
