//! Packets that come once and may be saved later: on disk, the newest of them.
//!
//! Two captures take turns. When one is full, the one before is begun anew, so that at least half of the room has the
//! newest packets, and never more than all of it is taken.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;
use weir_capture::{Record, WriteError, WriteRecord, Writer};

/// The folder with the two captures, which goes with it.
#[derive(Debug)]
pub(super) struct Spool {
    folder: TempDir,
    bytes_max: u64,
    halves: Mutex<Halves>,
}

#[derive(Default)]
struct Halves {
    now: Option<Half>,
    before: Option<Half>,
    /// Number of the next half.
    next: u64,
    failed: bool,
}

struct Half {
    writer: Writer<BufWriter<File>>,
    path: PathBuf,
    bytes: u64,
    /// Number of its first record among all that came.
    first: u64,
}

impl std::fmt::Debug for Halves {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Halves up to {}", self.next)
    }
}

impl Spool {
    /// A spool that takes so many bytes at most.
    pub(super) fn new(bytes_max: u64) -> io::Result<Self> {
        Ok(Self {
            folder: tempfile::Builder::new().prefix("weir-calls-").tempdir()?,
            bytes_max,
            halves: Mutex::default(),
        })
    }

    /// Keeps the record of this number; gives the number of the first record that is still kept.
    ///
    /// Only the first write that fails (a full disk) gives its error. Later records are dropped, and `u64::MAX` is given
    /// for them: no record can be saved any more.
    pub(super) fn keep(&self, record: &Record<'_>, number: u64) -> io::Result<u64> {
        let mut halves = self.halves.lock().unwrap_or_else(PoisonError::into_inner);
        if halves.failed {
            return Ok(u64::MAX);
        }
        let outcome = self.kept(&mut halves, record, number);
        halves.failed = outcome.is_err();
        outcome
    }

    fn kept(&self, halves: &mut Halves, record: &Record<'_>, number: u64) -> io::Result<u64> {
        let cost = RECORD_BYTES.saturating_add(record.data.len() as u64);
        let is_full = halves
            .now
            .as_ref()
            .is_none_or(|half| half.bytes.saturating_add(cost) > self.bytes_max / 2);
        if is_full {
            let half = self.begin(halves.next, number)?;
            halves.next = halves.next.saturating_add(1);
            if let Some(old) = halves.before.take() {
                std::fs::remove_file(&old.path)?;
            }
            if let Some(full) = &mut halves.now {
                full.writer.flush().map_err(io_error)?;
            }
            halves.before = halves.now.replace(half);
        }
        let first = halves.before.as_ref().or(halves.now.as_ref());
        let first = first.map_or(number, |half| half.first);
        if let Some(half) = &mut halves.now {
            half.bytes = half.bytes.saturating_add(cost);
            let mut kept = WriteRecord::new(
                record.link_type,
                record.time_ns.unwrap_or_default(),
                record.data,
            );
            kept.wire_len = record.wire_len;
            half.writer.write(&kept).map_err(io_error)?;
        }
        // Before a third half begins, none is removed: all packets are there.
        Ok(if halves.next > 2 { first } else { 0 })
    }

    fn begin(&self, number: u64, first: u64) -> io::Result<Half> {
        let path = self.folder.path().join(format!("{number}.pcapng"));
        let file = BufWriter::new(File::create_new(&path)?);
        Ok(Half {
            writer: Writer::pcapng(file),
            path,
            bytes: 0,
            first,
        })
    }

    /// The captures with what is kept, the older one first.
    pub(super) fn captures(&self) -> io::Result<Vec<PathBuf>> {
        let mut halves = self.halves.lock().unwrap_or_else(PoisonError::into_inner);
        let Halves { now, before, .. } = &mut *halves;
        let mut paths = Vec::new();
        for half in [before, now].into_iter().flatten() {
            half.writer.flush().map_err(io_error)?;
            paths.push(half.path.clone());
        }
        Ok(paths)
    }
}

fn io_error(error: WriteError) -> io::Error {
    io::Error::other(error.to_string())
}

/// The maximum overhead of a record in pcapng.
const RECORD_BYTES: u64 = 36;

#[cfg(test)]
mod tests {
    use weir_capture::Reader;

    use super::*;

    /// Keeps records of 100 bytes, each of them one number.
    fn filled(spool: &Spool, numbers: std::ops::Range<u8>) -> u64 {
        let mut capture = Vec::new();
        let mut writer = Writer::pcap_of(&mut capture, 1).unwrap();
        for number in numbers.clone() {
            let data = [number; 100];
            writer
                .write(&WriteRecord::new(1, i64::from(number), &data))
                .unwrap();
        }
        writer.finish().unwrap();
        let mut reader = Reader::new(capture.as_slice()).unwrap();
        let mut first = 0;
        for number in numbers {
            let record = reader.next().unwrap().unwrap();
            first = spool.keep(&record, u64::from(number)).unwrap();
        }
        first
    }

    fn kept(spool: &Spool) -> Vec<u8> {
        let mut kept = Vec::new();
        for path in spool.captures().unwrap() {
            let mut reader = weir_capture::open(&path).unwrap();
            while let Some(record) = reader.next().unwrap() {
                kept.push(record.data[0]);
            }
        }
        kept
    }

    #[test]
    fn the_newest_packets_are_kept_within_the_limit() {
        // Five records fit into a half.
        let spool = Spool::new(1_400).unwrap();
        assert_eq!(filled(&spool, 1..8), 0);
        assert_eq!(kept(&spool), [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(filled(&spool, 8..12), 6);
        assert_eq!(kept(&spool), [6, 7, 8, 9, 10, 11]);
        let folder = spool.folder.path().to_owned();
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
        drop(spool);
        assert!(!folder.exists());
    }
}
