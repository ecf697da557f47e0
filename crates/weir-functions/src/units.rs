//! SQL functions that set the unit of a number: terminals show it in readable form, and files have the plain number.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, DurationNanosecondArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type, Int64Type, TimeUnit};
use datafusion::common::{ScalarValue, exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use weir_tables::{UNIT_BYTES, UNIT_KEY};

/// `as_size(sum(frame.len))`: a number of bytes.
const AS_SIZE: &str = "as_size";
/// `as_duration(call.duration)`: a number of seconds.
const AS_DURATION: &str = "as_duration";

pub(crate) fn all() -> [ScalarUDF; 2] {
    [AS_SIZE, AS_DURATION].map(|name| {
        ScalarUDF::from(OfUnit {
            name,
            signature: Signature::user_defined(Volatility::Immutable),
        })
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OfUnit {
    name: &'static str,
    signature: Signature,
}

impl ScalarUDFImpl for OfUnit {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [kind] = types else {
            return plan_err!("{} takes one number", self.name);
        };
        match (self.name, kind) {
            (AS_DURATION, DataType::Duration(_)) => {
                Ok(vec![DataType::Duration(TimeUnit::Nanosecond)])
            }
            // Whole seconds stay whole.
            (AS_DURATION, kind) if kind.is_integer() || kind.is_null() => Ok(vec![DataType::Int64]),
            (AS_DURATION, kind) if kind.is_numeric() => Ok(vec![DataType::Float64]),
            (AS_SIZE, kind) if kind.is_null() => Ok(vec![DataType::Int64]),
            (AS_SIZE, kind) if kind.is_numeric() => Ok(vec![kind.clone()]),
            (AS_SIZE, _) => plan_err!("as_size takes a number of bytes: as_size(sum(frame.len))"),
            _ => plan_err!("as_duration takes a number of seconds: as_duration(call.duration)"),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(match (self.name, types) {
            (AS_SIZE, [kind]) => kind.clone(),
            _ => DataType::Duration(TimeUnit::Nanosecond),
        })
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types = args
            .arg_fields
            .iter()
            .map(|field| field.data_type().clone());
        let kind = self.return_type(&types.collect::<Vec<_>>())?;
        let field = Field::new(self.name, kind, true);
        Ok(Arc::new(match self.name {
            AS_SIZE => field.with_metadata([(UNIT_KEY.into(), UNIT_BYTES.into())].into()),
            _ => field,
        }))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [given] = args.args.as_slice() else {
            return exec_err!("{} got {} arguments", self.name, args.args.len());
        };
        if self.name == AS_SIZE {
            return Ok(given.clone());
        }
        let is_scalar = matches!(given, ColumnarValue::Scalar(_));
        let seconds = given.to_array(args.number_rows.max(1))?;
        let durations = durations(&seconds)?;
        Ok(match is_scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&durations, 0)?),
            false => ColumnarValue::Array(durations),
        })
    }
}

/// Seconds as durations; NULL for those that no duration holds.
fn durations(seconds: &ArrayRef) -> Result<ArrayRef> {
    let nanoseconds: DurationNanosecondArray = match seconds.data_type() {
        DataType::Duration(_) => {
            let kind = DataType::Duration(TimeUnit::Nanosecond);
            return Ok(cast(seconds, &kind)?);
        }
        DataType::Float64 => {
            let seconds = seconds.as_primitive::<Float64Type>().iter();
            let whole = |seconds: f64| {
                let nanoseconds = (seconds * 1e9).round();
                let fits = nanoseconds.abs() < NANOSECONDS_END;
                fits.then_some(nanoseconds as i64)
            };
            seconds.map(|seconds| seconds.and_then(whole)).collect()
        }
        _ => {
            let seconds = cast(seconds, &DataType::Int64)?;
            let seconds = seconds.as_primitive::<Int64Type>().iter();
            let whole = |seconds: i64| seconds.checked_mul(1_000_000_000);
            seconds.map(|seconds| seconds.and_then(whole)).collect()
        }
    };
    Ok(Arc::new(nanoseconds))
}

/// 2^63: the first that is too large.
const NANOSECONDS_END: f64 = 9_223_372_036_854_775_808.0;
