//! Sources that have no end of their own: packets as they arrive, and growing files; and the capture to which a scan
//! writes its records.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use weir_capture::{WriteError, WriteRecord, Writer};

use crate::Predicate;

/// A flag that ends sources without an end of their own.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Requests the sources that hold a clone to end with the records that they have already.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether an end was requested.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag itself, for signal handlers.
    #[must_use]
    pub const fn flag(&self) -> &Arc<AtomicBool> {
        &self.0
    }
}

/// A source of packets as they arrive.
pub trait Feed: fmt::Debug + Send + Sync {
    /// The value of `frame.file`.
    fn name(&self) -> &str;

    /// Starts the source; returns an endless capture in plain bytes. A read fails with [`io::ErrorKind::WouldBlock`]
    /// when no packet has arrived for a moment, and now and then anyway, so that rows do not wait for further rows.
    /// Packets for which the predicate is false may be left out. It is called once.
    ///
    /// An error of the operating system.
    fn start(&self, wanted: Option<&Predicate>) -> io::Result<Box<dyn Read + Send>>;
}

/// A growing file. It ends when another capture is at its path, or it has fewer bytes than were read: its writer began anew.
pub(crate) struct Follow {
    file: File,
    path: PathBuf,
    /// The number of bytes that were read.
    read_bytes: u64,
    /// The file had fewer bytes than were read: those at the position are of another capture now.
    was_shorter: bool,
    stop: Stop,
    /// Is set when the writer began anew.
    renewed: Arc<AtomicBool>,
    /// Reads may pause once the reader of the capture exists.
    may_pause: Arc<AtomicBool>,
    paused_at: Instant,
}

impl Follow {
    pub(crate) fn open(path: &Path, stop: Stop, renewed: Arc<AtomicBool>) -> io::Result<Self> {
        Ok(Self {
            file: weir_capture::open_local(path)?,
            path: path.to_owned(),
            read_bytes: 0,
            was_shorter: false,
            stop,
            renewed,
            may_pause: Arc::default(),
            paused_at: Instant::now(),
        })
    }

    pub(crate) const fn may_pause(&self) -> &Arc<AtomicBool> {
        &self.may_pause
    }

    /// Whether the writer began anew. A file without any bytes is waited for, and so is one that was moved away.
    fn is_renewed(&mut self) -> bool {
        let (Ok(found), Ok(ours)) = (std::fs::metadata(&self.path), self.file.metadata()) else {
            return false;
        };
        self.was_shorter |= ours.is_file() && ours.len() < self.read_bytes;
        let is_other = (found.dev(), found.ino()) != (ours.dev(), ours.ino());
        found.len() > 0 && (is_other || self.was_shorter)
    }
}

impl Read for Follow {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let may_pause = self.may_pause.load(Ordering::Relaxed);
            if may_pause && self.paused_at.elapsed() >= PAUSE_EVERY && !self.stop.is_requested() {
                self.paused_at = Instant::now();
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let is_renewed = self.is_renewed();
            let read = match self.was_shorter {
                true => 0,
                false => self.file.read(out)?,
            };
            self.read_bytes = self.read_bytes.saturating_add(read as u64);
            if read > 0 || out.is_empty() || self.stop.is_requested() {
                return Ok(read);
            }
            if is_renewed {
                self.renewed.store(true, Ordering::Relaxed);
                return Ok(0);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

/// The capture to which a scan writes its records, and its limit. For a table of an extraction, it gets all packets,
/// and the limit counts rows.
#[derive(Clone)]
pub struct CaptureTee {
    kept: Arc<Mutex<CaptureWriter>>,
    /// Whether all records are written, however many.
    is_of_all: bool,
}

struct CaptureWriter {
    writer: Option<Writer<Box<dyn Write + Send>>>,
    left: u64,
    failure: Option<WriteError>,
}

impl CaptureTee {
    /// Writes the selected records to `writer`, if there is one, and lets the scan end after `most` records.
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

    /// The same capture for a table of an extraction: it gets all records, and the limit counts rows.
    pub(crate) fn of_all(self) -> Self {
        Self {
            is_of_all: true,
            ..self
        }
    }

    /// The number of records, or rows, that may still be added.
    pub(crate) fn left(&self) -> usize {
        self.with(|kept| usize::try_from(kept.left).unwrap_or(usize::MAX))
    }

    /// Flushes the written records.
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

    /// The number of records written to the capture so far.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.with(|kept| kept.writer.as_ref().map_or(0, Writer::records))
    }

    /// Writes a selected record.
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
                // After a failure no further record is written.
                kept.left = 0;
            }
        });
    }

    /// Returns whether no more records are wanted.
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

/// The time that rows wait for the ones after them, at most.
const PAUSE_EVERY: Duration = Duration::from_millis(100);
/// The interval in which a growing file is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that was cut short, and had as many bytes as before when it was looked at next, was waited for.
    #[test]
    fn a_file_that_was_cut_short_begins_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("grows");
        std::fs::write(&path, b"first").unwrap();
        let renewed = Arc::new(AtomicBool::new(false));
        let mut follow = Follow::open(&path, Stop::default(), Arc::clone(&renewed)).unwrap();
        let mut out = [0; 16];
        assert_eq!(follow.read(&mut out).unwrap(), 5);
        std::fs::write(&path, b"").unwrap();
        assert!(!follow.is_renewed());
        std::fs::write(&path, b"other, and longer").unwrap();
        assert_eq!(follow.read(&mut out).unwrap(), 0);
        assert!(renewed.load(Ordering::Relaxed));
    }
}
