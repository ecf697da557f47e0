//! Few handshakes of TLS compute at the same time, so that open connections have their turns between them: a signature takes
//! milliseconds, and an open connection would be behind those of all clients that send a hello and nothing else.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use tokio::sync::Semaphore;

/// The permits of handshakes to compute.
#[derive(Debug)]
pub(crate) struct Handshakes(Semaphore);

impl Handshakes {
    pub(crate) fn new() -> Self {
        Self(Semaphore::new(AT_ONCE))
    }

    /// Does a handshake, which has a permit each time that it goes on, and not while it waits for its client.
    pub(crate) async fn run<T>(&self, handshake: impl Future<Output = T>) -> T {
        let mut handshake = pin!(handshake);
        loop {
            let polled = {
                // The semaphore is never closed.
                let _permit = self.0.acquire().await;
                poll_fn(|context| Poll::Ready(handshake.as_mut().poll(context))).await
            };
            if let Poll::Ready(done) = polled {
                return done;
            }
            // The handshake wakes this task when it can go on.
            let mut has_waited = false;
            poll_fn(|_| match std::mem::replace(&mut has_waited, true) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            })
            .await;
        }
    }
}

/// Handshakes that compute at the same time, at all doors.
const AT_ONCE: usize = 4;

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures::FutureExt;

    use super::*;

    /// Hellos of 200 clients at every door had all threads: an open connection waited for seconds where a key has 4,096 bits.
    #[tokio::test]
    async fn few_handshakes_compute_at_the_same_time() {
        let handshakes = Handshakes::new();
        let free = || handshakes.0.available_permits();
        let within = poll_fn(|_| Poll::Ready(free()));
        assert_eq!(
            (handshakes.run(within).await, free()),
            (AT_ONCE - 1, AT_ONCE)
        );
        // One whose client sends nothing keeps no other from going on.
        let mut silent = Box::pin(handshakes.run(pending::<()>()));
        assert_eq!(silent.as_mut().now_or_never(), None);
        assert_eq!(handshakes.run(ready(7)).now_or_never(), Some(7));
        let permits = handshakes.0.acquire_many(AT_ONCE as u32).await;
        let mut waits = Box::pin(handshakes.run(ready(8)));
        assert_eq!(waits.as_mut().now_or_never(), None);
        drop(permits);
        assert_eq!(waits.await, 8);
    }

    /// A handshake goes on when its client has sent more.
    #[tokio::test]
    async fn handshakes_go_on_when_they_are_woken() {
        let handshakes = Handshakes::new();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let handshake = handshakes.run(receiver);
        let sends = async {
            tokio::task::yield_now().await;
            sender.send(9)
        };
        let (received, sent) = tokio::join!(handshake, sends);
        assert_eq!((received, sent), (Ok(9), Ok(())));
    }
}
