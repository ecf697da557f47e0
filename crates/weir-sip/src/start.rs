//! The first line of a message, and the test whether bytes begin with one.

use memchr::memchr;

use crate::fault::{Fault, FaultKind};
use crate::method::Method;
use crate::scan::{decimal, is_token, is_token_byte, is_white, offset_in, trim, trim_end};
use crate::uri::is_scheme;

/// The first line of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start<'a> {
    /// A request line (RFC 3261 §7.1).
    Request {
        /// The method.
        method: Method<'a>,
        /// The Request-URI as it was sent.
        uri: &'a [u8],
        /// The version as it was sent, `SIP/2.0` in valid messages.
        version: &'a [u8],
    },
    /// A status line (RFC 3261 §7.2).
    Status {
        /// The version as it was sent, `SIP/2.0` in valid messages.
        version: &'a [u8],
        /// The three digits as a number, 100 to 699 in valid messages; 0 when what is written is not three digits.
        code: u16,
        /// The reason phrase, which may be empty.
        reason: &'a [u8],
    },
}

impl<'a> Start<'a> {
    /// Reads a line without its line end. `None`: it is neither a request line nor a status line.
    /// The first thing that is wrong with it comes with it; the offset counts from the line's start.
    pub(crate) fn parse(line: &'a [u8]) -> Option<(Self, Option<Fault>)> {
        if is_version_start(line) {
            return Self::status(line);
        }
        let method_end = line.iter().position(|byte| !is_token_byte(*byte))?;
        let (method, rest) = line.split_at_checked(method_end)?;
        let ended = trim_end(rest);
        let version_start = ended
            .iter()
            .rposition(|byte| is_white(*byte))?
            .checked_add(1)?;
        let (middle, version) = ended.split_at_checked(version_start)?;
        if !is_token(method) || !is_white(*rest.first()?) || !is_version(version) {
            return None;
        }
        let uri = trim(middle);
        // The last part of a URI before the version is no method: the line may be the rest of one.
        if uri.is_empty() && !is_known(method) {
            return None;
        }
        let has_one_space = middle.len() == uri.len().saturating_add(2)
            && middle.first() == Some(&b' ')
            && middle.last() == Some(&b' ');
        let fault = if uri.is_empty() {
            Some(Fault::at(FaultKind::Uri, offset_in(line, middle)))
        } else if !has_one_space || ended.len() != rest.len() || uri.iter().any(|b| is_white(*b)) {
            Some(Fault::at(FaultKind::StartLineSpace, method.len()))
        } else {
            version_fault(line, version)
        };
        let start = Self::Request {
            method: Method::new(method),
            uri,
            version,
        };
        Some((start, fault))
    }

    fn status(line: &'a [u8]) -> Option<(Self, Option<Fault>)> {
        let end = line
            .iter()
            .position(|byte| is_white(*byte))
            .unwrap_or(line.len());
        let (version, rest) = line.split_at_checked(end)?;
        if !is_version(version) {
            return None;
        }
        let text = trim(rest);
        let digits = text
            .iter()
            .position(|byte| is_white(*byte))
            .unwrap_or(text.len());
        let (digits, behind) = text.split_at_checked(digits)?;
        let code = decimal(digits)
            .filter(|_| digits.len() == CODE_DIGITS)
            .and_then(|code| u16::try_from(code).ok());
        let is_of_a_class = code.is_some_and(|code| (100..700).contains(&code));
        // A status line without a reason still has the space in front of it.
        let has_spaces = rest.first() == Some(&b' ')
            && rest.get(1) == text.first()
            && rest.len() > digits.len().saturating_add(1);
        let fault = if !is_of_a_class {
            Some(Fault::at(FaultKind::StatusCode, offset_in(line, digits)))
        } else if !has_spaces {
            Some(Fault::at(FaultKind::StartLineSpace, version.len()))
        } else {
            version_fault(line, version)
        };
        let start = Self::Status {
            version,
            code: code.unwrap_or(0),
            reason: trim(behind),
        };
        Some((start, fault))
    }
}

/// True for a method that an RFC defines.
fn is_known(method: &[u8]) -> bool {
    !matches!(Method::new(method), Method::Other(_))
}

fn version_fault(line: &[u8], version: &[u8]) -> Option<Fault> {
    let is_known = version.eq_ignore_ascii_case(b"SIP/2.0");
    (!is_known).then(|| Fault::at(FaultKind::Version, offset_in(line, version)))
}

fn is_version_start(bytes: &[u8]) -> bool {
    bytes
        .split_at_checked(4)
        .is_some_and(|(name, _)| name.eq_ignore_ascii_case(b"SIP/"))
}

/// `SIP/`, digits, a full stop, digits.
fn is_version(bytes: &[u8]) -> bool {
    let numbers = bytes.get(4..).unwrap_or_default();
    is_version_start(bytes)
        && crate::scan::split_once(numbers, b'.')
            .is_some_and(|(major, minor)| decimal(major).is_some() && decimal(minor).is_some())
}

/// Whether `bytes`, the first ones of a datagram or of a stream, begin like a SIP message, on any port. Reads 4 KiB at most, and
/// one or two bytes of most other traffic.
///
/// A first line that is cut short counts when a method and a `sip`, `sips` or `tel` URI begin it.
///
/// ```
/// assert!(weir_sip::looks_like_sip(b"SIP/2.0 200 OK\r\n"));
/// assert!(weir_sip::looks_like_sip(b"\r\nOPTIONS sip:example.com SIP/2.0\r\n"));
/// assert!(!weir_sip::looks_like_sip(b"OPTIONS rtsp://example.com RTSP/1.0\r\n"));
/// ```
#[must_use]
pub fn looks_like_sip(bytes: &[u8]) -> bool {
    let bytes = skip_line_ends(bytes);
    if is_version_start(bytes) {
        return bytes.get(4).is_some_and(u8::is_ascii_digit);
    }
    let method_len = bytes
        .iter()
        .take(METHOD_BYTES_MAX.saturating_add(1))
        .position(|byte| !is_token_byte(*byte));
    let Some((method, rest)) = method_len
        .filter(|len| *len > 0)
        .and_then(|len| bytes.split_at_checked(len))
    else {
        return false;
    };
    if rest.first() != Some(&b' ') {
        return false;
    }
    let head = rest.get(..LINE_BYTES_MAX).unwrap_or(rest);
    match memchr(b'\n', head).and_then(|end| head.get(..end)) {
        Some(line) => {
            let line = trim_end(line);
            let mut words = line.rsplit(|byte| is_white(*byte));
            words.next().is_some_and(is_version)
                && (words.any(|word| !word.is_empty()) || is_known(method))
        }
        None => {
            let uri = trim(head);
            crate::scan::split_once(uri, b':').is_some_and(|(scheme, _)| {
                is_scheme(scheme)
                    && [&b"sip"[..], b"sips", b"tel"]
                        .iter()
                        .any(|known| scheme.eq_ignore_ascii_case(known))
            })
        }
    }
}

/// The bytes after the line ends that may precede a message (RFC 3261 §7.5).
pub(crate) fn skip_line_ends(mut bytes: &[u8]) -> &[u8] {
    while let [b'\r' | b'\n', rest @ ..] = bytes {
        bytes = rest;
    }
    bytes
}

/// Digits of a status code (RFC 3261 §25.1).
const CODE_DIGITS: usize = 3;

/// Bytes of a method that [`looks_like_sip`] looks for.
const METHOD_BYTES_MAX: usize = 128;

/// Bytes of a first line that [`looks_like_sip`] looks at.
const LINE_BYTES_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    fn fault_of(line: &[u8]) -> Option<FaultKind> {
        Start::parse(line).unwrap().1.map(|fault| fault.kind)
    }

    #[test]
    fn lines_in_their_parts() {
        let (start, fault) = Start::parse(b"INVITE sip:a@h SIP/2.0").unwrap();
        assert_eq!(fault, None);
        assert_eq!(
            start,
            Start::Request {
                method: Method::Invite,
                uri: b"sip:a@h",
                version: b"SIP/2.0"
            }
        );
        let (start, fault) = Start::parse(b"SIP/2.0 180 Is ringing").unwrap();
        assert_eq!(fault, None);
        assert_eq!(
            start,
            Start::Status {
                version: b"SIP/2.0",
                code: 180,
                reason: b"Is ringing"
            }
        );
    }

    #[test]
    fn faults_of_first_lines() {
        assert_eq!(fault_of(b"SIP/2.0 100 "), None);
        assert_eq!(fault_of(b"SIP/2.0 100"), Some(FaultKind::StartLineSpace));
        assert_eq!(fault_of(b"SIP/2.0  100 x"), Some(FaultKind::StartLineSpace));
        assert_eq!(fault_of(b"SIP/2.0 99 x"), Some(FaultKind::StatusCode));
        assert_eq!(fault_of(b"SIP/3.0 200 x"), Some(FaultKind::Version));
        assert_eq!(
            fault_of(b"BYE  sip:h SIP/2.0"),
            Some(FaultKind::StartLineSpace)
        );
        assert_eq!(
            fault_of(b"BYE sip:h SIP/2.0 "),
            Some(FaultKind::StartLineSpace)
        );
        assert_eq!(
            fault_of(b"BYE sip:h;a b SIP/2.0"),
            Some(FaultKind::StartLineSpace)
        );
        assert_eq!(fault_of(b"BYE SIP/2.0"), Some(FaultKind::Uri));
        assert_eq!(fault_of(b"BYE sip:h SIP/7.0"), Some(FaultKind::Version));
        for line in [
            &b""[..],
            b"BYE",
            b"BYE sip:h",
            b"B\xffYE sip:h SIP/2.0",
            b"GET / HTTP/1.1",
            b"SIP/x",
            b"ample.com SIP/2.0",
        ] {
            assert_eq!(Start::parse(line), None, "{line:?}");
        }
    }

    /// Three digits are the code that was sent, also where RFC 3261 has no such class; tshark shows the same.
    #[test]
    fn codes_outside_of_the_classes_are_those_that_were_sent() {
        for (digits, expected) in [
            ("999", 999),
            ("700", 700),
            ("099", 99),
            ("000", 0),
            ("0", 0),
            ("99", 0),
            ("0200", 0),
            ("2000", 0),
            ("4294967301", 0),
            ("2x0", 0),
        ] {
            let line = format!("SIP/2.0 {digits} Why");
            let (start, fault) = Start::parse(line.as_bytes()).unwrap();
            let Start::Status { code, .. } = start else {
                panic!("{line} is a status line");
            };
            assert_eq!(code, expected, "{line}");
            let kind = fault.map(|fault| fault.kind);
            assert_eq!(kind, Some(FaultKind::StatusCode), "{line}");
        }
    }

    #[test]
    fn other_traffic_does_not_look_like_sip() {
        for bytes in [
            &b""[..],
            b"\r\n\r\n",
            b"GET / HTTP/1.1\r\n",
            b"GET sip:x HTTP/1.1\r\n",
            b"\x80\x08\x01\x02 sip:",
            b"INVITE",
            b"M-SEARCH * HTTP/1.1\r\n",
            b"SIP/x",
            b"ample.com SIP/2.0\r\n",
        ] {
            assert!(!looks_like_sip(bytes), "{bytes:?}");
        }
        assert!(looks_like_sip(b"INVITE sip:a@exam"));
        assert!(looks_like_sip(b"INVITE SIP/2.0\r\n"));
        assert!(looks_like_sip(b"INVITE  <sip:a@h>  SIP/2.0 \r\n"));
    }
}
