//! Parses the literals of filters.

use std::net::Ipv4Addr;

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use weir_filter::{ArithmeticOperator, Error, Operand, OperandKind};
use weir_packet::Address;

use super::{Literal, Type, calculated, value_names};
use crate::value::Network;

/// Parses a literal as a value of this type.
pub(super) fn literal(operand: &Operand, kind: Type) -> Result<Literal, Error> {
    let wrong = |wanted, hint| Err(expected(operand, wanted, hint));
    let word = match &operand.kind {
        OperandKind::Word(word) => word.as_str(),
        OperandKind::Text(text) => match kind {
            Type::Text | Type::Bytes => return Ok(Literal::Bytes(text.clone())),
            Type::Open => return Ok(Literal::Bytes(text.clone())),
            Type::Time => match std::str::from_utf8(text).ok().and_then(date) {
                Some(ns) => return Ok(Literal::Number(ns)),
                None => return wrong("a time", "frame.time >= \"2026-11-23 10:00:00\", in UTC"),
            },
            Type::Address => match std::str::from_utf8(text) {
                Ok(text) => text,
                Err(_) => return wrong("an address", ""),
            },
            Type::Number | Type::Flag | Type::Seconds => {
                return wrong("a number", "write numbers without quotes");
            }
        },
        OperandKind::Character(byte) => {
            return Ok(match kind {
                Type::Number | Type::Flag | Type::Seconds => Literal::Number((*byte).into()),
                _ => Literal::Bytes(vec![*byte]),
            });
        }
        OperandKind::Calculated(calculation, left, right) => {
            let is_sum = matches!(
                calculation,
                ArithmeticOperator::Add | ArithmeticOperator::Subtract
            );
            let of = match kind {
                Type::Number | Type::Flag => Type::Number,
                Type::Seconds if is_sum => Type::Seconds,
                _ => {
                    return wrong(
                        "a value, and found a calculation",
                        "write what has a sign in it in double quotes: sip.Call-ID contains \"1-2\"",
                    );
                }
            };
            let both = (literal(left, of)?, literal(right, of)?);
            let (Literal::Number(left), Literal::Number(right)) = both else {
                return wrong("a number", "");
            };
            return match calculated(*calculation, left, right) {
                Some(number) => Ok(Literal::Number(number)),
                None => wrong("a number to calculate with", ""),
            };
        }
        _ => return wrong("a value", ""),
    };
    word_literal(operand, word, kind)
}

/// Parses a literal beside this field: the name of one of its values is a value, too.
pub(super) fn literal_of(operand: &Operand, field: &Operand, kind: Type) -> Result<Literal, Error> {
    let (OperandKind::Word(field) | OperandKind::Layer(field, _)) = &field.kind else {
        return literal(operand, kind);
    };
    let name = match (&operand.kind, kind) {
        (OperandKind::Text(name), Type::Number | Type::Flag) => std::str::from_utf8(name).ok(),
        (OperandKind::Word(name), Type::Number | Type::Flag) => {
            // The name of a value may stand without quotes, and is no number.
            let is_number = word_literal(operand, name, kind).is_ok();
            Some(name.as_str()).filter(|_| !is_number)
        }
        _ => None,
    };
    let Some(name) = name else {
        return literal(operand, kind);
    };
    match (value_names::number(field, name), value_names::hint(field)) {
        (Some(number), _) => Ok(Literal::Number(number)),
        (None, Some(hint)) => Err(expected(operand, "the name of a value", &hint)),
        (None, None) => literal(operand, kind),
    }
}

/// The error of a literal that has another type than the one that is expected.
fn expected(operand: &Operand, wanted: &str, hint: &str) -> Error {
    let error = Error::new(format!("expected {wanted}"), operand.start, operand.end);
    match hint {
        "" => error,
        hint => error.with_hint(hint),
    }
}

/// Parses the word of an operand as a value of this type.
fn word_literal(operand: &Operand, word: &str, kind: Type) -> Result<Literal, Error> {
    let wrong = |wanted, hint| Err(expected(operand, wanted, hint));
    match kind {
        Type::Number => match number(word) {
            Some(number) => Ok(Literal::Number(number)),
            None => wrong("a number", "443, 0x1bb or 0673"),
        },
        Type::Flag => match (word.to_ascii_lowercase().as_str(), number(word)) {
            ("true", _) => Ok(Literal::Number(1)),
            ("false", _) => Ok(Literal::Number(0)),
            (_, Some(number)) => Ok(Literal::Number(i128::from(number != 0))),
            _ => wrong("true or false", ""),
        },
        Type::Time => match seconds(word).or_else(|| date(word)) {
            Some(ns) => Ok(Literal::Number(ns)),
            None => wrong("a time", "frame.time >= \"2026-11-23 10:00:00\", in UTC"),
        },
        Type::Seconds => match seconds(word) {
            Some(ns) => Ok(Literal::Number(ns)),
            None => wrong(
                "seconds",
                "frame.time_delta >= 0.5, frame.time_epoch >= 1700000000.5",
            ),
        },
        Type::Address => {
            if word.contains('/') {
                return match Network::parse(word) {
                    Some(network) => Ok(Literal::Network(network)),
                    None => wrong("a network", "10.0.0.0/8 or 2001:db8::/32"),
                };
            }
            let address = word.parse::<Ipv4Addr>().map(|v4| v4.octets().to_vec());
            let address = address.or_else(|_| {
                let address = word.parse::<Address>();
                address.map(|address| address.as_bytes().to_vec())
            });
            let bytes = || bytes(word).filter(|bytes| [6, 8].contains(&bytes.len()));
            match address.ok().or_else(bytes) {
                Some(bytes) => Ok(Literal::Bytes(bytes)),
                None => wrong("an address", "10.0.0.1, 2001:db8::1 or 00:11:22:33:44:55"),
            }
        }
        Type::Bytes | Type::Open => match bytes(word) {
            Some(bytes) => Ok(Literal::Bytes(bytes)),
            None => wrong("bytes or a text", "0d:0a, or \"text\" in double quotes"),
        },
        Type::Text => Ok(Literal::Bytes(word.as_bytes().to_vec())),
    }
}

fn number(word: &str) -> Option<i128> {
    let (negative, digits) = match word.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, word),
    };
    let lower = digits.to_ascii_lowercase();
    let number = match lower.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => match lower.strip_prefix("0b") {
            Some(bits) => u64::from_str_radix(bits, 2).ok()?,
            None if lower.len() > 1 && lower.starts_with('0') => {
                u64::from_str_radix(&lower, 8).ok()?
            }
            None => lower.parse().ok()?,
        },
    };
    let number = i128::from(number);
    Some(if negative { -number } else { number })
}

/// Parses bytes in hexadecimal, such as `:00`, `00:11:22`, `00-11-22`, `00.11.22`, `0011.2233.4455` or `11`.
fn bytes(word: &str) -> Option<Vec<u8>> {
    let pairs = |text: &str| -> Option<Vec<u8>> {
        let digits: Vec<u8> = text
            .chars()
            .map(|c| c.to_digit(16).map(|digit| digit as u8))
            .collect::<Option<_>>()?;
        match digits.len() {
            1 => Some(digits),
            len if len > 0 && len % 2 == 0 => Some(
                digits
                    .chunks(2)
                    .map(|pair| pair.iter().fold(0, |all, digit| all << 4 | digit))
                    .collect(),
            ),
            _ => None,
        }
    };
    let word = word.strip_prefix(':').unwrap_or(word);
    let word = word.strip_prefix("0x").unwrap_or(word);
    // Bytes with dots have two digits each, or four: otherwise the word is a part of an IPv4 address.
    let is_of = |digits: usize| word.split('.').all(|part| part.len() == digits);
    if word.contains('.') && !is_of(2) && !is_of(4) {
        return None;
    }
    let parts: Option<Vec<Vec<u8>>> = word.split([':', '-', '.']).map(pairs).collect();
    parts.map(|parts| parts.concat())
}

pub(super) fn is_bytes(word: &str) -> bool {
    word.contains([':', '-']) && bytes(word).is_some() || (word.len() == 2 && bytes(word).is_some())
}

/// Parses seconds since 1970, with a fraction; returns nanoseconds.
fn seconds(word: &str) -> Option<i128> {
    let (whole, fraction) = word.split_once('.').unwrap_or((word, ""));
    if fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let whole: i64 = whole.parse().ok()?;
    let nanoseconds: i128 = format!("{fraction:0<9}").parse().ok()?;
    let whole_ns = i128::from(whole) * 1_000_000_000;
    Some(if word.starts_with('-') {
        whole_ns - nanoseconds
    } else {
        whole_ns + nanoseconds
    })
}

/// Parses a time such as `2026-11-23 10:00:00.5` or `Nov 23, 2026 10:00:00.5`, in UTC or with its offset from UTC (`+01:00`);
/// returns nanoseconds since 1970.
fn date(text: &str) -> Option<i128> {
    let (text, offset_ns) = without_offset(text.trim())?;
    let time_ns = match NaiveDateTime::parse_from_str(text, "%b %d, %Y %H:%M:%S%.f") {
        Ok(time) => i128::from(time.and_utc().timestamp_nanos_opt()?),
        Err(_) => numeric_date(text)?,
    };
    Some(time_ns - offset_ns)
}

/// The time in front of an offset from UTC, and the offset in nanoseconds: 0 where there is none.
fn without_offset(text: &str) -> Option<(&str, i128)> {
    if let Some(time) = text.strip_suffix("UTC").or(text.strip_suffix('Z')) {
        return Some((time.trim_end(), 0));
    }
    let clock = text.find(':').unwrap_or(text.len());
    let Some(at) = text.rfind(['+', '-']).filter(|at| *at > clock) else {
        return Some((text, 0));
    };
    let (time, offset) = text.split_at_checked(at)?;
    let digits = offset.get(1..)?.replacen(':', "", 1);
    if !matches!(digits.len(), 2 | 4) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: i128 = format!("{digits:0<4}").parse().ok()?;
    let seconds = number / 100 * 3_600 + number % 100 * 60;
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    Some((time, sign * seconds * 1_000_000_000))
}

/// Parses a date whose month is a number, and its time.
fn numeric_date(text: &str) -> Option<i128> {
    let (day, time) = text.split_once([' ', 'T']).unwrap_or((text, "00:00:00"));
    // A year has four digits.
    if day.find('-') != Some(4) {
        return None;
    }
    let mut day = day.splitn(3, '-').map(str::parse::<u16>);
    let (year, month, day) = (day.next()?.ok()?, day.next()?.ok()?, day.next()?.ok()?);
    let date = NaiveDate::from_ymd_opt(year.into(), month.into(), day.into())?;
    let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut clock = clock.splitn(3, ':').map(str::parse::<i64>);
    let hour = clock.next()?.ok()?;
    let minute = clock.next()?.ok()?;
    let second = clock.next().unwrap_or(Ok(0)).ok()?;
    if !(0..24).contains(&hour) || !(0..60).contains(&minute) || !(0..=60).contains(&second) {
        return None;
    }
    if fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nanoseconds: i128 = format!("{fraction:0<9}").parse().ok()?;
    let midnight = date.and_time(NaiveTime::MIN).and_utc().timestamp();
    let seconds = midnight + hour * 3_600 + minute * 60 + second;
    Some(i128::from(seconds) * 1_000_000_000 + nanoseconds)
}
