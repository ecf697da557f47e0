//! Connections that come in by a door: how they are taken, how many there may be, and who is told that there is no place.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::house::{Counted, House, Metrics};

/// What speaks a protocol.
pub(crate) trait Door: Send + Sync + 'static {
    /// What all doors share.
    fn house(&self) -> &Arc<House>;

    /// One connection from its beginning to its end.
    fn welcome(self: Arc<Self>, socket: TcpStream) -> impl Future<Output = ()> + Send;

    /// Says, in the words of the protocol, why there is no connection.
    fn turn_away(
        self: Arc<Self>,
        socket: TcpStream,
        message: String,
    ) -> impl Future<Output = ()> + Send;
}

/// Takes the connections of a door until the server ends.
pub(crate) async fn serve<D: Door>(door: Arc<D>, listener: TcpListener) {
    let house = Arc::clone(door.house());
    let most = house.options.limits.connections_max;
    let places = Arc::new(Semaphore::new(most));
    // Places of those who are told that there is no place.
    let benches = Arc::new(Semaphore::new(BENCHES));
    let mut ending = house.ending.clone();
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
        // Who finds neither a place nor a bench waits until one is free, which one of the benches soon is.
        let seat = tokio::select! {
            biased;
            place = Arc::clone(&places).acquire_owned() => place.map(Seat::Place),
            bench = Arc::clone(&benches).acquire_owned() => bench.map(Seat::Bench),
            () = ending.wait_for(|ending| *ending).map(drop) => return,
        };
        let door = Arc::clone(&door);
        match seat {
            Ok(Seat::Place(place)) => {
                Metrics::add(&house.metrics.connections, 1);
                let counted = Counted::new(&house, |metrics| &metrics.connections_open);
                tokio::spawn(async move {
                    door.welcome(socket).await;
                    drop((counted, place));
                });
            }
            Ok(Seat::Bench(bench)) => {
                Metrics::add(&house.metrics.connections_refused, 1);
                let message = format!("too many connections: --max-connections is {most}");
                tokio::spawn(async move {
                    let _ = tokio::time::timeout(BENCH_MAX, door.turn_away(socket, message)).await;
                    drop(bench);
                });
            }
            // Nobody closes them.
            Err(_) => return,
        }
    }
}

/// Where somebody who came in sits.
enum Seat {
    Place(OwnedSemaphorePermit),
    /// He is told that there is no place.
    Bench(OwnedSemaphorePermit),
}

/// From the first byte of a connection to its password, or to the end of the handshake of TLS.
pub(crate) const STARTUP_MAX: Duration = Duration::from_secs(20);
/// Those who are told at the same time that there is no place.
const BENCHES: usize = 64;
/// How long somebody is told.
const BENCH_MAX: Duration = Duration::from_secs(2);
