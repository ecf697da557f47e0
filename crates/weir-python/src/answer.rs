//! A statement that was planned, and its rows: read once, batch by batch as Python pulls them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::array::{RecordBatch, RecordBatchReader};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ffi::FFI_ArrowSchema;
use arrow::ffi_stream::FFI_ArrowArrayStream;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use weir_engine::{Engine, Planned};
use weir_tables::Totals;

use crate::batch::{Batch, SCHEMA, STREAM};
use crate::error::{ErrorClass, failure, of_engine};
use crate::runtime::wait;

/// A damaged place: path, message and hint.
type DamagedPlace = (String, String, Option<String>);

/// The report of a statement, beside its rows.
#[derive(Debug, Default)]
struct Report {
    faults: Vec<DamagedPlace>,
    notes: Vec<String>,
    totals: Totals,
    is_whole: bool,
}

/// The state that an answer and the stream that reads it share.
struct AnswerState {
    engine: Arc<Engine>,
    /// The counts of the engine before this answer.
    before: Totals,
    report: Mutex<Report>,
    /// The exception that ended the stream, where a foreign library reads it and passes on only a text.
    failure: Mutex<Option<PyErr>>,
    /// The answer was closed, and reading it ends.
    is_closed: AtomicBool,
}

impl AnswerState {
    /// The state of an answer that starts now.
    fn new(engine: &Arc<Engine>) -> Self {
        Self {
            before: engine.scan_report().counters().totals(),
            engine: Arc::clone(engine),
            report: Mutex::default(),
            failure: Mutex::default(),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Moves the engine's new faults, notes and counts into the report.
    fn take_up(&self) -> MutexGuard<'_, Report> {
        let scan_report = self.engine.scan_report();
        let mut report = lock(&self.report);
        let now = scan_report.counters().totals();
        report.totals.records = now.records.saturating_sub(self.before.records);
        report.totals.bytes = now.bytes.saturating_sub(self.before.bytes);
        report.totals.stopped = now.stopped.saturating_sub(self.before.stopped);
        report.totals.unknown_link = now.unknown_link.saturating_sub(self.before.unknown_link);
        report.totals.times_beyond = now.times_beyond.saturating_sub(self.before.times_beyond);
        report.totals.late = now.late.saturating_sub(self.before.late);
        let errors = scan_report.take_errors();
        report.faults.extend(errors.iter().map(|error| {
            let path = error.path.clone();
            (path, error.to_string(), error.hint())
        }));
        report.notes.extend(scan_report.take_notes());
        report
    }
}

/// The rest of an answer. One reader at a time has it.
struct RowReader {
    process: u32,
    shared: Arc<AnswerState>,
    planned: Option<Planned>,
    answer: Option<weir_engine::Answer>,
    /// Read already, for a look at the first rows.
    ahead: VecDeque<RecordBatch>,
    is_over: bool,
}

impl Drop for RowReader {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // Dropping these would wake threads that only the parent process has.
            std::mem::forget(self.planned.take());
            std::mem::forget(self.answer.take());
        }
    }
}

impl RowReader {
    /// The next batch, from the engine.
    async fn next(mut self) -> (Self, Result<Option<RecordBatch>, weir_engine::Error>) {
        if let Some(planned) = self.planned.take() {
            match self.shared.engine.start(planned) {
                Ok(answer) => self.answer = Some(answer),
                Err(error) => return (self, Err(error)),
            }
        }
        let next = match &mut self.answer {
            Some(answer) => answer.next().await,
            None => Ok(None),
        };
        (self, next)
    }

    /// Reads a batch: the reader comes back unless it was interrupted.
    fn pull(self, py: Python<'_>) -> (Option<Self>, PyResult<Option<RecordBatch>>) {
        if self.process != std::process::id() {
            let message = "this result was started in another process, whose threads do not exist in this one";
            let error = failure(
                ErrorClass::Run,
                message,
                Some("run the query again in this process"),
            );
            return (None, Err(error));
        }
        if self.is_over {
            return (Some(self), Ok(None));
        }
        let shared = Arc::clone(&self.shared);
        let (mut reader, outcome) = match wait(
            py,
            &|| shared.is_closed.load(Ordering::Relaxed),
            self.next(),
        ) {
            Ok((reader, outcome)) => (reader, outcome),
            Err(error) => return (None, Err(error)),
        };
        match outcome {
            Ok(Some(batch)) => (Some(reader), Ok(Some(batch))),
            Ok(None) => {
                reader.is_over = true;
                reader.answer = None;
                let reported = report(py, &shared);
                (Some(reader), reported.map(|()| None))
            }
            Err(error) => {
                drop(shared.take_up());
                (None, Err(of_engine(&error)))
            }
        }
    }
}

/// Reports at the end of an answer: damage as warnings, the rest to the log. Where there is nothing to report, no module is read for it.
fn report(py: Python<'_>, shared: &AnswerState) -> PyResult<()> {
    let report = {
        let mut report = shared.take_up();
        report.is_whole = true;
        parts(&report)
    };
    let (faults, notes, _, _, stopped, unknown_link, _) = &report;
    let is_silent = faults.is_empty() && notes.is_empty() && *stopped == 0 && *unknown_link == 0;
    if is_silent {
        return Ok(());
    }
    // Python may run anything here, which may request this report.
    py.import("weir._damage")?
        .getattr("_ended")?
        .call1(report)
        .map(|_| ())
}

/// Reports at the end of each reading of a table what was found in it; `keep` lives as long as the table. The end comes
/// on a thread of the query, while the reading thread has released the interpreter.
pub(crate) fn ended(engine: &Arc<Engine>, keep: Py<PyAny>) -> weir_engine::Ended {
    let engine = Arc::clone(engine);
    let reading = Mutex::new(AnswerState::new(&engine));
    Arc::new(move || {
        let _ = &keep;
        let ended = std::mem::replace(&mut *lock(&reading), AnswerState::new(&engine));
        let is_silent = {
            let report = ended.take_up();
            let totals = &report.totals;
            let found = totals.stopped + totals.unknown_link + totals.times_beyond + totals.late;
            report.faults.is_empty() && report.notes.is_empty() && found == 0
        };
        if is_silent {
            return Ok(());
        }
        let reported =
            Python::try_attach(|py| report(py, &ended).map_err(|error| error.to_string()));
        reported.unwrap_or(Ok(()))
    })
}

/// A report as Python gets it: damage, notes, records, bytes, stopped, unknown link types, whether all was read.
type ReportParts = (Vec<DamagedPlace>, Vec<String>, u64, u64, u64, u64, bool);

fn parts(report: &Report) -> ReportParts {
    let mut faults = report.faults.clone();
    // Files are read in parallel; the order of their reports must not differ from run to run.
    faults.sort_by(|one, other| one.0.cmp(&other.0));
    let mut notes = report.notes.clone();
    notes.extend(report.totals.notes_of_times());
    (
        faults,
        notes,
        report.totals.records,
        report.totals.bytes,
        report.totals.stopped,
        report.totals.unknown_link,
        report.is_whole,
    )
}

/// A statement that was planned. Its rows are read once.
#[pyclass(module = "weir._weir", frozen)]
pub(crate) struct Answer {
    schema: SchemaRef,
    shared: Arc<AnswerState>,
    reader: Mutex<Option<RowReader>>,
}

impl Answer {
    pub(crate) fn new(engine: &Arc<Engine>, planned: Planned) -> Self {
        let shared = Arc::new(AnswerState::new(engine));
        Self {
            schema: planned.schema(),
            reader: Mutex::new(Some(RowReader {
                process: std::process::id(),
                shared: Arc::clone(&shared),
                planned: Some(planned),
                answer: None,
                ahead: VecDeque::new(),
                is_over: false,
            })),
            shared,
        }
    }

    /// Takes the reader, since two threads must not read the same answer.
    fn take(&self) -> PyResult<RowReader> {
        let taken = lock(&self.reader).take();
        taken.ok_or_else(|| {
            let message = "the rows of this result were read already, or are being read";
            failure(
                ErrorClass::Run,
                message,
                Some("run the query again, or keep what was read: table = result.arrow()"),
            )
        })
    }

    /// The next batch, with the reader put back.
    fn pull(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        let mut reader = self.take()?;
        if let Some(batch) = reader.ahead.pop_front() {
            *lock(&self.reader) = Some(reader);
            return Ok(Some(batch));
        }
        let (reader, outcome) = reader.pull(py);
        // The reader is not put back at the end: a second pull fails, where no rows would look like an empty answer.
        if !matches!(outcome, Ok(None)) {
            *lock(&self.reader) = reader;
        }
        outcome
    }
}

#[pymethods]
impl Answer {
    /// The names and types of the columns.
    #[getter]
    fn columns(&self) -> Vec<(String, String)> {
        let fields = self.schema.fields().iter();
        fields
            .map(|field| (field.name().clone(), field.data_type().to_string()))
            .collect()
    }

    /// The columns as a capsule of Arrow's C data interface.
    fn schema_capsule<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref())
            .map_err(|error| failure(ErrorClass::Run, &error.to_string(), None))?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }

    /// The rows as a capsule of Arrow's C stream interface. `foreign` says that another library reads it: Python gets
    /// to know of a signal then only when it is raised once more.
    fn stream<'py>(&self, py: Python<'py>, foreign: bool) -> PyResult<Bound<'py, PyCapsule>> {
        let stream = ArrowStream {
            schema: Arc::clone(&self.schema),
            shared: Arc::clone(&self.shared),
            reader: Some(self.take()?),
            foreign,
        };
        let stream = FFI_ArrowArrayStream::new(Box::new(stream));
        PyCapsule::new_with_value(py, stream, STREAM)
    }

    /// The next batch; `None` at the end.
    fn next_batch(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        Ok(self.pull(py)?.map(Batch::new))
    }

    /// The batches that have the first `rows` rows; they stay to be read.
    fn peek(&self, py: Python<'_>, rows: usize) -> PyResult<Vec<Batch>> {
        let mut reader = self.take()?;
        let count = |ahead: &VecDeque<RecordBatch>| -> usize {
            ahead.iter().map(RecordBatch::num_rows).sum()
        };
        while count(&reader.ahead) < rows {
            let ahead = std::mem::take(&mut reader.ahead);
            let (rest, outcome) = reader.pull(py);
            let Some(mut rest) = rest else {
                return outcome.map(|_| Vec::new());
            };
            rest.ahead = ahead;
            reader = rest;
            match outcome {
                Ok(Some(batch)) => reader.ahead.push_back(batch),
                Ok(None) => break,
                Err(error) => {
                    *lock(&self.reader) = Some(reader);
                    return Err(error);
                }
            }
        }
        let mut wanted = rows;
        let mut first = Vec::new();
        for batch in &reader.ahead {
            let part = batch.slice(0, batch.num_rows().min(wanted));
            wanted -= part.num_rows();
            first.push(Batch::new(part));
            if wanted == 0 {
                break;
            }
        }
        *lock(&self.reader) = Some(reader);
        Ok(first)
    }

    /// True while the rows are there to be read.
    #[getter]
    fn is_unread(&self) -> bool {
        lock(&self.reader).is_some()
    }

    /// Drops the remaining rows and stops the reader, also in another thread.
    fn close(&self) {
        self.shared.is_closed.store(true, Ordering::Relaxed);
        // The reader is dropped after the lock is released, since dropping may take a while.
        let reader = lock(&self.reader).take();
        drop(reader);
    }

    /// The damage and the counts so far.
    fn damage(&self) -> ReportParts {
        parts(&self.shared.take_up())
    }

    /// Why the stream ended before its end, once.
    fn take_failure(&self) -> Option<PyErr> {
        lock(&self.shared.failure).take()
    }
}

/// The rows as Arrow's C stream interface gives them.
struct ArrowStream {
    schema: SchemaRef,
    shared: Arc<AnswerState>,
    reader: Option<RowReader>,
    foreign: bool,
}

impl ArrowStream {
    fn pull(&mut self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        let Some(mut reader) = self.reader.take() else {
            return Ok(None);
        };
        if let Some(batch) = reader.ahead.pop_front() {
            self.reader = Some(reader);
            return Ok(Some(batch));
        }
        let (reader, outcome) = reader.pull(py);
        self.reader = reader;
        outcome
    }

    /// Keeps the exception for Python to raise ([`Answer::take_failure`]), and gives its text to the library that reads.
    fn failed(&mut self, py: Python<'_>, error: PyErr) -> ArrowError {
        self.reader = None;
        let text = error.value(py).to_string();
        if self.foreign && error.is_instance_of::<PyKeyboardInterrupt>(py) {
            // The interpreter raises the interrupt when the library has returned; if that fails, the error's own text remains.
            let _ = py
                .import("_thread")
                .and_then(|module| module.call_method0("interrupt_main"));
        }
        let text = match text.is_empty() {
            true => "interrupted".to_owned(),
            false => text,
        };
        *lock(&self.shared.failure) = Some(error);
        ArrowError::ExternalError(text.into())
    }
}

impl Iterator for ArrowStream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let pulled = Python::try_attach(|py| {
            self.pull(py)
                .map_err(|error| self.failed(py, error))
                .transpose()
        });
        let gone = || ArrowError::ExternalError("the Python interpreter has ended".into());
        pulled.unwrap_or_else(|| Some(Err(gone())))
    }
}

impl RecordBatchReader for ArrowStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
