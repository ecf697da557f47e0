//! The plan node of a fused aggregate.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet, RecordOutput};
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
    SendableRecordBatchStream,
};
use weir_tables::{Aggregate, Function, Source};

use super::pass::{AggregateSpec, Pass, ScanInput};
use super::work::{GrantedGroups, Work};
use crate::live_session::Live;
use crate::plan_node::{named_node, no_inputs};
use crate::scan::{Metrics, Reading, decodes, described, take_stdin};
use crate::scan_report::ScanReport;

/// Reads captures into groups. Described by paths, columns and predicates alone, as a scan is.
#[derive(Debug)]
pub(crate) struct FusedAggregate {
    passes: Vec<Pass>,
    functions: Vec<Function>,
    /// The bytes of groups at which their partial states are returned, for DataFusion's aggregate to merge; `None` when
    /// this operator has final groups.
    partial_bytes: Option<usize>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl FusedAggregate {
    pub(crate) fn new(
        schema: SchemaRef,
        passes: Vec<Pass>,
        functions: Vec<Function>,
        partial_bytes: Option<usize>,
    ) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(1),
            match partial_bytes {
                None => EmissionType::Final,
                Some(_) => EmissionType::Both,
            },
            Boundedness::Bounded,
        );
        Self {
            passes,
            functions,
            partial_bytes,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

impl FusedAggregate {
    /// A file that it reads may be read in parts by several.
    pub(crate) fn allows_parts(&self) -> bool {
        self.passes.iter().all(|pass| {
            let aggregate = Aggregate::new(pass.branches.clone(), &self.functions);
            !pass.scan_input.reading.sorted
                && aggregate.is_some_and(|aggregate| aggregate.allows_parts())
        })
    }

    /// The aggregate over one of `of` parts of its file.
    pub(crate) fn of_part(&self, number: usize, of: usize) -> Self {
        let mut passes = self.passes.clone();
        for pass in &mut passes {
            pass.scan_input.part = Some((number, of));
        }
        Self::new(
            self.schema(),
            passes,
            self.functions.clone(),
            self.partial_bytes,
        )
    }

    /// Returns whether another operator merges the groups.
    pub(crate) const fn is_partial(&self) -> bool {
        self.partial_bytes.is_some()
    }

    /// The specification of each of its readings.
    pub(crate) fn specs(&self) -> impl Iterator<Item = (&ScanInput, AggregateSpec)> {
        self.passes.iter().map(|pass| {
            let branches = pass.branches.clone();
            let functions = self.functions.clone();
            (
                &pass.scan_input,
                AggregateSpec {
                    branches,
                    functions,
                },
            )
        })
    }

    /// The readings of the node, one for each pass.
    pub(crate) fn readings(&self) -> impl Iterator<Item = &Reading> {
        self.passes.iter().map(|pass| &pass.scan_input.reading)
    }

    /// The same node without any groups.
    pub(crate) fn anew(&self) -> Self {
        Self::new(
            self.schema(),
            self.passes.clone(),
            self.functions.clone(),
            self.partial_bytes,
        )
    }

    /// All that it reads, once a pass.
    pub(crate) fn sources(&self) -> Vec<&Source> {
        let passes = self.passes.iter();
        passes
            .flat_map(|pass| &pass.scan_input.reading.sources)
            .collect()
    }
}

impl FusedAggregate {
    /// The text of EXPLAIN, with a note for each pass that others share.
    pub(crate) fn explain(
        &self,
        kind: DisplayFormatType,
        f: &mut fmt::Formatter<'_>,
        notes: &[Option<String>],
    ) -> fmt::Result {
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
            let note = notes.get(index).and_then(Option::as_deref);
            self.explain_pass(pass, separate, note, f)?;
        }
        if let Some(bytes) = self.partial_bytes {
            let mebibytes = bytes as f64 / f64::from(1 << 20);
            write!(f, "{separate}emits groups at={mebibytes:.1} MiB")?;
        }
        self.explain_groups(separate, f)
    }

    fn explain_pass(
        &self,
        pass: &Pass,
        separate: &str,
        note: Option<&str>,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        let mut needs = Vec::new();
        for branch in &pass.branches {
            branch.visit_columns(&mut |column| needs.push(column.needs()));
        }
        write!(f, "reads={}", described(&pass.scan_input.reading.sources))?;
        write!(f, "{separate}decodes={}", decodes(needs))?;
        for branch in &pass.branches {
            if let Some(predicate) = &branch.predicate {
                write!(f, "{separate}keeps while decoding={predicate}")?;
            }
        }
        if pass.branches.len() > 1 {
            write!(f, "{separate}branches in one pass={}", pass.branches.len())?;
        }
        if pass.scan_input.reading.merge {
            write!(f, "{separate}merged by=frame.time")?;
        }
        if pass.scan_input.partitions.len() > 1 {
            write!(
                f,
                "{separate}side by side={}",
                pass.scan_input.partitions.len()
            )?;
        }
        if pass.scan_input.parts > 1 {
            write!(
                f,
                "{separate}parts of the file side by side={}",
                pass.scan_input.parts
            )?;
        }
        if let Some(note) = note {
            write!(f, "{separate}{note}")?;
        }
        match pass.compiles(&self.functions) {
            Some(Ok(())) => write!(f, "{separate}compiled=aggregation of plain records")?,
            Some(Err(why)) => write!(f, "{separate}not compiled={why}")?,
            None => {}
        }
        Ok(())
    }

    /// The keys and functions, which are those of each branch.
    fn explain_groups(&self, separate: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
                format!("{}({argument}){filter}", word(function))
            });
            list(f, parts.collect())?;
        }
        Ok(())
    }
    /// Runs it, with the groups of a pass as `shared` has them where it has some. Standard input is taken by the caller.
    pub(crate) fn run(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
        scan_report: Arc<ScanReport>,
        shared: impl Fn(usize, &Work) -> Option<Result<Option<GrantedGroups>>> + Send + 'static,
    ) -> SendableRecordBatchStream {
        let schema = self.schema();
        let rows_max = context.session_config().batch_size();
        let live = context.session_config().get_extension::<Live>();
        let mut builder = RecordBatchReceiverStream::builder(Arc::clone(&schema), 2);
        let sender = builder.tx();
        let work = Work {
            live: live.unwrap_or_default(),
            schema: Arc::clone(&schema),
            rows_max,
            scan_report,
            metrics: Metrics::new(&self.metrics, partition),
            context,
            answer: sender.clone(),
            partial_bytes: self.partial_bytes,
        };
        // Reading blocks for any length of time, so that it does not run on the threads of the plan.
        let (passes, functions) = (self.passes.clone(), self.functions.clone());
        builder.spawn_blocking(move || {
            let outcome = work.run(passes, functions, shared);
            work.live.close();
            let mut kept = outcome?;
            while let Some(batch) = kept.aggregate.next_batch(&schema, rows_max)? {
                let batch = batch.record_output(&work.metrics.baseline);
                if sender.blocking_send(Ok(batch)).is_err() {
                    break;
                }
            }
            Ok(())
        });
        builder.build()
    }
}

impl DisplayAs for FusedAggregate {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.explain(kind, f, &[])
    }
}

/// The function as SQL writes it.
fn word(function: &Function) -> &str {
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
        Function::Sketch(sketch) => sketch.name(),
        _ => "an aggregate",
    }
}

impl ExecutionPlan for FusedAggregate {
    named_node!("FusedAggregate");

    no_inputs!();

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let scan_report = ScanReport::of(&context);
        for reading in self.readings() {
            take_stdin(&reading.sources, &scan_report)?;
        }
        Ok(self.run(partition, context, scan_report, |_, _| None))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
