//! Connections between executors.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_flight::flight_service_client::FlightServiceClient;
use tokio::runtime::Handle;
use tonic::transport::Channel;

use crate::fetch::{FetchError, connect};
use crate::trust::Trust;

/// Connections to other executors that were used before: a handshake costs more than a small part of a shuffle. Each is used for
/// one fetch at a time, so that rows which are not read yet do not hold up those of another fetch (HTTP/2 has one window of a
/// connection for all of its streams).
#[derive(Clone)]
pub(crate) struct ConnectionPool {
    trust: Trust,
    /// Runs the connections: the runtimes of the tasks that use them end with their tasks.
    runtime: Handle,
    idle: Arc<Mutex<VecDeque<ExecutorConnection>>>,
}

impl fmt::Debug for ConnectionPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConnectionPool")
    }
}

/// A connection to an executor.
pub(crate) struct ExecutorConnection {
    to: (String, u16),
    pub(crate) client: FlightServiceClient<Channel>,
}

impl ConnectionPool {
    pub(crate) fn new(trust: Trust, runtime: Handle) -> Self {
        Self {
            trust,
            runtime,
            idle: Arc::default(),
        }
    }

    fn idle(&self) -> MutexGuard<'_, VecDeque<ExecutorConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection that is not in use, or a new one.
    ///
    /// # Errors
    /// When the executor cannot be reached.
    pub(crate) async fn acquire(
        &self,
        host: &str,
        port: u16,
    ) -> Result<ExecutorConnection, FetchError> {
        let known = {
            let mut idle = self.idle();
            let is_to = |connection: &ExecutorConnection| {
                connection.to.0 == host && connection.to.1 == port
            };
            let place = idle.iter().rposition(is_to);
            place.and_then(|place| idle.remove(place))
        };
        if let Some(connection) = known {
            return Ok(connection);
        }
        let (trust, of) = (self.trust.clone(), host.to_owned());
        let connected = self
            .runtime
            .spawn(async move { connect(&trust, &of, port).await });
        let connected = connected.await;
        let client = connected.map_err(|error| FetchError::Lost(error.to_string()))??;
        Ok(ExecutorConnection {
            to: (host.to_owned(), port),
            client,
        })
    }

    /// Returns a connection to the pool after a complete fetch without an error.
    pub(crate) fn release(&self, connection: ExecutorConnection) {
        let mut idle = self.idle();
        idle.push_back(connection);
        // Connections to machines that have gone are not used again, and come to the front.
        let too_many = idle.len().saturating_sub(IDLE_MAX);
        idle.drain(..too_many);
    }
}

const IDLE_MAX: usize = 64;
