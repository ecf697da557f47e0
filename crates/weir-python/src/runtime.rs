//! The threads that queries run on, and how Python waits for them.

use std::future::Future;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::error::{ErrorClass, failure};

/// The threads of this process. Python's lock is held wherever this one is taken, and a fork of Python takes place
/// under that lock: a child never finds this one taken by a thread that it does not have.
static RUNTIME: Mutex<Option<Threads>> = Mutex::new(None);

/// The threads of a process.
struct Threads {
    process: u32,
    stack_bytes: usize,
    runtime: Arc<Runtime>,
}

/// The threads of this process, made on first use: once in each process, since a fork has none of its parent's.
fn runtime(_py: Python<'_>) -> PyResult<Arc<Runtime>> {
    let mut known = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    let stack_bytes = match known.as_ref() {
        Some(threads) if threads.process == process => return Ok(Arc::clone(&threads.runtime)),
        // The C library gives threads of a child the stacks of those that its parent had, and with them their thread-local
        // memory, which the queues of parking_lot still point to: threads then sleep for ever. Larger ones are new.
        Some(parents) => parents.stack_bytes.saturating_add(STACK_BYTES_MORE),
        None => STACK_BYTES,
    };
    let runtime = Builder::new_multi_thread()
        .thread_stack_size(stack_bytes)
        .thread_name("weir")
        .build()
        .map_err(|error| {
            failure(
                ErrorClass::Run,
                &format!("cannot start threads: {error}"),
                None,
            )
        })?;
    let runtime = Arc::new(runtime);
    let threads = Threads {
        process,
        stack_bytes,
        runtime: Arc::clone(&runtime),
    };
    if let Some(parents) = known.replace(threads) {
        // The parent's threads do not exist in this process, and dropping their runtime would wait for them.
        std::mem::forget(parents);
    }
    Ok(runtime)
}

/// The handle of the runtime, through which other threads poll what runs on it.
pub(crate) fn handle(py: Python<'_>) -> PyResult<Handle> {
    Ok(runtime(py)?.handle().clone())
}

/// Waits for work that runs on other threads; Python's other threads run meanwhile, and a signal ends it.
///
/// # Errors
/// What a handler of signals raises, such as `KeyboardInterrupt`: the work is dropped then. When the work panicked,
/// or its result was closed.
pub(crate) fn wait<T: Send + 'static>(
    py: Python<'_>,
    is_closed: &dyn Fn() -> bool,
    work: impl Future<Output = T> + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = sync_channel(1);
    let task = runtime(py)?.spawn(async move {
        // The receiver is gone when a signal has interrupted the wait.
        let _ = sender.send(work.await);
    });
    loop {
        let (waited, outcome) = py.detach(move || {
            let outcome = receiver.recv_timeout(SIGNALS_EVERY);
            (receiver, outcome)
        });
        receiver = waited;
        match outcome {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(raised) = py.check_signals() {
                    task.abort();
                    return Err(raised);
                }
                if is_closed() {
                    task.abort();
                    return Err(failure(ErrorClass::Run, "the result was closed", None));
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                let message = "a thread of the query ended unexpectedly";
                return Err(failure(ErrorClass::Run, message, None));
            }
        }
    }
}

/// Plans of many steps are walked recursively.
const STACK_BYTES: usize = 16 << 20;

/// The extra stack of a forked child's threads over its parent's.
const STACK_BYTES_MORE: usize = 1 << 20;

/// The longest time before a signal is handled.
const SIGNALS_EVERY: Duration = Duration::from_millis(100);
