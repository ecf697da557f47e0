//! The limit of concurrent parsing and planning of large requests, which takes many times the size of a text.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{Failure, FailureKind};

/// The memory that large requests of all connections take while they are parsed and planned.
#[derive(Debug)]
pub(crate) struct Load {
    free_kib: Arc<Semaphore>,
    /// Bytes of the texts that wait.
    waiting: AtomicUsize,
}

impl Load {
    pub(crate) fn new() -> Self {
        Self {
            free_kib: Arc::new(Semaphore::new(ALL_KIB_MAX)),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Waits until so many bytes may be taken for a text of `text_bytes`, which they are until what is given back is dropped. Small
    /// requests do not wait.
    ///
    /// # Errors
    /// When the texts that wait already are as long as they may be together.
    pub(crate) async fn take(
        &self,
        bytes: usize,
        text_bytes: usize,
    ) -> Result<Option<OwnedSemaphorePermit>, Failure> {
        if bytes <= SMALL_BYTES_MAX {
            return Ok(None);
        }
        // A text that is larger than the limit of all texts runs alone.
        let kib = u32::try_from((bytes >> 10).min(ALL_KIB_MAX)).unwrap_or(u32::MAX);
        if let Ok(taken) = Arc::clone(&self.free_kib).try_acquire_many_owned(kib) {
            return Ok(Some(taken));
        }
        let _waits = Waits::new(&self.waiting, text_bytes)?;
        let taken = Arc::clone(&self.free_kib).acquire_many_owned(kib);
        // The semaphore is never closed.
        Ok(taken.await.ok())
    }
}

/// The text of a request that waits, until this is dropped.
struct Waits<'l> {
    all: &'l AtomicUsize,
    bytes: usize,
}

impl<'l> Waits<'l> {
    fn new(all: &'l AtomicUsize, bytes: usize) -> Result<Self, Failure> {
        let before = all.fetch_add(bytes, Ordering::Relaxed);
        let waits = Self { all, bytes };
        // One alone waits, however long it may be.
        match before == 0 || before.saturating_add(bytes) <= WAITING_BYTES_MAX {
            true => Ok(waits),
            false => Err(Failure::new(
                FailureKind::Limit,
                format!(
                    "large statements that wait to be planned take {} MiB together at most",
                    WAITING_BYTES_MAX >> 20
                ),
            )
            .with_hint("try again in a moment, or send a shorter statement")),
        }
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// KiB of all requests together.
const ALL_KIB_MAX: usize = 64 << 10;
/// Bytes of the texts of the requests that wait.
const WAITING_BYTES_MAX: usize = 32 << 20;
/// The size of a request that does not wait for others.
const SMALL_BYTES_MAX: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(test);
    }

    #[test]
    fn large_requests_wait_for_each_other_and_small_ones_do_not() {
        run(async {
            let load = Load::new();
            let first = load.take(usize::MAX, 1).await.unwrap();
            assert!(first.is_some());
            assert!(load.take(SMALL_BYTES_MAX, 1).await.unwrap().is_none());
            assert!(load.take(SMALL_BYTES_MAX + 1, 1).now_or_never().is_none());
            drop(first);
            let second = load.take(SMALL_BYTES_MAX + 1, 1).now_or_never();
            assert!(second.unwrap().unwrap().is_some());
            assert_eq!(load.free_kib.available_permits(), ALL_KIB_MAX);
        });
    }

    /// Each call of Flight SQL that waits held its text: 3,200 of them a megabyte each.
    #[test]
    fn texts_that_wait_have_a_limit() {
        run(async {
            let load = Load::new();
            let first = load.take(usize::MAX, 1).await.unwrap();
            let mut held = Vec::new();
            for _ in 0..WAITING_BYTES_MAX >> 20 {
                let mut waits = Box::pin(load.take(usize::MAX, 1 << 20));
                assert!(waits.as_mut().now_or_never().is_none());
                held.push(waits);
            }
            let refused = load.take(usize::MAX, 1 << 20).await.unwrap_err();
            assert!(refused.message.contains("32 MiB"), "{refused}");
            assert!(load.take(SMALL_BYTES_MAX, 1 << 20).await.is_ok());
            held.pop();
            let next = load.take(usize::MAX, 1 << 20).now_or_never();
            assert!(next.is_none(), "the next waits");
            drop((first, held));
            assert_eq!(load.waiting.load(Ordering::Relaxed), 0);
        });
    }
}
