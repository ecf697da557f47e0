//! Functions whose values can be far larger than what they are made of: `repeat('x', 2000000000)`.
//!
//! The memory limit counts what operators keep, and not what a function makes of one batch of rows. So a function of this kind
//! is wrapped by one of the same name, which computes from the arguments how large its values may become, and refuses to begin
//! where that is more than `VALUES_BYTES_MAX`, or, where memory has no limit, more than an array of texts has room for. Constants are bounded as well: they become a column of as many rows as a batch
//! has, so that a statement with long ones has batches of fewer rows ([`batch_rows`]).

use std::any::Any;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef, Int64Type};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::utils::take_function_args;
use datafusion::common::{ExprSchema, Result, ScalarValue};
use datafusion::config::ConfigOptions;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::type_coercion::binary::BinaryTypeCoercer;
use datafusion::logical_expr::udf_eq::UdfEq;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Documentation, Expr, ExprSchemable, ExpressionPlacement,
    LogicalPlan, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, StructFieldMapping, Volatility,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr as PhysicalBinaryExpr, Column};
use datafusion::prelude::SessionContext;

use crate::folded;
use crate::names;
use crate::pass::{Inputs, Pass};

/// The growth of a function's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Growth {
    /// The first argument, repeated as often as the number in the second.
    Times,
    /// The second argument is the number of characters.
    Pad,
    /// The second argument is the number of elements, each of the size of the third or of an element of the first.
    Resize,
    /// The series goes from the first argument to the second, by the third.
    Series,
    /// All arguments behind each other.
    Together,
    /// All arguments but the first, with the first between them.
    Separated,
    /// A list of structs that have an element of each argument; shorter lists are filled up.
    Zipped,
    /// The second argument is the format of a time, of which each character becomes `FORMATTED_BYTES` bytes at most.
    Formatted,
    /// Each group of the pattern in the second argument may be all of the first.
    Groups,
    /// The third argument in place of elements of the first that are equal to the second.
    ReplaceElements,
    /// All elements of the first argument, with the second between them, and the third in place of those that are NULL.
    Between,
    /// Each byte of the first argument becomes two characters at most.
    Doubled,
    /// The third argument in place of each occurrence of the second in the first.
    Replace,
    /// The growth is that of [`Growth::Replace`], where the second is a pattern.
    ReplaceMatches,
    /// None: each character or element of the first argument is compared with each of the second.
    Compared,
}

const LEVENSHTEIN: &str = "levenshtein";

/// The functions, by the names that they are registered with.
const FUNCTIONS: &[(&str, Growth)] = &[
    ("repeat", Growth::Times),
    ("array_repeat", Growth::Times),
    ("lpad", Growth::Pad),
    ("rpad", Growth::Pad),
    ("array_resize", Growth::Resize),
    ("range", Growth::Series),
    ("generate_series", Growth::Series),
    ("concat", Growth::Together),
    ("concat_ws", Growth::Separated),
    ("make_array", Growth::Together),
    ("array_append", Growth::Together),
    ("array_prepend", Growth::Together),
    ("array_concat", Growth::Together),
    ("array_union", Growth::Together),
    ("array_to_string", Growth::Between),
    ("encode", Growth::Doubled),
    ("overlay", Growth::Together),
    ("struct", Growth::Together),
    ("named_struct", Growth::Together),
    ("replace", Growth::Replace),
    ("array_replace_n", Growth::ReplaceElements),
    ("array_replace_all", Growth::ReplaceElements),
    ("arrays_zip", Growth::Zipped),
    ("to_char", Growth::Formatted),
    ("regexp_match", Growth::Groups),
    ("regexp_replace", Growth::ReplaceMatches),
    (LEVENSHTEIN, Growth::Compared),
    ("btrim", Growth::Compared),
    ("ltrim", Growth::Compared),
    ("rtrim", Growth::Compared),
    ("array_has_all", Growth::Compared),
    ("array_has_any", Growth::Compared),
];

/// Bytes that a function may make of one batch of rows, in an engine with a memory limit, and in one without.
pub const fn values_bytes_max(has_limit: bool) -> usize {
    match has_limit {
        true => VALUES_BYTES_MAX,
        // Offsets of texts have 31 bits.
        false => i32::MAX as usize,
    }
}

/// Bytes that functions may make of constants while a statement is planned.
pub const fn constants_bytes_max(has_limit: bool) -> usize {
    values_bytes_max(has_limit).saturating_mul(2)
}

/// Puts functions that make so many bytes at most in the places of those that make any number.
pub(crate) fn register(context: &SessionContext, bytes_max: usize) {
    let state = context.state_ref();
    let known: Vec<_> = {
        let state = state.read();
        let functions = FUNCTIONS.iter();
        let known = functions.filter_map(|(name, growth)| {
            Some((Arc::clone(state.scalar_functions().get(*name)?), *growth))
        });
        known.collect()
    };
    for (function, growth) in known {
        context.register_udf(bounded(&function, growth, bytes_max));
    }
}

fn bounded(function: &ScalarUDF, growth: Growth, bytes_max: usize) -> ScalarUDF {
    ScalarUDF::new_from_impl(Bounded {
        inner: Arc::clone(function.inner()).into(),
        growth,
        bytes_max,
    })
}

/// A function that looks at how large its values become before it computes them.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Bounded {
    inner: UdfEq<Arc<dyn ScalarUDFImpl>>,
    growth: Growth,
    bytes_max: usize,
}

impl ScalarUDFImpl for Bounded {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        self.inner.schema_name(args)
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arg_types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    #[expect(deprecated, reason = "the function within may have its own")]
    fn is_nullable(&self, args: &[Expr], schema: &dyn ExprSchema) -> bool {
        self.inner.is_nullable(args, schema)
    }

    fn is_strict(&self) -> bool {
        self.inner.is_strict()
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let bytes = self.growth.bytes(&args.args, args.number_rows)?;
        if bytes > self.bytes_max {
            return Err(too_large(self.name(), bytes, self.bytes_max));
        }
        let comparisons = self.growth.comparisons(&args.args, args.number_rows);
        if comparisons > COMPARISONS_MAX {
            return Err(DataFusionError::Execution(format!(
                "{} would make {comparisons} comparisons for one batch of rows, and the limit is {COMPARISONS_MAX}",
                self.name()
            )));
        }
        if is_constant(&args.args) {
            folded::take(bytes)?;
        }
        let args = match self.name() {
            LEVENSHTEIN => with_long_offsets(args)?,
            _ => args,
        };
        self.inner.invoke_with_args(args)
    }

    fn with_updated_config(&self, config: &ConfigOptions) -> Option<ScalarUDF> {
        let updated = self.inner.with_updated_config(config)?;
        Some(bounded(&updated, self.growth, self.bytes_max))
    }

    /// The function that it is simplified to is bounded, too.
    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        if self.growth == Growth::Separated {
            // DataFusion would join constants here, however long they become.
            return Ok(ExprSimplifyResult::Original(args));
        }
        match self.inner.simplify(args, info)? {
            ExprSimplifyResult::Simplified(expr) => {
                let expr = expr.transform_up(|expr| Ok(rebound(expr, self.bytes_max)))?;
                Ok(ExprSimplifyResult::Simplified(expr.data))
            }
            other => Ok(other),
        }
    }

    fn conditional_arguments<'a>(
        &self,
        args: &'a [Expr],
    ) -> Option<(Vec<&'a Expr>, Vec<&'a Expr>)> {
        self.inner.conditional_arguments(args)
    }

    fn short_circuits(&self) -> bool {
        self.inner.short_circuits()
    }

    fn evaluate_bounds(&self, input: &[&Interval]) -> Result<Interval> {
        self.inner.evaluate_bounds(input)
    }

    fn propagate_constraints(
        &self,
        interval: &Interval,
        inputs: &[&Interval],
    ) -> Result<Option<Vec<Interval>>> {
        self.inner.propagate_constraints(interval, inputs)
    }

    fn struct_field_mapping(
        &self,
        literal_args: &[Option<ScalarValue>],
    ) -> Option<StructFieldMapping> {
        self.inner.struct_field_mapping(literal_args)
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        self.inner.output_ordering(inputs)
    }

    fn preserves_lex_ordering(&self, inputs: &[ExprProperties]) -> Result<bool> {
        self.inner.preserves_lex_ordering(inputs)
    }

    fn strictly_order_preserving(&self, inputs: &[ExprProperties]) -> Result<bool> {
        self.inner.strictly_order_preserving(inputs)
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(arg_types)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn placement(&self, args: &[ExpressionPlacement]) -> ExpressionPlacement {
        self.inner.placement(args)
    }
}

/// The arguments of `levenshtein`, which takes the offsets of both texts for as long as those of the first: `string_agg` has longer ones.
fn with_long_offsets(mut args: ScalarFunctionArgs) -> Result<ScalarFunctionArgs> {
    if let [first, second] = args.args.as_mut_slice()
        && first.data_type() == DataType::Utf8
        && second.data_type() == DataType::LargeUtf8
    {
        *first = first.cast_to(&DataType::LargeUtf8, None)?;
    }
    Ok(args)
}

/// A call of a function that is to be bounded, where it is not yet.
fn rebound(expr: Expr, bytes_max: usize) -> Transformed<Expr> {
    let Expr::ScalarFunction(mut call) = expr else {
        return Transformed::no(expr);
    };
    let known = FUNCTIONS.iter().find(|(name, _)| *name == call.func.name());
    match known {
        Some((_, growth)) if !is_bounded(&call.func) => {
            call.func = Arc::new(bounded(&call.func, *growth, bytes_max));
            Transformed::yes(Expr::ScalarFunction(call))
        }
        _ => Transformed::no(Expr::ScalarFunction(call)),
    }
}

fn is_bounded(function: &ScalarUDF) -> bool {
    let inner: &dyn ScalarUDFImpl = function.inner().as_ref();
    (inner as &dyn Any).is::<Bounded>()
}

fn too_large(name: &str, bytes: usize, bytes_max: usize) -> DataFusionError {
    let (mib, most) = (bytes >> 20, bytes_max.div_ceil(1 << 20));
    DataFusionError::Execution(format!(
        "{name} would produce {mib} MiB of values for one batch of rows, and the limit is {most} MiB"
    ))
}

/// `left || right` as a function that looks at how large the texts become: each level of subqueries could double them.
pub fn concatenation(bytes_max: usize) -> ScalarUDF {
    ScalarUDF::from(Concatenation {
        signature: Signature::user_defined(Volatility::Immutable),
        bytes_max,
    })
}

/// Puts bounded functions in the places of operators.
pub struct BoundedOperators {
    /// Bytes that one may make of a batch of rows, at most.
    pub bytes_max: usize,
}

impl Pass for BoundedOperators {
    fn expr(&self, expr: Expr, inputs: &Inputs) -> Result<Transformed<Expr>> {
        Ok(operator(expr, inputs, self.bytes_max))
    }
}

fn operator(expr: Expr, inputs: &Inputs, bytes_max: usize) -> Transformed<Expr> {
    let Expr::BinaryExpr(BinaryExpr {
        left,
        op: Operator::StringConcat,
        right,
    }) = expr
    else {
        return planned(expr, bytes_max);
    };
    let schema = inputs.all();
    let types = (left.get_type(schema), right.get_type(schema));
    match types {
        (Ok(one), Ok(other)) if one.is_string() || other.is_string() => {
            Transformed::yes(concatenation(bytes_max).call(vec![*left, *right]))
        }
        _ => Transformed::no(Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::StringConcat,
            right,
        })),
    }
}

/// A function that DataFusion has planned in the place of an operator (`a @> b`, `a || b` of lists), and not by its name. Literal lists stay as
/// they are: other rules know them.
fn planned(expr: Expr, bytes_max: usize) -> Transformed<Expr> {
    match &expr {
        Expr::ScalarFunction(call) if call.func.name() != "make_array" => rebound(expr, bytes_max),
        _ => Transformed::no(expr),
    }
}

/// The function that `||` of texts is.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Concatenation {
    signature: Signature,
    bytes_max: usize,
}

impl ScalarUDFImpl for Concatenation {
    fn name(&self) -> &'static str {
        "concatenation"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [left, right] = take_function_args(self.name(), types)?;
        let operator = BinaryTypeCoercer::new(left, &Operator::StringConcat, right);
        let (left, right) = operator.get_input_types()?;
        Ok(vec![left, right])
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let [left, right] = take_function_args(self.name(), types)?;
        BinaryTypeCoercer::new(left, &Operator::StringConcat, right).get_result_type()
    }

    /// Plans show the operator.
    fn display_name(&self, args: &[Expr]) -> Result<String> {
        let [left, right] = take_function_args(self.name(), args)?;
        Ok(format!("{left} || {right}"))
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        names::of_call(self.name(), args)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let bytes = Growth::Together.bytes(&args.args, args.number_rows)?;
        if bytes > self.bytes_max {
            return Err(too_large("||", bytes, self.bytes_max));
        }
        let is_constant = is_constant(&args.args);
        if is_constant {
            folded::take(bytes)?;
        }
        let rows = if is_constant { 1 } else { args.number_rows };
        let columns = args
            .args
            .iter()
            .map(|arg| arg.to_array(rows))
            .collect::<Result<Vec<_>>>()?;
        let [left, right] = take_function_args(self.name(), columns)?;
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("left", left, true),
            ("right", right, true),
        ])?;
        let left = Arc::new(Column::new("left", 0));
        let right = Arc::new(Column::new("right", 1));
        let operator = PhysicalBinaryExpr::new(left, Operator::StringConcat, right);
        match operator.evaluate(&batch)? {
            ColumnarValue::Array(array) if is_constant => {
                ScalarValue::try_from_array(&array, 0).map(ColumnarValue::Scalar)
            }
            value => Ok(value),
        }
    }
}

fn is_constant(args: &[ColumnarValue]) -> bool {
    let mut args = args.iter();
    args.all(|arg| matches!(arg, ColumnarValue::Scalar(_)))
}

impl Growth {
    /// About how many bytes the values of so many rows have, and never far fewer.
    fn bytes(self, args: &[ColumnarValue], rows: usize) -> Result<usize> {
        // A function of constants is computed once.
        let rows = if is_constant(args) { 1 } else { rows };
        let Some(first) = args.first() else {
            return Ok(0);
        };
        Ok(match self {
            Self::Together => sum(args.iter().map(|arg| total(arg, rows))),
            Self::Separated => {
                let between = total(first, rows).saturating_mul(args.len().saturating_sub(2));
                sum(args.iter().skip(1).map(|arg| total(arg, rows))).saturating_add(between)
            }
            // The longest list is no longer than all, and its elements are no wider than those of the widest.
            Self::Zipped => sum(args.iter().map(|arg| total(arg, rows))).saturating_mul(args.len()),
            Self::Formatted => sum((0..rows).map(|row| {
                let format = args.get(1).map_or(0, |arg| size(arg, row));
                format.saturating_mul(FORMATTED_BYTES)
            })),
            Self::Groups => sum((0..rows).map(|row| {
                let groups = args.get(1).map_or(0, |arg| groups(arg, row));
                size(first, row).saturating_mul(groups.max(1))
            })),
            Self::ReplaceElements => {
                let to = |row| args.get(2).map_or(0, |arg| size(arg, row));
                let replaced = (0..rows).map(|row| length(first, row).saturating_mul(to(row)));
                total(first, rows).saturating_add(sum(replaced))
            }
            Self::Times => by_count(args.get(1), rows, |row, count| {
                count.saturating_mul(size(first, row).max(1))
            })?,
            Self::Pad => by_count(args.get(1), rows, |_, count| {
                count.saturating_mul(CHARACTER_BYTES)
            })?,
            Self::Resize => {
                let element = args.get(2).map_or(0, |arg| total(arg, 1));
                let element = element.max(ELEMENT_BYTES);
                by_count(args.get(1), rows, |_, count| count.saturating_mul(element))?
                    .saturating_add(total(first, rows))
            }
            Self::Series => series(args, rows)?,
            Self::Between => {
                // Each row has a separator of its own.
                let largest = |arg: &ColumnarValue| (0..rows).map(|row| size(arg, row)).max();
                let others = args.iter().skip(1).filter_map(largest);
                let between = sum(others);
                total(first, rows).saturating_add(elements(first, rows).saturating_mul(between))
            }
            Self::Doubled => total(first, rows).saturating_mul(2),
            Self::Replace => {
                let (from, to) = (args.get(1), args.get(2));
                sum((0..rows).map(|row| {
                    let [text, from, to] =
                        [Some(first), from, to].map(|arg| arg.map_or(0, |arg| size(arg, row)));
                    let times = text.checked_div(from).unwrap_or(text).saturating_add(1);
                    text.saturating_add(times.saturating_mul(to))
                }))
            }
            Self::ReplaceMatches => {
                // Each match may be empty, and each character of the replacement may stand for all of the text.
                let is_all = args.get(3).is_some();
                sum((0..rows).map(|row| {
                    let text = size(first, row).saturating_add(1);
                    let to = args.get(2).map_or(0, |arg| size(arg, row));
                    let times = if is_all { text } else { 1 };
                    let groups = args.get(2).map_or(0, |arg| references(arg, row));
                    text.saturating_add(times.saturating_mul(to))
                        .saturating_add(groups.saturating_mul(text))
                }))
            }
            Self::Compared => 0,
        })
    }

    /// How many comparisons a function makes for so many rows, at most. A statement is not cancelled while it makes those of a batch.
    fn comparisons(self, args: &[ColumnarValue], rows: usize) -> usize {
        let rows = if is_constant(args) { 1 } else { rows };
        match (self, args) {
            (Self::Compared, [one, other, ..]) => {
                sum((0..rows).map(|row| length(one, row).saturating_mul(length(other, row))))
            }
            _ => 0,
        }
    }
}

fn sum(bytes: impl Iterator<Item = usize>) -> usize {
    bytes.fold(0, usize::saturating_add)
}

/// The bytes that rows have by a number that stands in an argument.
fn by_count(
    counts: Option<&ColumnarValue>,
    rows: usize,
    bytes: impl Fn(usize, usize) -> usize,
) -> Result<usize> {
    let Some(counts) = counts else {
        return Ok(0);
    };
    let counts = numbers(counts, rows)?;
    Ok(sum((0..rows).map(|row| {
        let count = usize::try_from(counts.get(row)).unwrap_or(0);
        bytes(row, count)
    })))
}

/// The numbers of an argument; 0 where there is none.
struct Numbers {
    array: ArrayRef,
    is_scalar: bool,
}

impl Numbers {
    fn get(&self, row: usize) -> i64 {
        let row = if self.is_scalar { 0 } else { row };
        let numbers: &Int64Array = self.array.as_primitive::<Int64Type>();
        match row < numbers.len() && numbers.is_valid(row) {
            true => numbers.value(row),
            false => 0,
        }
    }
}

fn numbers(arg: &ColumnarValue, rows: usize) -> Result<Numbers> {
    let is_scalar = matches!(arg, ColumnarValue::Scalar(_));
    let array = arg.to_array(if is_scalar { 1 } else { rows })?;
    let array = cast(&array, &DataType::Int64)?;
    Ok(Numbers { array, is_scalar })
}

/// The bytes of a series: numbers by numbers, or times by an interval; a step of zero is an error elsewhere.
fn series(args: &[ColumnarValue], rows: usize) -> Result<usize> {
    let is_number = |arg: &ColumnarValue| arg.data_type().is_integer() || arg.data_type().is_null();
    if args.iter().all(is_number) {
        let (start, stop) = match args {
            [stop] => (None, numbers(stop, rows)?),
            [start, stop, ..] => (Some(numbers(start, rows)?), numbers(stop, rows)?),
            [] => return Ok(0),
        };
        let step = args.get(2).map(|step| numbers(step, rows)).transpose()?;
        return Ok(sum((0..rows).map(|row| {
            let start = start.as_ref().map_or(0, |start| start.get(row));
            let step = step.as_ref().map_or(1, |step| step.get(row));
            let between = stop.get(row).abs_diff(start);
            let count = between.checked_div(step.unsigned_abs()).unwrap_or(0);
            usize::try_from(count)
                .unwrap_or(usize::MAX)
                .saturating_add(1)
                .saturating_mul(ELEMENT_BYTES)
        })));
    }
    let [start, stop, step] = args else {
        return Ok(0);
    };
    let instants = |arg: &ColumnarValue| -> Result<Numbers> {
        let kind = DataType::Timestamp(arrow::datatypes::TimeUnit::Nanosecond, None);
        let is_scalar = matches!(arg, ColumnarValue::Scalar(_));
        let array = arg.to_array(if is_scalar { 1 } else { rows })?;
        let array = cast(&cast(&array, &kind)?, &DataType::Int64)?;
        Ok(Numbers { array, is_scalar })
    };
    let of_dates = matches!(start.data_type(), DataType::Date32 | DataType::Date64);
    let (start, stop) = (instants(start)?, instants(stop)?);
    let step = match step {
        ColumnarValue::Scalar(step) => shortest(step, of_dates)?,
        ColumnarValue::Array(steps) => {
            for row in 0..steps.len() {
                shortest(&ScalarValue::try_from_array(steps, row)?, of_dates)?;
            }
            // Series by a column of intervals are rare.
            1
        }
    };
    Ok(sum((0..rows).map(|row| {
        let between = stop.get(row).abs_diff(start.get(row));
        let count = between.checked_div(step).unwrap_or(0);
        usize::try_from(count)
            .unwrap_or(usize::MAX)
            .saturating_add(1)
            .saturating_mul(ELEMENT_BYTES)
    })))
}

/// The time by which an interval moves on at least, in nanoseconds; 0 for other values.
///
/// # Errors
/// When it moves backwards at some times and forwards at others, as `1 month -30 days` does: DataFusion would go on without an end. The sign
/// of a series of dates is that of each part of its interval.
fn shortest(step: &ScalarValue, of_dates: bool) -> Result<u64> {
    const HOUR: i128 = 3_600_000_000_000;
    let (months, days, nanoseconds) = match step {
        ScalarValue::IntervalMonthDayNano(Some(step)) => (step.months, step.days, step.nanoseconds),
        ScalarValue::IntervalDayTime(Some(step)) => {
            (0, step.days, i64::from(step.milliseconds) * 1_000_000)
        }
        ScalarValue::IntervalYearMonth(Some(months)) => (*months, 0, 0),
        _ => return Ok(0),
    };
    let parts: [i128; 3] = [months.into(), days.into(), nanoseconds.into()];
    let Some(sign) = parts
        .iter()
        .map(|part| part.signum())
        .find(|sign| *sign != 0)
    else {
        return Ok(0);
    };
    // A month has at least 28 days. A day has an hour or two more or less where clocks are set.
    let [months, days, nanoseconds] = parts.map(|part| part * sign);
    let day = if days < 0 { 26 } else { 22 };
    let forwards = (months * 28 * 24 + days * day) * HOUR + nanoseconds;
    if forwards <= 0 || (of_dates && (days < 0 || nanoseconds < 0)) {
        return Err(DataFusionError::Execution(
            "the step of a series is an interval whose parts have different signs: it moves backwards at some times and forwards at others".to_owned(),
        ));
    }
    Ok(u64::try_from(forwards).unwrap_or(u64::MAX))
}

/// The bytes of an argument in all rows.
fn total(arg: &ColumnarValue, rows: usize) -> usize {
    match arg {
        ColumnarValue::Scalar(scalar) => scalar_size(scalar).saturating_mul(rows),
        ColumnarValue::Array(array) => match array.data_type() {
            DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView => sum((0..array.len()).map(|row| array_size(array, row))),
            _ => array.get_array_memory_size(),
        },
    }
}

/// The bytes of an argument in one row.
fn size(arg: &ColumnarValue, row: usize) -> usize {
    match arg {
        ColumnarValue::Scalar(scalar) => scalar_size(scalar),
        ColumnarValue::Array(array) => array_size(array, row),
    }
}

fn scalar_size(scalar: &ScalarValue) -> usize {
    match scalar {
        ScalarValue::Utf8(text) | ScalarValue::LargeUtf8(text) | ScalarValue::Utf8View(text) => {
            text.as_ref().map_or(0, String::len)
        }
        ScalarValue::Binary(bytes)
        | ScalarValue::LargeBinary(bytes)
        | ScalarValue::BinaryView(bytes) => bytes.as_ref().map_or(0, Vec::len),
        other => other
            .size()
            .saturating_sub(size_of::<ScalarValue>())
            .max(ELEMENT_BYTES),
    }
}

fn array_size(array: &ArrayRef, row: usize) -> usize {
    if row >= array.len() || array.is_null(row) {
        return 0;
    }
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row).len(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).len(),
        DataType::Utf8View => array.as_string_view().value(row).len(),
        DataType::Binary => array.as_binary::<i32>().value(row).len(),
        DataType::LargeBinary => array.as_binary::<i64>().value(row).len(),
        DataType::BinaryView => array.as_binary_view().value(row).len(),
        _ => value_bytes(&array.slice(row, 1)).max(ELEMENT_BYTES),
    }
}

/// The bytes of the values of an array, and not of what else lies in its buffers.
pub fn value_bytes(array: &ArrayRef) -> usize {
    match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let offsets = list.value_offsets();
            let (from, to) = ends(offsets.first(), offsets.last());
            value_bytes(&list.values().slice(from, to - from)).saturating_add(size_of_val(offsets))
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let offsets = list.value_offsets();
            let (from, to) = ends(offsets.first(), offsets.last());
            value_bytes(&list.values().slice(from, to - from)).saturating_add(size_of_val(offsets))
        }
        DataType::FixedSizeList(..) => value_bytes(array.as_fixed_size_list().values()),
        DataType::Struct(_) => sum(array.as_struct().columns().iter().map(value_bytes)),
        DataType::Utf8View => {
            let texts = array.as_string_view().iter().flatten();
            sum(texts.map(|text| text.len() + size_of::<u128>()))
        }
        DataType::BinaryView => {
            let values = array.as_binary_view().iter().flatten();
            sum(values.map(|value| value.len() + size_of::<u128>()))
        }
        _ => {
            let data = array.to_data();
            let bytes = data.get_slice_memory_size();
            bytes.unwrap_or_else(|_| array.get_array_memory_size())
        }
    }
}

/// The first and the last of the offsets of a list. There is one at least, and they ascend.
fn ends<T: Copy + TryInto<usize>>(first: Option<&T>, last: Option<&T>) -> (usize, usize) {
    let number = |offset: Option<&T>| -> Option<usize> { (*offset?).try_into().ok() };
    let from = number(first).unwrap_or(0);
    (from, number(last).unwrap_or(from).max(from))
}

/// The elements of a list in one row, or the bytes of another argument.
fn length(arg: &ColumnarValue, row: usize) -> usize {
    let (array, row): (&dyn Array, usize) = match arg {
        ColumnarValue::Scalar(ScalarValue::List(list)) => (&**list, 0),
        ColumnarValue::Scalar(ScalarValue::LargeList(list)) => (&**list, 0),
        ColumnarValue::Scalar(scalar) => return scalar_size(scalar),
        ColumnarValue::Array(array) => (&**array, row),
    };
    if row >= array.len() {
        return 0;
    }
    match array.data_type() {
        DataType::List(_) => usize::try_from(array.as_list::<i32>().value_length(row)).unwrap_or(0),
        DataType::LargeList(_) => {
            usize::try_from(array.as_list::<i64>().value_length(row)).unwrap_or(0)
        }
        _ => size(arg, row),
    }
}

/// The elements of lists.
fn elements(arg: &ColumnarValue, rows: usize) -> usize {
    match arg {
        ColumnarValue::Array(array) => match array.data_type() {
            DataType::List(_) => array.as_list::<i32>().values().len(),
            DataType::LargeList(_) => array.as_list::<i64>().values().len(),
            _ => array.get_array_memory_size() / ELEMENT_BYTES,
        },
        ColumnarValue::Scalar(scalar) => (scalar_size(scalar) / ELEMENT_BYTES).saturating_mul(rows),
    }
}

/// The places of a replacement that stand for what a pattern has found.
fn references(arg: &ColumnarValue, row: usize) -> usize {
    let count = |text: &str| {
        text.bytes()
            .filter(|byte| matches!(byte, b'\\' | b'$'))
            .count()
    };
    match arg {
        ColumnarValue::Scalar(scalar) => scalar.try_as_str().flatten().map_or(0, count),
        ColumnarValue::Array(array) => size(&ColumnarValue::Array(Arc::clone(array)), row),
    }
}

/// The groups of a pattern, or more.
fn groups(arg: &ColumnarValue, row: usize) -> usize {
    let count = |pattern: &str| pattern.bytes().filter(|byte| *byte == b'(').count();
    match arg {
        ColumnarValue::Scalar(scalar) => scalar.try_as_str().flatten().map_or(0, count),
        ColumnarValue::Array(array) => size(&ColumnarValue::Array(Arc::clone(array)), row),
    }
}

/// The rows that a batch of a statement has at most, so that its constants fill no more than `CONSTANT_BYTES_MAX`.
///
/// Values of lists, as in `x IN (…)`, and rows of VALUES stand once and are not repeated.
pub fn batch_rows(plan: &LogicalPlan, rows: usize) -> Result<usize> {
    let mut bytes = 0_usize;
    plan.apply_with_subqueries(|node| {
        if matches!(node, LogicalPlan::Values(_)) {
            return Ok(TreeNodeRecursion::Continue);
        }
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                match expr {
                    Expr::Literal(value, _) => bytes = bytes.saturating_add(scalar_size(value)),
                    Expr::InList(_) => return Ok(TreeNodeRecursion::Jump),
                    _ => {}
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(rows.min(CONSTANT_BYTES_MAX / bytes.max(1)).max(1))
}

/// Bytes that a function makes of one batch of rows where memory has a limit.
const VALUES_BYTES_MAX: usize = 128 << 20;
/// Bytes that all constants of a statement fill in one batch of rows.
const CONSTANT_BYTES_MAX: usize = 64 << 20;
/// Comparisons that a function makes for one batch of rows: some seconds.
const COMPARISONS_MAX: usize = 4_000_000_000;
/// UTF-8 has no longer characters.
const CHARACTER_BYTES: usize = 4;
/// Two characters of a format stand for a date, a time and its zone (`%+`).
const FORMATTED_BYTES: usize = 20;
/// An element of a list of numbers.
const ELEMENT_BYTES: usize = 8;

#[cfg(test)]
mod tests;
