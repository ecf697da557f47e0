//! The heads of the opening handshake (RFC 6455, 4), and what they agree on.

use crate::deflate::{Agreed, Offer, parse_offers, parse_response};

const TARGET_BYTES_MAX: usize = 1024;

/// The parsed heads of the handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Handshake {
    /// The request's target, such as `/chat`; at most 1 KiB, and empty when the request was not captured.
    pub target: String,
    /// The header Host.
    pub host: String,
    /// The response's status; 101 for a WebSocket, also where frames show it, as the response was not captured.
    pub status: u16,
    /// Offers of permessage-deflate that were well formed.
    pub offers: Vec<Offer>,
    /// Offers that RFC 7692 tells a server to decline.
    pub offers_declined: usize,
    /// The agreement; `None` without permessage-deflate, and when the response was not captured.
    pub agreed: Option<Agreed>,
    /// The response breaks RFC 7692, in words. The parameters are then taken as far as possible.
    pub fault: Option<String>,
}

impl Handshake {
    /// The handshake of heads that were read elsewhere, such as those of an HTTP/2 stream (RFC 8441, 5): the request's target and
    /// host, the response's status, and the values of Sec-WebSocket-Extensions of both.
    #[must_use]
    pub fn of_heads(
        (target, host): (&str, &str),
        status: u16,
        (offers, answer): (&str, &str),
    ) -> Self {
        let offered = parse_offers(offers);
        let offers: Vec<Offer> = offered.iter().flatten().copied().collect();
        let (agreed, fault) = match parse_response(answer, &offers) {
            Ok(agreed) => (agreed, None),
            Err(error) => (
                parse_response(answer, &[]).ok().flatten(),
                Some(error.to_string()),
            ),
        };
        let (agreed, fault) = match agreed {
            Some(agreed) if offers.is_empty() => (
                Some(agreed),
                Some("permessage-deflate was not offered".to_owned()),
            ),
            agreed => (agreed, fault),
        };
        Self {
            target: target.chars().take(TARGET_BYTES_MAX).collect(),
            host: host.chars().take(TARGET_BYTES_MAX).collect(),
            status,
            offers_declined: offered.len() - offers.len(),
            offers,
            agreed,
            fault,
        }
    }

    /// The handshake of both heads; `None` for a request that is not for a WebSocket.
    pub(super) fn of_both(request: &[u8], response: &[u8]) -> Option<Self> {
        let request = String::from_utf8_lossy(request);
        let response = String::from_utf8_lossy(response);
        let target = request.split(' ').nth(1)?;
        let status = response.split(' ').nth(1)?.get(..3)?.parse().ok()?;
        let host = header(&request, "host");
        let offers = header(&request, "sec-websocket-extensions");
        let answer = header(&response, "sec-websocket-extensions");
        is_upgrade(&request).then(|| Self::of_heads((target, &host), status, (&offers, &answer)))
    }

    /// The handshake of a request for a WebSocket whose response was not captured, and agreed.
    pub(super) fn of_request(head: &[u8]) -> Option<Self> {
        let head = String::from_utf8_lossy(head);
        let target = head.split(' ').nth(1)?;
        let host = header(&head, "host");
        let offers = header(&head, "sec-websocket-extensions");
        is_upgrade(&head).then(|| Self::of_heads((target, &host), 101, (&offers, "")))
    }

    /// The handshake of a response that agrees on a WebSocket, when its request was not captured. The target of the request is
    /// empty.
    pub(super) fn of_response(head: &[u8]) -> Option<Self> {
        let head = String::from_utf8_lossy(head);
        let is_agreed = head.split(' ').nth(1) == Some("101") && is_upgrade(&head);
        let extensions = header(&head, "sec-websocket-extensions");
        is_agreed.then(|| Self {
            // The offers are not known.
            fault: None,
            ..Self::of_heads(("", ""), 101, ("", &extensions))
        })
    }
}

/// True for a response that another one follows, such as 103 (RFC 8297), and not 101 (RFC 9110, 15.2).
pub(super) fn is_preliminary(response: &[u8]) -> bool {
    let status = response.strip_prefix(b"HTTP/1.").unwrap_or_default();
    matches!(status, [b'0' | b'1', b' ', b'1', tens, ones, ..] if (tens, ones) != (&b'0', &b'1'))
}

/// True for a response by which the server does not agree, as far as it is there.
pub(super) fn is_refusal(response: &[u8]) -> bool {
    let status = response.strip_prefix(b"HTTP/1.").unwrap_or_default();
    matches!(status, [b'0' | b'1', b' ', class, ..] if *class != b'1')
}

/// The offset after the empty line.
pub(super) fn head_end(bytes: &[u8]) -> Option<usize> {
    let at = memchr::memmem::find(bytes, b"\r\n\r\n")?;
    Some(at + 4)
}

/// Whether a head upgrades its connection to a WebSocket.
fn is_upgrade(head: &str) -> bool {
    header(head, "upgrade").eq_ignore_ascii_case("websocket")
}

/// The values of a header, joined with commas.
fn header(head: &str, name: &str) -> String {
    let mut all = String::new();
    for line in head.split("\r\n").skip(1) {
        if let Some((field, value)) = line.split_once(':')
            && field.trim().eq_ignore_ascii_case(name)
        {
            if !all.is_empty() {
                all.push_str(", ");
            }
            all.push_str(value.trim());
        }
    }
    all
}
