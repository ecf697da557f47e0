//! `TABLESAMPLE`: part of the rows of a table, drawn by lot.
//!
//! The lot of a row hangs on the seed and on the row's number in the table alone, not on who reads it: the
//! sample of a seed is the same over any number of threads, fused or not. So the step that draws reads all
//! rows of its input in their order, and filters stay above it.

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
use datafusion::sql::sqlparser::ast::{
    self, TableFactor, TableSample, TableSampleKind, TableSampleMethod, TableSampleUnit,
    UnaryOperator, Value,
};

use crate::error::{Error, ErrorKind};
use node::SampleExec;

/// Which rows are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Draw {
    /// Each row with this probability, by its own lot.
    Rows(f64),
    /// Each block of [`BLOCK_ROWS`] rows that follow each other with this probability.
    Blocks(f64),
    /// So many rows, or all when there are no more.
    Count(u64),
}

/// A sample as it was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) draw: Draw,
    /// `None` for another sample each time.
    pub(crate) seed: Option<u64>,
}

/// Rows of which `SYSTEM` takes all or none.
pub(crate) const BLOCK_ROWS: u64 = 1_024;

impl Sample {
    /// What the clause asks for.
    ///
    /// # Errors
    /// When it asks for what is not drawn here, or for less than nothing or more than all.
    pub(crate) fn read(sample: &TableSample) -> Result<Self, Error> {
        let TableSample {
            modifier: _,
            name,
            quantity,
            seed,
            bucket,
            offset,
        } = sample;
        if bucket.is_some() {
            return Err(refused("TABLESAMPLE (BUCKET … OUT OF …)"));
        }
        if offset.is_some() {
            return Err(refused("SAMPLE … OFFSET"));
        }
        let Some(quantity) = quantity else {
            return Err(refused("TABLESAMPLE without a size"));
        };
        let Some(size) = number(&quantity.value) else {
            let message = format!("the size of a sample is a number, not {}", quantity.value);
            return Err(Error::new(ErrorKind::Plan, message).with_hint(EXAMPLES));
        };
        let by_blocks = match name {
            Some(TableSampleMethod::System | TableSampleMethod::Block) => true,
            Some(TableSampleMethod::Bernoulli | TableSampleMethod::Row) | None => false,
        };
        let draw = match (&quantity.unit, quantity.parenthesized) {
            (Some(TableSampleUnit::Rows), _) => {
                if name.is_some() {
                    let message = "a number of rows is drawn without BERNOULLI or SYSTEM";
                    return Err(Error::new(ErrorKind::Plan, message).with_hint(EXAMPLES));
                }
                Draw::Count(count(size)?)
            }
            // SAMPLE 0.1 of ClickHouse is a part of one; what stands in parentheses is per cent.
            (None, false) => draw(by_blocks, part(size, 1.0, "part of one")?),
            (Some(TableSampleUnit::Percent) | None, _) => {
                draw(by_blocks, part(size, 100.0, "per cent")?)
            }
        };
        let seed = match seed {
            None => None,
            Some(seed) => Some(match &seed.value.value {
                Value::Number(digits, _) => digits.parse().map_err(|_| {
                    let message = format!("a seed is a whole number, not {digits}");
                    Error::new(ErrorKind::Plan, message).with_hint("REPEATABLE (42)")
                })?,
                other => {
                    let message = format!("a seed is a whole number, not {other}");
                    return Err(Error::new(ErrorKind::Plan, message).with_hint("REPEATABLE (42)"));
                }
            }),
        };
        Ok(Self { draw, seed })
    }
}

const fn draw(by_blocks: bool, part: f64) -> Draw {
    match by_blocks {
        true => Draw::Blocks(part),
        false => Draw::Rows(part),
    }
}

fn part(size: f64, whole: f64, unit: &str) -> Result<f64, Error> {
    match (0.0..=whole).contains(&size) {
        true => Ok(size / whole),
        false => {
            let message = format!("a sample is from 0 to {whole} {unit}, not {size}");
            Err(Error::new(ErrorKind::Plan, message).with_hint(EXAMPLES))
        }
    }
}

fn count(size: f64) -> Result<u64, Error> {
    // Beyond that a double has no place for each number, and no table so many rows.
    match size >= 0.0 && size.fract() == 0.0 && size < 9e15 {
        true => Ok(size as u64),
        false => {
            let message = format!("a sample has a whole number of rows, not {size}");
            Err(Error::new(ErrorKind::Plan, message).with_hint(EXAMPLES))
        }
    }
}

/// The number that an expression is as it is written.
fn number(expr: &ast::Expr) -> Option<f64> {
    match expr {
        ast::Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.parse().ok(),
            _ => None,
        },
        ast::Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => number(expr).map(|value| -value),
        ast::Expr::UnaryOp {
            op: UnaryOperator::Plus,
            expr,
        } => number(expr),
        ast::Expr::Nested(expr) => number(expr),
        ast::Expr::BinaryOp {
            left,
            op: ast::BinaryOperator::Divide,
            right,
        } => Some(number(left)? / number(right)?).filter(|value| value.is_finite()),
        _ => None,
    }
}

fn refused(what: &str) -> Error {
    Error::new(ErrorKind::Plan, format!("not supported: {what}")).with_hint(EXAMPLES)
}

const EXAMPLES: &str = "TABLESAMPLE (10 PERCENT), TABLESAMPLE (500 ROWS), TABLESAMPLE SYSTEM (5) REPEATABLE (42) are understood";

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
    /// What tells two steps from each other, beside their inputs.
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

impl fmt::Display for Draw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows(part) => write!(f, "rows={} %", part * 100.0),
            Self::Blocks(part) => write!(f, "blocks={} %", part * 100.0),
            Self::Count(count) => write!(f, "count={count}"),
        }
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

/// DataFusion's planner, with the steps that it does not know.
#[derive(Debug)]
pub(crate) struct Planner;

#[async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        state: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(Steps)])
            .create_physical_plan(plan, state)
            .await
    }
}

struct Steps;

#[async_trait]
impl ExtensionPlanner for Steps {
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
