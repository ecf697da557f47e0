//! Connections between executors.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use ballista_core::client::BallistaClient;
use ballista_core::client_pool::{BallistaClientPool, PooledClient};
use ballista_core::error::BallistaError;
use ballista_core::extension::BallistaConfigGrpcEndpoint;
use ballista_core::utils::GrpcClientConfig;

/// Connections to other executors that were used before: a handshake costs more than a small part of a shuffle. Ballista's
/// own pool is not to be had from outside.
#[derive(Default)]
pub(crate) struct Connections {
    idle: Arc<Mutex<Vec<Idle>>>,
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connections")
    }
}

struct Idle {
    to: (String, u16),
    client: BallistaClient,
}

#[async_trait::async_trait]
impl BallistaClientPool for Connections {
    async fn acquire(
        &self,
        host: &str,
        port: u16,
        config: &GrpcClientConfig,
        endpoint: Option<Arc<BallistaConfigGrpcEndpoint>>,
    ) -> Result<PooledClient, BallistaError> {
        let to = (host.to_owned(), port);
        let known = {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            let place = idle.iter().rposition(|idle| idle.to == to);
            place.map(|place| idle.remove(place).client)
        };
        let client = match known {
            Some(client) => client,
            None => {
                BallistaClient::try_new(
                    host,
                    port,
                    config.max_message_size,
                    config.use_tls,
                    endpoint,
                    config.io_retries_times,
                    config.io_retry_wait_time_ms,
                    config.initial_connection_window_size,
                    config.initial_stream_window_size,
                )
                .await?
            }
        };
        let idle = Arc::clone(&self.idle);
        let give_back = move |client| {
            let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.push(Idle { to, client });
            let too_many = idle.len().saturating_sub(IDLE_MAX);
            // Those of machines that have gone are not used again, and come to the front.
            idle.drain(..too_many);
        };
        Ok(PooledClient::new(client, Box::new(give_back)))
    }

    async fn evict_idle(&self) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.clear();
    }
}

const IDLE_MAX: usize = 64;
