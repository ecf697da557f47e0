//! Plans over sources that have no end of their own: what may run, and looks at groups as they stand.

mod groups;

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::error::Result as DfResult;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use weir_functions::{Error, ErrorKind};
use weir_tables::Source;

use crate::exchange::behind_exchanges;
use crate::fuse::FusedAggregate;
use crate::scan::CaptureScan;
use groups::LiveGroups;

/// The sources that a node reads itself.
fn sources(plan: &Arc<dyn ExecutionPlan>) -> Vec<&Source> {
    if let Some(scan) = plan.downcast_ref::<CaptureScan>() {
        return scan.reading().sources.iter().collect();
    }
    let fused = plan.downcast_ref::<FusedAggregate>();
    fused.map_or_else(Vec::new, FusedAggregate::sources)
}

/// The number of readings of sources without an end in a plan.
pub(crate) fn growing(plan: &Arc<dyn ExecutionPlan>) -> usize {
    let own = sources(plan).iter().filter(|one| one.is_growing()).count();
    let children = plan.children();
    children.iter().fold(own, |sum, child| sum + growing(child))
}

/// Makes a plan over sources without an end ready to run.
///
/// # Errors
/// When packets are to be kept and not all of WHERE is decided where they are read, or when they are
/// wanted twice.
pub(crate) fn prepared(
    plan: Arc<dyn ExecutionPlan>,
    keeps: bool,
) -> Result<Arc<dyn ExecutionPlan>, Error> {
    if growing(&plan) > 1 {
        return Err(Error::new(
            ErrorKind::Plan,
            "packets of an interface can be read only once in a statement",
        )
        .with_hint("save them with weir live -w FILE, and query the file as often as you like"));
    }
    if keeps && let Some(filter) = undecided(&plan) {
        return Err(Error::new(
            ErrorKind::Plan,
            format!("the condition {filter} cannot be evaluated while packets are captured"),
        )
        .with_hint(
            "compare columns with constants in WHERE, or keep all packets and query the file",
        ));
    }
    // A filter gathers rows for a full batch, which may take days.
    let plan = plan.transform_down(|plan| match plan.downcast_ref::<FilterExec>() {
        Some(filter) => filter
            .with_batch_size(1)
            .map(|filter| Transformed::yes(Arc::new(filter) as Arc<dyn ExecutionPlan>)),
        None => Ok(Transformed::no(plan)),
    });
    let plan = plan.data().and_then(with_looks);
    plan.map_err(|error| Error::from_datafusion(ErrorKind::Plan, error, &[]))
}

/// The plan in which the groups next to a source without an end can be looked at.
fn with_looks(plan: Arc<dyn ExecutionPlan>) -> DfResult<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|plan| {
        let is_next = growing(&plan) > 0 && !has_groups(&plan);
        // Groups over rows that only come at the end have nothing to show before.
        if !is_next || !plan.children().into_iter().all(are_rows_seen) {
            return Ok(Transformed::no(plan));
        }
        Ok(match LiveGroups::of(&plan)? {
            Some(groups) => Transformed::yes(Arc::new(groups) as Arc<dyn ExecutionPlan>),
            None => Transformed::no(plan),
        })
    })
    .data()
}

/// Whether rows reach an aggregate, or its partial stage, as they are read.
fn are_rows_seen(input: &Arc<dyn ExecutionPlan>) -> bool {
    let input = behind_exchanges(input);
    match input.downcast_ref::<AggregateExec>() {
        Some(partial) if *partial.mode() == AggregateMode::Partial => is_streaming(partial.input()),
        _ => is_streaming(input),
    }
}

/// A condition on the rows of a growing source that is decided above its scan.
fn undecided(plan: &Arc<dyn ExecutionPlan>) -> Option<String> {
    if let Some(filter) = plan.downcast_ref::<FilterExec>()
        && is_scanned(filter.input())
    {
        return Some(filter.predicate().to_string());
    }
    plan.children().into_iter().find_map(undecided)
}

/// Whether rows come from a scan one by one, unchanged.
fn is_scanned(plan: &Arc<dyn ExecutionPlan>) -> bool {
    match plan.children().as_slice() {
        [] => sources(plan).iter().any(|source| source.is_growing()) && is_scan(plan),
        [input] => plan.pipeline_behavior() == EmissionType::Incremental && is_scanned(input),
        _ => false,
    }
}

fn is_scan(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.downcast_ref::<CaptureScan>().is_some()
}

/// Whether rows leave the plan while the source still grows.
pub(crate) fn is_streaming(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.pipeline_behavior() == EmissionType::Incremental
        && plan.children().into_iter().all(is_streaming)
}

/// Whether a plan has groups that can be read before its end.
pub(crate) fn has_groups(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let mut found = false;
    let walked = plan.apply(|plan| {
        found |= has_own_groups(plan);
        Ok(TreeNodeRecursion::Continue)
    });
    walked.is_ok() && found
}

/// Whether a node sends its groups on request: those of a source without an end, and whole ones.
fn has_own_groups(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let fused = plan.downcast_ref::<FusedAggregate>();
    plan.downcast_ref::<LiveGroups>().is_some()
        || fused.is_some_and(|fused| {
            !fused.is_partial() && fused.sources().iter().any(|one| one.is_growing())
        })
}

/// The plan with these groups in place of those that it would read.
pub(crate) fn with_groups(
    plan: Arc<dyn ExecutionPlan>,
    groups: &[RecordBatch],
) -> DfResult<Arc<dyn ExecutionPlan>> {
    plan.transform_down(|plan| {
        if !has_own_groups(&plan) {
            return Ok(Transformed::no(plan));
        }
        let schema = plan.schema();
        let groups = MemorySourceConfig::try_new_exec(&[groups.to_vec()], schema, None)?;
        Ok(Transformed::yes(groups as Arc<dyn ExecutionPlan>))
    })
    .data()
}
