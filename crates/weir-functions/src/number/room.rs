//! Sums and products of decimals that have no room for another digit.
//!
//! The engine's operators let a value of 38 digits become one of 39, which is shown without its last one.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, Decimal128Type};
use datafusion::common::DFSchema;
use datafusion::common::tree_node::Transformed;
use datafusion::common::utils::take_function_args;
use datafusion::error::Result;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator, ScalarUDF};

use crate::computed::{Arguments, ColumnFunction};

/// An operator of decimals as one that fails where its value has more digits than the largest decimals.
pub(super) fn in_room(binary: BinaryExpr, schema: &DFSchema) -> Transformed<Expr> {
    let grows = matches!(
        binary.op,
        Operator::Plus | Operator::Minus | Operator::Multiply
    );
    let expr = Expr::BinaryExpr(binary);
    match expr.get_type(schema) {
        Ok(DataType::Decimal128(DECIMAL128_MAX_PRECISION, _)) if grows => {
            Transformed::yes(decimal_in_room().call(vec![expr]))
        }
        _ => Transformed::no(expr),
    }
}

/// `decimal_in_room(a)`: the decimal.
pub(crate) const DECIMAL_IN_ROOM: &str = "decimal_in_room";

pub(crate) fn decimal_in_room() -> ScalarUDF {
    let function = ColumnFunction {
        name: DECIMAL_IN_ROOM,
        arguments: Arguments::Any(1),
        kind: |name, types| {
            let [kind] = take_function_args(name, types)?;
            Ok(kind.clone())
        },
        values: checked,
    };
    function.udf()
}

fn checked(name: &str, columns: &[ArrayRef]) -> Result<ArrayRef> {
    let [values] = take_function_args(name, columns)?;
    if let Some(decimals) = values.as_primitive_opt::<Decimal128Type>() {
        decimals.validate_decimal_precision(decimals.precision())?;
    }
    Ok(Arc::clone(values))
}

#[cfg(test)]
mod tests {
    use arrow::array::Decimal128Array;

    use super::*;

    /// 10^38 was shown as 10^37.
    #[test]
    fn a_decimal_has_38_digits() {
        let most = 10_i128.pow(38) - 1;
        for (value, fits) in [
            (most, true),
            (-most, true),
            (most + 1, false),
            (-most - 1, false),
        ] {
            let values = Decimal128Array::from(vec![None, Some(value)]);
            let values = values.with_precision_and_scale(38, 0).unwrap();
            let values: ArrayRef = Arc::new(values);
            let checked = checked(DECIMAL_IN_ROOM, &[values]);
            assert_eq!(checked.is_ok(), fits, "{value}");
        }
    }
}
