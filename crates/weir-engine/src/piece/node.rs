//! The plan node that reads pieces.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use arrow::array::{Array, BinaryArray, BooleanArray, RecordBatch, UInt32Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{exec_err, internal_err};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::{RecordBatchReceiverStream, RecordBatchStreamAdapter};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties, SendableRecordBatchStream, execute_stream,
};
use futures::StreamExt;
use tokio::runtime::Handle;
use weir_tables::{Location, Source, Stop};

use super::described::{QueryDescription, TemplateScan};
use super::report::{PieceId, Reports, record};
use super::settings::PieceSettings;
use crate::engine::Engine;
use crate::fuse::{Certified, PARTIAL_BYTES_MAX, in_part, in_part_by};
use crate::options::{Options, SharedMemory};
use crate::plan_node::no_expressions;
use crate::remote::Remote;
use crate::root::{Root, check_public};
use crate::scan_report::ScanReport;

/// A piece that one machine reads by itself.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    /// These sources, one after the other.
    Whole(Vec<Source>),
    /// A part of a source.
    Part(Part),
}

/// A part of a source.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) source: Source,
    pub(super) number: usize,
    /// Parts that there are.
    pub(super) count: usize,
    /// The requested number of parts: equal requests get equal parts.
    pub(super) requested: usize,
}

/// The work on each piece.
#[derive(Clone, Debug)]
pub enum PieceWork {
    /// The rows of the piece are returned: a [`TemplateScan`].
    Scan(Arc<dyn ExecutionPlan>),
    /// The rows of the piece are added to groups, whose states are returned: a partial aggregate above [`TemplateScan`]s.
    Aggregate(Arc<dyn ExecutionPlan>),
    /// A whole statement is answered; its one piece has no sources.
    Query(Arc<QueryDescription>),
}

impl PieceWork {
    fn schema(&self) -> SchemaRef {
        match self {
            Self::Scan(template) | Self::Aggregate(template) => template.schema(),
            Self::Query(query) => Arc::clone(&query.schema),
        }
    }
}

/// Reads the pieces that its child names: a partition of the child is a piece, and each of its rows one of the piece's
/// sources.
#[derive(Debug)]
pub struct PieceExec {
    work: PieceWork,
    input: Arc<dyn ExecutionPlan>,
    /// The folder of relative names.
    folder: PathBuf,
    /// The number of the reading in its statement.
    reading: u32,
    /// The work, for EXPLAIN.
    label: String,
    /// The pieces, on the machine that made the plan.
    pieces: Arc<[Piece]>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl PieceExec {
    /// Does this with each partition of `input`.
    #[must_use]
    pub fn new(
        work: PieceWork,
        input: Arc<dyn ExecutionPlan>,
        folder: PathBuf,
        reading: u32,
        label: String,
    ) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(work.schema()),
            Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self {
            work,
            input,
            folder,
            reading,
            label,
            pieces: Arc::from([]),
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// Does this with each of these pieces.
    ///
    /// # Errors
    /// When one of their sources has no place that others could read it at.
    pub(super) fn of_pieces(
        work: PieceWork,
        pieces: Vec<Piece>,
        folder: PathBuf,
        reading: u32,
        label: String,
    ) -> Result<Self> {
        let input = leaf(&pieces)?;
        Ok(Self {
            pieces: pieces.into(),
            ..Self::new(work, input, folder, reading, label)
        })
    }

    /// The names of the files whose parts do not go together, by their reports.
    pub(super) fn false_cuts(&self, reports: &Reports) -> Vec<String> {
        let mut wrong = Vec::new();
        for (index, piece) in self.pieces.iter().enumerate() {
            let Piece::Part(part) = piece else {
                continue;
            };
            if part.number > 0 {
                continue;
            }
            let first = u32::try_from(index).unwrap_or(u32::MAX);
            let count = u32::try_from(part.count).unwrap_or(u32::MAX);
            if !reports.go_together(self.reading, first..first.saturating_add(count)) {
                wrong.push(part.source.shown().into_owned());
            }
        }
        wrong
    }

    /// The same with these files in one piece each.
    pub(super) fn without_cuts(&self, files: &[String]) -> Result<Self> {
        let mut pieces = Vec::new();
        for piece in self.pieces.iter() {
            match piece {
                Piece::Part(part) if files.contains(&part.source.shown().into_owned()) => {
                    if part.number == 0 {
                        pieces.push(Piece::Whole(vec![part.source.clone()]));
                    }
                }
                piece => pieces.push(piece.clone()),
            }
        }
        Self::of_pieces(
            self.work.clone(),
            pieces,
            self.folder.clone(),
            self.reading,
            self.label.clone(),
        )
    }

    /// The same work on all sources together, on this machine; `None` for a whole statement.
    pub(super) fn whole(&self) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let (PieceWork::Scan(template) | PieceWork::Aggregate(template)) = &self.work else {
            return Ok(None);
        };
        let mut sources = Vec::new();
        for piece in self.pieces.iter() {
            match piece {
                Piece::Whole(of_piece) => sources.extend(of_piece.iter().cloned()),
                Piece::Part(part) if part.number == 0 => sources.push(part.source.clone()),
                Piece::Part(_) => {}
            }
        }
        let whole = Arc::clone(template)
            .transform_up(|node| {
                let Some(place) = node.downcast_ref::<TemplateScan>() else {
                    return Ok(Transformed::no(node));
                };
                let scan = place.description().scan(sources.clone(), true)?;
                Ok(Transformed::yes(scan))
            })
            .data()?;
        Ok(Some(whole))
    }

    /// The work on each piece.
    #[must_use]
    pub const fn work(&self) -> &PieceWork {
        &self.work
    }

    /// The folder of relative names.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The number of the reading in its statement.
    #[must_use]
    pub const fn reading(&self) -> u32 {
        self.reading
    }

    /// The work, for EXPLAIN.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The number of pieces.
    #[must_use]
    pub fn pieces(&self) -> usize {
        self.input.output_partitioning().partition_count()
    }
}

impl DisplayAs for PieceExec {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separate = match kind {
            DisplayFormatType::TreeRender => "\n",
            _ => {
                write!(f, "{}: ", self.name())?;
                "; "
            }
        };
        write!(f, "pieces={}{separate}{}", self.pieces(), self.label)
    }
}

impl ExecutionPlan for PieceExec {
    fn name(&self) -> &'static str {
        match self.work {
            PieceWork::Scan(_) => "PieceScan",
            PieceWork::Aggregate(_) => "PieceAggregate",
            PieceWork::Query(_) => "PieceQuery",
        }
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    no_expressions!();

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let [input] = children.as_slice() else {
            return internal_err!("pieces come from one table");
        };
        Ok(Arc::new(Self {
            pieces: Arc::clone(&self.pieces),
            ..Self::new(
                self.work.clone(),
                Arc::clone(input),
                self.folder.clone(),
                self.reading,
                self.label.clone(),
            )
        }))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let rows = self.input.execute(partition, Arc::clone(&context))?;
        let schema = self.schema();
        let config = context.session_config();
        let settings = config.get_extension::<PieceSettings>();
        let mut builder = RecordBatchReceiverStream::builder(Arc::clone(&schema), 2);
        let sender = builder.tx();
        let cancel = Stop::default();
        let reader = PieceReader {
            work: self.work.clone(),
            folder: self.folder.clone(),
            reading: self.reading,
            partition,
            metrics: self.metrics.clone(),
            settings: settings
                .map(|it| PieceSettings::clone(&it))
                .unwrap_or_default(),
            cancel: cancel.clone(),
            context,
        };
        let runtime = Handle::current();
        // Reading blocks for any length of time, so that it does not run on the threads of the plan.
        let of_rows = Arc::clone(&schema);
        builder.spawn_blocking(move || {
            let read = reader.read(rows, &of_rows, |batch| {
                let sender = sender.clone();
                async move { sender.send(Ok(batch)).await.is_ok() }
            });
            // A statement that reads no captures does not look at the flag of those that do, and is dropped.
            runtime.block_on(async {
                tokio::select! {
                    read = read => read,
                    () = sender.closed() => Ok(()),
                }
            })
        });
        // A dropped stream ends the reading, as no one waits for the rows any more.
        let guard = Guard(cancel);
        // A task that always finds a batch ready would not be cancelled.
        let batches = builder.build().then(move |batch| {
            let _ = &guard;
            async {
                tokio::task::yield_now().await;
                batch
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// Stops a reading when its receiver is gone.
struct Guard(Stop);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.request();
    }
}

/// The reader of a piece.
struct PieceReader {
    work: PieceWork,
    folder: PathBuf,
    reading: u32,
    partition: usize,
    metrics: ExecutionPlanMetricsSet,
    settings: PieceSettings,
    cancel: Stop,
    context: Arc<TaskContext>,
}

impl PieceReader {
    /// Reads the piece that the rows name.
    async fn read<F: Future<Output = bool>>(
        &self,
        mut rows: SendableRecordBatchStream,
        schema: &SchemaRef,
        give: impl Fn(RecordBatch) -> F,
    ) -> Result<()> {
        let mut named = Vec::new();
        while let Some(batch) = rows.next().await {
            named.extend(Named::of(&batch?)?);
        }
        let Some(first) = named.first() else {
            return Ok(());
        };
        let id = PieceId {
            reading: self.reading,
            piece: first.piece,
        };
        let report = Arc::new(ScanReport::default());
        // The damage that was found is reported, whether the piece ends well or not.
        let certified = Arc::new(Certified::default());
        let on_drop = ReportOnDrop {
            report: &report,
            certified: &certified,
            reader: self,
            id,
        };
        let given = match &self.work {
            PieceWork::Query(query) => self.answer(query, &report, schema, give).await,
            PieceWork::Scan(template) | PieceWork::Aggregate(template) => {
                self.run(template, &named, &report, &certified, schema, give)
                    .await
            }
        };
        drop(on_drop);
        given
    }

    /// Runs the template with these sources.
    async fn run<F: Future<Output = bool>>(
        &self,
        template: &Arc<dyn ExecutionPlan>,
        named: &[Named],
        report: &Arc<ScanReport>,
        certified: &Arc<Certified>,
        schema: &SchemaRef,
        give: impl Fn(RecordBatch) -> F,
    ) -> Result<()> {
        let part = match named {
            [one] if one.of > 0 => Some((one.part as usize, one.of as usize)),
            _ if named.iter().all(|source| source.of == 0) => None,
            _ => return exec_err!("a part of a file is a piece by itself"),
        };
        let root = Root::of(self.settings.roots.iter().map(PathBuf::as_path));
        let root = root.map_err(|error| DataFusionError::Execution(error.to_string()))?;
        let mut sources = Vec::new();
        for source in named {
            sources.push(source.source(&self.folder, root.as_ref())?);
        }
        let read_ahead = self.settings.threads.is_none_or(|threads| threads > 1);
        let plan = Arc::clone(template)
            .transform_up(|node| {
                let Some(place) = node.downcast_ref::<TemplateScan>() else {
                    return Ok(Transformed::no(node));
                };
                let scan = place.description().scan(sources.clone(), read_ahead)?;
                Ok(Transformed::yes(scan))
            })
            .data()?;
        let bytes = match self.settings.memory_limit_bytes {
            Some(bytes) => (bytes / PARTS_OF_LIMIT).min(PARTIAL_BYTES_MAX),
            None => PARTIAL_BYTES_MAX,
        };
        let plan = match (&self.work, part) {
            (PieceWork::Aggregate(_), Some((number, of))) => {
                let of_part = in_part_by(&plan, bytes, |_, fused| {
                    Some(Arc::new(fused.of_part(number, of)))
                })?;
                match of_part {
                    Some(plan) => plan,
                    None => {
                        return exec_err!("this machine cannot read a part of a file into groups");
                    }
                }
            }
            (_, Some(_)) => return exec_err!("only groups are read from parts of a file"),
            // DataFusion's own operator computes the same states where the aggregate cannot be fused.
            (PieceWork::Aggregate(_), None) => in_part(&plan, bytes)?.unwrap_or(plan),
            _ => plan,
        };
        let context = &self.context;
        let config = context
            .session_config()
            .clone()
            .with_extension(Arc::clone(report))
            .with_extension(Arc::clone(certified))
            .with_extension(Arc::new(self.cancel.clone()));
        let context = TaskContext::new(
            context.task_id(),
            context.session_id(),
            config,
            context.scalar_functions().clone(),
            context.higher_order_functions().clone(),
            context.aggregate_functions().clone(),
            context.window_functions().clone(),
            context.runtime_env(),
        );
        let mut batches = execute_stream(plan, Arc::new(context))?;
        while let Some(batch) = batches.next().await {
            if !give(of_schema(&batch?, schema)?).await {
                break;
            }
        }
        Ok(())
    }

    /// Answers a statement.
    async fn answer<F: Future<Output = bool>>(
        &self,
        query: &QueryDescription,
        report: &Arc<ScanReport>,
        schema: &SchemaRef,
        give: impl Fn(RecordBatch) -> F,
    ) -> Result<()> {
        let options = Options {
            memory_limit_bytes: self.settings.memory_limit_bytes,
            // The statement and the operators above it have one limit.
            shared_memory: Some(SharedMemory {
                pool: Arc::clone(self.context.memory_pool()),
                statements: 1,
            }),
            threads: self.settings.threads,
            geoip: self.settings.geoip.clone(),
            roots: self.settings.roots.clone(),
            stop: self.cancel.clone(),
            ..query.options(&self.folder)
        };
        let failed = |error: crate::Error| DataFusionError::External(Box::new(error));
        let engine = Engine::reporting(&options, Arc::clone(report), Some(self.cancel.clone()))
            .map_err(failed)?;
        for view in &query.views {
            for statement in engine.parse(view).map_err(failed)? {
                let mut answer = engine.answer(statement).await.map_err(failed)?;
                while answer.next().await.map_err(failed)?.is_some() {}
            }
        }
        let mut statements = engine.parse(&query.sql).map_err(failed)?;
        let (Some(statement), true) = (statements.pop(), statements.is_empty()) else {
            return exec_err!("a piece is one statement");
        };
        let mut answer = engine.answer(statement).await.map_err(failed)?;
        while let Some(batch) = answer.next().await.map_err(failed)? {
            if !give(of_schema(&batch, schema)?).await {
                break;
            }
        }
        Ok(())
    }
}

/// Reports the reading of a piece when it is dropped.
struct ReportOnDrop<'r> {
    report: &'r ScanReport,
    certified: &'r Certified,
    reader: &'r PieceReader,
    id: PieceId,
}

impl Drop for ReportOnDrop<'_> {
    fn drop(&mut self) {
        record(
            &self.reader.metrics,
            self.reader.partition,
            self.id,
            self.report,
            *self
                .certified
                .0
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
    }
}

/// The batch with the schema that was promised, which has its names and types.
fn of_schema(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    if batch.schema_ref() == schema {
        return Ok(batch.clone());
    }
    let rows = arrow::array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let batch =
        RecordBatch::try_new_with_options(Arc::clone(schema), batch.columns().to_vec(), &rows);
    Ok(batch?)
}

/// A row of the table of pieces.
struct Named {
    piece: u32,
    location: Vec<u8>,
    is_remote: bool,
    part: u32,
    /// Parts of the file that were requested; 0 when it is read whole.
    of: u32,
}

impl Named {
    fn of(batch: &RecordBatch) -> Result<Vec<Self>> {
        let [pieces, locations, remotes, parts, of] = batch.columns() else {
            return internal_err!("a table of pieces has five columns");
        };
        let (Some(pieces), Some(locations), Some(remotes), Some(parts), Some(of)) = (
            pieces.as_any().downcast_ref::<UInt32Array>(),
            locations.as_any().downcast_ref::<BinaryArray>(),
            remotes.as_any().downcast_ref::<BooleanArray>(),
            parts.as_any().downcast_ref::<UInt32Array>(),
            of.as_any().downcast_ref::<UInt32Array>(),
        ) else {
            return internal_err!("the columns of a table of pieces are of other types");
        };
        let rows = (0..batch.num_rows()).map(|row| Self {
            piece: pieces.value(row),
            location: locations.value(row).to_vec(),
            is_remote: remotes.value(row),
            part: parts.value(row),
            of: of.value(row),
        });
        Ok(rows.collect())
    }

    /// The source that it names, on this machine.
    fn source(&self, folder: &Path, root: Option<&Root>) -> Result<Source> {
        let failed = |error: crate::Error| DataFusionError::External(Box::new(error));
        if self.is_remote {
            let Ok(address) = std::str::from_utf8(&self.location) else {
                return exec_err!("an address is not UTF-8");
            };
            // An engine that is confined to folders sends no requests to other machines, as in statements.
            if let Some(root) = root {
                return Err(failed(root.refusal(&weir_capture::redacted(address))));
            }
            let remote = Remote::new(&Options::default()).map_err(failed)?;
            let mut found = remote.expand(address).map_err(failed)?;
            return match (found.pop(), found.is_empty()) {
                (Some(location), true) => Ok(Source::capture(location)),
                _ => exec_err!(
                    "{} does not name a single object",
                    weir_capture::redacted(address)
                ),
            };
        }
        let path = path_of(&self.location);
        let place = folder.join(&path);
        match root {
            Some(root) => root.check(&place),
            None => check_public(&place),
        }
        .map_err(failed)?;
        if let Err(error) = std::fs::metadata(&place) {
            return exec_err!(
                "{} cannot be read by the executor: {error}",
                weir_capture::shown(&place)
            );
        }
        if is_special(&place) {
            return exec_err!(
                "{} is a pipe, a socket or a device, and an executor reads files only",
                weir_capture::shown(&place)
            );
        }
        let is_here = std::env::current_dir().is_ok_and(|here| here == folder);
        Ok(match path.is_absolute() || is_here {
            true => Source::capture(Location::File(path)),
            false => {
                let shown = weir_capture::shown(&path).into_owned();
                Source::capture(Location::File(place)).shown_as(&shown)
            }
        })
    }
}

/// Whether there is a pipe, a socket or a device at a path: it may have no end, and others cannot read the same from it.
pub(super) fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|kind| !kind.is_file() && !kind.is_dir())
}

/// A table of pieces, each a partition.
///
/// # Errors
/// When one of the sources has no place that others could read it at.
fn leaf(pieces: &[Piece]) -> Result<Arc<dyn ExecutionPlan>> {
    let schema = Arc::new(Schema::new(vec![
        Field::new("piece", DataType::UInt32, false),
        Field::new("location", DataType::Binary, false),
        Field::new("remote", DataType::Boolean, false),
        Field::new("part", DataType::UInt32, false),
        Field::new("of", DataType::UInt32, false),
    ]));
    let mut partitions = Vec::new();
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    for (index, piece) in pieces.iter().enumerate() {
        let (sources, part, of) = match piece {
            Piece::Whole(sources) => (sources.as_slice(), 0, 0),
            Piece::Part(part) => (
                std::slice::from_ref(&part.source),
                number(part.number),
                number(part.requested),
            ),
        };
        let piece = u32::try_from(index).unwrap_or(u32::MAX);
        let mut locations: Vec<Vec<u8>> = Vec::new();
        let mut remotes = Vec::new();
        for source in sources {
            match source.location() {
                Location::File(path) => locations.push(bytes_of(path)),
                Location::Object(object) => {
                    // The first line of an object's identity is its address.
                    let address = object.identity().lines().next().unwrap_or_default();
                    locations.push(address.as_bytes().to_vec());
                }
                _ => return internal_err!("standard input is read where it is"),
            }
            remotes.push(matches!(source.location(), Location::Object(_)));
        }
        if locations.is_empty() {
            locations.push(Vec::new());
            remotes.push(false);
        }
        let rows = remotes.len();
        let locations = locations.iter().map(Vec::as_slice);
        let batch = RecordBatch::try_new(
            Arc::clone(&schema),
            vec![
                Arc::new(UInt32Array::from(vec![piece; rows])),
                Arc::new(BinaryArray::from_iter_values(locations)),
                Arc::new(BooleanArray::from(remotes)),
                Arc::new(UInt32Array::from(vec![part; rows])),
                Arc::new(UInt32Array::from(vec![of; rows])),
            ],
        )?;
        partitions.push(vec![batch]);
    }
    let source = MemorySourceConfig::try_new(&partitions, schema, None)?;
    Ok(DataSourceExec::from_data_source(source))
}

#[cfg(unix)]
fn bytes_of(path: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    path.as_os_str().as_bytes().to_vec()
}

#[cfg(unix)]
fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(not(unix))]
fn bytes_of(path: &Path) -> Vec<u8> {
    path.to_string_lossy().into_owned().into_bytes()
}

#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

/// The share of the memory limit that the groups of one piece may have.
const PARTS_OF_LIMIT: usize = 8;

#[cfg(test)]
mod tests {
    use datafusion::execution::memory_pool::FairSpillPool;
    use datafusion::execution::runtime_env::RuntimeEnvBuilder;
    use datafusion::prelude::SessionConfig;

    use super::*;

    /// A statement that reads no captures went on without an end when its task was cancelled.
    #[test]
    fn a_statement_ends_when_its_rows_are_not_wanted_any_more() {
        // A runtime that is dropped would wait for its threads.
        let runtime: &'static _ = Box::leak(Box::new(
            tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .thread_stack_size(16 << 20)
                .build()
                .unwrap(),
        ));
        for endless in [
            "generate_series(1, 1000000000000)",
            "generate_series(1, 1000000) a, generate_series(1, 1000000) b",
        ] {
            let sql = format!("SELECT 1 AS x UNION ALL SELECT count(*) FROM {endless}");
            let schema = Schema::new(vec![Field::new("x", DataType::Int64, true)]);
            let options = Options::default();
            let query = QueryDescription::new(sql, Vec::new(), Arc::new(schema), &options);
            let query = Arc::new(query);
            let held = Arc::downgrade(&query);
            let piece = PieceExec::of_pieces(
                PieceWork::Query(query),
                vec![Piece::Whole(Vec::new())],
                std::env::temp_dir(),
                0,
                String::new(),
            )
            .unwrap();
            runtime.block_on(async {
                let mut rows = piece.execute(0, Arc::new(TaskContext::default())).unwrap();
                assert!(rows.next().await.unwrap().is_ok());
            });
            drop(piece);
            weir_testkit::until(endless, || held.strong_count() == 0);
        }
    }

    /// A statement had a limit of its own beside that of its task, which held twice as much together.
    #[test]
    fn a_statement_shares_the_memory_of_its_task() {
        let sql = "SELECT count(*) AS x FROM (SELECT v, sum(v) OVER () AS s FROM generate_series(1, 1000000) t(v)) WHERE s > v";
        let schema = Schema::new(vec![Field::new("x", DataType::Int64, true)]);
        let options = Options::default();
        let query = QueryDescription::new(sql.to_owned(), Vec::new(), Arc::new(schema), &options);
        let piece = PieceExec::of_pieces(
            PieceWork::Query(Arc::new(query)),
            vec![Piece::Whole(Vec::new())],
            std::env::temp_dir(),
            0,
            String::new(),
        )
        .unwrap();
        let settings = PieceSettings {
            memory_limit_bytes: Some(1 << 30),
            ..PieceSettings::default()
        };
        let of_task = RuntimeEnvBuilder::new();
        let of_task = of_task.with_memory_pool(Arc::new(FairSpillPool::new(4 << 20)));
        let config = SessionConfig::new().with_extension(Arc::new(settings));
        let context = TaskContext::default()
            .with_session_config(config)
            .with_runtime(of_task.build_arc().unwrap());
        let threads = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .thread_stack_size(16 << 20)
            .build()
            .unwrap();
        let outcome = threads.block_on(async {
            let mut rows = piece.execute(0, Arc::new(context)).unwrap();
            rows.next().await.unwrap()
        });
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains("out of memory"), "{error}");
    }

    /// A pipe without a writer held a thread of an executor for good.
    #[test]
    fn an_executor_reads_no_pipes_and_devices() {
        let named = |location: &str| Named {
            piece: 0,
            location: location.as_bytes().to_vec(),
            is_remote: false,
            part: 0,
            of: 0,
        };
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let source = |location| named(location).source(folder, None);
        assert!(source("Cargo.toml").is_ok());
        let refused = source("/dev/null").err().unwrap().to_string();
        assert!(
            refused.contains("is a pipe, a socket or a device"),
            "{refused}"
        );
    }
}
