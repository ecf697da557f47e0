//! Recursive queries, whose columns have the types of their first SELECT.
//!
//! The planner casts the values of the second SELECT to them, and so cuts off fractions and hours: `SELECT 1 UNION ALL SELECT n + 0.5
//! FROM r WHERE n < 3` had the row 1 without end. PostgreSQL refuses such a query. Casts that a statement has there are not the
//! planner's: `weir-sql` has a function around them.

use arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, RecursiveQuery};

use crate::pass::{Inputs, Pass};

/// Refuses recursive queries whose values would lose a part of themselves with each round.
pub struct Recursion;

impl Pass for Recursion {
    fn node(&self, plan: LogicalPlan, _inputs: &Inputs) -> Result<Transformed<LogicalPlan>> {
        if let LogicalPlan::RecursiveQuery(query) = &plan {
            check(query)?;
        }
        Ok(Transformed::no(plan))
    }
}

fn check(query: &RecursiveQuery) -> Result<()> {
    let columns = query.static_term.schema().fields().iter();
    for (at, column) in columns.enumerate() {
        let (name, to) = (column.name(), column.data_type());
        if let Some(from) = given(&query.recursive_term, at)
            && loses(&from, to)
        {
            return plan_err!(
                "a column of a recursive query has the type of the first SELECT: {name} is {to} there, and {from} in the second"
            );
        }
    }
    Ok(())
}

/// The type of a column of the second SELECT without the planner's cast.
fn given(plan: &LogicalPlan, at: usize) -> Option<DataType> {
    if let LogicalPlan::Projection(projection) = plan
        && let Some(Expr::Cast(cast)) = projection.expr.get(at).map(without_alias)
    {
        let schema: &DFSchema = projection.input.schema();
        return cast.expr.get_type(schema).ok();
    }
    let field = plan.schema().fields().get(at)?;
    Some(field.data_type().clone())
}

fn without_alias(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => without_alias(&alias.expr),
        expr => expr,
    }
}

/// Whether values may lose a part of themselves, without an error, when they get another type.
fn loses(from: &DataType, to: &DataType) -> bool {
    match (scale(from), scale(to)) {
        (Some(from), Some(to)) => from > to,
        (None, Some(_)) => from.is_floating(),
        _ => matches!((from, to), (DataType::Timestamp(..), DataType::Date32)),
    }
}

/// The number of digits behind the point.
fn scale(kind: &DataType) -> Option<i8> {
    match kind {
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => Some(*scale),
        kind if kind.is_integer() => Some(0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::TimeUnit;

    use super::*;

    #[test]
    fn fractions_and_hours_are_lost() {
        let time = DataType::Timestamp(TimeUnit::Microsecond, None);
        let decimal = |scale| DataType::Decimal128(10, scale);
        for (from, to, expected) in [
            (DataType::Float64, DataType::Int64, true),
            (DataType::Float64, decimal(2), true),
            (decimal(1), DataType::Int64, true),
            (decimal(3), decimal(2), true),
            (time.clone(), DataType::Date32, true),
            (DataType::Int64, DataType::Int32, false),
            (DataType::Int64, decimal(0), false),
            (decimal(2), decimal(3), false),
            (decimal(2), DataType::Float64, false),
            (DataType::Date32, time, false),
            (DataType::Utf8, DataType::Int64, false),
        ] {
            assert_eq!(loses(&from, &to), expected, "{from} to {to}");
        }
    }
}
