//! Accepts connections, with limits for those that are not authenticated. Where the process has no free file descriptor, these are closed
//! first, and then those that are authenticated and idle.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::OptionFuture;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep};
use tonic::transport::server::Connected;

use crate::answering::Answers;
use crate::dial::Wire;
use crate::identity::Role;
use crate::peer::{Connections, Peer};
use crate::tls::Tls;
use crate::trust::Trust;

impl Connections {
    /// Closes the older half of the connections that are not authenticated, if there are many. Otherwise it closes the
    /// authenticated one with the oldest last request among those without work in progress, because a new peer is not
    /// authenticated yet.
    fn make_room(&self, answers: &Answers) {
        let mut open = self.open();
        if open.pending.len() <= SPARED_MAX {
            let busy = answers.busy_connections();
            let connections = open.admitted.iter().enumerate();
            let idle = connections.filter(|(_, (known, _))| !busy.contains(&known.number()));
            let longest = idle.min_by_key(|(_, (known, _))| known.last_request());
            if let Some((place, _)) = longest {
                open.admitted.swap_remove(place);
                return;
            }
        }
        let half = open.pending.len().div_ceil(2);
        open.pending.drain(..half);
    }
}

/// A connection that is closed when no request arrives within a timeout, or no authenticated request within a longer one. Once it is
/// authenticated, HTTP/2 keepalive takes over.
pub(crate) struct GuardedStream<S> {
    stream: S,
    peer: Peer,
    closed: oneshot::Receiver<()>,
    /// The connection was closed in favour of others: the channel is not polled again.
    is_closed: bool,
    waits: Option<Waits>,
}

/// The deadline of a connection, and the number of bytes that were received.
struct Waits {
    until: Pin<Box<Sleep>>,
    /// The handshake has authenticated the connection, which HTTP/2 has to follow.
    is_behind_handshake: bool,
    /// A request was refused, which has shortened the deadline.
    is_refused: bool,
    received: usize,
    patience: Patience,
}

/// The timeouts of a connection.
#[derive(Clone, Copy)]
struct Patience {
    /// The timeout for the first request, which a client sends as soon as it is connected, and for a handshake with its proof.
    silence: Duration,
    /// The timeout for the first authenticated request, once a request has begun.
    admission: Duration,
}

impl<S> GuardedStream<S> {
    fn new(patience: Patience, host: Option<IpAddr>, stream: S, connections: &Connections) -> Self {
        let (peer, closed) = connections.enter(host);
        let until = Box::pin(sleep(patience.silence));
        let waits = Some(Waits {
            until,
            is_behind_handshake: false,
            is_refused: false,
            received: 0,
            patience,
        });
        Self {
            stream,
            peer,
            closed,
            is_closed: false,
            waits,
        }
    }

    /// Ready when the deadline has passed, or the connection was closed in favour of others.
    fn poll_over(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        let over = |why| Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, why));
        self.is_closed = self.is_closed || Pin::new(&mut self.closed).poll(context).is_ready();
        if self.is_closed {
            return over("others need the file descriptor of the connection");
        }
        let Some(waits) = &mut self.waits else {
            return Poll::Pending;
        };
        // The first request may have come with the end of the handshake, before this counted octets behind it.
        let has_asked = self.peer.has_asked();
        if has_asked || (!waits.is_behind_handshake && self.peer.role().is_some()) {
            self.waits = None;
            return Poll::Pending;
        }
        if self.peer.is_refused() && !waits.is_refused {
            waits.is_refused = true;
            waits.until = Box::pin(sleep(waits.patience.silence));
        }
        match waits.until.as_mut().poll(context).is_ready() {
            true => over("no authenticated request before the deadline"),
            false => Poll::Pending,
        }
    }

    /// Marks the connection as authenticated by its handshake.
    fn admit(&mut self, role: Role) {
        self.peer.admit(role);
        if let Some(waits) = &mut self.waits {
            waits.is_behind_handshake = true;
            waits.until = Box::pin(sleep(waits.patience.silence));
        }
    }

    fn take_note(&mut self, bytes: usize) {
        let Some(waits) = &mut self.waits else {
            return;
        };
        if waits.is_behind_handshake && bytes > 0 {
            self.waits = None;
            return;
        }
        let is_silent = waits.received < QUESTION_MIN;
        waits.received = waits.received.saturating_add(bytes);
        if is_silent && waits.received >= QUESTION_MIN {
            // The peer has begun a handshake or a request.
            waits.until = Box::pin(sleep(waits.patience.admission));
        }
    }
}

impl GuardedStream<TcpStream> {
    /// Whether the first octet is the record type of a TLS handshake (RFC 8446, 5.1).
    async fn is_tls(&mut self) -> io::Result<bool> {
        let mut first = [0];
        let (stream, closed) = (&self.stream, &mut self.closed);
        let late = self.waits.as_mut().map(|waits| waits.until.as_mut());
        tokio::select! {
            peeked = stream.peek(&mut first) => {
                Ok(peeked? == 1 && first == [TLS_HANDSHAKE])
            }
            Some(()) = OptionFuture::from(late) => Err(io::ErrorKind::TimedOut.into()),
            _ = closed => {
                self.is_closed = true;
                Err(io::ErrorKind::TimedOut.into())
            }
        }
    }
}

impl<S> Drop for GuardedStream<S> {
    fn drop(&mut self) {
        self.peer.leave();
    }
}

impl<S> Connected for GuardedStream<S> {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for GuardedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = into.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, into);
        this.take_note(into.filled().len().saturating_sub(before));
        match (&read, this.poll_over(context)) {
            (Poll::Pending, Poll::Ready(error)) => Poll::Ready(Err(error)),
            _ => read,
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for GuardedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// Accepts connections, until it is dropped. Each is sent to `known` once its handshake has shown the role of the peer, or at once
/// where there is no TLS.
pub(crate) async fn accept(
    listener: TcpListener,
    connections: Connections,
    answers: Answers,
    trust: Trust,
    known: mpsc::Sender<Wire<GuardedStream<TcpStream>>>,
) {
    let mut looked_at = JoinSet::new();
    loop {
        let accepted: io::Result<(TcpStream, SocketAddr)> = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = looked_at.join_next() => continue,
        };
        let Ok((stream, from)) = accepted else {
            // The process has no free file descriptor.
            connections.make_room(&answers);
            sleep(ROOM_WITHIN).await;
            continue;
        };
        // A connection without this option is only slower.
        let _ = stream.set_nodelay(true);
        let guarded = GuardedStream::new(PATIENCE, Some(from.ip()), stream, &connections);
        let (known, trust) = (known.clone(), trust.clone());
        looked_at.spawn(async move {
            let wire = behind_handshake(guarded, trust.tls(), sleep(PATIENCE.silence));
            if let Ok(wire) = wire.await {
                // The server may have ended.
                let _ = known.send(wire).await;
            }
        });
    }
}

/// A connection whose handshake and proof have shown the role of the peer before `deadline` is ready, or a plain one.
async fn behind_handshake(
    mut guarded: GuardedStream<TcpStream>,
    tls: Option<&Tls>,
    deadline: impl Future<Output = ()>,
) -> io::Result<Wire<GuardedStream<TcpStream>>> {
    let Some(tls) = tls else {
        return Ok(Wire::Plain(guarded));
    };
    let handshake = async {
        // Plain connections get an error that the token is missing, and the health checks.
        if tls.is_of_token() && !guarded.is_tls().await? {
            return Ok(Wire::Plain(guarded));
        }
        let (mut stream, role) = tls.accept(guarded).await?;
        stream.get_mut().0.admit(role);
        Ok(Wire::Tls(Box::new(stream)))
    };
    tokio::select! {
        done = handshake => done,
        () = deadline => Err(io::ErrorKind::TimedOut.into()),
    }
}

const PATIENCE: Patience = Patience {
    silence: Duration::from_secs(5),
    // A scheduler without TLS connects to an executor when it registers, and may have no request for a while. Until then the
    // connection counts as not authenticated.
    admission: Duration::from_secs(600),
};
/// The minimum size of a request: the HTTP/2 preface with a frame, or the first message of a TLS handshake. A request line of HTTP/1
/// may be shorter, and is answered when it is complete.
const QUESTION_MIN: usize = 33;
/// The number of connections that are not authenticated up to which others are closed before them.
const SPARED_MAX: usize = 16;
const ROOM_WITHIN: Duration = Duration::from_millis(10);
const TLS_HANDSHAKE: u8 = 22;

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::identity::{Keys, SERVER_NAME};
    use crate::peer::STRANGERS_MAX;

    const SHORT: Patience = Patience {
        silence: Duration::from_millis(5),
        admission: Duration::from_millis(80),
    };

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(test);
    }

    #[test]
    fn connections_without_a_request_time_out() {
        run(async {
            let connections = Connections::default();
            for (octets, waited) in [
                (0, SHORT.silence),
                (1, SHORT.silence),
                (QUESTION_MIN - 1, SHORT.silence),
                // A request that has begun has the longer timeout.
                (QUESTION_MIN, SHORT.admission),
            ] {
                let begun = std::time::Instant::now();
                let (mut other, stream) = tokio::io::duplex(100);
                let mut guarded = GuardedStream::new(SHORT, None, stream, &connections);
                other.write_all(&vec![b'x'; octets]).await.unwrap();
                guarded.read_exact(&mut vec![0; octets]).await.unwrap();
                let ended = guarded.read_u8().await.unwrap_err();
                assert_eq!(ended.kind(), io::ErrorKind::TimedOut, "{octets}");
                assert!(begun.elapsed() >= waited, "{octets}");
            }
            assert!(connections.open().pending.is_empty());
            let (mut other, stream) = tokio::io::duplex(100);
            let mut guarded = GuardedStream::new(SHORT, None, stream, &connections);
            guarded.connect_info().admit(Role::Member);
            other.write_all(b"x").await.unwrap();
            assert_eq!(guarded.read_u8().await.unwrap(), b'x');
            assert!(guarded.waits.is_none());
        });
    }

    /// A peer whose requests are refused loses its place sooner than one that may still be authenticated.
    #[test]
    fn a_connection_whose_request_was_refused_is_closed_soon() {
        run(async {
            let patience = Patience {
                silence: Duration::from_millis(5),
                admission: Duration::from_secs(3600),
            };
            let connections = Connections::default();
            let (mut other, stream) = tokio::io::duplex(100);
            let mut guarded = GuardedStream::new(patience, None, stream, &connections);
            other.write_all(&[b'x'; QUESTION_MIN]).await.unwrap();
            guarded.read_exact(&mut [0; QUESTION_MIN]).await.unwrap();
            guarded.connect_info().refuse();
            let ended = guarded.read_u8().await.unwrap_err();
            assert_eq!(ended.kind(), io::ErrorKind::TimedOut);
            // An authenticated connection stays.
            let (mut other, stream) = tokio::io::duplex(100);
            let mut guarded = GuardedStream::new(patience, None, stream, &connections);
            guarded.connect_info().admit(Role::Client);
            guarded.connect_info().refuse();
            other.write_all(b"x").await.unwrap();
            assert_eq!(guarded.read_u8().await.unwrap(), b'x');
        });
    }

    fn keys(token: &str) -> Keys {
        Keys::of(token).unwrap()
    }

    /// Certificates of one authority, and a proof of this token.
    fn with_proof(token: &str) -> Tls {
        Tls::with_proof(&keys("the-certificates-of-files"), &keys(token))
    }

    async fn connection() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap());
        let (near, far) = tokio::join!(near, listener.accept());
        (near.unwrap(), far.unwrap().0)
    }

    /// Peers with a certificate of the authority that do not go on behind the handshake, or in the middle of the proof.
    #[test]
    fn a_connection_that_stops_behind_its_handshake_is_closed() {
        run(async {
            let tls = with_proof("a-token-of-the-test");
            let connections = Connections::default();
            for octets in [0, 63] {
                let (near, far) = connection().await;
                let guarded = GuardedStream::new(PATIENCE, None, far, &connections);
                let (stops, stopped) = oneshot::channel();
                let peer = async {
                    let mut stream = tls.shake_hands(near).await.unwrap();
                    stream.write_all(&vec![0; octets]).await.unwrap();
                    stream.flush().await.unwrap();
                    stops.send(()).unwrap();
                    stream
                };
                // The time is over once the peer does not go on.
                let server = behind_handshake(guarded, Some(&tls), async {
                    stopped.await.unwrap();
                });
                let (mut stream, ended) = tokio::join!(peer, server);
                let ended = ended.err().unwrap();
                assert_eq!(ended.kind(), io::ErrorKind::TimedOut, "{octets}");
                assert!(connections.open().pending.is_empty());
                assert!(stream.read_u8().await.is_err());
            }
        });
    }

    /// A peer that has proved the token does not wait among those that have not. HTTP/2 has to follow at once.
    #[test]
    fn a_connection_is_admitted_by_its_handshake() {
        run(async {
            let server = with_proof("a-token-of-the-test");
            let client_token = keys("a-token-of-the-test").client_token();
            for (token, role, is_silent) in [
                ("a-token-of-the-test", Role::Member, true),
                ("a-token-of-the-test", Role::Member, false),
                (client_token.as_str(), Role::Client, false),
            ] {
                let connections = Connections::default();
                let (near, far) = connection().await;
                let guarded = GuardedStream::new(PATIENCE, None, far, &connections);
                let client = with_proof(token);
                let (connected, wire) = tokio::join!(
                    client.connect(SERVER_NAME, near),
                    behind_handshake(guarded, Some(&server), std::future::pending())
                );
                let (mut near, mut wire) = (connected.unwrap(), wire.unwrap());
                assert_eq!(wire.connect_info().role(), Some(role));
                // It does not take the place of a connection that waits for authentication.
                assert!(connections.open().pending.is_empty());
                if is_silent {
                    let Wire::Tls(stream) = &mut wire else {
                        panic!("a plain connection");
                    };
                    let waits = stream.get_mut().0.waits.as_mut().unwrap();
                    let now = tokio::time::Instant::now();
                    assert!(waits.until.deadline() <= now + PATIENCE.silence);
                    // That time is over.
                    waits.until.as_mut().reset(now);
                    let ended = wire.read_u8().await.unwrap_err();
                    assert_eq!(ended.kind(), io::ErrorKind::TimedOut);
                    continue;
                }
                near.write_all(b"PRI").await.unwrap();
                near.flush().await.unwrap();
                wire.read_exact(&mut [0; 3]).await.unwrap();
                let Wire::Tls(stream) = &wire else {
                    panic!("a plain connection");
                };
                assert!(stream.get_ref().0.waits.is_none());
            }
        });
    }

    /// A connection whose first request came with the end of its handshake, and that had nothing more to send for five seconds, was closed
    /// in the middle of its answer.
    #[test]
    fn a_connection_whose_request_came_with_its_handshake_stays() {
        run(async {
            let connections = Connections::default();
            let (_other, stream) = tokio::io::duplex(100);
            let mut guarded = GuardedStream::new(PATIENCE, None, stream, &connections);
            guarded.admit(Role::Client);
            guarded.connect_info().count_request();
            let waits = guarded.waits.as_mut().unwrap();
            waits.until.as_mut().reset(tokio::time::Instant::now());
            waits.until.as_mut().await;
            let mut byte = [0];
            let mut into = ReadBuf::new(&mut byte);
            let mut context = Context::from_waker(std::task::Waker::noop());
            let read = Pin::new(&mut guarded).poll_read(&mut context, &mut into);
            assert!(read.is_pending());
            assert!(guarded.waits.is_none());
        });
    }

    #[test]
    fn the_oldest_pending_connection_is_closed() {
        run(async {
            let connections = Connections::default();
            let connect = || {
                let (other, stream) = tokio::io::duplex(100);
                (
                    other,
                    GuardedStream::new(PATIENCE, None, stream, &connections),
                )
            };
            let (mut of_admitted, mut admitted) = connect();
            admitted.connect_info().admit(Role::Member);
            let (_of_first, mut first) = connect();
            let mut others: Vec<_> = (0..STRANGERS_MAX).map(|_| connect()).collect();
            // Each read gives the error, because TLS reads again after one.
            for _ in 0..2 {
                let ended = first.read_u8().await.unwrap_err();
                assert_eq!(ended.kind(), io::ErrorKind::TimedOut);
            }
            of_admitted.write_all(b"x").await.unwrap();
            assert_eq!(admitted.read_u8().await.unwrap(), b'x');
            let (other, last) = others.last_mut().unwrap();
            other.write_all(b"y").await.unwrap();
            assert_eq!(last.read_u8().await.unwrap(), b'y');
            let answers = Answers::default();
            connections.make_room(&answers);
            assert_eq!(connections.open().pending.len(), STRANGERS_MAX / 2);
            assert_eq!(connections.open().admitted.len(), 1);
        });
    }

    /// A host that connected sixty times a second left other hosts no time for their handshakes.
    #[test]
    fn pending_connections_of_one_host_leave_those_of_others() {
        run(async {
            let connections = Connections::default();
            let connect = |host: u8| {
                let host = Some(IpAddr::from([127, 0, 0, host]));
                let (other, stream) = tokio::io::duplex(100);
                let guarded = GuardedStream::new(PATIENCE, host, stream, &connections);
                (other, guarded)
            };
            let (mut of_first, mut first) = connect(1);
            let mut flood: Vec<_> = (0..2 * STRANGERS_MAX).map(|_| connect(2)).collect();
            of_first.write_all(b"x").await.unwrap();
            assert_eq!(first.read_u8().await.unwrap(), b'x');
            let (_, oldest) = flood.first_mut().unwrap();
            let ended = oldest.read_u8().await.unwrap_err();
            assert_eq!(ended.kind(), io::ErrorKind::TimedOut);
            assert_eq!(connections.open().pending.len(), STRANGERS_MAX);
        });
    }

    /// A host that connected from one address of its network after the other left other hosts no time for their handshakes.
    #[test]
    fn pending_connections_of_one_network_leave_those_of_others() {
        run(async {
            for (host, flooding, step) in [
                (
                    [0x2001, 0xdb8, 0, 1, 0, 0, 0, 1],
                    [0x2001, 0xdb8, 0, 2, 0, 0, 0, 1],
                    1,
                ),
                // IPv4 addresses at a socket of IPv6 have one prefix, and are hosts of their own.
                (
                    [0, 0, 0, 0, 0, 0xffff, 0x0a00, 1],
                    [0, 0, 0, 0, 0, 0xffff, 0x0a00, 2],
                    0,
                ),
            ] {
                let connections = Connections::default();
                let connect = |host: [u16; 8]| {
                    let host = Some(IpAddr::from(host));
                    let (other, stream) = tokio::io::duplex(100);
                    let guarded = GuardedStream::new(PATIENCE, host, stream, &connections);
                    (other, guarded)
                };
                let (mut of_first, mut first) = connect(host);
                let (mut address, mut flood) = (flooding, Vec::new());
                for _ in 0..2 * STRANGERS_MAX {
                    flood.push(connect(address));
                    address[7] += step;
                }
                of_first.write_all(b"x").await.unwrap();
                assert_eq!(first.read_u8().await.unwrap(), b'x');
                assert_eq!(connections.open().pending.len(), STRANGERS_MAX);
            }
        });
    }

    /// 260 silent connections of a client's token holder took all files of a process that may have 200.
    #[test]
    fn idle_connections_make_room_for_others() {
        run(async {
            let (connections, answers) = (Connections::default(), Answers::default());
            let connect = || {
                let (other, stream) = tokio::io::duplex(100);
                let guarded = GuardedStream::new(PATIENCE, None, stream, &connections);
                let peer = guarded.connect_info();
                peer.admit(Role::Client);
                peer.count_request();
                (other, guarded, peer)
            };
            let (_of_first, mut first, peer) = connect();
            let (_of_second, mut second, _) = connect();
            let (_of_third, mut third, _) = connect();
            peer.count_request();
            let _at_work = answers.enter(second.connect_info().connection()).await;
            // A connection that has just been accepted has had no time for its request.
            let (_of_new, stream) = tokio::io::duplex(100);
            let _new = GuardedStream::new(PATIENCE, None, stream, &connections);
            for _ in 0..2 {
                connections.make_room(&answers);
            }
            // The third asked before the first asked again, and an answer is made for the second.
            for closed in [&mut third, &mut first] {
                let ended = closed.read_u8().await.unwrap_err();
                assert_eq!(ended.kind(), io::ErrorKind::TimedOut);
            }
            assert_eq!(connections.open().pending.len(), 1);
            connections.make_room(&answers);
            assert_eq!(connections.open().admitted.len(), 1);
            assert!(connections.open().pending.is_empty());
            let mut byte = [0];
            let mut into = ReadBuf::new(&mut byte);
            let mut context = Context::from_waker(std::task::Waker::noop());
            assert!(
                Pin::new(&mut second)
                    .poll_read(&mut context, &mut into)
                    .is_pending()
            );
        });
    }
}
