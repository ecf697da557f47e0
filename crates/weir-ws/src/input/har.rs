//! HTTP archives, and records of one JSON object a message.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::json::{Json, Sink, Token};
use super::{Each, InputErrorKind, InputMessage, InputOptions, InputReport};
use crate::wire::{Direction, Opcode};

const EXTENSIONS_MAX: usize = 1024;

/// Reads `_webSocketMessages` wherever they are, entry by entry.
#[derive(Debug)]
pub(super) struct Har {
    json: Json,
    state: HarState,
    options: InputOptions,
}

#[derive(Debug, Default)]
struct HarState {
    depth: usize,
    /// The depth of the array of messages that is being read.
    messages_at: Option<usize>,
    last: Member,
    next_is_messages: bool,
    name: Vec<u8>,
    value: Vec<u8>,
    connection: Option<u64>,
    fields: Fields,
    entry: HarEntry,
}

/// An entry of an archive: a request and its response, whose members may come in any order.
#[derive(Debug, Default)]
struct HarEntry {
    /// The depth of its members.
    at: Option<usize>,
    /// The part of it that is being read.
    part: EntryPart,
    /// The number of messages before its array of messages, once that has begun.
    messages_before: Option<u64>,
    status: Option<u16>,
    /// Headers of the response.
    extensions: Vec<String>,
}

/// Parts of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum EntryPart {
    Request,
    Response,
    #[default]
    Other,
}

impl HarEntry {
    /// The response refuses the upgrade: its status is neither 101 nor, over HTTP/2, 200 or another of 2xx (RFC 6455, 4.1;
    /// RFC 8441, 5).
    fn is_refused(&self) -> bool {
        self.status
            .is_some_and(|status| status != 101 && !(200..300).contains(&status))
    }

    /// Ends the entry: the agreement is reported, and a refused upgrade is not a connection.
    fn end(&mut self, report: &mut InputReport) {
        let entry = std::mem::take(self);
        if !entry.is_refused() {
            let room = EXTENSIONS_MAX.saturating_sub(report.extensions.len());
            report
                .extensions
                .extend(entry.extensions.into_iter().take(room));
        } else if entry.messages_before == Some(report.messages) {
            report.connections = report.connections.saturating_sub(1);
        }
    }
}

/// The names that matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Member {
    Direction,
    Opcode,
    Time,
    Connection,
    Data,
    Base64,
    Messages,
    Name,
    Value,
    Request,
    Response,
    Status,
    #[default]
    Other,
}

impl Member {
    fn of(name: &[u8]) -> Self {
        match name {
            b"type" | b"direction" => Self::Direction,
            b"opcode" => Self::Opcode,
            b"time" => Self::Time,
            b"connection" => Self::Connection,
            b"data" | b"payload" => Self::Data,
            b"base64" => Self::Base64,
            b"_webSocketMessages" => Self::Messages,
            b"name" => Self::Name,
            b"value" => Self::Value,
            b"request" => Self::Request,
            b"response" => Self::Response,
            b"status" => Self::Status,
            _ => Self::Other,
        }
    }
}

/// The members of a message.
#[derive(Debug, Default)]
struct Fields {
    direction: Option<Direction>,
    opcode: Option<u8>,
    time: Option<f64>,
    connection: Option<u64>,
    data: Vec<u8>,
    has_data: bool,
    base64: bool,
    cut: bool,
    /// Chrome's `"type": "error"`: a message of the browser about a connection, and no frame of it.
    is_error: bool,
}

impl Fields {
    fn clear(&mut self) {
        let mut data = std::mem::take(&mut self.data);
        data.clear();
        data.shrink_to(1 << 20);
        *self = Self {
            data,
            ..Self::default()
        };
    }

    /// A member's value.
    fn set(&mut self, member: Member, token: Token, text: &[u8], cut: bool) {
        let word = || std::str::from_utf8(text).unwrap_or_default();
        match member {
            Member::Direction => {
                self.is_error = text == b"error";
                self.direction = match text {
                    b"send" | b"client" | b"to_server" | b"out" => Some(Direction::ToServer),
                    b"receive" | b"server" | b"to_client" | b"in" => Some(Direction::ToClient),
                    _ => None,
                };
            }
            Member::Opcode => {
                self.opcode = match text {
                    [digit @ b'0'..=b'9'] => Some(digit - b'0'),
                    _ => word().parse().ok(),
                }
            }
            Member::Time => self.time = decimal(text).or_else(|| word().parse().ok()),
            Member::Connection => self.connection = word().parse().ok(),
            Member::Data | Member::Base64 if token == Token::String => {
                self.data.clear();
                self.data.extend_from_slice(text);
                self.has_data = true;
                self.cut = cut;
                self.base64 = member == Member::Base64;
            }
            _ => {}
        }
    }

    /// Passes the message to the caller. In archives, binary payloads are in base64.
    fn emit(
        &mut self,
        connection: u64,
        binary_is_base64: bool,
        report: &mut InputReport,
        each: &mut Each<'_>,
    ) {
        if self.is_error {
            return;
        }
        if self.cut {
            report.too_long += 1;
            return;
        }
        if !self.has_data {
            report.damaged += 1;
            return;
        }
        let opcode = Opcode::from_bits(self.opcode.unwrap_or(if self.base64 { 2 } else { 1 }));
        if self.base64 || (binary_is_base64 && opcode == Opcode::Binary) {
            match decode_base64(&mut self.data) {
                Some(()) => {}
                None => {
                    report.damaged += 1;
                    return;
                }
            }
        }
        report.messages += 1;
        each(&InputMessage {
            connection,
            direction: self.direction,
            opcode,
            payload: &self.data,
            time: self.time,
        });
    }
}

impl Har {
    pub(super) fn new(options: InputOptions) -> Self {
        Self {
            json: Json::new(),
            state: HarState::default(),
            options,
        }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.json.is_whole()
    }

    pub(super) fn feed(
        &mut self,
        bytes: &[u8],
        report: &mut InputReport,
        each: &mut Each<'_>,
    ) -> Result<(), InputErrorKind> {
        let mut sink = HarSink {
            state: &mut self.state,
            options: self.options,
            report,
            each,
        };
        self.json.feed(bytes, &mut sink)
    }
}

struct HarSink<'a, 'e> {
    state: &'a mut HarState,
    options: InputOptions,
    report: &'a mut InputReport,
    each: &'a mut Each<'e>,
}

impl Sink for HarSink<'_, '_> {
    fn token(&mut self, token: Token, text: &[u8], cut: bool) -> usize {
        let inside = self.state.is_in_message();
        match token {
            Token::Key => {
                let state = &mut *self.state;
                state.last = Member::of(text);
                state.next_is_messages = state.last == Member::Messages;
                if inside && state.last == Member::Data {
                    return self.options.message_bytes_max;
                }
                return 1024;
            }
            Token::ArrayBegin => self.begin_array(),
            Token::ObjectBegin => self.state.begin_object(),
            Token::ArrayEnd => {
                let state = &mut *self.state;
                state.depth = state.depth.saturating_sub(1);
                if state.messages_at == Some(state.depth + 1) {
                    state.messages_at = None;
                }
            }
            Token::ObjectEnd => self.end_object(),
            Token::String | Token::Word if inside => {
                self.state.fields.set(self.state.last, token, text, cut);
            }
            Token::String => self.state.string(text),
            Token::Word => self.state.word(text),
        }
        self.state.next_is_messages = false;
        1024
    }
}

impl HarSink<'_, '_> {
    /// The messages of an entry make a connection.
    fn begin_array(&mut self) {
        let state = &mut *self.state;
        if state.next_is_messages && state.messages_at.is_none() {
            state.entry.at = Some(state.depth);
            state.entry.messages_before = Some(self.report.messages);
            state.connection = Some(self.report.connections);
            self.report.connections += 1;
            state.messages_at = Some(state.depth + 1);
        }
        state.depth += 1;
    }

    /// A message, a request or response, or an entry is whole.
    fn end_object(&mut self) {
        let state = &mut *self.state;
        state.depth = state.depth.saturating_sub(1);
        if state.messages_at == Some(state.depth) {
            let connection = state.connection.unwrap_or_default();
            state.fields.emit(connection, true, self.report, self.each);
        } else if state.entry.at == Some(state.depth) {
            state.entry.part = EntryPart::Other;
        } else if state.depth == 0 || state.entry.at.is_some_and(|at| state.depth < at) {
            state.entry.end(self.report);
        }
    }
}

impl HarState {
    fn is_in_message(&self) -> bool {
        self.messages_at.is_some_and(|at| self.depth == at + 1)
    }

    fn begin_object(&mut self) {
        if self.messages_at == Some(self.depth) {
            self.fields.clear();
        }
        self.name.clear();
        self.value.clear();
        let part = match self.last {
            Member::Request => EntryPart::Request,
            Member::Response => EntryPart::Response,
            _ => EntryPart::Other,
        };
        // Members of the object have names of their own.
        self.last = Member::Other;
        if part != EntryPart::Other
            && self.messages_at.is_none()
            && self.entry.part == EntryPart::Other
        {
            self.entry.at = Some(self.depth);
            self.entry.part = part;
        }
        self.depth += 1;
    }

    /// A text outside of messages: the name or the value of a header, perhaps.
    fn string(&mut self, text: &[u8]) {
        match self.last {
            Member::Name => self.name = text.to_ascii_lowercase(),
            Member::Value => self.value = text.to_vec(),
            _ => {}
        }
        // The extensions of a request are offered, and not agreed on.
        if self.name == b"sec-websocket-extensions"
            && !self.value.is_empty()
            && self.entry.part != EntryPart::Request
            && self.entry.extensions.len() < EXTENSIONS_MAX
        {
            let value = String::from_utf8_lossy(&self.value).into_owned();
            self.entry.extensions.push(value);
            self.name.clear();
            self.value.clear();
        }
    }

    /// A number outside of messages: the status of a response, perhaps.
    fn word(&mut self, text: &[u8]) {
        let is_of_response = self.entry.part == EntryPart::Response
            && self.entry.at.is_some_and(|at| self.depth == at + 1);
        if is_of_response && self.last == Member::Status {
            self.entry.status = std::str::from_utf8(text)
                .ok()
                .and_then(|text| text.parse().ok());
        }
    }
}

/// Reads records: JSON objects after one another.
#[derive(Debug)]
pub(super) struct Records {
    json: Json,
    depth: usize,
    last: Member,
    fields: Fields,
    options: InputOptions,
    /// One more than the largest number of a connection.
    connections: u64,
}

impl Records {
    pub(super) fn new(options: InputOptions) -> Self {
        Self {
            json: Json::new(),
            depth: 0,
            last: Member::default(),
            fields: Fields::default(),
            options,
            connections: 0,
        }
    }

    pub(super) fn feed(
        &mut self,
        bytes: &[u8],
        report: &mut InputReport,
        each: &mut Each<'_>,
    ) -> Result<(), InputErrorKind> {
        let mut sink = RecordSink {
            depth: &mut self.depth,
            last: &mut self.last,
            fields: &mut self.fields,
            connections: &mut self.connections,
            message_bytes_max: self.options.message_bytes_max,
            report,
            each,
        };
        self.json.feed(bytes, &mut sink)
    }

    pub(super) fn finish(&mut self, report: &mut InputReport, each: &mut Each<'_>) {
        let mut sink = RecordSink {
            depth: &mut self.depth,
            last: &mut self.last,
            fields: &mut self.fields,
            connections: &mut self.connections,
            message_bytes_max: self.options.message_bytes_max,
            report,
            each,
        };
        self.json.finish(&mut sink);
        if !self.json.is_whole() {
            report.damaged += 1;
        }
        report.connections = self.connections;
    }
}

struct RecordSink<'a, 'e> {
    depth: &'a mut usize,
    last: &'a mut Member,
    fields: &'a mut Fields,
    connections: &'a mut u64,
    message_bytes_max: usize,
    report: &'a mut InputReport,
    each: &'a mut Each<'e>,
}

impl Sink for RecordSink<'_, '_> {
    fn token(&mut self, token: Token, text: &[u8], cut: bool) -> usize {
        match token {
            Token::ObjectBegin | Token::ArrayBegin => {
                if *self.depth == 0 {
                    self.fields.clear();
                }
                *self.depth += 1;
            }
            Token::ObjectEnd | Token::ArrayEnd => {
                *self.depth = self.depth.saturating_sub(1);
                if *self.depth == 0 {
                    let connection = self.fields.connection.unwrap_or_default();
                    *self.connections = (*self.connections).max(connection.saturating_add(1));
                    self.fields.emit(connection, false, self.report, self.each);
                }
            }
            Token::Key if *self.depth == 1 => {
                *self.last = Member::of(text);
                if matches!(self.last, Member::Data | Member::Base64) {
                    // Base64 has four characters for three bytes.
                    return self.message_bytes_max.saturating_mul(4) / 3 + 4;
                }
            }
            Token::String | Token::Word if *self.depth == 1 => {
                self.fields.set(*self.last, token, text, cut);
            }
            Token::String | Token::Word if *self.depth == 0 => self.report.damaged += 1,
            _ => {}
        }
        1024
    }
}

/// A decimal number of at most 15 digits, without a sign or an exponent, in a fraction of the time that
/// the standard library takes. The digits and the power of ten are whole numbers that a float has
/// exactly, so their quotient is the float nearest to the text.
fn decimal(text: &[u8]) -> Option<f64> {
    if text.len() > 16 {
        return None;
    }
    let (mut digits, mut number, mut scale) = (0, 0u64, 1u64);
    let mut point = false;
    for &byte in text {
        match byte {
            b'0'..=b'9' => {
                number = number * 10 + u64::from(byte - b'0');
                digits += 1;
                if point {
                    scale *= 10;
                }
            }
            b'.' if !point => point = true,
            _ => return None,
        }
    }
    (1..=15)
        .contains(&digits)
        .then(|| number as f64 / scale as f64)
}

/// Decodes what programs call base64; `None` when the text is not. Both alphabets (RFC 4648, 4 and 5), padding and ends of
/// lines optional.
fn decode_base64(text: &mut Vec<u8>) -> Option<()> {
    text.retain(|byte| !matches!(byte, b'\r' | b'\n'));
    for byte in text.iter_mut() {
        match byte {
            b'-' => *byte = b'+',
            b'_' => *byte = b'/',
            _ => {}
        }
    }
    *text = BASE64.decode(&*text).ok()?;
    Some(())
}

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_as_the_standard_library_reads_them() {
        let mut seed = 9u64;
        for _ in 0..20_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let digits = (seed >> 8) % 10u64.pow((seed >> 60) as u32 % 15 + 1);
            let places = (seed >> 3) as usize % 16;
            let text = format!("{digits:0places$}");
            let (whole, part) = text.split_at(text.len() - places.min(text.len()));
            for text in [text.clone(), format!("{whole}.{part}")] {
                if let Some(found) = decimal(text.as_bytes()) {
                    assert_eq!(Ok(found), text.parse(), "{text}");
                }
            }
        }
        let time = "1732253995.12345";
        assert_eq!(decimal(time.as_bytes()), time.parse().ok());
        for other in ["", ".", "-1", "1e3", "1.2.3", "1234567890123456", "nan"] {
            assert_eq!(decimal(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn base64_is_decoded_or_refused() {
        let cases: &[(&str, Option<&[u8]>)] = &[
            ("", Some(b"")),
            ("SGVsbG8=", Some(b"Hello")),
            ("SGVsbG8", Some(b"Hello")),
            ("SGVs\r\nbG8h", Some(b"Hello!")),
            ("_-8=", Some(b"\xff\xef")),
            ("S", None),
            ("S===G", None),
            ("S!", None),
        ];
        for (text, expected) in cases {
            let mut bytes = text.as_bytes().to_vec();
            let found = decode_base64(&mut bytes).map(|()| bytes);
            assert_eq!(found.as_deref(), *expected, "{text}");
        }
    }
}
