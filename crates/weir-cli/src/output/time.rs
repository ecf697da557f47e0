//! Timestamps as RFC 3339 text, without a time zone database: an instant is written in UTC.

use arrow::datatypes::TimeUnit;

/// Appends `value`, counted in `unit` since 1970, with as many digits as the unit has. An instant
/// (`utc`) ends in `Z`; a wall-clock time of no zone does not.
///
/// Years beyond RFC 3339's 0000 to 9999 take a sign, as in ISO 8601.
pub(super) fn push_timestamp(out: &mut String, value: i64, unit: TimeUnit, utc: bool) {
    let (scale, digits) = match unit {
        TimeUnit::Second => (1, 0),
        TimeUnit::Millisecond => (1_000, 3),
        TimeUnit::Microsecond => (1_000_000, 6),
        TimeUnit::Nanosecond => (1_000_000_000, 9),
    };
    let seconds = value.div_euclid(scale);
    let fraction = value.rem_euclid(scale);
    let (year, month, day) = date(seconds.div_euclid(SECONDS_A_DAY));
    let of_day = seconds.rem_euclid(SECONDS_A_DAY);

    if !(0..=9_999).contains(&year) {
        out.push(if year < 0 { '-' } else { '+' });
    }
    push_digits(out, year.unsigned_abs(), 4);
    out.push('-');
    push_digits(out, month, 2);
    out.push('-');
    push_digits(out, day, 2);
    out.push('T');
    push_digits(out, (of_day / 3_600).unsigned_abs(), 2);
    out.push(':');
    push_digits(out, (of_day / 60 % 60).unsigned_abs(), 2);
    out.push(':');
    push_digits(out, (of_day % 60).unsigned_abs(), 2);
    if digits > 0 {
        out.push('.');
        push_digits(out, fraction.unsigned_abs(), digits);
    }
    if utc {
        out.push('Z');
    }
}

/// Year, month and day of a day counted from 1970-01-01 (proleptic Gregorian).
///
/// Years are taken to begin in March, so that the leap day is the last of a year: then the day of
/// the year alone gives the month. `days` is at most `i64::MAX` / 86,400 away from zero, which
/// leaves ample room in every step.
fn date(days: i64) -> (i64, u64, u64) {
    let days = days + DAYS_FROM_MARCH_OF_YEAR_0;
    let cycle = days.div_euclid(DAYS_IN_400_YEARS);
    let day_of_cycle = days.rem_euclid(DAYS_IN_400_YEARS);
    // The last day of a century, and of the cycle, belongs to the year before.
    let century = (day_of_cycle / DAYS_IN_CENTURY).min(3);
    let day_of_century = day_of_cycle - century * DAYS_IN_CENTURY;
    let four = day_of_century / DAYS_IN_4_YEARS;
    let day_of_four = day_of_century - four * DAYS_IN_4_YEARS;
    let year_of_four = (day_of_four / 365).min(3);
    let day_of_year = day_of_four - year_of_four * 365;

    let mut year = cycle * 400 + century * 100 + four * 4 + year_of_four;
    let mut day = day_of_year;
    let mut month = 3;
    for length in MONTHS_FROM_MARCH {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    if month > 12 {
        month -= 12;
        year += 1;
    }
    (year, month, (day + 1).unsigned_abs())
}

/// Appends `value` with leading zeros up to `count` digits, at most nine of them; a larger value
/// keeps all its digits.
fn push_digits(out: &mut String, value: u64, count: usize) {
    let mut digits = [b'0'; 20];
    let mut rest = value;
    let mut used = 0;
    for digit in digits.iter_mut().rev() {
        if rest == 0 {
            break;
        }
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
        used += 1;
    }
    let kept = digits.len() - count.max(used).min(digits.len());
    out.extend(digits.iter().skip(kept).copied().map(char::from));
}

const SECONDS_A_DAY: i64 = 86_400;
/// From 0000-03-01 to 1970-01-01.
const DAYS_FROM_MARCH_OF_YEAR_0: i64 = 719_468;
const DAYS_IN_4_YEARS: i64 = 4 * 365 + 1;
const DAYS_IN_CENTURY: i64 = 25 * DAYS_IN_4_YEARS - 1;
const DAYS_IN_400_YEARS: i64 = 4 * DAYS_IN_CENTURY + 1;
/// March to January; what is left over is February.
const MONTHS_FROM_MARCH: [i64; 11] = [31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 31];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_have_the_digits_of_their_unit() {
        use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
        for (value, unit, utc, expected) in [
            (0, Nanosecond, true, "1970-01-01T00:00:00.000000000Z"),
            (-1, Nanosecond, true, "1969-12-31T23:59:59.999999999Z"),
            (
                1_767_225_600_000_000_001,
                Nanosecond,
                true,
                "2026-01-01T00:00:00.000000001Z",
            ),
            (
                951_782_400_000_000,
                Microsecond,
                true,
                "2000-02-29T00:00:00.000000Z",
            ),
            (
                951_868_800_000,
                Millisecond,
                false,
                "2000-03-01T00:00:00.000",
            ),
            (4_107_542_400, Second, true, "2100-03-01T00:00:00Z"),
            (4_107_542_399, Second, true, "2100-02-28T23:59:59Z"),
            (253_402_300_800, Second, true, "+10000-01-01T00:00:00Z"),
            (-62_167_219_201, Second, true, "-0001-12-31T23:59:59Z"),
            (i64::MIN, Nanosecond, true, "1677-09-21T00:12:43.145224192Z"),
            (i64::MAX, Nanosecond, true, "2262-04-11T23:47:16.854775807Z"),
        ] {
            let mut out = String::new();
            push_timestamp(&mut out, value, unit, utc);
            assert_eq!(out, expected);
        }
        for extreme in [i64::MIN, i64::MAX] {
            let mut out = String::new();
            push_timestamp(&mut out, extreme, Second, true);
            assert!(out.ends_with('Z'));
        }
    }

    #[test]
    fn every_day_of_800_years_follows_the_one_before() {
        let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let mut expected = (1600_i64, 1_u64, 1_u64);
        for day in -135_140..157_054 {
            assert_eq!(date(day), expected, "day {day}");
            let (year, month, day) = expected;
            let length = match month {
                2 if leap(year) => 29,
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            expected = match (month, day) {
                (12, 31) => (year + 1, 1, 1),
                (_, day) if day == length => (year, month + 1, 1),
                _ => (year, month, day + 1),
            };
        }
        assert_eq!(expected, (2400, 1, 1));
    }
}
