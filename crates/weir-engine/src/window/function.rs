//! The SQL functions that name windows.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{ScalarValue, exec_err, plan_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use super::length::{from_numbers, length, origin, start, to_numbers, window_type};

/// `tumble(time, length)`: the start of the window that the row is in.
pub(crate) const TUMBLE: &str = "tumble";
/// `hop(time, length, slide)`: the starts of the windows that the row is in; in GROUP BY only.
pub(crate) const HOP: &str = "hop";
/// `session(time, gap)`: the first time of the row's session; in GROUP BY only.
pub(crate) const SESSION: &str = "session";
/// `closed_by(predicate)`: the number of the row's window; in GROUP BY only.
pub(crate) const CLOSED_BY: &str = "closed_by";

/// The windows that depend on other rows too, or of which a row is in several.
pub(crate) const GROUPED: &[&str] = &[HOP, SESSION, CLOSED_BY];

/// `window_of(window)` is the unchanged window. It stands above aggregates in plans.
const BARRIER: &str = "window_of";

/// A function that returns its argument; conditions are not pushed through it.
pub(crate) fn barrier() -> ScalarUDF {
    ScalarUDF::from(WindowFunction::new(BARRIER))
}

/// The functions that every session has.
pub(crate) fn all() -> [ScalarUDF; 4] {
    [TUMBLE, HOP, SESSION, CLOSED_BY].map(|name| ScalarUDF::from(WindowFunction::new(name)))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct WindowFunction {
    name: &'static str,
    signature: Signature,
}

impl WindowFunction {
    fn new(name: &'static str) -> Self {
        // A value that depends on other rows must be neither moved nor computed once for two places.
        let volatility = match name {
            TUMBLE => Volatility::Immutable,
            _ => Volatility::Volatile,
        };
        Self {
            name,
            signature: Signature::variadic_any(volatility),
        }
    }

    /// Refuses what can be seen to be wrong before anything runs.
    fn check(&self, kinds: &[DataType], constants: &[Option<&ScalarValue>]) -> Result<DataType> {
        let usage = match self.name {
            TUMBLE if kinds.len() != 2 => "tumble(frame.time, INTERVAL '1 second')",
            HOP if kinds.len() != 3 => {
                "hop(frame.time, INTERVAL '10 seconds', INTERVAL '1 second')"
            }
            // The keys of the groups follow.
            SESSION if kinds.len() < 2 => "session(frame.time, INTERVAL '5 seconds')",
            CLOSED_BY if kinds.is_empty() => "closed_by(tcp.flags.fin)",
            _ => "",
        };
        if !usage.is_empty() {
            return plan_err!("{} must be called as {usage}", self.name);
        }
        let Some(first) = kinds.first() else {
            return plan_err!("{} takes arguments", self.name);
        };
        if self.name == BARRIER {
            return Ok(first.clone());
        }
        if self.name == CLOSED_BY {
            return match first {
                DataType::Boolean | DataType::Null => Ok(DataType::UInt64),
                other => plan_err!("closed_by takes a condition, not {other}"),
            };
        }
        let window = window_type(self.name, first)?;
        let constant = |index: usize| constants.get(index).copied().flatten();
        if let Some(value) = constant(1) {
            let size = length(&window, value, self.length_name())?;
            if let (HOP, Some(value)) = (self.name, constant(2)) {
                check_hop(size, length(&window, value, SLIDE)?)?;
            }
        }
        Ok(window)
    }

    fn length_name(&self) -> &'static str {
        match self.name {
            SESSION => GAP,
            _ => LENGTH,
        }
    }
}

/// The name of the second argument of `tumble` and `hop` in errors.
pub(crate) const LENGTH: &str = "the length of a window";
/// The name of the third argument of `hop` in errors.
pub(crate) const SLIDE: &str = "the slide of a window";
/// The name of the second argument of `session` in errors.
pub(crate) const GAP: &str = "the gap between sessions";

/// Refuses windows that leave records out, or that are too many at once.
pub(crate) fn check_hop(size: i64, slide: i64) -> Result<()> {
    if slide > size {
        return plan_err!(
            "the slide is longer than the window, so that records in between would be in no window"
        );
    }
    let windows = size.div_euclid(slide);
    if windows > HOPS_MAX {
        return plan_err!(
            "each record would be in {windows} windows, more than {HOPS_MAX}; use a longer slide"
        );
    }
    Ok(())
}

/// The most windows of `hop` that a record may be in.
const HOPS_MAX: i64 = 1_000;

impl ScalarUDFImpl for WindowFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        self.check(arguments, &[])
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let kinds: Vec<DataType> = args
            .arg_fields
            .iter()
            .map(|field| field.data_type().clone())
            .collect();
        let kind = self.check(&kinds, args.scalar_arguments)?;
        Ok(Arc::new(Field::new(self.name, kind, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let (BARRIER, [window]) = (self.name, args.args.as_slice()) {
            return Ok(window.clone());
        }
        if self.name != TUMBLE {
            return exec_err!("{} must be in GROUP BY, by itself", self.name);
        }
        let [times, size] = args.args.as_slice() else {
            return exec_err!("tumble got {} arguments", args.args.len());
        };
        let window = args.return_field.data_type();
        let ColumnarValue::Scalar(size) = size else {
            return Err(not_constant(LENGTH));
        };
        let size = length(window, size, LENGTH)?;
        match times {
            ColumnarValue::Array(times) => Ok(ColumnarValue::Array(tumble(times, size, window)?)),
            ColumnarValue::Scalar(time) => {
                let starts = tumble(&time.to_array()?, size, window)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(
                    &starts, 0,
                )?))
            }
        }
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        Ok(match (self.name, inputs) {
            (TUMBLE, [times, size]) if size.sort_properties == SortProperties::Singleton => {
                times.sort_properties
            }
            (BARRIER, [window]) => window.sort_properties,
            _ => SortProperties::Unordered,
        })
    }
}

/// The error for a length that is not the same for all rows.
pub(crate) fn not_constant(what: &str) -> DataFusionError {
    DataFusionError::Plan(format!(
        "{what} must be a constant, the same for all records"
    ))
}

fn tumble(times: &ArrayRef, size: i64, window: &DataType) -> Result<ArrayRef> {
    let origin = origin(window);
    let starts: Int64Array = to_numbers(times)?.unary(|time| start(time, size, origin));
    from_numbers(starts, window)
}
