//! Operators that give way to other tasks of their thread.
//!
//! A task is cancelled when it gives way. DataFusion's sources do so after some batches, and its joins do not, which make any number of batches
//! of two: a count of a cross join held its thread until its end. Plans of other programs need have no such sources, either.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::error::Result;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::unnest::UnnestExec;

/// The plan with sources and operators that give way: those without inputs or with several, and those that make many rows of one.
///
/// # Errors
/// When an operator does not take its inputs, which would be a defect.
pub fn cooperative(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| {
        let gives_way = node.children().len() != 1 || node.downcast_ref::<UnnestExec>().is_some();
        Ok(match gives_way {
            true => {
                let node: Arc<dyn ExecutionPlan> = Arc::new(CooperativeExec::new(node));
                Transformed::yes(node)
            }
            false => Transformed::no(node),
        })
    })
    .data()
}

#[cfg(test)]
mod tests {
    use arrow::array::RecordBatch;
    use datafusion::physical_plan::{collect, displayable};
    use datafusion::prelude::SessionContext;

    use super::*;

    #[tokio::test]
    async fn joins_give_way() {
        let context = SessionContext::new();
        let sql = "SELECT x, y FROM (VALUES (1)) AS a(x), (VALUES (2)) AS b(y)";
        let frame = context.sql(sql).await.unwrap();
        let plan = frame.create_physical_plan().await.unwrap();
        let plan = cooperative(plan).unwrap();
        let shown = displayable(plan.as_ref()).indent(false).to_string();
        let lines: Vec<_> = shown.lines().map(str::trim).collect();
        let join = lines
            .iter()
            .position(|line| line.starts_with("CrossJoinExec"));
        let above = join.and_then(|join| lines.get(join.checked_sub(1)?));
        assert_eq!(above, Some(&"CooperativeExec"), "{shown}");
        let batches = collect(plan, context.task_ctx()).await.unwrap();
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        assert_eq!(rows, 1);
    }
}
