//! `json_build_object`, by which clients ask for several columns of the catalog as one.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::expr_fn::SimpleScalarUDF;
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Signature, TypeSignature, Volatility};
use serde_json::Value;

/// The function: an object of names and values in turn, as PostgreSQL writes it.
pub(super) fn build_object() -> ScalarUDF {
    let signature = Signature::one_of(
        vec![TypeSignature::VariadicAny, TypeSignature::Nullary],
        Volatility::Stable,
    );
    ScalarUDF::from(SimpleScalarUDF::new_with_signature(
        "json_build_object",
        signature,
        DataType::Utf8,
        Arc::new(objects),
    ))
}

fn objects(arguments: &[ColumnarValue]) -> Result<ColumnarValue> {
    let is_one = (arguments.iter()).all(|value| matches!(value, ColumnarValue::Scalar(_)));
    let arrays = ColumnarValue::values_to_arrays(arguments)?;
    if arrays.len() % 2 == 1 {
        let message = "argument list must have even number of elements";
        return Err(DataFusionError::Plan(message.to_owned()));
    }
    let columns = arrays
        .iter()
        .map(QuotedText::new)
        .collect::<Result<Vec<_>>>()?;
    let rows = arrays.first().map_or(1, Array::len);
    let rows = (0..rows).map(|row| object(&columns, row));
    let rows = rows.collect::<Result<Vec<_>>>()?;
    let made: ArrayRef = Arc::new(StringArray::from(rows));
    Ok(match is_one {
        true => ColumnarValue::Scalar(ScalarValue::try_from_array(&made, 0)?),
        false => ColumnarValue::Array(made),
    })
}

fn object(columns: &[QuotedText], row: usize) -> Result<String> {
    let mut pairs = Vec::with_capacity(columns.len() / 2);
    for pair in columns.chunks_exact(2) {
        let [name, value] = pair else { continue };
        let name = name.text(row).ok_or_else(|| {
            DataFusionError::Plan("null value not allowed for object key".to_owned())
        })?;
        pairs.push(format!("{} : {}", Value::from(name), value.json(row)?));
    }
    Ok(format!("{{{}}}", pairs.join(", ")))
}

/// An argument as text, and whether that stands in quotes.
struct QuotedText {
    texts: ArrayRef,
    is_plain: bool,
}

impl QuotedText {
    fn new(array: &ArrayRef) -> Result<Self> {
        let kind = array.data_type();
        let is_plain = kind.is_numeric() || *kind == DataType::Boolean;
        let is_known = is_plain
            || *kind == DataType::Null
            || kind.is_string()
            || kind.is_temporal()
            || matches!(kind, DataType::Dictionary(_, of) if of.is_string());
        if !is_known {
            let message = format!("json_build_object has no value of type {kind}");
            return Err(DataFusionError::Plan(message));
        }
        Ok(Self {
            texts: cast(array, &DataType::Utf8)?,
            is_plain,
        })
    }

    fn text(&self, row: usize) -> Option<&str> {
        let texts = self.texts.as_string::<i32>();
        texts.is_valid(row).then(|| texts.value(row))
    }

    fn json(&self, row: usize) -> Result<String> {
        Ok(match self.text(row) {
            None => "null".to_owned(),
            // JSON has neither infinity nor NaN.
            Some(text) if self.is_plain && serde_json::from_str::<Value>(text).is_ok() => {
                text.to_owned()
            }
            Some(text) => Value::from(text).to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(values: Vec<ScalarValue>) -> Result<String> {
        let values: Vec<_> = values.into_iter().map(ColumnarValue::Scalar).collect();
        match objects(&values)? {
            ColumnarValue::Scalar(made) => Ok(made.to_string()),
            ColumnarValue::Array(_) => unreachable!("of constants a constant is made"),
        }
    }

    #[test]
    fn objects_are_written_as_postgresql_writes_them() {
        let made = built(vec![
            "a".into(),
            ScalarValue::Int64(Some(1)),
            "b\"".into(),
            ScalarValue::Boolean(Some(true)),
            "c".into(),
            "x".into(),
            "d".into(),
            ScalarValue::Null,
            "e".into(),
            ScalarValue::Float64(Some(f64::NAN)),
        ]);
        let expected = r#"{"a" : 1, "b\"" : true, "c" : "x", "d" : null, "e" : "NaN"}"#;
        assert_eq!(made.unwrap(), expected);
        assert!(built(vec!["a".into()]).is_err());
        assert!(built(vec![ScalarValue::Null, "a".into()]).is_err());
    }
}
