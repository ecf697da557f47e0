//! The pieces of a search: parts of segments that are read at a time.

use std::io;
use std::sync::OnceLock;

use memchr::memmem;
use regex::bytes::Regex;

use crate::fault::{Fault, FaultKind};
use crate::forms::line::Line;
use crate::forms::notation::{Notation, Rfc6873, in_form};
use crate::forms::{Form, Scratch, rfc6873, text};
use crate::index::sidecar::LogSpan;
use crate::losses::Losses;
use crate::record::Record;
use crate::search::opened::Opened;
use crate::search::query::{Needle, Query};
use crate::search::searched::Searched;
use crate::segment::Segment;
use crate::walk::{BEHIND_BYTES, LogWalk, each_record};

/// The number of bytes of log that a thread reads at a time.
///
/// Measured: a piece that fits the second-level cache is scanned there while it is still warm from the copy.
const PIECE_BYTES: u64 = 256 << 10;

/// A unit of work: a part of a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentPiece {
    segment: usize,
    pub(crate) span: LogSpan,
    /// Whether a record begins where the span does, if anything does.
    aligned: bool,
    /// Whether a record ends where the span does, as far as is known.
    closed: bool,
}

impl SegmentPiece {
    /// Appends the pieces of a segment's spans.
    pub(crate) fn push_all(segment: usize, spans: &[LogSpan], pieces: &mut Vec<Self>) {
        for span in spans {
            let mut start = span.start;
            while start < span.end {
                let end = span.end.min(start.saturating_add(PIECE_BYTES));
                pieces.push(Self {
                    segment,
                    span: LogSpan { start, end },
                    aligned: start == span.start,
                    closed: end == span.end,
                });
                start = end;
            }
        }
    }
}

/// The records of a piece.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) segment: usize,
    pub(crate) bytes: Vec<u8>,
    /// The offset of each record in the log, and its end in `bytes`.
    pub(crate) places: Vec<(u64, usize)>,
    pub(crate) searched: Searched,
}

impl Batch {
    fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
        self.searched = Searched::default();
    }
}

/// The buffers of a thread, which are reused for each piece.
#[derive(Debug, Default)]
pub(crate) struct PieceWork {
    buffer: Vec<u8>,
    scratch: Scratch,
}

/// The search for each piece.
pub(crate) struct Job<'a> {
    pub(crate) segments: &'a [Opened],
    pub(crate) query: &'a Query,
    pub(crate) keep: bool,
    /// The finder of bytes that every matching record of RFC 6873 has, created when it is needed.
    finder: OnceLock<Option<Finder>>,
}

/// Finds a [`Needle`].
enum Finder {
    Bytes(Box<memmem::Finder<'static>>),
    OneOf(Regex),
}

impl Finder {
    fn new(needle: Needle) -> Self {
        match needle {
            Needle::Bytes(bytes) => Self::Bytes(Box::new(memmem::Finder::new(&bytes).into_owned())),
            Needle::OneOf(regex) => Self::OneOf(regex),
        }
    }

    fn find(&self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::Bytes(finder) => finder.find(bytes),
            Self::OneOf(regex) => regex.find(bytes).map(|found| found.start()),
        }
    }
}

impl<'a> Job<'a> {
    pub(crate) const fn new(segments: &'a [Opened], query: &'a Query, keep: bool) -> Self {
        Self {
            segments,
            query,
            keep,
            finder: OnceLock::new(),
        }
    }

    fn finder(&self) -> Option<&Finder> {
        let made = self
            .finder
            .get_or_init(|| self.query.needle().map(Finder::new));
        made.as_ref()
    }
}

/// The bytes that were read of a piece.
#[derive(Clone, Copy)]
struct PieceBytes<'a> {
    bytes: &'a [u8],
    /// The offset in the log.
    from: u64,
    /// Records that begin before this belong to the piece.
    limit: usize,
    aligned: bool,
    /// Whether nothing follows in the log.
    whole: bool,
}

impl Job<'_> {
    /// Reads a piece and finds the records that begin in it.
    pub(crate) fn piece(&self, piece: SegmentPiece, work: &mut PieceWork) -> io::Result<Batch> {
        match self.segments.get(piece.segment) {
            Some(opened) => {
                in_form!(opened.form, N => self.piece_of::<N>(piece, &opened.segment, work))
            }
            None => Ok(Batch::default()),
        }
    }

    fn piece_of<N: Notation>(
        &self,
        piece: SegmentPiece,
        segment: &Segment,
        work: &mut PieceWork,
    ) -> io::Result<Batch> {
        let mut batch = Batch {
            segment: piece.segment,
            ..Batch::default()
        };
        let LogSpan { start, end } = piece.span;
        // The line feed before the first record confirms that one begins.
        let from = start.saturating_sub(u64::from(!piece.aligned));
        let mut behind = if piece.closed { 0 } else { BEHIND_BYTES };
        let PieceWork { buffer, scratch } = work;
        loop {
            let count = segment.read_into(from, end.saturating_add(behind), buffer)?;
            let part = PieceBytes {
                bytes: buffer.get(..count).unwrap_or_default(),
                from,
                limit: usize::try_from(end.saturating_sub(from)).unwrap_or(usize::MAX),
                aligned: piece.aligned,
                whole: from.saturating_add(count as u64) >= segment.len(),
            };
            batch.clear();
            if N::FORM == Form::Rfc6873 && piece.aligned && piece.closed {
                if self.compare(part, &mut batch) {
                    break;
                }
                batch.clear();
            }
            // A value may be written in several ways in other forms.
            let finder = match N::FORM {
                Form::Rfc6873 => self.finder(),
                _ => None,
            };
            let done = match finder {
                Some(finder) => self.find(finder, part, &mut batch)?,
                None => self.walk::<N>(part, scratch, &mut batch)?,
            };
            if done || behind > N::RECORD_BYTES_MAX as u64 {
                break;
            }
            behind = behind.saturating_mul(16).max(BEHIND_BYTES);
        }
        batch.searched.bytes_read = end.saturating_sub(start);
        Ok(batch)
    }

    /// Reads every record. Returns false when more bytes are needed.
    fn walk<N: Notation>(
        &self,
        part: PieceBytes<'_>,
        scratch: &mut Scratch,
        batch: &mut Batch,
    ) -> io::Result<bool> {
        let mut read = each_record::<N>(scratch, |record, written, offset| {
            self.take(record, written, offset, batch);
            Ok(())
        });
        let (done, damaged) = over::<N>(part, &mut read)?;
        drop(read);
        batch.searched.damaged = damaged;
        Ok(done)
    }

    /// Compares a field of each record, where the index has their beginnings and all are intact. Returns false when
    /// they have to be read in another way.
    fn compare(&self, part: PieceBytes<'_>, batch: &mut Batch) -> bool {
        let Some((field, value)) = self.query.field() else {
            return false;
        };
        let mut sound = true;
        let done = rfc6873::each_with(
            part.bytes,
            field,
            value,
            &mut |start| match rfc6873::decode(part.bytes.get(start..).unwrap_or_default()) {
                Ok((record, len)) => {
                    let end = start.saturating_add(len);
                    let written = part.bytes.get(start..end).unwrap_or_default();
                    let offset = part.from.saturating_add(start as u64);
                    self.take(&record, written, offset, batch);
                }
                Err(_) => sound = false,
            },
        );
        done.is_some() && sound
    }

    /// Reads the records that have the needle. Returns false when more bytes are needed.
    fn find(&self, finder: &Finder, part: PieceBytes<'_>, batch: &mut Batch) -> io::Result<bool> {
        let bytes = part.bytes;
        let mut at = 0_usize;
        while let Some(found) = bytes.get(at..).and_then(|rest| finder.find(rest)) {
            let hit = at.saturating_add(found);
            // The line is tested once, however often it contains the needle.
            let line_end = memchr::memchr(b'\n', bytes.get(hit..).unwrap_or_default());
            at = line_end.map_or(bytes.len(), |end| {
                hit.saturating_add(end).max(hit.saturating_add(1))
            });
            let Some((start, decoded)) = around(bytes, hit, part.aligned) else {
                continue;
            };
            if start >= part.limit {
                break;
            }
            match decoded {
                Ok((record, len)) => {
                    at = start.saturating_add(len);
                    let written = bytes.get(start..at).unwrap_or_default();
                    let offset = part.from.saturating_add(start as u64);
                    self.take(&record, written, offset, batch);
                }
                Err(fault) if fault.kind == FaultKind::Cut && !part.whole => return Ok(false),
                Err(_) => {}
            }
        }
        // Bytes without the needle are checked for damage, and a record that begins here may have it after the bytes
        // that were read.
        let mut pass = |bytes: &[u8], _whole: bool, _offset: u64| {
            Ok(match Rfc6873::hop(bytes) {
                Some(len) => Ok(len),
                None => rfc6873::decode(bytes).map(|(_, len)| len),
            })
        };
        let (done, damaged) = over::<Rfc6873>(part, &mut pass)?;
        batch.searched.damaged = damaged;
        Ok(done)
    }

    fn take(&self, record: &Record<'_>, written: &[u8], offset: u64, batch: &mut Batch) {
        if self.query.matches(record, written) {
            self.keep(written, offset, batch);
        }
    }

    fn keep(&self, written: &[u8], offset: u64, batch: &mut Batch) {
        batch.searched.records = batch.searched.records.saturating_add(1);
        if self.keep {
            batch.bytes.extend_from_slice(written);
            batch.places.push((offset, batch.bytes.len()));
        }
    }

    /// Reads a part of a segment from its beginning to its end, and passes its records to `each` until that returns
    /// that it has enough.
    pub(crate) fn in_order(
        &self,
        place: usize,
        span: LogSpan,
        work: &mut PieceWork,
        each: &mut dyn FnMut(&Batch) -> bool,
    ) -> io::Result<()> {
        let Some(opened) = self.segments.get(place) else {
            return Ok(());
        };
        let mut batch = Batch {
            segment: place,
            ..Batch::default()
        };
        let refers = opened.refers()?;
        let mut earlier = Scratch::in_order();
        let mut line = Line::default();
        let PieceWork { buffer, scratch } = work;
        let scratch = if refers { &mut earlier } else { scratch };
        let mut walk = LogWalk::default();
        let mut at = span.start;
        while at < span.end {
            batch.clear();
            let to = span.end.min(at.saturating_add(PIECE_BYTES));
            let damaged = walk.damaged;
            in_form!(opened.form, N => {
                let mut read = each_record::<N>(scratch, |record, written, offset| {
                    if !self.query.matches(record, written) {
                        return Ok(());
                    }
                    if refers {
                        // The record to which it refers is not available when it is read again.
                        let mut resolved = Vec::new();
                        text::push(record, &mut line, &mut resolved, &mut Losses::default());
                        self.keep(&resolved, offset, &mut batch);
                    } else {
                        self.keep(written, offset, &mut batch);
                    }
                    Ok(())
                });
                walk.run::<N>(&opened.segment, at, to, buffer, &mut read)
            })?;
            batch.searched.damaged = walk.damaged.saturating_sub(damaged);
            batch.searched.bytes_read = walk.next.saturating_sub(at);
            at = walk.next;
            if !each(&batch) {
                break;
            }
        }
        Ok(())
    }
}

/// Visits every record that begins in a part; `read` returns its end. Returns whether that was all, for otherwise more
/// bytes are needed, and the number of places that are no record.
fn over<N: Notation>(
    part: PieceBytes<'_>,
    read: &mut impl crate::walk::Read,
) -> io::Result<(bool, u64)> {
    let mut walk = LogWalk {
        lost: !part.aligned,
        ..LogWalk::default()
    };
    let used = walk.piece::<N>(part.bytes, part.from, part.limit, part.whole, read)?;
    Ok((used >= part.limit || walk.lost || part.whole, walk.damaged))
}

type Decoded<'a> = Result<(Record<'a>, usize), Fault>;

/// Returns the record around a byte: of its two lines, `hit` is in the first or in the second.
fn around(bytes: &[u8], hit: usize, aligned: bool) -> Option<(usize, Decoded<'_>)> {
    let mut end = hit;
    let mut cut = None;
    for _ in 0..2 {
        let line = memchr::memrchr(b'\n', bytes.get(..end)?);
        let start = match line {
            Some(line) => line.saturating_add(1),
            None if aligned => 0,
            None => break,
        };
        // A byte order mark may stand in front of the first record.
        let start = start.saturating_add(Rfc6873::stray(bytes.get(start..)?));
        let decoded = rfc6873::decode(bytes.get(start..)?);
        match decoded {
            Ok((_, len)) if start.saturating_add(len) > hit => return Some((start, decoded)),
            Err(fault) if fault.kind == FaultKind::Cut => cut = Some((start, decoded)),
            _ => {}
        }
        let Some(line) = line else {
            break;
        };
        end = line;
    }
    cut
}
