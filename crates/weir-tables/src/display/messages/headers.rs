//! Fields that are headers of HTTP, found in the lists of header lines that the table of exchanges has.

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
