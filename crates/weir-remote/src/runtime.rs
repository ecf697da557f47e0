//! The threads on which requests run.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

/// The runtime, and the process that started it: a forked process has none of its threads.
static RUNTIME: Mutex<Option<(u32, Arc<Runtime>)>> = Mutex::new(None);

fn runtime() -> std::io::Result<Arc<Runtime>> {
    let process = std::process::id();
    let mut held = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((of, runtime)) = held.as_ref()
        && *of == process
    {
        return Ok(Arc::clone(runtime));
    }
    let made = Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("weir-remote")
        .enable_all()
        .build()?;
    let made = Arc::new(made);
    if let Some((_, before)) = held.replace((process, Arc::clone(&made))) {
        // The threads of the runtime belong to another process: waiting for them would never end.
        std::mem::forget(before);
    }
    Ok(made)
}

/// Starts a task on the runtime.
pub(crate) fn spawn<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> std::io::Result<Task<T>> {
    Ok(Task(runtime()?.spawn(work)))
}

/// Runs a task on the runtime, and blocks this thread until it ends.
pub(crate) fn wait<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> std::io::Result<T> {
    spawn(work)?.wait()
}

/// A task that was started; it is aborted when this is dropped.
#[derive(Debug)]
pub(crate) struct Task<T>(JoinHandle<T>);

impl<T> Task<T> {
    /// Blocks this thread until the task ends.
    pub(crate) fn wait(mut self) -> std::io::Result<T> {
        futures::executor::block_on(&mut self.0).map_err(std::io::Error::other)
    }

    /// Waits for the task without blocking this thread.
    pub(crate) async fn ended(mut self) -> std::io::Result<T> {
        (&mut self.0).await.map_err(std::io::Error::other)
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The number of threads, which wait, and copy what arrives.
const THREADS: usize = 2;
