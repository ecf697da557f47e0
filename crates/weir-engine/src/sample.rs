//! `TABLESAMPLE`: part of the rows of a table, drawn by lot.
//!
//! The lot of a row depends on the seed and on the row's number in the table alone, not on the thread that reads it:
//! the sample of a seed is the same over any number of threads, fused or not. So the step that draws reads all rows of
//! its input in their order, and filters stay above it.

mod node;

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{Column, DFSchemaRef, internal_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::{
    Expr, Extension, LogicalPlan, LogicalPlanBuilder, UserDefinedLogicalNode,
    UserDefinedLogicalNodeCore,
};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};
use datafusion::sql::sqlparser::ast::{TableFactor, TableSampleKind};
use weir_sql::table_sample::{Draw, Sample};

use node::SampleExec;

/// Plans table factors with a sample, which DataFusion would leave out without a word.
#[derive(Debug)]
pub(crate) struct SamplePlanner;

impl RelationPlanner for SamplePlanner {
    fn plan_relation(
        &self,
        mut relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let (sample, is_query) = match &mut relation {
            TableFactor::Table { sample, .. } => (sample.take(), false),
            TableFactor::Derived { sample, .. } => (sample.take(), true),
            _ => (None, false),
        };
        let Some(
            TableSampleKind::BeforeTableAlias(sample) | TableSampleKind::AfterTableAlias(sample),
        ) = sample
        else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let sample =
            Sample::read(&sample).map_err(|error| DataFusionError::Plan(error.to_string()))?;
        let mut input = context.plan(relation)?;
        if is_query && sample.seed.is_some() {
            // Groups and joins come in an order of their own, by which a seed would draw other rows each
            // time. Rows that are the same in all columns may stand for each other.
            let columns = input.schema().columns().into_iter();
            let orders = columns.map(|column| Expr::Column(column).sort(true, true));
            let orders: Vec<_> = orders.collect();
            input = LogicalPlanBuilder::from(input).sort(orders)?.build()?;
        }
        let seed = sample
            .seed
            .unwrap_or_else(|| RandomState::new().hash_one("sample"));
        let node = SampleNode {
            input,
            draw: sample.draw,
            seed,
        };
        let plan = LogicalPlan::Extension(Extension {
            node: Arc::new(node),
        });
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(
            plan, None,
        ))))
    }
}

/// The step of a plan that draws.
#[derive(Debug)]
struct SampleNode {
    input: LogicalPlan,
    draw: Draw,
    seed: u64,
}

impl SampleNode {
    /// The key that distinguishes steps with the same inputs.
    fn key(&self) -> (u8, u64, u64) {
        let (kind, size) = match self.draw {
            Draw::Rows(part) => (0, part.to_bits()),
            Draw::Blocks(part) => (1, part.to_bits()),
            Draw::Count(count) => (2, count),
        };
        (kind, size, self.seed)
    }
}

impl PartialEq for SampleNode {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key() && self.input == other.input
    }
}

impl Eq for SampleNode {}

impl PartialOrd for SampleNode {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match self.key().cmp(&other.key()) {
            Ordering::Equal => self.input.partial_cmp(&other.input),
            order => Some(order),
        }
    }
}

impl std::hash::Hash for SampleNode {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.key().hash(state);
        self.input.hash(state);
    }
}

impl UserDefinedLogicalNodeCore for SampleNode {
    fn name(&self) -> &'static str {
        "Sample"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    /// All of them: a row's number is that in the table.
    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        let columns = self.input.schema().columns();
        columns
            .into_iter()
            .map(|Column { name, .. }| name)
            .collect()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sample: {}", self.draw)
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        match <[_; 1]>::try_from(inputs) {
            Ok([input]) => Ok(Self {
                input,
                draw: self.draw,
                seed: self.seed,
            }),
            Err(_) => internal_err!("a sample has one input"),
        }
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(vec![output_columns.to_vec()])
    }
}

/// DataFusion's planner, with the plan nodes of this crate.
#[derive(Debug)]
pub(crate) struct Planner;

#[async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        state: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(SampleSteps)])
            .create_physical_plan(plan, state)
            .await
    }
}

struct SampleSteps;

#[async_trait]
impl ExtensionPlanner for SampleSteps {
    async fn plan_extension(
        &self,
        _planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _logical: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        _state: &dyn Session,
        _context: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let (Some(node), [input]) = (node.as_any().downcast_ref::<SampleNode>(), inputs) else {
            return Ok(None);
        };
        let step = SampleExec::new(Arc::clone(input), node.draw, node.seed);
        Ok(Some(Arc::new(step)))
    }
}
