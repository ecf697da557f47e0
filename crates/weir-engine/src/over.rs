//! The memory of rows that operators hold beside the limit.
//!
//! DataFusion's operator of functions whose frame has no end (`sum(x) OVER ()`) holds all its rows until the last has
//! come, and reserves no memory for them. Where there is a limit, the rows that go into it are counted by a node below
//! it.

use std::fmt;
use std::sync::Arc;

use crate::plan_node::{named_rule, no_expressions, one_input};
use crate::unnested::{count_unnested_rows, longest_bytes};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::unnest::ListUnnest;
use datafusion::physical_plan::windows::WindowAggExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream,
    replace_children_if_necessary,
};
use futures::TryStreamExt;

/// Puts a [`CountedRows`] below each operator that holds its rows without counting them, and counts the rows that lists become. It stands
/// behind all rules that look at orders and partitions.
#[derive(Debug)]
pub(crate) struct CountWindowRows;

impl PhysicalOptimizerRule for CountWindowRows {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        count_unnested_rows(count_window_rows(plan)?)
    }

    named_rule!("count_window_rows");
}

/// A plan whose window functions count the rows that they hold. An executor of a cluster is sent plans without this, and has a limit.
///
/// # Errors
/// When an operator cannot be put together again.
pub fn count_window_rows(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|plan| {
        if plan.downcast_ref::<WindowAggExec>().is_none() {
            return Ok(Transformed::no(plan));
        }
        let inputs = plan.children().into_iter();
        let inputs = inputs.map(|input| {
            let input = Arc::clone(input);
            Arc::new(CountedRows::new(input, Counting::All)) as Arc<dyn ExecutionPlan>
        });
        let inputs = inputs.collect();
        let counted = replace_children_if_necessary(Arc::clone(&plan), inputs)?;
        Ok(Transformed::yes(counted))
    })
    .data()
}

/// The memory that is reserved for rows that are passed on.
#[derive(Clone, Debug)]
pub(crate) enum Counting {
    /// That of all rows, until the operator above is done.
    All,
    /// That of the rows which the longest of these lists becomes, until the next batch.
    Unnested(Vec<ListUnnest>),
}

/// Passes rows on, and reserves memory that the operator above takes for them.
#[derive(Debug)]
pub(crate) struct CountedRows {
    input: Arc<dyn ExecutionPlan>,
    counting: Counting,
}

impl CountedRows {
    pub(crate) const fn new(input: Arc<dyn ExecutionPlan>, counting: Counting) -> Self {
        Self { input, counting }
    }
}

impl DisplayAs for CountedRows {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CountedRows")
    }
}

impl ExecutionPlan for CountedRows {
    fn name(&self) -> &'static str {
        "CountedRows"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    no_expressions!();

    one_input!(|node, input| Self::new(input, node.counting.clone()));

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let rows = self.input.execute(partition, Arc::clone(&context))?;
        let rows_max = context.session_config().batch_size();
        let counting = self.counting.clone();
        let consumer = MemoryConsumer::new(match counting {
            Counting::All => "WindowFunctions",
            Counting::Unnested(_) => "Unnest",
        });
        let reservation = consumer.register(context.memory_pool());
        let rows = rows.and_then(move |batch| {
            let reserved = match &counting {
                // The operator puts its batches together at the end.
                Counting::All => {
                    reservation.try_grow(batch.get_array_memory_size().saturating_mul(2))
                }
                Counting::Unnested(lists) => {
                    reservation.try_resize(longest_bytes(&batch, lists, rows_max))
                }
            };
            std::future::ready(reserved.map(|()| batch))
        });
        let rows = RecordBatchStreamAdapter::new(self.schema(), rows);
        Ok(Box::pin(rows))
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::AsArray;
    use arrow::datatypes::Int64Type;
    use datafusion::physical_plan::displayable;
    use datafusion::prelude::SessionContext;

    use super::count_window_rows;
    use crate::{Engine, Options};

    /// Executors of a cluster held the rows of window functions beside their limit.
    #[tokio::test]
    async fn window_functions_of_a_plan_count_their_rows() {
        let context = SessionContext::new();
        let sql = "SELECT sum(x) OVER () FROM (VALUES (1), (2)) AS a(x)";
        let frame = context.sql(sql).await.unwrap();
        let plan = count_window_rows(frame.create_physical_plan().await.unwrap()).unwrap();
        let shown = displayable(plan.as_ref()).indent(false).to_string();
        let lines: Vec<_> = shown.lines().map(str::trim).collect();
        let counted = lines.iter().position(|line| *line == "CountedRows");
        let above = counted.and_then(|counted| lines.get(counted.checked_sub(1)?));
        assert!(
            above.is_some_and(|line| line.starts_with("WindowAggExec")),
            "{shown}"
        );
    }

    #[tokio::test]
    async fn window_functions_stay_within_the_memory_limit() {
        let options = Options {
            memory_limit_bytes: Some(4 << 20),
            ..Options::default()
        };
        let engine = Engine::new(&options).unwrap();
        for (rows, expected) in [(1000, Ok(1000)), (1_000_000, Err(()))] {
            let sql = format!(
                "SELECT count(*) FROM (SELECT v, sum(v) OVER () AS s FROM generate_series(1, {rows}) t(v)) WHERE s > v"
            );
            let statement = engine.parse(&sql).unwrap().pop().unwrap();
            let mut answer = engine.answer(statement).await.unwrap();
            let count = match answer.next().await {
                Ok(batch) => {
                    let batch = batch.unwrap();
                    Ok(batch.column(0).as_primitive::<Int64Type>().value(0))
                }
                Err(error) => {
                    assert!(error.to_string().contains("out of memory"), "{error}");
                    Err(())
                }
            };
            assert_eq!(count, expected, "{rows}");
        }
    }
}
