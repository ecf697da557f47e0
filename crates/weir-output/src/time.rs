//! Timestamps as RFC 3339 text: an instant is written in its zone, which is UTC unless another was requested.

use arrow::array::timezone::Tz;
use arrow::datatypes::TimeUnit;
use chrono::{DateTime, Offset, TimeZone};

/// The time zone of a timestamp.
#[derive(Clone, Copy, Debug)]
pub(super) enum Zone {
    /// A wall-clock time of no zone.
    None,
    /// An instant in UTC, which ends in `Z`.
    Utc,
    /// An instant in another zone, which ends in the offset that the zone had then.
    Named(Tz),
}

impl Zone {
    /// The zone of a type.
    pub(super) fn of(name: Option<&str>) -> Self {
        match name {
            None => Self::None,
            Some(name) => match name.parse() {
                Ok(zone) if !["UTC", "Z", "Etc/UTC", "+00:00"].contains(&name) => Self::Named(zone),
                _ => Self::Utc,
            },
        }
    }

    /// Seconds that its clocks are ahead of UTC at this instant; `None` where it is written without.
    fn offset(self, seconds: i64) -> Option<i32> {
        let Self::Named(zone) = self else {
            return None;
        };
        let instant = DateTime::from_timestamp(seconds, 0)?.naive_utc();
        Some(
            zone.offset_from_utc_datetime(&instant)
                .fix()
                .local_minus_utc(),
        )
    }
}

/// Appends `value`, counted in `unit` since 1970, with as many digits as the unit has.
///
/// Years beyond RFC 3339's 0000 to 9999 take a sign, as in ISO 8601.
pub(super) fn push_timestamp(out: &mut String, value: i64, unit: TimeUnit, zone: Zone) {
    let (scale, digits) = match unit {
        TimeUnit::Second => (1, 0),
        TimeUnit::Millisecond => (1_000, 3),
        TimeUnit::Microsecond => (1_000_000, 6),
        TimeUnit::Nanosecond => (1_000_000_000, 9),
    };
    let seconds = value.div_euclid(scale);
    let fraction = value.rem_euclid(scale);
    let offset = zone.offset(seconds);
    let seconds = seconds.saturating_add(offset.unwrap_or(0).into());
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
    match (zone, offset) {
        (Zone::None, _) => {}
        (_, None) => out.push('Z'),
        (_, Some(offset)) => push_offset(out, offset),
    }
}

/// Appends `+02:00`; the zones of the nineteenth century have seconds as well.
fn push_offset(out: &mut String, offset: i32) {
    out.push(if offset < 0 { '-' } else { '+' });
    let offset = u64::from(offset.unsigned_abs());
    push_digits(out, offset / 3_600, 2);
    out.push(':');
    push_digits(out, offset / 60 % 60, 2);
    if offset % 60 != 0 {
        out.push(':');
        push_digits(out, offset % 60, 2);
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
/// The days from 0000-03-01 to 1970-01-01.
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
            let zone = if utc { Zone::Utc } else { Zone::None };
            push_timestamp(&mut out, value, unit, zone);
            assert_eq!(out, expected);
        }
        for extreme in [i64::MIN, i64::MAX] {
            let mut out = String::new();
            push_timestamp(&mut out, extreme, Second, Zone::Utc);
            assert!(out.ends_with('Z'));
            push_timestamp(&mut out, extreme, Second, Zone::of(Some("Europe/Berlin")));
        }
    }

    /// `AT TIME ZONE` and `SET TIME ZONE` had no effect on what was written.
    #[test]
    fn instants_are_written_in_their_zone() {
        for (seconds, zone, expected) in [
            (1_767_225_600, "Europe/Berlin", "2026-01-01T01:00:00+01:00"),
            (1_782_864_000, "Europe/Berlin", "2026-07-01T02:00:00+02:00"),
            (
                1_767_225_600,
                "America/New_York",
                "2025-12-31T19:00:00-05:00",
            ),
            (1_767_225_600, "Asia/Kolkata", "2026-01-01T05:30:00+05:30"),
            (1_767_225_600, "+02:00", "2026-01-01T02:00:00+02:00"),
            (1_767_225_600, "UTC", "2026-01-01T00:00:00Z"),
            // An hour comes twice when summer time ends.
            (1_792_889_999, "Europe/Berlin", "2026-10-25T02:59:59+02:00"),
            (1_792_890_000, "Europe/Berlin", "2026-10-25T02:00:00+01:00"),
        ] {
            let mut out = String::new();
            push_timestamp(&mut out, seconds, TimeUnit::Second, Zone::of(Some(zone)));
            assert_eq!(out, expected, "{zone}");
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
