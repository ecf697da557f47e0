//! Panics of libraries at what a peer has sent. They are caught and counted, and their texts are not printed: a peer that sends such
//! messages would fill the standard error of a server with them.

use std::cell::Cell;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::pin::pin;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::FutureExt as _;

thread_local! {
    /// Whether this thread decodes what a peer has sent.
    static DECODES: Cell<bool> = const { Cell::new(false) };
}

static CAUGHT: AtomicU64 = AtomicU64::new(0);

/// The number of panics that were caught in this process.
pub(crate) fn count() -> u64 {
    CAUGHT.load(Ordering::Relaxed)
}

/// Runs a reader of what a peer has sent; `None` when it panics.
pub(crate) fn caught<T>(read: impl FnOnce() -> T) -> Option<T> {
    let _decoding = Decoding::begin();
    catch_unwind(AssertUnwindSafe(read)).ok()
}

/// Handles what a peer has sent; `None` when that panics.
pub(crate) async fn caught_in<F: Future>(handled: F) -> Option<F::Output> {
    let mut handled = pin!(AssertUnwindSafe(handled).catch_unwind());
    let handled = poll_fn(|context| {
        let _decoding = Decoding::begin();
        handled.as_mut().poll(context)
    });
    handled.await.ok()
}

/// Panics of this thread are not printed until this is dropped.
struct Decoding {
    /// Whether they were not printed before.
    before: bool,
}

impl Decoding {
    fn begin() -> Self {
        install();
        Self {
            before: DECODES.replace(true),
        }
    }
}

impl Drop for Decoding {
    fn drop(&mut self) {
        DECODES.set(self.before);
    }
}

/// Puts a hook before that of the process, once.
fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let print = take_hook();
        set_hook(Box::new(move |panic| {
            // A thread that ends has no value.
            match DECODES.try_with(Cell::get) {
                Ok(true) => {
                    CAUGHT.fetch_add(1, Ordering::Relaxed);
                }
                _ => print(panic),
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_at_what_a_peer_has_sent_are_caught_and_counted() {
        let fails = |fails: bool| match fails {
            true => panic!("a reader fails"),
            false => 7,
        };
        assert_eq!(caught(|| fails(false)), Some(7));
        let before = count();
        assert_eq!(caught(|| fails(true)), None);
        // Readers use each other.
        assert_eq!(caught(|| caught(|| fails(true))), Some(None));
        let in_future = caught_in(async { fails(true) });
        assert_eq!(in_future.now_or_never(), Some(None));
        let in_future = caught_in(async { fails(false) });
        assert_eq!(in_future.now_or_never(), Some(Some(7)));
        // Other tests may count, too.
        assert!(count() >= before + 3);
        assert!(!DECODES.get());
    }
}
