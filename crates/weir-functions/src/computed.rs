//! Functions that are computed of whole columns.

use std::hash::{Hash, Hasher};

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion::common::{ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

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

/// A function that its name identifies: two of one name are equal. The first argument of `kind` and `values` is the name.
#[derive(Debug)]
pub(crate) struct ColumnFunction {
    pub(crate) name: &'static str,
    pub(crate) arguments: Arguments,
    /// The type of the values, by those of the arguments.
    pub(crate) kind: fn(&str, &[DataType]) -> Result<DataType>,
    pub(crate) values: fn(&str, &[ArrayRef]) -> Result<ArrayRef>,
}

/// The arguments of a function.
#[derive(Debug)]
pub(crate) enum Arguments {
    /// This number of arguments, of any types.
    Any(usize),
    /// Arguments that are cast to the types that this returns for the name of the function and the types given.
    Coerced(fn(&str, &[DataType]) -> Result<Vec<DataType>>),
}

impl ColumnFunction {
    pub(crate) fn udf(self) -> ScalarUDF {
        let signature = match self.arguments {
            Arguments::Any(count) => Signature::any(count, Volatility::Immutable),
            Arguments::Coerced(_) => Signature::user_defined(Volatility::Immutable),
        };
        ScalarUDF::from(ColumnUdf {
            function: self,
            signature,
        })
    }
}

#[derive(Debug)]
struct ColumnUdf {
    function: ColumnFunction,
    signature: Signature,
}

impl PartialEq for ColumnUdf {
    fn eq(&self, other: &Self) -> bool {
        self.function.name == other.function.name
    }
}

impl Eq for ColumnUdf {}

impl Hash for ColumnUdf {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.function.name.hash(state);
    }
}

impl ScalarUDFImpl for ColumnUdf {
    fn name(&self) -> &str {
        self.function.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match self.function.arguments {
            Arguments::Coerced(coerced) => coerced(self.function.name, types),
            Arguments::Any(_) => plan_err!("{} takes any types", self.function.name),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        (self.function.kind)(self.function.name, types)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        computed(&args, |columns| {
            (self.function.values)(self.function.name, columns)
        })
    }
}
