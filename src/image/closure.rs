//! The libraries that programs need, as the dynamic linker finds them.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::process::Command;

use super::error::ImageError;
use super::process;

/// How long the dynamic linker may take for all files together.
const DEADLINE: Duration = Duration::from_secs(120);

/// What the dynamic linker says of some files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Linked {
    found: BTreeSet<PathBuf>,
    missing: BTreeSet<String>,
}

/// The libraries of `files`, and the dynamic linker itself. Files that are no ELF are passed over. `library_path` is searched first.
pub(super) async fn libraries(
    files: &[PathBuf],
    library_path: Option<&Path>,
) -> Result<BTreeSet<PathBuf>, ImageError> {
    let mut command = Command::new("sh");
    // ldd fails for a static program, which is no failure here.
    command.args(["-c", "for file; do ldd \"$file\" || :; done", "sh"]);
    command.args(files.iter().filter(|file| is_elf(file)));
    command.env("LC_ALL", "C");
    if let Some(first) = library_path {
        let mut path = first.as_os_str().to_owned();
        if let Some(rest) = std::env::var_os("LD_LIBRARY_PATH").filter(|rest| !rest.is_empty()) {
            path.push(":");
            path.push(rest);
        }
        command.env("LD_LIBRARY_PATH", path);
    }
    let Linked { found, missing } = parse_ldd(&process::run(command, DEADLINE, |_| ()).await?);
    if missing.is_empty() {
        Ok(found)
    } else {
        Err(ImageError::MissingLibraries(missing.into_iter().collect()))
    }
}

fn is_elf(file: &Path) -> bool {
    let mut magic = [0; 4];
    std::fs::File::open(file).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == *b"\x7fELF"
}

/// Reads lines like `libc.so.6 => /lib/libc.so.6 (0x7f...)`, `/lib64/ld-linux-x86-64.so.2 (0x7f...)`, `libx.so => not found`.
fn parse_ldd(text: &str) -> Linked {
    let mut linked = Linked::default();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_suffix("=> not found") {
            linked.missing.insert(name.trim().to_owned());
            continue;
        }
        let (path, address) = line.rsplit_once(" (").unwrap_or((line, ""));
        let path = path.rsplit_once("=> ").map_or(path, |(_, path)| path);
        // The kernel's own page has no path, and a line without address is the name of a file.
        if path.starts_with('/') && !address.is_empty() {
            linked.found.insert(PathBuf::from(path));
        }
    }
    linked
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    const GLIBC: &str = "\
\tlinux-vdso.so.1 (0x00007ffd5b5f4000)
\tlibzstd.so.1 => /lib/x86_64-linux-gnu/libzstd.so.1 (0x00007f0a5e0b0000)
\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f0a5d400000)
\t/lib64/ld-linux-x86-64.so.2 (0x00007f0a5e4d0000)
\tstatically linked
\tnot a dynamic executable
";

    const MUSL: &str = "\
\t/lib/ld-musl-x86_64.so.1 (0x7f1a2b3c4000)
\tlibc.musl-x86_64.so.1 => /lib/ld-musl-x86_64.so.1 (0x7f1a2b3c4000)
";

    fn found(text: &str) -> Vec<String> {
        parse_ldd(text).found.iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn libraries_and_the_linker_are_found_and_the_kernels_page_is_not() {
        assert_eq!(
            found(GLIBC),
            [
                "/lib/x86_64-linux-gnu/libc.so.6",
                "/lib/x86_64-linux-gnu/libzstd.so.1",
                "/lib64/ld-linux-x86-64.so.2"
            ]
        );
        assert_eq!(found(MUSL), ["/lib/ld-musl-x86_64.so.1"]);
    }

    #[test]
    fn the_name_of_a_file_is_no_library() {
        assert!(found("/usr/lib/postgresql/15/bin/postgres:\n").is_empty());
    }

    #[test]
    fn a_library_that_is_not_found_is_named() {
        let linked = parse_ldd("\tlibpq.so.5 => not found\n\tlibpq.so.5 => not found\n");
        assert_eq!(linked.missing.into_iter().collect::<Vec<_>>(), ["libpq.so.5"]);
    }

    #[tokio::test]
    async fn a_real_program_has_a_c_library() {
        let shell = process::find_program("sh").unwrap();
        let libraries = libraries(&[shell, PathBuf::from("/etc/passwd")], None).await.unwrap();
        let is_libc = |path: &PathBuf| {
            path.to_string_lossy().contains("libc") || path.to_string_lossy().contains("musl")
        };
        assert!(libraries.iter().any(is_libc), "{libraries:?}");
    }
}
