//! The order of lists and structs: a NULL within one is greater than all else, as in PostgreSQL and DuckDB. The engine takes it for
//! less where it compares them, and where the sorted NULLs are not those of the direction.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int8Array, make_comparator};
use arrow::compute::SortOptions;
use arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, ScalarValue, exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::type_coercion::binary::comparison_coercion;
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, ScalarUDF, SortExpr,
};

use crate::computed::{Arguments, ColumnFunction};
use crate::pass::{Inputs, Pass};

/// Orders lists and structs.
pub struct NestedOrder;

impl Pass for NestedOrder {
    /// Where NULLs have another place than that of the direction, a key of their own puts them there.
    fn node(&self, plan: LogicalPlan, inputs: &Inputs) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Sort(mut sort) = plan else {
            return Ok(Transformed::no(plan));
        };
        let is_moved =
            |key: &SortExpr| key.asc == key.nulls_first && is_nested(&key.expr, inputs.all());
        let is_changed = sort.expr.iter().any(is_moved);
        if is_changed {
            let mut keys = Vec::with_capacity(sort.expr.len() + 1);
            for key in std::mem::take(&mut sort.expr) {
                if is_moved(&key) {
                    let is_null = Expr::IsNull(Box::new(key.expr.clone()));
                    keys.push(SortExpr::new(is_null, !key.nulls_first, false));
                    keys.push(SortExpr::new(key.expr, key.asc, !key.asc));
                } else {
                    keys.push(key);
                }
            }
            sort.expr = keys;
        }
        let plan = LogicalPlan::Sort(sort);
        Ok(Transformed::new_transformed(plan, is_changed))
    }

    fn expr(&self, expr: Expr, inputs: &Inputs) -> Result<Transformed<Expr>> {
        let are_nested = |one: &Expr, other: &Expr| {
            is_nested(one, inputs.all()) && is_nested(other, inputs.all())
        };
        Ok(match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right })
                if is_order(op) && are_nested(left.as_ref(), right.as_ref()) =>
            {
                Transformed::yes(compared(*left, op, *right))
            }
            Expr::Between(between)
                if are_nested(between.expr.as_ref(), between.low.as_ref())
                    && are_nested(between.expr.as_ref(), between.high.as_ref()) =>
            {
                let value = *between.expr;
                let from = compared(value.clone(), Operator::GtEq, *between.low);
                let lies = from.and(compared(value, Operator::LtEq, *between.high));
                Transformed::yes(match between.negated {
                    true => Expr::Not(Box::new(lies)),
                    false => lies,
                })
            }
            expr => Transformed::no(expr),
        })
    }
}

fn is_nested(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(
        expr.get_type(schema),
        Ok(DataType::List(_)
            | DataType::LargeList(_)
            | DataType::FixedSizeList(..)
            | DataType::Struct(_))
    )
}

const fn is_order(op: Operator) -> bool {
    matches!(
        op,
        Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq
    )
}

fn compared(left: Expr, op: Operator, right: Expr) -> Expr {
    let order = nested_order().call(vec![left, right]);
    let equal = Expr::Literal(ScalarValue::Int8(Some(0)), None);
    Expr::BinaryExpr(BinaryExpr::new(Box::new(order), op, Box::new(equal)))
}

/// `nested_order(a, b)`: -1, 0 or 1, as a list or a struct is less than another, equal to it or greater; NULL where one of both is.
pub(crate) const NESTED_ORDER: &str = "nested_order";

pub(crate) fn nested_order() -> ScalarUDF {
    let function = ColumnFunction {
        name: NESTED_ORDER,
        arguments: Arguments::Coerced(common),
        kind: |_, _| Ok(DataType::Int8),
        values: orders,
    };
    function.udf()
}

fn common(_name: &str, types: &[DataType]) -> Result<Vec<DataType>> {
    match types {
        [one, other] => match comparison_coercion(one, other) {
            Some(common) => Ok(vec![common.clone(), common]),
            None => plan_err!("lists and structs with other elements have no order"),
        },
        _ => plan_err!("{NESTED_ORDER} takes two values"),
    }
}

fn orders(_name: &str, columns: &[ArrayRef]) -> Result<ArrayRef> {
    let [left, right] = columns else {
        return exec_err!("{NESTED_ORDER} takes two values");
    };
    let options = SortOptions {
        descending: false,
        nulls_first: false,
    };
    let order = make_comparator(left, right, options)?;
    let orders: Int8Array = (0..left.len().min(right.len()))
        .map(|row| {
            let is_known = left.is_valid(row) && right.is_valid(row);
            is_known.then(|| order(row, row) as i8)
        })
        .collect();
    Ok(Arc::new(orders))
}
