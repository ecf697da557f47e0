//! How many large requests are parsed and planned at the same time? What is made of a text takes many times its size.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The memory that large requests of all connections take while they are parsed and planned.
#[derive(Debug)]
pub(crate) struct Load {
    free_kib: Arc<Semaphore>,
}

impl Load {
    pub(crate) fn new() -> Self {
        Self {
            free_kib: Arc::new(Semaphore::new(ALL_KIB_MAX)),
        }
    }

    /// Waits until so many bytes may be taken, which they are until what is given back is dropped. Small requests do not wait.
    pub(crate) async fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        if bytes <= SMALL_BYTES_MAX {
            return None;
        }
        // One that is larger than all may be has no other beside it.
        let kib = u32::try_from((bytes >> 10).min(ALL_KIB_MAX)).unwrap_or(u32::MAX);
        let taken = Arc::clone(&self.free_kib).acquire_many_owned(kib);
        // The semaphore is never closed.
        taken.await.ok()
    }
}

/// KiB of all requests together.
const ALL_KIB_MAX: usize = 64 << 10;
/// The size of a request that does not wait for others.
const SMALL_BYTES_MAX: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn large_requests_wait_for_each_other_and_small_ones_do_not() {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(async {
            let load = Load::new();
            let first = load.take(usize::MAX).await;
            assert!(first.is_some());
            assert!(load.take(SMALL_BYTES_MAX).await.is_none());
            assert!(load.take(SMALL_BYTES_MAX + 1).now_or_never().is_none());
            drop(first);
            let second = load.take(SMALL_BYTES_MAX + 1).now_or_never();
            assert!(second.unwrap().is_some());
            assert_eq!(load.free_kib.available_permits(), ALL_KIB_MAX);
        });
    }
}
