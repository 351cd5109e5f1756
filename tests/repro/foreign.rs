//! What is on an engine beside a lab, and has to be there afterwards.

use super::*;
use stall_lab::cluster::Lease;
use stall_lab::docker::ContainerState;

/// A container and a volume of somebody else's, and the disk of another lab that still lives.
pub(crate) struct Foreign {
    name: String,
    other: String,
    /// Says that the other lab lives.
    _lease: Lease,
}

impl Foreign {
    pub(crate) async fn make(docker: &Docker) -> Self {
        let (engine, pid) = (&docker.engine, std::process::id());
        let (name, other) = (format!("foreign-{pid}"), format!("other-{pid}"));
        engine.create_volume(&name, &[].into(), &[].into()).await.unwrap();
        docker.shell_in(&name, "echo mine > /foreign/marker").await;
        let container = ContainerSpec {
            name: name.clone(),
            image: docker.image.reference.clone(),
            entrypoint: Some(["sh", "-c", "exec sleep 3600"].map(str::to_owned).into()),
            ..ContainerSpec::default()
        };
        engine.create_container(&container).await.unwrap();
        engine.start_container(&name).await.unwrap();

        let lease = Lease::take(&other).unwrap();
        let (volume, file) = (format!("stall-lab-{other}-images"), format!("stall-lab-{other}.img"));
        engine.create_volume(&volume, &labels::of(&other, Kind::Images), &[].into()).await.unwrap();
        let helper = DiskHelper::new(engine.clone(), &docker.image.reference, &other);
        helper.format(&volume, &file, 512 << 20, (0, 0)).await.unwrap();
        helper.attach("node", &volume, &file, 128).await.unwrap();
        Self { name, other, _lease: lease }
    }

    pub(crate) async fn assert_untouched(&self, docker: &Docker) {
        let state: Option<ContainerState> = docker.engine.inspect_container(&self.name).await.unwrap();
        assert!(state.is_some_and(|state| state.running), "the foreign container is gone");
        assert_eq!(docker.shell_in(&self.name, "cat /foreign/marker").await, ["mine"]);
        assert_eq!(docker.things_of(std::slice::from_ref(&self.other)).await.len(), 1);
        // The device on the file; the one on that device has its name alone.
        assert_eq!(docker.loop_devices_of(std::slice::from_ref(&self.other)).await.len(), 1);
    }

    pub(crate) async fn remove(self, docker: &Docker) {
        docker.engine.remove_container(&self.name).await.unwrap();
        docker.engine.remove_volume(&self.name).await.unwrap();
        let scope = Scope::Run(self.other.clone());
        let removal = tear_down(&docker.engine, &scope, Some(&docker.image.reference)).await.unwrap();
        assert_eq!(removal.failures, [""; 0]);
        docker.assert_nothing_is_left_of(&[self.other]).await;
    }
}
