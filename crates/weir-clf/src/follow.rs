//! Reads a log while it is written, across rotation.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::fault::FaultKind;
use crate::forms::form::stray_bytes;
use crate::forms::notation::{Notation, in_form, refuse_utf16};
use crate::forms::{Form, Scratch};
use crate::reader::Damage;
use crate::search::Found;

/// Follows the log at a path: returns whole records as they are written, waits for the rest of incomplete ones, and
/// continues in the new file when the log was rotated, after the last records of the old one.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    file: Option<File>,
    /// The form; `None` while the file is empty.
    form: Option<Form>,
    scratch: Scratch,
    /// The offset of the bytes of `pending` in the file.
    offset: u64,
    pending: Vec<u8>,
}

/// The number of bytes that are read at a time.
const PIECE_BYTES: usize = 256 << 10;

impl Follower {
    /// Opens the log at its end, or at its beginning. An incomplete record at the end is one of those that follow.
    ///
    /// # Errors
    /// When the log cannot be read. A log that does not exist yet is waited for.
    pub fn open(path: &Path, from_start: bool) -> io::Result<Self> {
        let mut follower = Self {
            path: path.to_owned(),
            file: None,
            form: None,
            scratch: Scratch::in_order(),
            offset: 0,
            pending: Vec::new(),
        };
        follower.reopen()?;
        if !from_start {
            follower.pass()?;
        }
        Ok(follower)
    }

    /// The offset in the file of the next record.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns what was written since the last call: records to `each`, and bytes that are not records to `damaged`.
    /// Returns the number of records. A `+` of the text draft stands for a value of an earlier line, which is known
    /// only if that line was read, too.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn poll(
        &mut self,
        each: &mut dyn FnMut(Found<'_>),
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

    /// Returns whether the path names another file now, or the file became shorter.
    fn is_moved(&self) -> io::Result<bool> {
        let found = match std::fs::metadata(&self.path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        let Some(file) = &self.file else {
            return Ok(true);
        };
        let open = file.metadata()?;
        let read = self.offset.saturating_add(self.pending.len() as u64);
        // A writer that repairs a log cuts off bytes that were no record, which the caller has not received.
        let shorter = open.len() < self.offset.min(read);
        Ok((found.dev(), found.ino()) != (open.dev(), open.ino()) || shorter)
    }

    /// Moves behind the last whole record.
    fn pass(&mut self) -> io::Result<()> {
        let Some(form) = self.form()? else {
            return Ok(());
        };
        if form == Form::Binary {
            // What looks like a record may be part of the message that another one has.
            self.drain(false, &mut |_| {}, &mut |_| {})?;
            return Ok(());
        }
        let mut bytes = PIECE_BYTES as u64;
        loop {
            let Some(file) = &mut self.file else {
                return Ok(());
            };
            let offset = file.metadata()?.len().saturating_sub(bytes);
            file.seek(SeekFrom::Start(offset))?;
            self.pending.clear();
            file.take(bytes).read_to_end(&mut self.pending)?;
            let used = in_form!(form, N => begun::<N>(&self.pending, offset, &mut self.scratch));
            let all = (bytes > BEGUN_BYTES_MAX).then_some(self.pending.len());
            if let Some(used) = used.or(all) {
                self.offset = offset.saturating_add(used as u64);
                self.pending.clear();
                return Ok(());
            }
            bytes = bytes.saturating_mul(8);
        }
    }

    fn reopen(&mut self) -> io::Result<()> {
        self.offset = 0;
        self.form = None;
        self.pending.clear();
        self.file = match File::open(&self.path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(())
    }

    /// Returns the form by the beginning of the file. A file that begins like no form is read as RFC 6873 once it has
    /// enough bytes for a first record.
    fn form(&mut self) -> io::Result<Option<Form>> {
        let (None, Some(file)) = (self.form, &mut self.file) else {
            return Ok(self.form);
        };
        let mut begin = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        file.take(PIECE_BYTES as u64).read_to_end(&mut begin)?;
        refuse_utf16(&begin)?;
        self.form = match Form::of(&begin) {
            None if begin.contains(&b'\n') || begin.len() == PIECE_BYTES => Some(Form::Rfc6873),
            found => found,
        };
        Ok(self.form)
    }

    fn drain(
        &mut self,
        last: bool,
        each: &mut dyn FnMut(Found<'_>),
        damaged: &mut dyn FnMut(Damage),
    ) -> io::Result<u64> {
        let mut count = 0;
        let Some(form) = self.form()? else {
            return Ok(0);
        };
        loop {
            let Some(file) = &mut self.file else {
                return Ok(count);
            };
            // An incomplete record may have been cut off and written again.
            file.seek(SeekFrom::Start(self.offset))?;
            let want = self.pending.len().max(PIECE_BYTES / 2).saturating_mul(2);
            self.pending.clear();
            file.take(want as u64).read_to_end(&mut self.pending)?;
            let full = self.pending.len() == want;
            let piece = ReadPiece {
                bytes: &self.pending,
                offset: self.offset,
                last: last && !full,
            };
            let used = in_form!(form, N => piece.records::<N>(
                &mut self.scratch,
                &mut |found| {
                    count += 1;
                    each(found);
                },
                damaged,
            ));
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

/// The number of last bytes of a log in which the beginning of a record is looked for: two of the longest records.
const BEGUN_BYTES_MAX: u64 = 32 << 20;

/// The number of the last bytes of a log, which begin at `offset`, that are in front of its incomplete last record. `None` when
/// no record begins in them.
fn begun<N: Notation>(bytes: &[u8], offset: u64, scratch: &mut Scratch) -> Option<usize> {
    let start = match offset {
        0 => 0,
        _ => N::resynchronise(bytes, 0)?,
    };
    let piece = ReadPiece {
        bytes: bytes.get(start..).unwrap_or_default(),
        offset,
        last: false,
    };
    let used = piece.records::<N>(scratch, &mut |_| {}, &mut |_| {});
    Some(start.saturating_add(used))
}

/// The bytes of one read.
struct ReadPiece<'a> {
    bytes: &'a [u8],
    offset: u64,
    /// Whether nothing will follow.
    last: bool,
}

impl ReadPiece<'_> {
    /// Reports its whole records; returns the number of bytes that were processed.
    fn records<N: Notation>(
        &self,
        scratch: &mut Scratch,
        each: &mut dyn FnMut(Found<'_>),
        damaged: &mut dyn FnMut(Damage),
    ) -> usize {
        let mut at = 0_usize;
        while let Some(rest) = self.bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let stray = match N::FORM {
                Form::Binary => 0,
                _ => stray_bytes(rest),
            };
            if stray > 0 {
                at = at.saturating_add(stray);
                continue;
            }
            let offset = self.offset.saturating_add(at as u64);
            let fault = match N::decode(rest, self.last, scratch) {
                Ok((record, len)) => {
                    let written = rest.get(..len).unwrap_or_default();
                    each(Found::new(record, written, N::FORM, offset));
                    at = at.saturating_add(len);
                    continue;
                }
                Err(fault) => fault,
            };
            let next = N::behind(self.bytes, at).or_else(|| N::resynchronise(self.bytes, at));
            // The bytes may become a whole record, unless another one follows.
            let alone = next.is_none() || !N::ANYWHERE;
            let half = fault.kind == FaultKind::Cut && alone && !self.last;
            if half && rest.len() < N::RECORD_BYTES_MAX {
                return at;
            }
            let end = next.unwrap_or(self.bytes.len());
            let len = end.saturating_sub(at) as u64;
            damaged(Damage { offset, len, fault });
            at = end;
        }
        at
    }
}
