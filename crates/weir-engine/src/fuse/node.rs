//! The plan node of a fused aggregate.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet, RecordOutput};
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
    SendableRecordBatchStream,
};
use weir_tables::{
    Aggregate, Aggregation, Branch, Counters, Function, Parts, ScanOptions, Source, SourceError,
};

use crate::ledger::Ledger;
use crate::live::Live;
use crate::scan::{Metrics, Reading, decodes, described, take_stdin};

/// One reading of some files, and all that takes up its rows.
#[derive(Clone, Debug)]
pub(crate) struct Pass {
    pub(crate) reading: Reading,
    /// Files that are read side by side.
    pub(crate) partitions: Vec<Vec<Source>>,
    /// Parts of the one file that are read side by side, at most; 1 for none.
    pub(crate) parts: usize,
    pub(crate) branches: Vec<Branch>,
}

impl Pass {
    /// One of the sources has no end yet.
    fn is_growing(&self) -> bool {
        self.reading.sources.iter().any(Source::is_growing)
    }
}

/// Reads captures into groups. Described by paths, columns and predicates alone, as a scan is.
#[derive(Debug)]
pub(crate) struct FusedAggregate {
    passes: Vec<Pass>,
    functions: Vec<Function>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl FusedAggregate {
    pub(crate) fn new(schema: SchemaRef, passes: Vec<Pass>, functions: Vec<Function>) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self {
            passes,
            functions,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

impl FusedAggregate {
    /// All that it reads, once a pass.
    pub(crate) fn sources(&self) -> Vec<&Source> {
        let passes = self.passes.iter();
        passes.flat_map(|pass| &pass.reading.sources).collect()
    }
}

impl DisplayAs for FusedAggregate {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separate = match kind {
            DisplayFormatType::TreeRender => "\n",
            _ => {
                f.write_str("FusedAggregate: ")?;
                "; "
            }
        };
        for (index, pass) in self.passes.iter().enumerate() {
            if index > 0 {
                f.write_str(separate)?;
            }
            let mut needs = Vec::new();
            for branch in &pass.branches {
                branch.visit_columns(&mut |column| needs.push(column.needs()));
            }
            write!(f, "reads={}", described(&pass.reading.sources))?;
            write!(f, "{separate}decodes={}", decodes(needs))?;
            for branch in &pass.branches {
                if let Some(predicate) = &branch.predicate {
                    write!(f, "{separate}keeps while decoding={predicate}")?;
                }
            }
            if pass.branches.len() > 1 {
                write!(f, "{separate}branches in one pass={}", pass.branches.len())?;
            }
            if pass.reading.merge {
                write!(f, "{separate}merged by=frame.time")?;
            }
            if pass.partitions.len() > 1 {
                write!(f, "{separate}side by side={}", pass.partitions.len())?;
            }
            if pass.parts > 1 {
                write!(f, "{separate}parts of the file side by side={}", pass.parts)?;
            }
        }
        let Some(branch) = self.passes.first().and_then(|pass| pass.branches.first()) else {
            return Ok(());
        };
        let list = |f: &mut fmt::Formatter<'_>, items: Vec<String>| f.write_str(&items.join(", "));
        if !branch.keys.is_empty() {
            write!(f, "{separate}groups by=")?;
            list(f, branch.keys.iter().map(ToString::to_string).collect())?;
        }
        if !self.functions.is_empty() {
            write!(f, "{separate}computes=")?;
            let parts = self
                .functions
                .iter()
                .zip(&branch.arguments)
                .zip(&branch.filters);
            let parts = parts.map(|((function, argument), filter)| {
                let argument = argument
                    .as_ref()
                    .map_or_else(|| "*".to_owned(), ToString::to_string);
                let filter = filter.as_ref();
                let filter = filter.map_or_else(String::new, |filter| format!(" where {filter}"));
                format!("{}({argument}){filter}", word(*function))
            });
            list(f, parts.collect())?;
        }
        Ok(())
    }
}

/// The function as SQL writes it.
const fn word(function: Function) -> &'static str {
    match function {
        Function::CountRows | Function::Count => "count",
        Function::CountDistinct => "count distinct ",
        Function::Sum | Function::SumFloat => "sum",
        Function::Average => "avg",
        Function::Minimum => "min",
        Function::Maximum => "max",
        Function::BitAnd => "bit_and",
        Function::BitOr => "bit_or",
        Function::BitExclusiveOr => "bit_xor",
        Function::BoolAnd => "bool_and",
        Function::BoolOr => "bool_or",
        Function::First => "first_value",
        Function::Last => "last_value",
        _ => "an aggregate",
    }
}

impl ExecutionPlan for FusedAggregate {
    fn name(&self) -> &'static str {
        "FusedAggregate"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let ledger = context
            .session_config()
            .get_extension::<Ledger>()
            .unwrap_or_default();
        for pass in &self.passes {
            take_stdin(&pass.reading.sources, &ledger)?;
        }
        let schema = self.schema();
        let rows_max = context.session_config().batch_size();
        let cancelled = Arc::new(AtomicBool::new(false));
        let live = context.session_config().get_extension::<Live>();
        let work = Work {
            live: live.unwrap_or_default(),
            schema: Arc::clone(&schema),
            rows_max,
            passes: self.passes.clone(),
            functions: self.functions.clone(),
            ledger,
            metrics: Metrics::new(&self.metrics, partition),
            context,
            cancelled: Arc::clone(&cancelled),
        };
        // Reading blocks, and takes as long as it takes: not on the threads of the plan.
        let mut builder = RecordBatchReceiverStream::builder(Arc::clone(&schema), 2);
        let sender = builder.tx();
        builder.spawn_blocking(move || {
            let _guard = Cancel(cancelled);
            let outcome = work.run();
            work.live.close();
            let (mut aggregate, _reservation) = outcome?;
            while let Some(batch) = aggregate.next_batch(&schema, rows_max)? {
                let batch = batch.record_output(&work.metrics.baseline);
                if sender.blocking_send(Ok(batch)).is_err() {
                    break;
                }
            }
            Ok(())
        });
        Ok(builder.build())
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// Tells the threads that read to end when the one that waits for them has gone.
struct Cancel(Arc<AtomicBool>);

impl Drop for Cancel {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// One execution.
struct Work {
    live: Arc<Live>,
    schema: SchemaRef,
    /// Rows of a batch.
    rows_max: usize,
    passes: Vec<Pass>,
    functions: Vec<Function>,
    ledger: Arc<Ledger>,
    metrics: Metrics,
    context: Arc<TaskContext>,
    cancelled: Arc<AtomicBool>,
}

impl Work {
    /// Reads everything into one aggregate: in the order of the passes and of their files, so that
    /// the outcome hangs on neither the number of threads nor on their luck.
    fn run(&self) -> Result<(Aggregate, MemoryReservation)> {
        let mut whole: Option<(Aggregate, MemoryReservation)> = None;
        for pass in &self.passes {
            let counters = Arc::new(Counters::default());
            let read = match self.parts(pass)? {
                Some(parts) => vec![self.read_parts(pass, &parts, &counters)?],
                None => side_by_side(&pass.partitions, |sources: &Vec<Source>| {
                    let aggregation = self.aggregation(pass, |aggregate, options| {
                        Aggregation::new(aggregate, sources.clone(), options)
                    });
                    self.drain(pass, self.watched(aggregation?, &counters))
                })?,
            };
            self.metrics.update(&counters);
            for part in read {
                self.ledger.add_errors(part.errors);
                let (part, reservation) = (part.aggregation.into_aggregate(), part.reservation);
                whole = Some(match whole {
                    None => (part, reservation),
                    Some((mut whole, kept)) => {
                        whole.merge(part);
                        drop(reservation);
                        kept.try_resize(whole.allocated_bytes())?;
                        (whole, kept)
                    }
                });
            }
        }
        whole.ok_or_else(|| DataFusionError::Internal("an aggregate of nothing".to_owned()))
    }

    /// Where the one file of a pass falls into parts; `None` when it is read in one.
    fn parts(&self, pass: &Pass) -> Result<Option<Parts>> {
        let ([sources], true) = (pass.partitions.as_slice(), pass.parts > 1) else {
            return Ok(None);
        };
        let [source] = sources.as_slice() else {
            return Ok(None);
        };
        // What is wrong with the file is found again, and told, by who reads it in one.
        Ok(Parts::new(source, pass.parts).unwrap_or_default())
    }

    /// Reads the parts of a file side by side, and joins them in order.
    fn read_parts(&self, pass: &Pass, parts: &Parts, counters: &Arc<Counters>) -> Result<Read> {
        let numbers: Vec<usize> = (0..parts.count()).collect();
        let read = side_by_side(&numbers, |number| {
            let aggregation = self.aggregation(pass, |aggregate, options| {
                Aggregation::of_part(aggregate, parts, *number, options)
            });
            self.drain(pass, self.watched(aggregation?, counters))
        })?;
        let mut read = read.into_iter();
        let Some(mut whole) = read.next() else {
            return Err(DataFusionError::Internal("a file of no parts".to_owned()));
        };
        for next in read {
            if !whole.aggregation.join(next.aggregation) {
                // What the part found wrong is found again, and where it is.
                let errors = whole.errors;
                drop(next.reservation);
                whole = self.drain(pass, whole.aggregation)?;
                whole.errors.splice(0..0, errors);
            }
            let bytes = whole.aggregation.aggregate().allocated_bytes();
            whole.reservation.try_resize(bytes)?;
        }
        Ok(whole)
    }

    /// The groups as they stand.
    fn glance(&self, aggregate: &mut Aggregate) -> Result<Vec<RecordBatch>> {
        let mut batches = Vec::new();
        while let Some(batch) = aggregate.next_batch(&self.schema, self.rows_max)? {
            batches.push(batch);
        }
        aggregate.rewind();
        Ok(batches)
    }

    fn aggregation(
        &self,
        pass: &Pass,
        start: impl FnOnce(Aggregate, ScanOptions) -> Aggregation,
    ) -> Result<Aggregation> {
        let aggregate = Aggregate::new(pass.branches.clone(), &self.functions);
        let aggregate = aggregate.ok_or_else(|| {
            DataFusionError::Internal("an aggregate that was checked is not one".to_owned())
        })?;
        let mut options = ScanOptions::default();
        options.merge = pass.reading.merge;
        options.sorted = pass.reading.sorted;
        options.decode = pass.reading.decode.clone();
        if pass.is_growing() {
            options.keeper.clone_from(&self.live.keeper);
        }
        Ok(start(aggregate, options))
    }

    fn watched(&self, aggregation: Aggregation, counters: &Arc<Counters>) -> Aggregation {
        aggregation
            .with_counters(Arc::clone(&self.ledger.counters))
            .with_counters(Arc::clone(counters))
    }

    /// Reads to the end.
    fn drain(&self, pass: &Pass, mut aggregation: Aggregation) -> Result<Read> {
        let _timer = self.metrics.baseline.elapsed_compute().timer();
        let reservation =
            MemoryConsumer::new("FusedAggregate").register(self.context.memory_pool());
        let mut errors = Vec::new();
        loop {
            let more = aggregation.step();
            errors.append(&mut aggregation.take_errors());
            match more {
                Ok(true) => reservation.try_resize(aggregation.aggregate().allocated_bytes())?,
                Ok(false) => break,
                Err(ArrowError::ComputeError(message)) => {
                    return Err(DataFusionError::Execution(message));
                }
                Err(error) => return Err(error.into()),
            }
            if self.cancelled.load(Ordering::Relaxed) {
                break;
            }
            if pass.is_growing() {
                let groups = aggregation.aggregate_mut();
                self.live.give(|| self.glance(groups))?;
            }
        }
        self.ledger.add_notes(aggregation.notes());
        Ok(Read {
            aggregation,
            reservation,
            errors,
        })
    }
}

/// What was read to its end.
struct Read {
    aggregation: Aggregation,
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
