//! The operators as functions that fail where the outcome has no room.

use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, AsArray, Datum, Float64Array};
use arrow::compute::kernels::numeric;
use arrow::datatypes::{DataType, Float64Type};
use arrow::error::ArrowError;
use datafusion::common::{ScalarValue, exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::computed::{Arguments, ColumnFunction};
use crate::names;

/// An operator that plans hold as a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `+` of signed integers.
    Add,
    /// `-` of signed integers.
    Subtract,
    /// `*` of signed integers.
    Multiply,
    /// `/`: the quotient of real numbers.
    Divide,
}

impl Operation {
    const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Subtract => "subtract",
            Self::Multiply => "multiply",
            Self::Divide => "divide",
        }
    }

    const fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
        }
    }
}

/// `div(a, b)`, as which `a // b` is planned.
pub const DIV: &str = "div";

/// The function of an operation.
pub(super) fn function(operation: Operation) -> Arc<ScalarUDF> {
    Arc::clone(&operations()[operation as usize])
}

/// The functions of all operations.
pub fn operations() -> &'static [Arc<ScalarUDF>; 4] {
    static ALL: LazyLock<[Arc<ScalarUDF>; 4]> = LazyLock::new(|| {
        [
            Operation::Add,
            Operation::Subtract,
            Operation::Multiply,
            Operation::Divide,
        ]
        .map(|operation| Arc::new(ScalarUDF::from(Arithmetic::new(operation))))
    });
    &ALL
}

/// The operation that a function is.
pub fn operation(function: &ScalarUDF) -> Option<Operation> {
    let inner: &dyn ScalarUDFImpl = function.inner().as_ref();
    let inner = (inner as &dyn std::any::Any).downcast_ref::<Arithmetic>()?;
    Some(inner.operation)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Arithmetic {
    operation: Operation,
    signature: Signature,
}

impl Arithmetic {
    fn new(operation: Operation) -> Self {
        let kind = match operation {
            Operation::Divide => DataType::Float64,
            _ => DataType::Int64,
        };
        Self {
            operation,
            signature: Signature::uniform(2, vec![kind], Volatility::Immutable),
        }
    }

    fn apply(&self, left: &dyn Datum, right: &dyn Datum) -> Result<ArrayRef, ArrowError> {
        match self.operation {
            Operation::Add => numeric::add(left, right),
            Operation::Subtract => numeric::sub(left, right),
            Operation::Multiply => numeric::mul(left, right),
            Operation::Divide => {
                let quotients = numeric::div(left, right)?;
                let (divisors, is_one) = right.get();
                let divisors = divisors.as_primitive::<Float64Type>();
                let divided = quotients.as_primitive::<Float64Type>();
                match has_zero(divisors, is_one, divided) {
                    true => Err(ArrowError::DivideByZero),
                    false => Ok(quotients),
                }
            }
        }
    }
}

/// Whether a value of a row was divided by zero. The divisors of NULL do not count.
fn has_zero(divisors: &Float64Array, is_one: bool, quotients: &Float64Array) -> bool {
    if is_one {
        let is_zero = divisors.iter().flatten().any(|divisor| divisor == 0.0);
        return is_zero && quotients.null_count() < quotients.len();
    }
    let values = divisors.values().iter().enumerate();
    values
        .filter(|(_, divisor)| **divisor == 0.0)
        .any(|(row, _)| quotients.is_valid(row))
}

impl ScalarUDFImpl for Arithmetic {
    fn name(&self) -> &str {
        self.operation.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(match self.operation {
            Operation::Divide => DataType::Float64,
            _ => DataType::Int64,
        })
    }

    /// Plans show the operator.
    fn display_name(&self, args: &[Expr]) -> Result<String> {
        match args {
            [left, right] => Ok(format!("{left} {} {right}", self.operation.sign())),
            _ => exec_err!("{} takes two numbers", self.name()),
        }
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        names::of_call(self.name(), args)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.as_slice() {
            [ColumnarValue::Array(left), ColumnarValue::Array(right)] => {
                Ok(ColumnarValue::Array(self.apply(left, right)?))
            }
            [ColumnarValue::Array(left), ColumnarValue::Scalar(right)] => {
                Ok(ColumnarValue::Array(self.apply(left, &right.to_scalar()?)?))
            }
            [ColumnarValue::Scalar(left), ColumnarValue::Array(right)] => {
                Ok(ColumnarValue::Array(self.apply(&left.to_scalar()?, right)?))
            }
            [ColumnarValue::Scalar(left), ColumnarValue::Scalar(right)] => {
                let value = self.apply(&left.to_scalar()?, &right.to_scalar()?)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(
                    &value, 0,
                )?))
            }
            _ => exec_err!("{} takes two numbers", self.name()),
        }
    }
}

/// `negative(a)`, as which `-a` is planned where `a` is no literal: the planner refuses the sign in front of unsigned columns.
pub const NEGATIVE: &str = "negative";

/// The function that stands for a sign until the types are known.
pub(crate) fn negative() -> ScalarUDF {
    let function = ColumnFunction {
        name: NEGATIVE,
        arguments: Arguments::Any(1),
        kind: |_, arguments| match arguments {
            [kind] if kind.is_integer() => Ok(DataType::Int64),
            [
                kind @ (DataType::Float16
                | DataType::Float32
                | DataType::Float64
                | DataType::Decimal128(..)
                | DataType::Decimal256(..)
                | DataType::Interval(_)
                | DataType::Duration(_)
                | DataType::Null),
            ] => Ok(kind.clone()),
            [kind] => plan_err!("- takes a number or an interval, not {kind}"),
            _ => exec_err!("unary minus takes one operand"),
        },
        values: |_, _| exec_err!("the sign was not rewritten before execution"),
    };
    function.udf()
}

/// `div(a, b)`: the quotient of integers, towards zero. The planner puts a division in its place.
pub(crate) fn div() -> ScalarUDF {
    let function = ColumnFunction {
        name: DIV,
        arguments: Arguments::Any(2),
        kind: |_, arguments| {
            Ok(match arguments.contains(&DataType::UInt64) {
                true => DataType::UInt64,
                false => DataType::Int64,
            })
        },
        values: |_, _| exec_err!("the integer division was not rewritten before execution"),
    };
    function.udf()
}
