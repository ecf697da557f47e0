//! `sip`: one row a SIP message.

use std::cell::OnceCell;

use weir_flow::{FlowKey, Scope};
use weir_packet::{Kind, Layer, Needs, Packet, Value};
use weir_sip::{
    Address, Digest, Flow, HeaderName, Limits, Message, Transactions, Uri, looks_like_sip, unfold,
};

use super::value::{filled, number, text};
use super::{Extract, Extraction, Item, ItemField, columns};
use crate::Row;
use crate::scan::Rows;

pub(super) const EXTRACTION: Extraction = Extraction {
    name: "sip",
    doc: "one row a SIP message in a UDP datagram, on any port",
    columns: || columns(PACKET_COLUMNS, FIELDS),
    needs: NEEDS,
    start: || Box::new(Sip::default()),
};

/// How deep packets must be decoded for [`datagram`].
pub(super) const NEEDS: &[Needs] = &[Needs::Network, Needs::Layer(Layer::Udp)];

const PACKET_COLUMNS: &[&str] = &[
    "frame.file",
    "frame.number",
    "frame.time",
    "addr.src",
    "port.src",
    "addr.dst",
    "port.dst",
    "ip.src",
    "ip.dst",
    "ipv6.src",
    "ipv6.dst",
    "udp.srcport",
    "udp.dstport",
];

#[derive(Default)]
struct Sip {
    transactions: Transactions,
    last_ns: i64,
}

impl Extract for Sip {
    fn packet(&mut self, row: &Row<'_>, rows: &mut Rows) {
        let Some((flow, payload)) = datagram(row.packet) else {
            return;
        };
        let Ok(message) = Message::parse(payload, &Limits::default()) else {
            return;
        };
        self.last_ns = row.packet.frame().time_ns.unwrap_or(self.last_ns);
        let digest = Digest::of(&message);
        let is_repeat = self.transactions.is_repeat(self.last_ns, flow, &digest);
        match legible(&message) {
            None => {
                let item = MessageItem::new(&message, &message, digest, is_repeat);
                rows.push_row(&row.with_item(&item));
            }
            Some(text) => {
                let Ok(readable) = Message::parse(&text, &Limits::default()) else {
                    return;
                };
                let digest = Digest::of(&readable);
                let item = MessageItem::new(&message, &readable, digest, is_repeat);
                rows.push_row(&row.with_item(&item));
            }
        }
    }

    fn notes(&self) -> Vec<String> {
        match self.transactions.not_followed() {
            0 => Vec::new(),
            count => vec![format!(
                "sip: {count} messages were not remembered, so that sip.resend may miss those that repeat them"
            )],
        }
    }
}

/// The sockets and the payload of a packet that carries a SIP message over UDP. What an ICMP error
/// quotes is no message.
pub(super) fn datagram<'p>(packet: &Packet<'p>) -> Option<(Option<Flow>, &'p [u8])> {
    let payload = packet.bytes(Layer::Udp)?.get(8..)?;
    if !looks_like_sip(payload) || packet.is_quoted(Layer::Udp) {
        return None;
    }
    let flow = FlowKey::of_packet(packet, Scope::Addresses).map(|(key, sender)| {
        let (src, dst) = key.ends(sender);
        Flow {
            src: src.into(),
            dst: dst.into(),
        }
    });
    Some((flow, payload))
}

/// The message with its folded lines on one line and its head in UTF-8, where it is not so already:
/// what is not UTF-8 becomes U+FFFD.
fn legible(message: &Message<'_>) -> Option<Vec<u8>> {
    let (head, body) = message.bytes().split_at_checked(message.headers_end())?;
    let is_folded = message
        .headers()
        .iter()
        .any(|header| header.value.contains(&b'\n'));
    if !is_folded && std::str::from_utf8(head).is_ok() {
        return None;
    }
    let head = head.trim_ascii_start();
    let first_line = head.iter().position(|byte| *byte == b'\n')?;
    let mut text = head.get(..=first_line)?.to_vec();
    for header in message.headers().iter() {
        text.extend_from_slice(header.text);
        text.extend_from_slice(b": ");
        text.extend_from_slice(&unfold(header.value));
        text.extend_from_slice(b"\r\n");
    }
    let mut text = String::from_utf8_lossy(&text).into_owned().into_bytes();
    text.extend_from_slice(b"\r\n");
    text.extend_from_slice(body);
    Some(text)
}

/// What the columns are read from.
struct MessageItem<'m, 'a> {
    /// As it was captured.
    original: &'m Message<'m>,
    /// With a head in UTF-8.
    message: &'m Message<'a>,
    digest: Digest<'a>,
    is_repeat: bool,
    faults: OnceCell<String>,
}

impl<'m, 'a> MessageItem<'m, 'a> {
    const fn new(
        original: &'m Message<'m>,
        message: &'m Message<'a>,
        digest: Digest<'a>,
        is_repeat: bool,
    ) -> Self {
        Self {
            original,
            message,
            digest,
            is_repeat,
            faults: OnceCell::new(),
        }
    }

    fn header(&self, name: HeaderName) -> Option<Value<'_>> {
        text(self.message.headers().value(name)?)
    }

    /// The start line without its line end.
    fn start_line(&self) -> &[u8] {
        let bytes = self.message.bytes().trim_ascii_start();
        let line = bytes.split(|byte| *byte == b'\n').next();
        line.unwrap_or_default().trim_ascii_end()
    }
}

impl Item for MessageItem<'_, '_> {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        (FIELDS.get(index)?.get)(self)
    }
}

fn port(uri: Option<Uri<'_>>) -> Option<Value<'static>> {
    uri?.port.and_then(number)
}

fn user(uri: Option<Uri<'_>>) -> Option<Value<'_>> {
    text(uri?.user?)
}

fn host(uri: Option<Uri<'_>>) -> Option<Value<'_>> {
    filled(uri?.host)
}

fn display(address: Option<Address<'_>>) -> Option<Value<'_>> {
    filled(address?.display_unquoted())
}

type Get = for<'i> fn(&'i MessageItem<'_, '_>) -> Option<Value<'i>>;

#[rustfmt::skip]
static FIELDS: &[ItemField<Get>] = &[
    ItemField::new("sip.method", Kind::Text, |m| if m.digest.is_request() { text(m.message.method()?.as_bytes()) } else { None },
        "Method of a request; NULL for responses, whose sip.cseq.method says it", "RFC 3261, 7.1"),
    ItemField::new("sip.status_code", Kind::U16, |m| m.digest.status.filter(|code| *code > 0).and_then(number),
        "Status code of a response, 100 to 699", "RFC 3261, 7.2"),
    ItemField::new("sip.reason_phrase", Kind::Text, |m| m.digest.status.and_then(|_| text(m.digest.reason)),
        "Reason phrase of a response, which may be empty", "RFC 3261, 7.2"),
    ItemField::new("sip.request_line", Kind::Text, |m| m.digest.request_uri.and_then(|_| text(m.start_line())),
        "The first line of a request", "RFC 3261, 7.1"),
    ItemField::new("sip.status_line", Kind::Text, |m| m.digest.status.and_then(|_| text(m.start_line())),
        "The first line of a response", "RFC 3261, 7.2"),
    ItemField::new("sip.r_uri", Kind::Text, |m| text(m.digest.request_uri?),
        "Request URI", "RFC 3261, 8.1.1.1"),
    ItemField::new("sip.r_uri.user", Kind::Text, |m| user(m.digest.request_uri.map(Uri::parse)),
        "User of the request URI; number of a tel URI", "RFC 3261, 19.1.1; RFC 3966"),
    ItemField::new("sip.r_uri.host", Kind::Text, |m| host(m.digest.request_uri.map(Uri::parse)),
        "Host of the request URI", "RFC 3261, 19.1.1"),
    ItemField::new("sip.r_uri.port", Kind::U16, |m| port(m.digest.request_uri.map(Uri::parse)),
        "Port of the request URI", "RFC 3261, 19.1.1"),
    ItemField::new("sip.call_id", Kind::Text, |m| text(m.digest.call_id?),
        "Call-ID: the same for all messages of a call", "RFC 3261, 20.8"),
    ItemField::new("sip.cseq", Kind::Text, |m| m.header(HeaderName::CSeq),
        "CSeq: number and method of the request", "RFC 3261, 20.16"),
    ItemField::new("sip.cseq.seq", Kind::U32, |m| m.digest.cseq.and_then(|cseq| number(cseq.number)),
        "Number of CSeq", "RFC 3261, 20.16"),
    ItemField::new("sip.cseq.method", Kind::Text, |m| cseq_method(m.message.headers().value(HeaderName::CSeq)?),
        "Method of CSeq, in responses too", "RFC 3261, 20.16"),
    ItemField::new("sip.from", Kind::Text, |m| m.header(HeaderName::From),
        "From, as it is written", "RFC 3261, 20.20"),
    ItemField::new("sip.from.display.info", Kind::Text, |m| display(m.digest.from),
        "Display name of From, without quotes", "RFC 3261, 20.10"),
    ItemField::new("sip.from.addr", Kind::Text, |m| text(m.digest.from?.uri.text),
        "URI of From", "RFC 3261, 20.20"),
    ItemField::new("sip.from.user", Kind::Text, |m| user(m.digest.from.map(|from| from.uri)),
        "User of the URI of From; number of a tel URI", "RFC 3261, 19.1.1; RFC 3966"),
    ItemField::new("sip.from.host", Kind::Text, |m| host(m.digest.from.map(|from| from.uri)),
        "Host of the URI of From", "RFC 3261, 19.1.1"),
    ItemField::new("sip.from.port", Kind::U16, |m| port(m.digest.from.map(|from| from.uri)),
        "Port of the URI of From", "RFC 3261, 19.1.1"),
    ItemField::new("sip.from.tag", Kind::Text, |m| text(m.digest.from_tag()?),
        "Tag of From: the sender's part of the dialog", "RFC 3261, 19.3"),
    ItemField::new("sip.to", Kind::Text, |m| m.header(HeaderName::To),
        "To, as it is written", "RFC 3261, 20.39"),
    ItemField::new("sip.to.display.info", Kind::Text, |m| display(m.digest.to),
        "Display name of To, without quotes", "RFC 3261, 20.10"),
    ItemField::new("sip.to.addr", Kind::Text, |m| text(m.digest.to?.uri.text),
        "URI of To", "RFC 3261, 20.39"),
    ItemField::new("sip.to.user", Kind::Text, |m| user(m.digest.to.map(|to| to.uri)),
        "User of the URI of To; number of a tel URI", "RFC 3261, 19.1.1; RFC 3966"),
    ItemField::new("sip.to.host", Kind::Text, |m| host(m.digest.to.map(|to| to.uri)),
        "Host of the URI of To", "RFC 3261, 19.1.1"),
    ItemField::new("sip.to.port", Kind::U16, |m| port(m.digest.to.map(|to| to.uri)),
        "Port of the URI of To", "RFC 3261, 19.1.1"),
    ItemField::new("sip.to.tag", Kind::Text, |m| text(m.digest.to_tag()?),
        "Tag of To: the receiver's part of the dialog; NULL before there is one", "RFC 3261, 19.3"),
    ItemField::new("sip.contact", Kind::Text, |m| m.header(HeaderName::Contact),
        "The first Contact header, as it is written", "RFC 3261, 20.10"),
    ItemField::new("sip.contact.uri", Kind::Text, |m| text(m.digest.contact?.uri.text),
        "URI of the first Contact", "RFC 3261, 20.10"),
    ItemField::new("sip.via", Kind::Text, |m| text(m.digest.via?.text),
        "The topmost Via element: the last hop", "RFC 3261, 20.42"),
    ItemField::new("sip.via.transport", Kind::Text, |m| text(m.digest.via?.transport),
        "Transport of the topmost Via", "RFC 3261, 20.42"),
    ItemField::new("sip.via.sent_by.address", Kind::Text, |m| text(m.digest.via?.host),
        "Host of the topmost Via", "RFC 3261, 18.1.1"),
    ItemField::new("sip.via.sent_by.port", Kind::U16, |m| m.digest.via?.port.and_then(number),
        "Port of the topmost Via", "RFC 3261, 18.1.1"),
    ItemField::new("sip.via.branch", Kind::Text, |m| text(m.digest.via?.branch()?),
        "Branch of the topmost Via: names the transaction", "RFC 3261, 8.1.1.7"),
    ItemField::new("sip.via.count", Kind::U32, |m| number(m.digest.via_count),
        "Elements of all Via headers: hops", "RFC 3261, 20.42"),
    ItemField::new("sip.max_forwards", Kind::U8, |m| m.digest.max_forwards.and_then(number),
        "Hops that a request may still take; NULL when it is no number up to 255", "RFC 3261, 20.22"),
    ItemField::new("sip.user_agent", Kind::Text, |m| m.header(HeaderName::UserAgent),
        "User-Agent: software of the client, or of both sides", "RFC 3261, 20.41"),
    ItemField::new("sip.server", Kind::Text, |m| m.header(HeaderName::Server),
        "Server: software of the server", "RFC 3261, 20.35"),
    ItemField::new("sip.expires", Kind::U32, |m| m.digest.expires.and_then(|it| u32::try_from(it).ok()).and_then(number),
        "Expires, in seconds", "RFC 3261, 20.19"),
    ItemField::new("sip.content_type", Kind::Text, |m| text(m.digest.content_type?),
        "Media type of the body", "RFC 3261, 20.15"),
    ItemField::new("sip.content_length", Kind::U32, |m| m.digest.content_length.and_then(|it| u32::try_from(it).ok()).and_then(number),
        "Content-Length, in bytes", "RFC 3261, 20.14"),
    ItemField::new("sip.msg_body", Kind::Text, |m| filled(m.digest.body),
        "The body, where it is UTF-8; as long as Content-Length says", "RFC 3261, 7.4"),
    ItemField::new("sip.resend", Kind::Bool, |m| Some(Value::Bool(m.is_repeat)),
        "True for a message that repeats one of its transaction between the same sockets within 32 s", "RFC 3261, 17"),
    ItemField::new("sip.faults", Kind::Text, faults,
        "What breaks or stretches the rules, and at which offset of the message; NULL when nothing does", "RFC 3261; RFC 4475"),
];

/// What breaks or stretches the rules, found out once a row.
fn faults<'m>(item: &'m MessageItem<'_, '_>) -> Option<Value<'m>> {
    let shown = item.faults.get_or_init(|| {
        let faults = item.original.check();
        let kept = faults.iter().map(|fault| fault.to_string());
        let mut shown: Vec<String> = kept.collect();
        let more = faults
            .count()
            .saturating_sub(u32::try_from(shown.len()).unwrap_or(0));
        if more > 0 {
            shown.push(format!("{more} more"));
        }
        shown.join("; ")
    });
    (!shown.is_empty()).then_some(Value::Text(shown))
}

/// The word behind the number.
fn cseq_method(value: &[u8]) -> Option<Value<'_>> {
    let start = value.iter().position(u8::is_ascii_whitespace)?;
    text(value.get(start..)?.trim_ascii())
}
