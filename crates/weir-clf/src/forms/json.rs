//! JSON lines: an object for each record, with everything that any other form carries.
//!
//! An absent field is left out, as is a flag that is not known; an unparsable one is `null`, one that is not UTF-8
//! is `{"base64": "…"}`. Where CSeq has no number, `method` stands for `cseq`. Optional fields stand as they would
//! in RFC 6873.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::decimal::push_decimal;
use crate::fault::{Fault, FaultKind};
use crate::forms::escape::is_json;
use crate::optional::Optionals;
use crate::record::{
    ABSENT, Field, Flags, Record, Retransmission, Transport, UNPARSABLE, literal, present,
};
use crate::rfc3339::{self, Dates};

const TRANSPORTS: [Transport; 4] = [
    Transport::Udp,
    Transport::Tcp,
    Transport::Sctp,
    Transport::WebSocket,
];
const COPIES: [(Retransmission, &str); 3] = [
    (Retransmission::Original, "original"),
    (Retransmission::Duplicate, "duplicate"),
    (Retransmission::Stateless, "stateless"),
];

/// The method of a CSeq without a number.
const METHOD: &str = "method";

/// Appends a record as a line.
pub(crate) fn push(record: &Record<'_>, dates: &mut Dates, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"time\":\"");
    dates.push(record.time, out);
    out.push(b'"');
    let flags = record.flags;
    let kind = if flags.response {
        "response"
    } else {
        "request"
    };
    let direction = flags.sent.map(|sent| match sent {
        true => "sent",
        false => "received",
    });
    let copy = COPIES
        .iter()
        .find(|(copy, _)| Some(*copy) == flags.retransmission);
    for (name, value) in [
        ("type", Some(kind)),
        ("retransmission", copy.map(|(_, name)| *name)),
        ("direction", direction),
        ("transport", flags.transport.map(Transport::name)),
    ] {
        if let Some(value) = value {
            key(name, out);
            bytes(value.as_bytes(), out);
        }
    }
    if let Some(encrypted) = flags.encrypted {
        key("encrypted", out);
        out.extend_from_slice(if encrypted { b"true" } else { b"false" });
    }
    for field in Field::ALL {
        match (field, record.field(field).strip_prefix(b"- ")) {
            // The CSeq has no number.
            (Field::CSeq, Some(method)) if present(method).is_some() => {
                member(METHOD, method, out);
            }
            _ => member(field.name(), record.field(field), out),
        }
    }
    member("user", record.user, out);
    if !record.optional.is_empty() {
        optionals(record.optional, out);
    }
    out.extend_from_slice(b"}\n");
}

fn member(name: &str, value: &[u8], out: &mut Vec<u8>) {
    match value {
        b"-" | b"" => {}
        b"?" => {
            key(name, out);
            out.extend_from_slice(b"null");
        }
        value => {
            key(name, out);
            bytes(value, out);
        }
    }
}

fn optionals(optional: Optionals<'_>, out: &mut Vec<u8>) {
    if optional.damage().is_some() {
        key("optional_damaged", out);
        return bytes(optional.encoded(), out);
    }
    key("optional", out);
    for (place, field) in optional.iter().enumerate() {
        out.extend_from_slice(if place == 0 {
            b"[{\"tag\":"
        } else {
            b",{\"tag\":"
        });
        push_decimal(u64::from(field.tag), 1, out);
        key("vendor", out);
        push_decimal(u64::from(field.vendor), 1, out);
        key("length", out);
        push_decimal(u64::from(field.length), 1, out);
        key("base64", out);
        out.extend_from_slice(if field.base64 { b"true" } else { b"false" });
        key("value", out);
        bytes(field.value, out);
        out.push(b'}');
    }
    out.push(b']');
}

/// Appends the name of a member, of which no byte has to be escaped.
fn key(name: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

fn bytes(value: &[u8], out: &mut Vec<u8>) {
    // Nearly all values are ASCII, and stand as they are.
    if is_json(value) {
        out.push(b'"');
        out.extend_from_slice(value);
        return out.push(b'"');
    }
    match std::str::from_utf8(value) {
        Ok(value) => escaped(value, out),
        Err(_) => {
            out.extend_from_slice(b"{\"base64\":\"");
            out.extend_from_slice(STANDARD.encode(value).as_bytes());
            out.extend_from_slice(b"\"}");
        }
    }
}

fn escaped(value: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for &byte in value.as_bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0..b' ' | 0x7f => {
                out.extend_from_slice(b"\\u");
                out.extend_from_slice(&crate::hex::of_u16(u16::from(byte)));
            }
            byte => out.push(byte),
        }
    }
    out.push(b'"');
}

/// Reads a line without its line feed.
pub(crate) fn decode<'a>(line: &[u8], scratch: &'a mut Vec<u8>) -> Result<Record<'a>, Fault> {
    scratch.clear();
    let not_json = Fault::at(0, FaultKind::Json);
    let object: Map<String, Value> = serde_json::from_slice(line)
        .map_err(|error| Fault::at(error.column().saturating_sub(1), FaultKind::Json))?;
    let word = |name: &str| object.get(name).and_then(Value::as_str);
    let time = word("time")
        .and_then(rfc3339::parse)
        .ok_or(Fault::at(0, FaultKind::Time))?;
    let flags = flags_of(&object).ok_or(Fault::at(0, FaultKind::Flags))?;
    // The end of each value in the buffer; a missing value is empty.
    let mut ends = [0; Field::COUNT + 1];
    let names = Field::ALL.map(Field::name).into_iter().chain(["user"]);
    for (end, name) in ends.iter_mut().zip(names) {
        match object.get(name) {
            None if name == Field::CSeq.name() => {
                if let Some(method) = object.get(METHOD) {
                    let method = bytes_of(method).ok_or(not_json)?;
                    scratch.extend_from_slice(b"- ");
                    scratch.extend_from_slice(&method);
                }
            }
            None => {}
            Some(Value::Null) => scratch.extend_from_slice(UNPARSABLE),
            Some(value) => {
                let value = bytes_of(value).ok_or(not_json)?;
                scratch.extend_from_slice(literal(&value));
            }
        }
        *end = scratch.len();
    }
    optionals_of(&object, scratch).ok_or(Fault::at(0, FaultKind::Optional))?;
    let scratch = &*scratch;
    let mut start = 0;
    let values = ends.map(|end| {
        let value = scratch.get(start..end).unwrap_or_default();
        start = end;
        if value.is_empty() { ABSENT } else { value }
    });
    let optional = Optionals::new(scratch.get(start..).unwrap_or_default());
    let mut record = Record {
        time,
        flags,
        optional,
        ..Record::default()
    };
    for (field, value) in Field::ALL.into_iter().zip(values) {
        record.set(field, value);
    }
    record.user = values[Field::COUNT];
    Ok(record)
}

fn flags_of(object: &Map<String, Value>) -> Option<Flags> {
    let word = |name: &str| {
        object
            .get(name)
            .map(|value| value.as_str().unwrap_or_default())
    };
    let mut flags = Flags {
        response: match word("type")? {
            "request" => false,
            "response" => true,
            _ => return None,
        },
        ..Flags::default()
    };
    if let Some(copy) = word("retransmission") {
        flags.retransmission = Some(COPIES.iter().find(|(_, name)| *name == copy)?.0);
    }
    flags.sent = match word("direction") {
        Some("sent") => Some(true),
        Some("received") => Some(false),
        None => None,
        Some(_) => return None,
    };
    if let Some(name) = word("transport") {
        let known = TRANSPORTS
            .iter()
            .find(|transport| transport.name() == name)?;
        flags.transport = Some(*known);
    }
    flags.encrypted = match object.get("encrypted") {
        None => None,
        Some(value) => Some(value.as_bool()?),
    };
    Some(flags)
}

fn bytes_of(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => Some(text.clone().into_bytes()),
        Value::Object(object) => {
            let encoded = object.get("base64")?.as_str()?;
            STANDARD.decode(encoded).ok()
        }
        _ => None,
    }
}

fn optionals_of(object: &Map<String, Value>, out: &mut Vec<u8>) -> Option<()> {
    if let Some(damaged) = object.get("optional_damaged") {
        let damaged = bytes_of(damaged)?;
        // A line feed here would begin another record.
        out.extend(damaged.iter().map(|&byte| match byte {
            b'\r' | b'\n' => b' ',
            byte => byte,
        }));
    }
    let Some(fields) = object.get("optional") else {
        return Some(());
    };
    for field in fields.as_array()? {
        let number = |name: &str, max: u64| field.get(name)?.as_u64().filter(|&n| n <= max);
        out.push(b'\t');
        push_decimal(number("tag", 99)?, 2, out);
        out.push(b'@');
        push_decimal(number("vendor", 99_999_999)?, 8, out);
        out.push(b',');
        out.extend_from_slice(&crate::hex::of_u16(number("length", 65_535)? as u16));
        out.extend_from_slice(if field.get("base64")?.as_bool()? {
            b",01,"
        } else {
            b",00,"
        });
        let value = bytes_of(field.get("value")?)?;
        // A separator here would begin another field.
        out.extend(value.iter().map(|&byte| match byte {
            0..b' ' | 0x7f => b' ',
            byte => byte,
        }));
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optional::{BODY, push_optional};
    use crate::record::Time;

    #[test]
    fn everything_survives() {
        let mut optional = Vec::new();
        push_optional(BODY, 0, b"application/sdp ", b"v=0\r\n\xff", &mut optional);
        push_optional(7, 32473, b"", b"1877 example.com", &mut optional);
        let mut record = Record {
            time: Time {
                seconds: 1_328_821_153,
                nanoseconds: 10_000_001,
            },
            flags: Flags::from_letters(*b"rSSWE").unwrap(),
            user: b"alice",
            optional: Optionals::new(&optional),
            ..Record::default()
        };
        record.set(Field::CallId, b"quote \" backslash \\ nul \0 invalid \xff");
        record.set(Field::FromTag, b"line\nfeed");
        record.set(Field::ToTag, UNPARSABLE);
        let mut line = Vec::new();
        push(&record, &mut Dates::default(), &mut line);
        assert_eq!(line.iter().filter(|&&byte| byte == b'\n').count(), 1);
        assert_eq!(decode(&line, &mut Vec::new()), Ok(record));
    }

    #[test]
    fn what_is_no_record_is_located() {
        let mut scratch = Vec::new();
        let mut kind = |line: &str| decode(line.as_bytes(), &mut scratch).unwrap_err().kind;
        assert_eq!(kind("[1]"), FaultKind::Json);
        assert_eq!(kind("{}"), FaultKind::Time);
        assert_eq!(kind(r#"{"time":"2012-02-09T20:59:13Z"}"#), FaultKind::Flags);
        assert_eq!(
            kind(r#"{"time":"2012-02-09T20:59:13Z","type":"request","call_id":7}"#),
            FaultKind::Json
        );
        let optional =
            r#"{"time":"2012-02-09T20:59:13Z","type":"request","optional":[{"tag":100}]}"#;
        assert_eq!(kind(optional), FaultKind::Optional);
    }
}
