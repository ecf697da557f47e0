//! Filters that the scan decides while it decodes.

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::{Between, InList, ScalarFunction};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator as SqlOperator};
use weir_functions::function::{CIDR_MATCH, DISPLAY_FILTER};
use weir_functions::payload;
use weir_packet::Kind;
use weir_tables::{
    Column, Constant, Expression, Network, Operator, Origin, Part, Predicate, Search, Table,
};

use crate::lower::{
    calculated, calculation, checked, constant, display, integer, mirrored, operator, widened,
};

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
        Expr::ScalarFunction(function) if search(function).is_some() => {
            let (column, part) = bytes(function.args.first()?, table)?;
            Some(Predicate::Search(column, search(function)?.in_part(part)))
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

/// The search of a function in the bytes of its first argument; `None` for other functions.
fn search(function: &ScalarFunction) -> Option<Search> {
    let ScalarFunction { func, args } = function;
    let written = |at: usize| match args.get(at) {
        Some(Expr::Literal(value, _)) => Some(value),
        _ => None,
    };
    let text = |at: usize| written(at)?.try_as_str()?;
    let bytes = || match written(1)? {
        ScalarValue::Binary(bytes)
        | ScalarValue::BinaryView(bytes)
        | ScalarValue::LargeBinary(bytes) => bytes.as_deref(),
        _ => text(1).map(str::as_bytes),
    };
    match (func.name(), args.len()) {
        ("contains", 2) => Some(Search::contains(bytes()?)),
        ("starts_with", 2) => Some(Search::starts_with(bytes()?)),
        ("ends_with", 2) => Some(Search::ends_with(bytes()?)),
        (payload::LIKE, 4) => {
            let escape = written(2)?.try_as_str()?;
            let escape = escape.and_then(|escape| escape.chars().next());
            let ignores_case = matches!(written(3)?, ScalarValue::Boolean(Some(true)));
            Search::like(text(1)?, escape, ignores_case).ok()
        }
        ("regexp_like", 2) => Search::matches(text(1)?, false).ok(),
        ("regexp_like", 3) if text(2)? == "i" => Search::matches(text(1)?, true).ok(),
        _ => None,
    }
}

/// A column of bytes, and which of them an expression takes.
fn bytes(expr: &Expr, table: &Table) -> Option<(Column, Part)> {
    let place = |expr: &Expr| match expr {
        Expr::Literal(ScalarValue::Int64(place), _) => *place,
        _ => None,
    };
    match expr {
        Expr::ScalarFunction(ScalarFunction { func, args }) if func.name() == payload::PART => {
            let [of, from, to] = args.as_slice() else {
                return None;
            };
            let column = column(of, table).filter(|column| column.kind == Kind::Bytes)?;
            let (from, to) = (Some(place(from)?), Some(place(to)?));
            Some((column, Part { from, to }))
        }
        _ => {
            let column = column(expr, table).filter(|column| column.kind == Kind::Bytes)?;
            Some((column, Part::default()))
        }
    }
}

/// A comparison of a part of bytes, or of the number that bytes are, with what is written.
fn compared(expr: &Expr, operator: Operator, constant: &Expr, table: &Table) -> Option<Predicate> {
    let Expr::Literal(constant, _) = constant else {
        return None;
    };
    let Expr::ScalarFunction(ScalarFunction { func, args }) = unwidened(expr) else {
        return None;
    };
    let (of, is_number) = match (func.name(), args.as_slice()) {
        (payload::PART, _) => (unwidened(expr), false),
        (payload::TO_INT, [of]) => (of, true),
        (payload::GET_BYTE, [of, Expr::Literal(ScalarValue::Int64(Some(place)), _)]) => {
            // The place is counted from 0, and must not be negative.
            let (column, part) = bytes(of, table)?;
            let place = place.checked_add(1).filter(|place| *place > 0)?;
            let part = match part {
                Part {
                    from: None,
                    to: None,
                } => Part {
                    from: Some(place),
                    to: Some(place),
                },
                Part { from, to } if from == to && place == 1 => part,
                _ => return None,
            };
            let search = Search::counts(operator, integer(constant)?);
            return Some(Predicate::Search(column, search.in_part(part)));
        }
        _ => return None,
    };
    let (column, part) = bytes(of, table)?;
    let search = match is_number {
        true => Search::counts(operator, integer(constant)?),
        false => match constant {
            ScalarValue::Binary(Some(bytes))
            | ScalarValue::BinaryView(Some(bytes))
            | ScalarValue::LargeBinary(Some(bytes)) => Search::compares(operator, bytes),
            _ => return None,
        },
    };
    Some(Predicate::Search(column, search.in_part(part)))
}

/// A number that was made wider changes no comparison.
fn unwidened(expr: &Expr) -> &Expr {
    match expr {
        Expr::Cast(cast) if cast.field.data_type().is_integer() => &cast.expr,
        _ => expr,
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
            let (expr, constant, operator) = match right.as_ref() {
                Expr::Literal(..) => (left, right, operator),
                _ => (right, left, mirrored(operator)),
            };
            if let Some(column) = column(expr, table) {
                let constant = literal(constant, &column)?;
                return Some(Predicate::Compare(column, operator, constant));
            }
            if let Some(compared) = compared(expr, operator, constant, table) {
                return Some(compared);
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

/// A column of the table, unchanged or widened to a larger integer, which does not change comparisons.
fn column(expr: &Expr, table: &Table) -> Option<Column> {
    match expr {
        Expr::Column(column) => {
            let position = table.position(&column.name)?;
            let column = table.columns().get(position).cloned();
            column.filter(|column| {
                !matches!(
                    (column.origin, column.kind),
                    (Origin::Record, _) | (Origin::Header(_), Kind::Texts | Kind::Numbers)
                )
            })
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
        Expr::Cast(cast) => widened(calculated_from(&cast.expr, table)?, cast.field.data_type()),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => calculated(
            calculated_from(left, table)?,
            calculation(*op)?,
            calculated_from(right, table)?,
        ),
        Expr::ScalarFunction(ScalarFunction { func, args }) => match args.as_slice() {
            [left, right] => calculated(
                calculated_from(left, table)?,
                checked(func)?,
                calculated_from(right, table)?,
            ),
            _ => None,
        },
        _ => None,
    }
}
