//! The threads that the clients' sessions run on.
//!
//! The lab itself runs on one thread. A load that shared it would be the bottleneck of what it measures, so the clients
//! have a thread for every CPU of the machine. Each thread has a runtime of its own: a session and its socket stay on
//! one thread, and no answer has to wake another.

use std::io;
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinSet};

/// The clients' threads. They end when this is dropped, with whatever still runs on them.
#[derive(Debug)]
pub struct Clients {
    handles: Vec<Handle>,
    /// Dropping one ends its thread's runtime.
    _running: Vec<oneshot::Sender<()>>,
}

impl Clients {
    /// A thread for every CPU that the lab may use.
    ///
    /// # Errors
    /// When a thread or its runtime cannot be made.
    pub fn on_every_cpu() -> io::Result<Self> {
        let cpus = thread::available_parallelism()?.get();
        let (mut handles, mut running) = (Vec::new(), Vec::new());
        for number in 0..cpus {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let (end, ended) = oneshot::channel::<()>();
            handles.push(runtime.handle().clone());
            running.push(end);
            let name = format!("client-{number}");
            // Nothing is ever sent: what is waited for is the sender's drop.
            thread::Builder::new().name(name).spawn(move || runtime.block_on(ended))?;
        }
        Ok(Self { handles, _running: running })
    }

    /// The runtime of the caller alone, for tests under virtual time.
    #[cfg(test)]
    pub(crate) fn here() -> Self {
        Self { handles: vec![Handle::current()], _running: Vec::new() }
    }

    /// How many there are.
    pub(super) fn threads(&self) -> usize {
        self.handles.len()
    }

    /// Runs something on the first thread, alone there unless more was started. It ends when the caller is dropped.
    ///
    /// # Errors
    /// When it panics.
    pub(super) async fn run<T, F>(&self, future: F) -> Result<T, JoinError>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let mut alone = JoinSet::new();
        self.start(&mut alone, 0, future);
        match alone.join_next().await {
            Some(ended) => ended,
            // One was started.
            None => std::future::pending().await,
        }
    }

    /// Starts something on one of the threads, in turn by `number`.
    pub(super) fn start<T, F>(&self, set: &mut JoinSet<T>, number: usize, future: F)
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        match self.handles.get(number % self.handles.len().max(1)) {
            Some(handle) => set.spawn_on(future, handle),
            None => set.spawn(future),
        };
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test]
    async fn clients_run_beside_the_lab_and_end_with_it() {
        let clients = Clients::on_every_cpu().unwrap();
        let lab = thread::current().id();
        let theirs = clients.run(async { thread::current().id() }).await.unwrap();
        assert_ne!(theirs, lab);
        let (held, released) = oneshot::channel::<()>();
        let mut set = JoinSet::new();
        clients.start(&mut set, 1, async move {
            let _held = held;
            std::future::pending::<()>().await;
        });
        drop(clients);
        // The thread's end drops what ran on it.
        assert!(released.await.is_err());
    }
}
