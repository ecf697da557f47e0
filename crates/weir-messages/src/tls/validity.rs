//! Times of certificates that are not as RFC 5280, 4.1.2.5 wants them: without seconds, with an offset (X.680, 46 and
//! 47), or no times at all. The reader of certificates refuses all of a certificate for one of them.

use chrono::{NaiveDate, NaiveTime};

use crate::ber::{Ber, INTEGER, SEQUENCE};

/// The certificate with usual times in the place of its own, and those: seconds since 1970, `None` for what is no time.
/// `None` where its times are not found.
pub(super) fn with_usual_times(der: &[u8]) -> Option<(Vec<u8>, [Option<i64>; 2])> {
    let mut parts = Ber(Ber(der).of(SEQUENCE)?);
    let signed = parts.of(SEQUENCE)?;
    let mut fields = Ber(signed);
    if signed.first() == Some(&VERSION) {
        fields.next()?;
    }
    // The serial number, the algorithm of the signature and the issuer are skipped.
    fields.of(INTEGER)?;
    fields.of(SEQUENCE)?;
    fields.of(SEQUENCE)?;
    let in_front = signed.get(..signed.len().checked_sub(fields.0.len())?)?;
    let mut validity = Ber(fields.of(SEQUENCE)?);
    let (from, until) = (validity.next()?, validity.next()?);
    let usual = value(UTC, &[b"700101000000Z"]);
    let validity = value(SEQUENCE, &[&usual, &usual]);
    let signed = value(SEQUENCE, &[in_front, &validity, fields.0]);
    let times = [from, until].map(|(tag, text)| time(tag, text));
    Some((value(SEQUENCE, &[&signed, parts.0]), times))
}

/// Tag of the version, which certificates of version 1 lack.
const VERSION: u8 = 0xa0;
const UTC: u8 = 0x17;
const GENERALIZED: u8 = 0x18;

/// A value of DER.
fn value(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let contents = parts.concat();
    let mut bytes = vec![tag];
    match u8::try_from(contents.len()) {
        Ok(length @ 0..=0x7f) => bytes.push(length),
        _ => {
            bytes.push(0x84);
            // A certificate is shorter than what a record of TLS can say.
            bytes.extend((contents.len() as u32).to_be_bytes());
        }
    }
    bytes.extend(contents);
    bytes
}

/// A time in seconds since 1970: a year of two or of four digits, month, day, hour, and minutes, seconds and a fraction if they are
/// there, and an offset. Without an offset it is UTC.
fn time(tag: u8, text: &[u8]) -> Option<i64> {
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
        let end = fraction.iter().position(|it| !it.is_ascii_digit());
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
