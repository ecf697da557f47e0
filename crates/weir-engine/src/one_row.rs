//! Subqueries that have one row for each row of the outer query: aggregates without GROUP BY.
//!
//! DataFusion plans `EXISTS (SELECT count(*) …)` and `a IN (SELECT count(*) …)` as joins with groups, of which there is none where
//! nothing is equal to the outer row, and so without the row that has the count 0. EXISTS of such a subquery is true, and IN, ANY and
//! ALL compare with its value, for which the rule of scalar subqueries has that row.

use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison};
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, Subquery, lit};
use weir_functions::pass::{Inputs, Pass};

/// Puts values in the place of predicates over such subqueries.
pub(crate) struct OneRow;

impl Pass for OneRow {
    fn expr(&self, expr: Expr, _inputs: &Inputs) -> Result<Transformed<Expr>> {
        let (left, op, subquery) = match expr {
            Expr::Exists(Exists { subquery, negated }) if has_one_row(&subquery) => {
                return Ok(Transformed::yes(lit(!negated)));
            }
            Expr::InSubquery(InSubquery {
                expr,
                subquery,
                negated,
            }) if has_one_value(&subquery) => {
                let op = match negated {
                    true => Operator::NotEq,
                    false => Operator::Eq,
                };
                (expr, op, subquery)
            }
            Expr::SetComparison(SetComparison {
                expr,
                subquery,
                op,
                quantifier: _,
            }) if has_one_value(&subquery) => (expr, op, subquery),
            expr => return Ok(Transformed::no(expr)),
        };
        let right = Box::new(Expr::ScalarSubquery(subquery));
        let compared = Expr::BinaryExpr(BinaryExpr::new(left, op, right));
        Ok(Transformed::yes(compared))
    }
}

/// A subquery of another number of columns is one that the planner refuses.
fn has_one_value(subquery: &Subquery) -> bool {
    has_one_row(subquery) && subquery.subquery.schema().fields().len() == 1
}

/// Returns whether a subquery over columns of the outer query has one row: a subquery without them is read by itself,
/// with all its rows.
fn has_one_row(subquery: &Subquery) -> bool {
    if subquery.outer_ref_columns.is_empty() {
        return false;
    }
    let mut plan = subquery.subquery.as_ref();
    loop {
        plan = match plan {
            LogicalPlan::Projection(projection) => projection.input.as_ref(),
            LogicalPlan::SubqueryAlias(alias) => alias.input.as_ref(),
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => sort.input.as_ref(),
            LogicalPlan::Aggregate(aggregate) => return aggregate.group_expr.is_empty(),
            _ => return false,
        };
    }
}
