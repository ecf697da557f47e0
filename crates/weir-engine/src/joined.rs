//! Rules of DataFusion's optimizer that plans without joins are spared.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// A rule that changes joins only, and of each projection looks all columns up to find out which of them joins below it must have.
#[derive(Debug)]
pub(crate) struct OfJoins(pub(crate) Arc<dyn OptimizerRule + Send + Sync>);

impl OptimizerRule for OfJoins {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        match has_join(&plan)? {
            true => self.0.rewrite(plan, config),
            false => Ok(Transformed::no(plan)),
        }
    }
}

fn has_join(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|plan| {
        found |= matches!(plan, LogicalPlan::Join(_));
        Ok(match found {
            true => TreeNodeRecursion::Stop,
            false => TreeNodeRecursion::Continue,
        })
    })?;
    Ok(found)
}

/// The rule that is one of joins.
pub(crate) const ELIMINATE_JOIN: &str = "eliminate_join";
