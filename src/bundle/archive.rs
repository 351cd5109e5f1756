//! The bundle as one file.

use std::fs::File;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::BundleError;
use super::files::Listed;

/// `NAME.tar.gz` beside the folder `NAME`.
pub(super) fn path_for(folder: &Path) -> PathBuf {
    let mut name = folder.as_os_str().to_owned();
    name.push(".tar.gz");
    name.into()
}

/// Packs the files of a folder under the folder's name, all of the time `unix_s`, seconds since 1970; the size of the
/// archive in bytes. Of who packed it nothing is told.
pub(super) fn pack(folder: &Path, files: &[Listed], unix_s: u64, archive: &Path) -> Result<u64, BundleError> {
    let gz = GzEncoder::new(File::create(archive).map_err(BundleError::io(archive))?, Compression::best());
    let mut tar = tar::Builder::new(gz);
    let root = folder.file_name().map_or_else(|| PathBuf::from("bundle"), PathBuf::from);
    let mut sorted: Vec<&Listed> = files.iter().collect();
    sorted.sort_by(|one, other| one.path.cmp(&other.path));
    for file in sorted {
        let path = folder.join(&file.path);
        let content = File::open(&path).map_err(BundleError::io(&path))?;
        let mut header = tar::Header::new_gnu();
        header.set_size(file.bytes);
        header.set_mtime(unix_s);
        header.set_mode(if file.path.extension().is_some_and(|ending| ending == "sh") {
            0o755
        } else {
            0o644
        });
        tar.append_data(&mut header, root.join(&file.path), content).map_err(BundleError::io(archive))?;
    }
    let packed = tar.into_inner().and_then(GzEncoder::finish).map_err(BundleError::io(archive))?;
    Ok(packed.metadata().map_err(BundleError::io(archive))?.len())
}
