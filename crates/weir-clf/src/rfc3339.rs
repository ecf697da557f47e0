//! Dates and times in the format of RFC 3339, always UTC.

use chrono::{DateTime, Datelike as _, NaiveDate};

use crate::decimal::{decimal, push_decimal};
use crate::record::Time;

/// Writes times one after the other. Most are of the same day as the one before, whose date is reused.
#[derive(Debug, Default)]
pub(crate) struct Dates {
    /// Year, month and day with the separators behind them; empty before the first time.
    date: Vec<u8>,
    /// The number of days from 1970-01-01 to that date.
    day: u64,
}

impl Dates {
    /// Appends a time such as `2012-02-09T20:59:13.01Z`, with as many digits of the fraction as are needed, in threes.
    pub(crate) fn push(&mut self, time: Time, out: &mut Vec<u8>) {
        let seconds = time.seconds.min(SECONDS_MAX);
        if self.day != seconds / DAY || self.date.is_empty() {
            self.begin(seconds / DAY);
        }
        out.extend_from_slice(&self.date);
        push_clock(seconds % DAY, time.nanoseconds, out);
    }

    #[cold]
    fn begin(&mut self, day: u64) {
        self.day = day;
        self.date.clear();
        let (year, month, of_month) = date_of(day);
        for (number, width, end) in [(year, 4, b'-'), (month, 2, b'-'), (of_month, 2, b'T')] {
            push_decimal(number, width, &mut self.date);
            self.date.push(end);
        }
    }
}

/// Appends the second of a day as hours, minutes and seconds with their fraction.
fn push_clock(second: u64, nanoseconds: u32, out: &mut Vec<u8>) {
    for (number, end) in [(second / 3600, b':'), (second / 60 % 60, b':')] {
        push_decimal(number, 2, out);
        out.push(end);
    }
    push_decimal(second % 60, 2, out);
    let nanoseconds = u64::from(nanoseconds.min(999_999_999));
    let (fraction, width) = match nanoseconds {
        0 => (0, 0),
        n if n % 1_000_000 == 0 => (n / 1_000_000, 3),
        n if n % 1000 == 0 => (n / 1000, 6),
        n => (n, 9),
    };
    if width > 0 {
        out.push(b'.');
        push_decimal(fraction, width, out);
    }
    out.push(b'Z');
}

/// Reads a date and the time after it, with a space or `T` between them, with or without `Z` and time; and
/// seconds since 1970 with a fraction, behind `@` or not.
#[must_use]
pub fn parse(text: &str) -> Option<Time> {
    let text = text.trim();
    let plain = text.strip_prefix('@').unwrap_or(text);
    if !plain.contains('-') && !plain.contains(':') {
        let (seconds, fraction) = plain.split_once('.').unwrap_or((plain, ""));
        return Some(Time {
            seconds: decimal(seconds.as_bytes())?,
            nanoseconds: nanoseconds(fraction)?,
        });
    }
    let text = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    let (date, time) = text
        .split_once(['T', 't', ' '])
        .unwrap_or((text, "00:00:00"));
    let number = |text: &str, low: u64, high: u64| {
        let number = decimal(text.as_bytes())?;
        (low..=high).contains(&number).then_some(number)
    };
    let mut date = date.split('-');
    let year = number(date.next()?, 1970, YEAR_MAX)?;
    let month = number(date.next()?, 1, 12)?;
    let day = number(date.next()?, 1, 31)?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut time = time.split(':');
    let hour = number(time.next()?, 0, 23)?;
    let minute = number(time.next()?, 0, 59)?;
    // A leap second counts as the second after it, as on most machines.
    let second = number(time.next().unwrap_or("0"), 0, 60)?;
    if date.next().is_some() || time.next().is_some() {
        return None;
    }
    let seconds = days_before(year, month, day)?
        .checked_mul(DAY)?
        .checked_add(hour * 3600 + minute * 60 + second)?;
    Some(Time {
        seconds,
        nanoseconds: nanoseconds(fraction)?,
    })
}

const DAY: u64 = 86_400;
const YEAR_MAX: u64 = 999_999;
/// The last second of [`YEAR_MAX`].
const SECONDS_MAX: u64 = 31_494_784_780_799;

fn nanoseconds(fraction: &str) -> Option<u32> {
    if fraction.is_empty() {
        return Some(0);
    }
    let digits = u32::try_from(fraction.len())
        .ok()
        .filter(|&digits| digits <= 9)?;
    let number = u32::try_from(decimal(fraction.as_bytes())?).ok()?;
    number.checked_mul(10_u32.checked_pow(9_u32.checked_sub(digits)?)?)
}

/// The number of days after which the calendar repeats, and of years.
const CYCLE_DAYS: u64 = 146_097;
const CYCLE_YEARS: u64 = 400;

/// Returns year, month and day of a day since 1970. The library's years may end before those of a log, so that only its
/// first cycle is used.
fn date_of(days: u64) -> (u64, u64, u64) {
    let second = (days % CYCLE_DAYS)
        .cast_signed()
        .saturating_mul(DAY.cast_signed());
    let date = DateTime::from_timestamp(second, 0).unwrap_or_default();
    let year = u64::from(date.year().unsigned_abs());
    let cycles = (days / CYCLE_DAYS).saturating_mul(CYCLE_YEARS);
    (
        year.saturating_add(cycles),
        date.month().into(),
        date.day().into(),
    )
}

/// Returns the number of days from 1970 to a date; `None` when the month has no such day.
fn days_before(year: u64, month: u64, day: u64) -> Option<u64> {
    let years = year.checked_sub(1970)?;
    let of_cycle = i32::try_from(years % CYCLE_YEARS).ok()?.checked_add(1970)?;
    let (month, day) = (u32::try_from(month).ok()?, u32::try_from(day).ok()?);
    let date = NaiveDate::from_ymd_opt(of_cycle, month, day)?;
    let days = date.signed_duration_since(NaiveDate::default()).num_days();
    let cycles = (years / CYCLE_YEARS).checked_mul(CYCLE_DAYS)?;
    cycles.checked_add_signed(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_two_thousand_years_survives() {
        for day in 0..800_000 {
            let (year, month, of_month) = date_of(day);
            assert_eq!(days_before(year, month, of_month), Some(day));
        }
    }

    /// The calendar of Julian day numbers (Fliegel and Van Flandern, 1968), far beyond the library's years.
    #[test]
    fn dates_are_those_of_the_published_formula() {
        let of_formula = |days: i64| {
            let l = days + 2_440_588 + 68_569;
            let n = 4 * l / 146_097;
            let l = l - (146_097 * n + 3) / 4;
            let i = 4000 * (l + 1) / 1_461_001;
            let l = l - 1461 * i / 4 + 31;
            let j = 80 * l / 2447;
            let day = l - 2447 * j / 80;
            let l = j / 11;
            (100 * (n - 49) + i + l, j + 2 - 12 * l, day)
        };
        let last = SECONDS_MAX / DAY;
        for days in (0..200_000).chain((0..=last).step_by(4999)).chain([last]) {
            let (year, month, day) = date_of(days);
            let found = (year as i64, month as i64, day as i64);
            assert_eq!(found, of_formula(days as i64));
            assert_eq!(days_before(year, month, day), Some(days));
        }
        assert_eq!(date_of(last), (YEAR_MAX, 12, 31));
        for (year, month, day) in [(2100, 2, 29), (2024, 2, 30), (2024, 4, 31), (1969, 1, 1)] {
            assert_eq!(days_before(year, month, day), None);
        }
    }

    #[test]
    fn times_are_read_as_they_are_written() {
        let mut dates = Dates::default();
        for (seconds, nanoseconds, text) in [
            (0, 0, "1970-01-01T00:00:00Z"),
            (86_399, 0, "1970-01-01T23:59:59Z"),
            (1_328_821_153, 10_000_000, "2012-02-09T20:59:13.010Z"),
            (86_400, 0, "1970-01-02T00:00:00Z"),
            (951_782_400, 7, "2000-02-29T00:00:00.000000007Z"),
            (SECONDS_MAX, 999_999_999, "999999-12-31T23:59:59.999999999Z"),
        ] {
            let time = Time {
                seconds,
                nanoseconds,
            };
            let mut out = Vec::new();
            dates.push(time, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), text);
            assert_eq!(parse(text), Some(time));
        }
        let time = Time {
            seconds: 1_328_821_153,
            nanoseconds: 500_000_000,
        };
        assert_eq!(parse("@1328821153.5"), Some(time));
        assert_eq!(parse("2012-02-09 20:59:13.5"), Some(time));
        assert_eq!(
            parse("2012-02-09").map(|time| time.seconds),
            Some(1_328_745_600)
        );
        for bad in [
            "2011-02-29",
            "2012-13-01",
            "2012-01-01T24:00:00Z",
            "x",
            "",
            "1.1234567890",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
