//! Intervals in the notation of ISO 8601, such as `INTERVAL 'P1DT2H30M'`, and in others that PostgreSQL reads and the planner does not,
//! such as `INTERVAL '1 day 02:30'`. Other texts that are cast are those of a pass (`weir_functions::interval`).

use datafusion::sql::sqlparser::ast::{DataType, Expr, Interval, UnaryOperator, Value};
use weir_functions::interval::in_words;

/// Puts words in the place of the text of an interval, and a sign in front of the interval into all of its numbers: the planner puts
/// it into the first.
pub(crate) fn reword(expr: &mut Expr) {
    if let Expr::UnaryOp {
        op: UnaryOperator::Minus,
        expr: inner,
    } = expr
    {
        if let Expr::Interval(interval) = inner.as_mut()
            && let Some(text) = text_of(interval)
            && let Some(words) = in_words(&format!("{text} ago"))
        {
            *text = words;
            let inner = std::mem::replace(inner.as_mut(), Expr::Value(Value::Null.into()));
            *expr = inner;
        }
        return;
    }
    let text = match expr {
        Expr::Interval(interval) => text_of(interval),
        Expr::Cast {
            expr,
            data_type: DataType::Interval { .. },
            ..
        } => literal(expr),
        _ => None,
    };
    if let Some(written) = text
        && let Some(words) = in_words(written)
    {
        *written = words;
    }
}

/// The text of an interval without a unit behind it.
fn text_of(interval: &mut Interval) -> Option<&mut String> {
    match interval.leading_field {
        None => literal(&mut interval.value),
        Some(_) => None,
    }
}

fn literal(expr: &mut Expr) -> Option<&mut String> {
    match expr {
        Expr::Value(value) => match &mut value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}
