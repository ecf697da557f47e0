//! Intervals in the notation of ISO 8601, such as `INTERVAL 'P1DT2H30M'`, which PostgreSQL reads and the planner does not.

use datafusion::sql::sqlparser::ast::{DataType, Expr, Value};

/// Puts words in the places of the letters of an interval.
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

/// `1 days 2 hours 30 minutes` for `P1DT2H30M`; `None` for another text. Units come in the order of their lengths, each at most once.
fn in_words(text: &str) -> Option<String> {
    let mut rest = text.trim().strip_prefix(['P', 'p'])?;
    let mut units = DAYS.iter();
    let mut is_time = false;
    let mut words = Vec::new();
    while !rest.is_empty() {
        if let Some(time) = rest.strip_prefix(['T', 't']).filter(|_| !is_time) {
            is_time = true;
            units = TIMES.iter();
            rest = time;
        }
        let (number, behind) = rest.split_at(rest.find(|it: char| it.is_ascii_alphabetic())?);
        number.parse::<f64>().ok()?;
        let (letter, behind) = behind.split_at(1);
        let (_, unit) = units.find(|(of, _)| of.eq_ignore_ascii_case(letter))?;
        words.push(format!("{} {unit}", number.trim_start_matches('+')));
        rest = behind;
    }
    (!words.is_empty()).then(|| words.join(" "))
}

const DAYS: &[(&str, &str)] = &[
    ("Y", "years"),
    ("M", "months"),
    ("W", "weeks"),
    ("D", "days"),
];
const TIMES: &[(&str, &str)] = &[("H", "hours"), ("M", "minutes"), ("S", "seconds")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_become_words() {
        for (text, expected) in [
            ("P1D", Some("1 days")),
            ("PT1.5S", Some("1.5 seconds")),
            (
                "P1Y2M3W4DT5H6M7S",
                Some("1 years 2 months 3 weeks 4 days 5 hours 6 minutes 7 seconds"),
            ),
            ("p-1dt+2h", Some("-1 days 2 hours")),
            ("P", None),
            ("PT", None),
            ("P1DT", None),
            ("P1", None),
            ("P1H", None),
            ("P1D1Y", None),
            ("PT1HT1M", None),
            ("P1e5D", None),
            ("PD", None),
            ("P1é", None),
            ("1 day", None),
            ("", None),
        ] {
            assert_eq!(in_words(text).as_deref(), expected, "{text}");
        }
    }
}
