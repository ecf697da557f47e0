//! Reads a log while it is written, across rotation.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::fault::FaultKind;
use crate::forms::rfc6873;
use crate::reader::Damage;
use crate::record::Record;

/// Follows the log at a path: gives whole records as they are written, waits for half ones, and goes on
/// in the new file when the log was rotated, after what the old one still got.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    file: Option<File>,
    /// Where the bytes of `pending` begin in the file.
    offset: u64,
    pending: Vec<u8>,
}

/// Bytes that are read at a time.
const PIECE_BYTES: usize = 256 << 10;

impl Follower {
    /// Begins at the end of the log, or at its beginning.
    ///
    /// # Errors
    /// When the log cannot be read. One that is not there yet is waited for.
    pub fn open(path: &Path, from_start: bool) -> io::Result<Self> {
        let mut follower = Self {
            path: path.to_owned(),
            file: None,
            offset: 0,
            pending: Vec::new(),
        };
        follower.reopen()?;
        if let (false, Some(file)) = (from_start, &mut follower.file) {
            follower.offset = file.seek(SeekFrom::End(0))?;
        }
        Ok(follower)
    }

    /// Where in the file the next record begins that is given.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Gives what was written since the last call: each record with its bytes, and what is none. Gives
    /// how many records there were.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn poll(
        &mut self,
        each: &mut dyn FnMut(&Record<'_>, &[u8]),
        damaged: &mut dyn FnMut(Damage),
    ) -> io::Result<u64> {
        let mut count = 0;
        loop {
            let moved = self.is_moved()?;
            count += self.drain(moved, each, damaged)?;
            if !moved {
                return Ok(count);
            }
            self.reopen()?;
        }
    }

    /// Whether the path names another file by now, or the file became shorter.
    fn is_moved(&self) -> io::Result<bool> {
        let found = match std::fs::metadata(&self.path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        let Some(file) = &self.file else {
            return Ok(true);
        };
        let ours = file.metadata()?;
        let read = self.offset.saturating_add(self.pending.len() as u64);
        // A writer that mends a log cuts off what was no record, which was not given to anybody.
        let shorter = ours.len() < self.offset.min(read);
        Ok((found.dev(), found.ino()) != (ours.dev(), ours.ino()) || shorter)
    }

    fn reopen(&mut self) -> io::Result<()> {
        self.offset = 0;
        self.pending.clear();
        self.file = match File::open(&self.path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(())
    }

    fn drain(
        &mut self,
        last: bool,
        each: &mut dyn FnMut(&Record<'_>, &[u8]),
        damaged: &mut dyn FnMut(Damage),
    ) -> io::Result<u64> {
        let mut count = 0;
        loop {
            let Some(file) = &mut self.file else {
                return Ok(count);
            };
            // What was half a record may have been cut off and written anew.
            file.seek(SeekFrom::Start(self.offset))?;
            let want = self.pending.len().max(PIECE_BYTES / 2).saturating_mul(2);
            self.pending.clear();
            file.take(want as u64).read_to_end(&mut self.pending)?;
            let full = self.pending.len() == want;
            let used = records(
                &self.pending,
                self.offset,
                last && !full,
                &mut count,
                each,
                damaged,
            );
            self.offset = self.offset.saturating_add(used as u64);
            if !full {
                self.pending.drain(..used);
                return Ok(count);
            }
            if used > 0 {
                self.pending.clear();
            }
        }
    }
}

/// The whole records of what was read; gives how many bytes are done with.
fn records(
    bytes: &[u8],
    offset: u64,
    last: bool,
    count: &mut u64,
    each: &mut dyn FnMut(&Record<'_>, &[u8]),
    damaged: &mut dyn FnMut(Damage),
) -> usize {
    let mut at = 0_usize;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        if matches!(rest.first(), Some(b'\n' | b'\r')) {
            at = at.saturating_add(1);
            continue;
        }
        match rfc6873::decode(rest) {
            Ok((record, len)) => {
                each(&record, rest.get(..len).unwrap_or_default());
                *count = count.saturating_add(1);
                at = at.saturating_add(len);
            }
            Err(fault) => {
                let next = rfc6873::resynchronise(bytes, at);
                // Half a record, which may become a whole one, unless another one follows.
                let half = fault.kind == FaultKind::Cut && next.is_none() && !last;
                if half && rest.len() < rfc6873::RECORD_BYTES_MAX {
                    return at;
                }
                let end = next.unwrap_or(bytes.len());
                damaged(Damage {
                    offset: offset.saturating_add(at as u64),
                    len: end.saturating_sub(at) as u64,
                    fault,
                });
                at = end;
            }
        }
    }
    at
}
