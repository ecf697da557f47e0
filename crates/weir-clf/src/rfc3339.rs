//! Dates and times as RFC 3339 has them, always UTC.

use crate::optional::push_decimal;
use crate::record::{Time, decimal};

/// Appends `2012-02-09T20:59:13.01Z`: as many digits of the fraction as are needed, in threes.
pub(crate) fn push(time: Time, out: &mut Vec<u8>) {
    let seconds = time.seconds.min(SECONDS_MAX);
    let (year, month, day) = date_of(seconds / DAY);
    let second = seconds % DAY;
    for (number, width, end) in [
        (year, 4, b'-'),
        (month, 2, b'-'),
        (day, 2, b'T'),
        (second / 3600, 2, b':'),
        (second / 60 % 60, 2, b':'),
    ] {
        push_decimal(number, width, out);
        out.push(end);
    }
    push_decimal(second % 60, 2, out);
    let nanoseconds = u64::from(time.nanoseconds.min(999_999_999));
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

/// Reads what `push` writes, with a space or `T`, with or without `Z` and time; and seconds since
/// 1970 with a fraction, behind `@` or not.
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
    let day = number(date.next()?, 1, days_of(year, month))?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut time = time.split(':');
    let hour = number(time.next()?, 0, 23)?;
    let minute = number(time.next()?, 0, 59)?;
    // A leap second counts as the second after it, as on most machines.
    let second = number(time.next().unwrap_or("0"), 0, 60)?;
    if date.next().is_some() || time.next().is_some() {
        return None;
    }
    let seconds = days_before(year, month, day)
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

/// Year, month and day of a day since 1970, by eras of 400 years that begin in March.
fn date_of(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (era * 400 + year + next, month, day)
}

/// Days since 1970 of a date from then on.
fn days_before(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn days_of(year: u64, month: u64) -> u64 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_two_thousand_years_survives() {
        for day in 0..800_000 {
            let (year, month, of_month) = date_of(day);
            assert_eq!(days_before(year, month, of_month), day);
            assert!(of_month >= 1 && of_month <= days_of(year, month));
        }
    }

    #[test]
    fn times_are_read_as_they_are_written() {
        for (seconds, nanoseconds, text) in [
            (1_328_821_153, 10_000_000, "2012-02-09T20:59:13.010Z"),
            (0, 0, "1970-01-01T00:00:00Z"),
            (951_782_400, 7, "2000-02-29T00:00:00.000000007Z"),
            (SECONDS_MAX, 999_999_999, "999999-12-31T23:59:59.999999999Z"),
        ] {
            let time = Time {
                seconds,
                nanoseconds,
            };
            let mut out = Vec::new();
            push(time, &mut out);
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
