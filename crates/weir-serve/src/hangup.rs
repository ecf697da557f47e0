//! The detection of a client's hangup, through a second handle of its socket. It works while the protocol has unread octets of
//! the client, when the protocol itself would not notice.

use std::time::Duration;

use futures::FutureExt;
use tokio::io::{AsyncRead, Interest};
use tokio::net::TcpStream;

use crate::activity::ConnectionActivity;
use crate::ahead::Ahead;

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
        if is_closed(socket) {
            return;
        }
    }
}

/// Waits until the other side has closed the connection, or has sent so much behind a request that is answered that its hangup would
/// not arrive: a FIN does not pass a closed window.
pub(crate) async fn closed_or_filled_by_client(socket: &TcpStream, activity: &ConnectionActivity) {
    let mut unread = Unread::default();
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let octets = rustix::io::ioctl_fionread(socket).unwrap_or(0);
        if is_closed(socket) || unread.is_stuck(octets, activity.is_receiving()) {
            return;
        }
    }
}

/// Why the statement of a client is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hangup {
    /// The client has closed the connection.
    Closed,
    /// The client has sent so much behind its statement that its hangup would not arrive: these octets are not read.
    Filled(u64),
}

/// Waits until the other side has closed the connection, while what it sends is read ahead, or has sent more than is read ahead.
pub(crate) async fn closed_behind<S>(socket: &TcpStream, ahead: &Ahead<S>) -> Hangup
where
    S: AsyncRead + Unpin,
{
    let mut unread = Unread::default();
    // Most statements are over before, and nothing is read ahead behind them.
    tokio::time::sleep(POLL_INTERVAL).await;
    loop {
        if is_closed(socket) {
            return Hangup::Closed;
        }
        let octets = rustix::io::ioctl_fionread(socket).unwrap_or(0);
        if unread.is_stuck(octets, !ahead.is_full()) {
            return Hangup::Filled(octets);
        }
        // Octets that had no room before are tried again.
        let over = tokio::time::timeout(POLL_INTERVAL, ahead.over()).await;
        if over.is_ok() {
            return Hangup::Closed;
        }
    }
}

fn is_closed(socket: &TcpStream) -> bool {
    match socket.ready(Interest::READABLE).now_or_never() {
        Some(Ok(ready)) => ready.is_read_closed(),
        Some(Err(_)) => true,
        None => false,
    }
}

/// The octets that were found unread, and the number of checks since then that found as many.
#[derive(Debug, Default)]
struct Unread {
    octets: u64,
    checks: u32,
}

impl Unread {
    /// Whether more octets than a bound have been left unread for some checks, where no more are about to be read.
    fn is_stuck(&mut self, octets: u64, is_reading: bool) -> bool {
        let is_left = octets > UNREAD_MAX && octets == self.octets && !is_reading;
        self.checks = match is_left {
            true => self.checks + 1,
            false => 0,
        };
        self.octets = octets;
        self.checks >= STUCK_CHECKS
    }
}

/// The interval between checks whether a client is still connected.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Octets behind a request that may wait until it is answered. Windows are closed by twice as many and more.
const UNREAD_MAX: u64 = 32 << 10;
/// Checks that find the same octets before the connection is closed: 1 s.
const STUCK_CHECKS: u32 = 4;

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::TcpListener;

    use super::*;
    use crate::retained::Retention;

    /// Two sides of a connection, of which the second reads so many octets ahead.
    async fn connected(octets_max: usize) -> (TcpStream, TcpStream, Ahead<TcpStream>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let client = TcpStream::connect(address).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        let (server, watched) = duplicated(server).unwrap();
        let retention = Retention::of_one(&Retention::of_ahead());
        (client, watched, Ahead::new(server, octets_max, retention))
    }

    #[tokio::test]
    async fn a_hangup_is_seen_behind_what_is_read_ahead() {
        let (mut client, watched, ahead) = connected(1 << 20).await;
        let leaves = async move {
            client.write_all(&vec![7; 400_000]).await.unwrap();
            drop(client);
        };
        let (hangup, ()) = tokio::join!(closed_behind(&watched, &ahead), leaves);
        assert_eq!(hangup, Hangup::Closed);
        let (mut client, watched, ahead) = connected(1000).await;
        let stays = async {
            client.write_all(&vec![7; 400_000]).await.unwrap();
            std::future::pending::<()>().await;
        };
        let hangup = tokio::select! {
            hangup = closed_behind(&watched, &ahead) => hangup,
            () = stays => Hangup::Closed,
        };
        assert!(matches!(hangup, Hangup::Filled(octets) if octets > UNREAD_MAX));
        assert!(ahead.is_full());
    }

    #[test]
    fn octets_that_stay_unread_fill_a_connection() {
        let mut unread = Unread::default();
        let mut found = |octets: u64, is_reading: bool| {
            let checks = (0..=STUCK_CHECKS).map(|_| unread.is_stuck(octets, is_reading));
            checks.collect::<Vec<_>>()
        };
        let stuck = [false, false, false, false, true];
        assert_eq!(found(UNREAD_MAX + 1, false), stuck);
        assert_eq!(found(UNREAD_MAX + 2, false), stuck);
        assert_eq!(found(UNREAD_MAX, false), [false; 5]);
        assert_eq!(found(UNREAD_MAX + 1, true), [false; 5]);
        let mut moving = Unread::default();
        let mut octets = UNREAD_MAX + 1..UNREAD_MAX + 100;
        assert!(octets.all(|octets| !moving.is_stuck(octets, false)));
    }
}
