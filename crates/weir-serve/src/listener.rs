//! The listener of a protocol: it accepts connections up to a limit, and refuses further ones with a message. A connection whose client
//! has not been admitted yet gives its place to a new one, and behind those the one whose client has been waited for longest
//! ([`ConnectionActivity`]).

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::Instant;

use crate::activity::{CloseReason, ConnectionActivity};
use crate::shared::{Counted, Metrics, Shared};

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

/// The connections of a protocol.
#[derive(Clone, Default)]
struct ConnectionSlots(Arc<Mutex<Connections>>);

#[derive(Default)]
struct Connections {
    /// The connections whose clients are not admitted yet, the oldest first.
    pending: VecDeque<PendingSlot>,
    /// The others.
    admitted: BTreeMap<u64, Arc<ConnectionActivity>>,
}

/// The place of a connection whose client is not admitted yet.
struct PendingSlot {
    number: u64,
    since: Instant,
    /// Closes the connection when it is dropped.
    stays: oneshot::Sender<()>,
}

impl ConnectionSlots {
    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection of this number; what is given back beside it is ready when it is to be closed.
    fn add(&self, number: u64) -> (Pending, oneshot::Receiver<()>) {
        let (stays, closed) = oneshot::channel();
        self.lock().pending.push_back(PendingSlot {
            number,
            since: Instant::now(),
            stays,
        });
        let pending = Pending {
            places: self.clone(),
            number,
            activity: ConnectionActivity::new(),
        };
        (pending, closed)
    }

    /// Closes a connection to make room: the oldest one that is not admitted, if it has waited for `at_least`; otherwise the one
    /// whose client has been silent longest, for at least that time; and otherwise the oldest that is not admitted, although it
    /// may be admitted soon. Returns false when there is no connection to close.
    fn make_room(&self, at_least: Duration) -> bool {
        let mut connections = self.lock();
        let oldest = connections.pending.front();
        if oldest.is_some_and(|place| place.since.elapsed() >= at_least) {
            return connections.pending.pop_front().is_some();
        }
        let waited = connections.admitted.values();
        let waited = waited.filter_map(|activity| Some((activity.idle_for()?, activity)));
        let longest = waited
            .filter(|(waited, _)| *waited >= at_least)
            .max_by_key(|(waited, _)| *waited);
        let closed = longest.map(|(_, activity)| activity.close(CloseReason::ConnectionLimit));
        closed.is_some() || connections.pending.pop_front().is_some()
    }
}

/// A connection whose client may not be admitted yet.
#[derive(Clone)]
pub(crate) struct Pending {
    places: ConnectionSlots,
    number: u64,
    activity: Arc<ConnectionActivity>,
}

impl Pending {
    /// The activity of the connection, by which it is closed, too, whether its client is admitted or not.
    pub(crate) const fn activity(&self) -> &Arc<ConnectionActivity> {
        &self.activity
    }

    /// The client has shown what it has to, and keeps its place while it does something with it.
    pub(crate) fn admit(&self) {
        let mut connections = self.places.lock();
        let mut pending = connections.pending.iter();
        if let Some(place) = pending.position(|place| place.number == self.number)
            && let Some(place) = connections.pending.remove(place)
        {
            // The connection is no longer pending, and is not closed as such.
            if place.stays.send(()).is_ok() {
                self.activity.touch();
                let activity = Arc::clone(&self.activity);
                connections.admitted.insert(place.number, activity);
            }
        }
    }

    /// The connection has ended.
    fn leave(&self) {
        let mut connections = self.places.lock();
        let number = self.number;
        connections.admitted.remove(&number);
        connections.pending.retain(|place| place.number != number);
    }
}

/// Serves a connection until its end, or until it is closed: while its client is not admitted, takes no rows, or is idle.
async fn until_closed(
    served: impl Future<Output = ()>,
    closed: oneshot::Receiver<()>,
    activity: &ConnectionActivity,
) {
    let closed = async {
        if closed.await.is_ok() {
            std::future::pending::<()>().await;
        }
    };
    let makes_room = async {
        let farewell = match activity.closed().await {
            CloseReason::ConnectionLimit => SHORT_FAREWELL_MAX,
            _ => FAREWELL_MAX,
        };
        tokio::time::sleep(farewell).await;
    };
    tokio::select! {
        () = served => {}
        () = closed => {}
        () = makes_room => {}
    }
}

/// Accepts the connections of a protocol until the server ends.
pub(crate) async fn serve<P: Protocol>(protocol: Arc<P>, listener: TcpListener) {
    let shared = Arc::clone(protocol.shared());
    let most = shared.options.limits.connections_max;
    let connections = Arc::new(Semaphore::new(most));
    let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
    let mut ending = shared.ending.clone();
    let places = ConnectionSlots::default();
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
        if connections.available_permits() == 0 {
            // Connections that came at the same moment are read first: those of clients that are gone end, and others are admitted.
            tokio::task::yield_now().await;
        }
        if connections.available_permits() == 0 && places.make_room(shared.options.limits.idle_min)
        {
            // The place is free when the task has ended.
            let place = Arc::clone(&connections).acquire_owned();
            drop(tokio::time::timeout(PLACE_WITHIN, place).await);
        }
        set_options(&socket);
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
                let (pending, closed) = places.add(number);
                tokio::spawn(async move {
                    let ended = pending.clone();
                    let served = protocol.serve_connection(socket, pending);
                    until_closed(served, closed, &ended.activity).await;
                    ended.leave();
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

/// Limits the unsent bytes of an answer in the socket's send buffer, which would otherwise hold megabytes for a client that does
/// not read, beside the server's own count; and turns on TCP keepalive for silent clients.
fn set_options(socket: &TcpStream) {
    #[cfg(target_os = "linux")]
    {
        let keepalive = socket2::TcpKeepalive::new()
            .with_time(KEEP_ALIVE)
            .with_interval(KEEP_ALIVE)
            .with_retries(2);
        let socket = socket2::SockRef::from(socket);
        // A connection without them works as well, and holds more, or longer.
        let _ = socket.set_tcp_notsent_lowat(UNSENT_BYTES);
        let _ = socket.set_tcp_keepalive(&keepalive);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = socket;
}

/// The admission of a socket, with the permit that limits the number of its kind.
enum Admission {
    Accepted(OwnedSemaphorePermit),
    /// The client gets an error that there are too many connections.
    Refused(OwnedSemaphorePermit),
}

/// Bytes of an answer that wait in the system until the network takes them.
#[cfg(target_os = "linux")]
const UNSENT_BYTES: u32 = 128 << 10;
/// The idle time before the first keepalive probe, and the wait for each of two answers.
#[cfg(target_os = "linux")]
const KEEP_ALIVE: Duration = Duration::from_secs(20);
/// The time limit from the first byte of a connection to its password, or to the end of the TLS handshake.
pub(crate) const STARTUP_MAX: Duration = Duration::from_secs(20);
/// The time limit for a protocol to send the reason why a connection is closed.
const FAREWELL_MAX: Duration = Duration::from_millis(200);
/// The same where another waits for the place.
const SHORT_FAREWELL_MAX: Duration = Duration::from_millis(50);
/// The time for which the place of a connection that is closed is waited for.
const PLACE_WITHIN: Duration = Duration::from_millis(200);
/// Refusals that are sent at the same time.
const REFUSALS_MAX: usize = 64;
/// The time limit for sending a refusal.
const REFUSAL_MAX: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::runtime::Handle;
    use tokio::sync::watch;

    use super::*;
    use crate::options::Options;

    /// A protocol whose clients are admitted by an octet, which is sent back.
    struct Echo(Arc<Shared>);

    impl Protocol for Echo {
        fn shared(&self) -> &Arc<Shared> {
            &self.0
        }

        async fn serve_connection(self: Arc<Self>, mut socket: TcpStream, pending: Pending) {
            let mut octet = [0];
            if socket.read_exact(&mut octet).await.is_ok() {
                pending.admit();
                let _ = socket.write_all(&octet).await;
            }
        }

        async fn refuse_connection(self: Arc<Self>, _socket: TcpStream, _message: String) {}
    }

    /// A client that had sent its first octets was closed unread for those that came behind it and were gone.
    #[tokio::test]
    async fn connections_are_read_before_they_give_their_places_to_others() {
        let root = tempfile::tempdir().unwrap();
        let mut options = Options {
            roots: vec![root.path().to_path_buf()],
            ..Options::default()
        };
        options.limits.connections_max = 4;
        let (_end, ending) = watch::channel(false);
        let shared = Shared::of_worker(options, Handle::current(), ending).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"x").await.unwrap();
        for _ in 0..30 {
            drop(TcpStream::connect(address).await.unwrap());
        }
        let listening = tokio::spawn(serve(Arc::new(Echo(Arc::new(shared))), listener));
        let mut answer = [0];
        client.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"x");
        listening.abort();
    }

    /// Two hundred connections that came at the same moment closed one whose client was about to say its first word, while a hundred waited.
    #[tokio::test]
    async fn one_that_is_about_to_be_admitted_stays_while_others_are_waited_for() {
        use oneshot::error::TryRecvError::{Closed, Empty};
        let long = Duration::from_secs(3600);
        let places = ConnectionSlots::default();
        let (first, _first) = places.add(1);
        first.admit();
        let closes = |pending: &Pending| pending.activity().idle_for().is_none();
        // No connection is that old: the one that is not admitted is closed.
        let (_second, mut second) = places.add(2);
        assert!(places.make_room(long));
        assert_eq!(second.try_recv(), Err(Closed));
        // All connections are old enough: one that is not admitted is closed first.
        let (_third, mut third) = places.add(3);
        assert!(places.make_room(Duration::ZERO));
        assert_eq!(third.try_recv(), Err(Closed));
        assert!(!closes(&first));
        // The newest connection stays.
        let (_fourth, mut fourth) = places.add(4);
        places.lock().pending.front_mut().unwrap().since = Instant::now() + long;
        let while_ago = Duration::from_millis(1);
        while first.activity().idle_for().unwrap() < while_ago {
            tokio::task::yield_now().await;
        }
        assert!(places.make_room(while_ago));
        assert_eq!(fourth.try_recv(), Err(Empty));
        assert!(closes(&first));
        assert!(places.make_room(long) && !places.make_room(long));
        assert_eq!(fourth.try_recv(), Err(Closed));
    }
}
