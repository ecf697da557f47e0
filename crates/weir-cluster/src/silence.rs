//! Limits for connections that are not authenticated.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep};
use tonic::transport::server::Connected;

/// The connections that are not authenticated yet. Each takes one of the file descriptors of the process: when there are too many,
/// the oldest one is closed.
#[derive(Clone, Default)]
pub(crate) struct Strangers {
    waiting: Arc<Mutex<Waiting>>,
}

/// The pending connections, the oldest first. A connection is closed when its sender is dropped.
type Waiting = VecDeque<(Arc<Stranger>, oneshot::Sender<()>)>;

/// Whether a connection is authenticated.
#[derive(Default)]
pub(crate) struct Stranger {
    is_admitted: AtomicBool,
}

impl Strangers {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self) -> (Arc<Stranger>, oneshot::Receiver<()>) {
        let stranger = Arc::new(Stranger::default());
        let (stays, ended) = oneshot::channel();
        let mut waiting = self.waiting();
        waiting.push_back((Arc::clone(&stranger), stays));
        let too_many = waiting.len().saturating_sub(STRANGERS_MAX);
        waiting.drain(..too_many);
        (stranger, ended)
    }

    fn leave(&self, stranger: &Arc<Stranger>) {
        self.waiting()
            .retain(|(waiting, _)| !Arc::ptr_eq(waiting, stranger));
    }

    /// Closes the older half of the pending connections.
    fn make_room(&self) {
        let mut waiting = self.waiting();
        let half = waiting.len().div_ceil(2);
        waiting.drain(..half);
    }
}

/// The state of a connection, as an extension of its requests.
#[derive(Clone)]
pub(crate) struct Peer {
    stranger: Arc<Stranger>,
    strangers: Strangers,
}

impl Peer {
    /// Marks the connection as authenticated.
    pub(crate) fn admit(&self) {
        if !self.stranger.is_admitted.swap(true, Ordering::Relaxed) {
            self.strangers.leave(&self.stranger);
        }
    }
}

/// A connection that is closed when no request arrives within a timeout, or no authenticated request within a longer one. Once it is
/// authenticated, HTTP/2 keepalive takes over.
pub(crate) struct Heard<S> {
    stream: S,
    peer: Peer,
    waits: Option<Waits>,
}

/// The deadline of a connection, and the number of bytes that were received.
struct Waits {
    until: Pin<Box<Sleep>>,
    ended: oneshot::Receiver<()>,
    heard: usize,
    admission: Duration,
}

/// The timeouts of a connection.
#[derive(Clone, Copy)]
struct Patience {
    /// The timeout for the first request. A client sends one as soon as it is connected.
    silence: Duration,
    /// The timeout for the first authenticated request, once a request has begun.
    admission: Duration,
}

impl<S> Heard<S> {
    fn new(patience: Patience, stream: S, strangers: &Strangers) -> Self {
        let (stranger, ended) = strangers.enter();
        let peer = Peer {
            stranger,
            strangers: strangers.clone(),
        };
        let until = Box::pin(sleep(patience.silence));
        let waits = Some(Waits {
            until,
            ended,
            heard: 0,
            admission: patience.admission,
        });
        Self {
            stream,
            peer,
            waits,
        }
    }

    /// Ready when the deadline has passed, or the connection was closed in favour of newer ones.
    fn poll_over(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        let Some(waits) = &mut self.waits else {
            return Poll::Pending;
        };
        let is_ended = Pin::new(&mut waits.ended).poll(context).is_ready();
        if self.peer.stranger.is_admitted.load(Ordering::Relaxed) {
            self.waits = None;
            return Poll::Pending;
        }
        let is_late = waits.until.as_mut().poll(context).is_ready();
        match is_ended || is_late {
            true => Poll::Ready(io::Error::new(
                io::ErrorKind::TimedOut,
                "no authenticated request before the deadline",
            )),
            false => Poll::Pending,
        }
    }

    fn take_note(&mut self, bytes: usize) {
        let Some(waits) = &mut self.waits else {
            return;
        };
        let is_silent = waits.heard < QUESTION_MIN;
        waits.heard = waits.heard.saturating_add(bytes);
        if is_silent && waits.heard >= QUESTION_MIN {
            // The peer has begun a handshake or a request.
            waits.until = Box::pin(sleep(waits.admission));
        }
    }
}

impl Heard<TcpStream> {
    /// Whether the first octet is the record type of a TLS handshake (RFC 8446, 5.1).
    async fn is_tls(&mut self) -> io::Result<bool> {
        let mut first = [0];
        let over = {
            let waits = self.waits.as_mut();
            async move {
                match waits {
                    Some(waits) => tokio::select! {
                        () = waits.until.as_mut() => {}
                        _ = &mut waits.ended => {}
                    },
                    None => std::future::pending().await,
                }
            }
        };
        tokio::select! {
            peeked = self.stream.peek(&mut first) => {
                Ok(peeked? == 1 && first == [TLS_HANDSHAKE])
            }
            () = over => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

impl<S> Drop for Heard<S> {
    fn drop(&mut self) {
        self.peer.strangers.leave(&self.peer.stranger);
    }
}

impl<S> Connected for Heard<S> {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Heard<S> {
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

impl<S: AsyncWrite + Unpin> AsyncWrite for Heard<S> {
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

/// Accepts connections, until it is dropped. Connections that do not begin with a TLS handshake go to `plain`, if there is one.
pub(crate) async fn accept(
    listener: TcpListener,
    strangers: Strangers,
    tls: mpsc::Sender<Heard<TcpStream>>,
    plain: Option<mpsc::Sender<Heard<TcpStream>>>,
) {
    let mut looked_at = JoinSet::new();
    loop {
        let accepted: io::Result<(TcpStream, SocketAddr)> = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = looked_at.join_next() => continue,
        };
        let Ok((stream, _)) = accepted else {
            // The process has no free file descriptor.
            strangers.make_room();
            sleep(ROOM_WITHIN).await;
            continue;
        };
        // Without it the connection is slow at worst.
        let _ = stream.set_nodelay(true);
        let mut heard = Heard::new(PATIENCE, stream, &strangers);
        let (tls, plain) = (tls.clone(), plain.clone());
        looked_at.spawn(async move {
            let to = match plain {
                Some(plain) => match heard.is_tls().await {
                    Ok(true) => tls,
                    Ok(false) => plain,
                    Err(_) => return,
                },
                None => tls,
            };
            // The server may have ended.
            let _ = to.send(heard).await;
        });
    }
}

const PATIENCE: Patience = Patience {
    silence: Duration::from_secs(5),
    // A scheduler connects to an executor when it registers, and may have no request for a while. Until then the connection
    // counts as one that is not authenticated.
    admission: Duration::from_secs(600),
};
/// The minimum size of a request: the HTTP/2 preface with a frame, or the first message of a TLS handshake. A request line of HTTP/1
/// may be shorter, and is answered when it is complete.
const QUESTION_MIN: usize = 33;
/// The maximum number of connections that are not authenticated. Hundreds of machines do not connect at the same instant, and the
/// limit of file descriptors can be as low as a few hundred.
const STRANGERS_MAX: usize = 64;
const ROOM_WITHIN: Duration = Duration::from_millis(10);
const TLS_HANDSHAKE: u8 = 22;

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const SHORT: Patience = Patience {
        silence: Duration::from_millis(5),
        admission: Duration::from_millis(80),
    };

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(test);
    }

    #[test]
    fn connections_without_a_request_time_out() {
        run(async {
            let strangers = Strangers::default();
            for (said, waited) in [
                (0, SHORT.silence),
                (1, SHORT.silence),
                (QUESTION_MIN - 1, SHORT.silence),
                // A request that has begun has the longer timeout.
                (QUESTION_MIN, SHORT.admission),
            ] {
                let begun = std::time::Instant::now();
                let (mut other, stream) = tokio::io::duplex(100);
                let mut heard = Heard::new(SHORT, stream, &strangers);
                other.write_all(&vec![b'x'; said]).await.unwrap();
                heard.read_exact(&mut vec![0; said]).await.unwrap();
                let ended = heard.read_u8().await.unwrap_err();
                assert_eq!(ended.kind(), io::ErrorKind::TimedOut, "{said}");
                assert!(begun.elapsed() >= waited, "{said}");
            }
            assert!(strangers.waiting().is_empty());
            let (mut other, stream) = tokio::io::duplex(100);
            let mut heard = Heard::new(SHORT, stream, &strangers);
            heard.connect_info().admit();
            other.write_all(b"x").await.unwrap();
            assert_eq!(heard.read_u8().await.unwrap(), b'x');
            assert!(heard.waits.is_none());
        });
    }

    #[test]
    fn the_oldest_pending_connection_is_closed() {
        run(async {
            let strangers = Strangers::default();
            let connect = || {
                let (other, stream) = tokio::io::duplex(100);
                (other, Heard::new(PATIENCE, stream, &strangers))
            };
            let (mut of_admitted, mut admitted) = connect();
            admitted.connect_info().admit();
            let (_of_first, mut first) = connect();
            let mut others: Vec<_> = (0..STRANGERS_MAX).map(|_| connect()).collect();
            let ended = first.read_u8().await.unwrap_err();
            assert_eq!(ended.kind(), io::ErrorKind::TimedOut);
            of_admitted.write_all(b"x").await.unwrap();
            assert_eq!(admitted.read_u8().await.unwrap(), b'x');
            let (other, last) = others.last_mut().unwrap();
            other.write_all(b"y").await.unwrap();
            assert_eq!(last.read_u8().await.unwrap(), b'y');
            strangers.make_room();
            assert_eq!(strangers.waiting().len(), STRANGERS_MAX / 2);
        });
    }
}
