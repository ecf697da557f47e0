//! Keys of an order whose order DataFusion cannot work out, or has otherwise than SQL.
//!
//! Where an operator needs its rows in an order, DataFusion compares that with the order of its input. Of a function or an operator that does
//! not say of which range its values are (`sqrt(x)`, `length(x) > 3`, the difference of two times) the comparison fails, and with
//! it the plan, although the sort below is by that very key. So such a key becomes a column of a projection below the operator.
//!
//! And keys that come again behind an equal one, which order nothing, are left out of aggregates: `first_value` counts them in one place and
//! not in another, and panics.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::sort_properties::ExprProperties;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, Projection, Sort, SortExpr, Window};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use datafusion::physical_expr::execution_props::ExecutionProps;
use datafusion::physical_expr::expressions::{Column as PhysicalColumn, Literal};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};

use crate::negative_zero::without_negative_zero;

/// See the module.
#[derive(Debug)]
pub(crate) struct ComputeKeys;

impl OptimizerRule for ComputeKeys {
    fn name(&self) -> &'static str {
        "compute_keys"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Sort(sort) => sorted(sort),
            LogicalPlan::Window(window) => windowed(window),
            LogicalPlan::Aggregate(aggregate) => aggregated(aggregate),
            plan => Ok(Transformed::no(plan)),
        }
    }
}

fn sorted(sort: Sort) -> Result<Transformed<LogicalPlan>> {
    let Sort {
        mut expr,
        input,
        fetch,
    } = sort;
    let mut keys = ComputedKeys::default();
    for key in &mut expr {
        keys.take(&mut key.expr, &input);
    }
    if keys.computed.is_empty() {
        let sort = Sort { expr, input, fetch };
        return Ok(Transformed::no(LogicalPlan::Sort(sort)));
    }
    let columns = input.schema().columns();
    let input = keys.below(input)?;
    let sort = LogicalPlan::Sort(Sort { expr, input, fetch });
    without_keys(columns, sort)
}

fn windowed(window: Window) -> Result<Transformed<LogicalPlan>> {
    let Window {
        input,
        mut window_expr,
        schema,
    } = window;
    let names = NamePreserver::new_for_projection();
    let mut keys = ComputedKeys::default();
    for expr in &mut window_expr {
        let name = names.save(expr);
        let Some(function) = window_function(expr) else {
            continue;
        };
        let params = &mut function.params;
        for key in &mut params.partition_by {
            keys.take(key, &input);
        }
        for key in &mut params.order_by {
            keys.take(&mut key.expr, &input);
        }
        *expr = name.restore(std::mem::take(expr));
    }
    if keys.computed.is_empty() {
        let window = Window {
            input,
            window_expr,
            schema,
        };
        return Ok(Transformed::no(LogicalPlan::Window(window)));
    }
    let input = keys.below(input)?;
    let window = LogicalPlan::Window(Window::try_new(window_expr, input)?);
    without_keys(schema.columns(), window)
}

fn aggregated(aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let mut aggregate = aggregate;
    let names = NamePreserver::new_for_projection();
    let mut keys = ComputedKeys::default();
    let mut is_changed = false;
    for expr in &mut aggregate.aggr_expr {
        if aggregate_function(expr).is_none_or(|function| function.params.order_by.is_empty()) {
            continue;
        }
        let name = names.save(expr);
        if let Some(function) = aggregate_function(expr) {
            // The order of an ordered set is that of its argument, whose sign at zero is part of no answer.
            let is_set = function.func.supports_within_group_clause();
            let order = &mut function.params.order_by;
            is_changed |= drop_repeated(order);
            for key in order {
                match is_set {
                    true => keys.take_unordered(&mut key.expr, aggregate.input.schema()),
                    false => keys.take(&mut key.expr, &aggregate.input),
                }
            }
        }
        *expr = name.restore(std::mem::take(expr));
    }
    if !is_changed && keys.computed.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let Aggregate {
        input,
        group_expr,
        aggr_expr,
        ..
    } = aggregate;
    let input = keys.below(input)?;
    let aggregate = Aggregate::try_new(input, group_expr, aggr_expr)?;
    Ok(Transformed::yes(LogicalPlan::Aggregate(aggregate)))
}

/// The window function that an expression calls, whatever the optimizer named it.
fn window_function(expr: &mut Expr) -> Option<&mut WindowFunction> {
    match expr {
        Expr::Alias(alias) => window_function(&mut alias.expr),
        Expr::WindowFunction(function) => Some(function.as_mut()),
        _ => None,
    }
}

/// The same for an aggregate.
fn aggregate_function(expr: &mut Expr) -> Option<&mut AggregateFunction> {
    match expr {
        Expr::Alias(alias) => aggregate_function(&mut alias.expr),
        Expr::AggregateFunction(function) => Some(function),
        _ => None,
    }
}

/// Leaves out keys behind an equal one; true when there was one.
fn drop_repeated(keys: &mut Vec<SortExpr>) -> bool {
    let before = keys.len();
    let mut kept: Vec<SortExpr> = Vec::with_capacity(before);
    for key in std::mem::take(keys) {
        if kept.iter().all(|earlier| earlier.expr != key.expr) {
            kept.push(key);
        }
    }
    *keys = kept;
    keys.len() < before
}

/// The plan with these columns alone.
fn without_keys(columns: Vec<Column>, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let columns = columns.into_iter().map(Expr::Column).collect();
    let projection = Projection::try_new(columns, Arc::new(plan))?;
    Ok(Transformed::yes(LogicalPlan::Projection(projection)))
}

/// The keys of an operator that are computed below it.
#[derive(Default)]
struct ComputedKeys {
    computed: Vec<Expr>,
}

impl ComputedKeys {
    /// Puts a column in the place of a key whose order DataFusion cannot work out, or that may be `-0.0`.
    fn take(&mut self, key: &mut Expr, input: &LogicalPlan) {
        match without_negative_zero(key, input) {
            Some(computed) => self.put(key, computed),
            None => self.take_unordered(key, input.schema()),
        }
    }

    fn take_unordered(&mut self, key: &mut Expr, schema: &DFSchema) {
        if !has_order(key, schema) {
            let computed = key.clone();
            self.put(key, computed);
        }
    }

    /// Puts the column of a computed key in the place of a key.
    fn put(&mut self, key: &mut Expr, computed: Expr) {
        let place = self.computed.iter().position(|known| *known == computed);
        let place = place.unwrap_or(self.computed.len());
        if place == self.computed.len() {
            self.computed.push(computed);
        }
        *key = Expr::Column(Column::new_unqualified(name(place)));
    }

    /// The input with a column for each key.
    fn below(self, input: Arc<LogicalPlan>) -> Result<Arc<LogicalPlan>> {
        if self.computed.is_empty() {
            return Ok(input);
        }
        let columns = input.schema().columns().into_iter().map(Expr::Column);
        let keys = self.computed.into_iter().enumerate();
        let keys = keys.map(|(place, key)| key.alias(name(place)));
        let projection = Projection::try_new(columns.chain(keys).collect(), input)?;
        Ok(Arc::new(LogicalPlan::Projection(projection)))
    }
}

/// The name of the column of a key.
fn name(place: usize) -> String {
    format!("__key_{place}")
}

/// Whether DataFusion can say in what order the values of an expression are, or that they are in none. What has no plan by itself is left
/// to DataFusion, but for the value of a query, which has no order.
fn has_order(expr: &Expr, schema: &DFSchema) -> bool {
    if let Expr::Column(_) | Expr::Literal(..) = expr {
        return true;
    }
    if has_query(expr) {
        return false;
    }
    let planning = PhysicalPlanningContext::default();
    match create_physical_expr(expr, schema, &ExecutionProps::new(), &planning) {
        Ok(physical) => properties(&physical, schema.as_arrow()).is_ok(),
        Err(_) => true,
    }
}

/// Whether the value of a query that does not depend on the row is part of an expression.
fn has_query(expr: &Expr) -> bool {
    let is_query = |part: &Expr| match part {
        Expr::ScalarSubquery(query) => query.outer_ref_columns.is_empty(),
        _ => false,
    };
    expr.exists(|part| Ok(is_query(part))).unwrap_or(false)
}

/// What DataFusion works out of an expression where it compares orders.
fn properties(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<ExprProperties> {
    if expr.is::<PhysicalColumn>() {
        let mut unbounded = ExprProperties::new_unknown();
        unbounded.range = Interval::make_unbounded(&expr.data_type(schema)?)?;
        return Ok(unbounded);
    }
    let children = expr.children().into_iter();
    let children: Vec<ExprProperties> = children
        .map(|child| properties(child, schema))
        .collect::<Result<_>>()?;
    match children.is_empty() && !expr.is::<Literal>() {
        true => Ok(ExprProperties::new_unknown()),
        false => expr.get_properties(&children),
    }
}
