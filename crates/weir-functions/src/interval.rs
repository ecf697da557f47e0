//! Texts of intervals that Arrow does not read as PostgreSQL does: the notation of ISO 8601 (`P1DT2H30M`), years and months of the
//! standard (`1-2`), a time of hours, minutes and seconds (`1 mon 3 days 00:00:01.5`), `@ 1 day ago`, units without a space in front
//! (`1h30m`), and a number without a unit, which is one of seconds.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StringArray};
use arrow::compute::cast;
use arrow::compute::kernels::cast_utils::parse_interval_month_day_nano;
use arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, ScalarValue, exec_err};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, ExprSchemable, ScalarUDF};

use crate::computed::{Arguments, ColumnFunction};
use crate::pass::{Inputs, Pass};

/// Puts texts that are cast to intervals in words that the cast reads.
pub struct Intervals;

impl Pass for Intervals {
    fn expr(&self, expr: Expr, inputs: &Inputs) -> Result<Transformed<Expr>> {
        Ok(match expr {
            Expr::Cast(mut cast) if matches!(cast.field.data_type(), DataType::Interval(_)) => {
                let is_changed = put_in_words(&mut cast.expr, inputs.all());
                Transformed::new_transformed(Expr::Cast(cast), is_changed)
            }
            Expr::TryCast(mut cast) if matches!(cast.field.data_type(), DataType::Interval(_)) => {
                let is_changed = put_in_words(&mut cast.expr, inputs.all());
                Transformed::new_transformed(Expr::TryCast(cast), is_changed)
            }
            expr => Transformed::no(expr),
        })
    }
}

/// Puts a text that becomes an interval in words that a cast reads; false for what is no text, and for a text in such words.
pub(crate) fn put_in_words(text: &mut Expr, schema: &DFSchema) -> bool {
    let words = match &*text {
        Expr::Literal(value, _) => match value.try_as_str().flatten().and_then(in_words) {
            Some(words) => Expr::Literal(ScalarValue::Utf8(Some(words)), None),
            None => return false,
        },
        Expr::ScalarFunction(call) if call.func.name() == INTERVAL_IN_WORDS => return false,
        _ if text.get_type(schema).is_ok_and(|kind| kind.is_string()) => {
            interval_in_words().call(vec![std::mem::take(text)])
        }
        _ => return false,
    };
    *text = words;
    true
}

/// `interval_in_words(text)`: the text of an interval in words that a cast reads, and any other text as it is.
pub(crate) const INTERVAL_IN_WORDS: &str = "interval_in_words";

pub(crate) fn interval_in_words() -> ScalarUDF {
    let function = ColumnFunction {
        name: INTERVAL_IN_WORDS,
        arguments: Arguments::Any(1),
        kind: |_, _| Ok(DataType::Utf8),
        values: all_in_words,
    };
    function.udf()
}

fn all_in_words(_name: &str, columns: &[ArrayRef]) -> Result<ArrayRef> {
    let [texts] = columns else {
        return exec_err!("{INTERVAL_IN_WORDS} takes a text");
    };
    let texts = cast(texts.as_ref(), &DataType::Utf8)?;
    let texts = texts.as_string::<i32>();
    let texts = texts.iter();
    let words: StringArray = texts
        .map(|text| text.map(|text| in_words(text).unwrap_or_else(|| text.to_owned())))
        .collect();
    Ok(Arc::new(words))
}

/// `1 days 2 hours 30 minutes` for `P1DT2H30M`, and for `1 day 02:30`; `None` for a text that needs no other words, or is no interval.
#[must_use]
pub fn in_words(text: &str) -> Option<String> {
    let words = of_letters(text)
        .or_else(|| of_date(text))
        .or_else(|| of_fields(text))?;
    let is_other = words != text;
    (is_other && parse_interval_month_day_nano(&words).is_ok()).then_some(words)
}

/// The words for the letters of ISO 8601. Units come in the order of their lengths, each at most once.
fn of_letters(text: &str) -> Option<String> {
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

/// The words for a date and a time behind the letter of ISO 8601, such as `P0001-02-03T04:05:06`.
fn of_date(text: &str) -> Option<String> {
    let text = text.trim().strip_prefix(['P', 'p'])?;
    let (date, time) = text.split_once(['T', 't']).unwrap_or((text, "0:0"));
    let mut parts = date.splitn(3, '-');
    let (years, months, days) = (parts.next()?, parts.next()?, parts.next()?);
    let time = hours("", time)?;
    [years, months, days]
        .into_iter()
        .all(are_digits)
        .then(|| format!("{years} years {months} months {days} days {time}"))
}

/// The words for numbers with units, for years and months (`1-2`), and for a time. Each has a sign of its own, and `ago` behind them
/// turns all around. A number without a unit is one of days in front of a time, and one of seconds at the end.
fn of_fields(text: &str) -> Option<String> {
    let pieces = pieces(text);
    let (mut rest, is_ago) = match pieces.as_slice() {
        [front @ .., last] if last.eq_ignore_ascii_case("ago") => (front, true),
        all => (all, false),
    };
    let mut words = Vec::new();
    while let [first, behind @ ..] = rest {
        let (is_negative, number) = signed(first);
        let (number, behind) = match (number, behind) {
            ("", [number, behind @ ..]) => (*number, behind),
            both => both,
        };
        let sign = if is_negative == is_ago { "" } else { "-" };
        rest = behind;
        if number.contains(':') {
            words.push(hours(sign, number)?);
            continue;
        }
        if let Some((years, months)) = number.split_once('-') {
            let is_year = months.parse::<u8>().is_ok_and(|months| months < 12);
            let are_numbers = are_digits(years) && are_digits(months);
            words.push(
                (is_year && are_numbers)
                    .then(|| format!("{sign}{years} years {sign}{months} months"))?,
            );
            continue;
        }
        if !number.starts_with(|it: char| it.is_ascii_digit() || it == '.') {
            return None;
        }
        let number = number.strip_suffix('.').unwrap_or(number);
        let unit = match rest {
            [unit, behind @ ..] if unit.starts_with(char::is_alphabetic) => {
                rest = behind;
                *unit
            }
            [time, ..] if time.contains(':') => "days",
            [] if !is_ago => "seconds",
            _ => return None,
        };
        words.push(format!("{sign}{number} {unit}"));
    }
    (!words.is_empty()).then(|| words.join(" "))
}

/// The words of a text without `@`, with their numbers and units apart: `1h30m` has four pieces.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    for word in text.split_whitespace() {
        let mut rest = word.strip_prefix('@').unwrap_or(word);
        while let Some(first) = rest.chars().next() {
            let is_unit = first.is_alphabetic();
            let end = rest.find(|it: char| it.is_alphabetic() != is_unit);
            let (piece, behind) = rest.split_at(end.unwrap_or(rest.len()));
            pieces.push(piece);
            rest = behind;
        }
    }
    pieces
}

/// Whether a number is negative, and the number without its sign.
fn signed(number: &str) -> (bool, &str) {
    match number.strip_prefix('-') {
        Some(number) => (true, number),
        None => (false, number.strip_prefix('+').unwrap_or(number)),
    }
}

/// The words for a time, such as `02:30:01.5`. Two numbers are hours and minutes, or minutes and seconds with a fraction.
fn hours(sign: &str, time: &str) -> Option<String> {
    let mut parts = time.splitn(3, ':');
    let (hours, minutes, seconds) = match (parts.next()?, parts.next()?, parts.next()) {
        (hours, minutes, Some(seconds)) => (hours, minutes, seconds),
        (minutes, seconds, None) if seconds.contains('.') => ("0", minutes, seconds),
        (hours, minutes, None) => (hours, minutes, "0"),
    };
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let is_below_60 = |part: &str| part.len() <= 2 && part.parse::<u8>().is_ok_and(|it| it < 60);
    let are_numbers = [hours, minutes, whole, fraction]
        .into_iter()
        .all(are_digits);
    (are_numbers && is_below_60(minutes) && is_below_60(whole))
        .then(|| format!("{sign}{hours} hours {sign}{minutes} minutes {sign}{seconds} seconds"))
}

fn are_digits(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
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
            (
                "P0001-02-03T04:05:06",
                Some("0001 years 02 months 03 days 04 hours 05 minutes 06 seconds"),
            ),
            (
                "P1-2-3",
                Some("1 years 2 months 3 days 0 hours 0 minutes 0 seconds"),
            ),
            ("P1-2", None),
            ("P1--3T1:2", None),
            ("1 day", None),
            ("", None),
        ] {
            assert_eq!(in_words(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn times_become_words() {
        for (text, expected) in [
            (
                "1 mon 3 days 00:00:01.5",
                Some("1 mon 3 days 00 hours 00 minutes 01.5 seconds"),
            ),
            (
                " -1 years  +2 mons -00:00:00.5 ",
                Some("-1 years 2 mons -00 hours -00 minutes -00.5 seconds"),
            ),
            ("100:01", Some("100 hours 01 minutes 0 seconds")),
            ("3 1:2:3", Some("3 days 1 hours 2 minutes 3 seconds")),
            ("+1 day", Some("1 day")),
            ("1 day 00:60", None),
            ("1 day 00:00:60", None),
            ("00:00:00:01", None),
            ("1:", None),
            (":1", None),
            ("1:2:3.", None),
            ("1:-2", None),
            ("1:2 3:4", None),
            ("1 hour 00:01", None),
            (
                "1 day -00:01 ago",
                Some("-1 day 00 hours 01 minutes 0 seconds"),
            ),
            ("1:02.5", Some("0 hours 1 minutes 02.5 seconds")),
            ("99999999999:00", None),
            ("1:é", None),
            ("+", None),
            ("1 day", None),
        ] {
            assert_eq!(in_words(text).as_deref(), expected, "{text}");
        }
    }

    /// PostgreSQL reads these.
    #[test]
    fn fields_become_words() {
        for (text, expected) in [
            ("1", Some("1 seconds")),
            ("-1.5", Some("-1.5 seconds")),
            ("1 day 5", Some("1 day 5 seconds")),
            ("1-2", Some("1 years 2 months")),
            (
                "-1-2 3 4:05:06",
                Some("-1 years -2 months 3 days 4 hours 05 minutes 06 seconds"),
            ),
            ("+1-11 1 day", Some("1 years 11 months 1 day")),
            ("1-12", None),
            ("1-2-3", None),
            ("1 year 1-2", None),
            ("@ 1 day ago", Some("-1 day")),
            ("@1 year 2 mons -3 days AGO", Some("-1 year -2 mons 3 days")),
            ("1-2 ago", Some("-1 years -2 months")),
            (" 1  day\t", Some("1 day")),
            ("1h30m", Some("1 h 30 m")),
            ("- 1 day", Some("-1 day")),
            (".5 day 1. hour", Some(".5 day 1 hour")),
            ("ago", None),
            ("@", None),
            ("1 ago", None),
            ("1 2", None),
            ("1 day ago 2 hours", None),
            ("--1 day", None),
            ("- -1 day", None),
            ("1e2 day", None),
            ("day 1", None),
            ("1 fortnight ago", None),
            ("99999999999 years ago", None),
        ] {
            assert_eq!(in_words(text).as_deref(), expected, "{text}");
        }
    }
}
