//! Windows in logical plans: what the optimiser must not take apart.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, Projection};
use weir_functions::pass::Pass;

use super::function::{CLOSED_BY, GROUPED, SESSION, barrier};

/// Passes the other keys of GROUP BY as arguments to sessions and windows that a record closes: each group has its own windows.
/// (The optimizer may add further keys: those of a DISTINCT.) Windows in places where they cannot be computed are refused.
pub(crate) struct WindowKeys;

impl Pass for WindowKeys {
    fn finish(&self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Aggregate(aggregate) => aggregate_with_keys(aggregate),
            plan => Ok(Transformed::no(plan)),
        }
    }
}

fn aggregate_with_keys(aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let windows = aggregate
        .group_expr
        .iter()
        .filter(|expr| function(expr).is_some());
    match windows.count() {
        0 => {
            for expr in &aggregate.group_expr {
                if let Expr::GroupingSet(sets) = expr
                    && sets
                        .distinct_expr()
                        .iter()
                        .any(|expr| function(expr).is_some())
                {
                    return plan_err!("a window cannot be part of GROUPING SETS, ROLLUP or CUBE");
                }
            }
            return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
        }
        1 => {}
        _ => return plan_err!("GROUP BY can have only one of hop, session and closed_by"),
    }
    let keys: Vec<Expr> = aggregate
        .group_expr
        .iter()
        .filter(|expr| function(expr).is_none())
        .map(|expr| expr.clone().unalias())
        .collect();
    let groups = aggregate
        .group_expr
        .iter()
        .map(|expr| match function(expr) {
            Some(call) if [SESSION, CLOSED_BY].contains(&call.func.name()) => {
                let name = expr.schema_name().to_string();
                let args = call.args.iter().cloned().chain(keys.iter().cloned());
                let func = Arc::clone(&call.func);
                Expr::ScalarFunction(ScalarFunction::new_udf(func, args.collect())).alias(name)
            }
            _ => expr.clone(),
        });
    let groups: Vec<Expr> = groups.collect();
    let is_window: Vec<bool> = groups.iter().map(|expr| function(expr).is_some()).collect();
    let keyed = LogicalPlan::Aggregate(Aggregate::try_new(
        aggregate.input,
        groups,
        aggregate.aggr_expr,
    )?);
    // Conditions on the window stay above what computes it.
    let columns = keyed
        .schema()
        .iter()
        .enumerate()
        .map(|(index, (relation, field))| {
            let column = Expr::Column(Column::new(relation.cloned(), field.name()));
            match is_window.get(index) {
                Some(true) => barrier()
                    .call(vec![column])
                    .alias_qualified(relation.cloned(), field.name()),
                _ => column,
            }
        });
    let columns: Vec<Expr> = columns.collect();
    let projection = Projection::try_new(columns, Arc::new(keyed))?;
    Ok(Transformed::yes(LogicalPlan::Projection(projection)))
}

/// Returns whether an expression of GROUP BY is a window that does not depend on a row alone.
pub(crate) fn is_grouped(expr: &Expr) -> bool {
    function(expr).is_some()
}

/// The window that an expression of GROUP BY is, when it does not depend on a row alone.
fn function(expr: &Expr) -> Option<&ScalarFunction> {
    match expr {
        Expr::Alias(alias) => function(&alias.expr),
        Expr::ScalarFunction(call) if GROUPED.contains(&call.func.name()) => Some(call),
        _ => None,
    }
}
