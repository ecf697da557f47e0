//! Functions of the catalog that are computed row by row from texts.

use arrow::array::{Array, AsArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::ColumnarValue;

use super::cell::{self, Cell};

/// The values of a function by the rows of its arguments, each of which is given as text.
pub(super) fn by_rows(
    arguments: &[ColumnarValue],
    kind: &DataType,
    body: impl Fn(&[Option<&str>]) -> Result<Cell>,
) -> Result<ColumnarValue> {
    let is_one = arguments
        .iter()
        .all(|value| matches!(value, ColumnarValue::Scalar(_)));
    let arrays = ColumnarValue::values_to_arrays(arguments)?;
    let texts = arrays.iter().map(|array| cast(array, &DataType::Utf8));
    let texts = texts.collect::<Result<Vec<_>, _>>()?;
    let rows = texts.first().map_or(1, Array::len);
    let cells = (0..rows).map(|row| {
        let values = texts.iter().map(|array| {
            let array = array.as_string::<i32>();
            array.is_valid(row).then(|| array.value(row))
        });
        body(&values.collect::<Vec<_>>())
    });
    let cells = cells.collect::<Result<Vec<_>>>()?;
    let array = cell::array(kind, &cells);
    match is_one {
        true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(
            &array, 0,
        )?)),
        false => Ok(ColumnarValue::Array(array)),
    }
}
