//! A shared scan of which at least one consumer returns rows.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::array::RecordBatch;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_plan::metrics::RecordOutput;
use weir_tables::{Counters, SharedScan, Source, WantedRows};

use super::slots::Slots;
use crate::fuse::{AggregateSpec, GrantedGroups, Work};
use crate::scan::{Reading, Steps, failed};
use crate::scan_report::ScanReport;

/// The consumers' needs and queues.
pub(crate) struct SharedRows {
    reading: Reading,
    specs: Vec<AggregateSpec>,
    rows: Vec<WantedRows>,
    /// First the consumers that want groups, then those that want rows.
    slots: Slots,
    state: Mutex<SharedState>,
}

enum SharedState {
    Unread,
    Reading(Box<Running>),
    /// The groups of each consumer until it takes them, and the last rows.
    Read(Vec<Option<GrantedGroups>>, Vec<Queue>),
    /// The error, which every consumer gets.
    Failed(String),
}

/// A scan that is under way.
struct Running {
    scan: SharedScan,
    queues: Vec<Queue>,
    scan_report: Arc<ScanReport>,
    context: Arc<TaskContext>,
    /// The memory of the queued rows.
    reservation: MemoryReservation,
}

/// The rows that are queued for a consumer.
#[derive(Default)]
struct Queue {
    batches: VecDeque<RecordBatch>,
    bytes: usize,
    /// Rows that the consumer has taken.
    given: usize,
    state: ConsumerState,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ConsumerState {
    #[default]
    Waiting,
    /// The consumer has all of its rows, or will have when it takes the queued ones.
    Served,
    /// The consumer needs no more rows.
    Cancelled,
    /// The queued rows exceeded their limit: the consumer rescans the sources.
    Detached,
}

/// The next step of a consumer.
enum Next {
    Batch(RecordBatch),
    End,
    /// The consumer rescans the sources, and skips so many rows.
    Rescan(usize),
}

/// The reader that the consumer which drives the scan lends to it.
struct LentReader<'r> {
    scan_report: &'r Arc<ScanReport>,
    counters: &'r Arc<Counters>,
    context: &'r Arc<TaskContext>,
}

impl SharedRows {
    pub(super) fn new(reading: Reading, specs: Vec<AggregateSpec>, rows: Vec<WantedRows>) -> Self {
        Self {
            reading,
            slots: Slots::new(specs.len() + rows.len()),
            specs,
            rows,
            state: Mutex::new(SharedState::Unread),
        }
    }

    pub(super) fn attach_for_groups(
        &self,
        number: usize,
        scan_report: &ScanReport,
    ) -> Result<bool> {
        self.slots
            .attach(number, &self.reading.sources, scan_report)
    }

    pub(super) fn described(&self) -> String {
        self.slots.described()
    }

    /// The groups of one consumer, which drives the scan to its end.
    pub(super) fn groups(&self, number: usize, work: &Work) -> Result<Option<GrantedGroups>> {
        let counters = Arc::new(Counters::default());
        let reader = LentReader {
            scan_report: &work.scan_report,
            counters: &counters,
            context: &work.context,
        };
        loop {
            let mut state = self.lock();
            match &mut *state {
                SharedState::Read(groups, _) => {
                    work.metrics.update(&counters);
                    return Ok(groups.get_mut(number).and_then(Option::take));
                }
                _ if work.is_cancelled() => return Ok(None),
                _ => self.step(&mut state, &reader)?,
            }
        }
    }

    /// The next rows of one consumer: those that are queued for it, or else it drives the scan on.
    fn next(&self, number: usize, reader: &LentReader<'_>) -> Result<Next> {
        loop {
            let mut state = self.lock();
            let (queues, is_end) = match &mut *state {
                SharedState::Reading(running) => (Some(&mut running.queues), false),
                SharedState::Read(_, queues) => (Some(queues), true),
                SharedState::Unread | SharedState::Failed(_) => (None, false),
            };
            if let Some(queue) = queues.and_then(|queues| queues.get_mut(number)) {
                if let Some(batch) = queue.take() {
                    return Ok(Next::Batch(batch));
                }
                match queue.state {
                    ConsumerState::Detached => return Ok(Next::Rescan(queue.given)),
                    ConsumerState::Served => return Ok(Next::End),
                    ConsumerState::Waiting | ConsumerState::Cancelled => {}
                }
            }
            if is_end {
                return Ok(Next::End);
            }
            self.step(&mut state, reader)?;
        }
    }

    /// A consumer needs no more rows.
    fn leave(&self, number: usize) {
        if let SharedState::Reading(running) = &mut *self.lock() {
            running.finish(number, ConsumerState::Cancelled);
        }
    }

    /// Drives the scan on.
    fn step(&self, state: &mut SharedState, reader: &LentReader<'_>) -> Result<()> {
        let outcome = match state {
            SharedState::Unread => self.begin(reader).map(|running| {
                *state = SharedState::Reading(Box::new(running));
            }),
            SharedState::Reading(running) => running.step().and_then(|more| {
                if !more
                    && let SharedState::Reading(running) =
                        std::mem::replace(state, SharedState::Unread)
                {
                    *state = running.end()?;
                }
                Ok(())
            }),
            SharedState::Read(..) => Ok(()),
            SharedState::Failed(message) => {
                return Err(DataFusionError::Execution(message.clone()));
            }
        };
        if let Err(error) = &outcome {
            let message = match error {
                DataFusionError::Execution(message) => message.clone(),
                error => error.to_string(),
            };
            *state = SharedState::Failed(message);
        }
        outcome
    }

    fn begin(&self, reader: &LentReader<'_>) -> Result<Running> {
        let groups = self.specs.iter().map(AggregateSpec::aggregate);
        let mut options = self.reading.options();
        options.batch_rows = reader.context.session_config().batch_size();
        let sources = self.reading.sources.clone();
        let scan = SharedScan::new(groups.collect::<Result<_>>()?, &self.rows, sources, options)
            .with_counters(Arc::clone(&reader.scan_report.counters))
            .with_counters(Arc::clone(reader.counters));
        let consumer = MemoryConsumer::new("SharedScan");
        Ok(Running {
            scan,
            queues: self.rows.iter().map(|_| Queue::default()).collect(),
            scan_report: Arc::clone(reader.scan_report),
            context: Arc::clone(reader.context),
            reservation: consumer.register(reader.context.memory_pool()),
        })
    }

    fn lock(&self) -> MutexGuard<'_, SharedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    /// Reads some records and queues their rows; false at the end.
    fn step(&mut self) -> Result<bool> {
        let more = self.scan.step();
        self.scan_report.add_errors(self.scan.take_errors());
        let more = more.map_err(failed)?;
        for number in 0..self.queues.len() {
            let has_enough = self.scan.has_enough(number);
            if let Some(batch) = self.scan.take_batch(number, !more).map_err(failed)? {
                self.put(number, batch);
            }
            if has_enough {
                self.scan.leave(number);
                if let Some(queue) = self.queues.get_mut(number)
                    && queue.state == ConsumerState::Waiting
                {
                    queue.state = ConsumerState::Served;
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
        // One batch is always let through: the consumer that drives the scan takes it at once.
        let is_room = queue.batches.is_empty() || waiting.saturating_add(bytes) <= QUEUED_MAX;
        if is_room && self.reservation.try_resize(waiting + bytes).is_ok() {
            queue.bytes += bytes;
            queue.batches.push_back(batch);
        } else {
            self.finish(number, ConsumerState::Detached);
        }
    }

    fn finish(&mut self, number: usize, state: ConsumerState) {
        self.scan.leave(number);
        if let Some(queue) = self.queues.get_mut(number) {
            queue.batches.clear();
            queue.bytes = 0;
            queue.state = state;
        }
    }

    fn end(self) -> Result<SharedState> {
        self.scan_report.add_notes(self.scan.notes());
        let groups = self.scan.into_groups().into_iter();
        let groups = groups.map(|aggregate| GrantedGroups::new(aggregate, &self.context).map(Some));
        Ok(SharedState::Read(
            groups.collect::<Result<_>>()?,
            self.queues,
        ))
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

impl fmt::Debug for SharedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedRows")
            .field("reading", &self.reading)
            .finish_non_exhaustive()
    }
}

/// A consumer of a shared scan that returns rows, by its number.
#[derive(Clone, Debug)]
pub(crate) struct RowsConsumer {
    scan: Arc<SharedRows>,
    number: usize,
}

impl RowsConsumer {
    pub(super) const fn new(scan: Arc<SharedRows>, number: usize) -> Self {
        Self { scan, number }
    }

    /// Attaches the consumer; false where it was attached before.
    pub(crate) fn attach(&self, scan_report: &ScanReport) -> Result<bool> {
        let number = self.scan.specs.len() + self.number;
        let sources = &self.scan.reading.sources;
        self.scan.slots.attach(number, sources, scan_report)
    }

    /// The text of EXPLAIN.
    pub(crate) fn described(&self) -> String {
        self.scan.described()
    }

    /// The rows of the shared scan or, when the consumer is detached, of a scan of its own.
    pub(crate) fn rows(self, own: Steps, context: &Arc<TaskContext>) -> ConsumerRows {
        ConsumerRows {
            consumer: self,
            context: Arc::clone(context),
            own: Some(own),
            is_detached: false,
            skip: 0,
        }
    }
}

/// An iterator of batches.
pub(crate) struct ConsumerRows {
    consumer: RowsConsumer,
    context: Arc<TaskContext>,
    /// `None` at the end.
    own: Option<Steps>,
    is_detached: bool,
    /// Rows that it had before it was detached.
    skip: usize,
}

impl ConsumerRows {
    /// The next batch of the scan of its own.
    fn next_of_own(&mut self) -> Option<Result<RecordBatch>> {
        loop {
            let batch = match self.own.as_mut()?.next()? {
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

impl Iterator for ConsumerRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_detached {
            return self.next_of_own();
        }
        let steps = self.own.as_ref()?;
        let next = {
            let _timer = steps.metrics.baseline.elapsed_compute().timer();
            let reader = LentReader {
                scan_report: &steps.scan_report,
                counters: &steps.counters,
                context: &self.context,
            };
            self.consumer.scan.next(self.consumer.number, &reader)
        };
        steps.metrics.update(&steps.counters);
        match next {
            Ok(Next::Batch(batch)) => Some(Ok(batch.record_output(&steps.metrics.baseline))),
            Ok(Next::Rescan(given)) => {
                let sources = &self.consumer.scan.reading.sources;
                if sources.iter().any(Source::is_stdin) {
                    self.own = None;
                    return Some(Err(DataFusionError::Execution(format!(
                        "standard input can be read only once, and more than {} MiB of it wait to be used a second time: save it to a file first",
                        QUEUED_MAX >> 20,
                    ))));
                }
                self.is_detached = true;
                self.skip = given;
                self.own = self.own.take().map(Steps::again);
                self.next_of_own()
            }
            Ok(Next::End) => {
                self.own = None;
                None
            }
            Err(error) => {
                self.own = None;
                Some(Err(error))
            }
        }
    }
}

impl Drop for ConsumerRows {
    fn drop(&mut self) {
        self.consumer.scan.leave(self.consumer.number);
    }
}

/// Bytes of rows that may be queued, over all consumers.
const QUEUED_MAX: usize = 64 << 20;
