//! Times without seconds, such as `'2026-01-01 10:00'`: PostgreSQL and DuckDB read them, and Arrow does not.

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, ExprSchemable};

use crate::address::is_comparison;
use crate::pass::{Inputs, Pass};

/// Gives texts that become times the seconds that they lack.
pub struct Minutes;

impl Pass for Minutes {
    fn expr(&self, expr: Expr, inputs: &Inputs) -> Result<Transformed<Expr>> {
        let is_time = |expr: &Expr| {
            let kind = expr.get_type(inputs.all());
            kind.is_ok_and(|kind| matches!(kind, DataType::Timestamp(..)))
        };
        Ok(match expr {
            Expr::Cast(mut cast) if matches!(cast.field.data_type(), DataType::Timestamp(..)) => {
                let is_changed = complete(&mut cast.expr);
                Transformed::new_transformed(Expr::Cast(cast), is_changed)
            }
            Expr::TryCast(mut cast)
                if matches!(cast.field.data_type(), DataType::Timestamp(..)) =>
            {
                let is_changed = complete(&mut cast.expr);
                Transformed::new_transformed(Expr::TryCast(cast), is_changed)
            }
            Expr::BinaryExpr(mut binary) if is_comparison(binary.op) => {
                let is_changed = (is_minute(&binary.left) && is_time(&binary.right))
                    || (is_minute(&binary.right) && is_time(&binary.left));
                if is_changed {
                    complete(&mut binary.left);
                    complete(&mut binary.right);
                }
                Transformed::new_transformed(Expr::BinaryExpr(binary), is_changed)
            }
            Expr::Between(mut between) => {
                let is_changed =
                    (is_minute(&between.low) || is_minute(&between.high)) && is_time(&between.expr);
                if is_changed {
                    complete(&mut between.low);
                    complete(&mut between.high);
                }
                Transformed::new_transformed(Expr::Between(between), is_changed)
            }
            Expr::InList(mut list) => {
                let is_changed = list.list.iter().any(is_minute) && is_time(&list.expr);
                if is_changed {
                    for item in &mut list.list {
                        complete(item);
                    }
                }
                Transformed::new_transformed(Expr::InList(list), is_changed)
            }
            expr => Transformed::no(expr),
        })
    }
}

fn text_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Literal(value, _) => value.try_as_str().flatten(),
        _ => None,
    }
}

fn is_minute(expr: &Expr) -> bool {
    text_of(expr).is_some_and(|text| with_seconds(text).is_some())
}

/// Gives a text the seconds that it lacks; true when it lacked them.
fn complete(expr: &mut Expr) -> bool {
    let Some(whole) = text_of(expr).and_then(with_seconds) else {
        return false;
    };
    *expr = Expr::Literal(ScalarValue::Utf8(Some(whole)), None);
    true
}

/// The text with seconds, if it is a date, hours and minutes, and perhaps a zone.
fn with_seconds(text: &str) -> Option<String> {
    let (minute, zone) = text.split_at_checked(MINUTE.len())?;
    let mut letters = minute.chars().zip(MINUTE.chars());
    let is_minute = letters.all(|(letter, kind)| match kind {
        '0' => letter.is_ascii_digit(),
        ' ' => matches!(letter, ' ' | 'T' | 't'),
        mark => letter == mark,
    });
    let is_zone = zone.is_empty() || zone.starts_with(['Z', 'z', '+', '-', ' ']);
    (is_minute && is_zone).then(|| format!("{minute}:00{zone}"))
}

/// A date, hours and minutes, with 0 for a digit.
const MINUTE: &str = "0000-00-00 00:00";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_without_seconds_get_them() {
        for (text, expected) in [
            ("2026-01-01 10:00", Some("2026-01-01 10:00:00")),
            ("2026-01-01T10:00Z", Some("2026-01-01T10:00:00Z")),
            ("2026-01-01 10:00+02:00", Some("2026-01-01 10:00:00+02:00")),
            (
                "2026-01-01 10:00 Europe/Berlin",
                Some("2026-01-01 10:00:00 Europe/Berlin"),
            ),
            ("2026-01-01 10:00:00", None),
            ("2026-01-01 10:00.5", None),
            ("2026-01-01 10", None),
            ("2026-01-01", None),
            ("2026-01-01 1:000", None),
            ("2026-01-01 10:0é", None),
            ("", None),
        ] {
            assert_eq!(with_seconds(text).as_deref(), expected, "{text}");
        }
    }
}
