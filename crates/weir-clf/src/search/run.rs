//! Runs a search: reads the planned parts, several threads at a time, and gives records in order.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use memchr::memmem::Finder;

use crate::forms::rfc6873;
use crate::index::sidecar::{Sidecar, Span};
use crate::record::Record;
use crate::search::plan::{Plan, plan};
use crate::search::query::Query;
use crate::segment::Segment;

/// How a search runs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SearchOptions {
    /// Threads; 0, the default, is one for each core.
    pub threads: usize,
    /// Read sidecars. True by default.
    pub index: bool,
    /// Keep sidecars in memory, for many searches. Costs some 2.3 % of the log.
    pub resident: bool,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            threads: 0,
            index: true,
            resident: false,
        }
    }
}

/// A log opened for searching: as it was when it was opened.
///
/// ```
/// use weir_clf::{Condition, Field, Query, Record, SearchOptions, Searcher, Target, Test, Writer,
///     WriterOptions};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("calls.clf");
/// let (writer, _) = Writer::open(&path, WriterOptions::default())?;
/// let mut appender = writer.appender();
/// for call in ["f81@example.com", "f82@example.com"] {
///     let mut record = Record::default();
///     record.set(Field::CallId, call.as_bytes());
///     appender.append(&record)?;
/// }
/// drop(appender);
/// writer.close()?;
/// let call_id = Target::Field(Field::CallId);
/// let query = Query::new().and(Condition::new(call_id, Test::Exact(b"f82@example.com".to_vec())));
/// let searcher = Searcher::open(&[path], SearchOptions::default())?;
/// assert_eq!(searcher.count(&query)?.records, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Searcher {
    segments: Vec<(Segment, Option<Sidecar>)>,
    options: SearchOptions,
    /// A buffer that the last short search left.
    spare: Mutex<Vec<u8>>,
}

/// A record that was found.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Found<'a> {
    /// The record.
    pub record: Record<'a>,
    /// Its bytes in the log.
    pub written: &'a [u8],
    /// The segment's place among those searched.
    pub segment: usize,
    /// Where it begins in the segment.
    pub offset: u64,
}

/// What a search did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Searched {
    /// Records found.
    pub records: u64,
    /// Bytes of log that were read.
    pub bytes_read: u64,
    /// Places in them that are no record.
    pub damaged: u64,
}

/// Bytes of log that a thread reads at a time.
///
/// Measured: what fits the second cache is scanned there while it is still warm from the copy.
const PIECE_BYTES: u64 = 256 << 10;
/// Bytes behind a piece that are read with it, for the record that begins in it and ends behind it.
const BEHIND_BYTES: u64 = 8 << 10;
/// Fewer bytes than these are read by one thread.
const ALONE_BYTES: u64 = 2 << 20;

/// A piece of work: part of a segment.
#[derive(Clone, Copy, Debug)]
struct Piece {
    segment: usize,
    span: Span,
    /// A record begins where the span does, if anything does.
    aligned: bool,
    /// A record ends where the span does, as far as is known.
    closed: bool,
}

/// The records of a piece.
#[derive(Debug, Default)]
struct Batch {
    segment: usize,
    bytes: Vec<u8>,
    /// Offset in the log, and where in `bytes` the record ends.
    places: Vec<(u64, usize)>,
    searched: Searched,
}

impl Searcher {
    /// Opens the files of a log.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn open<P: AsRef<Path>>(paths: &[P], options: SearchOptions) -> io::Result<Self> {
        let mut segments = Vec::with_capacity(paths.len());
        for path in paths {
            let path = path.as_ref();
            let named = |error: io::Error| {
                io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            };
            let segment = Segment::open(path).map_err(named)?;
            // Without its sidecar a log is searched all the same.
            let mut sidecar = if options.index {
                Sidecar::open(&segment).ok().flatten()
            } else {
                None
            };
            if let (true, Some(sidecar)) = (options.resident, &mut sidecar) {
                sidecar.load().map_err(named)?;
            }
            segments.push((segment, sidecar));
        }
        Ok(Self {
            segments,
            options,
            spare: Mutex::default(),
        })
    }

    /// The files.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.segments.iter().map(|(segment, _)| segment.path())
    }

    /// Which parts of the log `query` has to read.
    ///
    /// # Errors
    /// When a sidecar cannot be read.
    pub fn plan(&self, query: &Query) -> io::Result<Plan> {
        let mut segments = Vec::with_capacity(self.segments.len());
        for (segment, sidecar) in &self.segments {
            segments.push(plan(query, segment, sidecar.as_ref())?);
        }
        Ok(Plan { segments })
    }

    /// Counts the records.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn count(&self, query: &Query) -> io::Result<Searched> {
        self.run(query, false, &mut |_| ControlFlow::Continue(()))
    }

    /// Calls `each` with every record, in the order of the log, until it breaks.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn search(
        &self,
        query: &Query,
        each: &mut dyn FnMut(Found<'_>) -> ControlFlow<()>,
    ) -> io::Result<Searched> {
        self.run(query, true, &mut |batch| {
            let mut start = 0;
            for &(offset, end) in &batch.places {
                let written = batch.bytes.get(start..end).unwrap_or_default();
                start = end;
                // It was read as a record before it was kept.
                if let Ok((record, _)) = rfc6873::decode(written) {
                    each(Found {
                        record,
                        written,
                        segment: batch.segment,
                        offset,
                    })?;
                }
            }
            ControlFlow::Continue(())
        })
    }

    fn run(
        &self,
        query: &Query,
        keep: bool,
        each: &mut dyn FnMut(&Batch) -> ControlFlow<()>,
    ) -> io::Result<Searched> {
        let pieces = self.pieces(&self.plan(query)?);
        let needle = query.needle();
        let finder = needle.as_deref().map(Finder::new);
        let job = Job {
            segments: &self.segments,
            query,
            finder: finder.as_ref(),
            keep,
        };
        let bytes: u64 = pieces
            .iter()
            .map(|piece| piece.span.end.saturating_sub(piece.span.start))
            .sum();
        // Asking how many cores there are takes as long as a lookup.
        let threads = match self.options.threads {
            _ if bytes < ALONE_BYTES => 1,
            0 => std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
            threads => threads,
        };
        if threads > 1 {
            return parallel(&job, &pieces, threads, each);
        }
        let mut buffer = std::mem::take(&mut *self.spare());
        let mut searched = Searched::default();
        for piece in &pieces {
            let batch = job.piece(*piece, &mut buffer)?;
            searched.add(&batch.searched);
            if each(&batch).is_break() {
                break;
            }
        }
        *self.spare() = buffer;
        Ok(searched)
    }

    fn spare(&self) -> MutexGuard<'_, Vec<u8>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pieces(&self, plan: &Plan) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for (segment, part) in plan.segments.iter().enumerate() {
            for span in &part.spans {
                let mut start = span.start;
                while start < span.end {
                    let end = span.end.min(start.saturating_add(PIECE_BYTES));
                    let aligned = start == span.start;
                    pieces.push(Piece {
                        segment,
                        span: Span { start, end },
                        aligned,
                        closed: end == span.end,
                    });
                    start = end;
                }
            }
        }
        pieces
    }
}

impl Searched {
    fn add(&mut self, other: &Self) {
        self.records = self.records.saturating_add(other.records);
        self.bytes_read = self.bytes_read.saturating_add(other.bytes_read);
        self.damaged = self.damaged.saturating_add(other.damaged);
    }
}

/// What the threads share: which piece is next, and the batches that wait for their turn.
#[derive(Debug, Default)]
struct Board {
    next: usize,
    emitted: usize,
    stopped: bool,
    ready: BTreeMap<usize, io::Result<Batch>>,
}

fn parallel(
    job: &Job<'_>,
    pieces: &[Piece],
    threads: usize,
    each: &mut dyn FnMut(&Batch) -> ControlFlow<()>,
) -> io::Result<Searched> {
    let board = Mutex::new(Board::default());
    let changed = Condvar::new();
    let lock = || board.lock().unwrap_or_else(PoisonError::into_inner);
    // Batches that wait are memory, so nobody runs far ahead.
    let ahead = threads.saturating_mul(4);
    let worker = || {
        let mut buffer = Vec::new();
        loop {
            let mut state = lock();
            while !state.stopped && state.next >= state.emitted.saturating_add(ahead) {
                state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            let place = state.next;
            let Some(piece) = pieces.get(place).filter(|_| !state.stopped) else {
                return;
            };
            state.next = place.saturating_add(1);
            drop(state);
            let batch = job.piece(*piece, &mut buffer);
            lock().ready.insert(place, batch);
            changed.notify_all();
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(worker);
        }
        let mut searched = Searched::default();
        let mut outcome = Ok(());
        for place in 0..pieces.len() {
            let mut state = lock();
            let batch = loop {
                if let Some(batch) = state.ready.remove(&place) {
                    break batch;
                }
                state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            };
            state.emitted = place.saturating_add(1);
            drop(state);
            changed.notify_all();
            let broke = match batch {
                Ok(batch) => {
                    searched.add(&batch.searched);
                    each(&batch).is_break()
                }
                Err(error) => {
                    outcome = Err(error);
                    true
                }
            };
            if broke {
                break;
            }
        }
        lock().stopped = true;
        changed.notify_all();
        outcome.map(|()| searched)
    })
}

/// What there is to do with each piece.
struct Job<'a> {
    segments: &'a [(Segment, Option<Sidecar>)],
    query: &'a Query,
    finder: Option<&'a Finder<'a>>,
    keep: bool,
}

impl Job<'_> {
    /// Reads a piece and finds the records that begin in it.
    fn piece(&self, piece: Piece, buffer: &mut Vec<u8>) -> io::Result<Batch> {
        let mut batch = Batch {
            segment: piece.segment,
            ..Batch::default()
        };
        let Some((segment, _)) = self.segments.get(piece.segment) else {
            return Ok(batch);
        };
        let Span { start, end } = piece.span;
        // The line feed before the first record shows that one begins.
        let from = start.saturating_sub(u64::from(!piece.aligned));
        let mut behind = if piece.closed { 0 } else { BEHIND_BYTES };
        loop {
            segment.read(from, end.saturating_add(behind), buffer)?;
            let whole = from.saturating_add(buffer.len() as u64) >= segment.len();
            let limit = usize::try_from(end.saturating_sub(from)).unwrap_or(usize::MAX);
            batch.clear();
            let done = match self.finder {
                Some(finder) => self.find(
                    finder,
                    buffer,
                    from,
                    limit,
                    piece.aligned,
                    whole,
                    &mut batch,
                ),
                None => self.walk(buffer, from, limit, piece.aligned, whole, &mut batch),
            };
            if done || behind > rfc6873::RECORD_BYTES_MAX as u64 {
                break;
            }
            behind = behind.saturating_mul(16).max(BEHIND_BYTES);
        }
        batch.searched.bytes_read = end.saturating_sub(start);
        Ok(batch)
    }

    /// Looks at every record. False when more bytes are needed.
    fn walk(
        &self,
        bytes: &[u8],
        from: u64,
        limit: usize,
        aligned: bool,
        whole: bool,
        batch: &mut Batch,
    ) -> bool {
        let mut read = |start: usize, batch: &mut Batch| {
            let rest = bytes.get(start..).unwrap_or_default();
            let (record, len) = rfc6873::decode(rest)?;
            let written = rest.get(..len).unwrap_or_default();
            self.take(&record, written, start, from, batch);
            Ok(start.saturating_add(len))
        };
        each_record(bytes, limit, aligned, whole, batch, &mut read)
    }

    /// Looks at the records that hold the needle. False when more bytes are needed.
    #[expect(
        clippy::too_many_arguments,
        reason = "the same as walk, and the finder"
    )]
    fn find(
        &self,
        finder: &Finder<'_>,
        bytes: &[u8],
        from: u64,
        limit: usize,
        aligned: bool,
        whole: bool,
        batch: &mut Batch,
    ) -> bool {
        let mut at = 0_usize;
        while let Some(found) = bytes.get(at..).and_then(|rest| finder.find(rest)) {
            let hit = at.saturating_add(found);
            // A line is a record's or it is not, however often the needle stands in it.
            let line_end = memchr::memchr(b'\n', bytes.get(hit..).unwrap_or_default());
            at = line_end.map_or(bytes.len(), |end| {
                hit.saturating_add(end).max(hit.saturating_add(1))
            });
            let Some((start, decoded)) = around(bytes, hit, aligned) else {
                continue;
            };
            if start >= limit {
                break;
            }
            match decoded {
                Ok((record, len)) => {
                    let written = bytes
                        .get(start..start.saturating_add(len))
                        .unwrap_or_default();
                    self.take(&record, written, start, from, batch);
                    at = start.saturating_add(len);
                }
                Err(fault) if fault.kind == crate::FaultKind::Cut && !whole => return false,
                Err(_) => {}
            }
        }
        // What holds no needle is looked at for damage, and a record that begins here may hold it behind
        // what was read.
        let mut pass = |start: usize, _: &mut Batch| match rfc6873::hop(bytes, start) {
            Some(end) => Ok(end),
            None => {
                let (_, len) = rfc6873::decode(bytes.get(start..).unwrap_or_default())?;
                Ok(start.saturating_add(len))
            }
        };
        each_record(bytes, limit, aligned, whole, batch, &mut pass)
    }

    fn take(
        &self,
        record: &Record<'_>,
        written: &[u8],
        start: usize,
        from: u64,
        batch: &mut Batch,
    ) {
        if !self.query.matches(record, written) {
            return;
        }
        batch.searched.records = batch.searched.records.saturating_add(1);
        if self.keep {
            batch.bytes.extend_from_slice(written);
            let offset = from.saturating_add(start as u64);
            batch.places.push((offset, batch.bytes.len()));
        }
    }
}

impl Batch {
    fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
        self.searched = Searched::default();
    }
}

/// Goes from record to record, for those that begin before `limit`: `read` says where the one that
/// begins at a place ends. Places that are none are counted. False when more bytes are needed.
fn each_record(
    bytes: &[u8],
    limit: usize,
    aligned: bool,
    whole: bool,
    batch: &mut Batch,
    read: &mut impl FnMut(usize, &mut Batch) -> Result<usize, crate::Fault>,
) -> bool {
    let mut at = if aligned {
        Some(0)
    } else {
        rfc6873::resynchronise(bytes, 0)
    };
    while let Some(start) = at.filter(|&at| at < limit) {
        match read(start, batch) {
            Ok(end) => at = Some(end),
            Err(fault) => {
                if fault.kind == crate::FaultKind::Cut && !whole {
                    return false;
                }
                let rest = bytes.get(start..).unwrap_or_default();
                let ends = rest
                    .iter()
                    .take_while(|byte| matches!(byte, b'\n' | b'\r'))
                    .count();
                if ends > 0 && rest.get(ends).is_none_or(|&byte| byte == b'A') {
                    at = Some(start.saturating_add(ends));
                    continue;
                }
                let damaged = u64::from(!rest.is_empty());
                batch.searched.damaged = batch.searched.damaged.saturating_add(damaged);
                at = rfc6873::resynchronise(bytes, start);
            }
        }
    }
    true
}

type Decoded<'a> = Result<(Record<'a>, usize), crate::Fault>;

/// The record around a byte: of its two lines, `hit` is in the first or in the second.
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
        let decoded = rfc6873::decode(bytes.get(start..)?);
        match decoded {
            Ok((_, len)) if start.saturating_add(len) > hit => return Some((start, decoded)),
            Err(fault) if fault.kind == crate::FaultKind::Cut => cut = Some((start, decoded)),
            _ => {}
        }
        let Some(line) = line else {
            break;
        };
        end = line;
    }
    cut
}

/// The segments of several logs, the oldest first: what [`crate::segments`] finds for each path.
///
/// # Errors
/// When a folder cannot be listed, or nothing is at a path.
pub fn all_segments(paths: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in paths {
        let here = crate::segment::segments(path)?;
        if here.is_empty() {
            let text = format!("{}: no such log", path.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, text));
        }
        found.extend(here);
    }
    Ok(found)
}
