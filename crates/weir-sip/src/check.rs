//! Looking at all values of a message for what breaks the rules.

use crate::address::Address;
use crate::fault::{Fault, FaultKind, Faults};
use crate::header::{Header, HeaderName};
use crate::message::Message;
use crate::scan::{List, decimal, is_token, is_white, offset_in, trim};
use crate::start::Start;
use crate::uri::Uri;
use crate::via::{CSeq, Via, is_date};

impl Message<'_> {
    /// Checks every value that RFC 3261 has rules for: the faults of the structure and of the values, in the order of the message
    /// within one kind. Costs several times as much as [`Message::parse`]; allocates nothing.
    #[must_use]
    pub fn check(&self) -> Faults {
        let mut check = Check {
            message: self,
            faults: *self.faults(),
            seen: 0,
        };
        check.start();
        for header in self.headers().iter() {
            check.header(&header);
        }
        check.presence();
        check.faults
    }
}

struct Check<'m, 'a> {
    message: &'m Message<'a>,
    faults: Faults,
    /// The headers that were met, a bit each.
    seen: u64,
}

impl<'a> Check<'_, 'a> {
    fn add(&mut self, kind: FaultKind, part: &[u8]) {
        let offset = offset_in(self.message.bytes(), part);
        self.faults.add(kind, offset);
    }

    /// Adds the fault of a value whose offsets count from its own start.
    fn add_of(&mut self, fault: Option<Fault>, part: &[u8]) {
        if let Some(fault) = fault {
            let start = offset_in(self.message.bytes(), part);
            self.faults
                .add(fault.kind, start.saturating_add(fault.offset as usize));
        }
    }

    fn start(&mut self) {
        let Start::Request { uri: text, .. } = self.message.start() else {
            return;
        };
        let inner = text.strip_prefix(b"<").unwrap_or(text);
        let uri = Uri::parse(inner.strip_suffix(b">").unwrap_or(inner));
        if inner.len() != text.len() || uri.headers.is_some() {
            self.add(FaultKind::RequestUri, text);
        }
        // White space in it has been found with the start line.
        if !text.is_empty() && !text.iter().any(|byte| is_white(*byte)) {
            self.add_of(uri.fault, uri.text);
        }
    }

    fn header(&mut self, header: &Header<'a>) {
        if !is_token(header.text) {
            self.add(FaultKind::Token, header.text);
        }
        let bit = 1_u64.checked_shl(header.name as u32).unwrap_or(0);
        if self.seen & bit != 0 && !header.name.is_list() {
            self.add(FaultKind::Repeated, header.text);
        }
        self.seen |= bit;
        if let Some(part) = control_byte(header.value) {
            self.add(FaultKind::ControlByte, part);
        }
        self.value(header.name, header.value);
    }

    fn value(&mut self, name: HeaderName, value: &'a [u8]) {
        match name {
            HeaderName::From => {
                let from = Address::parse(value);
                self.add_of(from.fault, value);
                if from.tag().is_none() {
                    self.add(FaultKind::NoFromTag, value);
                }
            }
            HeaderName::To | HeaderName::ReferTo | HeaderName::ReferredBy => {
                self.add_of(Address::parse(value).fault, value);
            }
            HeaderName::Contact | HeaderName::Route | HeaderName::RecordRoute => {
                self.addresses(name, value);
            }
            HeaderName::Via => self.vias(value),
            HeaderName::CSeq => self.cseq(value),
            HeaderName::CallId if value.is_empty() || value.iter().any(|byte| is_white(*byte)) => {
                self.add(FaultKind::CallId, value);
            }
            HeaderName::MaxForwards => self.number(value, u64::from(u8::MAX)),
            HeaderName::ContentLength | HeaderName::Expires | HeaderName::MinExpires => {
                self.number(value, u64::from(u32::MAX));
            }
            HeaderName::RetryAfter => {
                self.number(first_word(value, b"(;"), u64::from(u32::MAX));
            }
            HeaderName::Warning => {
                for warning in List::new(value) {
                    let code = first_word(warning, b"");
                    if code.len() != 3 || decimal(code).is_none() {
                        self.add(FaultKind::Number, code);
                    }
                }
            }
            HeaderName::Date if !is_date(value) => self.add(FaultKind::Date, value),
            _ => {}
        }
    }

    fn addresses(&mut self, name: HeaderName, value: &'a [u8]) {
        if name == HeaderName::Contact && value == b"*" {
            return;
        }
        for text in List::new(value) {
            if text.is_empty() {
                self.add(FaultKind::EmptyElement, text);
                continue;
            }
            let address = Address::parse(text);
            self.add_of(address.fault, text);
            if let Some(expires) = address.params.value(b"expires") {
                self.number(expires, u64::from(u32::MAX));
            }
        }
    }

    fn vias(&mut self, value: &'a [u8]) {
        for text in List::of_vias(value) {
            if text.is_empty() {
                self.add(FaultKind::EmptyElement, text);
                continue;
            }
            let via = Via::parse(text);
            self.add_of(via.fault, text);
            match via.branch() {
                Some(branch) if branch.eq_ignore_ascii_case(Via::COOKIE) => {
                    self.add(FaultKind::EmptyBranch, branch);
                }
                Some(_) if via.has_cookie() => {}
                _ => self.add(FaultKind::OldBranch, text),
            }
        }
    }

    fn cseq(&mut self, value: &'a [u8]) {
        let Some(cseq) = CSeq::parse(value).filter(|cseq| cseq.number < CSeq::END) else {
            return self.add(FaultKind::Number, value);
        };
        if self
            .message
            .method()
            .is_some_and(|method| method != cseq.method)
        {
            self.add(FaultKind::CSeqMethod, cseq_method(value));
        }
    }

    fn number(&mut self, value: &[u8], max: u64) {
        if decimal(value).is_none_or(|number| number > max) {
            self.add(FaultKind::Number, value);
        }
    }

    fn presence(&mut self) {
        let end = self.message.headers_end();
        let has = |name: HeaderName| self.seen & 1_u64.checked_shl(name as u32).unwrap_or(0) != 0;
        let needed = [
            HeaderName::Via,
            HeaderName::From,
            HeaderName::To,
            HeaderName::CallId,
            HeaderName::CSeq,
        ];
        let missing = needed.into_iter().filter(|name| !has(*name)).count();
        let lacks_forwards = self.message.method().is_some() && !has(HeaderName::MaxForwards);
        let lacks_length = !has(HeaderName::ContentLength);
        for _ in 0..missing {
            self.faults.add(FaultKind::Missing, end);
        }
        if lacks_forwards {
            self.faults.add(FaultKind::NoMaxForwards, end);
        }
        if lacks_length {
            self.faults.add(FaultKind::NoContentLength, end);
        }
    }
}

/// The method of a CSeq, to say where it is.
fn cseq_method(value: &[u8]) -> &[u8] {
    let start = value.iter().position(|byte| is_white(*byte));
    trim(start.and_then(|start| value.get(start..)).unwrap_or(value))
}

/// The part of a value before white space or one of `ends`.
fn first_word<'a>(value: &'a [u8], ends: &[u8]) -> &'a [u8] {
    let end = value
        .iter()
        .position(|byte| is_white(*byte) || ends.contains(byte));
    end.and_then(|end| value.get(..end)).unwrap_or(value)
}

/// The rest of a value from its first control byte that is neither white space of a fold nor escaped in a quoted string (RFC 3261
/// §25.1, quoted-pair).
fn control_byte(value: &[u8]) -> Option<&[u8]> {
    let mut before = 0;
    for (at, byte) in value.iter().copied().enumerate() {
        let is_control = match byte {
            b'\t' | b'\n' => false,
            b'\r' => value.get(at.saturating_add(1)) != Some(&b'\n'),
            0..=0x1f | 0x7f => before != b'\\',
            _ => false,
        };
        if is_control {
            return value.get(at..);
        }
        before = byte;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Severity;
    use crate::limits::Limits;

    fn check(text: &str) -> Faults {
        Message::parse(text.as_bytes(), &Limits::default())
            .unwrap()
            .check()
    }

    #[test]
    fn faults_say_where() {
        let text = "BYE sip:h SIP/2.0\r\nCall-ID: a b\r\nDate: now\r\n\r\n";
        let faults: Vec<Fault> = check(text).iter().collect();
        assert_eq!(faults[0], Fault::at(FaultKind::CallId, 28));
        assert_eq!(faults[1], Fault::at(FaultKind::Date, 39));
        let missing = faults
            .iter()
            .filter(|fault| fault.kind == FaultKind::Missing);
        assert_eq!(missing.count(), 4);
        assert_eq!(&text[28..31], "a b");
    }

    #[test]
    fn control_bytes_are_faults_unless_escaped_or_folding() {
        assert_eq!(control_byte(b"a\r\n b\t\"\\\x00\""), None);
        assert_eq!(control_byte(b"a\rb"), Some(&b"\rb"[..]));
        assert_eq!(control_byte(b"a\0"), Some(&b"\0"[..]));
        assert!(check("BYE sip:h SIP/2.0\r\nSubject: a\x0bb\r\n\r\n").has(FaultKind::ControlByte));
    }

    #[test]
    fn notes_do_not_hide_errors() {
        let vias = "Via: SIP/2.0/UDP h\n".repeat(20);
        let errors = "Max-Forwards: x\r\n".repeat(6);
        let faults = check(&format!("BYE sip:h SIP/2.0\r\n{vias}{errors}\r\n"));
        assert_eq!(faults.first_error().unwrap().kind, FaultKind::Number);
        assert_eq!(faults.iter().count(), Faults::KEPT);
        assert!(
            faults
                .iter()
                .all(|fault| fault.kind.severity() == Severity::Error)
        );
        // Two notes, eleven errors of the repeated header, four headers that are missing, one note.
        assert_eq!(faults.count(), 2 + 11 + 4 + 1);
    }
}
