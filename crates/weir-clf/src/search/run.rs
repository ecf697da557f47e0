//! Runs a search: reads the planned parts, several threads at a time, and returns records in order.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::forms::{Form, Scratch};
use crate::passed::Passed;
use crate::record::Record;
use crate::search::opened::Opened;
use crate::search::options::SearchOptions;
use crate::search::piece::{Batch, Job, PieceWork, SegmentPiece};
use crate::search::plan::{Plan, plan};
use crate::search::query::Query;
use crate::search::searched::Searched;

/// A log opened for searching: it is searched as it was when it was opened.
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
    segments: Vec<Opened>,
    options: SearchOptions,
    /// Buffers that the last short search left for reuse.
    spare: Mutex<PieceWork>,
    passed: Passed,
}

/// A record that was found.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Found<'a> {
    /// The record.
    pub record: Record<'a>,
    /// The bytes in the log; for the text draft with each `+` replaced by its value.
    pub written: &'a [u8],
    /// The form in which it is written.
    pub form: Form,
    /// The segment's index among those searched.
    pub segment: usize,
    /// The offset in the segment.
    pub offset: u64,
}

/// The number of bytes below which one thread reads.
const ALONE_BYTES: u64 = 2 << 20;

impl<'a> Found<'a> {
    /// Creates a record of the only segment.
    pub(crate) const fn new(
        record: Record<'a>,
        written: &'a [u8],
        form: Form,
        offset: u64,
    ) -> Self {
        Self {
            record,
            written,
            form,
            segment: 0,
            offset,
        }
    }
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
            segments.push(Opened::new(path, &options).map_err(named)?);
        }
        Ok(Self {
            segments,
            options,
            spare: Mutex::default(),
            passed: Passed::default(),
        })
    }

    /// The files.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.segments.iter().map(|opened| opened.segment.path())
    }

    /// The progress of the searches with this searcher, all together.
    pub fn passed(&self) -> &Passed {
        &self.passed
    }

    /// The parts of the log that `query` has to read.
    ///
    /// # Errors
    /// When a sidecar cannot be read.
    pub fn plan(&self, query: &Query) -> io::Result<Plan> {
        let mut segments = Vec::with_capacity(self.segments.len());
        for opened in &self.segments {
            segments.push(plan(query, &opened.segment, opened.sidecar.as_ref())?);
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
        let mut scratch = Scratch::default();
        self.run(query, true, &mut |batch| {
            let mut start = 0;
            let opened = self.segments.get(batch.segment);
            let form = opened.map_or(Form::default(), |opened| opened.form);
            for &(offset, end) in &batch.places {
                let written = batch.bytes.get(start..end).unwrap_or_default();
                start = end;
                // The bytes were read as a record before they were copied.
                if let Ok((record, _)) = form.decode(written, &mut scratch) {
                    each(Found {
                        record,
                        written,
                        form,
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
        let plan = self.plan(query)?;
        let planned = plan.segments.iter().map(|segment| segment.bytes_read);
        self.passed.plan(planned.sum());
        let job = Job::new(&self.segments, query, keep);
        let mut work = std::mem::take(&mut *self.spare());
        let mut sink = Sink::new(each, &self.passed);
        // The part between two parts that have to be read in order is read by several threads.
        let mut pieces = Vec::new();
        for ((place, opened), part) in self.segments.iter().enumerate().zip(&plan.segments) {
            if part.spans.is_empty() {
                continue;
            }
            let Some(spans) = opened.in_order(&part.spans)? else {
                SegmentPiece::push_all(place, &part.spans, &mut pieces);
                continue;
            };
            self.run_pieces(&job, &pieces, &mut work, &mut sink)?;
            pieces.clear();
            for span in spans {
                if sink.is_open {
                    job.in_order(place, span, &mut work, &mut |batch| sink.take(batch))?;
                }
            }
        }
        self.run_pieces(&job, &pieces, &mut work, &mut sink)?;
        *self.spare() = work;
        Ok(sink.searched)
    }

    /// Processes the pieces, in one thread when they are few.
    fn run_pieces(
        &self,
        job: &Job<'_>,
        pieces: &[SegmentPiece],
        work: &mut PieceWork,
        sink: &mut Sink<'_>,
    ) -> io::Result<()> {
        let bytes: u64 = pieces.iter().map(|piece| piece.span.len()).sum();
        // Querying the number of cores takes as long as a lookup.
        let threads = match self.options.threads {
            _ if bytes < ALONE_BYTES => 1,
            0 => std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
            threads => threads,
        };
        if threads > 1 {
            return parallel(job, pieces, threads, sink);
        }
        for piece in pieces {
            if !sink.is_open {
                break;
            }
            sink.take(&job.piece(*piece, work)?);
        }
        Ok(())
    }

    fn spare(&self) -> MutexGuard<'_, PieceWork> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The destination of records, until there are enough.
struct Sink<'a> {
    each: &'a mut dyn FnMut(&Batch) -> ControlFlow<()>,
    searched: Searched,
    is_open: bool,
    passed: &'a Passed,
}

impl<'a> Sink<'a> {
    fn new(each: &'a mut dyn FnMut(&Batch) -> ControlFlow<()>, passed: &'a Passed) -> Self {
        Self {
            each,
            passed,
            searched: Searched::default(),
            is_open: true,
        }
    }

    /// Passes records on; returns whether more are needed.
    fn take(&mut self, batch: &Batch) -> bool {
        self.searched.add(&batch.searched);
        self.passed
            .add(batch.searched.bytes_read, batch.searched.records);
        self.is_open = (self.each)(batch).is_continue();
        self.is_open
    }
}

impl Searched {
    fn add(&mut self, other: &Self) {
        self.records = self.records.saturating_add(other.records);
        self.bytes_read = self.bytes_read.saturating_add(other.bytes_read);
        self.damaged = self.damaged.saturating_add(other.damaged);
    }
}

/// The state that the threads share: the next piece, and the batches that wait for their turn.
#[derive(Debug, Default)]
struct Board {
    next: usize,
    emitted: usize,
    stopped: bool,
    ready: BTreeMap<usize, io::Result<Batch>>,
}

fn parallel(
    job: &Job<'_>,
    pieces: &[SegmentPiece],
    threads: usize,
    sink: &mut Sink<'_>,
) -> io::Result<()> {
    let board = Mutex::new(Board::default());
    let changed = Condvar::new();
    let lock = || board.lock().unwrap_or_else(PoisonError::into_inner);
    // Batches that wait for an earlier one take memory, so a worker waits when it is too far ahead of the output.
    let ahead = threads.saturating_mul(4);
    let worker = || {
        let mut work = PieceWork::default();
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
            let batch = job.piece(*piece, &mut work);
            lock().ready.insert(place, batch);
            changed.notify_all();
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(worker);
        }
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
            let goes_on = match batch {
                Ok(batch) => sink.take(&batch),
                Err(error) => {
                    outcome = Err(error);
                    false
                }
            };
            if !goes_on {
                break;
            }
        }
        lock().stopped = true;
        changed.notify_all();
        outcome
    })
}

/// Returns the segments of several logs, the oldest first: those that [`crate::segments`] finds for each path.
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
