//! Connections of those who say nothing, or nothing that lets them in.

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

/// The connections that were not admitted yet. Each takes one of the files that a process may have open, before anything is
/// known of who made it: where there are too many, the one that has waited longest ends.
#[derive(Clone, Default)]
pub(crate) struct Strangers {
    waiting: Arc<Mutex<Waiting>>,
}

/// Those that wait, the longest first. A connection ends when its sender is dropped.
type Waiting = VecDeque<(Arc<Stranger>, oneshot::Sender<()>)>;

/// Whether a connection was admitted.
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

    /// Ends the half that has waited longest.
    fn make_room(&self) {
        let mut waiting = self.waiting();
        let half = waiting.len().div_ceil(2);
        waiting.drain(..half);
    }
}

/// The other side of a connection, as the requests that come by it know it.
#[derive(Clone)]
pub(crate) struct Peer {
    stranger: Arc<Stranger>,
    strangers: Strangers,
}

impl Peer {
    /// A request has shown that it may come in.
    pub(crate) fn admit(&self) {
        if !self.stranger.is_admitted.swap(true, Ordering::Relaxed) {
            self.strangers.leave(&self.stranger);
        }
    }
}

/// A connection that ends when nothing that could be a question comes by it for a while, or nothing that is admitted for
/// longer. Later, HTTP/2 asks whether the other side lives.
pub(crate) struct Heard<S> {
    stream: S,
    peer: Peer,
    waits: Option<Waits>,
}

/// Until when more has to come, and how many bytes came.
struct Waits {
    until: Pin<Box<Sleep>>,
    ended: oneshot::Receiver<()>,
    heard: usize,
    admission: Duration,
}

/// How long a connection is waited for.
#[derive(Clone, Copy)]
struct Patience {
    /// It may be without a question for so long. A client sends one as soon as it is connected.
    silence: Duration,
    /// Once it has begun one, it may be for so long until one was admitted.
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

    /// Ready when the connection has waited too long, or for others.
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
            true => Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, "nothing is asked")),
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
            // Who has begun a handshake or a request is let go on with it.
            waits.until = Box::pin(sleep(waits.admission));
        }
    }
}

impl Heard<TcpStream> {
    /// Whether the first octet that comes is that of a handshake of TLS (RFC 8446, 5.1).
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

/// Accepts connections, until it is dropped. Those that begin otherwise than TLS go to `plain`, where there is one.
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
            // The process has as many files open as it may.
            strangers.make_room();
            sleep(ROOM_WITHIN).await;
            continue;
        };
        // A connection that is slow at worst where this fails.
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
            // A server that has ended takes nothing.
            let _ = to.send(heard).await;
        });
    }
}

const PATIENCE: Patience = Patience {
    silence: Duration::from_secs(5),
    // A scheduler connects to an executor when it registers, and may have nothing to ask for a while. Until then the
    // connection is one of those that make room for others.
    admission: Duration::from_secs(600),
};
/// Bytes that a question has at least: the greeting of HTTP/2 with a frame, or the first message of a handshake. A line of
/// HTTP/1 has fewer, and is answered when it is there.
const QUESTION_MIN: usize = 33;
/// Connections that wait to be admitted, at most: a cluster of hundreds of machines connects over more than an instant, and
/// a process may have a thousand files open, or a few hundred.
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
    fn who_says_little_is_waited_for_a_while() {
        run(async {
            let strangers = Strangers::default();
            for (said, waited) in [
                (0, SHORT.silence),
                (1, SHORT.silence),
                (QUESTION_MIN - 1, SHORT.silence),
                // Who goes on is waited for longer, and not for ever.
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
    fn the_longest_silent_one_makes_room() {
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
