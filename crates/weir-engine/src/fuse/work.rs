//! Reading into groups.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ScopedJoinHandle;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_plan::metrics::RecordOutput;
use tokio::sync::mpsc::Sender;
use weir_capture::Certificate;
use weir_tables::{
    Aggregate, Counters, Function, Parts, ScanOptions, SharedScan, Source, SourceError,
};

use super::pass::{AggregateSpec, Pass, ScanInput};
use crate::live_session::Live;
use crate::scan::{Metrics, failed};
use crate::scan_report::ScanReport;

/// The certificate of a part of a file that was read alone, for the operator that merges the parts.
#[derive(Debug, Default)]
pub(crate) struct Certified(pub(crate) Mutex<Option<Certificate>>);

/// Groups, with the memory that they were granted.
pub(crate) struct GrantedGroups {
    pub(crate) aggregate: Aggregate,
    reservation: MemoryReservation,
}

impl GrantedGroups {
    /// Reserves the memory of finished groups.
    pub(crate) fn new(aggregate: Aggregate, context: &TaskContext) -> Result<Self> {
        let reservation = reserve(context);
        reservation.try_resize(aggregate.allocated_bytes())?;
        Ok(Self {
            aggregate,
            reservation,
        })
    }

    fn merge(&mut self, next: Self) -> Result<()> {
        self.aggregate.merge(next.aggregate);
        drop(next.reservation);
        self.reservation
            .try_resize(self.aggregate.allocated_bytes())
    }
}

fn reserve(context: &TaskContext) -> MemoryReservation {
    MemoryConsumer::new("FusedAggregate").register(context.memory_pool())
}

/// One execution of a fused aggregate.
pub(crate) struct Work {
    pub(crate) live: Arc<Live>,
    pub(crate) schema: SchemaRef,
    /// Rows of a batch.
    pub(crate) rows_max: usize,
    pub(crate) scan_report: Arc<ScanReport>,
    pub(crate) metrics: Metrics,
    pub(crate) context: Arc<TaskContext>,
    /// The receiver of the groups.
    pub(crate) answer: Sender<Result<RecordBatch>>,
    /// Bytes of groups after which they are given out as far as they have come.
    pub(crate) partial_bytes: Option<usize>,
}

impl Work {
    /// The receiver of the groups is gone.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.answer.is_closed()
    }

    /// Reads everything into one aggregate: in the order of the passes and of their files, so that
    /// the outcome hangs on neither the number of threads nor on their luck.
    /// Those of a pass that others share come from `shared`.
    pub(crate) fn run(
        &self,
        passes: Vec<Pass>,
        functions: Vec<Function>,
        shared: impl Fn(usize, &Self) -> Option<Result<Option<GrantedGroups>>>,
    ) -> Result<GrantedGroups> {
        let mut whole: Option<GrantedGroups> = None;
        for (index, pass) in passes.into_iter().enumerate() {
            let kept = match shared(index, self) {
                Some(groups) => groups?,
                None => {
                    let spec = AggregateSpec {
                        branches: pass.branches,
                        functions: functions.clone(),
                    };
                    self.read(&pass.scan_input, &[spec])?.pop()
                }
            };
            let kept = kept.ok_or_else(no_groups)?;
            match &mut whole {
                None => whole = Some(kept),
                Some(whole) => whole.merge(kept)?,
            }
        }
        whole.ok_or_else(no_groups)
    }

    /// Reads once, into groups for each of the specs.
    pub(crate) fn read(
        &self,
        scan_input: &ScanInput,
        specs: &[AggregateSpec],
    ) -> Result<Vec<GrantedGroups>> {
        let counters = Arc::new(Counters::default());
        if let Some(part) = scan_input.part {
            let read = self.read_part(scan_input, specs, part, &counters)?;
            self.metrics.update(&counters);
            self.scan_report.add_errors(read.errors);
            drop(read.reservation);
            let groups = read.scan.into_groups().into_iter();
            let groups = groups.map(|aggregate| GrantedGroups::new(aggregate, &self.context));
            return groups.collect();
        }
        let read = match self.parts(scan_input)? {
            Some(parts) => vec![self.read_parts(scan_input, specs, &parts, &counters)?],
            None => side_by_side(&scan_input.partitions, |sources: &Vec<Source>| {
                let groups = self.aggregates(specs)?;
                let options = self.options(scan_input);
                let scan = SharedScan::new(groups, &[], sources.clone(), options);
                self.drain(scan_input, self.watched(scan, &counters))
            })?,
        };
        self.metrics.update(&counters);
        let mut whole: Vec<GrantedGroups> = Vec::new();
        for part in read {
            self.scan_report.add_errors(part.errors);
            let groups = part.scan.into_groups().into_iter();
            drop(part.reservation);
            let groups = groups.map(|aggregate| GrantedGroups::new(aggregate, &self.context));
            let groups = groups.collect::<Result<Vec<_>>>()?;
            if whole.is_empty() {
                whole = groups;
                continue;
            }
            for (kept, next) in whole.iter_mut().zip(groups) {
                kept.merge(next)?;
            }
        }
        Ok(whole)
    }

    /// The parts of the one file of a reading; `None` when it is read in one.
    fn parts(&self, scan_input: &ScanInput) -> Result<Option<Parts>> {
        let ([sources], true) = (scan_input.partitions.as_slice(), scan_input.parts > 1) else {
            return Ok(None);
        };
        let [source] = sources.as_slice() else {
            return Ok(None);
        };
        // Reading the file in one piece finds its damage again, and reports it.
        Ok(Parts::new(source, scan_input.parts).unwrap_or_default())
    }

    /// Reads one part of a file, and leaves its certificate with the session.
    fn read_part(
        &self,
        scan_input: &ScanInput,
        specs: &[AggregateSpec],
        (number, of): (usize, usize),
        counters: &Arc<Counters>,
    ) -> Result<Read> {
        let [source] = scan_input.reading.sources.as_slice() else {
            return Err(DataFusionError::Internal(
                "a part of several files".to_owned(),
            ));
        };
        let changed = || {
            let message = format!("{}: it has changed since it was split", source.shown());
            DataFusionError::Execution(message)
        };
        let parts = Parts::new(source, of).map_err(|_| changed())?;
        let parts = parts
            .filter(|parts| number < parts.count())
            .ok_or_else(changed)?;
        let scan = SharedScan::of_part(
            self.aggregates(specs)?,
            &parts,
            number,
            self.options(scan_input),
        );
        let read = self.drain(scan_input, self.watched(scan, counters))?;
        let config = self.context.session_config();
        if let Some(certified) = config.get_extension::<Certified>() {
            let mut place = certified.0.lock().unwrap_or_else(PoisonError::into_inner);
            *place = read.scan.certificate();
        }
        Ok(read)
    }

    /// Reads the parts of a file side by side, and joins them in order.
    fn read_parts(
        &self,
        scan_input: &ScanInput,
        specs: &[AggregateSpec],
        parts: &Parts,
        counters: &Arc<Counters>,
    ) -> Result<Read> {
        let numbers: Vec<usize> = (0..parts.count()).collect();
        let read = side_by_side(&numbers, |number| {
            let groups = self.aggregates(specs)?;
            let scan = SharedScan::of_part(groups, parts, *number, self.options(scan_input));
            self.drain(scan_input, self.watched(scan, counters))
        })?;
        let mut read = read.into_iter();
        let Some(mut whole) = read.next() else {
            return Err(DataFusionError::Internal(
                "a file was split into no parts".to_owned(),
            ));
        };
        for next in read {
            if !whole.scan.join(next.scan) {
                // The damage of the part is found again, with its position in the file.
                let errors = whole.errors;
                drop(next.reservation);
                whole = self.drain(scan_input, whole.scan)?;
                whole.errors.splice(0..0, errors);
            }
            let bytes = whole.scan.allocated_bytes();
            whole.reservation.try_resize(bytes)?;
        }
        Ok(whole)
    }

    /// The groups as they stand.
    fn snapshot(&self, groups: &mut [Aggregate]) -> Result<Vec<RecordBatch>> {
        let mut batches = Vec::new();
        // Sources that grow are not shared.
        for aggregate in groups {
            batches.extend(aggregate.snapshot(&self.schema, self.rows_max)?);
        }
        Ok(batches)
    }

    fn options(&self, scan_input: &ScanInput) -> ScanOptions {
        let mut options = scan_input.reading.options();
        if scan_input.is_growing() {
            options.tee.clone_from(&self.live.tee);
        }
        options
    }

    fn aggregates(&self, specs: &[AggregateSpec]) -> Result<Vec<Aggregate>> {
        let groups = specs.iter().map(|spec| {
            let aggregate = spec.aggregate()?;
            match self.partial_bytes {
                None => Ok(aggregate),
                Some(_) => aggregate.giving_states().ok_or_else(no_groups),
            }
        });
        groups.collect()
    }

    /// Sends the current groups, and starts with none.
    fn give_out(&self, groups: &mut [Aggregate]) -> Result<()> {
        for aggregate in groups {
            while let Some(batch) = aggregate.next_batch(&self.schema, self.rows_max)? {
                let batch = batch.record_output(&self.metrics.baseline);
                if self.answer.blocking_send(Ok(batch)).is_err() {
                    break;
                }
            }
            aggregate.clear();
        }
        Ok(())
    }

    fn watched(&self, scan: SharedScan, counters: &Arc<Counters>) -> SharedScan {
        scan.with_counters(Arc::clone(&self.scan_report.counters))
            .with_counters(Arc::clone(counters))
    }

    /// Reads to the end.
    fn drain(&self, scan_input: &ScanInput, mut scan: SharedScan) -> Result<Read> {
        let _timer = self.metrics.baseline.elapsed_compute().timer();
        let reservation = reserve(&self.context);
        let mut errors = Vec::new();
        loop {
            let more = scan.step();
            errors.append(&mut scan.take_errors());
            match more {
                Ok(true) => {
                    let bytes = scan.allocated_bytes();
                    let is_room = reservation.try_resize(bytes);
                    if self
                        .partial_bytes
                        .is_some_and(|most| bytes > most || is_room.is_err())
                    {
                        self.give_out(scan.groups_mut())?;
                        // The memory of an empty table is always available.
                        reservation.free();
                    } else {
                        is_room?;
                    }
                }
                Ok(false) => break,
                Err(error) => return Err(failed(error)),
            }
            if self.is_cancelled() {
                break;
            }
            if scan_input.is_growing() {
                let groups = scan.groups_mut();
                self.live.give(|| self.snapshot(groups))?;
            }
        }
        self.scan_report.add_notes(scan.notes());
        Ok(Read {
            scan,
            reservation,
            errors,
        })
    }
}

fn no_groups() -> DataFusionError {
    DataFusionError::Internal("the aggregate has no argument".to_owned())
}

/// A reading that has reached its end.
struct Read {
    scan: SharedScan,
    reservation: MemoryReservation,
    errors: Vec<SourceError>,
}

/// Does `work` on each of the pieces, on a thread each when there are several.
fn side_by_side<P: Sync>(
    pieces: &[P],
    work: impl Fn(&P) -> Result<Read> + Sync,
) -> Result<Vec<Read>> {
    if let [piece] = pieces {
        return Ok(vec![work(piece)?]);
    }
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = pieces
            .iter()
            .map(|piece| scope.spawn(move || work(piece)))
            .collect();
        let panicked =
            || DataFusionError::Internal("a thread of the aggregate panicked".to_owned());
        let join = threads.into_iter().map(ScopedJoinHandle::join);
        join.map(|part| part.unwrap_or_else(|_| Err(panicked())))
            .collect()
    })
}
