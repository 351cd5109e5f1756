//! The Docker engine: the only place that knows bollard.
//!
//! An [`Engine`] is found and agreed with once, then cloned wherever it is needed. Every operation has a deadline and an error
//! variant of its own that carries the object's name and the engine's own words. Removing what is not there is a success.

mod build;
mod container;
mod endpoint;
mod engine;
mod error;
mod exec;
mod facts;
#[cfg(test)]
pub(crate) mod fake;
mod image;
mod job;
pub mod labels;
mod lines;
mod logs;
mod network;
mod pull;
mod spec;
mod state;
mod upload;
mod volume;

pub use build::{BuildContext, BuildSpec, ContextArchive, ContextFile};
pub use container::ContainerEntry;
pub use endpoint::{Address, Endpoint, Surroundings, candidates};
pub use engine::{ApiVersion, Engine};
pub use error::{Attempt, Cause, DockerError};
pub use exec::{ExecOutput, ExecSpec, ExecStream};
pub use facts::{EngineFacts, Privilege};
pub use image::{ImageEntry, ImageFacts};
pub use lines::{Line, OutputStream};
pub use network::{NetworkEntry, Reach};
pub use pull::{ImageReference, PullProgress};
pub use spec::{
    Access, CgroupNamespace, ContainerSpec, DeviceRate, Limits, Mount, NetworkMode, NewPrivileges, Seccomp,
};
pub use state::ContainerState;
pub use upload::UploadFile;
pub use volume::VolumeEntry;
