//! Numbers with a fraction that are cast to integers: they are rounded, as in PostgreSQL and DuckDB, where DataFusion cuts the fraction
//! off. Halves of literals and of decimals go away from zero, those of floating-point numbers to the even number.

use std::sync::Arc;

use arrow::array::{AsArray, Float32Array, Float64Array};
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::{DFSchema, ScalarValue, exec_err};
use datafusion::error::Result;
use datafusion::functions::math::round;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use crate::computed::computed;

/// `round_to_even(a)`, which stands in casts to integers.
pub const ROUND_TO_EVEN: &str = "round_to_even";

pub(crate) fn round_to_even() -> ScalarUDF {
    ScalarUDF::from(RoundToEven {
        signature: Signature::any(1, Volatility::Immutable),
    })
}

/// Whether a cast to a type cuts the fraction of an expression off.
pub(super) fn is_cut(expr: &Expr, to: &DataType, schema: &DFSchema) -> bool {
    let is_rounded = match expr {
        Expr::ScalarFunction(call) => WHOLE.contains(&call.func.name()),
        _ => false,
    };
    to.is_integer()
        && !is_rounded
        && match expr.get_type(schema) {
            Ok(DataType::Float32 | DataType::Float64) => true,
            Ok(DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale)) => scale > 0,
            _ => false,
        }
}

/// The expression without its fraction.
pub(super) fn rounded(expr: Expr, schema: &DFSchema) -> Expr {
    match expr {
        Expr::Literal(ScalarValue::Float64(Some(number)), metadata) => {
            Expr::Literal(ScalarValue::Float64(Some(number.round())), metadata)
        }
        expr => match expr.get_type(schema) {
            Ok(kind) if kind.is_decimal() => round().call(vec![expr]),
            _ => round_to_even().call(vec![expr]),
        },
    }
}

/// Functions whose values have no fraction.
const WHOLE: &[&str] = &[ROUND_TO_EVEN, "ceil", "floor"];

#[derive(Debug, PartialEq, Eq, Hash)]
struct RoundToEven {
    signature: Signature,
}

impl ScalarUDFImpl for RoundToEven {
    fn name(&self) -> &'static str {
        ROUND_TO_EVEN
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [kind @ (DataType::Float32 | DataType::Float64)] => Ok(kind.clone()),
            _ => exec_err!("{ROUND_TO_EVEN} takes a floating-point number"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        computed(&args, |columns| match columns {
            [numbers] if *numbers.data_type() == DataType::Float64 => {
                let numbers = numbers.as_primitive::<Float64Type>();
                let whole: Float64Array = numbers.unary(f64::round_ties_even);
                Ok(Arc::new(whole))
            }
            [numbers] if *numbers.data_type() == DataType::Float32 => {
                let numbers = numbers.as_primitive::<Float32Type>();
                let whole: Float32Array = numbers.unary(f32::round_ties_even);
                Ok(Arc::new(whole))
            }
            _ => exec_err!("{ROUND_TO_EVEN} takes a floating-point number"),
        })
    }
}
