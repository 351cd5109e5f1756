//! Writing the files of a bundle, and looking through them.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::Value;

use super::BundleError;
use super::redact::{Counts, Redactor};

/// A file of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its path within the bundle.
    pub path: PathBuf,
    /// Its size, bytes.
    pub bytes: u64,
}

pub(super) fn make_folder(path: &Path) -> Result<(), BundleError> {
    std::fs::create_dir_all(path).map_err(BundleError::io(path))
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), BundleError> {
    std::fs::write(path, text).map_err(BundleError::io(path))
}

/// Writes a script that its owner may run.
pub(super) fn write_script(path: &Path, text: &str) -> Result<(), BundleError> {
    use std::os::unix::fs::PermissionsExt as _;
    write(path, text)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).map_err(BundleError::io(path))
}

pub(super) fn write_compressed(path: &Path, text: &str) -> Result<(), BundleError> {
    let file = std::fs::File::create(path).map_err(BundleError::io(path))?;
    let mut gz = GzEncoder::new(file, Compression::default());
    gz.write_all(text.as_bytes()).and_then(|()| gz.finish().map(drop)).map_err(BundleError::io(path))
}

/// The files below a folder, the largest first.
pub(super) fn list(folder: &Path) -> Result<Vec<Listed>, BundleError> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(inner) = open.pop() {
        for entry in std::fs::read_dir(&inner).map_err(BundleError::io(&inner))? {
            let path = entry.map_err(BundleError::io(&inner))?.path();
            let metadata = path.metadata().map_err(BundleError::io(&path))?;
            if metadata.is_dir() {
                open.push(path);
            } else {
                let path = path.strip_prefix(folder).unwrap_or(&path).to_owned();
                files.push(Listed { path, bytes: metadata.len() });
            }
        }
    }
    files.sort_by(|one, other| other.bytes.cmp(&one.bytes).then_with(|| one.path.cmp(&other.path)));
    Ok(files)
}

/// Reads every text of a finished bundle once more: none may hold what is to be taken out.
pub(super) fn find_leaks(folder: &Path, files: &[Listed], redactor: &Redactor) -> Result<(), BundleError> {
    for file in files {
        let path = folder.join(&file.path);
        let text = match path.extension().and_then(|ending| ending.to_str()) {
            // Drawn from redacted files.
            Some("png") => continue,
            Some("gz") => decompressed(&path)?,
            _ => std::fs::read_to_string(&path).map_err(BundleError::io(&path))?,
        };
        let mut found = Counts::new();
        let name = file.path.to_string_lossy();
        if redactor.text(&name, &mut found) != name || holds_any(&path, &text, redactor, &mut found)? {
            let kinds = found.keys().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            return Err(BundleError::Leak { path: file.path.clone(), kinds });
        }
    }
    Ok(())
}

/// Would anything be taken out.
fn holds_any(path: &Path, text: &str, redactor: &Redactor, found: &mut Counts) -> Result<bool, BundleError> {
    if path.extension().is_none_or(|ending| ending != "json") {
        return Ok(redactor.text(text, found) != text);
    }
    let value: Value = serde_json::from_str(text).map_err(BundleError::json(path))?;
    let mut redacted = value.clone();
    redactor.json(&mut redacted, found);
    Ok(redacted != value)
}

fn decompressed(path: &Path) -> Result<String, BundleError> {
    let file = std::fs::File::open(path).map_err(BundleError::io(path))?;
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).map_err(BundleError::io(path))?;
    Ok(text)
}
