//! Filters that the scan decides while it decodes.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::{Between, InList, ScalarFunction};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator as SqlOperator};
use weir_packet::Kind;
use weir_tables::{
    Column, Constant, DisplayFilter, Expression, Network, Operator, Origin, Predicate, Table,
};

use crate::function::{CIDR_MATCH, DISPLAY_FILTER};
use crate::fuse::convert;

/// The filter as a predicate of the scan, with the same outcome on every row; `None` when the scan
/// cannot decide it.
pub(crate) fn predicate(filter: &Expr, table: &Table) -> Option<Predicate> {
    match filter {
        Expr::Column(_) => {
            let column = column(filter, table)?;
            (column.kind == Kind::Bool).then_some(Predicate::IsTrue(column))
        }
        Expr::Not(inner) => Some(not(predicate(inner, table)?)),
        Expr::IsNull(inner) => Some(Predicate::IsNull(column(inner, table)?)),
        Expr::IsNotNull(inner) => Some(not(Predicate::IsNull(column(inner, table)?))),
        Expr::BinaryExpr(binary) => binary_predicate(binary, table),
        Expr::InList(InList {
            expr,
            list,
            negated,
        }) => {
            let column = column(expr, table)?;
            let constants = list
                .iter()
                .map(|item| literal(item, &column))
                .collect::<Option<_>>()?;
            let within = Predicate::In(column, constants);
            Some(if *negated { not(within) } else { within })
        }
        Expr::Between(Between {
            expr,
            negated,
            low,
            high,
        }) => {
            let column = column(expr, table)?;
            let low = literal(low, &column)?;
            let high = literal(high, &column)?;
            let between = Predicate::And(vec![
                Predicate::Compare(column.clone(), Operator::GreaterOrEqual, low),
                Predicate::Compare(column, Operator::LessOrEqual, high),
            ]);
            Some(if *negated { not(between) } else { between })
        }
        Expr::ScalarFunction(ScalarFunction { func, args }) if func.name() == CIDR_MATCH => {
            let [address, Expr::Literal(network, _)] = args.as_slice() else {
                return None;
            };
            let column = column(address, table)?;
            let network = Network::parse(network.try_as_str()??)?;
            (column.kind == Kind::Address).then_some(Predicate::Within(column, network))
        }
        Expr::ScalarFunction(ScalarFunction { func, args }) if func.name() == DISPLAY_FILTER => {
            let [Expr::Literal(text, _), number] = args.as_slice() else {
                return None;
            };
            display(text, &column(number, table)?)
        }
        _ => None,
    }
}

/// A display filter, which is asked of the packet that a row is.
pub(crate) fn display(text: &ScalarValue, number: &Column) -> Option<Predicate> {
    let is_packet = matches!(number.origin, Origin::Packet(..)) && &*number.name == "frame.number";
    let filter = DisplayFilter::new(text.try_as_str()??).ok()?;
    is_packet.then(|| Predicate::Display(Arc::new(filter)))
}

fn binary_predicate(binary: &BinaryExpr, table: &Table) -> Option<Predicate> {
    let BinaryExpr { left, op, right } = binary;
    match op {
        SqlOperator::And | SqlOperator::Or => {
            let both = vec![predicate(left, table)?, predicate(right, table)?];
            Some(match op {
                SqlOperator::And => Predicate::And(both),
                _ => Predicate::Or(both),
            })
        }
        _ => {
            let operator = operator(*op)?;
            let (expr, constant, operator) = match right.as_ref() {
                Expr::Literal(..) => (left, right, operator),
                _ => (right, left, mirrored(operator)),
            };
            if let Some(column) = column(expr, table) {
                let constant = literal(constant, &column)?;
                return Some(Predicate::Compare(column, operator, constant));
            }
            let Expr::Literal(ScalarValue::Int64(Some(constant)), _) = constant.as_ref() else {
                return None;
            };
            let expression = calculated_from(expr, table)?;
            (expression.kind() == Kind::I64)
                .then_some(Predicate::Calculated(expression, operator, *constant))
        }
    }
}

fn not(predicate: Predicate) -> Predicate {
    Predicate::Not(Box::new(predicate))
}

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

/// A column of the table, as it is or widened to a larger integer, which changes no comparison.
fn column(expr: &Expr, table: &Table) -> Option<Column> {
    match expr {
        Expr::Column(column) => {
            let position = table.position(&column.name)?;
            let column = table.columns().get(position).cloned();
            column.filter(|column| !matches!(column.origin, Origin::Record))
        }
        Expr::Cast(cast) => {
            let column = column(&cast.expr, table)?;
            let wider = match column.kind {
                Kind::U8 | Kind::U16 | Kind::U32 => &[DataType::Int64, DataType::UInt64][..],
                _ => &[],
            };
            wider.contains(cast.field.data_type()).then_some(column)
        }
        _ => None,
    }
}

fn literal(expr: &Expr, column: &Column) -> Option<Constant> {
    match expr {
        Expr::Literal(value, _) => constant(value, column),
        _ => None,
    }
}

/// A number computed from columns, signed and of 64 bits.
fn calculated_from(expr: &Expr, table: &Table) -> Option<Expression> {
    match expr {
        Expr::Column(column) => {
            let position = table.position(&column.name)?;
            table
                .columns()
                .get(position)
                .cloned()
                .map(Expression::Column)
        }
        Expr::Literal(ScalarValue::Int64(Some(value)), _) => Some(Expression::Constant(*value)),
        Expr::Cast(cast) => {
            convert::widened(calculated_from(&cast.expr, table)?, cast.field.data_type())
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => convert::calculated(
            calculated_from(left, table)?,
            convert::calculation(*op)?,
            calculated_from(right, table)?,
        ),
        Expr::ScalarFunction(ScalarFunction { func, args }) => match args.as_slice() {
            [left, right] => convert::calculated(
                calculated_from(left, table)?,
                convert::checked(func)?,
                calculated_from(right, table)?,
            ),
            _ => None,
        },
        _ => None,
    }
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
            // NaN and the two zeros compare otherwise in SQL engines: leave them to the engine.
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

fn integer(value: &ScalarValue) -> Option<i128> {
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
