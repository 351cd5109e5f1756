//! Containers: created, started, stopped, waited for, removed, listed.

use std::time::Duration;

use bollard::query_parameters::{
    CreateContainerOptions, InspectContainerOptions, KillContainerOptions, ListContainersOptions,
    RemoveContainerOptions, StartContainerOptions, StopContainerOptions, WaitContainerOptions,
};
use futures_util::StreamExt as _;

use super::engine::{CALL, Engine, within};
use super::error::{Cause, DockerError};
use super::labels::{Labels, Selector};
use super::spec::ContainerSpec;
use super::state::ContainerState;

/// A container in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerEntry {
    /// Name, without the slash the API puts before it.
    pub name: String,
    /// Labels.
    pub labels: Labels,
    /// The engine's word for its state: `created`, `running`, `exited` ...; empty if it gave none.
    pub state: String,
}

impl Engine {
    /// Creates a container; it does not run yet.
    ///
    /// # Errors
    /// [`DockerError::CreateContainer`]; [`DockerError::LimitsDiscarded`] if the engine warns that it cannot keep a limit
    /// that was asked for, in which case the container is removed again.
    pub async fn create_container(&self, spec: &ContainerSpec) -> Result<(), DockerError> {
        let options = CreateContainerOptions { name: Some(spec.name.clone()), ..Default::default() };
        let created = within(CALL, self.docker.create_container(Some(options), spec.to_request()));
        let created = created.await.map_err(|cause| DockerError::CreateContainer {
            name: spec.name.clone(),
            image: spec.image.clone(),
            cause,
        })?;
        let (discarded, other): (Vec<String>, Vec<String>) = created
            .warnings
            .into_iter()
            .partition(|warning| spec.limits.need_cgroups() && says_discarded(warning));
        for warning in other {
            tracing::warn!(container = spec.name, "the engine warns: {warning}");
        }
        if discarded.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.remove_container(&spec.name).await {
            tracing::warn!("{error}");
        }
        Err(DockerError::LimitsDiscarded { name: spec.name.clone(), warnings: discarded })
    }

    /// Starts a container; one that runs already is left alone.
    ///
    /// # Errors
    /// [`DockerError::StartContainer`].
    pub async fn start_container(&self, name: &str) -> Result<(), DockerError> {
        within(CALL, self.docker.start_container(name, None::<StartContainerOptions>))
            .await
            .map_err(|cause| DockerError::StartContainer { name: name.to_owned(), cause })
    }

    /// Asks a container's first process to end, and kills it after `grace`. One that has ended already is left alone.
    ///
    /// # Errors
    /// [`DockerError::StopContainer`].
    pub async fn stop_container(&self, name: &str, grace: Duration) -> Result<(), DockerError> {
        let seconds = i32::try_from(grace.as_secs()).unwrap_or(i32::MAX);
        let options = StopContainerOptions { t: Some(seconds), signal: None };
        within(grace.saturating_add(CALL), self.docker.stop_container(name, Some(options)))
            .await
            .map_err(|cause| DockerError::StopContainer { name: name.to_owned(), cause })
    }

    /// Sends a signal, like `SIGINT`, to a container's first process.
    ///
    /// # Errors
    /// [`DockerError::KillContainer`], also if the container does not run.
    pub async fn kill_container(&self, name: &str, signal: &str) -> Result<(), DockerError> {
        let options = KillContainerOptions { signal: signal.to_owned() };
        within(CALL, self.docker.kill_container(name, Some(options))).await.map_err(|cause| {
            DockerError::KillContainer { name: name.to_owned(), signal: signal.to_owned(), cause }
        })
    }

    /// Waits until a container does not run, and returns its exit code.
    ///
    /// # Errors
    /// [`DockerError::WaitContainer`], also if it still runs after `deadline`.
    pub async fn wait_container(&self, name: &str, deadline: Duration) -> Result<i64, DockerError> {
        let options = WaitContainerOptions { condition: "not-running".to_owned() };
        // Podman begins its answer only when the container has ended.
        let patient = self.docker.clone().with_timeout(deadline.saturating_add(CALL));
        let mut answers = Box::pin(patient.wait_container(name, Some(options)));
        let code = within(deadline, async {
            match answers.next().await {
                Some(Ok(answer)) => Ok(answer.status_code),
                // bollard makes an error of every exit code but 0.
                Some(Err(bollard::errors::Error::DockerContainerWaitError { error, code }))
                    if error.is_empty() =>
                {
                    Ok(code)
                }
                Some(Err(error)) => Err(Cause::from(error)),
                None => Err(Cause::Connection(
                    "the engine ended its answer before the container ended".to_owned(),
                )),
            }
        });
        code.await.map_err(|cause| DockerError::WaitContainer { name: name.to_owned(), cause })
    }

    /// Removes a container, running or not, with its anonymous volumes. One that is not there is a success.
    ///
    /// # Errors
    /// [`DockerError::RemoveContainer`].
    pub async fn remove_container(&self, name: &str) -> Result<(), DockerError> {
        let options = RemoveContainerOptions { force: true, v: true, link: false };
        match within(CALL, self.docker.remove_container(name, Some(options))).await {
            Ok(()) => Ok(()),
            Err(cause) if cause.is_not_found() => Ok(()),
            // Somebody else is at it: the removal is awaited rather than asked for again.
            Err(cause) if cause.is_conflict() && cause.to_string().contains("already in progress") => {
                self.wait_until_removed(name).await
            }
            Err(cause) => Err(cause),
        }
        .map_err(|cause| DockerError::RemoveContainer { name: name.to_owned(), cause })
    }

    async fn wait_until_removed(&self, name: &str) -> Result<(), Cause> {
        use bollard::errors::Error;
        let options = WaitContainerOptions { condition: "removed".to_owned() };
        let mut answers = Box::pin(self.docker.wait_container(name, Some(options)));
        within(CALL, async {
            match answers.next().await {
                Some(Ok(_)) | None | Some(Err(Error::DockerContainerWaitError { .. })) => Ok(()),
                Some(Err(Error::DockerResponseServerError { status_code: 404, .. })) => Ok(()),
                Some(Err(error)) => Err(error),
            }
        })
        .await
    }

    /// What the engine reports about a container; `None` if there is none of that name.
    ///
    /// # Errors
    /// [`DockerError::InspectContainer`].
    pub async fn inspect_container(&self, name: &str) -> Result<Option<ContainerState>, DockerError> {
        match within(CALL, self.docker.inspect_container(name, None::<InspectContainerOptions>)).await {
            Ok(response) => Ok(Some(ContainerState::from_inspect(response))),
            Err(cause) if cause.is_not_found() => Ok(None),
            Err(cause) => Err(DockerError::InspectContainer { name: name.to_owned(), cause }),
        }
    }

    /// The containers of the lab that `selector` selects, running or not, by name.
    ///
    /// # Errors
    /// [`DockerError::ListContainers`].
    pub async fn containers(&self, selector: &Selector) -> Result<Vec<ContainerEntry>, DockerError> {
        let options =
            ListContainersOptions { all: true, filters: Some(selector.filters()), ..Default::default() };
        let listed = within(CALL, self.docker.list_containers(Some(options)));
        let listed = listed.await.map_err(|cause| DockerError::ListContainers { cause })?;
        let mut entries: Vec<ContainerEntry> = listed
            .into_iter()
            .filter_map(|container| {
                let name = container.names?.into_iter().next().or(container.id)?;
                Some(ContainerEntry {
                    name: name.trim_start_matches('/').to_owned(),
                    labels: container.labels.unwrap_or_default().into_iter().collect(),
                    state: container.state.map(|state| state.to_string()).unwrap_or_default(),
                })
            })
            .collect();
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(entries)
    }
}

/// Docker says "... limit discarded." or "Limitation discarded."; Podman says "... ignored ...".
fn says_discarded(warning: &str) -> bool {
    let warning = warning.to_lowercase();
    warning.contains("discarded") || warning.contains("ignored")
}

#[cfg(test)]
#[path = "container_tests.rs"]
mod tests;
