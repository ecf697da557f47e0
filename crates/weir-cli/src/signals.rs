//! The handling of signals that ask the program to end.
//!
//! One thread waits for Ctrl-C, SIGTERM and SIGHUP. A command that has a good end of its own
//! ([`end_gracefully`]) ends in this way at the first of them; otherwise, and at the second, temporary files are
//! removed and the program ends by the signal, as if it had no handler. Writes beyond the limit of a file's size (SIGXFSZ) are errors. In a shell Ctrl-C ends the running statement
//! ([`Interrupts`]), and the program only when three of them have no effect. A signal that was ignored when the
//! program started (`nohup`, jobs in the background of a script) stays ignored.

use std::process;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use tokio::sync::watch;

/// The flags that end the command in order.
static ENDS: Mutex<Vec<Arc<AtomicBool>>> = Mutex::new(Vec::new());

/// Sends each Ctrl-C to the shell.
static INTERRUPTS: OnceLock<watch::Sender<()>> = OnceLock::new();

/// The number of Ctrl-C since the shell began to wait for one.
static UNHEEDED: AtomicU32 = AtomicU32::new(0);

/// Receives each Ctrl-C, for a shell that ends the running statement by it and not the program.
#[derive(Clone, Debug)]
pub(crate) struct Interrupts(watch::Receiver<()>);

impl Interrupts {
    /// Waits for those that come from now on, which no longer end the program.
    pub(crate) fn begin() -> Self {
        UNHEEDED.store(0, Ordering::Relaxed);
        let sender = INTERRUPTS.get_or_init(|| watch::Sender::new(()));
        Self(sender.subscribe())
    }

    /// Whether one has arrived.
    pub(crate) fn came(&self) -> bool {
        self.0.has_changed().unwrap_or(false)
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Heeds signals from now on. Without the thread, signals end the program without further ado.
pub(crate) fn heed() {
    let ignored = ignored();
    if ignored >> (SIGXFSZ - 1) & 1 == 0 {
        // A write beyond the limit of a file's size is an error of this write then, and does not end the program.
        let _ = flag::register(SIGXFSZ, Arc::default());
    }
    let heeded = [SIGINT, SIGTERM, SIGHUP].into_iter();
    let heeded: Vec<i32> = heeded
        .filter(|signal| ignored >> (signal - 1) & 1 == 0)
        .collect();
    if let Ok(signals) = Signals::new(heeded) {
        let thread = thread::Builder::new().name("signals".to_owned());
        // A system that has no thread to spare has none for the work either.
        let _ = thread.spawn(|| wait(signals));
    }
}

/// The first signal sets the flag, so that the command comes to its own end; the second ends the
/// program.
pub(crate) fn end_gracefully(flag: &Arc<AtomicBool>) {
    let mut ends = ENDS.lock().unwrap_or_else(PoisonError::into_inner);
    ends.push(Arc::clone(flag));
}

fn wait(mut signals: Signals) {
    let mut is_ending = false;
    for signal in signals.forever() {
        if let (SIGINT, Some(sender)) = (signal, INTERRUPTS.get())
            && UNHEEDED.fetch_add(1, Ordering::Relaxed) < UNHEEDED_MAX
        {
            sender.send_replace(());
            continue;
        }
        let ends = ENDS.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_ending && !ends.is_empty() {
            is_ending = true;
            ends.iter()
                .for_each(|end| end.store(true, Ordering::Relaxed));
            continue;
        }
        weir_engine::remove_unfinished();
        if is_ending {
            process::exit(INTERRUPTED);
        }
        // The default action ends the process by the signal, which shells and schedulers distinguish from a failure.
        let _ = emulate_default_handler(signal);
        process::exit(INTERRUPTED);
    }
}

/// The mask of signals that were ignored already when the program started, as `nohup` does: they stay so.
fn ignored() -> u64 {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| ignored_in(&status))
        .unwrap_or_default()
}

/// The mask of ignored signals in what Linux says of a process.
fn ignored_in(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    u64::from_str_radix(line?.trim(), 16).ok()
}

/// A command that ignores this number of interrupts is ended with the program.
const UNHEEDED_MAX: u32 = 2;

/// Exit status of a program that was interrupted in its own end.
const INTERRUPTED: i32 = 130;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_ignored_signals_is_read() {
        let status = "Name:\tweir\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001003\n";
        assert_eq!(ignored_in(status), Some(0x1003));
        assert_eq!(ignored_in("Name:\tweir\n"), None);
    }
}
