//! A file system put together from files of the host, as a tar archive.
//!
//! Every file keeps its path, and every symbolic link on the way to it is kept too, so that whatever finds it on the host finds it in
//! the image. All of it belongs to root.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use sha2::{Digest as _, Sha256};
use tar::{Builder, EntryType, Header};

use super::error::ImageError;

/// What is at a path of the new file system.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    /// A copy of the host's file at the same path.
    HostFile,
    Link(PathBuf),
    Directory(u32),
    Text(String),
}

/// A file system being put together.
#[derive(Debug, Clone, Default)]
pub(super) struct Pack {
    entries: BTreeMap<PathBuf, Entry>,
}

impl Pack {
    /// Adds a file of the host, whatever symbolic links lead to it.
    pub(super) fn add_file(&mut self, path: &Path) -> Result<(), ImageError> {
        let path = self.add_links(path)?;
        self.entries.insert(path, Entry::HostFile);
        Ok(())
    }

    /// Adds every file below a directory of the host for which `wanted` says so; it is asked for directories too.
    pub(super) fn add_tree(&mut self, dir: &Path, wanted: &dyn Fn(&Path) -> bool) -> Result<(), ImageError> {
        for entry in read_sorted(dir)? {
            if !wanted(&entry) {
                continue;
            }
            match fs::metadata(&entry) {
                Ok(meta) if meta.is_dir() => self.add_tree(&entry, wanted)?,
                Ok(meta) if meta.is_file() => self.add_file(&entry)?,
                // A link to nothing, a socket: nothing to copy.
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds a directory with these permission bits.
    pub(super) fn add_directory(&mut self, path: &str, mode: u32) {
        self.entries.insert(PathBuf::from(path), Entry::Directory(mode));
    }

    /// Adds a file of this content.
    pub(super) fn add_text(&mut self, path: &str, content: &str) {
        self.entries.insert(PathBuf::from(path), Entry::Text(content.to_owned()));
    }

    /// Adds a symbolic link.
    pub(super) fn add_link(&mut self, path: &str, target: &str) {
        self.entries.insert(PathBuf::from(path), Entry::Link(PathBuf::from(target)));
    }

    /// The host's files in it.
    pub(super) fn host_files(&self) -> Vec<PathBuf> {
        let files = self.entries.iter().filter(|(_, entry)| **entry == Entry::HostFile);
        files.map(|(path, _)| path.clone()).collect()
    }

    /// Follows a path, adds the links on it, and returns where it leads.
    fn add_links(&mut self, path: &Path) -> Result<PathBuf, ImageError> {
        let failed = |error: io::Error| ImageError::file("find", path, &error);
        let mut reached = PathBuf::from("/");
        for component in path.components() {
            let Component::Normal(name) = component else {
                continue;
            };
            reached.push(name);
            if fs::symlink_metadata(&reached).map_err(failed)?.is_symlink() {
                let target = fs::canonicalize(&reached).map_err(failed)?;
                self.entries.insert(reached, Entry::Link(target.clone()));
                reached = target;
            }
        }
        Ok(reached)
    }

    /// A digest of the host's files in it, their paths and contents.
    pub(super) fn digest(&self) -> Result<String, ImageError> {
        let mut sum = Sha256::new();
        for (path, entry) in &self.entries {
            if *entry == Entry::HostFile {
                let content = fs::read(path).map_err(|error| ImageError::file("read", path, &error))?;
                sum.update(path.as_os_str().as_encoded_bytes());
                sum.update((content.len() as u64).to_le_bytes());
                sum.update(&content);
            }
        }
        Ok(sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Writes the archive.
    pub(super) fn write(&self, archive: &Path) -> Result<(), ImageError> {
        let file = File::create(archive).map_err(|error| ImageError::file("write", archive, &error))?;
        let mut builder = Builder::new(BufWriter::new(file));
        for (path, entry) in &self.entries {
            append(&mut builder, path, entry).map_err(|error| ImageError::file("pack", path, &error))?;
        }
        builder
            .into_inner()
            .and_then(|mut file| file.flush())
            .map_err(|error| ImageError::file("write", archive, &error))
    }
}

fn read_sorted(dir: &Path) -> Result<Vec<PathBuf>, ImageError> {
    let failed = |error: io::Error| ImageError::file("read", dir, &error);
    let mut paths = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    Ok(paths)
}

fn append(builder: &mut Builder<impl io::Write>, path: &Path, entry: &Entry) -> io::Result<()> {
    let relative = path.strip_prefix("/").unwrap_or(path);
    let mut header = Header::new_gnu();
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(0);
    match entry {
        Entry::HostFile => {
            let file = File::open(path)?;
            let meta = file.metadata()?;
            header.set_mode(meta.permissions().mode() & 0o777);
            header.set_size(meta.len());
            builder.append_data(&mut header, relative, file)
        }
        Entry::Text(content) => {
            header.set_mode(0o644);
            header.set_size(content.len() as u64);
            builder.append_data(&mut header, relative, content.as_bytes())
        }
        Entry::Directory(mode) => {
            header.set_entry_type(EntryType::Directory);
            header.set_mode(*mode);
            builder.append_data(&mut header, relative, io::empty())
        }
        Entry::Link(target) => {
            header.set_entry_type(EntryType::Symlink);
            header.set_mode(0o777);
            builder.append_link(&mut header, relative, target)
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use std::os::unix::fs::symlink;

    use super::*;

    /// `/real/lib.so.1.2` with a link `lib.so.1` beside it, and a linked directory `short` to `real`.
    fn host() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir(root.join("real")).unwrap();
        fs::write(root.join("real/lib.so.1.2"), "library").unwrap();
        symlink("lib.so.1.2", root.join("real/lib.so.1")).unwrap();
        symlink("real", root.join("short")).unwrap();
        (dir, root)
    }

    fn unpack(pack: &Pack) -> tempfile::TempDir {
        let archive = tempfile::NamedTempFile::new().unwrap();
        pack.write(archive.path()).unwrap();
        let dir = tempfile::tempdir().unwrap();
        tar::Archive::new(File::open(archive.path()).unwrap()).unpack(dir.path()).unwrap();
        dir
    }

    #[test]
    fn a_file_and_every_link_to_it_are_packed() {
        let (_dir, root) = host();
        let mut pack = Pack::default();
        pack.add_file(&root.join("short/lib.so.1")).unwrap();
        assert_eq!(
            pack.entries.into_iter().collect::<Vec<_>>(),
            [
                (root.join("real/lib.so.1"), Entry::Link(root.join("real/lib.so.1.2"))),
                (root.join("real/lib.so.1.2"), Entry::HostFile),
                (root.join("short"), Entry::Link(root.join("real"))),
            ]
        );
    }

    #[test]
    fn an_archive_holds_files_texts_links_and_directories() {
        let (_dir, root) = host();
        let mut pack = Pack::default();
        pack.add_directory("/tmp", 0o1777);
        pack.add_text("/etc/passwd", "root\n");
        pack.add_link("/var/run", "/run");
        pack.add_file(&root.join("real/lib.so.1.2")).unwrap();
        let unpacked = unpack(&pack);
        let at = |path: &str| unpacked.path().join(path.trim_start_matches('/'));
        assert_eq!(fs::read_to_string(at("/etc/passwd")).unwrap(), "root\n");
        assert_eq!(fs::read_link(at("/var/run")).unwrap(), Path::new("/run"));
        assert!(at("/tmp").is_dir());
        assert_eq!(
            fs::read_to_string(at(root.join("real/lib.so.1.2").to_str().unwrap())).unwrap(),
            "library"
        );
    }

    #[test]
    fn a_tree_is_packed_as_far_as_it_is_wanted() {
        let (_dir, root) = host();
        fs::create_dir(root.join("real/man")).unwrap();
        fs::write(root.join("real/man/page"), "page").unwrap();
        symlink("nowhere", root.join("real/broken")).unwrap();
        let mut pack = Pack::default();
        pack.add_tree(&root.join("real"), &|path| !path.ends_with("man")).unwrap();
        let paths: Vec<PathBuf> = pack.entries.into_keys().collect();
        assert_eq!(paths, [root.join("real/lib.so.1"), root.join("real/lib.so.1.2")]);
    }

    #[test]
    fn the_digest_follows_the_contents() {
        let (_dir, root) = host();
        let mut pack = Pack::default();
        pack.add_file(&root.join("real/lib.so.1.2")).unwrap();
        let before = pack.digest().unwrap();
        assert_eq!(before, pack.digest().unwrap());
        assert_eq!(before.len(), 64);
        fs::write(root.join("real/lib.so.1.2"), "Library").unwrap();
        assert_ne!(before, pack.digest().unwrap());
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = Pack::default().add_file(Path::new("/no/such/file")).unwrap_err();
        assert!(error.to_string().starts_with("cannot find /no/such/file"), "{error}");
    }
}
