//! Which keys of an order may be `-0.0`.
//!
//! `-0.0` equals `0.0` in SQL, and in comparisons, GROUP BY and joins of DataFusion. Its sorts, and the peers of its windows, go by the bits of
//! a float, for which `-0.0` is the smaller one. `x + 0.0` is `0.0` for both, and `x` for all other numbers.

use datafusion::common::ScalarValue;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, TableScan, binary_expr,
};

use crate::table::CaptureTable;

/// A key whose values are those of `key` over the rows of a plan, with `0.0` for `-0.0`; `None` where no value is `-0.0`.
pub(crate) fn without_negative_zero(key: &Expr, input: &LogicalPlan) -> Option<Expr> {
    let kind = key.get_type(input.schema().as_ref()).ok()?;
    if !kind.is_floating() || !may_be_negative_zero(key, input) {
        return None;
    }
    let zero = Expr::Literal(ScalarValue::new_zero(&kind).ok()?, None);
    Some(binary_expr(key.clone(), Operator::Plus, zero))
}

fn may_be_negative_zero(expr: &Expr, input: &LogicalPlan) -> bool {
    match expr {
        // One value for all rows has no order.
        Expr::Literal(..) => false,
        Expr::Alias(alias) => may_be_negative_zero(&alias.expr, input),
        Expr::Column(column) => {
            let place = input.schema().maybe_index_of_column(column);
            place.is_none_or(|place| is_column_with_negative_zero(place, input))
        }
        Expr::BinaryExpr(BinaryExpr { op, right, .. }) => {
            *op != Operator::Plus || !is_positive_zero(right)
        }
        _ => true,
    }
}

/// Whether the column of a plan at a place may have `-0.0`, as far as it can be followed down to a table.
fn is_column_with_negative_zero(place: usize, plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => {
            let expr = projection.expr.get(place);
            expr.is_none_or(|expr| may_be_negative_zero(expr, &projection.input))
        }
        LogicalPlan::Aggregate(aggregate) => {
            let key = aggregate.group_expr.get(place);
            key.is_none_or(|key| may_be_negative_zero(key, &aggregate.input))
        }
        LogicalPlan::Window(window) => {
            place >= window.input.schema().fields().len()
                || is_column_with_negative_zero(place, &window.input)
        }
        LogicalPlan::SubqueryAlias(alias) => is_column_with_negative_zero(place, &alias.input),
        LogicalPlan::Filter(filter) => is_column_with_negative_zero(place, &filter.input),
        LogicalPlan::Sort(sort) => is_column_with_negative_zero(place, &sort.input),
        LogicalPlan::Limit(limit) => is_column_with_negative_zero(place, &limit.input),
        LogicalPlan::TableScan(scan) => is_scanned_with_negative_zero(place, scan),
        _ => true,
    }
}

fn is_scanned_with_negative_zero(place: usize, scan: &TableScan) -> bool {
    let Some(field) = scan.projected_schema.fields().get(place) else {
        return true;
    };
    let Ok(provider) = source_as_provider(&scan.source) else {
        return true;
    };
    let captures = provider.downcast_ref::<CaptureTable>();
    captures.is_none_or(|table| table.is_of_layout(field.name()))
}

fn is_positive_zero(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(value, _) => {
            let zero = ScalarValue::new_zero(&value.data_type());
            zero.is_ok_and(|zero| zero == *value)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::datasource::empty::EmptyTable;
    use datafusion::datasource::provider_as_source;
    use datafusion::logical_expr::{LogicalPlanBuilder, col, lit};

    use super::*;

    fn table() -> LogicalPlanBuilder {
        let fields = [
            Field::new("x", DataType::Float64, true),
            Field::new("n", DataType::Int64, true),
        ];
        let table = EmptyTable::new(Arc::new(Schema::new(Vec::from(fields))));
        LogicalPlanBuilder::scan("t", provider_as_source(Arc::new(table)), None).unwrap()
    }

    #[test]
    fn floats_are_keys_without_a_negative_zero_once() {
        let plan = table().build().unwrap();
        let key = without_negative_zero(&col("x"), &plan).unwrap();
        assert_eq!(key, col("x") + lit(0.0_f64));
        assert_eq!(without_negative_zero(&key, &plan), None);
        assert_eq!(without_negative_zero(&col("n"), &plan), None);
        assert_eq!(without_negative_zero(&lit(-0.0_f64), &plan), None);
        let negative = col("x") + lit(-0.0_f64);
        assert!(without_negative_zero(&negative, &plan).is_some());

        let below = table().project([key.alias("k"), col("x")]).unwrap();
        let above = below.limit(0, Some(7)).unwrap().build().unwrap();
        assert_eq!(without_negative_zero(&col("k"), &above), None);
        assert!(without_negative_zero(&col("x"), &above).is_some());
    }
}
