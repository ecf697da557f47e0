//! Numbers with a fraction as PostgreSQL writes them.

use std::fmt::{Display, LowerExp};

/// A type of numbers with a fraction.
#[derive(Clone, Copy)]
pub(super) enum Width {
    /// `real`.
    Single,
    /// `double precision`.
    Double,
}

impl Width {
    /// The digits that any number of the type keeps (`FLT_DIG`, `DBL_DIG`).
    const fn digits(self) -> i32 {
        match self {
            Self::Single => 6,
            Self::Double => 15,
        }
    }
}

/// A number, which is `shown` in its own type: with the fewest digits that give it back, or with as many as `extra_float_digits`
/// says where that is not above 0.
pub(super) fn float(value: f64, shown: impl Display + LowerExp, width: Width, extra: i8) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if extra > 0 {
        // Most numbers are far from where exponents begin.
        let plain = match width {
            Width::Single => 1e-3..1e5,
            Width::Double => 1e-3..1e14,
        };
        if plain.contains(&value.abs()) {
            return shown.to_string();
        }
        let exponential = format!("{shown:e}");
        return match parts(&exponential) {
            Some((_, exponent)) if (-4..width.digits()).contains(&exponent) => shown.to_string(),
            Some((mantissa, exponent)) => with_exponent(mantissa, exponent),
            None => exponential,
        };
    }
    let digits = width.digits().saturating_add(extra.into()).max(1);
    let places = usize::try_from(digits - 1).unwrap_or_default();
    let exponential = format!("{value:.places$e}");
    match parts(&exponential) {
        Some((_, exponent)) if (-4..digits).contains(&exponent) => {
            let places = usize::try_from(digits - 1 - exponent).unwrap_or_default();
            without_zeros(&format!("{value:.places$}")).to_owned()
        }
        Some((mantissa, exponent)) => with_exponent(without_zeros(mantissa), exponent),
        None => exponential,
    }
}

/// The digits in front of the `e`, and the exponent behind it.
fn parts(exponential: &str) -> Option<(&str, i32)> {
    let (mantissa, exponent) = exponential.split_once('e')?;
    Some((mantissa, exponent.parse().ok()?))
}

/// As C writes it: the exponent has a sign and two digits.
fn with_exponent(mantissa: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

/// Digits without zeros at the end of a fraction.
fn without_zeros(digits: &str) -> &str {
    match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => digits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answers of PostgreSQL 16 to the same numbers.
    #[test]
    fn numbers_are_written_as_postgresql_writes_them() {
        for (value, extra, expected) in [
            (0.1, 1, "0.1"),
            (0.1, 0, "0.1"),
            (-0.0, 1, "-0"),
            (1e300, 1, "1e+300"),
            (1e-7, 3, "1e-07"),
            (0.0001, 1, "0.0001"),
            (0.000_012_5, 1, "1.25e-05"),
            (123_456_789_012_345.0, 1, "123456789012345"),
            (1e15, 1, "1e+15"),
            (1e15, 0, "1e+15"),
            (100.0, 0, "100"),
            (2.0 / 3.0, 0, "0.666666666666667"),
            (2.0 / 3.0, -12, "0.667"),
            (1234.0, -12, "1.23e+03"),
            (2.0 / 3.0, -15, "0.7"),
            (f64::NAN, 1, "NaN"),
            (f64::NEG_INFINITY, 0, "-Infinity"),
        ] {
            assert_eq!(float(value, value, Width::Double, extra), expected);
        }
        for (value, extra, expected) in [
            (0.1_f32, 1, "0.1"),
            (1e6, 1, "1e+06"),
            (123_456_790.0, 1, "1.2345679e+08"),
            (123_456.0, 1, "123456"),
            (0.0001, 1, "0.0001"),
            (2.0 / 3.0, 0, "0.666667"),
        ] {
            assert_eq!(float(value.into(), value, Width::Single, extra), expected);
        }
    }
}
