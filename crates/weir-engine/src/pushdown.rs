//! Filters that the scan decides while it decodes.

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::{Between, InList, ScalarFunction};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator as SqlOperator};
use weir_packet::Kind;
use weir_tables::{Column, Constant, Network, Operator, Predicate, Table};

use crate::function::CIDR_MATCH;

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
                .map(|item| constant(item, &column))
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
            let low = constant(low, &column)?;
            let high = constant(high, &column)?;
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
        _ => None,
    }
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
            if let Some(column) = column(left, table) {
                let constant = constant(right, &column)?;
                return Some(Predicate::Compare(column, operator, constant));
            }
            let column = column(right, table)?;
            let constant = constant(left, &column)?;
            Some(Predicate::Compare(column, mirrored(operator), constant))
        }
    }
}

fn not(predicate: Predicate) -> Predicate {
    Predicate::Not(Box::new(predicate))
}

const fn operator(op: SqlOperator) -> Option<Operator> {
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
const fn mirrored(operator: Operator) -> Operator {
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
            table.columns().get(position).cloned()
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

/// A literal as a constant of the same kind as the column's values.
fn constant(expr: &Expr, column: &Column) -> Option<Constant> {
    let Expr::Literal(value, _) = expr else {
        return None;
    };
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
