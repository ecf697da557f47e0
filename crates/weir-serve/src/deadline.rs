//! The time limit of a statement.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;

use crate::error::{Failure, FailureKind};
use crate::options::Limits;

/// When the time of a statement is over, if it ever is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Option<(Instant, Duration)>);

impl Deadline {
    /// The limit that a client requests, but at most that of the server, from now on.
    pub(crate) fn new(limits: &Limits, wanted: Option<Duration>) -> Self {
        let limit = match (wanted, limits.time_max) {
            (Some(wanted), Some(most)) => Some(wanted.min(most)),
            (wanted, most) => wanted.or(most),
        };
        Self(limit.and_then(|limit| Some((Instant::now().checked_add(limit)?, limit))))
    }

    /// Does something before the time is over.
    ///
    /// # Errors
    /// When it is.
    pub(crate) async fn within<T>(self, work: impl Future<Output = T>) -> Result<T, Failure> {
        let Some((deadline, limit)) = self.0 else {
            return Ok(work.await);
        };
        tokio::time::timeout_at(deadline, work).await.map_err(|_| {
            let message = format!(
                "the query exceeded its time limit: {} ms",
                limit.as_millis()
            );
            Failure::new(FailureKind::Timeout, message)
                .with_hint("--max-time and the client set the limit")
        })
    }
}
