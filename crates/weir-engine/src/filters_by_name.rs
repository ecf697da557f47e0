//! Filters of physical plans, and columns of one name.
//!
//! DataFusion pushes filters down a physical plan, also those that it finds while rows are read, and takes the columns of a filter for those of
//! the same name in the node below. In rows of joins two columns may have one name: a condition on `p.b` was looked for in `q.b`, and the
//! row groups of a Parquet file were passed over by the statistics of another column. So no filter goes into a node with such columns.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream,
};

use crate::plan_node::{no_expressions, one_input};

/// A rule of DataFusion that pushes filters down, which goes by names.
#[derive(Debug)]
pub(crate) struct FiltersByName(pub(crate) Arc<dyn PhysicalOptimizerRule + Send + Sync>);

/// What the names of such rules begin with.
pub(crate) const PUSHING_RULES: &str = "FilterPushdown";

impl PhysicalOptimizerRule for FiltersByName {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let walled = plan.transform_up(|node| {
            Ok(match repeats_names(&node.schema()) {
                true => Transformed::yes(Arc::new(Wall { input: node }) as Arc<dyn ExecutionPlan>),
                false => Transformed::no(node),
            })
        });
        let pushed = self.0.optimize(walled.data()?, config)?;
        pushed
            .transform_up(|node| {
                Ok(match node.downcast_ref::<Wall>() {
                    Some(wall) => Transformed::yes(Arc::clone(&wall.input)),
                    None => Transformed::no(node),
                })
            })
            .data()
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

fn repeats_names(schema: &Schema) -> bool {
    let mut seen = HashSet::with_capacity(schema.fields().len());
    let mut fields = schema.fields().iter();
    !fields.all(|field| seen.insert(field.name()))
}

/// Stands above a node while filters are pushed down, and takes none.
#[derive(Debug)]
struct Wall {
    input: Arc<dyn ExecutionPlan>,
}

impl DisplayAs for Wall {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wall")
    }
}

impl ExecutionPlan for Wall {
    fn name(&self) -> &'static str {
        "Wall"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    no_expressions!();

    one_input!(|node, input| Self { input });

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }
}
