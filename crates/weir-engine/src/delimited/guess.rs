//! The type of a column, by the texts of its values.

use arrow::datatypes::{DataType, TimeUnit};

use super::rows::DelimitedValue;

/// The types that the values of a column may have.
#[derive(Debug)]
pub(super) struct Guess {
    seen: bool,
    boolean: bool,
    signed: bool,
    unsigned: bool,
    float: bool,
    /// No column of integers alone has to be one of floats, which would lose digits.
    integers: bool,
    date: bool,
    instant: bool,
    wall_clock: bool,
}

impl Default for Guess {
    fn default() -> Self {
        Self {
            seen: false,
            boolean: true,
            signed: true,
            unsigned: true,
            float: true,
            integers: true,
            date: true,
            instant: true,
            wall_clock: true,
        }
    }
}

impl Guess {
    pub(super) fn see(&mut self, value: DelimitedValue<'_>) {
        let DelimitedValue::Text(text) = value else {
            return;
        };
        self.seen = true;
        self.boolean &= text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false");
        let integer = is_integer(text);
        self.signed &= integer && text.parse::<i64>().is_ok();
        self.unsigned &= integer && text.parse::<u64>().is_ok();
        self.integers &= integer;
        self.float &= is_float(text) || (integer && text.len() <= FLOAT_DIGITS_MAX);
        self.date &= is_date(text);
        let zone = time_zone(text);
        self.instant &= zone == Some(true);
        self.wall_clock &= zone == Some(false);
    }

    pub(super) fn data_type(&self) -> DataType {
        let is_time = self.instant || self.wall_clock;
        match self {
            Self { seen: false, .. } => DataType::Utf8,
            Self { boolean: true, .. } => DataType::Boolean,
            Self { signed: true, .. } => DataType::Int64,
            Self { unsigned: true, .. } => DataType::UInt64,
            Self {
                float: true,
                integers: false,
                ..
            } => DataType::Float64,
            Self { date: true, .. } => DataType::Date32,
            _ if is_time => {
                let zone = self.instant.then(|| "UTC".into());
                DataType::Timestamp(TimeUnit::Nanosecond, zone)
            }
            _ => DataType::Utf8,
        }
    }
}

/// Digits that are the shortest way to write a number: a leading zero is part of a name.
fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_padded = digits.len() > 1 && digits.starts_with('0');
    !digits.is_empty() && !is_padded && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_float(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if matches!(digits, "NaN" | "inf") {
        return true;
    }
    let known =
        |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-');
    let is_padded = digits.len() > 1
        && digits.starts_with('0')
        && digits.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
    digits.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && digits.contains(['.', 'e', 'E'])
        && !is_padded
        && digits.bytes().all(known)
        && text.parse::<f64>().is_ok()
}

/// Digits that a double keeps.
const FLOAT_DIGITS_MAX: usize = 15;

/// `2026-11-22`.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 10
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

/// Whether a time such as `2026-11-22T03:00:00.5`, with a T or a blank, has a time zone; `None` when the text is not a time, or not
/// one that nanoseconds since 1970 can represent.
fn time_zone(text: &str) -> Option<bool> {
    let (date, time) = text.split_once(['T', ' '])?;
    let year: u32 = date.get(..4)?.parse().ok()?;
    if !is_date(date) || !(1678..=2261).contains(&year) {
        return None;
    }
    let (clock, rest) = time.split_at_checked(8)?;
    let is_clock = clock.bytes().enumerate().all(|(at, byte)| match at {
        2 | 5 => byte == b':',
        _ => byte.is_ascii_digit(),
    });
    if !is_clock {
        return None;
    }
    let zone = match rest.strip_prefix('.') {
        Some(fraction) => {
            let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
            if !(1..=9).contains(&digits) {
                return None;
            }
            fraction.get(digits..)?
        }
        None => rest,
    };
    match zone.as_bytes() {
        [] => Some(false),
        [b'Z'] => Some(true),
        [b'+' | b'-', a, b, b':', c, d] | [b'+' | b'-', a, b, c, d] => {
            let digits = [a, b, c, d].into_iter().all(u8::is_ascii_digit);
            digits.then_some(true)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_the_narrowest_that_lose_nothing() {
        let instant = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
        let wall_clock = DataType::Timestamp(TimeUnit::Nanosecond, None);
        for (values, expected) in [
            (&["1", "-2", "0"][..], DataType::Int64),
            (&["1", "18446744073709551615"], DataType::UInt64),
            (&["1", "18446744073709551616"], DataType::Utf8),
            (&["18446744073709551616", "1.5"], DataType::Utf8),
            (&["-1", "18446744073709551615"], DataType::Utf8),
            (&["007", "1"], DataType::Utf8),
            (&["+4930", "1"], DataType::Utf8),
            (&["1", "0.5", "-1e-7", "NaN", "-inf"], DataType::Float64),
            (&["00.5"], DataType::Utf8),
            (&["true", "FALSE"], DataType::Boolean),
            (&["2026-11-22"], DataType::Date32),
            (
                &["2026-11-22T03:00:00Z", "2026-11-22 03:00:00.123456789+0100"],
                instant,
            ),
            (
                &["2026-11-22T03:00:00", "2026-11-22 03:00:00.5"],
                wall_clock,
            ),
            (
                &["2026-11-22T03:00:00", "2026-11-22T03:00:00Z"],
                DataType::Utf8,
            ),
            (&["9999-11-22T03:00:00Z"], DataType::Utf8),
            (&["10.0.0.1", "1"], DataType::Utf8),
            (&[], DataType::Utf8),
        ] {
            let mut guess = Guess::default();
            for value in values {
                guess.see(DelimitedValue::Text(value));
            }
            guess.see(DelimitedValue::Null);
            guess.see(DelimitedValue::Empty);
            assert_eq!(guess.data_type(), expected, "{values:?}");
        }
    }
}
