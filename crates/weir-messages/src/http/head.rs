//! Heads of messages: the first line and the fields (RFC 9112, 3 to 5).

use httparse::{EMPTY_HEADER, ParserConfig, Status};

/// The first line of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestLine {
    /// Method.
    pub method: String,
    /// Target, as it is written.
    pub target: String,
    /// Minor version: 0 or 1.
    pub minor: u8,
}

/// The first line of a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatusLine {
    /// Status code.
    pub code: u16,
    /// Phrase, which may be empty.
    pub phrase: String,
    /// Minor version: 0 or 1.
    pub minor: u8,
}

/// A head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Head<L> {
    /// The first line.
    pub line: L,
    /// Names and values of the fields in their order.
    pub fields: Vec<(String, String)>,
}

/// Fields of a head, at most.
const FIELDS_MAX: usize = 256;
/// Octets of a first line whose end did not come, at most.
const LINE_OCTETS_MAX: usize = 1 << 13;

impl<L> Head<L> {
    /// The value of the first field of this name, which is in lower case.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter();
        let found = fields.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The values of all fields of this name.
    pub fn all<'h>(&'h self, name: &'h str) -> impl Iterator<Item = &'h str> {
        let fields = self.fields.iter();
        fields
            .filter(move |(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    pub(super) fn octets(&self) -> usize {
        let fields = self.fields.iter();
        fields
            .map(|(name, value)| name.len() + value.len() + 48)
            .sum()
    }
}

/// What octets are.
pub(super) enum Parsed {
    /// The beginning of a head.
    More,
    /// No head.
    Nothing,
    Request(usize, Head<RequestLine>),
    Response(usize, Head<StatusLine>),
}

/// True for the first octets of a message.
pub(super) fn looks_like(bytes: &[u8]) -> bool {
    let bytes = bytes.trim_ascii_start();
    if bytes.starts_with(b"HTTP/1.") {
        return true;
    }
    let head = bytes
        .get(..bytes.len().min(LINE_OCTETS_MAX))
        .unwrap_or_default();
    let Some(end) = head.iter().position(|byte| *byte == b'\n') else {
        // The line goes on: the methods are few.
        let method = head.split(|byte| *byte == b' ').next().unwrap_or_default();
        return METHODS.contains(&method) && method.len() < head.len();
    };
    let line = head.get(..end).unwrap_or_default().trim_ascii_end();
    let method = line.split(|byte| *byte == b' ').next().unwrap_or_default();
    let is_method = (1..=32).contains(&method.len())
        && method
            .iter()
            .all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'-' | b'_'));
    let version = line.len().checked_sub(9).and_then(|at| line.get(at..));
    is_method && matches!(version, Some(b" HTTP/1.1" | b" HTTP/1.0" | b" HTTP/2.0"))
}

const METHODS: &[&[u8]] = &[
    b"GET",
    b"HEAD",
    b"POST",
    b"PUT",
    b"DELETE",
    b"OPTIONS",
    b"PATCH",
    b"CONNECT",
    b"TRACE",
    b"PROPFIND",
    b"REPORT",
    b"SEARCH",
    b"MKCOL",
    b"COPY",
    b"MOVE",
    b"LOCK",
    b"UNLOCK",
];

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn fields(headers: &[httparse::Header<'_>]) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|header| (header.name.to_owned(), text(header.value)))
        .collect()
}

/// Reads a head.
pub(super) fn parse(bytes: &[u8]) -> Parsed {
    let mut headers = [EMPTY_HEADER; FIELDS_MAX];
    let mut config = ParserConfig::default();
    config
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_multiple_spaces_in_request_line_delimiters(true)
        .allow_multiple_spaces_in_response_status_delimiters(true)
        .ignore_invalid_headers_in_requests(true)
        .ignore_invalid_headers_in_responses(true);
    if bytes.starts_with(b"HTTP/") || b"HTTP/".starts_with(bytes) {
        let mut response = httparse::Response::new(&mut headers);
        return match config.parse_response(&mut response, bytes) {
            Ok(Status::Complete(length)) => Parsed::Response(
                length,
                Head {
                    line: StatusLine {
                        code: response.code.unwrap_or_default(),
                        phrase: response.reason.unwrap_or_default().to_owned(),
                        minor: response.version.unwrap_or_default(),
                    },
                    fields: fields(response.headers),
                },
            ),
            Ok(Status::Partial) => Parsed::More,
            Err(_) => Parsed::Nothing,
        };
    }
    let mut request = httparse::Request::new(&mut headers);
    match config.parse_request(&mut request, bytes) {
        Ok(Status::Complete(length)) => Parsed::Request(
            length,
            Head {
                line: RequestLine {
                    method: request.method.unwrap_or_default().to_owned(),
                    target: request.path.unwrap_or_default().to_owned(),
                    minor: request.version.unwrap_or_default(),
                },
                fields: fields(request.headers),
            },
        ),
        Ok(Status::Partial) => Parsed::More,
        // The preface of HTTP/2 (RFC 9113, 3.4).
        Err(_) if bytes.starts_with(b"PRI * HTTP/2.0\r\n\r\n") => Parsed::Request(
            18,
            Head {
                line: RequestLine {
                    method: "PRI".to_owned(),
                    target: "*".to_owned(),
                    minor: 0,
                },
                fields: Vec::new(),
            },
        ),
        Err(_) => lenient(bytes),
    }
}

/// Reads a request whose target or fields are none as they should be, such as targets with spaces: attacks have
/// such.
fn lenient(bytes: &[u8]) -> Parsed {
    let read = || {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let line = bytes.get(..end)?.trim_ascii_end();
        let method = line.get(..line.iter().position(|byte| *byte == b' ')?)?;
        let target_end = line.len().checked_sub(9)?;
        let minor = match line.get(target_end..)? {
            b" HTTP/1.1" => 1,
            b" HTTP/1.0" => 0,
            _ => return None,
        };
        let target = line.get(method.len() + 1..target_end)?;
        let mut fields = Vec::new();
        let mut at = end + 1;
        loop {
            let rest = bytes.get(at..)?;
            let Some(length) = rest.iter().position(|byte| *byte == b'\n') else {
                return Some(Parsed::More);
            };
            let field = rest.get(..length)?.trim_ascii_end();
            at += length + 1;
            if field.is_empty() {
                break;
            }
            // What is no field is passed over.
            if let Some(colon) = field.iter().position(|byte| *byte == b':')
                && fields.len() < FIELDS_MAX
            {
                let (name, value) = field.split_at(colon);
                fields.push((text(name.trim_ascii()), text(value.get(1..)?.trim_ascii())));
            }
        }
        let line = RequestLine {
            method: text(method),
            target: text(target),
            minor,
        };
        Some(Parsed::Request(at, Head { line, fields }))
    };
    match looks_like(bytes) {
        true => read().unwrap_or(Parsed::Nothing),
        false => Parsed::Nothing,
    }
}
