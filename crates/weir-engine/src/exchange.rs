//! Operators that only hand batches from one thread to another.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::repartition::RepartitionExec;

/// The operator below those that only hand batches from one thread to another.
pub(crate) fn behind_exchanges(plan: &Arc<dyn ExecutionPlan>) -> &Arc<dyn ExecutionPlan> {
    let mut plan = plan;
    loop {
        let exchange = plan.downcast_ref::<CoalescePartitionsExec>().is_some()
            || plan.downcast_ref::<RepartitionExec>().is_some();
        match plan.children().as_slice() {
            [input] if exchange => plan = input,
            _ => return plan,
        }
    }
}
