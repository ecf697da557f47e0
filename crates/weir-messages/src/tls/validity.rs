//! Times of certificates: as RFC 5280, 4.1.2.5 wants them, and the others of X.680, 46 and 47, without seconds or with an offset.

use chrono::{NaiveDate, NaiveTime};

const UTC: u8 = 0x17;
const GENERALIZED: u8 = 0x18;

/// A time in seconds since 1970: a year of two or of four digits, month, day, hour, and minutes, seconds and a fraction if they are
/// there, and an offset. Without an offset it is UTC.
pub(super) fn time(tag: u8, text: &[u8]) -> Option<i64> {
    let mut rest = text;
    let year = match tag {
        // RFC 5280, 4.1.2.5.1.
        UTC => match digits(&mut rest, 2)? {
            year @ ..50 => 2_000 + year,
            year => 1_900 + year,
        },
        GENERALIZED => digits(&mut rest, 4)?,
        _ => return None,
    };
    let month = digits(&mut rest, 2)?.try_into().ok()?;
    let day = digits(&mut rest, 2)?.try_into().ok()?;
    let hour = digits(&mut rest, 2).filter(|hour| *hour < 24)?;
    let minutes = digits(&mut rest, 2).unwrap_or(0);
    let seconds = digits(&mut rest, 2).unwrap_or(0);
    if minutes > 59 || seconds > 60 {
        return None;
    }
    if let [b'.' | b',', fraction @ ..] = rest {
        let end = fraction.iter().position(|digit| !digit.is_ascii_digit());
        rest = fraction.get(end.unwrap_or(fraction.len())..)?;
    }
    let of_day = hour * 3_600 + minutes * 60 + seconds;
    let date = NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day)?;
    let midnight = date.and_time(NaiveTime::MIN).and_utc().timestamp();
    Some(midnight + of_day - offset(rest)?)
}

/// The offset from UTC, in seconds.
fn offset(text: &[u8]) -> Option<i64> {
    let sign = match text.first() {
        None | Some(b'Z') if text.len() <= 1 => return Some(0),
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return None,
    };
    let mut rest = text.get(1..)?;
    let hours = digits(&mut rest, 2)?;
    let minutes = digits(&mut rest, 2).unwrap_or(0);
    rest.is_empty()
        .then_some(sign * (hours * 3_600 + minutes * 60))
}

/// A number of so many decimal digits at the beginning of `text`, which are taken off.
fn digits(text: &mut &[u8], count: usize) -> Option<i64> {
    let (number, rest) = text.split_at_checked(count)?;
    if !number.iter().all(u8::is_ascii_digit) {
        return None;
    }
    *text = rest;
    let number = number.iter();
    Some(number.fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times are those of `date -u -d … +%s`.
    #[test]
    fn times_of_both_forms_are_read() {
        for (tag, text, seconds) in [
            (UTC, &b"700101000000Z"[..], Some(0)),
            (UTC, b"210301120000Z", Some(1_614_600_000)),
            (UTC, b"2103011300+0100", Some(1_614_600_000)),
            (UTC, b"210301063000-0530", Some(1_614_600_000)),
            (UTC, b"500101000000Z", Some(-631_152_000)),
            (UTC, b"000229000000Z", Some(951_782_400)),
            (GENERALIZED, b"2021030112", Some(1_614_600_000)),
            (GENERALIZED, b"20210301120000.25Z", Some(1_614_600_000)),
            (GENERALIZED, b"99991231235959Z", Some(253_402_300_799)),
            (UTC, b"211301120000Z", None),
            (UTC, b"210301120000X", None),
            (UTC, b"210301120000ZZ", None),
            (UTC, b"2103", None),
            (UTC, b"", None),
            (0x02, b"210301120000Z", None),
        ] {
            assert_eq!(
                time(tag, text),
                seconds,
                "{}",
                String::from_utf8_lossy(text)
            );
        }
    }
}
