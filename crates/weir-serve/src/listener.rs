//! The listener of a protocol: it accepts connections up to a limit, and refuses further ones with a message.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::shared::{Counted, Metrics, Shared};

/// A protocol of the server.
pub(crate) trait Protocol: Send + Sync + 'static {
    /// The state that all protocols share.
    fn shared(&self) -> &Arc<Shared>;

    /// One connection from its beginning to its end.
    fn serve_connection(self: Arc<Self>, socket: TcpStream) -> impl Future<Output = ()> + Send;

    /// Says, in the words of the protocol, why there is no connection.
    fn refuse_connection(
        self: Arc<Self>,
        socket: TcpStream,
        message: String,
    ) -> impl Future<Output = ()> + Send;
}

/// Accepts the connections of a protocol until the server ends.
pub(crate) async fn serve<P: Protocol>(protocol: Arc<P>, listener: TcpListener) {
    let shared = Arc::clone(protocol.shared());
    let most = shared.options.limits.connections_max;
    let connections = Arc::new(Semaphore::new(most));
    let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
    let mut ending = shared.ending.clone();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = ending.wait_for(|ending| *ending).map(drop) => return,
        };
        let Ok((socket, _)) = accepted else {
            // No more files, or a client that was gone before it was taken: others come.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        // A socket beyond both limits waits until a refusal has ended, which takes two seconds at most.
        let admission = tokio::select! {
            biased;
            permit = Arc::clone(&connections).acquire_owned() => permit.map(Admission::Accepted),
            permit = Arc::clone(&refusals).acquire_owned() => permit.map(Admission::Refused),
            () = ending.wait_for(|ending| *ending).map(drop) => return,
        };
        let protocol = Arc::clone(&protocol);
        match admission {
            Ok(Admission::Accepted(permit)) => {
                Metrics::add(&shared.metrics.connections, 1);
                let counted = Counted::new(&shared, |metrics| &metrics.connections_open);
                tokio::spawn(async move {
                    protocol.serve_connection(socket).await;
                    drop((counted, permit));
                });
            }
            Ok(Admission::Refused(permit)) => {
                Metrics::add(&shared.metrics.connections_refused, 1);
                let message = format!("too many connections: --max-connections is {most}");
                tokio::spawn(async move {
                    let refused = protocol.refuse_connection(socket, message);
                    let _ = tokio::time::timeout(REFUSAL_MAX, refused).await;
                    drop(permit);
                });
            }
            // The semaphores are never closed.
            Err(_) => return,
        }
    }
}

/// What becomes of a socket, with the permit that limits how many of its kind there are.
enum Admission {
    Accepted(OwnedSemaphorePermit),
    /// Its client gets a message that there are too many connections.
    Refused(OwnedSemaphorePermit),
}

/// From the first byte of a connection to its password, or to the end of the handshake of TLS.
pub(crate) const STARTUP_MAX: Duration = Duration::from_secs(20);
/// Refusals that are sent at the same time.
const REFUSALS_MAX: usize = 64;
/// How long sending a refusal may take.
const REFUSAL_MAX: Duration = Duration::from_secs(2);
