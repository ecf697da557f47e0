//! The parsed values of a message that logs, tables and trackers need.

use crate::address::Address;
use crate::fault::FaultKind;
use crate::header::HeaderName;
use crate::message::Message;
use crate::method::Method;
use crate::scan::{List, trim};
use crate::start::Start;
use crate::via::{CSeq, Via};

/// The fields of one message that a log or a table shows. All are borrowed. A field that the message lacks is empty, or
/// `None`.
///
/// ```
/// use weir_sip::{Digest, Limits, Message, Method};
///
/// let bytes = b"SIP/2.0 180 Ringing\r\nVia: SIP/2.0/UDP h:5060;branch=z9hG4bK1\r\n\
///     From: <sip:a@h>;tag=1\r\nTo: <sip:b@h>;tag=2\r\nCall-ID: x@h\r\nCSeq: 7 INVITE\r\n\r\n";
/// let message = Message::parse(bytes, &Limits::default())?;
/// let digest = Digest::of(&message);
/// assert_eq!((digest.status, digest.method), (Some(180), Some(Method::Invite)));
/// assert_eq!(digest.from.unwrap().tag(), Some(&b"1"[..]));
/// # Ok::<(), weir_sip::Fault>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Digest<'a> {
    /// Method of a request; of a response the method that its CSeq names.
    pub method: Option<Method<'a>>,
    /// The Request-URI as it was sent; `None` for responses.
    pub request_uri: Option<&'a [u8]>,
    /// Status code, as [`Message::status`]; `None` for requests.
    pub status: Option<u16>,
    /// Reason phrase of a response.
    pub reason: &'a [u8],
    /// CSeq; `None` also where it is not sound.
    pub cseq: Option<CSeq<'a>>,
    /// The From address.
    pub from: Option<Address<'a>>,
    /// The To address.
    pub to: Option<Address<'a>>,
    /// Call-ID; `None` also where the message was cut within it.
    pub call_id: Option<&'a [u8]>,
    /// The topmost Via: the last hop, and the transaction.
    pub via: Option<Via<'a>>,
    /// Elements of all Via headers: hops that a request has taken.
    pub via_count: u32,
    /// Max-Forwards, where it is a number up to 255.
    pub max_forwards: Option<u8>,
    /// The first Contact.
    pub contact: Option<Address<'a>>,
    /// User-Agent, or Server where there is none.
    pub user_agent: Option<&'a [u8]>,
    /// Content-Type.
    pub content_type: Option<&'a [u8]>,
    /// Content-Length, where it is a number.
    pub content_length: Option<u64>,
    /// Expires, where it is a number: seconds.
    pub expires: Option<u64>,
    /// RSeq of a reliable provisional response (RFC 3262).
    pub rseq: Option<u64>,
    /// The message was cut in front of the end of its From, To, Call-ID or CSeq, which say whose dialog it is of.
    pub is_cut_short: bool,
    /// The body.
    pub body: &'a [u8],
}

/// The headers that say whose dialog a message is of (RFC 3261 §12.2.2), and which request it is or answers.
const OF_DIALOG: [HeaderName; 4] = [
    HeaderName::From,
    HeaderName::To,
    HeaderName::CallId,
    HeaderName::CSeq,
];

impl<'a> Digest<'a> {
    /// Parses the fields of a digest; costs one pass over the table of headers and over their values.
    #[must_use]
    pub fn of(message: &Message<'a>) -> Self {
        let mut digest = Self {
            method: None,
            request_uri: None,
            status: None,
            reason: b"",
            cseq: None,
            from: None,
            to: None,
            call_id: None,
            via: None,
            via_count: 0,
            max_forwards: None,
            contact: None,
            user_agent: None,
            content_type: None,
            content_length: None,
            expires: None,
            rseq: None,
            is_cut_short: is_cut_short(message),
            body: message.body(),
        };
        let mut server = None;
        for header in message.headers().iter() {
            let value = header.value;
            match header.name {
                HeaderName::Via => digest.vias(value),
                HeaderName::From => first(&mut digest.from, || Some(Address::parse(value))),
                HeaderName::To => first(&mut digest.to, || Some(Address::parse(value))),
                // The beginning of an identifier names another call.
                HeaderName::CallId if message.ends_within(value) => {}
                HeaderName::CallId => first(&mut digest.call_id, || Some(value)),
                HeaderName::CSeq => first(&mut digest.cseq, || CSeq::parse(value)),
                HeaderName::Contact => first(&mut digest.contact, || {
                    let text = List::new(value).next().filter(|text| !text.is_empty())?;
                    Some(Address::parse(text))
                }),
                HeaderName::UserAgent => first(&mut digest.user_agent, || Some(value)),
                HeaderName::Server => first(&mut server, || Some(value)),
                HeaderName::ContentType => first(&mut digest.content_type, || Some(value)),
                _ => {}
            }
        }
        digest.user_agent = digest.user_agent.or(server);
        digest.max_forwards = message
            .number(HeaderName::MaxForwards)
            .and_then(|number| u8::try_from(number).ok());
        digest.content_length = message.number(HeaderName::ContentLength);
        digest.expires = message.number(HeaderName::Expires);
        digest.rseq = message.number(HeaderName::RSeq);
        match message.start() {
            Start::Request { method, uri, .. } => {
                digest.method = Some(method);
                digest.request_uri = Some(uri);
            }
            Start::Status { code, reason, .. } => {
                digest.method = digest.cseq.map(|cseq| cseq.method);
                digest.status = Some(code);
                digest.reason = reason;
            }
        }
        digest
    }

    fn vias(&mut self, value: &'a [u8]) {
        for text in List::of_vias(value).filter(|text| !text.is_empty()) {
            self.via.get_or_insert_with(|| Via::parse(text));
            self.via_count = self.via_count.saturating_add(1);
        }
    }

    /// True for a request.
    #[must_use]
    pub const fn is_request(&self) -> bool {
        self.request_uri.is_some()
    }

    /// The From tag.
    #[must_use]
    pub fn from_tag(&self) -> Option<&'a [u8]> {
        self.from?.tag()
    }

    /// The To tag.
    #[must_use]
    pub fn to_tag(&self) -> Option<&'a [u8]> {
        self.to?.tag()
    }

    /// Whether the body is a session description (`application/sdp`).
    #[must_use]
    pub fn has_sdp(&self) -> bool {
        self.is_application(b"sdp")
    }

    /// Whether the body is a fragment of a description with candidates of ICE (RFC 8840, 9).
    #[must_use]
    pub fn has_candidates(&self) -> bool {
        self.is_application(b"trickle-ice-sdpfrag")
    }

    /// Whether there is a body of `application` and this subtype.
    fn is_application(&self, wanted: &[u8]) -> bool {
        let is_of_type = self.media_type().is_some_and(|(kind, subtype)| {
            kind.eq_ignore_ascii_case(b"application") && subtype.eq_ignore_ascii_case(wanted)
        });
        is_of_type && !self.body.is_empty()
    }

    /// Whether the body has several parts, one of which may be a session description.
    #[must_use]
    pub fn has_parts(&self) -> bool {
        let media_type = self.media_type();
        media_type.is_some_and(|(kind, _)| kind.eq_ignore_ascii_case(b"multipart"))
    }

    /// The type and the subtype of the body, without the white space that may be around the slash (RFC 3261 §25.1).
    fn media_type(&self) -> Option<(&'a [u8], &'a [u8])> {
        let value = self.content_type?.split(|byte| *byte == b';').next()?;
        let slash = value.iter().position(|byte| *byte == b'/')?;
        let (kind, subtype) = value.split_at_checked(slash)?;
        Some((trim(kind), trim(subtype.get(1..)?)))
    }
}

/// Whether a message was cut in front of the end of one of [`OF_DIALOG`].
fn is_cut_short(message: &Message<'_>) -> bool {
    let is_whole = |name: &HeaderName| {
        let mut headers = message.headers().all(*name);
        headers.any(|header| !message.ends_within(header.value))
    };
    message.faults().has(FaultKind::Cut) && !OF_DIALOG.iter().all(is_whole)
}

/// Fills a place that is empty.
fn first<T>(place: &mut Option<T>, make: impl FnOnce() -> Option<T>) {
    if place.is_none() {
        *place = make();
    }
}
