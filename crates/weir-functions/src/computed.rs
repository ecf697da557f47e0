//! Functions that are computed of whole columns.

use arrow::array::ArrayRef;
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs};

/// The values of a function whose arguments are columns. They are one constant where all arguments are constants.
pub(crate) fn computed(
    args: &ScalarFunctionArgs,
    function: impl FnOnce(&[ArrayRef]) -> Result<ArrayRef>,
) -> Result<ColumnarValue> {
    let is_scalar = |argument: &ColumnarValue| matches!(argument, ColumnarValue::Scalar(_));
    let are_scalar = args.args.iter().all(is_scalar);
    let values = function(&ColumnarValue::values_to_arrays(&args.args)?)?;
    Ok(match are_scalar && args.number_rows > 0 {
        true => ColumnarValue::Scalar(ScalarValue::try_from_array(&values, 0)?),
        false => ColumnarValue::Array(values),
    })
}
