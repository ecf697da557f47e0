//! Fields that are headers of HTTP, found in the lists of header lines that the table of exchanges has, and of SIP, found in the
//! headers as they were written.

/// A header whose values a field has, or a part of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Header {
    name: &'static str,
    part: HeaderPart,
}

/// What of the value of a header a field has.
#[derive(Clone, Copy, Debug, PartialEq)]
enum HeaderPart {
    Whole,
    /// The user and the password of basic authorization (RFC 7617).
    Credentials,
    /// Each name with its value of a line of cookies.
    Pairs,
}

impl Header {
    /// The header that a field is.
    pub(super) fn of(field: &str) -> Option<Self> {
        if let Some(&(_, name, part)) = PARTS.iter().find(|(known, ..)| *known == field) {
            return Some(Self { name, part });
        }
        let &(_, name) = HEADERS.iter().find(|(known, _)| *known == field)?;
        let part = HeaderPart::Whole;
        Some(Self { name, part })
    }

    /// The header of SIP that a field is.
    pub(super) fn of_sip(field: &str) -> Option<Self> {
        let &(_, name) = OF_SIP.iter().find(|(known, _)| *known == field)?;
        let part = HeaderPart::Whole;
        Some(Self { name, part })
    }

    /// Passes each value of the header in the headers of a message of SIP to `f` until that returns false. Returns false when it
    /// was stopped.
    pub(super) fn each_in_text(self, text: &[u8], f: &mut dyn FnMut(&[u8]) -> bool) -> bool {
        let mut rest = text;
        while !rest.is_empty() {
            let (header, behind) = first_header(rest);
            rest = behind;
            if let Some(value) = value_in_sip(header, self.name)
                && !f(value)
            {
                return false;
            }
        }
        true
    }

    /// Passes each value that the field has of a line to `f` until that returns false. Returns false when it was stopped.
    pub(super) fn each(self, line: &[u8], f: &mut dyn FnMut(&[u8]) -> bool) -> bool {
        let value = value_of_header(line, self.name).or_else(|| match self.part {
            HeaderPart::Credentials => value_of_header(line, "proxy-authorization"),
            HeaderPart::Whole | HeaderPart::Pairs => None,
        });
        let Some(value) = value else {
            return true;
        };
        match self.part {
            HeaderPart::Whole => f(value),
            HeaderPart::Credentials => credentials(value).is_none_or(|text| f(&text)),
            HeaderPart::Pairs => {
                let pairs = value.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
                pairs.filter(|pair| !pair.is_empty()).all(f)
            }
        }
    }
}

/// The first of several headers, with the lines that continue it (RFC 3261, 7.3.1), and what is behind it.
fn first_header(text: &[u8]) -> (&[u8], &[u8]) {
    let is_continued = |at: usize| matches!(text.get(at + 1), Some(b' ' | b'\t'));
    let mut octets = text.iter().enumerate();
    let end = octets.find(|(at, octet)| **octet == b'\n' && !is_continued(*at));
    text.split_at(end.map_or(text.len(), |(at, _)| at + 1))
}

/// The value of a header of SIP, where it is one of this name, or of its compact form.
fn value_in_sip<'l>(header: &'l [u8], name: &str) -> Option<&'l [u8]> {
    let at = header.iter().position(|octet| *octet == b':')?;
    let (found, value) = header.split_at(at);
    let found = found.trim_ascii_end();
    let is_called = |known: &str| found.eq_ignore_ascii_case(known.as_bytes());
    let mut compact = COMPACT.iter();
    let is_wanted =
        is_called(name) || compact.any(|&(long, short)| long == name && is_called(short));
    is_wanted.then(|| value.get(1..).unwrap_or_default().trim_ascii())
}

/// What a value of basic authorization says in base 64.
fn credentials(value: &[u8]) -> Option<Vec<u8>> {
    let value = std::str::from_utf8(value).ok()?;
    let (scheme, coded) = value.trim().split_once(' ')?;
    let is_basic = scheme.eq_ignore_ascii_case("basic");
    is_basic.then(|| weir_messages::base64(coded.trim()))?
}

/// The value of a line, where it is one of this header: `Host: example.com`.
fn value_of_header<'l>(line: &'l [u8], header: &str) -> Option<&'l [u8]> {
    let (name, value) = line.split_at_checked(header.len())?;
    let value = value.strip_prefix(b": ")?;
    name.eq_ignore_ascii_case(header.as_bytes())
        .then_some(value)
}

/// A part of the target of a request that is a field by itself where the target has a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum UriPart {
    Path,
    Query,
    Parameters,
}

impl UriPart {
    /// The part that a field is.
    pub(super) fn of(name: &str) -> Option<Self> {
        match name {
            "http.request.uri.path" => Some(Self::Path),
            "http.request.uri.query" => Some(Self::Query),
            "http.request.uri.query.parameter" => Some(Self::Parameters),
            _ => None,
        }
    }

    /// Passes each value to `f` until that returns false. Returns false when it was stopped.
    pub(super) fn each(self, uri: &[u8], f: &mut dyn FnMut(&[u8]) -> bool) -> bool {
        let Some(at) = uri.iter().position(|byte| *byte == b'?') else {
            return true;
        };
        let (path, query) = uri.split_at(at);
        let query = query.get(1..).unwrap_or_default();
        match self {
            _ if query.is_empty() => true,
            Self::Path => f(path),
            Self::Query => f(query),
            Self::Parameters => query.split(|byte| *byte == b'&').all(f),
        }
    }
}

/// Fields of HTTP that are headers of requests and of responses and have no column for both, or that have a value for each line, of
/// which the column has them all together.
#[rustfmt::skip]
const HEADERS: &[(&str, &str)] = &[
    ("http.accept", "accept"),
    ("http.accept_encoding", "accept-encoding"),
    ("http.accept_language", "accept-language"),
    ("http.cache_control", "cache-control"),
    ("http.connection", "connection"),
    ("http.content_encoding", "content-encoding"),
    ("http.content_length_header", "content-length"),
    ("http.cookie", "cookie"),
    ("http.date", "date"),
    ("http.proxy_authenticate", "proxy-authenticate"),
    ("http.proxy_authorization", "proxy-authorization"),
    ("http.sec_websocket_accept", "sec-websocket-accept"),
    ("http.sec_websocket_extensions", "sec-websocket-extensions"),
    ("http.sec_websocket_key", "sec-websocket-key"),
    ("http.sec_websocket_protocol", "sec-websocket-protocol"),
    ("http.sec_websocket_version", "sec-websocket-version"),
    ("http.transfer_encoding", "transfer-encoding"),
    ("http.upgrade", "upgrade"),
    ("http.www_authenticate", "www-authenticate"),
    ("http.x_forwarded_for", "x-forwarded-for"),
    ("http2.headers.accept", "accept"),
    ("http2.headers.accept_encoding", "accept-encoding"),
    ("http2.headers.accept_language", "accept-language"),
    ("http2.headers.accept_ranges", "accept-ranges"),
    ("http2.headers.age", "age"),
    ("http2.headers.cache_control", "cache-control"),
    ("http2.headers.content_encoding", "content-encoding"),
    ("http2.headers.cookie", "cookie"),
    ("http2.headers.etag", "etag"),
    ("http2.headers.expires", "expires"),
    ("http2.headers.range", "range"),
    ("http2.headers.scheme", ":scheme"),
    ("http2.headers.vary", "vary"),
    ("http2.headers.via", "via"),
    ("http2.headers.www_authenticate", "www-authenticate"),
];

/// Fields that are parts of headers.
const PARTS: &[(&str, &str, HeaderPart)] = &[
    ("http.authbasic", "authorization", HeaderPart::Credentials),
    ("http.cookie_pair", "cookie", HeaderPart::Pairs),
];

/// Fields of SIP that are headers without a column.
#[rustfmt::skip]
const OF_SIP: &[(&str, &str)] = &[
    ("sip.accept", "accept"),
    ("sip.accept_encoding", "accept-encoding"),
    ("sip.accept_language", "accept-language"),
    ("sip.alert_info", "alert-info"),
    ("sip.allow", "allow"),
    ("sip.allow_events", "allow-events"),
    ("sip.authentication_info", "authentication-info"),
    ("sip.authorization", "authorization"),
    ("sip.call_info", "call-info"),
    ("sip.date", "date"),
    ("sip.event", "event"),
    ("sip.history_info", "history-info"),
    ("sip.join", "join"),
    ("sip.min_expires", "min-expires"),
    ("sip.min_se", "min-se"),
    ("sip.organization", "organization"),
    ("sip.p_access_network_info", "p-access-network-info"),
    ("sip.p_charging_vector", "p-charging-vector"),
    ("sip.p_preferred_identity", "p-preferred-identity"),
    ("sip.path", "path"),
    ("sip.privacy", "privacy"),
    ("sip.proxy_authenticate", "proxy-authenticate"),
    ("sip.proxy_authorization", "proxy-authorization"),
    ("sip.proxy_require", "proxy-require"),
    ("sip.rack", "rack"),
    ("sip.record_route", "record-route"),
    ("sip.refer_to", "refer-to"),
    ("sip.replaces", "replaces"),
    ("sip.require", "require"),
    ("sip.retry_after", "retry-after"),
    ("sip.route", "route"),
    ("sip.rseq", "rseq"),
    ("sip.service_route", "service-route"),
    ("sip.session_expires", "session-expires"),
    ("sip.subject", "subject"),
    ("sip.subscription_state", "subscription-state"),
    ("sip.supported", "supported"),
    ("sip.unsupported", "unsupported"),
    ("sip.warning", "warning"),
    ("sip.www_authenticate", "www-authenticate"),
];

/// Headers of SIP with their compact forms (RFC 3261, 7.3.3; RFC 3515, 6665 and 4028).
const COMPACT: &[(&str, &str)] = &[
    ("allow-events", "u"),
    ("event", "o"),
    ("refer-to", "r"),
    ("session-expires", "x"),
    ("subject", "s"),
    ("supported", "k"),
];
