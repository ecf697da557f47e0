//! The detection of a client's hangup, through a second handle of its socket. It works while the protocol has unread octets of
//! the client, when the protocol itself would not notice.

use std::time::Duration;

use futures::FutureExt;
use tokio::io::Interest;
use tokio::net::TcpStream;

/// Two handles of one socket.
pub(crate) fn duplicated(socket: TcpStream) -> Option<(TcpStream, TcpStream)> {
    let socket = socket.into_std().ok()?;
    let duplicate = socket.try_clone().ok()?;
    let socket = TcpStream::from_std(socket).ok()?;
    Some((socket, TcpStream::from_std(duplicate).ok()?))
}

/// Waits until the other side has closed the connection.
pub(crate) async fn closed_by_client(socket: &TcpStream) {
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let ready = socket.ready(Interest::READABLE).now_or_never();
        match ready {
            Some(Ok(ready)) if ready.is_read_closed() => return,
            Some(Err(_)) => return,
            _ => {}
        }
    }
}

/// The interval between checks whether a client is still connected.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
