//! The listener of a protocol: it accepts connections up to a limit, and refuses further ones with a message. A connection whose client
//! has not been admitted yet gives its place to a new one.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};

use crate::shared::{Counted, Metrics, Shared};
use crate::turn::Closing;

/// A protocol of the server.
pub(crate) trait Protocol: Send + Sync + 'static {
    /// The state that all protocols share.
    fn shared(&self) -> &Arc<Shared>;

    /// One connection from its beginning to its end. It is pending until its client is admitted.
    fn serve_connection(
        self: Arc<Self>,
        socket: TcpStream,
        pending: Pending,
    ) -> impl Future<Output = ()> + Send;

    /// Says, in the words of the protocol, why there is no connection.
    fn refuse_connection(
        self: Arc<Self>,
        socket: TcpStream,
        message: String,
    ) -> impl Future<Output = ()> + Send;
}

/// The connections of a protocol whose clients are not admitted yet, the oldest first. One is closed when its sender is dropped.
#[derive(Clone, Default)]
struct AllPending(Arc<Mutex<PendingQueue>>);

/// Connections by number, each with what closes it, the oldest first.
type PendingQueue = VecDeque<(u64, oneshot::Sender<()>)>;

impl AllPending {
    fn lock(&self) -> MutexGuard<'_, VecDeque<(u64, oneshot::Sender<()>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection of this number; what is given back beside it is ready when it is to be closed.
    fn add(&self, number: u64) -> (Pending, oneshot::Receiver<()>) {
        let (stays, closed) = oneshot::channel();
        self.lock().push_back((number, stays));
        let pending = Pending {
            all: self.clone(),
            number,
            closing: Arc::new(watch::Sender::new(false)),
        };
        (pending, closed)
    }

    /// Closes the oldest one; false when there is none.
    fn close_oldest(&self) -> bool {
        self.lock().pop_front().is_some()
    }
}

/// A connection whose client is not admitted yet.
#[derive(Clone)]
pub(crate) struct Pending {
    all: AllPending,
    number: u64,
    closing: Closing,
}

impl Pending {
    /// What closes the connection, whether its client is admitted or not.
    pub(crate) fn closing(&self) -> Closing {
        Arc::clone(&self.closing)
    }

    /// The client has shown what it has to, and keeps its place.
    pub(crate) fn admit(&self) {
        let mut all = self.all.lock();
        if let Some(place) = all.iter().position(|(number, _)| *number == self.number)
            && let Some((_, stays)) = all.remove(place)
        {
            // It is not closed any more; one that has ended has no receiver.
            let _ = stays.send(());
        }
    }
}

/// Serves a connection until its end, or until it is closed while its client is not admitted or takes no rows.
async fn until_closed(
    served: impl Future<Output = ()>,
    closed: oneshot::Receiver<()>,
    closing: &Closing,
) {
    let closed = async {
        if closed.await.is_ok() {
            std::future::pending::<()>().await;
        }
    };
    let mut closing = closing.subscribe();
    let takes_nothing = async {
        // The sender is there as long as this is.
        let _ = closing.wait_for(|is_closing| *is_closing).await;
        tokio::time::sleep(FAREWELL_MAX).await;
    };
    tokio::select! {
        () = served => {}
        () = closed => {}
        () = takes_nothing => {}
    }
}

/// Accepts the connections of a protocol until the server ends.
pub(crate) async fn serve<P: Protocol>(protocol: Arc<P>, listener: TcpListener) {
    let shared = Arc::clone(protocol.shared());
    let most = shared.options.limits.connections_max;
    let connections = Arc::new(Semaphore::new(most));
    let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
    let mut ending = shared.ending.clone();
    let pending = AllPending::default();
    let mut number = 0_u64;
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
        if connections.available_permits() == 0 && pending.close_oldest() {
            // Its place is free when its task has ended.
            let place = Arc::clone(&connections).acquire_owned();
            drop(tokio::time::timeout(PLACE_WITHIN, place).await);
        }
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
                number = number.wrapping_add(1);
                let (pending, closed) = pending.add(number);
                tokio::spawn(async move {
                    let ended = pending.clone();
                    let served = protocol.serve_connection(socket, pending);
                    until_closed(served, closed, &ended.closing).await;
                    ended.admit();
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
/// How long a protocol may take to say why a connection is closed.
const FAREWELL_MAX: Duration = Duration::from_millis(200);
/// How long the place of a connection that is closed is waited for.
const PLACE_WITHIN: Duration = Duration::from_millis(200);
/// Refusals that are sent at the same time.
const REFUSALS_MAX: usize = 64;
/// How long sending a refusal may take.
const REFUSAL_MAX: Duration = Duration::from_secs(2);
