//! The order of a subquery where no row depends on it, or aggregates alone.
//!
//! Rows of a subquery have its order, as in PostgreSQL and DuckDB. Groups have none, so that a sort below them would only stand between
//! them and a scan. Aggregates that depend on the order of rows get the keys of the sort as an ORDER BY of their own (`array_agg(x)` over a
//! subquery with an order is `array_agg(x ORDER BY …)`): the planner would drop a sort that no operator asks for. Without a sort they have
//! the order of the files (`file_order`). The planner does not find the columns of the outer query below a sort.

use std::sync::Arc;

use datafusion::common::Column;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    Aggregate, Expr, Filter, Limit, LogicalPlan, Projection, Sort, SortExpr, SubqueryAlias,
};
use weir_functions::pass::Pass;

use crate::file_order::BY_ORDER;

/// Removes sorts right below aggregates, whose order these get where they depend on it, and those of subqueries in expressions and
/// behind LATERAL.
pub(crate) struct Unordered;

impl Pass for Unordered {
    fn finish(&self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        Ok(match plan {
            LogicalPlan::Aggregate(aggregate) => aggregated(aggregate)?,
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

fn aggregated(mut aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let hangs_on_order = aggregate
        .aggr_expr
        .iter_mut()
        .any(|expr| by_order(expr).is_some());
    if hangs_on_order && let Some(sorted) = Sorted::of(&aggregate.input, false)? {
        return with_order(aggregate, sorted);
    }
    Ok(match without_sort(&aggregate.input) {
        Some(input) => {
            aggregate.input = Arc::new(input);
            Transformed::yes(LogicalPlan::Aggregate(aggregate))
        }
        None => Transformed::no(LogicalPlan::Aggregate(aggregate)),
    })
}

/// Gives the aggregates that depend on the order of rows the order of their input.
fn with_order(aggregate: Aggregate, sorted: Sorted) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new_for_projection();
    let order = sorted.order();
    let mut aggregates = aggregate.aggr_expr;
    for expr in &mut aggregates {
        let name = names.save(expr);
        if let Some(function) = by_order(expr) {
            function.params.order_by.clone_from(&order);
            *expr = name.restore(std::mem::take(expr));
        }
    }
    let input = Arc::new(sorted.plan);
    let aggregate = Aggregate::try_new(input, aggregate.group_expr, aggregates)?;
    Ok(Transformed::yes(LogicalPlan::Aggregate(aggregate)))
}

/// The call of an aggregate whose value depends on the order of rows, and that has none of its own. That of distinct values has none.
fn by_order(expr: &mut Expr) -> Option<&mut AggregateFunction> {
    match expr {
        Expr::Alias(alias) => by_order(&mut alias.expr),
        Expr::AggregateFunction(function)
            if BY_ORDER.contains(&function.func.name())
                && !function.params.distinct
                && function.params.order_by.is_empty() =>
        {
            Some(function)
        }
        _ => None,
    }
}

/// A plan whose last columns are the keys of the order that its rows have.
struct Sorted {
    plan: LogicalPlan,
    /// Of each key, whether it is ascending, and whether NULL comes first.
    directions: Vec<(bool, bool)>,
}

impl Sorted {
    /// `None` where the rows of a plan have no order. The sort itself stays where `is_needed`, or where it chooses rows.
    fn of(plan: &LogicalPlan, is_needed: bool) -> Result<Option<Self>> {
        let (below, is_needed) = match plan {
            LogicalPlan::Sort(sort) => return Self::by(sort, is_needed).map(Some),
            LogicalPlan::Projection(projection) => (&projection.input, is_needed),
            LogicalPlan::Filter(filter) => (&filter.input, is_needed),
            LogicalPlan::SubqueryAlias(alias) => (&alias.input, is_needed),
            LogicalPlan::Limit(limit) => (&limit.input, true),
            _ => return Ok(None),
        };
        let Some(mut below) = Self::of(below, is_needed)? else {
            return Ok(None);
        };
        let keys = below.keys().into_iter().map(Expr::Column);
        let input = Arc::new(below.plan);
        below.plan = match plan {
            LogicalPlan::Projection(projection) => {
                let columns = projection.expr.iter().cloned().chain(keys).collect();
                LogicalPlan::Projection(Projection::try_new(columns, input)?)
            }
            LogicalPlan::Filter(filter) => {
                LogicalPlan::Filter(Filter::try_new(filter.predicate.clone(), input)?)
            }
            LogicalPlan::SubqueryAlias(alias) => {
                LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(input, alias.alias.clone())?)
            }
            LogicalPlan::Limit(limit) => LogicalPlan::Limit(Limit {
                skip: limit.skip.clone(),
                fetch: limit.fetch.clone(),
                input,
            }),
            _ => return Ok(None),
        };
        Ok(Some(below))
    }

    /// The input of a sort with its keys. A constant orders nothing, and a key that comes again neither.
    fn by(sort: &Sort, is_needed: bool) -> Result<Self> {
        let mut keys: Vec<&SortExpr> = Vec::with_capacity(sort.expr.len());
        for key in &sort.expr {
            let is_known = keys.iter().any(|known| known.expr == key.expr);
            if !is_known && !matches!(key.expr, Expr::Literal(..)) {
                keys.push(key);
            }
        }
        let directions = keys.iter().map(|key| (key.asc, key.nulls_first)).collect();
        let columns = sort.input.schema().columns().into_iter().map(Expr::Column);
        let keys = keys.iter().enumerate();
        let keys = keys.map(|(place, key)| key.expr.clone().alias(format!("__order_{place}")));
        let columns = columns.chain(keys).collect();
        let input = match is_needed || sort.fetch.is_some() {
            true => LogicalPlan::Sort(sort.clone()),
            false => match without_sort(&sort.input) {
                Some(plan) => plan,
                None => LogicalPlan::clone(&sort.input),
            },
        };
        let plan = LogicalPlan::Projection(Projection::try_new(columns, Arc::new(input))?);
        Ok(Self { plan, directions })
    }

    /// The columns of the keys.
    fn keys(&self) -> Vec<Column> {
        let mut columns = self.plan.schema().columns();
        let others = columns.len().saturating_sub(self.directions.len());
        columns.split_off(others)
    }

    fn order(&self) -> Vec<SortExpr> {
        let keys = self.keys().into_iter().map(Expr::Column);
        let keys = keys.zip(&self.directions);
        keys.map(|(key, (asc, nulls_first))| SortExpr::new(key, *asc, *nulls_first))
            .collect()
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
