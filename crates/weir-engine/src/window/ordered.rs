//! Inputs whose records come in the order of time, or can be put into it.

use std::sync::Arc;
use std::time::Duration;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use super::time_order::{TimeOrder, in_time_order};
use crate::scan::CaptureScan;

/// The plan with its rows in the order of `over`: because they are already, or because what they
/// come from are streams whose order can be mended. `None` when only a sort would do it.
pub(crate) fn ordered(
    plan: &Arc<dyn ExecutionPlan>,
    over: &Arc<dyn PhysicalExpr>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if is_ordered(plan, over)? {
        return Ok(Some(Arc::clone(plan)));
    }
    let mended = Arc::clone(plan).transform_up(|plan| {
        Ok(match mended(&plan) {
            Some(mended) => Transformed::yes(mended),
            None => Transformed::no(plan),
        })
    })?;
    if mended.transformed && is_ordered(&mended.data, over)? {
        return Ok(Some(mended.data));
    }
    Ok(None)
}

fn is_ordered(plan: &Arc<dyn ExecutionPlan>, over: &Arc<dyn PhysicalExpr>) -> Result<bool> {
    let single = plan.output_partitioning().partition_count() == 1;
    Ok(single
        && plan
            .equivalence_properties()
            .ordering_satisfy([in_time_order(over)])?)
}

/// The scan of a stream, with its records put into the order of time.
fn mended(plan: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
    let scan = plan
        .downcast_ref::<CaptureScan>()
        .filter(|scan| scan.is_stream())?;
    let time = scan.time_column()?;
    let lateness = i64::try_from(LATENESS_DEFAULT.as_nanos()).ok()?;
    Some(Arc::new(TimeOrder::new(Arc::clone(plan), time, lateness)))
}

/// The default lateness of records of a stream: the ports of a capture card interleave their records up to a second out of order.
const LATENESS_DEFAULT: Duration = Duration::from_secs(1);
