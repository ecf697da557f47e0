//! Intervals in the notation of ISO 8601, such as `INTERVAL 'P1DT2H30M'`, and with a time, such as `INTERVAL '1 day 02:30'`, which
//! PostgreSQL reads and the planner does not. Other texts that are cast are those of a pass (`weir_functions::interval`).

use datafusion::sql::sqlparser::ast::{DataType, Expr, Value};
use weir_functions::interval::in_words;

/// Puts words in the place of the text of an interval.
pub(crate) fn reword(expr: &mut Expr) {
    let text = match expr {
        Expr::Interval(interval) if interval.leading_field.is_none() => interval.value.as_mut(),
        Expr::Cast {
            expr,
            data_type: DataType::Interval { .. },
            ..
        } => expr.as_mut(),
        _ => return,
    };
    if let Expr::Value(value) = text
        && let Value::SingleQuotedString(written) = &mut value.value
        && let Some(words) = in_words(written)
    {
        *written = words;
    }
}
