//! Whether a comparison with the elements of a list is unknown: what `x = ANY(list)` is where no element is equal; and whether a list
//! contains another one, where one of them is NULL. And the type of an integer beside a list, and values of IN that are no constants.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::utils::take_function_args;
use datafusion::common::{ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{
    Case, ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::pass::{Inputs, Pass};

/// Makes `a @> b` and the like NULL where `a` or `b` is. DataFusion's functions say that a list contains one that is NULL where all
/// lists that they look for are NULL or without elements.
pub struct Contained;

impl Pass for Contained {
    fn expr(&self, expr: Expr, _inputs: &Inputs) -> Result<Transformed<Expr>> {
        let Expr::ScalarFunction(call) = &expr else {
            return Ok(Transformed::no(expr));
        };
        if !matches!(call.func.name(), "array_has_all" | "array_has_any") {
            return Ok(Transformed::no(expr));
        }
        let [list, other] = call.args.as_slice() else {
            return Ok(Transformed::no(expr));
        };
        let is_unknown = list.clone().is_null().or(other.clone().is_null());
        let unknown = Expr::Literal(ScalarValue::Boolean(None), None);
        let when = vec![(Box::new(is_unknown), Box::new(unknown))];
        let known = Some(Box::new(expr));
        Ok(Transformed::yes(Expr::Case(Case::new(None, when, known))))
    }
}

/// Keeps values of IN that depend on the row from being taken for constants. DataFusion takes for one what has a single value for no rows,
/// which a CASE with an operand (`a IN (CASE b WHEN 1 THEN c END, 5)`) has.
pub struct RowsInLists;

impl Pass for RowsInLists {
    fn expr(&self, expr: Expr, _inputs: &Inputs) -> Result<Transformed<Expr>> {
        let Expr::InList(mut of) = expr else {
            return Ok(Transformed::no(expr));
        };
        let mut is_changed = false;
        for value in &mut of.list {
            if has_case_with_operand(value) {
                let inner = std::mem::take(value);
                *value = value_of_row().call(vec![inner]);
                is_changed = true;
            }
        }
        Ok(Transformed::new_transformed(Expr::InList(of), is_changed))
    }
}

fn has_case_with_operand(value: &Expr) -> bool {
    let is_case = |part: &Expr| matches!(part, Expr::Case(case) if case.expr.is_some());
    value.exists(|part| Ok(is_case(part))).unwrap_or(false)
}

/// `value_of_row(x)`: `x`, with a value for each row also where all are one.
pub(crate) const VALUE_OF_ROW: &str = "value_of_row";

pub(crate) fn value_of_row() -> ScalarUDF {
    ScalarUDF::from(ValueOfRow {
        signature: Signature::any(1, Volatility::Immutable),
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ValueOfRow {
    signature: Signature,
}

impl ScalarUDFImpl for ValueOfRow {
    fn name(&self) -> &'static str {
        VALUE_OF_ROW
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let [kind] = take_function_args(self.name(), types)?;
        Ok(kind.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let [value] = take_function_args(self.name(), args.args)?;
        Ok(ColumnarValue::Array(value.into_array(rows)?))
    }
}

/// `unknown_in_list(list, x)`: NULL where the list is NULL, where it has a NULL, and where `x` is NULL and the list has elements;
/// false otherwise.
pub const UNKNOWN_IN_LIST: &str = "unknown_in_list";

pub(crate) fn unknown_in_list() -> ScalarUDF {
    ScalarUDF::from(UnknownInList {
        signature: Signature::any(2, Volatility::Immutable),
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct UnknownInList {
    signature: Signature,
}

impl ScalarUDFImpl for UnknownInList {
    fn name(&self) -> &'static str {
        UNKNOWN_IN_LIST
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types.first() {
            Some(
                DataType::List(_)
                | DataType::LargeList(_)
                | DataType::FixedSizeList(..)
                | DataType::Null,
            ) => Ok(DataType::Boolean),
            _ => plan_err!("ANY and ALL take a list or a query: x = ANY(ARRAY[1, 2])"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [list, value] = take_function_args(self.name(), args.args)?;
        let is_constant = [&list, &value]
            .iter()
            .all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { args.number_rows };
        let (list, value) = (Argument::of(&list, rows)?, Argument::of(&value, rows)?);
        let nulls = list.elements.logical_nulls();
        let outcomes = (0..rows).map(|row| {
            let (start, len) = list.range(row)?;
            let is_known =
                len == 0 || (value.is_valid(row) && !has_null(nulls.as_ref(), start, len));
            is_known.then_some(false)
        });
        let outcomes: BooleanArray = outcomes.collect();
        Ok(match is_constant {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&outcomes, 0)?),
            false => ColumnarValue::Array(Arc::new(outcomes)),
        })
    }
}

/// `list_integer(list, x)`: an integer literal with the type of the elements of a list where these are unsigned and as wide, or decimals of
/// such. DataFusion has no type in common for both.
pub const LIST_INTEGER: &str = "list_integer";

pub(crate) fn list_integer() -> ScalarUDF {
    ScalarUDF::from(ListInteger {
        signature: Signature::any(2, Volatility::Immutable),
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ListInteger {
    signature: Signature,
}

impl ScalarUDFImpl for ListInteger {
    fn name(&self) -> &'static str {
        LIST_INTEGER
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let [list, integer] = take_function_args(self.name(), types)?;
        let elements = match list {
            DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
                item.data_type()
            }
            _ => integer,
        };
        Ok(match (elements, integer) {
            (DataType::UInt64, DataType::Int64) => DataType::UInt64,
            (elements, DataType::Int64) if *elements == SIGNED => SIGNED,
            _ => integer.clone(),
        })
    }

    /// A literal stays a constant beside what is no list.
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [_, integer] = take_function_args(self.name(), args.args)?;
        integer.cast_to(args.return_field.data_type(), None)
    }
}

/// `signed_list(list)`: a list of unsigned 64-bit integers as one of decimals, which have room for integers of both signs.
pub const SIGNED_LIST: &str = "signed_list";

/// The type of such elements.
const SIGNED: DataType = DataType::Decimal128(20, 0);

pub(crate) fn signed_list() -> ScalarUDF {
    ScalarUDF::from(SignedList {
        signature: Signature::any(1, Volatility::Immutable),
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct SignedList {
    signature: Signature,
}

impl ScalarUDFImpl for SignedList {
    fn name(&self) -> &'static str {
        SIGNED_LIST
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let [list] = take_function_args(self.name(), types)?;
        let signed = |item: &FieldRef| {
            let item = item.as_ref().clone();
            Arc::new(item.with_data_type(SIGNED))
        };
        Ok(match list {
            DataType::List(item) if *item.data_type() == DataType::UInt64 => {
                DataType::List(signed(item))
            }
            DataType::LargeList(item) if *item.data_type() == DataType::UInt64 => {
                DataType::LargeList(signed(item))
            }
            list => list.clone(),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [list] = take_function_args(self.name(), args.args)?;
        list.cast_to(args.return_field.data_type(), None)
    }
}

/// An argument: a constant has one row, which stands for all.
struct Argument {
    array: ArrayRef,
    nulls: Option<NullBuffer>,
    /// The elements of all lists.
    elements: ArrayRef,
    is_constant: bool,
}

impl Argument {
    fn of(value: &ColumnarValue, rows: usize) -> Result<Self> {
        let is_constant = matches!(value, ColumnarValue::Scalar(_));
        let array = value.to_array(if is_constant { 1 } else { rows })?;
        let elements = match array.data_type() {
            DataType::List(_) => array.as_list::<i32>().values(),
            DataType::LargeList(_) => array.as_list::<i64>().values(),
            DataType::FixedSizeList(..) => array.as_fixed_size_list().values(),
            _ => &array,
        };
        Ok(Self {
            elements: ArrayRef::clone(elements),
            nulls: array.logical_nulls(),
            array,
            is_constant,
        })
    }

    const fn row(&self, row: usize) -> usize {
        if self.is_constant { 0 } else { row }
    }

    fn is_valid(&self, row: usize) -> bool {
        let row = self.row(row);
        self.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row))
    }

    /// The place of the first element of a row's list, and the number of its elements; `None` for no list.
    fn range(&self, row: usize) -> Option<(usize, usize)> {
        if !self.is_valid(row) {
            return None;
        }
        let row = self.row(row);
        let between = |start: i64, end: i64| {
            let start = usize::try_from(start).ok()?;
            Some((start, usize::try_from(end).ok()?.saturating_sub(start)))
        };
        match self.array.data_type() {
            DataType::List(_) => match self.array.as_list::<i32>().value_offsets().get(row..) {
                Some([start, end, ..]) => between(i64::from(*start), i64::from(*end)),
                _ => None,
            },
            DataType::LargeList(_) => {
                match self.array.as_list::<i64>().value_offsets().get(row..) {
                    Some([start, end, ..]) => between(*start, *end),
                    _ => None,
                }
            }
            DataType::FixedSizeList(_, len) => {
                let len = usize::try_from(*len).ok()?;
                Some((row.checked_mul(len)?, len))
            }
            _ => None,
        }
    }
}

fn has_null(nulls: Option<&NullBuffer>, start: usize, len: usize) -> bool {
    match nulls {
        Some(nulls) if start.saturating_add(len) <= nulls.len() => {
            nulls.slice(start, len).null_count() > 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, ListArray};
    use arrow::datatypes::{Field, Int64Type};
    use datafusion::config::ConfigOptions;

    use super::*;

    fn lists() -> ArrayRef {
        Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>([
            Some(vec![Some(1), Some(2)]),
            Some(vec![Some(1), None]),
            Some(vec![]),
            None,
            Some(vec![Some(1)]),
        ]))
    }

    fn outcomes(list: ColumnarValue, value: ColumnarValue, rows: usize) -> Vec<Option<bool>> {
        let field = |value: &ColumnarValue| Arc::new(Field::new("a", value.data_type(), true));
        let args = ScalarFunctionArgs {
            arg_fields: vec![field(&list), field(&value)],
            args: vec![list, value],
            number_rows: rows,
            return_field: Arc::new(Field::new("a", DataType::Boolean, true)),
            config_options: Arc::new(ConfigOptions::default()),
        };
        let outcome = unknown_in_list().invoke_with_args(args).unwrap();
        outcome
            .to_array(rows)
            .unwrap()
            .as_boolean()
            .iter()
            .collect()
    }

    #[test]
    fn a_comparison_with_a_list_is_unknown_where_a_null_is_involved() {
        let values: ArrayRef = Arc::new(Int64Array::from(vec![
            Some(3),
            Some(3),
            None,
            Some(3),
            None,
        ]));
        let known = Some(false);
        let list = ColumnarValue::Array(lists());
        let column = ColumnarValue::Array(Arc::clone(&values));
        assert_eq!(
            outcomes(list.clone(), column, 5),
            [known, None, known, None, None]
        );
        let constant = ColumnarValue::Scalar(ScalarValue::from(3_i64));
        assert_eq!(
            outcomes(list, constant, 5),
            [known, None, known, None, known]
        );
        // This is a part of a batch, whose lists begin behind the first element.
        let part = ColumnarValue::Array(lists().slice(1, 4));
        let column = ColumnarValue::Array(values.slice(1, 4));
        assert_eq!(outcomes(part, column, 4), [None, known, None, None]);
        for (place, expected) in [(0, known), (1, None), (2, known), (3, None)] {
            let list = ScalarValue::try_from_array(&lists(), place).unwrap();
            let list = ColumnarValue::Scalar(list);
            let constant = ColumnarValue::Scalar(ScalarValue::from(3_i64));
            assert_eq!(outcomes(list, constant, 1), [expected], "{place}");
        }
    }
}
