//! Via, CSeq and dates.

use crate::fault::{Fault, FaultKind};
use crate::method::Method;
use crate::params::Params;
use crate::scan::{decimal, is_white, offset_in, split_once, trim, trim_end};
use crate::uri::host_port_of;

/// One element of a Via (RFC 3261 §20.42).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Via<'a> {
    /// The element as it was sent.
    pub text: &'a [u8],
    /// The transport, such as `UDP`, as it was sent.
    pub transport: &'a [u8],
    /// Host of the sender, IPv6 addresses with their brackets.
    pub host: &'a [u8],
    /// Port of the sender.
    pub port: Option<u16>,
    /// Parameters.
    pub params: Params<'a>,
    /// The first thing that is wrong with it; the offset counts from its own start.
    pub fault: Option<Fault>,
}

impl<'a> Via<'a> {
    /// The magic cookie of branches of RFC 3261 (§8.1.1.7).
    pub const COOKIE: &'static [u8] = b"z9hG4bK";

    /// Parses one element. Never fails: its fault is in [`Via::fault`].
    #[must_use]
    pub fn parse(text: &'a [u8]) -> Self {
        let (rest, comment) = split_comment(text);
        let (head, params, has_params) = match split_once(rest, b';') {
            Some((head, params)) => (head, params, true),
            None => (rest, &[][..], false),
        };
        let mut via = Self {
            text,
            transport: b"",
            host: b"",
            port: None,
            params: Params::new(params),
            fault: None,
        };
        // sent-protocol is three parts between slashes, the third of which ends at white space.
        let parts = split_once(head, b'/').and_then(|(name, rest)| {
            let (version, rest) = split_once(rest, b'/')?;
            Some((trim(name), trim(version), trim(rest)))
        });
        let Some((name, version, rest)) = parts else {
            via.flaw(FaultKind::Via, head);
            return via;
        };
        let end = rest
            .iter()
            .position(|byte| is_white(*byte))
            .unwrap_or(rest.len());
        let (transport, sent_by) = rest.split_at_checked(end).unwrap_or((rest, &[]));
        let sent_by = trim(sent_by);
        via.transport = transport;
        if !name.eq_ignore_ascii_case(b"SIP") || transport.is_empty() {
            via.flaw(FaultKind::Via, head);
        } else if version != b"2.0" {
            via.flaw(FaultKind::Version, version);
        }
        let is_sound = via.sent_by(sent_by);
        if !is_sound {
            via.flaw(FaultKind::Via, sent_by);
        }
        if has_params && let Some(part) = via.params.flaw(false) {
            via.flaw(FaultKind::Parameter, part);
        }
        // RFC 3261 has no comments in a Via.
        match comment {
            Some(comment) if has_params => via.flaw(FaultKind::Parameter, comment),
            Some(comment) => via.flaw(FaultKind::Via, comment),
            None => {}
        }
        via
    }

    /// Reads `host : port`, in which white space may stand around the colon.
    fn sent_by(&mut self, text: &'a [u8]) -> bool {
        let colon = match text.first() {
            Some(b'[') => text.iter().position(|byte| *byte == b']').and_then(|end| {
                let rest = text.get(end..)?;
                let colon = rest.iter().position(|byte| *byte == b':')?;
                end.checked_add(colon)
            }),
            _ => text.iter().position(|byte| *byte == b':'),
        };
        let (host, port) = match colon.and_then(|at| text.split_at_checked(at)) {
            Some((host, port)) => (trim(host), port.get(1..).map(trim)),
            None => (text, None),
        };
        let (found, _, is_sound) = host_port_of(host);
        self.host = found;
        self.port = port
            .and_then(decimal)
            .and_then(|port| u16::try_from(port).ok());
        is_sound && found.len() == host.len() && (port.is_none() || self.port.is_some())
    }

    /// The branch, which names the transaction (§8.1.1.7).
    #[must_use]
    pub fn branch(&self) -> Option<&'a [u8]> {
        self.params
            .value(b"branch")
            .filter(|branch| !branch.is_empty())
    }

    /// Whether the branch begins with the magic cookie and is longer, so that it alone identifies the transaction.
    #[must_use]
    pub fn has_cookie(&self) -> bool {
        // The cookie is compared without regard to case, as all tokens are (§7.3.1).
        self.branch()
            .and_then(|branch| branch.split_at_checked(Self::COOKIE.len()))
            .is_some_and(|(cookie, rest)| {
                cookie.eq_ignore_ascii_case(Self::COOKIE) && !rest.is_empty()
            })
    }

    fn flaw(&mut self, kind: FaultKind, part: &[u8]) {
        let offset = offset_in(self.text, part);
        self.fault.get_or_insert_with(|| Fault::at(kind, offset));
    }
}

/// An element without the comment that it may end with (RFC 2543 §6.40), and the comment.
fn split_comment(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    let ended = trim_end(text);
    if ended.last() != Some(&b')') {
        return (text, None);
    }
    let mut depth = 0_usize;
    let is_start = |at: &usize| {
        let (before, from) = ended.split_at_checked(*at).unwrap_or_default();
        match from.first() {
            _ if before.last() == Some(&b'\\') => {}
            Some(b')') => depth = depth.saturating_add(1),
            Some(b'(') => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    };
    let start = (0..ended.len()).rev().find(is_start);
    match start.and_then(|start| ended.split_at_checked(start)) {
        // A parenthesis within a value begins no comment.
        Some((before, comment)) if before.last().is_some_and(|byte| is_white(*byte)) => {
            (before, Some(comment))
        }
        _ => (text, None),
    }
}

/// The value of CSeq (RFC 3261 §20.16).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CSeq<'a> {
    /// The number, less than 2^31 in sound messages.
    pub number: u32,
    /// The method.
    pub method: Method<'a>,
}

impl<'a> CSeq<'a> {
    /// Numbers are less than this (§8.1.1.5).
    pub const END: u32 = 1 << 31;

    /// The number and the method; `None` when there is no number, none that has a place in 32 bits,
    /// or no method.
    #[must_use]
    pub fn parse(value: &'a [u8]) -> Option<Self> {
        let end = value.iter().position(|byte| is_white(*byte))?;
        let (number, method) = value.split_at_checked(end)?;
        Some(Self {
            number: u32::try_from(decimal(number)?).ok()?,
            method: Method::new(trim(method)),
        })
    }
}

/// True for the one form of dates that SIP permits, `Sat, 13 Nov 2010 23:29:00 GMT` (§20.17).
pub(crate) fn is_date(value: &[u8]) -> bool {
    const PATTERN: &[u8] = b"aaa, 00 aaa 0000 00:00:00 GMT";
    const DAYS: &[u8] = b"MonTueWedThuFriSatSun";
    const MONTHS: &[u8] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let fits = |(byte, pattern): (&u8, &u8)| match pattern {
        b'a' => byte.is_ascii_alphabetic(),
        b'0' => byte.is_ascii_digit(),
        literal => byte == literal,
    };
    let is_one_of = |part: Option<&[u8]>, names: &[u8]| {
        part.is_some_and(|part| names.chunks(3).any(|name| name.eq_ignore_ascii_case(part)))
    };
    value.len() == PATTERN.len()
        && value.iter().zip(PATTERN).all(fits)
        && is_one_of(value.get(..3), DAYS)
        && is_one_of(value.get(8..11), MONTHS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn via_with_white_space_wherever_it_may_stand() {
        let via = Via::parse(
            b"SIP  / 2.0\r\n / TCP     spindle.example.com :  5060 ;\r\n branch  =   z9hG4bK9ikj8",
        );
        assert_eq!(via.fault, None);
        assert_eq!(via.transport, b"TCP");
        assert_eq!(
            (via.host, via.port),
            (&b"spindle.example.com"[..], Some(5060))
        );
        assert_eq!(via.branch(), Some(&b"z9hG4bK9ikj8"[..]));
        assert!(via.has_cookie());
        let via = Via::parse(b"SIP/2.0/TLS [2001:db8::9]:5061;branch=z9hG4bK;rport");
        assert_eq!((via.host, via.port), (&b"[2001:db8::9]"[..], Some(5061)));
        assert!(!via.has_cookie());
        assert_eq!(via.params.value(b"rport"), Some(&b""[..]));
    }

    /// The comment was a part of the branch, or of the host.
    #[test]
    fn a_comment_at_the_end_belongs_to_no_parameter() {
        for (text, branch, kind) in [
            (
                &b"SIP/2.0/UDP h:5062;branch=z9hG4bK6 (comment)"[..],
                "z9hG4bK6",
                FaultKind::Parameter,
            ),
            (
                b"SIP/2.0/UDP h:5062;branch=z9hG4bK6\r\n (a;b=c (nested) d) ",
                "z9hG4bK6",
                FaultKind::Parameter,
            ),
            (
                b"SIP/2.0/UDP h:5062;branch=z9hG4bK6 (a \\) b, c)",
                "z9hG4bK6",
                FaultKind::Parameter,
            ),
            (b"SIP/2.0/UDP h:5062 (comment)", "", FaultKind::Via),
        ] {
            let via = Via::parse(text);
            assert_eq!((via.host, via.port), (&b"h"[..], Some(5062)), "{text:?}");
            assert_eq!(via.branch().unwrap_or_default(), branch.as_bytes());
            let fault = via.fault.unwrap();
            assert_eq!((fault.kind, text[fault.offset as usize]), (kind, b'('));
            assert_eq!(via.text, text);
        }
        for text in [
            "SIP/2.0/UDP h;branch=z9hG4bK6(c)",
            "SIP/2.0/UDP h;branch=z9hG4bK6()",
        ] {
            let via = Via::parse(text.as_bytes());
            let (_, branch) = text.split_once('=').unwrap();
            assert_eq!((via.branch(), via.fault), (Some(branch.as_bytes()), None));
        }
    }

    #[test]
    fn what_is_wrong_with_a_via() {
        for (text, kind) in [
            (&b""[..], FaultKind::Via),
            (b"SIP/2.0", FaultKind::Via),
            (b"SIP/2.0/UDP", FaultKind::Via),
            (b"HTTP/1.1/UDP h", FaultKind::Via),
            (b"SIP/7.0/UDP h", FaultKind::Version),
            (b"SIP/2.0/UDP h:x", FaultKind::Via),
            (b"SIP/2.0/UDP h;;", FaultKind::Parameter),
        ] {
            assert_eq!(Via::parse(text).fault.unwrap().kind, kind, "{text:?}");
        }
    }

    #[test]
    fn sequence_numbers() {
        let cseq = CSeq::parse(b"0009\r\n  INVITE").unwrap();
        assert_eq!((cseq.number, cseq.method), (9, Method::Invite));
        for bad in [&b"INVITE"[..], b"", b"1", b"4294967296 BYE", b"-1 BYE"] {
            assert_eq!(CSeq::parse(bad), None);
        }
    }

    #[test]
    fn dates() {
        assert!(is_date(b"Sat, 15 Oct 2005 04:44:56 GMT"));
        assert!(!is_date(b"Fri, 01 Jan 2010 16:00:00 EST"));
        assert!(!is_date(b"Xxx, 01 Jan 2010 16:00:00 GMT"));
        assert!(!is_date(b"Fri, 01 Jan 2010 16:00 GMT"));
    }
}
