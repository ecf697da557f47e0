//! Heads of messages: the first line and the fields (RFC 9112, 3 to 5).

use std::mem::MaybeUninit;

use httparse::{ParserConfig, Status};

use crate::text::lossy;

/// The first line of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestLine {
    /// Method.
    pub method: String,
    /// The target, as it was sent.
    pub target: String,
    /// Minor version of HTTP/1 whose rules the message follows: 0 or 1.
    pub minor: u8,
    /// The version as it was sent, if it is neither HTTP/1.0 nor HTTP/1.1.
    pub version: Option<String>,
}

/// The first line of a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatusLine {
    /// Status code; 0 where what stands in its place is no number.
    pub code: u16,
    /// Phrase, which may be empty.
    pub phrase: String,
    /// Minor version of HTTP/1 whose rules the message follows: 0 or 1.
    pub minor: u8,
    /// The version as it was sent, if it is neither HTTP/1.0 nor HTTP/1.1.
    pub version: Option<String>,
}

/// A head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Head<L> {
    /// The first line.
    pub line: L,
    /// Names and values of the fields in their order.
    pub fields: Vec<(String, String)>,
    /// The head breaks the grammar of RFC 9112, and was read as far as it can be understood.
    pub is_malformed: bool,
}

/// Fields of a head, at most.
const FIELDS_MAX: usize = 256;
/// Octets of a first line whose end did not come, at most.
pub(super) const LINE_OCTETS_MAX: usize = 1 << 13;
/// Octets of a first line by which a response is found: `HTTP/1.1`, its code, and what is behind it.
pub(super) const STATUS_OCTETS: usize = 13;
/// The version of HTTP/1 without its last octet.
const VERSION_BEGINS: &[u8] = b"HTTP/1.";
/// Octets of the first word of a message, at most.
pub(super) const WORD_OCTETS_MAX: usize = 32;

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

    fn malformed(self) -> Self {
        Self {
            is_malformed: true,
            ..self
        }
    }

    pub(super) fn octets(&self) -> usize {
        let fields = self.fields.iter();
        fields
            .map(|(name, value)| name.len() + value.len() + 48)
            .sum()
    }
}

/// The outcome of parsing octets.
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
    if is_status(bytes) {
        return true;
    }
    let head = bytes
        .get(..bytes.len().min(LINE_OCTETS_MAX))
        .unwrap_or_default();
    let Some(end) = head.iter().position(|byte| *byte == b'\n') else {
        // The line is incomplete: there are few methods.
        let method = head.split(is_blank).next().unwrap_or_default();
        return METHODS.contains(&method) && method.len() < head.len();
    };
    let line = head.get(..end).unwrap_or_default().trim_ascii_end();
    let method = line.split(is_blank).next().unwrap_or_default();
    is_method(method) && (last_word(line).is_some_and(is_version) || is_simple(line))
}

/// True for what may become the first octets of a message with more behind it.
pub(super) fn may_become(bytes: &[u8]) -> bool {
    let bytes = bytes.trim_ascii_start();
    if bytes.is_empty() {
        return false;
    }
    let word = bytes.get(..bytes.len().min(WORD_OCTETS_MAX + 1));
    let mut words = word.unwrap_or_default().split(is_blank);
    let begun = bytes.get(..bytes.len().min(5)).unwrap_or_default();
    let is_status = b"HTTP/"
        .get(..begun.len())
        .is_some_and(|word| word.eq_ignore_ascii_case(begun));
    is_status && bytes.len() <= 6 || words.next().is_some_and(is_method) && !bytes.contains(&b'\n')
}

/// True for octets that are the beginning of a message before their line ends: of a response, or of a method that is known.
pub(super) fn begins_as_known(bytes: &[u8]) -> bool {
    let bytes = bytes.trim_ascii_start();
    let word = bytes.get(..bytes.len().min(WORD_OCTETS_MAX));
    let mut words = word.unwrap_or_default().split(is_blank);
    let method = words.next().unwrap_or_default();
    is_status(bytes) || METHODS.contains(&method) && words.next().is_some()
}

/// True for the first octets of a method that is known.
pub(super) fn is_of_method(bytes: &[u8]) -> bool {
    METHODS.iter().any(|method| method.starts_with(bytes))
}

/// Whether an octet parts words of a first line: a space, or what software takes for one (RFC 9112, 3).
const fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0b | 0x0c)
}

fn is_method(word: &[u8]) -> bool {
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=WORD_OCTETS_MAX).contains(&word.len()) && word.iter().all(is_token)
}

/// True for the beginning of a response: `HTTP/` and a number, in capitals or not and behind a sign or a space at most, or
/// what servers of SHOUTcast write.
fn is_status(bytes: &[u8]) -> bool {
    if let [b'I', b'C', b'Y', b' ', code @ ..] = bytes {
        return code
            .get(..3)
            .is_some_and(|code| code.iter().all(u8::is_ascii_digit));
    }
    let is_number = match bytes.get(5..) {
        Some([b'0'..=b'9', ..]) => true,
        Some([before, b'0'..=b'9', ..]) => matches!(before, b' '..=b'~'),
        _ => false,
    };
    bytes
        .get(..5)
        .is_some_and(|word| word.eq_ignore_ascii_case(b"HTTP/"))
        && is_number
        && !is_protocol_name(bytes)
}

/// Returns true for a name in a list of protocols, such as a ClientHello has (RFC 7301, 3.1): `http/1.1` in small letters, with
/// neither a space nor a line end behind it. And for a text of another protocol that ends with a zero, as AJP has the version, behind
/// which neither a space nor a code stands.
fn is_protocol_name(bytes: &[u8]) -> bool {
    let version = bytes.get(5..).unwrap_or_default();
    let is_of_version = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'.');
    let octets = version.iter().take_while(is_of_version).count();
    let is_small = bytes.starts_with(b"http/");
    match version.get(octets..).unwrap_or_default() {
        [next, ..] if is_small => !is_blank(next) && !matches!(next, b'\r' | b'\n'),
        [0, next, ..] => !is_blank(next) && !next.is_ascii_digit(),
        _ => false,
    }
}

/// How far octets are the version and the code that a response of HTTP/1 begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatusBeginning {
    /// They are, as far as the end of the code.
    Is,
    /// They are as far as they came.
    MayBecome,
    Other,
}

/// Whether octets are the version and the code that a response begins with, or become these with more behind them.
pub(super) fn begins_status(bytes: &[u8]) -> StatusBeginning {
    let line = bytes.get(..STATUS_OCTETS).unwrap_or(bytes);
    let fits = |(at, octet): (usize, &u8)| match at {
        7 => matches!(octet, b'0' | b'1'),
        8 => *octet == b' ',
        9..=11 => octet.is_ascii_digit(),
        12 => matches!(octet, b' ' | b'\r' | b'\n'),
        _ => VERSION_BEGINS.get(at) == Some(octet),
    };
    match (line.iter().enumerate().all(fits), line.len()) {
        (true, STATUS_OCTETS) => StatusBeginning::Is,
        (true, _) => StatusBeginning::MayBecome,
        (false, _) => StatusBeginning::Other,
    }
}

/// The offset of the first message of a side within octets that begin with the rest of something else (after a loss, or a body
/// that is not permitted there): at the version and code of a response, or the whole first line of a request.
pub(super) fn find_beginning(bytes: &[u8], of_client: bool) -> Option<usize> {
    let is_response = |at: &usize| bytes.get(*at..).map(begins_status) == Some(StatusBeginning::Is);
    let version = VERSION_BEGINS;
    if !of_client {
        let all = bytes.windows(version.len()).enumerate();
        let mut versions = all.filter(|(_, word)| *word == version).map(|(at, _)| at);
        return versions.find(is_response);
    }
    // Each line is searched once, from its line end.
    let mut next = 0;
    bytes.split(|byte| *byte == b'\n').find_map(|line| {
        let begins = next;
        next += line.len() + 1;
        let method = line.split(is_blank).next()?;
        let has_version = line.windows(version.len()).any(|word| word == version);
        let within = match METHODS.contains(&method) && has_version {
            true => 0,
            false => request_behind_body(line)?,
        };
        let at = begins + within;
        (at > 0 && looks_like(bytes.get(at..)?)).then_some(at)
    })
}

/// The offset of the first line of a request behind the rest of a body, which need not end with a line: that of the method right in
/// front of a target and a version.
fn request_behind_body(line: &[u8]) -> Option<usize> {
    let line = line.trim_ascii_end();
    let is_version = last_word(line)?.starts_with(VERSION_BEGINS);
    let target = line.get(..line.iter().rposition(is_blank)?)?;
    let before = target.get(..target.iter().rposition(is_blank)?)?;
    let bodies = METHODS
        .iter()
        .filter_map(|method| before.strip_suffix(*method));
    let at = bodies.map(<[u8]>::len).min()?;
    let is_behind = before.get(..at)?.last().is_some_and(|byte| !is_blank(byte));
    (is_version && is_behind).then_some(at)
}

/// The offset of the first line of a request behind the rest of a body, which goes on to it without a line end, and whose first word
/// looks like a method that is not known: small letters and digits in front of a known one are of no method.
pub(super) fn find_behind_word(bytes: &[u8]) -> Option<usize> {
    let line = bytes.split(|byte| *byte == b'\n').next()?;
    let is_known = line
        .split(is_blank)
        .next()
        .is_some_and(|word| METHODS.contains(&word));
    let at = request_behind_body(line).filter(|_| !is_known)?;
    let rest = line.get(..at)?;
    let is_of_body = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    rest.iter().any(is_of_body).then_some(at)
}

/// The word after the last space of a line.
fn last_word(line: &[u8]) -> Option<&[u8]> {
    let space = line.iter().rposition(is_blank)?;
    line.get(space + 1..)
}

/// `HTTP/` and a number, in capitals or not (RFC 9112, 2.3).
fn is_version(word: &[u8]) -> bool {
    let number = word.get(5..).unwrap_or_default();
    word.get(..5)
        .is_some_and(|name| name.eq_ignore_ascii_case(b"HTTP/"))
        && number.first().is_some_and(u8::is_ascii_digit)
        && number
            .iter()
            .all(|byte| byte.is_ascii_digit() || *byte == b'.')
}

/// The line that a request of HTTP/0.9 is: GET and a path.
fn is_simple(line: &[u8]) -> bool {
    let path = line.strip_prefix(b"GET ").unwrap_or_default();
    path.first() == Some(&b'/') && path.iter().all(u8::is_ascii_graphic)
}

/// The minor version of HTTP/1 by whose rules a message of this version is read (RFC 9110, 2.5), and the version where it is
/// another.
fn version(word: &[u8]) -> (u8, Option<String>) {
    match word {
        b"HTTP/1.1" => (1, None),
        b"HTTP/1.0" => (0, None),
        other => (u8::from(other != b"HTTP/0.9"), Some(lossy(other))),
    }
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
    b"PROPPATCH",
    b"QUERY",
    b"MERGE",
    b"CHECKOUT",
    b"CHECKIN",
    b"UNCHECKOUT",
    b"MKACTIVITY",
    b"MKCALENDAR",
    b"MKWORKSPACE",
    b"VERSION-CONTROL",
    b"BASELINE-CONTROL",
    b"M-SEARCH",
];

fn fields(headers: &[httparse::Header<'_>]) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|header| (header.name.trim_end().to_owned(), unfolded(header.value)))
        .collect()
}

/// A value whose lines are one (RFC 9112, 5.2).
fn unfolded(value: &[u8]) -> String {
    if !value.contains(&b'\n') {
        return lossy(value);
    }
    let lines = value.split(|byte| *byte == b'\n');
    let lines: Vec<String> = lines.map(|line| lossy(line.trim_ascii())).collect();
    lines.join(" ")
}

/// Reads a head.
pub(super) fn parse(bytes: &[u8]) -> Parsed {
    let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
    let blank = bytes.iter().take_while(is_blank).count();
    if blank == 0 {
        return parse_line(bytes);
    }
    // No line begins with a space, but old software reads some that do.
    match parse_line(bytes.get(blank..).unwrap_or_default()) {
        Parsed::Request(length, head) => Parsed::Request(blank + length, head.malformed()),
        Parsed::Response(length, head) => Parsed::Response(blank + length, head.malformed()),
        other => other,
    }
}

fn parse_line(bytes: &[u8]) -> Parsed {
    // Room for so many fields takes longer to fill than most heads take to be read.
    let mut headers = [const { MaybeUninit::uninit() }; FIELDS_MAX];
    let mut config = ParserConfig::default();
    config
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_multiple_spaces_in_request_line_delimiters(true)
        .allow_multiple_spaces_in_response_status_delimiters(true);
    if bytes.starts_with(b"HTTP/") || b"HTTP/".starts_with(bytes) {
        let mut response = httparse::Response::new(&mut []);
        let parsed = config.parse_response_with_uninit_headers(&mut response, bytes, &mut headers);
        return match parsed {
            Ok(Status::Complete(length)) => Parsed::Response(
                length,
                Head {
                    line: StatusLine {
                        code: response.code.unwrap_or_default(),
                        phrase: response.reason.unwrap_or_default().to_owned(),
                        minor: response.version.unwrap_or_default(),
                        version: None,
                    },
                    fields: fields(response.headers),
                    is_malformed: false,
                },
            ),
            Ok(Status::Partial) => Parsed::More,
            Err(_) => lenient(bytes, HeadEnd::ToCome),
        };
    }
    let mut request = httparse::Request::new(&mut []);
    match config.parse_request_with_uninit_headers(&mut request, bytes, &mut headers) {
        Ok(Status::Complete(length)) => Parsed::Request(
            length,
            Head {
                line: RequestLine {
                    method: request.method.unwrap_or_default().to_owned(),
                    target: request.path.unwrap_or_default().to_owned(),
                    minor: request.version.unwrap_or_default(),
                    version: None,
                },
                fields: fields(request.headers),
                is_malformed: false,
            },
        ),
        Ok(Status::Partial) => Parsed::More,
        // The preface of HTTP/2 looks like a request (RFC 9113, 3.4).
        Err(_) if bytes.starts_with(b"PRI * HTTP/2.0\r\n\r\n") => Parsed::Request(
            18,
            Head {
                line: RequestLine {
                    method: "PRI".to_owned(),
                    target: "*".to_owned(),
                    minor: 0,
                    version: None,
                },
                fields: Vec::new(),
                is_malformed: false,
            },
        ),
        Err(_) => lenient(bytes, HeadEnd::ToCome),
    }
}

/// Reads a head whose end never comes: of its first line what tells the message has to be there.
pub(super) fn parse_cut(bytes: &[u8]) -> Parsed {
    let blank = bytes.iter().take_while(|byte| byte.is_ascii_whitespace());
    let blank = blank.count();
    let begun = bytes.get(blank..).unwrap_or_default();
    match lenient(begun, HeadEnd::Cut) {
        Parsed::Request(length, mut head) => {
            head.is_malformed = head.is_malformed && !is_sound(begun);
            Parsed::Request(blank + length, head)
        }
        Parsed::Response(length, mut head) => {
            head.is_malformed = head.is_malformed && !is_sound(begun);
            Parsed::Response(blank + length, head)
        }
        other => other,
    }
}

/// Whether what is there of a head without its end breaks no grammar: its whole lines are those of a head.
fn is_sound(begun: &[u8]) -> bool {
    let end = begun.iter().rposition(|byte| *byte == b'\n');
    let (lines, rest) = begun.split_at(end.map_or(0, |end| end + 1));
    let rest = rest.strip_suffix(b"\r").unwrap_or(rest);
    let is_control = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
    if rest.iter().any(is_control) {
        return false;
    }
    let head = match (lines.is_empty(), is_status(rest)) {
        (false, _) => [lines, b"\r\n".as_slice()].concat(),
        (true, true) => [rest, b"\r\n\r\n".as_slice()].concat(),
        (true, false) => return is_sound_request_line(rest),
    };
    match parse_line(&head) {
        Parsed::Request(_, head) => !head.is_malformed,
        Parsed::Response(_, head) => !head.is_malformed,
        Parsed::More | Parsed::Nothing => false,
    }
}

/// Whether the beginning of the first line of a request breaks no grammar: a method, a target, and a version of HTTP/1.
fn is_sound_request_line(begun: &[u8]) -> bool {
    let mut words = begun.split(|byte| *byte == b' ');
    let is_method = words.next().is_some_and(|word| METHODS.contains(&word));
    // The target may have any octets.
    words.next();
    let version = words.next().unwrap_or_default();
    let is_version = [b"HTTP/1.0", b"HTTP/1.1"]
        .iter()
        .any(|known| known.starts_with(version));
    is_method && is_version && words.next().is_none()
}

/// Whether more of a head may come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HeadEnd {
    ToCome,
    Cut,
}

/// The lines of a head, without what ends them.
struct HeadLines<'b> {
    bytes: &'b [u8],
    at: usize,
    end: HeadEnd,
}

impl<'b> HeadLines<'b> {
    /// The next line; `None` where its end has not come.
    fn next(&mut self) -> Option<&'b [u8]> {
        let rest = self.bytes.get(self.at..)?;
        // Software that ends lines by a carriage return alone is read where no line feed comes any more.
        let length = rest.iter().position(|byte| *byte == b'\n').or_else(|| {
            let is_cut = self.end == HeadEnd::Cut;
            let end = rest.iter().position(|byte| *byte == b'\r');
            end.filter(|_| is_cut)
        })?;
        self.at += length + 1;
        Some(rest.get(..length)?.trim_ascii_end())
    }

    /// The first line where its end never comes, if what is there of it has the code of a response. Where the target of a
    /// request ends is not known.
    fn cut(&mut self) -> Option<&'b [u8]> {
        let line = Some(self.bytes).filter(|_| self.end == HeadEnd::Cut && self.at == 0)?;
        self.at = line.len();
        let has_code = is_status(line) && status_line(line).code >= 100;
        has_code.then(|| line.trim_ascii_end())
    }
}

/// Reads a head that breaks the grammar, line by line: targets with spaces, malformed versions and status codes, control
/// characters. Attacks have such heads, and so has old software.
fn lenient(bytes: &[u8], end: HeadEnd) -> Parsed {
    if !looks_like(bytes) {
        return Parsed::Nothing;
    }
    let mut lines = HeadLines { bytes, at: 0, end };
    let Some(first) = lines.next().or_else(|| lines.cut()) else {
        return match end {
            HeadEnd::ToCome => Parsed::More,
            HeadEnd::Cut => begun_request(bytes),
        };
    };
    let mut fields: Vec<(String, String)> = Vec::new();
    // A request of HTTP/0.9 is a line without anything after it.
    if is_simple(first) && lines.at == bytes.len() {
        return Parsed::Request(lines.at, simple(first));
    }
    loop {
        let Some(field) = lines.next() else {
            match end {
                HeadEnd::ToCome => return Parsed::More,
                HeadEnd::Cut => break,
            }
        };
        if field.is_empty() {
            break;
        }
        // A line that begins with a space continues the field before (RFC 9112, 5.2).
        if field.first().is_some_and(u8::is_ascii_whitespace)
            && let Some((_, value)) = fields.last_mut()
        {
            value.push(' ');
            value.push_str(&lossy(field.trim_ascii()));
            continue;
        }
        // A line that is not a field is skipped.
        if let Some(colon) = field.iter().position(|byte| *byte == b':')
            && fields.len() < FIELDS_MAX
        {
            let (name, value) = field.split_at(colon);
            let value = value.get(1..).unwrap_or_default();
            fields.push((lossy(name.trim_ascii()), lossy(value.trim_ascii())));
        }
    }
    let is_malformed = true;
    if is_status(first) {
        let line = status_line(first);
        // The rest of a request whose beginning was lost has no code, and a field of requests.
        let is_host = |(name, _): &(String, String)| name.eq_ignore_ascii_case("host");
        if line.code == 0 && fields.iter().any(is_host) {
            return Parsed::Nothing;
        }
        let head = Head {
            line,
            fields,
            is_malformed,
        };
        return Parsed::Response(lines.at, head);
    }
    match request_line(first) {
        Some(line) => {
            let head = Head {
                line,
                fields,
                is_malformed,
            };
            Parsed::Request(lines.at, head)
        }
        None => Parsed::Nothing,
    }
}

/// A request whose first line has no end: its target is known where something stands behind it.
fn begun_request(bytes: &[u8]) -> Parsed {
    let mut words = bytes.split(is_blank);
    let (method, target) = (words.next().unwrap_or_default(), words.next());
    if !METHODS.contains(&method) || target.is_none() {
        return Parsed::More;
    }
    let target = target.filter(|_| words.next().is_some());
    let line = RequestLine {
        method: lossy(method),
        target: lossy(target.unwrap_or_default()),
        minor: 1,
        version: Some(String::new()),
    };
    let head = Head {
        line,
        fields: Vec::new(),
        is_malformed: true,
    };
    Parsed::Request(bytes.len(), head)
}

/// A first line that begins like that of a response.
fn status_line(line: &[u8]) -> StatusLine {
    let is_blank = |byte: &u8| byte.is_ascii_whitespace() || is_blank(byte);
    let word = |line: &[u8]| line.iter().position(is_blank);
    let (of_version, rest) = line.split_at(word(line).unwrap_or(line.len()));
    let blank = rest.iter().take_while(|byte| is_blank(byte)).count();
    let rest = rest.get(blank..).unwrap_or_default();
    let (code, phrase) = rest.split_at(word(rest).unwrap_or(rest.len()));
    let is_number = code.iter().all(u8::is_ascii_digit);
    let number = std::str::from_utf8(code).ok().filter(|_| is_number);
    let (minor, version) = version(of_version);
    StatusLine {
        code: number
            .and_then(|code| code.parse().ok())
            .unwrap_or_default(),
        phrase: lossy(phrase.trim_ascii()),
        minor,
        version,
    }
}

/// A request of HTTP/0.9.
fn simple(line: &[u8]) -> Head<RequestLine> {
    let target = line.strip_prefix(b"GET ").unwrap_or_default();
    Head {
        line: RequestLine {
            method: "GET".to_owned(),
            target: lossy(target),
            minor: 0,
            version: Some(SIMPLE_VERSION.to_owned()),
        },
        fields: Vec::new(),
        is_malformed: false,
    }
}

/// The version without heads.
pub(super) const SIMPLE_VERSION: &str = "HTTP/0.9";

/// The head that an answer of HTTP/0.9 does not have.
pub(super) fn simple_answer() -> Head<StatusLine> {
    Head {
        line: StatusLine {
            version: Some(SIMPLE_VERSION.to_owned()),
            ..StatusLine::default()
        },
        ..Head::default()
    }
}

/// A target without the blanks around it.
fn trimmed(mut target: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = target
        && is_blank(first)
    {
        target = rest;
    }
    while let [rest @ .., last] = target
        && is_blank(last)
    {
        target = rest;
    }
    target
}

/// A first line that ends like that of a request, or is that of one without a version.
fn request_line(line: &[u8]) -> Option<RequestLine> {
    let method = line.get(..line.iter().position(is_blank)?)?;
    let of_version = last_word(line).filter(|word| is_version(word));
    let end = line.len() - of_version.map_or(0, |word| word.len() + 1);
    let (minor, version) = version(of_version.unwrap_or_default());
    Some(RequestLine {
        method: lossy(method),
        target: lossy(trimmed(line.get(method.len() + 1..end)?)),
        minor,
        version,
    })
}
