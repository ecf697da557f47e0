//! Parts of expressions in the terms of a scan, which logical filters (`pushdown`) and physical expressions
//! (`fuse/convert`) have in common.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Operator as SqlOperator, ScalarUDF};
use weir_functions::number::{self, Operation};
use weir_packet::Kind;
use weir_tables::{
    Calculation, Column, Constant, DisplayFilter, Expression, Operator, Origin, Predicate,
};

/// The comparison that an operator of SQL is.
pub(crate) const fn operator(op: SqlOperator) -> Option<Operator> {
    Some(match op {
        SqlOperator::Eq => Operator::Equal,
        SqlOperator::NotEq => Operator::NotEqual,
        SqlOperator::Lt => Operator::Less,
        SqlOperator::LtEq => Operator::LessOrEqual,
        SqlOperator::Gt => Operator::Greater,
        SqlOperator::GtEq => Operator::GreaterOrEqual,
        _ => return None,
    })
}

/// The operator when the sides change places.
pub(crate) const fn mirrored(operator: Operator) -> Operator {
    match operator {
        Operator::Less => Operator::Greater,
        Operator::LessOrEqual => Operator::GreaterOrEqual,
        Operator::Greater => Operator::Less,
        Operator::GreaterOrEqual => Operator::LessOrEqual,
        same => same,
    }
}

/// A display filter on the packet of a row.
pub(crate) fn display(text: &ScalarValue, number: &Column) -> Option<Predicate> {
    let is_packet = matches!(number.origin, Origin::Packet(..)) && &*number.name == "frame.number";
    let filter = DisplayFilter::new(text.try_as_str()??).ok()?;
    is_packet.then(|| Predicate::Display(Arc::new(filter)))
}

/// A value as a constant of the same kind as the column's values.
pub(crate) fn constant(value: &ScalarValue, column: &Column) -> Option<Constant> {
    match column.kind {
        Kind::Bool => match value {
            ScalarValue::Boolean(Some(value)) => Some(Constant::Bool(*value)),
            _ => None,
        },
        Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 | Kind::I64 => {
            integer(value).map(Constant::Integer)
        }
        Kind::F64 => match value {
            // NaN and the two zeros compare otherwise in SQL engines, so that they are left to the engine.
            ScalarValue::Float64(Some(value)) if !value.is_nan() && *value != 0.0 => {
                Some(Constant::Float(*value))
            }
            _ => None,
        },
        Kind::Time => match value {
            ScalarValue::TimestampNanosecond(Some(value), Some(_)) => {
                Some(Constant::Integer((*value).into()))
            }
            _ => None,
        },
        Kind::Address | Kind::Bytes => match value {
            ScalarValue::Binary(Some(bytes))
            | ScalarValue::BinaryView(Some(bytes))
            | ScalarValue::LargeBinary(Some(bytes)) => Some(Constant::Bytes(bytes.clone())),
            _ => None,
        },
        Kind::Texts | Kind::Numbers => None,
        Kind::Text => value
            .try_as_str()?
            .map(|text| Constant::Text(text.to_owned())),
    }
}

/// The integer that a value is.
pub(crate) fn integer(value: &ScalarValue) -> Option<i128> {
    match *value {
        ScalarValue::Int8(value) => value.map(i128::from),
        ScalarValue::Int16(value) => value.map(i128::from),
        ScalarValue::Int32(value) => value.map(i128::from),
        ScalarValue::Int64(value) => value.map(i128::from),
        ScalarValue::UInt8(value) => value.map(i128::from),
        ScalarValue::UInt16(value) => value.map(i128::from),
        ScalarValue::UInt32(value) => value.map(i128::from),
        ScalarValue::UInt64(value) => value.map(i128::from),
        _ => None,
    }
}

/// An integer as one of 64 bits that has room for it.
pub(crate) fn widened(expression: Expression, to: &DataType) -> Option<Expression> {
    let signed = *to == DataType::Int64;
    let fits = match expression.kind() {
        Kind::U8 | Kind::U16 | Kind::U32 => matches!(to, DataType::Int64 | DataType::UInt64),
        Kind::U64 => *to == DataType::UInt64,
        Kind::I64 => *to == DataType::Int64,
        _ => false,
    };
    fits.then(|| Expression::Integer {
        signed,
        of: Box::new(expression),
    })
}

/// The operator that a function stands for. Where its outcome may have no room it is left to the engine, which
/// fails then.
pub(crate) fn checked(function: &ScalarUDF) -> Option<Calculation> {
    match number::operation(function)? {
        Operation::Add => Some(Calculation::Add),
        Operation::Subtract => Some(Calculation::Subtract),
        Operation::Multiply => Some(Calculation::Multiply),
        Operation::Divide => None,
    }
}

/// The calculation that an operator of SQL is.
pub(crate) const fn calculation(operator: SqlOperator) -> Option<Calculation> {
    Some(match operator {
        SqlOperator::Divide => Calculation::Divide,
        SqlOperator::Modulo => Calculation::Remainder,
        SqlOperator::BitwiseAnd => Calculation::And,
        SqlOperator::BitwiseOr => Calculation::Or,
        SqlOperator::BitwiseXor => Calculation::ExclusiveOr,
        SqlOperator::BitwiseShiftLeft => Calculation::ShiftLeft,
        SqlOperator::BitwiseShiftRight => Calculation::ShiftRight,
        _ => return None,
    })
}

/// Two signed numbers calculated with. Times are left to the engine, which gives durations.
pub(crate) fn calculated(
    left: Expression,
    calculation: Calculation,
    right: Expression,
) -> Option<Expression> {
    let signed = left.kind() == Kind::I64 && right.kind() == Kind::I64;
    signed.then(|| left.calculate(calculation, right)).flatten()
}
