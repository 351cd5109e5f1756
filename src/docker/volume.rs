//! Named volumes.

use std::collections::BTreeMap;

use bollard::models::VolumeCreateRequest;
use bollard::query_parameters::{ListVolumesOptions, RemoveVolumeOptions};

use super::engine::{CALL, Engine, within};
use super::error::DockerError;
use super::labels::{Labels, Selector};

/// A volume in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeEntry {
    /// Name.
    pub name: String,
    /// Labels.
    pub labels: Labels,
}

impl Engine {
    /// Creates a volume of the `local` driver. `driver_options` are the driver's own (`type`, `device`, `o`); with none of
    /// them it is a directory of the engine's. A volume of that name that is there already stays as it is.
    ///
    /// # Errors
    /// [`DockerError::CreateVolume`].
    pub async fn create_volume(
        &self,
        name: &str,
        labels: &Labels,
        driver_options: &BTreeMap<String, String>,
    ) -> Result<(), DockerError> {
        let request = VolumeCreateRequest {
            name: Some(name.to_owned()),
            driver: Some("local".to_owned()),
            driver_opts: Some(driver_options.clone().into_iter().collect()),
            labels: Some(labels.clone().into_iter().collect()),
            ..Default::default()
        };
        within(CALL, self.docker.create_volume(request))
            .await
            .map(|_| ())
            .map_err(|cause| DockerError::CreateVolume { name: name.to_owned(), cause })
    }

    /// Removes a volume. One that is not there is a success.
    ///
    /// # Errors
    /// [`DockerError::RemoveVolume`], also while a container has it.
    pub async fn remove_volume(&self, name: &str) -> Result<(), DockerError> {
        match within(CALL, self.docker.remove_volume(name, None::<RemoveVolumeOptions>)).await {
            Ok(()) => Ok(()),
            Err(cause) if cause.is_not_found() => Ok(()),
            Err(cause) => Err(DockerError::RemoveVolume { name: name.to_owned(), cause }),
        }
    }

    /// The volumes of the lab that `selector` selects, by name.
    ///
    /// # Errors
    /// [`DockerError::ListVolumes`].
    pub async fn volumes(&self, selector: &Selector) -> Result<Vec<VolumeEntry>, DockerError> {
        let options = ListVolumesOptions { filters: Some(selector.filters()) };
        let listed = within(CALL, self.docker.list_volumes(Some(options)));
        let listed = listed.await.map_err(|cause| DockerError::ListVolumes { cause })?;
        let entry = |volume: bollard::models::Volume| VolumeEntry {
            name: volume.name,
            labels: volume.labels.into_iter().collect(),
        };
        let mut entries: Vec<VolumeEntry> =
            listed.volumes.unwrap_or_default().into_iter().map(entry).collect();
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;
    use crate::docker::fake::{Answer, FakeEngine};
    use crate::docker::labels::{self, Kind};

    #[tokio::test]
    async fn a_volume_is_created_with_labels_and_driver_options() {
        let volume =
            r#"{"Name":"v","Driver":"local","Mountpoint":"/m","Labels":{},"Options":{},"Scope":"local"}"#;
        let fake = FakeEngine::start().answer("POST /volumes/create", Answer::json(volume));
        let options = BTreeMap::from([("type".to_owned(), "ext4".to_owned())]);
        fake.connect().await.create_volume("v", &labels::of("r", Kind::Disk), &options).await.unwrap();
        let body: serde_json::Value = serde_json::from_str(&fake.last_body()).unwrap();
        assert_eq!(body["DriverOpts"]["type"], "ext4");
        assert_eq!(body["Labels"]["org.stall-lab.kind"], "disk");
    }

    #[tokio::test]
    async fn a_volume_that_is_not_there_is_removed_and_one_in_use_is_an_error() {
        let fake = FakeEngine::start()
            .answer("DELETE /volumes/gone", Answer::error(404, "no such volume"))
            .answer("DELETE /volumes/busy", Answer::error(409, "volume is in use"));
        let engine = fake.connect().await;
        engine.remove_volume("gone").await.unwrap();
        let error = engine.remove_volume("busy").await.unwrap_err();
        assert_eq!(error.to_string(), "cannot remove volume busy: volume is in use (HTTP 409)");
    }

    #[tokio::test]
    async fn a_listing_without_volumes_is_empty() {
        let fake =
            FakeEngine::start().answer("GET /volumes", Answer::json(r#"{"Volumes":null,"Warnings":null}"#));
        assert!(fake.connect().await.volumes(&Selector::run("r")).await.unwrap().is_empty());
    }
}
