//! The threads on which requests run.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

/// The runtime, and the process that it was started in: a process that was forked off has none of its threads.
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
        // Its threads are in another process: waiting for them would never end.
        std::mem::forget(before);
    }
    Ok(made)
}

/// Starts work there.
pub(crate) fn spawn<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> std::io::Result<Task<T>> {
    Ok(Task(runtime()?.spawn(work)))
}

/// Does work there, and waits for it on this thread, whatever runs on it.
pub(crate) fn wait<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> std::io::Result<T> {
    spawn(work)?.wait()
}

/// Work that was started; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Task<T>(JoinHandle<T>);

impl<T> Task<T> {
    /// Waits for it on this thread.
    pub(crate) fn wait(mut self) -> std::io::Result<T> {
        futures::executor::block_on(&mut self.0).map_err(std::io::Error::other)
    }

    /// Waits for it without holding up this thread.
    pub(crate) async fn ended(mut self) -> std::io::Result<T> {
        (&mut self.0).await.map_err(std::io::Error::other)
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What they do is wait, and copy what comes.
const THREADS: usize = 2;
