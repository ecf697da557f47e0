//! URIs: `sip:`, `sips:`, `tel:`, and others with their schemes only.

use crate::fault::{Fault, FaultKind};
use crate::params::Params;
use crate::scan::{decimal, offset_in, split_once};

/// The scheme of a [`Uri`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scheme<'a> {
    /// `sip` (RFC 3261 §19.1)
    Sip,
    /// `sips` (RFC 3261 §19.1)
    Sips,
    /// `tel` (RFC 3966)
    Tel,
    /// Another scheme, as it was sent.
    Other(&'a [u8]),
}

/// The parts of a URI, as they were sent: escapes stay escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uri<'a> {
    /// The URI as it was sent.
    pub text: &'a [u8],
    /// The scheme before the first colon.
    pub scheme: Scheme<'a>,
    /// User of a SIP URI, with its parameters; number of a `tel` URI.
    pub user: Option<&'a [u8]>,
    /// Password of a SIP URI.
    pub password: Option<&'a [u8]>,
    /// Host of a SIP URI, IPv6 addresses with their brackets; empty for other schemes, whose parts only they define
    /// (RFC 3986 §3): a URN has none (RFC 8141 §2). Without a scheme it is the whole text.
    pub host: &'a [u8],
    /// Port of a SIP URI.
    pub port: Option<u16>,
    /// Parameters of a SIP or `tel` URI.
    pub params: Params<'a>,
    /// Headers of a SIP URI, behind the question mark.
    pub headers: Option<&'a [u8]>,
    /// The first thing that is wrong with it; the offset counts from its own start.
    pub fault: Option<Fault>,
}

impl<'a> Uri<'a> {
    /// Parses a URI. Never fails: its fault is in [`Uri::fault`].
    #[must_use]
    pub fn parse(text: &'a [u8]) -> Self {
        let mut uri = Self {
            text,
            scheme: Scheme::Other(b""),
            user: None,
            password: None,
            host: text,
            port: None,
            params: Params::default(),
            headers: None,
            fault: None,
        };
        let Some((scheme, rest)) = split_once(text, b':').filter(|(scheme, _)| is_scheme(scheme))
        else {
            uri.flaw(text);
            return uri;
        };
        uri.scheme = if scheme.eq_ignore_ascii_case(b"sip") {
            Scheme::Sip
        } else if scheme.eq_ignore_ascii_case(b"sips") {
            Scheme::Sips
        } else if scheme.eq_ignore_ascii_case(b"tel") {
            Scheme::Tel
        } else {
            Scheme::Other(scheme)
        };
        match uri.scheme {
            Scheme::Sip | Scheme::Sips => uri.sip(rest),
            Scheme::Tel => uri.tel(rest),
            Scheme::Other(_) => uri.host = b"",
        }
        if let Some(at) = text
            .iter()
            .position(|byte| matches!(byte, 0..=b' ' | b'<' | b'>' | b'"' | 0x7f))
        {
            uri.flaw(text.get(at..).unwrap_or_default());
        }
        uri
    }

    /// True for `sip` and `sips`.
    #[must_use]
    pub const fn is_sip(&self) -> bool {
        matches!(self.scheme, Scheme::Sip | Scheme::Sips)
    }

    fn sip(&mut self, rest: &'a [u8]) {
        // A user may have `;`, `?` and `/` in it, so the `@` is looked for first.
        let (user, rest) = match split_once(rest, b'@') {
            Some((user, rest)) => (Some(user), rest),
            None => (None, rest),
        };
        if let Some(user) = user {
            let (name, password) = match split_once(user, b':') {
                Some((name, password)) => (name, Some(password)),
                None => (user, None),
            };
            self.user = Some(name);
            self.password = password;
            if name.is_empty() {
                self.flaw(user);
            }
        }
        let (rest, headers) = match split_once(rest, b'?') {
            Some((rest, headers)) => (rest, Some(headers)),
            None => (rest, None),
        };
        self.headers = headers;
        let (host_port, params) = split_once(rest, b';').unwrap_or((rest, &[]));
        self.params = Params::new(params);
        if rest.contains(&b';')
            && let Some(part) = self.params.flaw(true)
        {
            self.flaw(part);
        }
        let (host, port, is_sound) = host_port_of(host_port);
        self.host = host;
        self.port = port;
        if !is_sound {
            self.flaw(host_port);
        }
    }

    fn tel(&mut self, rest: &'a [u8]) {
        let (number, params) = split_once(rest, b';').unwrap_or((rest, &[]));
        self.user = Some(number);
        self.host = b"";
        self.params = Params::new(params);
        let is_sound = number.iter().all(|byte| {
            byte.is_ascii_hexdigit()
                || matches!(byte, b'+' | b'-' | b'.' | b'(' | b')' | b'*' | b'#')
        });
        if number.is_empty() || !is_sound {
            self.flaw(number);
        }
    }

    fn flaw(&mut self, part: &[u8]) {
        let offset = offset_in(self.text, part);
        self.fault
            .get_or_insert_with(|| Fault::at(FaultKind::Uri, offset));
    }
}

/// `host:port` in its parts, and whether they are sound. The brackets of IPv6 stay with the host.
pub(crate) fn host_port_of(text: &[u8]) -> (&[u8], Option<u16>, bool) {
    let host_end = if text.first() == Some(&b'[') {
        text.iter()
            .position(|byte| *byte == b']')
            .map(|at| at.saturating_add(1))
    } else {
        text.iter()
            .position(|byte| *byte == b':')
            .or(Some(text.len()))
    };
    let Some((host, rest)) = host_end.and_then(|end| text.split_at_checked(end)) else {
        return (text, None, false);
    };
    let host_is_sound = match host {
        [b'[', inner @ .., b']'] => std::str::from_utf8(inner)
            .is_ok_and(|inner| inner.parse::<std::net::Ipv6Addr>().is_ok()),
        _ => {
            !host.is_empty()
                && host.iter().all(|byte| {
                    byte.is_ascii_alphanumeric()
                        || matches!(byte, b'-' | b'.' | b'_')
                        || *byte > 0x7f
                })
        }
    };
    match rest {
        [] => (host, None, host_is_sound),
        [b':', digits @ ..] => {
            let port = decimal(digits).and_then(|port| u16::try_from(port).ok());
            (host, port, host_is_sound && port.is_some())
        }
        _ => (host, None, false),
    }
}

/// A letter, then letters, digits, `+`, `-` and `.` (RFC 3986 §3.1).
pub(crate) fn is_scheme(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_alphabetic)
        && text
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sip_uris_in_their_parts() {
        let uri = Uri::parse(b"sips:al%69ce:pw@[2001:db8::1]:5061;transport=tcp;lr?Subject=x");
        assert_eq!(uri.scheme, Scheme::Sips);
        assert_eq!(uri.user, Some(&b"al%69ce"[..]));
        assert_eq!(uri.password, Some(&b"pw"[..]));
        assert_eq!(uri.host, b"[2001:db8::1]");
        assert_eq!(uri.port, Some(5061));
        assert_eq!(uri.params.value(b"Transport"), Some(&b"tcp"[..]));
        assert_eq!(uri.headers, Some(&b"Subject=x"[..]));
        assert_eq!(uri.fault, None);
    }

    #[test]
    fn users_may_have_the_delimiters_of_what_follows() {
        let uri = Uri::parse(b"sip:user;par=u%40example.net@example.com");
        assert_eq!(uri.user, Some(&b"user;par=u%40example.net"[..]));
        assert_eq!(uri.host, b"example.com");
        let uri = Uri::parse(b"sip:a?b;c@h");
        assert_eq!((uri.user, uri.host), (Some(&b"a?b;c"[..]), &b"h"[..]));
        let uri = Uri::parse(b"sip:a@h?Replaces=1@2");
        assert_eq!(
            (uri.host, uri.headers),
            (&b"h"[..], Some(&b"Replaces=1@2"[..]))
        );
    }

    #[test]
    fn numbers_and_other_schemes() {
        let uri = Uri::parse(b"tel:+1-201-555-0123;phone-context=example.com");
        assert_eq!((uri.scheme, uri.fault), (Scheme::Tel, None));
        assert_eq!(uri.user, Some(&b"+1-201-555-0123"[..]));
        assert_eq!(
            uri.params.value(b"phone-context"),
            Some(&b"example.com"[..])
        );
        let uri = Uri::parse(b"soap.beep://192.0.2.103:3002");
        assert_eq!(uri.scheme, Scheme::Other(b"soap.beep"));
        assert_eq!((uri.host, uri.fault), (&b""[..], None));
        for text in [
            "urn:service:sos",
            "pres:a@example.com",
            "http://example.com:80/x",
            "cid:a@b",
        ] {
            let uri = Uri::parse(text.as_bytes());
            assert!(matches!(uri.scheme, Scheme::Other(_)), "{text}");
            assert_eq!(
                (uri.host, uri.port, uri.user, uri.fault),
                (&b""[..], None, None, None),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_wrong_has_a_place() {
        for (text, offset) in [
            (&b"alice@example.com"[..], 0),
            (b"sip:", 4),
            (b"sip:@h", 4),
            (b"sip:a@h:99999", 6),
            (b"sip:a@[::g]", 6),
            (b"sip:a@[::1", 6),
            (b"sip:a@h;;lr", 8),
            (b"sip:a b@h", 5),
            (b"tel:", 4),
        ] {
            let fault = Uri::parse(text).fault.unwrap();
            assert_eq!(
                (fault.kind, fault.offset),
                (FaultKind::Uri, offset),
                "{text:?}"
            );
        }
    }
}
