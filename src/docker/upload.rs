//! Files put into a container.

use bollard::query_parameters::UploadToContainerOptions;

use super::engine::{CALL, Engine, within};
use super::error::DockerError;

/// A file as it is to be in the container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadFile {
    /// Absolute path in the container; missing directories above it are made.
    pub path: String,
    /// Permission bits, like `0o600`.
    pub mode: u32,
    /// Numeric owner.
    pub uid: u32,
    /// Numeric group.
    pub gid: u32,
    /// Content.
    pub bytes: Vec<u8>,
}

impl Engine {
    /// Puts files into a container, created or running; its mounted volumes are reached too.
    ///
    /// # Errors
    /// [`DockerError::PackUpload`] for a path that no archive can hold, [`DockerError::Upload`].
    pub async fn upload(&self, container: &str, files: &[UploadFile]) -> Result<(), DockerError> {
        let archive = pack(container, files)?;
        let options = UploadToContainerOptions { path: "/".to_owned(), ..Default::default() };
        within(
            CALL,
            self.docker.upload_to_container(container, Some(options), bollard::body_full(archive.into())),
        )
        .await
        .map_err(|cause| DockerError::Upload { name: container.to_owned(), cause })
    }
}

fn pack(container: &str, files: &[UploadFile]) -> Result<Vec<u8>, DockerError> {
    let mut archive = tar::Builder::new(Vec::new());
    for file in files {
        let failed = |error: std::io::Error| DockerError::PackUpload {
            name: container.to_owned(),
            path: file.path.clone(),
            reason: error.to_string(),
        };
        let mut header = tar::Header::new_gnu();
        header.set_size(file.bytes.len() as u64);
        header.set_mode(file.mode);
        header.set_uid(file.uid.into());
        header.set_gid(file.gid.into());
        let path = file.path.trim_start_matches('/');
        archive.append_data(&mut header, path, file.bytes.as_slice()).map_err(failed)?;
    }
    archive.into_inner().map_err(|error| DockerError::PackUpload {
        name: container.to_owned(),
        path: "the archive".to_owned(),
        reason: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use std::io::Read as _;

    use super::*;
    use crate::docker::fake::{Answer, FakeEngine};

    fn file(path: &str) -> UploadFile {
        UploadFile { path: path.to_owned(), mode: 0o600, uid: 100, gid: 101, bytes: b"secret\n".to_vec() }
    }

    #[test]
    fn an_archive_keeps_path_mode_owner_and_content() {
        let packed = pack("c", &[file("/pg/pgpass")]).unwrap();
        let mut archive = tar::Archive::new(packed.as_slice());
        let mut entry = archive.entries().unwrap().next().unwrap().unwrap();
        let header = entry.header().clone();
        assert_eq!(entry.path().unwrap().to_str(), Some("pg/pgpass"));
        assert_eq!((header.mode().unwrap(), header.uid().unwrap(), header.gid().unwrap()), (0o600, 100, 101));
        let mut content = String::new();
        entry.read_to_string(&mut content).unwrap();
        assert_eq!(content, "secret\n");
    }

    #[test]
    fn a_path_that_climbs_out_is_refused() {
        let error = pack("c", &[file("/pg/../../etc/passwd")]).unwrap_err();
        assert!(error.to_string().starts_with("cannot pack /pg/../../etc/passwd for container c"), "{error}");
    }

    #[tokio::test]
    async fn a_refusal_names_the_container() {
        let fake = FakeEngine::start()
            .answer("PUT /containers/c/archive", Answer::error(403, "container rootfs is marked read-only"));
        let error = fake.connect().await.upload("c", &[file("/x")]).await.unwrap_err();
        assert!(
            error.to_string().starts_with("cannot put files into container c: container rootfs"),
            "{error}"
        );
    }
}
