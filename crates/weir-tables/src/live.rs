//! Sources that have no end of their own: packets as they arrive, and files that still grow; and the
//! capture that keeps what a scan takes up.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use weir_capture::{WriteError, WriteRecord, Writer};

use crate::Predicate;

/// Tells sources without an end of their own that enough has been read.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks the sources that hold a clone to end with the records that they have already.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether an end was requested.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag itself, for signal handlers.
    #[must_use]
    pub const fn flag(&self) -> &Arc<AtomicBool> {
        &self.0
    }
}

/// Packets as they arrive.
pub trait Feed: fmt::Debug + Send + Sync {
    /// The value of `frame.file`.
    fn name(&self) -> &str;

    /// Starts the source; returns an endless capture in plain bytes. A read fails with [`io::ErrorKind::WouldBlock`] when no packet
    /// has arrived for a moment, and now and then anyway, so that rows do not wait for further rows. Packets for which the
    /// predicate is false may be left out. It is called once.
    ///
    /// # Errors
    /// What the operating system says.
    fn start(&self, wanted: Option<&Predicate>) -> io::Result<Box<dyn Read + Send>>;
}

/// A file that still grows.
pub(crate) struct Follow {
    file: File,
    stop: Stop,
    /// Reads may pause: the reader of the capture is made.
    may_pause: Arc<AtomicBool>,
    paused_at: Instant,
}

impl Follow {
    pub(crate) fn open(path: &Path, stop: Stop) -> io::Result<Self> {
        Ok(Self {
            file: File::open(path)?,
            stop,
            may_pause: Arc::default(),
            paused_at: Instant::now(),
        })
    }

    pub(crate) const fn may_pause(&self) -> &Arc<AtomicBool> {
        &self.may_pause
    }
}

impl Read for Follow {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let may_pause = self.may_pause.load(Ordering::Relaxed);
            if may_pause && self.paused_at.elapsed() >= PAUSE_EVERY && !self.stop.is_asked() {
                self.paused_at = Instant::now();
                return Err(io::ErrorKind::WouldBlock.into());
            }
            match self.file.read(out)? {
                0 if out.is_empty() || self.stop.is_asked() => return Ok(0),
                0 => std::thread::sleep(LOOK_EVERY),
                read => return Ok(read),
            }
        }
    }
}

/// The capture that keeps what a scan takes up, and how much that may be. Of a table of what packets carry, it keeps
/// all packets, and counts rows.
#[derive(Clone)]
pub struct CaptureTee {
    kept: Arc<Mutex<CaptureWriter>>,
    /// Records are kept, however many.
    is_of_all: bool,
}

struct CaptureWriter {
    writer: Option<Writer<Box<dyn Write + Send>>>,
    left: u64,
    failure: Option<WriteError>,
}

impl CaptureTee {
    /// Writes what is taken up to `writer`, if there is one, and lets the scan end after `most` records.
    #[must_use]
    pub fn new(writer: Option<Writer<Box<dyn Write + Send>>>, most: Option<u64>) -> Self {
        let kept = CaptureWriter {
            writer,
            left: most.unwrap_or(u64::MAX),
            failure: None,
        };
        Self {
            kept: Arc::new(Mutex::new(kept)),
            is_of_all: false,
        }
    }

    /// The same capture for a table of what packets carry: it keeps all records, and the rows count for the limit.
    pub(crate) fn of_all(self) -> Self {
        Self {
            is_of_all: true,
            ..self
        }
    }

    /// Records, or rows, that may still be taken up.
    pub(crate) fn left(&self) -> usize {
        self.with(|kept| usize::try_from(kept.left).unwrap_or(usize::MAX))
    }

    /// Writes out what has been kept.
    ///
    /// # Errors
    /// When the output cannot be written, now or since the last call.
    pub fn flush(&self) -> Result<(), WriteError> {
        self.with(|kept| {
            if let Some(failure) = kept.failure.take() {
                return Err(failure);
            }
            kept.writer.as_mut().map_or(Ok(()), Writer::flush)
        })
    }

    /// Records kept in the capture so far.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.with(|kept| kept.writer.as_ref().map_or(0, Writer::records))
    }

    /// Keeps a record that was taken up.
    pub(crate) fn keep(&self, record: &WriteRecord<'_>) {
        self.with(|kept| {
            if !self.is_of_all {
                kept.left = kept.left.saturating_sub(1);
            }
            let Some(writer) = &mut kept.writer else {
                return;
            };
            if let Err(failure) = writer.write(record) {
                kept.failure = Some(failure);
                // Nothing more will fit.
                kept.left = 0;
            }
        });
    }

    /// No more records are wanted.
    pub(crate) fn is_full(&self) -> bool {
        self.with(|kept| kept.left == 0)
    }

    fn with<T>(&self, work: impl FnOnce(&mut CaptureWriter) -> T) -> T {
        work(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for CaptureTee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CaptureTee of {} records", self.records())
    }
}

/// Rows wait at most so long for the ones after them.
const PAUSE_EVERY: Duration = Duration::from_millis(100);
/// A file that does not grow is looked at so often.
const LOOK_EVERY: Duration = Duration::from_millis(20);
