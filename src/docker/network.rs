//! Networks of the lab's own.

use bollard::models::{
    EndpointSettings, NetworkConnectRequest, NetworkCreateRequest, NetworkDisconnectRequest,
};
use bollard::query_parameters::ListNetworksOptions;

use super::engine::{CALL, Engine, within};
use super::error::DockerError;
use super::labels::{Labels, Selector};

/// A network in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkEntry {
    /// Name.
    pub name: String,
    /// Labels.
    pub labels: Labels,
}

/// Who reaches the containers of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Each other, and the engine's host those of their ports that are published.
    Published,
    /// Each other alone.
    Internal,
}

impl Engine {
    /// Creates a bridge network.
    ///
    /// # Errors
    /// [`DockerError::CreateNetwork`].
    pub async fn create_network(&self, name: &str, labels: &Labels, reach: Reach) -> Result<(), DockerError> {
        let request = NetworkCreateRequest {
            name: name.to_owned(),
            driver: Some("bridge".to_owned()),
            internal: Some(reach == Reach::Internal),
            labels: Some(labels.clone().into_iter().collect()),
            ..Default::default()
        };
        within(CALL, self.docker.create_network(request))
            .await
            .map(|_| ())
            .map_err(|cause| DockerError::CreateNetwork { name: name.to_owned(), cause })
    }

    /// Removes a network. One that is not there is a success.
    ///
    /// # Errors
    /// [`DockerError::RemoveNetwork`], also while a container is on it.
    pub async fn remove_network(&self, name: &str) -> Result<(), DockerError> {
        match within(CALL, self.docker.remove_network(name)).await {
            Ok(()) => Ok(()),
            Err(cause) if cause.is_not_found() => Ok(()),
            Err(cause) => Err(DockerError::RemoveNetwork { name: name.to_owned(), cause }),
        }
    }

    /// Takes a container off a network, as a cut cable would.
    ///
    /// # Errors
    /// [`DockerError::DisconnectNetwork`].
    pub async fn disconnect_network(&self, network: &str, container: &str) -> Result<(), DockerError> {
        let request = NetworkDisconnectRequest { container: container.to_owned(), force: Some(true) };
        within(CALL, self.docker.disconnect_network(network, request)).await.map_err(|cause| {
            DockerError::DisconnectNetwork {
                container: container.to_owned(),
                network: network.to_owned(),
                cause,
            }
        })
    }

    /// Puts a container on a network, where others find it as `alias`.
    ///
    /// # Errors
    /// [`DockerError::ConnectNetwork`].
    pub async fn connect_network(
        &self,
        network: &str,
        container: &str,
        alias: &str,
    ) -> Result<(), DockerError> {
        let endpoint = EndpointSettings { aliases: Some(vec![alias.to_owned()]), ..Default::default() };
        let request =
            NetworkConnectRequest { container: container.to_owned(), endpoint_config: Some(endpoint) };
        within(CALL, self.docker.connect_network(network, request)).await.map_err(|cause| {
            DockerError::ConnectNetwork {
                container: container.to_owned(),
                network: network.to_owned(),
                cause,
            }
        })
    }

    /// The networks of the lab that `selector` selects, by name.
    ///
    /// # Errors
    /// [`DockerError::ListNetworks`].
    pub async fn networks(&self, selector: &Selector) -> Result<Vec<NetworkEntry>, DockerError> {
        let options = ListNetworksOptions { filters: Some(selector.filters()) };
        let listed = within(CALL, self.docker.list_networks(Some(options)));
        let listed = listed.await.map_err(|cause| DockerError::ListNetworks { cause })?;
        let mut entries: Vec<NetworkEntry> = listed
            .into_iter()
            .filter_map(|network| {
                let labels = network.labels.unwrap_or_default().into_iter().collect();
                Some(NetworkEntry { name: network.name?, labels })
            })
            .collect();
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;
    use crate::docker::fake::{Answer, FakeEngine};

    #[tokio::test]
    async fn a_network_that_is_not_there_is_removed_and_one_in_use_is_an_error() {
        let fake = FakeEngine::start()
            .answer("DELETE /networks/gone", Answer::error(404, "network gone not found"))
            .answer("DELETE /networks/busy", Answer::error(403, "network busy has active endpoints"));
        let engine = fake.connect().await;
        engine.remove_network("gone").await.unwrap();
        let error = engine.remove_network("busy").await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot remove network busy: network busy has active endpoints (HTTP 403)"
        );
    }

    #[tokio::test]
    async fn a_container_comes_back_under_its_alias() {
        let fake = FakeEngine::start().answer("POST /networks/n/connect", Answer::text(200, ""));
        fake.connect().await.connect_network("n", "c", "standby").await.unwrap();
        let body: serde_json::Value = serde_json::from_str(&fake.last_body()).unwrap();
        assert_eq!(body["Container"], "c");
        assert_eq!(body["EndpointConfig"]["Aliases"], serde_json::json!(["standby"]));
    }

    #[tokio::test]
    async fn a_listing_keeps_names_and_labels() {
        let body = r#"[{"Name":"b","Labels":{"org.stall-lab.run":"r"}},{"Name":"a","Labels":null}]"#;
        let fake = FakeEngine::start().answer("GET /networks", Answer::json(body));
        let entries = fake.connect().await.networks(&Selector::any()).await.unwrap();
        assert_eq!(entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(entries[1].labels.get("org.stall-lab.run").map(String::as_str), Some("r"));
    }
}
