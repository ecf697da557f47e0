//! A message in its parts.

use memchr::memchr;

use crate::address::Address;
use crate::fault::{Fault, FaultKind, Faults};
use crate::header::{HeaderName, Headers};
use crate::limits::Limits;
use crate::method::Method;
use crate::scan::{List, decimal, offset_in, trim_end};
use crate::start::{Start, skip_line_ends};
use crate::via::{CSeq, Via};

/// A request or a response, borrowing from the bytes that it was parsed from.
#[derive(Clone, Debug)]
pub struct Message<'a> {
    bytes: &'a [u8],
    start: Start<'a>,
    headers: Headers<'a>,
    headers_end: usize,
    body: &'a [u8],
    faults: Faults,
}

impl<'a> Message<'a> {
    /// Parses the contents of one datagram, or one message of a stream from [`Framer`](crate::Framer).
    ///
    /// As much is understood as can be: what is wrong with the structure is in
    /// [`Message::faults`], and [`Message::check`] looks at the values, too. Line ends in front are
    /// passed over; bytes behind the body that Content-Length declares are ignored (RFC 3261
    /// §18.3). Allocates only for headers beyond [`Headers::INLINE`].
    ///
    /// # Errors
    /// [`FaultKind::NotSip`] when the first line is no start line.
    pub fn parse(bytes: &'a [u8], limits: &Limits) -> Result<Self, Fault> {
        let mut faults = Faults::default();
        let begin = offset_in(bytes, skip_line_ends(bytes));
        let (line, mut at) = line_at(bytes, begin);
        let (start, fault) = Start::parse(line.text).ok_or(Fault::at(FaultKind::NotSip, begin))?;
        if let Some(fault) = fault {
            faults.add(fault.kind, begin.saturating_add(fault.offset as usize));
        }
        let mut headers = Headers::new(bytes);
        let mut is_bare = line.is_bare;
        let headers_end = loop {
            let line_start = at;
            let (line, next) = line_at(bytes, at);
            if !line.is_ended {
                faults.add(FaultKind::Cut, bytes.len());
            } else if line.text.is_empty() {
                is_bare |= line.is_bare;
                break next;
            }
            is_bare |= line.is_bare && line.is_ended;
            let colon = memchr(b':', line.text);
            // Lines that begin with white space belong to the one before (§7.3.1).
            at = next;
            while let Some(b' ' | b'\t') = bytes.get(at) {
                at = line_at(bytes, at).1;
            }
            match colon {
                Some(_) if headers.len() >= limits.headers_max => {
                    if !faults.has(FaultKind::TooManyHeaders) {
                        faults.add(FaultKind::TooManyHeaders, line_start);
                    }
                }
                Some(colon) => headers.push(line_start, line_start.saturating_add(colon), at),
                None if line.text.is_empty() => {}
                None => faults.add(FaultKind::HeaderLine, line_start),
            }
            if at >= bytes.len() {
                if line.is_ended {
                    faults.add(FaultKind::Cut, bytes.len());
                }
                break bytes.len();
            }
        };
        if is_bare {
            faults.add(FaultKind::BareLf, begin);
        }
        let mut message = Self {
            bytes,
            start,
            headers,
            headers_end,
            body: bytes.get(headers_end..).unwrap_or_default(),
            faults,
        };
        message.limit_body(limits);
        Ok(message)
    }

    /// Parses strictly, unlike [`Message::parse`]: a violation of the rules is an error.
    ///
    /// # Errors
    /// The first fault of [`Message::check`] that is of [`Severity::Error`](crate::Severity::Error).
    pub fn parse_strict(bytes: &'a [u8], limits: &Limits) -> Result<Self, Fault> {
        let message = Self::parse(bytes, limits)?;
        match message.check().first_error() {
            Some(fault) => Err(fault),
            None => Ok(message),
        }
    }

    fn limit_body(&mut self, limits: &Limits) {
        let Some(declared) = self.headers.value(HeaderName::ContentLength) else {
            return;
        };
        let Some(declared) = decimal(declared).and_then(|len| usize::try_from(len).ok()) else {
            return;
        };
        match self.body.split_at_checked(declared) {
            Some((body, rest)) => {
                self.body = body;
                if !rest.is_empty() {
                    self.faults
                        .add(FaultKind::Trailing, offset_in(self.bytes, rest));
                }
            }
            // A message whose head is cut has that fault already.
            None if self.faults.has(FaultKind::Cut) => {}
            // Of a stream only the head of such a message is given, and the body may follow.
            None if self.body.is_empty() && declared > limits.body_bytes_max => {
                self.faults.add(FaultKind::BodyLong, self.bytes.len());
            }
            None => self.faults.add(FaultKind::BodyShort, self.bytes.len()),
        }
    }

    /// The faults of the structure: start line, header lines, length of the body.
    #[must_use]
    pub const fn faults(&self) -> &Faults {
        &self.faults
    }

    /// The bytes that the message was parsed from, with what stands before and behind it.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The first line.
    #[must_use]
    pub const fn start(&self) -> Start<'a> {
        self.start
    }

    /// The method of a request.
    #[must_use]
    pub const fn method(&self) -> Option<Method<'a>> {
        match self.start {
            Start::Request { method, .. } => Some(method),
            Start::Status { .. } => None,
        }
    }

    /// The status code of a response: 100 to 699 in valid messages, and 0 when it is not three digits.
    #[must_use]
    pub const fn status(&self) -> Option<u16> {
        match self.start {
            Start::Request { .. } => None,
            Start::Status { code, .. } => Some(code),
        }
    }

    /// The headers.
    #[must_use]
    pub const fn headers(&self) -> &Headers<'a> {
        &self.headers
    }

    /// Offset of the first byte behind the empty line that ends the headers.
    #[must_use]
    pub const fn headers_end(&self) -> usize {
        self.headers_end
    }

    /// The body: as many bytes as Content-Length says and as there are; all that there are without
    /// a sound Content-Length.
    #[must_use]
    pub const fn body(&self) -> &'a [u8] {
        self.body
    }

    /// Whether the bytes of the message end within this value of a header, so that the rest of it may be missing.
    #[must_use]
    pub fn ends_within(&self, value: &[u8]) -> bool {
        let end = offset_in(self.bytes, value).saturating_add(value.len());
        let rest = self.bytes.get(end..).unwrap_or_default();
        rest.iter().all(|byte| matches!(byte, b' ' | b'\t')) && self.faults.has(FaultKind::Cut)
    }

    /// The From address (RFC 3261 §20.20).
    #[must_use]
    pub fn from(&self) -> Option<Address<'a>> {
        self.headers.value(HeaderName::From).map(Address::parse)
    }

    /// The To address (RFC 3261 §20.39).
    #[must_use]
    pub fn to(&self) -> Option<Address<'a>> {
        self.headers.value(HeaderName::To).map(Address::parse)
    }

    /// The addresses of a header that may have several, such as Contact or Route. The `*` that a REGISTER may have as
    /// its Contact is no address and is left out.
    pub fn addresses(&self, name: HeaderName) -> impl Iterator<Item = Address<'a>> {
        self.headers
            .all(name)
            .flat_map(|header| List::new(header.value))
            .filter(|text| !matches!(text, [] | [b'*']))
            .map(Address::parse)
    }

    /// The elements of all Via headers, the last hop first (RFC 3261 §20.42).
    pub fn vias(&self) -> impl Iterator<Item = Via<'a>> {
        self.headers
            .all(HeaderName::Via)
            .flat_map(|header| List::of_vias(header.value))
            .map(Via::parse)
    }

    /// CSeq (RFC 3261 §20.16); `None` when it is missing or not sound.
    #[must_use]
    pub fn cseq(&self) -> Option<CSeq<'a>> {
        CSeq::parse(self.headers.value(HeaderName::CSeq)?)
    }

    /// Call-ID (RFC 3261 §20.8).
    #[must_use]
    pub fn call_id(&self) -> Option<&'a [u8]> {
        self.headers.value(HeaderName::CallId)
    }

    /// The number that a header has as its value; `None` when it has none, or one beyond 64 bits.
    #[must_use]
    pub fn number(&self, name: HeaderName) -> Option<u64> {
        decimal(self.headers.value(name)?)
    }
}

/// A line of the head.
struct HeadLine<'a> {
    /// The line without its end.
    text: &'a [u8],
    /// The line has an end.
    is_ended: bool,
    /// The end of the line is LF alone.
    is_bare: bool,
}

/// The line that begins at `at`, and the offset of the next.
#[inline]
fn line_at(bytes: &[u8], at: usize) -> (HeadLine<'_>, usize) {
    let rest = bytes.get(at..).unwrap_or_default();
    let Some(end) = memchr(b'\n', rest) else {
        let line = HeadLine {
            text: trim_end(rest),
            is_ended: false,
            is_bare: false,
        };
        return (line, bytes.len());
    };
    let text = rest.get(..end).unwrap_or_default();
    let (text, is_bare) = match text {
        [text @ .., b'\r'] => (text, false),
        text => (text, true),
    };
    let line = HeadLine {
        text,
        is_ended: true,
        is_bare,
    };
    (line, at.saturating_add(end).saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Digest;

    #[test]
    fn a_call_id_that_was_cut_is_none() {
        let text = b"OPTIONS sip:a SIP/2.0\r\nCall-ID: abc@host\r\n";
        let call_id = |octets: usize| {
            let message = Message::parse(&text[..octets], &Limits::default()).unwrap();
            Digest::of(&message).call_id.map(<[u8]>::to_vec)
        };
        assert_eq!(call_id(text.len()), Some(b"abc@host".to_vec()));
        assert_eq!(call_id(text.len() - 1), Some(b"abc@host".to_vec()));
        // More of it may have been sent.
        assert_eq!(call_id(text.len() - 2), None);
        assert_eq!(call_id(text.len() - 6), None);
    }

    fn headers(text: &str) -> Vec<(String, String)> {
        let message = Message::parse(text.as_bytes(), &Limits::default()).unwrap();
        let shown = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let headers = message.headers().iter();
        headers
            .map(|header| (shown(header.text), shown(&header.unfolded())))
            .collect()
    }

    #[test]
    fn a_comment_of_a_via_may_have_commas() {
        let text = b"BYE sip:h SIP/2.0\r\nVia: SIP/2.0/UDP a;branch=z9hG4bK1 (b, c), SIP/2.0/UDP d\r\n\r\n";
        let message = Message::parse(text, &Limits::default()).unwrap();
        let hosts: Vec<&[u8]> = message.vias().map(|via| via.host).collect();
        assert_eq!(hosts, [b"a", b"d"]);
        assert_eq!(Digest::of(&message).via_count, 2);
    }

    #[test]
    fn headers_may_be_folded_and_cut() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            headers("BYE sip:h SIP/2.0\r\nA : b\r\n c\r\nno colon\r\n d: e\r\nF:\r\n\r\nbody: x"),
            [pair("A", "b c"), pair("F", "")]
        );
        assert_eq!(headers("BYE sip:h SIP/2.0\r\nA: b "), [pair("A", "b")]);
        // White space in front belongs to the name, where no header is before it.
        assert_eq!(headers("BYE sip:h SIP/2.0\r\n A: b"), [pair(" A", "b")]);
        assert_eq!(
            headers("BYE sip:h SIP/2.0\r\n A: b\r\n\r\n"),
            [pair(" A", "b")]
        );
    }

    #[test]
    fn the_body_is_as_long_as_it_says_and_as_there_is() {
        let body = |text: &str| {
            let message = Message::parse(text.as_bytes(), &Limits::default()).unwrap();
            let kinds: Vec<FaultKind> = message.faults().iter().map(|fault| fault.kind).collect();
            (message.body().len(), kinds)
        };
        let head = "BYE sip:h SIP/2.0\r\n";
        assert_eq!(
            body(&format!("{head}l: 2\r\n\r\nabc")),
            (2, vec![FaultKind::Trailing])
        );
        assert_eq!(
            body(&format!("{head}l: 4\r\n\r\nabc")),
            (3, vec![FaultKind::BodyShort])
        );
        for (text, kind) in [
            ("l: 1048576\r\n\r\n", FaultKind::BodyShort),
            ("l: 1048577\r\n\r\n", FaultKind::BodyLong),
            ("l: 1048577\r\n\r\nabc", FaultKind::BodyShort),
        ] {
            assert_eq!(body(&format!("{head}{text}")).1, [kind], "{text:?}");
        }
        assert_eq!(body(&format!("{head}l: x\r\n\r\nabc")), (3, vec![]));
        assert_eq!(body(&format!("\r\n{head}\r\nabc")), (3, vec![]));
        assert_eq!(body(&format!("{head}l: 4\r\n")), (0, vec![FaultKind::Cut]));
    }

    #[test]
    fn headers_beyond_the_limit_are_not_seen() {
        let text = format!("BYE sip:h SIP/2.0\r\n{}\r\nbody", "a: b\r\n".repeat(600));
        let message = Message::parse(text.as_bytes(), &Limits::default()).unwrap();
        assert_eq!(message.headers().len(), 512);
        assert!(message.faults().has(FaultKind::TooManyHeaders));
        assert_eq!(message.body(), b"body");
    }
}
