//! Values of parameters as clients send them.

use arrow::datatypes::DataType;
use chrono::{DateTime, NaiveDate, NaiveTime, SecondsFormat, TimeDelta};
use pgwire::api::Type;
use postgres_types::Kind as TypeKind;
use weir_engine::{Condition, Parameter, bytes_of_text};

use crate::error::{Failure, FailureKind};

/// The type that a parameter has for clients when they do not say one.
pub(super) fn type_of_parameter(inferred: Option<&DataType>) -> Type {
    match inferred {
        Some(DataType::Boolean) => Type::BOOL,
        Some(
            DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::UInt8
            | DataType::UInt16
            | DataType::UInt32,
        ) => Type::INT8,
        Some(DataType::UInt64 | DataType::Decimal128(..) | DataType::Decimal256(..)) => {
            Type::NUMERIC
        }
        Some(DataType::Float16 | DataType::Float32 | DataType::Float64) => Type::FLOAT8,
        Some(DataType::Timestamp(..)) => Type::TIMESTAMPTZ,
        Some(DataType::Date32 | DataType::Date64) => Type::DATE,
        Some(DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_)) => {
            Type::BYTEA
        }
        Some(DataType::List(of) | DataType::LargeList(of)) => {
            array_of(&type_of_parameter(Some(of.data_type()))).unwrap_or(Type::TEXT_ARRAY)
        }
        _ => Type::TEXT,
    }
}

/// The type of arrays whose elements have this type.
pub(super) fn array_of(element: &Type) -> Option<Type> {
    Some(match *element {
        Type::BOOL => Type::BOOL_ARRAY,
        Type::BYTEA => Type::BYTEA_ARRAY,
        Type::INT8 => Type::INT8_ARRAY,
        Type::OID => Type::OID_ARRAY,
        Type::FLOAT8 => Type::FLOAT8_ARRAY,
        Type::NUMERIC => Type::NUMERIC_ARRAY,
        Type::TIMESTAMPTZ => Type::TIMESTAMPTZ_ARRAY,
        Type::DATE => Type::DATE_ARRAY,
        Type::TEXT => Type::TEXT_ARRAY,
        _ => return None,
    })
}

/// Whether the binary values of a type are texts.
pub(super) fn is_text(kind: &Type) -> bool {
    matches!(
        *kind,
        Type::TEXT
            | Type::VARCHAR
            | Type::BPCHAR
            | Type::NAME
            | Type::JSON
            | Type::JSONB
            | Type::XML
            | Type::UNKNOWN
    )
}

/// A value of a type, in place of one that is not known yet. It is NULL where the type of a column would depend on which value it is.
pub(super) fn sample(kind: &Type) -> Parameter {
    match *kind {
        Type::BOOL => Parameter::Boolean(true),
        Type::INT2 | Type::INT4 | Type::INT8 | Type::OID => Parameter::Integer(1),
        Type::FLOAT4 | Type::FLOAT8 => Parameter::Float(1.0),
        Type::TIMESTAMP | Type::TIMESTAMPTZ => Parameter::Time("2000-01-01T00:00:00Z".to_owned()),
        Type::BYTEA => Parameter::Bytes(vec![0]),
        _ => match kind.kind() {
            TypeKind::Array(element) => Parameter::List(vec![match sample(element) {
                Parameter::Null => Parameter::Text(String::new()),
                value => value,
            }]),
            _ => Parameter::Null,
        },
    }
}

/// The value that a client has sent.
///
/// # Errors
/// When it is no value of its type.
pub(super) fn parameter(
    bytes: Option<&[u8]>,
    kind: &Type,
    is_binary: bool,
) -> Result<Parameter, Failure> {
    let Some(bytes) = bytes else {
        return Ok(Parameter::Null);
    };
    let value = match is_binary {
        true => of_binary(bytes, kind),
        false => std::str::from_utf8(bytes)
            .ok()
            .and_then(|text| of_text(text, kind)),
    };
    value.ok_or_else(|| {
        let form = if is_binary { "binary" } else { "text" };
        Failure::new(
            FailureKind::Plan,
            format!("invalid {} parameter in {form} format", kind.name()),
        )
        .with_condition(misread(is_binary))
        .with_hint("send it as text")
    })
}

/// A `numeric` that a client has sent, with all of its digits.
///
/// # Errors
/// When it is no number with a limited number of digits.
pub(super) fn decimal(bytes: Option<&[u8]>, is_binary: bool) -> Result<Parameter, Failure> {
    let Some(bytes) = bytes else {
        return Ok(Parameter::Null);
    };
    let digits = match is_binary {
        true => numeric_digits(bytes),
        false => std::str::from_utf8(bytes).ok().map(str::to_owned),
    };
    let plain = digits.as_deref().and_then(|digits| plain(digits.trim()));
    plain.map(Parameter::Decimal).ok_or_else(|| {
        let message =
            "invalid numeric parameter: it has digits, and no more than fit into a column";
        Failure::new(FailureKind::Plan, message).with_condition(misread(is_binary))
    })
}

/// What the error of a value is about that is not of the type of its parameter.
const fn misread(is_binary: bool) -> Condition {
    match is_binary {
        true => Condition::InvalidBinary,
        false => Condition::InvalidText,
    }
}

/// A number as digits without an exponent and without zeros in front.
fn plain(text: &str) -> Option<String> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i16>().ok()?),
        None => (rest, 0),
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{part}");
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    if !is_number || digits.len() > DIGITS_MAX || exponent.unsigned_abs() > EXPONENT_MAX {
        return None;
    }
    let point = i32::try_from(whole.len()).ok()? + i32::from(exponent);
    let (whole, part) = match usize::try_from(point) {
        Ok(point) if point >= digits.len() => {
            let zeros = "0".repeat(point - digits.len());
            (format!("{digits}{zeros}"), String::new())
        }
        Ok(point) => {
            let (whole, part) = digits.split_at_checked(point)?;
            (whole.to_owned(), part.to_owned())
        }
        Err(_) => {
            let zeros = usize::try_from(point.unsigned_abs()).ok()?;
            (String::new(), format!("{}{digits}", "0".repeat(zeros)))
        }
    };
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    Some(match part.is_empty() {
        true => format!("{sign}{whole}"),
        false => format!("{sign}{whole}.{part}"),
    })
}

fn of_text(text: &str, kind: &Type) -> Option<Parameter> {
    Some(match *kind {
        Type::BOOL => match text.to_ascii_lowercase().as_str() {
            "t" | "true" | "on" | "1" | "yes" => Parameter::Boolean(true),
            "f" | "false" | "off" | "0" | "no" => Parameter::Boolean(false),
            _ => return None,
        },
        Type::INT2 | Type::INT4 | Type::INT8 | Type::OID => {
            Parameter::Integer(text.trim().parse().ok()?)
        }
        Type::NUMERIC => number(text.trim())?,
        Type::FLOAT4 | Type::FLOAT8 => Parameter::Float(text.trim().parse().ok()?),
        Type::TIMESTAMP | Type::TIMESTAMPTZ => Parameter::Time(text.to_owned()),
        Type::BYTEA => Parameter::Bytes(bytes_of_text(text)?),
        _ => match kind.kind() {
            TypeKind::Array(element) => list_of_text(text, element)?,
            _ => Parameter::Text(text.to_owned()),
        },
    })
}

/// An array of one dimension as PostgreSQL writes it: `{1,NULL,"a \"text\""}`. Arrays of more dimensions are rejected.
fn list_of_text(text: &str, element: &Type) -> Option<Parameter> {
    let inner = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    let mut values = Vec::new();
    let mut letters = inner.chars().peekable();
    if inner.trim().is_empty() {
        return Some(Parameter::List(values));
    }
    loop {
        while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
        let mut value = String::new();
        let is_quoted = letters.next_if_eq(&'"').is_some();
        if is_quoted {
            loop {
                match letters.next()? {
                    '"' => break,
                    '\\' => value.push(letters.next()?),
                    letter => value.push(letter),
                }
            }
            while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
        } else {
            while let Some(letter) = letters.next_if(|letter| *letter != ',') {
                match letter {
                    '{' | '}' | '"' => return None,
                    '\\' => value.push(letters.next()?),
                    letter => value.push(letter),
                }
            }
            value.truncate(value.trim_end().len());
        }
        values.push(match is_quoted {
            false if value.is_empty() => return None,
            false if value.eq_ignore_ascii_case("null") => Parameter::Null,
            _ => of_text(&value, element)?,
        });
        match letters.next() {
            None => return Some(Parameter::List(values)),
            Some(',') => {}
            Some(_) => return None,
        }
    }
}

/// A number in digits: whole if it can be.
fn number(text: &str) -> Option<Parameter> {
    match text.parse() {
        Ok(whole) => Some(Parameter::Integer(whole)),
        Err(_) => Some(Parameter::Float(text.parse().ok()?)),
    }
}

fn of_binary(bytes: &[u8], kind: &Type) -> Option<Parameter> {
    let four = || bytes.try_into().ok().map(i32::from_be_bytes);
    let eight = || bytes.try_into().ok().map(i64::from_be_bytes);
    Some(match *kind {
        Type::BOOL => match bytes {
            [flag] => Parameter::Boolean(*flag != 0),
            _ => return None,
        },
        Type::INT2 => Parameter::Integer(i16::from_be_bytes(bytes.try_into().ok()?).into()),
        Type::INT4 => Parameter::Integer(four()?.into()),
        Type::OID => Parameter::Integer(u32::from_be_bytes(bytes.try_into().ok()?).into()),
        Type::INT8 => Parameter::Integer(eight()?.into()),
        Type::FLOAT4 => Parameter::Float(f32::from_be_bytes(bytes.try_into().ok()?).into()),
        Type::FLOAT8 => Parameter::Float(f64::from_be_bytes(bytes.try_into().ok()?)),
        Type::NUMERIC => numeric(bytes)?,
        Type::BYTEA => Parameter::Bytes(bytes.to_vec()),
        Type::TIMESTAMP | Type::TIMESTAMPTZ => {
            let micros = eight()?.checked_add(946_684_800_000_000)?;
            let instant = DateTime::from_timestamp_micros(micros)?;
            Parameter::Time(instant.to_rfc3339_opts(SecondsFormat::Micros, true))
        }
        Type::DATE => {
            let day = NaiveDate::from_ymd_opt(2000, 1, 1)?;
            let day = day.checked_add_signed(TimeDelta::try_days(four()?.into())?)?;
            Parameter::Text(day.to_string())
        }
        Type::TIME => {
            let micros = u64::try_from(eight()?).ok()?;
            let seconds = u32::try_from(micros / 1_000_000).ok()?;
            let nanos = u32::try_from(micros % 1_000_000).ok()? * 1000;
            let time = NaiveTime::from_num_seconds_from_midnight_opt(seconds, nanos)?;
            Parameter::Text(time.to_string())
        }
        Type::INTERVAL => Parameter::Text(interval(bytes)?),
        Type::UUID => {
            let number = u128::from_be_bytes(bytes.try_into().ok()?);
            let digits = format!("{number:032x}");
            let parts = [0..8, 8..12, 12..16, 16..20, 20..32];
            let parts = parts.map(|part| digits.get(part).unwrap_or_default());
            Parameter::Text(parts.join("-"))
        }
        Type::MACADDR => match bytes {
            [a, b, c, d, e, f] => {
                Parameter::Text(format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}"))
            }
            _ => return None,
        },
        Type::INET | Type::CIDR => match bytes {
            [2, 32, _, 4, a, b, c, d] => Parameter::Text(format!("{a}.{b}.{c}.{d}")),
            [3, 128, _, 16, rest @ ..] => {
                let octets: [u8; 16] = rest.try_into().ok()?;
                Parameter::Text(std::net::Ipv6Addr::from(octets).to_string())
            }
            _ => return None,
        },
        // The number of its version stands in front.
        Type::JSONB => match bytes {
            [1, text @ ..] => Parameter::Text(std::str::from_utf8(text).ok()?.to_owned()),
            _ => return None,
        },
        Type::TEXT
        | Type::VARCHAR
        | Type::BPCHAR
        | Type::NAME
        | Type::CHAR
        | Type::JSON
        | Type::XML
        | Type::UNKNOWN => {
            let text = std::str::from_utf8(bytes).ok()?;
            // Values of the type "char" are not checked before.
            (!text.contains('\0')).then(|| Parameter::Text(text.to_owned()))?
        }
        _ => match kind.kind() {
            TypeKind::Array(element) => list(bytes, element)?,
            _ => return None,
        },
    })
}

/// A binary `interval` in the units that a cast of a text reads: microseconds, days and months.
fn interval(bytes: &[u8]) -> Option<String> {
    let (micros, rest) = bytes.split_first_chunk::<8>()?;
    let (days, months) = rest.split_first_chunk::<4>()?;
    let micros = i64::from_be_bytes(*micros);
    let days = i32::from_be_bytes(*days);
    let months = i32::from_be_bytes(months.try_into().ok()?);
    Some(format!("{months} months {days} days {micros} microseconds"))
}

/// The texts that are elements of a binary array, as far as the value is one.
pub(super) fn texts_of_array<'b>(bytes: &'b [u8], kind: &Type) -> Vec<&'b [u8]> {
    let mut texts: Vec<&'b [u8]> = Vec::new();
    if let TypeKind::Array(element) = kind.kind()
        && is_text(element)
    {
        // A value that is no array is refused where it is read.
        let _ = elements(bytes, element, |text| {
            texts.extend(text);
            Some(())
        });
    }
    texts
}

/// A binary array of one dimension, or of none.
fn list(bytes: &[u8], element: &Type) -> Option<Parameter> {
    let mut values = Vec::new();
    elements(bytes, element, |value| {
        values.push(match value {
            Some(value) => of_binary(value, element)?,
            None => Parameter::Null,
        });
        Some(())
    })?;
    Some(Parameter::List(values))
}

/// Gives the elements of a binary array one by one, NULL as `None`. Returns no value where the bytes are not an array of these elements.
fn elements<'b>(
    bytes: &'b [u8],
    element: &Type,
    mut each: impl FnMut(Option<&'b [u8]>) -> Option<()>,
) -> Option<()> {
    let mut rest = bytes;
    let mut word = || {
        let (word, others) = rest.split_first_chunk::<4>()?;
        rest = others;
        Some(i32::from_be_bytes(*word))
    };
    let (dimensions, _has_nulls, kind) = (word()?, word()?, word()?);
    let count = match dimensions {
        0 => 0,
        1 => {
            let (count, _first) = (word()?, word()?);
            usize::try_from(count).ok()?
        }
        _ => return None,
    };
    if u32::try_from(kind).ok()? != element.oid() {
        return None;
    }
    // Each element has at least its length, so that nothing is allocated for the count.
    for _ in 0..count {
        let (len, others) = rest.split_first_chunk::<4>()?;
        rest = others;
        match usize::try_from(i32::from_be_bytes(*len)) {
            Ok(len) => {
                let (value, others) = rest.split_at_checked(len)?;
                rest = others;
                each(Some(value))?;
            }
            Err(_) => each(None)?,
        }
    }
    Some(())
}

/// A binary `numeric`.
fn numeric(bytes: &[u8]) -> Option<Parameter> {
    number(&numeric_digits(bytes)?)
}

/// The digits of a binary `numeric`.
fn numeric_digits(bytes: &[u8]) -> Option<String> {
    let mut words = bytes.chunks_exact(2).map(|pair| {
        let pair: [u8; 2] = pair.try_into().unwrap_or_default();
        u16::from_be_bytes(pair)
    });
    let (count, weight, sign, scale) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let weight = i32::from(i16::from_be_bytes(weight.to_be_bytes()));
    let groups: Vec<u16> = words.collect();
    if groups.len() != usize::from(count) || !(-40..=40).contains(&weight) || count > 80 {
        return None;
    }
    let group = |place: i32| {
        let index = usize::try_from(weight.checked_sub(place)?).ok()?;
        groups.get(index).copied()
    };
    let mut text = String::from(if sign == 0x4000 { "-" } else { "" });
    for place in (0..=weight.max(0)).rev() {
        text.push_str(&format!("{:04}", group(place).unwrap_or_default()));
    }
    if scale > 0 {
        text.push('.');
        let scale = scale.min(160);
        let end = text.len() + usize::from(scale);
        for place in 1..=i32::from(scale.div_ceil(4)) {
            text.push_str(&format!("{:04}", group(-place).unwrap_or_default()));
        }
        // The last group may have more digits than the number.
        text.truncate(end);
    }
    matches!(sign, 0 | 0x4000).then_some(text)
}

/// Digits of a number that are read, and of its exponent: no column holds more.
const DIGITS_MAX: usize = 320;
const EXPONENT_MAX: u16 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_what_clients_send() {
        let binary = |kind: &Type, bytes: &[u8]| parameter(Some(bytes), kind, true).ok();
        let text = |kind: &Type, text: &str| parameter(Some(text.as_bytes()), kind, false).ok();
        assert_eq!(
            binary(&Type::INT4, &[0, 0, 1, 0]),
            Some(Parameter::Integer(256))
        );
        assert_eq!(binary(&Type::INT4, &[0]), None);
        let largest = [0, 5, 0, 4, 0, 0, 0, 0, 7, 52, 26, 88, 2, 225, 3, 187, 6, 79];
        let largest = binary(&Type::NUMERIC, &largest);
        assert_eq!(largest, Some(Parameter::Integer(u64::MAX.into())));
        let part = binary(&Type::NUMERIC, &[0, 2, 0, 0, 0x40, 0, 0, 2, 0, 12, 1, 0xf4]);
        assert_eq!(part, Some(Parameter::Float(-12.05)));
        assert_eq!(binary(&Type::NUMERIC, &[0xff; 8]), None);
        let time = binary(&Type::TIMESTAMPTZ, &[0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(
            time,
            Some(Parameter::Time("2000-01-01T00:00:00.000001Z".to_owned()))
        );
        assert_eq!(binary(&Type::TIMESTAMPTZ, &[0x7f; 8]), None);
        let address = binary(&Type::INET, &[2, 32, 0, 4, 10, 0, 0, 1]);
        assert_eq!(address, Some(Parameter::Text("10.0.0.1".to_owned())));
        let long = [[0; 8], 0x0123_4567_89ab_cdef_u64.to_be_bytes()].concat();
        for (kind, bytes, expected) in [
            (Type::TIME, [0; 8].as_slice(), "00:00:00"),
            (
                Type::INTERVAL,
                &[
                    255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 3, 0, 0, 0, 14,
                ],
                "14 months 3 days -1 microseconds",
            ),
            (Type::UUID, &long, "00000000-0000-0000-0123-456789abcdef"),
            (Type::MACADDR, &[0, 1, 2, 3, 4, 255], "00:01:02:03:04:ff"),
            (Type::JSONB, b"\x01{}", "{}"),
            (Type::JSON, b"{}", "{}"),
        ] {
            let expected = Parameter::Text(expected.to_owned());
            assert_eq!(binary(&kind, bytes), Some(expected), "{kind}");
        }
        for (kind, bytes) in [
            (Type::TIME, [0xff; 8].as_slice()),
            (Type::TIME, &[0x7f; 8]),
            (Type::INTERVAL, &[0; 15]),
            (Type::INTERVAL, &[0; 17]),
            (Type::UUID, &[0; 15]),
            (Type::MACADDR, &[0; 8]),
            (Type::JSONB, b"{}"),
            (Type::JSONB, b""),
            (Type::XML, &[0xff]),
        ] {
            assert_eq!(binary(&kind, bytes), None, "{kind}");
        }
        assert_eq!(text(&Type::NUMERIC, "12"), Some(Parameter::Integer(12)));
        assert_eq!(
            text(&Type::BYTEA, "\\x00ff"),
            Some(Parameter::Bytes(vec![0, 255]))
        );
        assert_eq!(text(&Type::BYTEA, "\\x00f"), None);
        assert_eq!(
            text(&Type::BYTEA, "a\\377"),
            Some(Parameter::Bytes(vec![b'a', 255]))
        );
        assert_eq!(
            text(&Type::UNKNOWN, "a"),
            Some(Parameter::Text("a".to_owned()))
        );
    }

    #[test]
    fn decimals_have_all_of_their_digits() {
        let text = |text: &str| decimal(Some(text.as_bytes()), false).ok();
        let digits = |digits: &str| Some(Parameter::Decimal(digits.to_owned()));
        for (sent, expected) in [
            ("12.50", "12.50"),
            (" -007 ", "-7"),
            ("+.5", "0.5"),
            ("5.", "5"),
            ("1.25e3", "1250"),
            ("125E-4", "0.0125"),
            ("1.25e1", "12.5"),
            ("0", "0"),
            ("18446744073709551616", "18446744073709551616"),
        ] {
            assert_eq!(text(sent), digits(expected), "{sent}");
        }
        for wrong in [
            "", "-", ".", "e1", "1e", "NaN", "1e101", "0x1", "1 2", "--1",
        ] {
            assert_eq!(text(wrong), None, "{wrong}");
        }
        assert_eq!(text(&"1".repeat(321)), None);
        let binary = |bytes: &[u8]| decimal(Some(bytes), true).ok();
        let part = [0, 2, 0, 0, 0x40, 0, 0, 2, 0, 12, 1, 0xf4];
        assert_eq!(binary(&part), digits("-12.05"));
        assert_eq!(binary(&[0; 8]), digits("0"));
        assert_eq!(binary(&[0xff; 8]), None);
        assert_eq!(decimal(None, true).ok(), Some(Parameter::Null));
    }

    #[test]
    fn samples_have_the_types_of_their_values() {
        assert_eq!(sample(&Type::INT2), Parameter::Integer(1));
        assert_eq!(
            sample(&Type::INT8_ARRAY),
            Parameter::List(vec![Parameter::Integer(1)])
        );
        assert_eq!(
            sample(&Type::TEXT_ARRAY),
            Parameter::List(vec![Parameter::Text(String::new())])
        );
        // A whole number and another are of two types.
        assert_eq!(sample(&Type::NUMERIC), Parameter::Null);
        assert_eq!(sample(&Type::INET), Parameter::Null);
    }

    #[test]
    fn lists_come_as_text_too() {
        let list = |kind: &Type, text: &str| parameter(Some(text.as_bytes()), kind, false).ok();
        let texts = |values: &[&str]| {
            let values = values
                .iter()
                .map(|value| Parameter::Text((*value).to_owned()));
            Some(Parameter::List(values.collect()))
        };
        let numbers = Parameter::List(vec![
            Parameter::Integer(1),
            Parameter::Null,
            Parameter::Integer(-3),
        ]);
        assert_eq!(list(&Type::INT8_ARRAY, "{1,NULL, -3 }"), Some(numbers));
        assert_eq!(
            list(&Type::INT8_ARRAY, " {} "),
            Some(Parameter::List(Vec::new()))
        );
        assert_eq!(
            list(&Type::TEXT_ARRAY, r#"{a b, "c,\"\\}" ,"null","",d\,e}"#),
            texts(&["a b", "c,\"\\}", "null", "", "d,e"])
        );
        for bad in [
            "",
            "1",
            "{",
            "}",
            "{1",
            "{1,}",
            "{,1}",
            "{{1},{2}}",
            "{1,\"2}",
            "{1}{2}",
            "[1:1]={1}",
            "{\"1\" 2}",
            "{a\\}",
            "{x}",
        ] {
            assert_eq!(list(&Type::INT8_ARRAY, bad), None, "{bad}");
        }
    }

    #[test]
    fn lists_are_whole_or_refused() {
        let words = |words: &[u32]| -> Vec<u8> {
            words.iter().flat_map(|word| word.to_be_bytes()).collect()
        };
        let list = |bytes: &[u8]| parameter(Some(bytes), &Type::OID_ARRAY, true).ok();
        let oid = Type::OID.oid();
        let null = u32::MAX;
        let good = words(&[1, 1, oid, 3, 1, 4, 16385, null, 4, u32::MAX]);
        let expected = [
            Parameter::Integer(16385),
            Parameter::Null,
            Parameter::Integer(u32::MAX.into()),
        ];
        assert_eq!(list(&good), Some(Parameter::List(expected.to_vec())));
        assert_eq!(
            list(&words(&[0, 0, oid])),
            Some(Parameter::List(Vec::new()))
        );
        for len in 0..good.len() {
            assert_eq!(list(&good[..len]), None, "{len}");
        }
        for bad in [
            // Two dimensions, none of them known, other elements, and counts and lengths beyond the message.
            words(&[2, 0, oid, 1, 1, 1, 1, 4, 7]),
            words(&[u32::MAX, 0, oid]),
            words(&[1, 0, Type::INT4.oid(), 1, 1, 4, 7]),
            words(&[1, 0, oid, 0x7fff_ffff, 1, 4, 7]),
            words(&[1, 0, oid, null, 1, 4, 7]),
            words(&[1, 0, oid, 1, 1, 0x7fff_ffff, 7]),
        ] {
            assert_eq!(list(&bad), None, "{bad:?}");
        }
    }
}
