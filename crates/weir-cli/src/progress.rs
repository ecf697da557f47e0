//! A progress bar on a terminal, which the worker does not know of.
//!
//! The worker counts in atomics; a thread here reads them ten times a second and draws a bar on
//! standard error, once the work has lasted long enough to be worth one. The bar is gone before
//! the first byte of a result may reach the same terminal ([`Progress::before`]), and steps aside for messages ([`above`]).

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use weir_output as output;

/// The work that is done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Done {
    /// Bytes of input read.
    pub(crate) bytes: u64,
    /// Records found in them.
    pub(crate) records: u64,
    /// The bytes of all input, as far as known; `None` for a pipe.
    pub(crate) bytes_total: Option<u64>,
    /// Pieces done, and all pieces, where others read them.
    pub(crate) pieces: Option<(u64, u64)>,
}

impl Done {
    /// The position of a bar and its end, if that is known.
    fn place(self) -> (u64, Option<u64>) {
        match self.pieces {
            Some((pieces, all)) => (pieces.min(all), Some(all)),
            // A file that grows while it is read never shows more than all.
            None => {
                let all = self.bytes_total;
                (self.bytes.min(all.unwrap_or(u64::MAX)), all)
            }
        }
    }
}

/// The counters of data on the way from files to a worker. Clones share their counters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Passing(Arc<PassingCounts>);

#[derive(Debug, Default)]
struct PassingCounts {
    bytes: AtomicU64,
    records: AtomicU64,
}

impl Passing {
    /// A reader whose bytes are counted.
    pub(crate) fn through<R: Read>(&self, reader: R) -> impl Read + use<R> {
        CountedReader {
            passing: self.clone(),
            reader,
        }
    }

    /// A record more.
    pub(crate) fn record(&self) {
        self.0.records.fetch_add(1, Ordering::Relaxed);
    }

    fn done(&self, bytes_total: Option<u64>) -> Done {
        Done {
            bytes: self.0.bytes.load(Ordering::Relaxed),
            records: self.0.records.load(Ordering::Relaxed),
            bytes_total,
            ..Done::default()
        }
    }
}

struct CountedReader<R> {
    passing: Passing,
    reader: R,
}

impl<R: Read> Read for CountedReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(into)?;
        let bytes = u64::try_from(count).unwrap_or(u64::MAX);
        self.passing.0.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(count)
    }
}

/// The bar that is on the screen.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

fn shown() -> std::sync::MutexGuard<'static, Option<ProgressBar>> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether standard output is a file, so that the bar does not mix with the output.
pub(crate) fn stdout_is_file() -> bool {
    let stdout = io::stdout().as_fd().try_clone_to_owned();
    stdout
        .and_then(|stdout| File::from(stdout).metadata())
        .is_ok_and(|found| found.is_file())
}

/// Writes lines to standard error, above the bar that may be there.
pub(crate) fn above(write: impl FnOnce()) {
    let bar = shown().clone();
    match bar {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// A bar at work. Clones share it; it is cleared by [`Self::finish`] or when the last one is
/// dropped.
#[derive(Clone)]
pub(crate) struct Progress(Option<Arc<Ticker>>);

/// The thread that draws, and the way to stop it.
struct Ticker {
    stop: Arc<TickerStop>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct TickerStop {
    stopped: Mutex<bool>,
    wake: Condvar,
}

impl Progress {
    /// Watches `done` ten times a second in a thread. Without `enabled` (standard error is no terminal, `--no-progress`,
    /// `--quiet`) no thread starts and nothing is drawn.
    pub(crate) fn start(enabled: bool, done: impl Fn() -> Done + Send + 'static) -> Self {
        match enabled {
            true => Self::draw(ProgressDrawTarget::stderr(), done),
            false => Self(None),
        }
    }

    /// Watches what passes on its way from these files, `-` being standard input; a bar when standard error is a
    /// terminal and `quiet` is not set.
    pub(crate) fn of_files<'p>(
        quiet: bool,
        paths: impl IntoIterator<Item = &'p Path>,
    ) -> (Self, Passing) {
        let sizes = paths.into_iter().map(|path| {
            let found = std::fs::metadata(path).ok()?;
            found.is_file().then_some(found.len())
        });
        let total: Option<u64> = sizes.sum();
        let passing = Passing::default();
        let seen = passing.clone();
        let total = total.filter(|&total| total > 0);
        (Self::of(quiet, move || seen.done(total)), passing)
    }

    /// Watches `done`; a bar when standard error is a terminal and `quiet` is not set.
    pub(crate) fn of(quiet: bool, done: impl Fn() -> Done + Send + 'static) -> Self {
        Self::start(!quiet && io::stderr().is_terminal(), done)
    }

    /// No bar at all.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    fn draw(target: ProgressDrawTarget, done: impl Fn() -> Done + Send + 'static) -> Self {
        let stop = Arc::new(TickerStop::default());
        let seen = Arc::clone(&stop);
        // A machine that has no thread to spare gets no bar.
        let thread = std::thread::Builder::new()
            .name("progress".to_owned())
            .spawn(move || tick(&seen, target, &done));
        Self(thread.ok().map(|thread| {
            Arc::new(Ticker {
                stop,
                thread: Mutex::new(Some(thread)),
            })
        }))
    }

    /// Removes the bar from the screen for good, and returns when it is removed.
    pub(crate) fn finish(&self) {
        if let Some(ticker) = &self.0 {
            ticker.finish();
        }
    }

    /// An output that takes the bar off the screen before its first byte: for results that may go to a
    /// terminal, as those in a pipe (`weir … | less`) do, and those in a file do not.
    pub(crate) fn before<W: Write>(&self, out: W) -> impl Write + use<W> {
        Before {
            progress: self.clone(),
            out,
        }
    }
}

impl Ticker {
    fn finish(&self) {
        let stop = || {
            self.stop
                .stopped
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        *stop() = true;
        self.stop.wake.notify_all();
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            // A panic of the drawing thread changes nothing about the results.
            let _ = thread.join();
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.finish();
    }
}

struct Before<W> {
    progress: Progress,
    out: W,
}

impl<W: Write> Write for Before<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.progress.finish();
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Draws until the ticker is stopped.
fn tick(stop: &TickerStop, target: ProgressDrawTarget, done: &dyn Fn() -> Done) {
    let begun = Instant::now();
    let mut target = Some(target);
    let mut bar: Option<ProgressBar> = None;
    let mut pause = DELAY;
    let mut stopped = stop.stopped.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let waited = stop
            .wake
            .wait_timeout_while(stopped, pause, |stopped| !*stopped);
        stopped = waited.unwrap_or_else(PoisonError::into_inner).0;
        if *stopped {
            break;
        }
        pause = PERIOD;
        let done = done();
        let bar = bar.get_or_insert_with(|| {
            ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden())
                .with_elapsed(begun.elapsed())
        });
        let (place, all) = done.place();
        if target.is_some() || bar.length().is_some() != all.is_some() {
            bar.set_style(style(all));
        }
        match all {
            Some(all) => bar.set_length(all),
            None => bar.unset_length(),
        }
        bar.set_position(place);
        bar.set_message(message(done, begun.elapsed()));
        // The bar is drawn only now, so that no empty bar appears first.
        if let Some(target) = target.take() {
            bar.set_draw_target(target);
            *shown() = Some(bar.clone());
        }
        bar.tick();
    }
    if let Some(bar) = bar {
        *shown() = None;
        bar.finish_and_clear();
    }
}

fn style(total: Option<u64>) -> ProgressStyle {
    let (plain, template) = match total {
        Some(_) => (
            ProgressStyle::default_bar().progress_chars("━╸─"),
            "{bar:12.cyan/dim} {percent:>3}% {wide_msg}",
        ),
        None => (
            ProgressStyle::default_spinner(),
            "{spinner:.cyan} {wide_msg}",
        ),
    };
    plain.clone().template(template).unwrap_or(plain)
}

/// `1.2 GiB of 2.0 GiB, 410.0 MiB/s, 4,123,456 records, 2 s left`.
fn message(done: Done, elapsed: Duration) -> String {
    let total = done.bytes_total;
    let seconds = elapsed.as_secs_f64().max(1e-3);
    // The rate is only shown: what a float loses here cannot be seen.
    let rate = (done.bytes as f64 / seconds) as u64;
    let mut text = amount(done.bytes);
    if let Some((pieces, all)) = done.pieces {
        // The number of records in the running parts is unknown until they are complete.
        let records = output::grouped(done.records);
        let elapsed = clock(elapsed.as_secs());
        return format!("{pieces} of {all} pieces, {text}, {records} records, {elapsed}");
    }
    if let Some(total) = total {
        text.push_str(&format!(" of {}", amount(total)));
    }
    let records = output::grouped(done.records);
    text.push_str(&format!(", {}/s, {records} records", amount(rate)));
    match total {
        Some(total) if rate > 0 => {
            let left = total.saturating_sub(done.bytes) / rate;
            text.push_str(&format!(", {} left", clock(left)));
        }
        Some(_) => {}
        None => text.push_str(&format!(", {}", clock(elapsed.as_secs()))),
    }
    text
}

/// `900 B`, `1.5 GiB`: short enough for a line of 80.
fn amount(bytes: u64) -> String {
    let mut unit = "B";
    let mut number = bytes as f64;
    for next in ["KiB", "MiB", "GiB", "TiB"] {
        if number < 1024.0 {
            break;
        }
        number /= 1024.0;
        unit = next;
    }
    match unit {
        "B" => format!("{bytes} B"),
        _ => format!("{number:.1} {unit}"),
    }
}

/// `7 s`, `2:05`, `1:02:05`.
fn clock(seconds: u64) -> String {
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest} s"),
        (0, _) => format!("{minutes}:{rest:02}"),
        _ => format!("{hours}:{minutes:02}:{rest:02}"),
    }
}

/// Work that is done before this shows no bar.
const DELAY: Duration = Duration::from_millis(300);
/// Time between two looks at the counters.
const PERIOD: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn a_message_has_amount_rate_records_and_time_left() {
        let piped = Done {
            bytes: 1 << 30,
            records: 4_123_456,
            bytes_total: None,
            pieces: None,
        };
        let of_file = Done {
            bytes_total: Some(2 << 30),
            pieces: None,
            ..piped
        };
        let nothing = Done {
            bytes_total: Some(0),
            pieces: None,
            ..Done::default()
        };
        for (done, seconds, expected) in [
            (
                of_file,
                4,
                "1.0 GiB of 2.0 GiB, 256.0 MiB/s, 4,123,456 records, 4 s left",
            ),
            (piped, 64, "1.0 GiB, 16.0 MiB/s, 4,123,456 records, 1:04"),
            (nothing, 0, "0 B of 0 B, 0 B/s, 0 records"),
        ] {
            assert_eq!(message(done, Duration::from_secs(seconds)), expected);
        }
        assert_eq!(clock(3_725), "1:02:05");
    }

    #[test]
    fn short_work_is_never_looked_at_and_finish_does_not_wait() {
        // A machine that does much else may take its time once.
        let is_short = (0..5).any(|_| {
            let looks = Arc::new(AtomicU64::new(0));
            let counted = Arc::clone(&looks);
            let begun = Instant::now();
            let progress = Progress::draw(ProgressDrawTarget::hidden(), move || {
                counted.fetch_add(1, Ordering::Relaxed);
                Done::default()
            });
            progress.finish();
            progress.finish();
            begun.elapsed() < DELAY && looks.load(Ordering::Relaxed) == 0
        });
        assert!(is_short);
    }

    #[test]
    fn long_work_is_looked_at_until_the_first_byte_of_the_result() {
        let looks = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&looks);
        let progress = Progress::draw(ProgressDrawTarget::hidden(), move || {
            let bytes = counted.fetch_add(1, Ordering::Relaxed);
            Done {
                bytes,
                ..Done::default()
            }
        });
        let deadline = Instant::now() + Duration::from_secs(20);
        while looks.load(Ordering::Relaxed) < 2 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut sink = Vec::new();
        let mut out = progress.before(&mut sink);
        assert!(out.write_all(b"rows").and_then(|()| out.flush()).is_ok());
        drop(out);
        let seen = looks.load(Ordering::Relaxed);
        assert!(seen >= 2);
        std::thread::sleep(PERIOD * 2);
        assert_eq!(looks.load(Ordering::Relaxed), seen, "the bar was stopped");
        assert_eq!(sink, b"rows");
    }
}
