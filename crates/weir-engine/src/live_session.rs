//! The state of a session's scans and aggregates over sources without an end.

use std::sync::{Mutex, PoisonError};

use arrow::array::RecordBatch;
use tokio::sync::Notify;
use tokio::sync::oneshot::{Receiver, Sender, channel};
use weir_tables::CaptureTee;

/// The shared state of the scans of a session over sources without an end.
#[derive(Debug, Default)]
pub(crate) struct Live {
    pub(crate) tee: Option<CaptureTee>,
    request: Mutex<GroupsRequest>,
    /// Wakes the aggregate, which waits for rows, at a request for its groups.
    awaken: Notify,
}

/// A request for the current groups.
#[derive(Debug, Default)]
enum GroupsRequest {
    #[default]
    Nothing,
    For(Sender<Vec<RecordBatch>>),
    /// The final answer follows, and no more requests are taken.
    Closed,
}

impl Live {
    pub(crate) fn new(tee: Option<CaptureTee>) -> Self {
        Self {
            tee,
            ..Self::default()
        }
    }

    /// Requests the current groups of the aggregate; `None` when it has ended.
    pub(crate) fn request_groups(&self) -> Option<Receiver<Vec<RecordBatch>>> {
        let mut request = self.lock();
        if matches!(*request, GroupsRequest::Closed) {
            return None;
        }
        let (sender, receiver) = channel();
        *request = GroupsRequest::For(sender);
        self.awaken.notify_one();
        Some(receiver)
    }

    /// Completes at the next request.
    pub(crate) async fn awoken(&self) {
        self.awaken.notified().await;
    }

    /// The receiver of the groups, if there is a request.
    pub(crate) fn take_request(&self) -> Option<Sender<Vec<RecordBatch>>> {
        let mut request = self.lock();
        match std::mem::take(&mut *request) {
            GroupsRequest::For(sender) => Some(sender),
            other => {
                *request = other;
                None
            }
        }
    }

    /// Sends the groups to the request that waits for them, if there is one.
    pub(crate) fn give<E>(
        &self,
        groups: impl FnOnce() -> Result<Vec<RecordBatch>, E>,
    ) -> Result<(), E> {
        if let Some(sender) = self.take_request() {
            // A receiver that was dropped needs no groups.
            let _ = sender.send(groups()?);
        }
        Ok(())
    }

    /// The final answer follows.
    pub(crate) fn close(&self) {
        *self.lock() = GroupsRequest::Closed;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, GroupsRequest> {
        self.request.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
