//! The plan node that reads captures.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::compute::SortOptions;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::expressions::Column as PhysicalColumn;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet, RecordOutput,
};
use datafusion::physical_plan::stream::{RecordBatchReceiverStream, RecordBatchStreamAdapter};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
    SendableRecordBatchStream,
};
use weir_packet::{Layer, Needs, Options as DecodeOptions};
use weir_tables::{
    Column, Compile, Counters, Predicate, Scan, ScanOptions, Source, Stop, Table, WantedRows,
    selects,
};

use crate::live_session::Live;
use crate::plan_node::{named_node, no_inputs};
use crate::scan_report::ScanReport;

/// The sources of a scan, and the way in which they are read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reading {
    pub(crate) sources: Vec<Source>,
    /// All sources at once, in the order of time.
    pub(crate) merge: bool,
    /// The records are declared to be in the order of time; the scan fails when they are not.
    pub(crate) sorted: bool,
    pub(crate) decode: DecodeOptions,
    /// The lateness of records, if the order of time is requested: of a stream, or a file that is read like one.
    pub(crate) lateness: Option<Duration>,
    /// A second thread may read ahead of the decoding one.
    pub(crate) read_ahead: bool,
    /// When filters and aggregates of records are compiled.
    pub(crate) compile: Compile,
}

impl Reading {
    /// The options of its scan.
    pub(crate) fn options(&self) -> ScanOptions {
        let mut options = ScanOptions::default();
        options.merge = self.merge;
        options.sorted = self.sorted;
        options.decode = self.decode.clone();
        options.read_ahead = self.read_ahead;
        options.compile = self.compile;
        options
    }
}

/// Reads captures into batches. Described by paths, columns and predicates alone, so that it could
/// be sent elsewhere and run there.
#[derive(Debug)]
pub(crate) struct CaptureScan {
    table: Table,
    projection: Vec<usize>,
    predicate: Option<Predicate>,
    reading: Reading,
    limit: Option<usize>,
    partitions: Vec<Vec<Source>>,
    /// The filters that the predicate was made of.
    filters: Vec<Expr>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl CaptureScan {
    pub(crate) fn new(
        table: Table,
        projection: Vec<usize>,
        predicate: Option<Predicate>,
        reading: Reading,
        limit: Option<usize>,
        partitions_max: usize,
    ) -> Self {
        let fields: Vec<_> = projection
            .iter()
            .map(|position| Arc::clone(&table.schema().fields()[*position]))
            .collect();
        let schema = Arc::new(Schema::new(fields));
        // Messages may begin in one file and end in the next.
        let partitions_max = match table.extraction() {
            Some(_) => 1,
            None => partitions_max,
        };
        let partitions = partitions(&reading, partitions_max);
        let properties = PlanProperties::new(
            equivalences(&schema, &table, &reading, partitions.len()),
            Partitioning::UnknownPartitioning(partitions.len()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self {
            table,
            projection,
            predicate,
            reading,
            limit,
            partitions,
            filters: Vec::new(),
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// The same scan, which remembers what its predicate was made of.
    pub(crate) fn with_filters(self, filters: &[Expr]) -> Self {
        Self {
            filters: filters.to_vec(),
            ..self
        }
    }

    /// The filters that the predicate was made of; plans that share readings have none.
    pub(crate) fn filters(&self) -> &[Expr] {
        &self.filters
    }

    pub(crate) const fn table(&self) -> &Table {
        &self.table
    }

    /// Positions of the columns that it gives.
    pub(crate) fn projection(&self) -> &[usize] {
        &self.projection
    }

    /// The rows are those of the sources, and not computed from them.
    pub(crate) const fn is_plain(&self) -> bool {
        self.table.extraction().is_none()
    }

    pub(crate) const fn reading(&self) -> &Reading {
        &self.reading
    }

    /// Sources that are read side by side.
    pub(crate) fn partitions(&self) -> &[Vec<Source>] {
        &self.partitions
    }

    pub(crate) const fn limit(&self) -> Option<usize> {
        self.limit
    }

    pub(crate) const fn predicate(&self) -> Option<&Predicate> {
        self.predicate.as_ref()
    }

    /// Records arrive while the query runs, and results are wanted before the end.
    pub(crate) fn is_stream(&self) -> bool {
        self.reading.sources.iter().any(Source::is_stdin)
            || self.properties.boundedness.is_unbounded()
    }

    /// The column with the times of the records, when it is read.
    pub(crate) fn time_column(&self) -> Option<Arc<dyn PhysicalExpr>> {
        let index = self.schema().index_of(TIME).ok()?;
        Some(Arc::new(PhysicalColumn::new(TIME, index)))
    }

    /// The rows that it needs of its reading; `None` when it cannot share one: it reads concurrently, or has a limit. Reading a
    /// little twice costs less than testing each record for several queries; but a source that can be read only once is shared.
    pub(crate) fn wanted(&self) -> Option<WantedRows> {
        let is_read_once = self.reading.sources.iter().any(Source::is_stdin);
        let is_one = self.partitions.len() == 1 && (self.limit.is_none() || is_read_once);
        is_one.then(|| WantedRows {
            table: self.table.clone(),
            projection: self.projection.clone(),
            predicate: self.predicate.clone(),
            limit: self.limit,
        })
    }

    /// The same scan without counts and filters.
    pub(crate) fn anew(&self) -> Self {
        Self::new(
            self.table.clone(),
            self.projection.clone(),
            self.predicate.clone(),
            self.reading.clone(),
            self.limit,
            self.partitions.len(),
        )
    }

    /// The same scan of one source after the other; `None` when it is that already.
    pub(crate) fn in_sequence(&self) -> Option<Self> {
        (self.partitions.len() > 1).then(|| {
            Self::new(
                self.table.clone(),
                self.projection.clone(),
                self.predicate.clone(),
                self.reading.clone(),
                self.limit,
                1,
            )
        })
    }

    /// The columns that it gives.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &Column> {
        let columns = self.table.columns();
        self.projection.iter().map(|position| &columns[*position])
    }
}

/// The protocols that are decoded, for EXPLAIN: `nothing`, names, or `everything`.
pub(crate) fn decodes(needs: Vec<Needs>) -> String {
    if needs.contains(&Needs::All) {
        return "everything".to_owned();
    }
    let mut names: Vec<&str> = needs
        .into_iter()
        .filter_map(|need| match need {
            Needs::Layer(layer) => Some(Layer::name(layer)),
            Needs::Network => Some("to the outermost IP header"),
            Needs::Transport => Some("to the header above IP"),
            _ => None,
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return "nothing".to_owned();
    }
    names.join(", ")
}

/// The files, for EXPLAIN.
pub(crate) fn described(sources: &[Source]) -> String {
    let first = sources.first();
    let first = first.map_or_else(String::new, |source| source.shown().into_owned());
    match sources.len() {
        0 | 1 => first,
        count => format!("{first} and {} more", count - 1),
    }
}

/// Standard input can be read once only: fails when `sources` have it and another part of the statement reads it.
pub(crate) fn take_stdin(sources: &[Source], scan_report: &ScanReport) -> Result<()> {
    let from_stdin = sources.iter().any(Source::is_stdin);
    if from_stdin && !scan_report.take_stdin() {
        return Err(DataFusionError::Plan(
            "standard input can be read only once, and another part of the statement reads it"
                .to_owned(),
        ));
    }
    Ok(())
}

/// Sources that are read side by side: neighbours stay together, so that the answer can be given
/// in the order of the files.
fn partitions(reading: &Reading, partitions_max: usize) -> Vec<Vec<Source>> {
    let sources = &reading.sources;
    // The order over all sources is checked by one reader of them all.
    let together = reading.merge || reading.sorted || reading.lateness.is_some();
    let partitions_max = if together { 1 } else { partitions_max.max(1) };
    let size = sources.len().div_ceil(partitions_max).max(1);
    sources.chunks(size).map(<[Source]>::to_vec).collect()
}

fn equivalences(
    schema: &SchemaRef,
    table: &Table,
    reading: &Reading,
    partition_count: usize,
) -> EquivalenceProperties {
    if table.extraction().is_some() {
        // Rows leave when they are complete.
        return EquivalenceProperties::new(Arc::clone(schema));
    }
    let single = reading.sources.len() == 1 && partition_count == 1;
    // Record numbers rise within a capture, unless its records are sorted. Times need not rise, so that no order is declared unless
    // the user does.
    let ordered_by = match (reading.sorted, reading.merge) {
        (true, _) => Some(TIME),
        (false, true) => None,
        (false, false) => single.then_some("frame.number"),
    };
    let ordering = ordered_by
        .and_then(|name| PhysicalColumn::new_with_schema(name, schema).ok())
        .map(|column| {
            let ascending = SortOptions {
                descending: false,
                nulls_first: false,
            };
            [PhysicalSortExpr::new(Arc::new(column), ascending)]
        });
    EquivalenceProperties::new_with_orderings(Arc::clone(schema), ordering)
}

impl CaptureScan {
    /// The text of EXPLAIN; a shared scan evaluates predicates without compiled code.
    pub(crate) fn explain(
        &self,
        kind: DisplayFormatType,
        f: &mut fmt::Formatter<'_>,
        is_shared: bool,
    ) -> fmt::Result {
        let columns: Vec<&str> = self
            .projection
            .iter()
            .map(|position| &*self.table.columns()[*position].name)
            .collect();
        let columns = match columns.len() {
            0 => "none, counts records only".to_owned(),
            count if self.table.is_whole() && count == self.table.columns().len() => {
                format!("all {count}")
            }
            _ => columns.join(", "),
        };
        let files = described(&self.reading.sources);
        let (assign, separate) = match kind {
            DisplayFormatType::TreeRender => ("=", "\n"),
            _ => {
                f.write_str("CaptureScan: ")?;
                ("=", "; ")
            }
        };
        write!(f, "reads{assign}{files}{separate}columns{assign}{columns}")?;
        if let Some(extraction) = self.table.extraction() {
            write!(f, "{separate}extracts{assign}{}", extraction.doc)?;
        }
        let mut needs: Vec<Needs> = self.columns().map(Column::needs).collect();
        if let Some(predicate) = &self.predicate {
            predicate.visit_columns(&mut |column| needs.push(column.needs()));
        }
        write!(f, "{separate}decodes{assign}{}", decodes(needs))?;
        if let Some(predicate) = &self.predicate {
            write!(f, "{separate}keeps while decoding{assign}{predicate}")?;
            if self.table.extraction().is_none() && !is_shared {
                match selects(predicate, &self.reading.sources, self.reading.compile) {
                    Some(Ok(())) => {
                        write!(f, "{separate}compiled{assign}selection of records")?;
                    }
                    Some(Err(why)) => write!(f, "{separate}not compiled{assign}{why}")?,
                    None => {}
                }
            }
        }
        if let Some(limit) = self.limit {
            write!(f, "{separate}limit{assign}{limit}")?;
        }
        if self.reading.merge {
            write!(f, "{separate}merged by{assign}{TIME}")?;
        }
        if let Some(ordering) = self.properties.output_ordering() {
            write!(f, "{separate}in order of{assign}{ordering}")?;
        }
        if self.partitions.len() > 1 {
            write!(f, "{separate}side by side{assign}{}", self.partitions.len())?;
        }
        Ok(())
    }

    /// The rows of a partition, batch by batch. Standard input is taken by the caller.
    pub(crate) fn steps(
        &self,
        partition: usize,
        context: &TaskContext,
        scan_report: Arc<ScanReport>,
    ) -> Steps {
        let sources = self.partitions.get(partition).cloned().unwrap_or_default();
        let mut options = self.reading.options();
        options.batch_rows = context.session_config().batch_size();
        options.limit = self.limit;
        let cancel = context.session_config().get_extension::<Stop>();
        options.cancel = cancel.map(|stop| Stop::clone(&stop));
        let growing = sources.iter().any(Source::is_growing);
        if growing && let Some(live) = context.session_config().get_extension::<Live>() {
            options.tee.clone_from(&live.tee);
        }
        let metrics = Metrics::new(&self.metrics, partition);
        let counters = Arc::new(Counters::default());
        let scan = Scan::new(
            &self.table,
            &self.projection,
            self.predicate.clone(),
            sources,
            options,
        );
        Steps {
            scan: scan
                .with_counters(Arc::clone(&scan_report.counters))
                .with_counters(Arc::clone(&counters)),
            scan_report,
            metrics,
            counters,
            is_again: false,
        }
    }

    /// Steps through a partition as a stream.
    pub(crate) fn streamed(
        &self,
        partition: usize,
        steps: impl Iterator<Item = Result<RecordBatch>> + Send + 'static,
    ) -> SendableRecordBatchStream {
        let mut sources = self.partitions.get(partition).into_iter().flatten();
        if sources.any(|source| source.is_stdin() || source.is_growing()) {
            // A read from a pipe may block for long, so that it does not run on the threads of the plan.
            let mut builder = RecordBatchReceiverStream::builder(self.schema(), 2);
            let sender = builder.tx();
            builder.spawn_blocking(move || {
                for step in steps {
                    if sender.blocking_send(step).is_err() {
                        break;
                    }
                }
                Ok(())
            });
            return builder.build();
        }
        let stream = futures::stream::iter(steps);
        Box::pin(RecordBatchStreamAdapter::new(self.schema(), stream))
    }
}

impl DisplayAs for CaptureScan {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.explain(kind, f, false)
    }
}

impl ExecutionPlan for CaptureScan {
    named_node!("CaptureScan");

    no_inputs!();

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let scan_report = ScanReport::of(&context);
        if let Some(sources) = self.partitions.get(partition) {
            take_stdin(sources, &scan_report)?;
        }
        let steps = self.steps(partition, &context, scan_report);
        Ok(self.streamed(partition, steps))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// A scan as an iterator of batches that keeps the books.
pub(crate) struct Steps {
    scan: Scan,
    pub(crate) scan_report: Arc<ScanReport>,
    pub(crate) metrics: Metrics,
    pub(crate) counters: Arc<Counters>,
    /// The faults of the sources were reported before.
    is_again: bool,
}

impl Steps {
    /// The scan reads again what was read before, and does not report it twice.
    pub(crate) const fn again(mut self) -> Self {
        self.is_again = true;
        self
    }
}

impl Iterator for Steps {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = {
            let _timer = self.metrics.baseline.elapsed_compute().timer();
            self.scan.next_batch()
        };
        let errors = self.scan.take_errors();
        if !errors.is_empty() && !self.is_again {
            self.scan_report.add_errors(errors);
        }
        self.metrics.update(&self.counters);
        match batch {
            Ok(Some(batch)) => Some(Ok(batch.record_output(&self.metrics.baseline))),
            Ok(None) => {
                if !self.is_again {
                    self.scan_report.add_notes(self.scan.notes());
                }
                None
            }
            Err(error) => Some(Err(failed(error))),
        }
    }
}

/// The scan's own words, without what kind of error it is to Arrow.
pub(crate) fn failed(error: ArrowError) -> DataFusionError {
    match error {
        ArrowError::ComputeError(message) => DataFusionError::Execution(message),
        ArrowError::ExternalError(error) => DataFusionError::External(error),
        error => error.into(),
    }
}

/// The metrics of a scan in EXPLAIN ANALYZE.
pub(crate) struct Metrics {
    pub(crate) baseline: BaselineMetrics,
    records: Count,
    bytes: Count,
    dropped: Count,
    stopped: Count,
    unknown_link: Count,
}

impl Metrics {
    pub(crate) fn new(metrics: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let count = |name| MetricBuilder::new(metrics).counter(name, partition);
        Self {
            baseline: BaselineMetrics::new(metrics, partition),
            records: count("records"),
            bytes: count("bytes"),
            dropped: count("dropped"),
            stopped: count("stopped"),
            unknown_link: count("unknown_link_type"),
        }
    }

    pub(crate) fn update(&self, counters: &Counters) {
        let totals = counters.totals();
        for (metric, total) in [
            (&self.records, totals.records),
            (&self.bytes, totals.bytes),
            (&self.dropped, totals.dropped),
            (&self.stopped, totals.stopped),
            (&self.unknown_link, totals.unknown_link),
        ] {
            let total = usize::try_from(total).unwrap_or(usize::MAX);
            metric.add(total.saturating_sub(metric.value()));
        }
    }
}

/// The column with the times of the records.
pub(crate) const TIME: &str = "frame.time";
