//! The header `Sec-WebSocket-Extensions` and what the two ends agree on (RFC 7692 section 5, 7.1).

use std::fmt;

/// `client_max_window_bits` of an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Bits {
    /// Not there: the server may not limit the client's window.
    #[default]
    Absent,
    /// The parameter has no value: the client supports it, without a hint.
    Any,
    /// 8 to 15.
    At(u8),
}

/// One alternative of a client's offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Offer {
    /// The offer requests that the server use no context takeover.
    pub server_no_context_takeover: bool,
    /// A hint that the client will not keep its window.
    pub client_no_context_takeover: bool,
    /// The maximum window bits that the offer requests of the server.
    pub server_max_window_bits: Option<u8>,
    /// The client can limit its window.
    pub client_max_window_bits: Bits,
}

impl fmt::Display for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("permessage-deflate")?;
        if self.server_no_context_takeover {
            f.write_str("; server_no_context_takeover")?;
        }
        if self.client_no_context_takeover {
            f.write_str("; client_no_context_takeover")?;
        }
        if let Some(bits) = self.server_max_window_bits {
            write!(f, "; server_max_window_bits={bits}")?;
        }
        match self.client_max_window_bits {
            Bits::Absent => Ok(()),
            Bits::Any => f.write_str("; client_max_window_bits"),
            Bits::At(bits) => write!(f, "; client_max_window_bits={bits}"),
        }
    }
}

/// The agreement for both directions. [`fmt::Display`] writes the server's header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreed {
    /// The server compresses every message by itself.
    pub server_no_context_takeover: bool,
    /// The client compresses every message by itself.
    pub client_no_context_takeover: bool,
    /// Bits of the server's window, if the response names them. It has to when the offer did, even
    /// if they are 15 (RFC 7692 section 7.1.2.1).
    pub server_max_window_bits: Option<u8>,
    /// Bits of the client's window, if the response names them.
    pub client_max_window_bits: Option<u8>,
}

impl Agreed {
    /// Bits of the server's window: 15 when not named.
    #[must_use]
    pub fn server_window_bits(&self) -> u8 {
        self.server_max_window_bits.unwrap_or(15)
    }

    /// Bits of the client's window: 15 when not named.
    #[must_use]
    pub fn client_window_bits(&self) -> u8 {
        self.client_max_window_bits.unwrap_or(15)
    }
}

impl fmt::Display for Agreed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offer = Offer {
            server_no_context_takeover: self.server_no_context_takeover,
            client_no_context_takeover: self.client_no_context_takeover,
            server_max_window_bits: self.server_max_window_bits,
            client_max_window_bits: self.client_max_window_bits.map_or(Bits::Absent, Bits::At),
        };
        offer.fmt(f)
    }
}

/// The preferences of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerPolicy {
    /// Compress every message by itself, whatever the client offers.
    pub server_no_context_takeover: bool,
    /// Ask clients to compress every message by itself.
    pub client_no_context_takeover: bool,
    /// The largest window of the server, 8 to 15.
    pub server_max_window_bits: u8,
    /// The largest window of a client that can limit it, 8 to 15.
    pub client_max_window_bits: u8,
    /// Refuse clients that cannot limit their window to this.
    pub client_limit_required: bool,
}

impl Default for ServerPolicy {
    fn default() -> Self {
        Self {
            server_no_context_takeover: false,
            client_no_context_takeover: false,
            server_max_window_bits: 15,
            client_max_window_bits: 15,
            client_limit_required: false,
        }
    }
}

impl ServerPolicy {
    /// Accepts the first offer that it can keep to; `None` when there is none.
    ///
    /// ```
    /// use weir_ws::{ServerPolicy, parse_offers};
    ///
    /// let offers = parse_offers("permessage-deflate; client_max_window_bits; server_max_window_bits=10, \
    ///                            permessage-deflate; client_max_window_bits");
    /// let policy = ServerPolicy { client_max_window_bits: 12, ..ServerPolicy::default() };
    /// let agreed = policy.accept(offers.iter().flatten()).expect("the first can be kept");
    /// assert_eq!(
    ///     agreed.to_string(),
    ///     "permessage-deflate; server_max_window_bits=10; client_max_window_bits=12"
    /// );
    /// ```
    #[must_use]
    pub fn accept<'a>(&self, offers: impl IntoIterator<Item = &'a Offer>) -> Option<Agreed> {
        offers.into_iter().find_map(|offer| {
            let wanted = self.client_max_window_bits.clamp(8, 15);
            let server = self.server_max_window_bits.clamp(8, 15);
            let client_max_window_bits = match offer.client_max_window_bits {
                Bits::Absent if self.client_limit_required && wanted < 15 => return None,
                Bits::Absent => 15,
                Bits::Any => wanted,
                Bits::At(bits) => wanted.min(bits),
            };
            Some(Agreed {
                server_no_context_takeover: self.server_no_context_takeover
                    || offer.server_no_context_takeover,
                client_no_context_takeover: self.client_no_context_takeover
                    || offer.client_no_context_takeover,
                server_max_window_bits: match offer.server_max_window_bits {
                    Some(bits) => Some(bits.min(server)),
                    None => (server < 15).then_some(server),
                },
                client_max_window_bits: (client_max_window_bits < 15)
                    .then_some(client_max_window_bits),
            })
        })
    }
}

/// The error of an offer or a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NegotiationError {
    kind: NegotiationErrorKind,
    parameter: String,
}

/// The kinds of [`NegotiationError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NegotiationErrorKind {
    /// Not the header's grammar (RFC 6455 section 9.1).
    Syntax,
    /// A parameter that RFC 7692 does not define.
    Unknown,
    /// A parameter twice.
    Twice,
    /// A value where none may be, none where one must be, or not a number from 8 to 15 without
    /// leading zeros.
    Value,
    /// A response accepts something that was not offered, or more than one extension.
    NotOffered,
}

impl NegotiationError {
    fn new(kind: NegotiationErrorKind, parameter: &str) -> Self {
        Self {
            kind,
            parameter: parameter.chars().take(64).collect(),
        }
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> NegotiationErrorKind {
        self.kind
    }
}

impl fmt::Display for NegotiationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parameter = &self.parameter;
        match self.kind {
            NegotiationErrorKind::Syntax => {
                write!(f, "not a list of extensions, at `{parameter}`")
            }
            NegotiationErrorKind::Unknown => {
                write!(f, "permessage-deflate has no parameter `{parameter}`")
            }
            NegotiationErrorKind::Twice => write!(f, "parameter `{parameter}` occurs twice"),
            NegotiationErrorKind::Value => write!(
                f,
                "expected window bits from 8 to 15 or no value, found `{parameter}`"
            ),
            NegotiationErrorKind::NotOffered => {
                write!(f, "the response has `{parameter}`, which was not offered")
            }
        }
    }
}

impl std::error::Error for NegotiationError {}

/// The offers of permessage-deflate in a client's header, in the order of preference; an offer that RFC 7692 tells a
/// server to decline is an error in its place. Offers of other extensions are skipped. Several headers may be joined
/// with commas. Linear in the header, at most 64 offers.
#[must_use]
pub fn parse_offers(header: &str) -> Vec<Result<Offer, NegotiationError>> {
    let mut offers = Vec::new();
    for extension in Extensions::new(header).take(OFFERS_MAX) {
        match extension {
            Ok(extension) if extension.name.eq_ignore_ascii_case(NAME) => {
                offers.push(offer(&extension.parameters, false));
            }
            Ok(_) => {}
            Err(error) => {
                offers.push(Err(error));
                break;
            }
        }
    }
    offers
}

/// The agreement in a server's header; `Ok(None)` when it does not accept permessage-deflate.
///
/// `offers` are what the client sent; empty when they are not known (a capture that begins later),
/// and then everything is taken as offered.
///
/// # Errors
/// When a client has to fail the connection (RFC 7692 section 5.1 and 7.1).
pub fn parse_response(header: &str, offers: &[Offer]) -> Result<Option<Agreed>, NegotiationError> {
    let mut found = None;
    for extension in Extensions::new(header).take(OFFERS_MAX) {
        let extension = extension?;
        if !extension.name.eq_ignore_ascii_case(NAME) {
            continue;
        }
        if found.is_some() {
            return Err(NegotiationError::new(NegotiationErrorKind::Twice, NAME));
        }
        found = Some(offer(&extension.parameters, true)?);
    }
    let Some(response) = found else {
        return Ok(None);
    };
    let client_max_window_bits = match response.client_max_window_bits {
        Bits::At(bits) => Some(bits),
        Bits::Absent => None,
        Bits::Any => {
            return Err(NegotiationError::new(
                NegotiationErrorKind::Value,
                "client_max_window_bits",
            ));
        }
    };
    let mut reason = "permessage-deflate";
    let fits = offers.is_empty()
        || offers.iter().any(|offer| {
            if offer.server_no_context_takeover && !response.server_no_context_takeover {
                reason = "context takeover of the server";
                return false;
            }
            if response.client_max_window_bits != Bits::Absent
                && offer.client_max_window_bits == Bits::Absent
            {
                reason = "client_max_window_bits";
                return false;
            }
            if let Some(most) = offer.server_max_window_bits
                && response
                    .server_max_window_bits
                    .is_none_or(|bits| bits > most)
            {
                reason = "a larger server_max_window_bits";
                return false;
            }
            true
        });
    if !fits {
        return Err(NegotiationError::new(
            NegotiationErrorKind::NotOffered,
            reason,
        ));
    }
    Ok(Some(Agreed {
        server_no_context_takeover: response.server_no_context_takeover,
        client_no_context_takeover: response.client_no_context_takeover,
        server_max_window_bits: response.server_max_window_bits,
        client_max_window_bits,
    }))
}

const NAME: &str = "permessage-deflate";
const OFFERS_MAX: usize = 64;
const PARAMETERS_MAX: usize = 64;

fn offer(parameters: &[(&str, Option<String>)], response: bool) -> Result<Offer, NegotiationError> {
    let mut offer = Offer::default();
    let mut seen = [false; 4];
    for (name, value) in parameters {
        let known = [
            "server_no_context_takeover",
            "client_no_context_takeover",
            "server_max_window_bits",
            "client_max_window_bits",
        ];
        let Some(which) = known
            .iter()
            .position(|known| name.eq_ignore_ascii_case(known))
        else {
            return Err(NegotiationError::new(NegotiationErrorKind::Unknown, name));
        };
        if std::mem::replace(&mut seen[which], true) {
            return Err(NegotiationError::new(NegotiationErrorKind::Twice, name));
        }
        let wrong = || {
            let found = value.as_deref().unwrap_or(name);
            Err(NegotiationError::new(NegotiationErrorKind::Value, found))
        };
        match (which, value) {
            (0, None) => offer.server_no_context_takeover = true,
            (1, None) => offer.client_no_context_takeover = true,
            (2, Some(value)) => match window_bits(value) {
                Some(bits) => offer.server_max_window_bits = Some(bits),
                None => return wrong(),
            },
            (3, Some(value)) => match window_bits(value) {
                Some(bits) => offer.client_max_window_bits = Bits::At(bits),
                None => return wrong(),
            },
            (3, None) if !response => offer.client_max_window_bits = Bits::Any,
            _ => return wrong(),
        }
    }
    Ok(offer)
}

/// 8 to 15 without leading zeros (RFC 7692 section 7.1.2.1).
fn window_bits(value: &str) -> Option<u8> {
    match value {
        "8" => Some(8),
        "9" => Some(9),
        _ => {
            let rest = value.strip_prefix('1')?;
            match rest.as_bytes() {
                [digit @ b'0'..=b'5'] => Some(10 + digit - b'0'),
                _ => None,
            }
        }
    }
}

struct Extension<'a> {
    name: &'a str,
    parameters: Vec<(&'a str, Option<String>)>,
}

/// Walks the list of RFC 6455 section 9.1.
struct Extensions<'a> {
    rest: &'a str,
    failed: bool,
}

impl<'a> Extensions<'a> {
    fn new(header: &'a str) -> Self {
        Self {
            rest: header,
            failed: false,
        }
    }

    fn spaces(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
    }

    fn token(&mut self) -> Option<&'a str> {
        let end = self
            .rest
            .bytes()
            .position(|byte| !is_token(byte))
            .unwrap_or(self.rest.len());
        let (token, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        (!token.is_empty()).then_some(token)
    }

    fn eat(&mut self, wanted: char) -> bool {
        self.spaces();
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self) -> Option<String> {
        self.spaces();
        let Some(mut rest) = self.rest.strip_prefix('"') else {
            return self.token().map(str::to_owned);
        };
        let mut value = String::new();
        loop {
            let mut characters = rest.chars();
            match characters.next()? {
                '"' => {
                    self.rest = characters.as_str();
                    // The value without its quotes must be a token (section 9.1).
                    return (!value.is_empty() && value.bytes().all(is_token)).then_some(value);
                }
                '\\' => value.push(characters.next()?),
                other => value.push(other),
            }
            rest = characters.as_str();
        }
    }

    fn extension(&mut self) -> Option<Extension<'a>> {
        let name = self.token()?;
        let mut parameters = Vec::new();
        while self.eat(';') {
            self.spaces();
            let name = self.token()?;
            let value = if self.eat('=') {
                Some(self.value()?)
            } else {
                None
            };
            if parameters.len() >= PARAMETERS_MAX {
                return None;
            }
            parameters.push((name, value));
        }
        self.spaces();
        (self.rest.is_empty() || self.rest.starts_with(','))
            .then_some(Extension { name, parameters })
    }
}

impl<'a> Iterator for Extensions<'a> {
    type Item = Result<Extension<'a>, NegotiationError>;

    fn next(&mut self) -> Option<Self::Item> {
        // Empty elements of a list are allowed (RFC 9110 section 5.6.1).
        while self.eat(',') {}
        if self.failed || self.rest.is_empty() {
            return None;
        }
        match self.extension() {
            Some(extension) => Some(Ok(extension)),
            None => {
                self.failed = true;
                Some(Err(NegotiationError::new(
                    NegotiationErrorKind::Syntax,
                    self.rest,
                )))
            }
        }
    }
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_are_read_or_declined_as_rfc_7692_says() {
        use NegotiationErrorKind::{Syntax, Twice, Unknown, Value};
        // The cases are headers, with each offer in its written form, or the error of a declined one.
        let cases: &[(&str, &[Result<&str, NegotiationErrorKind>])] = &[
            ("permessage-deflate", &[Ok("permessage-deflate")]),
            (
                "permessage-deflate; client_max_window_bits; server_max_window_bits=10, permessage-deflate; client_max_window_bits",
                &[
                    Ok("permessage-deflate; server_max_window_bits=10; client_max_window_bits"),
                    Ok("permessage-deflate; client_max_window_bits"),
                ],
            ),
            (
                "PerMessage-Deflate ;server_max_window_bits = \"9\"",
                &[Ok("permessage-deflate; server_max_window_bits=9")],
            ),
            (
                "x-webkit-deflate-frame, , permessage-deflate",
                &[Ok("permessage-deflate")],
            ),
            ("permessage-deflate; server_max_window_bits", &[Err(Value)]),
            (
                "permessage-deflate; server_max_window_bits=7",
                &[Err(Value)],
            ),
            (
                "permessage-deflate; server_max_window_bits=16",
                &[Err(Value)],
            ),
            (
                "permessage-deflate; client_max_window_bits=08",
                &[Err(Value)],
            ),
            (
                "permessage-deflate; client_max_window_bits=+9",
                &[Err(Value)],
            ),
            (
                "permessage-deflate; server_no_context_takeover=true",
                &[Err(Value)],
            ),
            (
                "permessage-deflate; mystery=1, permessage-deflate",
                &[Err(Unknown), Ok("permessage-deflate")],
            ),
            (
                "permessage-deflate; client_no_context_takeover; client_no_context_takeover",
                &[Err(Twice)],
            ),
            ("permessage-deflate; =", &[Err(Syntax)]),
            (
                "permessage-deflate; server_max_window_bits=\"1",
                &[Err(Syntax)],
            ),
            ("", &[]),
            ("permessage-bzip2", &[]),
        ];
        for (header, expected) in cases {
            let found: Vec<_> = parse_offers(header)
                .into_iter()
                .map(|offer| offer.map(|o| o.to_string()).map_err(|error| error.kind()))
                .collect();
            let expected: Vec<_> = expected
                .iter()
                .map(|offer| offer.map(str::to_owned))
                .collect();
            assert_eq!(found, expected, "{header}");
        }
    }

    /// Found by fuzzing: the answer to `server_max_window_bits=15` did not name it, and clients have to
    /// fail such a connection.
    #[test]
    fn an_offer_of_fifteen_bits_is_answered() {
        let offer = Offer {
            server_max_window_bits: Some(15),
            ..Offer::default()
        };
        let agreed = ServerPolicy::default().accept([&offer]).unwrap();
        assert_eq!(
            agreed.to_string(),
            "permessage-deflate; server_max_window_bits=15"
        );
        assert_eq!(
            parse_response(&agreed.to_string(), &[offer]),
            Ok(Some(agreed))
        );
    }

    #[test]
    fn responses_keep_to_the_offers() {
        let offers =
            |header: &str| -> Vec<Offer> { parse_offers(header).into_iter().flatten().collect() };
        // Offer, response, agreed.
        let cases = [
            (
                "permessage-deflate",
                "permessage-deflate",
                Some("permessage-deflate"),
            ),
            (
                "permessage-deflate",
                "permessage-deflate; server_no_context_takeover",
                Some("permessage-deflate; server_no_context_takeover"),
            ),
            (
                "permessage-deflate",
                "permessage-deflate; client_no_context_takeover",
                Some("permessage-deflate; client_no_context_takeover"),
            ),
            (
                "permessage-deflate",
                "permessage-deflate; server_max_window_bits=9",
                Some("permessage-deflate; server_max_window_bits=9"),
            ),
            (
                "permessage-deflate",
                "permessage-deflate; client_max_window_bits=9",
                None,
            ),
            (
                "permessage-deflate; client_max_window_bits",
                "permessage-deflate; client_max_window_bits=9",
                Some("permessage-deflate; client_max_window_bits=9"),
            ),
            (
                "permessage-deflate; client_max_window_bits",
                "permessage-deflate; client_max_window_bits",
                None,
            ),
            (
                "permessage-deflate; server_max_window_bits=10",
                "permessage-deflate",
                None,
            ),
            (
                "permessage-deflate; server_max_window_bits=10",
                "permessage-deflate; server_max_window_bits=11",
                None,
            ),
            (
                "permessage-deflate; server_no_context_takeover",
                "permessage-deflate",
                None,
            ),
            (
                "permessage-deflate",
                "permessage-deflate, permessage-deflate",
                None,
            ),
        ];
        for (offer, response, expected) in cases {
            let found = parse_response(response, &offers(offer)).ok().flatten();
            assert_eq!(
                found.map(|agreed| agreed.to_string()).as_deref(),
                expected,
                "{offer} / {response}"
            );
        }
        assert_eq!(parse_response("", &[]), Ok(None));
    }
}
