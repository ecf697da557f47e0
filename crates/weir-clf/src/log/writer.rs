//! Many threads make records, and one thread writes them.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::forms::{Encoder, Scratch};
use crate::index::mark::Mark;
use crate::log::file::{Fsync, Live, Repair, WriterOptions, compress_segment};
use crate::losses::Losses;
use crate::record::Record;

/// Writes a log in one of the forms.
///
/// ```
/// use weir_clf::{Field, Record, Writer, WriterOptions};
///
/// let folder = tempfile::tempdir()?;
/// let (writer, _) = Writer::open(&folder.path().join("calls.clf"), WriterOptions::default())?;
/// let mut appender = writer.appender();
/// let mut record = Record::default();
/// record.set(Field::CallId, b"f81-d4@example.com");
/// appender.append(&record)?;
/// appender.commit()?;
/// drop(appender);
/// assert_eq!(writer.close()?.records, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Writer {
    shared: Arc<WriterState>,
    thread: Option<JoinHandle<Summary>>,
}

/// A thread's handle to a [`Writer`]. Records of one appender keep their order.
#[derive(Debug)]
pub struct Appender {
    shared: Arc<WriterState>,
    encoder: Encoder,
    /// The buffers for marks of records that are read back.
    scratch: Scratch,
    marks: Vec<Mark>,
    records: u64,
    /// The number of bytes with which a chunk is full.
    chunk_bytes: usize,
    /// The number of the last chunk that was passed to the writing thread.
    ticket: u64,
}

/// The totals of a [`Writer`].
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Summary {
    /// The number of written records.
    pub records: u64,
    /// The number of their bytes.
    pub bytes: u64,
    /// The number of sealed segments, without the last one.
    pub sealed: u64,
    /// The counts of values that the form could not represent.
    pub losses: Losses,
    /// The reasons why there is no sidecar, or a sealed segment is not compressed: the log itself is whole.
    pub warnings: Vec<String>,
}

/// Records could not be written. Records that were acknowledged before are in the log; no partial record is.
#[derive(Clone, Debug)]
pub struct WriteError {
    path: PathBuf,
    source: Arc<io::Error>,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.source)
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.source)
    }
}

#[derive(Debug)]
struct WriterState {
    path: PathBuf,
    options: WriterOptions,
    queue: Mutex<Queue>,
    /// The signal to the writing thread that there is work.
    work: Condvar,
    /// The signal to waiting threads that there is room, or records were written.
    done: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    chunks: VecDeque<RecordBatch>,
    bytes: usize,
    /// The number of chunks that were passed to the writing thread, and of those that are written as the policy requires.
    handed: u64,
    committed: u64,
    /// Buffers that are free for reuse.
    spare: Vec<(Vec<u8>, Vec<Mark>)>,
    losses: Losses,
    rotate: bool,
    reopen: bool,
    closed: bool,
    error: Option<WriteError>,
}

#[derive(Debug)]
struct RecordBatch {
    bytes: Vec<u8>,
    marks: Vec<Mark>,
    records: u64,
}

/// The number of bytes that an appender collects before it passes them on. Measured: passing on 64 KiB costs the thread
/// that formats 6 % more than 128 KiB, as it wakes the one that writes twice as often, and 256 KiB costs it no less. A
/// write that begins within a page takes the system 0.87 of the time with 512 KiB, and 0.86 with 1 MiB, of what it
/// takes with 128 KiB: 150 MiB into a new file of ext4 takes 49.4, 45.9, 42.9 and 42.1 ms with 128, 256, 512 and 1,024.
const CHUNK_BYTES: usize = 512 << 10;
/// The number of bytes as above of a log of small segments, each of which begins and ends with a chunk.
const CHUNK_BYTES_MIN: usize = 128 << 10;
/// The number of chunks in one write, at most.
const CHUNKS_MAX: usize = 64;

/// The number of bytes of a chunk: a sixty-fourth of the largest segment within the bounds above, so that segments are
/// nearly full.
fn chunk_bytes(options: &WriterOptions) -> usize {
    let share = options.rotate_bytes.map_or(u64::MAX, |bytes| bytes / 64);
    usize::try_from(share)
        .unwrap_or(usize::MAX)
        .clamp(CHUNK_BYTES_MIN, CHUNK_BYTES)
}

impl WriterState {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Writer {
    /// Opens the log at `path`, repairs its end and its sidecar, and starts the thread that writes.
    ///
    /// When it cannot be opened or created, or another writer has it ([`io::ErrorKind::ResourceBusy`]).
    pub fn open(path: &Path, options: WriterOptions) -> io::Result<(Self, Repair)> {
        let (live, repair) = Live::open(path, &options)?;
        let shared = Arc::new(WriterState {
            path: path.to_owned(),
            options,
            queue: Mutex::default(),
            work: Condvar::new(),
            done: Condvar::new(),
        });
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("weir-clf writer".to_owned())
            .spawn(move || Committer::new(for_thread, live).run())?;
        Ok((
            Self {
                shared,
                thread: Some(thread),
            },
            repair,
        ))
    }

    /// Creates an appender for one thread.
    #[must_use]
    pub fn appender(&self) -> Appender {
        Appender {
            shared: Arc::clone(&self.shared),
            encoder: Encoder::new(self.shared.options.form),
            scratch: Scratch::default(),
            marks: Vec::new(),
            records: 0,
            chunk_bytes: chunk_bytes(&self.shared.options),
            ticket: 0,
        }
    }

    /// Seals the live segment and begins a new one.
    pub fn rotate(&self) {
        self.shared.lock().rotate = true;
        self.shared.work.notify_one();
    }

    /// Begins a new log at the path after another program, such as `logrotate`, has moved the old one away.
    pub fn reopen(&self) {
        self.shared.lock().reopen = true;
        self.shared.work.notify_one();
    }

    /// Writes the waiting records, seals the log and returns the totals. Appenders have to be dropped or committed
    /// before: their records are not known here.
    ///
    /// # Errors
    /// When records could not be written.
    pub fn close(mut self) -> Result<Summary, WriteError> {
        self.shared.lock().closed = true;
        self.shared.work.notify_one();
        let summary = self.thread.take().and_then(|thread| thread.join().ok());
        let queue = self.shared.lock();
        match (&queue.error, summary) {
            (None, Some(mut summary)) => {
                summary.losses = queue.losses;
                Ok(summary)
            }
            (Some(error), _) => Err(error.clone()),
            (None, None) => Err(WriteError {
                path: self.shared.path.clone(),
                source: Arc::new(io::Error::other("the thread that writes has ended")),
            }),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.work.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Appender {
    /// Formats a record; hands full chunks to the thread that writes, and waits when too much is waiting there.
    ///
    /// # Errors
    /// When records could not be written.
    #[inline]
    pub fn append(&mut self, record: &Record<'_>) -> Result<(), WriteError> {
        let (len, changed) = self.encoder.write(record);
        self.records = self.records.saturating_add(1);
        if self.shared.options.index {
            let known = if changed {
                None
            } else {
                self.encoder.mark(record, len)
            };
            let mark = known
                .or_else(|| self.mark_of_written(len))
                .unwrap_or_else(|| Mark::of(record, len));
            self.marks.push(mark);
        }
        if self.encoder.bytes().len() >= self.chunk_bytes {
            self.submit()?;
        }
        Ok(())
    }

    /// Returns the mark of the record as written, because searches compare the written values.
    #[inline(never)]
    fn mark_of_written(&mut self, len: usize) -> Option<Mark> {
        let begin = self.encoder.bytes().len().checked_sub(len)?;
        let written = self.encoder.bytes().get(begin..)?;
        let form = self.shared.options.form;
        let (record, len) = form.decode(written, &mut self.scratch).ok()?;
        Some(Mark::of(&record, len))
    }

    /// The counts of values that the form could not represent so far.
    #[must_use]
    pub const fn losses(&self) -> Losses {
        self.encoder.losses()
    }

    /// Passes the formatted records to the writing thread.
    ///
    /// # Errors
    /// When records could not be written.
    pub fn submit(&mut self) -> Result<(), WriteError> {
        if self.encoder.bytes().is_empty() {
            return Ok(());
        }
        let mut queue = self.shared.lock();
        while queue.error.is_none() && queue.bytes > self.shared.options.queue_bytes_max {
            queue = self
                .shared
                .done
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(error) = &queue.error {
            return Err(error.clone());
        }
        // There is room for the record with which a chunk is full.
        let room = self.chunk_bytes.saturating_add(self.chunk_bytes / 16);
        let (spare, marks) = queue
            .spare
            .pop()
            .unwrap_or_else(|| (vec![0; room], Vec::new()));
        let bytes = self.encoder.swap(spare);
        let marks = std::mem::replace(&mut self.marks, marks);
        queue.bytes = queue.bytes.saturating_add(bytes.len());
        let records = std::mem::take(&mut self.records);
        queue.chunks.push_back(RecordBatch {
            bytes,
            marks,
            records,
        });
        queue.handed = queue.handed.saturating_add(1);
        self.ticket = queue.handed;
        drop(queue);
        self.shared.work.notify_one();
        Ok(())
    }

    /// Passes on the formatted records and waits until all of this appender are written, and on the disk if the policy
    /// is [`Fsync::Always`]. Appenders that wait together share one write and one sync.
    ///
    /// # Errors
    /// When records could not be written.
    pub fn commit(&mut self) -> Result<(), WriteError> {
        self.submit()?;
        let mut queue = self.shared.lock();
        while queue.error.is_none() && queue.committed < self.ticket {
            queue = self
                .shared
                .done
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
        match &queue.error {
            Some(error) if queue.committed < self.ticket => Err(error.clone()),
            _ => Ok(()),
        }
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        // A drop cannot report an error; `commit` does.
        let _ = self.submit();
        self.shared.lock().losses.add(&self.encoder.losses());
    }
}

/// The thread that writes.
struct Committer {
    shared: Arc<WriterState>,
    live: Live,
    summary: Summary,
    synced: Instant,
    dirty: bool,
    compressing: Option<JoinHandle<io::Result<()>>>,
}

impl Committer {
    fn new(shared: Arc<WriterState>, live: Live) -> Self {
        let summary = Summary::default();
        Self {
            shared,
            live,
            summary,
            synced: Instant::now(),
            dirty: false,
            compressing: None,
        }
    }

    fn run(mut self) -> Summary {
        let mut batch = Vec::new();
        loop {
            let (rotate, reopen, closed) = self.next(&mut batch);
            let outcome = self.write(&mut batch, rotate, reopen);
            let mut queue = self.shared.lock();
            match outcome {
                Ok(()) => queue.committed = queue.committed.saturating_add(batch.len() as u64),
                Err(error) => {
                    let source = Arc::new(error);
                    queue.error = Some(WriteError {
                        path: self.shared.path.clone(),
                        source,
                    });
                }
            }
            for mut chunk in batch.drain(..) {
                queue.bytes = queue.bytes.saturating_sub(chunk.bytes.len());
                if queue.spare.len() < CHUNKS_MAX {
                    chunk.marks.clear();
                    queue.spare.push((chunk.bytes, chunk.marks));
                }
            }
            let ended = queue.error.is_some() || (closed && queue.chunks.is_empty());
            drop(queue);
            self.shared.done.notify_all();
            if ended {
                break;
            }
        }
        self.finish()
    }

    /// Waits for work.
    fn next(&self, batch: &mut Vec<RecordBatch>) -> (bool, bool, bool) {
        let mut queue = self.shared.lock();
        while queue.chunks.is_empty() && !queue.closed && !queue.rotate && !queue.reopen {
            let Some(most) = self.patience() else {
                queue = self
                    .shared
                    .work
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let waited = self.shared.work.wait_timeout(queue, most);
            let (after, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            queue = after;
            if timeout.timed_out() {
                break;
            }
        }
        let count = queue.chunks.len().min(CHUNKS_MAX);
        batch.extend(queue.chunks.drain(..count));
        let commands = (queue.rotate, queue.reopen, queue.closed);
        (queue.rotate, queue.reopen) = (false, false);
        commands
    }

    /// The maximum time to wait.
    fn patience(&self) -> Option<Duration> {
        let sync = match self.shared.options.fsync {
            Fsync::Every(every) if self.dirty => Some(every.saturating_sub(self.synced.elapsed())),
            _ => None,
        };
        let rotation = self
            .shared
            .options
            .rotate_every
            .filter(|_| self.live.len > 0);
        let shortest = Duration::from_millis(10);
        match (sync, rotation) {
            (Some(one), Some(other)) => Some(one.min(other).max(shortest)),
            (one, other) => one.or(other).map(|wait| wait.max(shortest)),
        }
    }

    fn write(&mut self, batch: &mut [RecordBatch], rotate: bool, reopen: bool) -> io::Result<()> {
        if reopen {
            self.live.reopen(&self.shared.options)?;
        }
        if rotate && self.live.len > 0 {
            self.rotate()?;
        }
        let mut rest = &*batch;
        while !rest.is_empty() {
            let first = rest.first().map_or(0, |chunk| chunk.bytes.len());
            if self.live.is_due(first, &self.shared.options) {
                self.rotate()?;
            }
            // The number of bytes for which the segment has room.
            let room = self.shared.options.rotate_bytes.unwrap_or(u64::MAX);
            let mut len = self.live.len;
            let fit = rest.iter().take_while(|chunk| {
                len = len.saturating_add(chunk.bytes.len() as u64);
                len <= room
            });
            let (now, later) = rest.split_at(fit.count().max(1));
            self.write_chunks(now)?;
            rest = later;
        }
        if batch.is_empty() && self.live.is_due(0, &self.shared.options) {
            self.rotate()?;
        }
        self.sync()
    }

    fn write_chunks(&mut self, chunks: &[RecordBatch]) -> io::Result<()> {
        let mut offset = self.live.len;
        let bytes: Vec<&[u8]> = chunks.iter().map(|chunk| &*chunk.bytes).collect();
        self.live.write(&bytes)?;
        self.dirty = true;
        for chunk in chunks {
            self.live.marks(&chunk.marks, &chunk.bytes, offset);
            offset = offset.saturating_add(chunk.bytes.len() as u64);
            self.summary.records = self.summary.records.saturating_add(chunk.records);
            self.summary.bytes = self.summary.bytes.saturating_add(chunk.bytes.len() as u64);
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let due = match self.shared.options.fsync {
            Fsync::Never => false,
            Fsync::Always => self.dirty,
            Fsync::Every(every) => self.dirty && self.synced.elapsed() >= every,
        };
        if due {
            self.live.sync()?;
            self.synced = Instant::now();
            self.dirty = false;
        }
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        let sealed = self.live.rotate(&self.shared.options)?;
        self.summary.sealed = self.summary.sealed.saturating_add(1);
        if let Some(level) = self.shared.options.compress {
            // Segments are compressed one at a time, so that a writer does not take the whole machine.
            self.join();
            self.compressing = std::thread::Builder::new()
                .name("weir-clf compressor".to_owned())
                .spawn(move || compress_segment(&sealed, level))
                .ok();
        }
        Ok(())
    }

    fn join(&mut self) {
        if let Some(thread) = self.compressing.take()
            && let Ok(Err(error)) = thread.join()
        {
            self.summary
                .warnings
                .push(format!("a sealed segment could not be compressed: {error}"));
        }
    }

    fn finish(mut self) -> Summary {
        self.join();
        let mut summary = self.summary;
        match self.live.close() {
            Ok(None) => {}
            Ok(Some(error)) | Err(error) => {
                summary
                    .warnings
                    .push(format!("the sidecar could not be written: {error}"));
            }
        }
        summary
    }
}
