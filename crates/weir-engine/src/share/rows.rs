//! A reading of which someone wants rows.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::array::RecordBatch;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_plan::metrics::RecordOutput;
use weir_tables::{Counters, SharedScan, Source, WantedRows};

use super::Places;
use crate::fuse::{Kept, Question, Work};
use crate::ledger::Ledger;
use crate::scan::{Reading, Steps, failed};

/// What all want, and what waits for them.
pub(crate) struct RowsTable {
    reading: Reading,
    questions: Vec<Question>,
    rows: Vec<WantedRows>,
    /// First those who want groups, then those who want rows.
    places: Places,
    state: Mutex<State>,
}

enum State {
    Unread,
    Reading(Box<Under>),
    /// The groups, each until it is taken, and the last rows.
    Read(Vec<Option<Kept>>, Vec<Queue>),
    /// What went wrong, for whoever asks.
    Failed(String),
}

/// A reading that is under way.
struct Under {
    scan: SharedScan,
    queues: Vec<Queue>,
    ledger: Arc<Ledger>,
    context: Arc<TaskContext>,
    /// For the rows that wait.
    reservation: MemoryReservation,
}

/// Rows that wait for one.
#[derive(Default)]
struct Queue {
    batches: VecDeque<RecordBatch>,
    bytes: usize,
    /// Rows that were handed over.
    given: usize,
    turn: Turn,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Turn {
    #[default]
    Waits,
    /// Has all that it wants, or will when it takes what waits.
    Served,
    /// Wants no more.
    Gone,
    /// There was no more room.
    Alone,
}

/// What someone who wants rows gets.
enum Next {
    Batch(RecordBatch),
    End,
    /// From here on it reads alone, behind so many rows.
    Alone(usize),
}

/// What whoever comes first reads with.
struct Reader<'r> {
    ledger: &'r Arc<Ledger>,
    counters: &'r Arc<Counters>,
    context: &'r Arc<TaskContext>,
}

impl RowsTable {
    pub(super) fn new(reading: Reading, questions: Vec<Question>, rows: Vec<WantedRows>) -> Self {
        Self {
            reading,
            places: Places::new(questions.len() + rows.len()),
            questions,
            rows,
            state: Mutex::new(State::Unread),
        }
    }

    pub(super) fn sit_for_groups(&self, number: usize, ledger: &Ledger) -> Result<bool> {
        self.places.sit(number, &self.reading.sources, ledger)
    }

    pub(super) fn described(&self) -> String {
        self.places.described()
    }

    /// The groups of one: it reads on until the end.
    pub(super) fn groups(&self, number: usize, work: &Work) -> Result<Option<Kept>> {
        let counters = Arc::new(Counters::default());
        let reader = Reader {
            ledger: &work.ledger,
            counters: &counters,
            context: &work.context,
        };
        loop {
            let mut state = self.lock();
            match &mut *state {
                State::Read(groups, _) => {
                    work.metrics.update(&counters);
                    return Ok(groups.get_mut(number).and_then(Option::take));
                }
                _ if work.is_cancelled() => return Ok(None),
                _ => self.step(&mut state, &reader)?,
            }
        }
    }

    /// The next rows of one: those that wait for it, or else it reads on.
    fn next(&self, number: usize, reader: &Reader<'_>) -> Result<Next> {
        loop {
            let mut state = self.lock();
            let (queues, is_end) = match &mut *state {
                State::Reading(under) => (Some(&mut under.queues), false),
                State::Read(_, queues) => (Some(queues), true),
                State::Unread | State::Failed(_) => (None, false),
            };
            if let Some(queue) = queues.and_then(|queues| queues.get_mut(number)) {
                if let Some(batch) = queue.take() {
                    return Ok(Next::Batch(batch));
                }
                match queue.turn {
                    Turn::Alone => return Ok(Next::Alone(queue.given)),
                    Turn::Served => return Ok(Next::End),
                    Turn::Waits | Turn::Gone => {}
                }
            }
            if is_end {
                return Ok(Next::End);
            }
            self.step(&mut state, reader)?;
        }
    }

    /// One who wanted rows wants no more.
    fn leave(&self, number: usize) {
        if let State::Reading(under) = &mut *self.lock() {
            under.end_turn(number, Turn::Gone);
        }
    }

    /// Reads on.
    fn step(&self, state: &mut State, reader: &Reader<'_>) -> Result<()> {
        let outcome = match state {
            State::Unread => self.begin(reader).map(|under| {
                *state = State::Reading(Box::new(under));
            }),
            State::Reading(under) => under.step().and_then(|more| {
                if !more && let State::Reading(under) = std::mem::replace(state, State::Unread) {
                    *state = under.end()?;
                }
                Ok(())
            }),
            State::Read(..) => Ok(()),
            State::Failed(message) => return Err(DataFusionError::Execution(message.clone())),
        };
        if let Err(error) = &outcome {
            let message = match error {
                DataFusionError::Execution(message) => message.clone(),
                error => error.to_string(),
            };
            *state = State::Failed(message);
        }
        outcome
    }

    fn begin(&self, reader: &Reader<'_>) -> Result<Under> {
        let groups = self.questions.iter().map(Question::aggregate);
        let mut options = self.reading.options();
        options.batch_rows = reader.context.session_config().batch_size();
        let sources = self.reading.sources.clone();
        let scan = SharedScan::new(groups.collect::<Result<_>>()?, &self.rows, sources, options)
            .with_counters(Arc::clone(&reader.ledger.counters))
            .with_counters(Arc::clone(reader.counters));
        let consumer = MemoryConsumer::new("SharedScan");
        Ok(Under {
            scan,
            queues: self.rows.iter().map(|_| Queue::default()).collect(),
            ledger: Arc::clone(reader.ledger),
            context: Arc::clone(reader.context),
            reservation: consumer.register(reader.context.memory_pool()),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Under {
    /// Reads some records and puts the rows where they are waited for; false at the end.
    fn step(&mut self) -> Result<bool> {
        let more = self.scan.step();
        self.ledger.add_errors(self.scan.take_errors());
        let more = more.map_err(failed)?;
        for number in 0..self.queues.len() {
            let has_enough = self.scan.has_enough(number);
            if let Some(batch) = self.scan.take_batch(number, !more).map_err(failed)? {
                self.put(number, batch);
            }
            if has_enough {
                self.scan.leave(number);
                if let Some(queue) = self.queues.get_mut(number)
                    && queue.turn == Turn::Waits
                {
                    queue.turn = Turn::Served;
                }
            }
        }
        Ok(more && !self.scan.is_idle())
    }

    fn put(&mut self, number: usize, batch: RecordBatch) {
        let waiting: usize = self.queues.iter().map(|queue| queue.bytes).sum();
        let Some(queue) = self.queues.get_mut(number) else {
            return;
        };
        let bytes = batch.get_array_memory_size();
        // One batch is for who reads, and on its way.
        let is_room = queue.batches.is_empty() || waiting.saturating_add(bytes) <= WAITING_MAX;
        if is_room && self.reservation.try_resize(waiting + bytes).is_ok() {
            queue.bytes += bytes;
            queue.batches.push_back(batch);
        } else {
            self.end_turn(number, Turn::Alone);
        }
    }

    fn end_turn(&mut self, number: usize, turn: Turn) {
        self.scan.leave(number);
        if let Some(queue) = self.queues.get_mut(number) {
            queue.batches.clear();
            queue.bytes = 0;
            queue.turn = turn;
        }
    }

    fn end(self) -> Result<State> {
        self.ledger.add_notes(self.scan.notes());
        let groups = self.scan.into_groups().into_iter();
        let groups = groups.map(|aggregate| Kept::new(aggregate, &self.context).map(Some));
        Ok(State::Read(groups.collect::<Result<_>>()?, self.queues))
    }
}

impl Queue {
    fn take(&mut self) -> Option<RecordBatch> {
        let batch = self.batches.pop_front()?;
        self.bytes = self.bytes.saturating_sub(batch.get_array_memory_size());
        self.given += batch.num_rows();
        Some(batch)
    }
}

impl fmt::Debug for RowsTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowsTable")
            .field("reading", &self.reading)
            .finish_non_exhaustive()
    }
}

/// Whose rows a reading gives that is shared with others.
#[derive(Clone, Debug)]
pub(crate) struct RowsSeat {
    table: Arc<RowsTable>,
    number: usize,
}

impl RowsSeat {
    pub(super) const fn new(table: Arc<RowsTable>, number: usize) -> Self {
        Self { table, number }
    }

    /// Takes the place; false when it was taken before.
    pub(crate) fn sit(&self, ledger: &Ledger) -> Result<bool> {
        let number = self.table.questions.len() + self.number;
        let sources = &self.table.reading.sources;
        self.table.places.sit(number, sources, ledger)
    }

    /// For EXPLAIN.
    pub(crate) fn described(&self) -> String {
        self.table.described()
    }

    /// The rows: those of the table, or when there was no room, those of a scan alone.
    pub(crate) fn rows(self, alone: Steps, context: &Arc<TaskContext>) -> SeatedRows {
        SeatedRows {
            seat: self,
            context: Arc::clone(context),
            alone: Some(alone),
            reads_alone: false,
            skip: 0,
        }
    }
}

/// An iterator of batches.
pub(crate) struct SeatedRows {
    seat: RowsSeat,
    context: Arc<TaskContext>,
    /// `None` at the end.
    alone: Option<Steps>,
    reads_alone: bool,
    /// Rows that were given before it read alone.
    skip: usize,
}

impl SeatedRows {
    /// The next batch of the scan alone.
    fn next_alone(&mut self) -> Option<Result<RecordBatch>> {
        loop {
            let batch = match self.alone.as_mut()?.next()? {
                Ok(batch) => batch,
                error => return Some(error),
            };
            let known = self.skip.min(batch.num_rows());
            self.skip -= known;
            if known < batch.num_rows() {
                return Some(Ok(batch.slice(known, batch.num_rows() - known)));
            }
        }
    }
}

impl Iterator for SeatedRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.reads_alone {
            return self.next_alone();
        }
        let steps = self.alone.as_ref()?;
        let next = {
            let _timer = steps.metrics.baseline.elapsed_compute().timer();
            let reader = Reader {
                ledger: &steps.ledger,
                counters: &steps.counters,
                context: &self.context,
            };
            self.seat.table.next(self.seat.number, &reader)
        };
        steps.metrics.update(&steps.counters);
        match next {
            Ok(Next::Batch(batch)) => Some(Ok(batch.record_output(&steps.metrics.baseline))),
            Ok(Next::Alone(given)) => {
                let sources = &self.seat.table.reading.sources;
                if sources.iter().any(Source::is_stdin) {
                    self.alone = None;
                    return Some(Err(DataFusionError::Execution(format!(
                        "standard input can be read once only, and more than {} MiB of it wait to be used a second time: keep it in a file first",
                        WAITING_MAX >> 20,
                    ))));
                }
                self.reads_alone = true;
                self.skip = given;
                self.alone = self.alone.take().map(Steps::again);
                self.next_alone()
            }
            Ok(Next::End) => {
                self.alone = None;
                None
            }
            Err(error) => {
                self.alone = None;
                Some(Err(error))
            }
        }
    }
}

impl Drop for SeatedRows {
    fn drop(&mut self) {
        self.seat.table.leave(self.seat.number);
    }
}

/// Bytes of rows that may wait for those who are not there yet.
const WAITING_MAX: usize = 64 << 20;
