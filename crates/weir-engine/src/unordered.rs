//! The order of a subquery where no row depends on it.
//!
//! Rows of a subquery have its order, as in PostgreSQL and DuckDB. Groups have none, and aggregates that depend on the order of rows have
//! that of the files (`file_order`), so that a sort below them would only stand between them and a scan. The planner does not find
//! the columns of the outer query below a sort.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;
use weir_functions::pass::Pass;

/// Removes sorts right below aggregates, and those of subqueries in expressions and behind LATERAL.
pub(crate) struct Unordered;

impl Pass for Unordered {
    fn finish(&self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        Ok(match plan {
            LogicalPlan::Aggregate(mut aggregate) => match without_sort(&aggregate.input) {
                Some(input) => {
                    aggregate.input = Arc::new(input);
                    Transformed::yes(LogicalPlan::Aggregate(aggregate))
                }
                None => Transformed::no(LogicalPlan::Aggregate(aggregate)),
            },
            LogicalPlan::Subquery(query) => match without_sort(&query.subquery) {
                Some(plan) => {
                    let query = query.with_plan(Arc::new(plan));
                    Transformed::yes(LogicalPlan::Subquery(query))
                }
                None => Transformed::no(LogicalPlan::Subquery(query)),
            },
            plan => Transformed::no(plan),
        })
    }
}

/// The plan without its sort; `None` where it has none, or one that chooses rows.
fn without_sort(plan: &LogicalPlan) -> Option<LogicalPlan> {
    match plan {
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => {
            let below = without_sort(&sort.input);
            Some(below.unwrap_or_else(|| LogicalPlan::clone(&sort.input)))
        }
        LogicalPlan::Projection(projection) => {
            let mut projection = projection.clone();
            projection.input = Arc::new(without_sort(&projection.input)?);
            Some(LogicalPlan::Projection(projection))
        }
        LogicalPlan::Filter(filter) => {
            let mut filter = filter.clone();
            filter.input = Arc::new(without_sort(&filter.input)?);
            Some(LogicalPlan::Filter(filter))
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let mut alias = alias.clone();
            alias.input = Arc::new(without_sort(&alias.input)?);
            Some(LogicalPlan::SubqueryAlias(alias))
        }
        _ => None,
    }
}
