//! `sip`: one row a SIP message.

mod arrivals;
mod messages;
mod segments;

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::net::SocketAddr;

use weir_packet::{Kind, Needs, Value};
use weir_sip::{Address, Digest, HeaderName, Limits, Message, Scheme, Transactions, Uri, unfold};

pub(crate) use self::messages::SipFinder;
pub use self::messages::{SipMessage, SipMessages, SipTransport, SipWay};

use super::extraction::{Extract, Extraction, ItemField, columns, push_item};
use super::note::Note;
use super::value::{address, filled, frame, number, text};
use crate::Row;
use crate::row::Item;
use crate::rows::Rows;

pub(super) const EXTRACTION: Extraction = Extraction {
    name: "sip",
    doc: "one row per SIP message, over UDP, TCP, SCTP or WebSocket, on any port",
    columns: || columns(&["frame.file"], FIELDS),
    needs: &[Needs::All],
    start: |settings| {
        Box::new(Sip {
            messages: SipMessages::with_settings(settings),
            ..Sip::default()
        })
    },
    arguments: super::settings::SECRETS,
    aliases: &[],
};

#[derive(Default)]
struct Sip {
    messages: SipMessages,
    rows: SipRows,
    /// The messages that were complete only at the end of the capture.
    last: Option<VecDeque<(Vec<u8>, SipWay)>>,
}

impl Extract for Sip {
    fn keeps_records(&self) -> bool {
        true
    }

    fn packet(&mut self, row: &Row<'_>, rows: &mut Rows) {
        let Self {
            messages,
            rows: made,
            ..
        } = self;
        messages.packet(row.packet, &mut |message| {
            made.row(message, &mut |item| {
                rows.push_row(&row.with_item(item));
            });
        });
    }

    fn finish(&mut self, rows: &mut Rows) -> bool {
        let messages = &mut self.messages;
        let last = self.last.get_or_insert_with(|| {
            let mut last = VecDeque::new();
            messages.finish(&mut |message| last.push_back((message.bytes.to_vec(), message.way)));
            last
        });
        while !rows.is_full() {
            let Some((bytes, way)) = last.pop_front() else {
                return false;
            };
            let message = SipMessage::new(&bytes, way);
            self.rows
                .row(&message, &mut |item| push_item(rows, "", item));
        }
        true
    }

    fn notes(&self) -> Vec<Note> {
        let own = [
            (
                self.rows.transactions.not_followed(),
                "messages were not remembered, so that sip.resend may miss those that repeat them",
            ),
            (
                self.rows.undecoded,
                "messages are left out because their first line could not be decoded",
            ),
        ];
        let found = self.messages.notes().into_iter();
        found
            .map(|note| note.named("sip"))
            .chain(Note::of("sip", own))
            .collect()
    }
}

/// Makes the rows of messages.
#[derive(Default)]
struct SipRows {
    transactions: Transactions,
    /// The number of messages that begin as those of SIP do, and whose first line cannot be decoded.
    undecoded: u64,
}

impl SipRows {
    fn row(&mut self, found: &SipMessage<'_>, push: &mut dyn FnMut(&dyn Item)) {
        let Some(message) = found.parsed() else {
            self.undecoded = self.undecoded.saturating_add(1);
            return;
        };
        let way = &found.way;
        let digest = Digest::of(&message);
        let is_repeat = self
            .transactions
            .is_repeat(way.passed_ns, Some(way.flow), &digest);
        match legible(&message) {
            None => push(&MessageItem::new(
                way, &message, &message, digest, is_repeat,
            )),
            Some(text) => {
                let Ok(readable) = Message::parse(&text, &Limits::default()) else {
                    return;
                };
                let digest = Digest::of(&readable);
                push(&MessageItem::new(
                    way, &message, &readable, digest, is_repeat,
                ));
            }
        }
    }
}

/// The message with its folded lines on one line and its head in UTF-8; `None` when it has that form already. Bytes
/// that are not UTF-8 become U+FFFD.
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

/// The message from which columns are read.
struct MessageItem<'m, 'a> {
    way: &'m SipWay,
    /// The message as it was captured.
    original: &'m Message<'m>,
    /// The message with a head in UTF-8.
    message: &'m Message<'a>,
    digest: Digest<'a>,
    is_repeat: bool,
    faults: OnceCell<String>,
}

impl<'m, 'a> MessageItem<'m, 'a> {
    const fn new(
        way: &'m SipWay,
        original: &'m Message<'m>,
        message: &'m Message<'a>,
        digest: Digest<'a>,
        is_repeat: bool,
    ) -> Self {
        Self {
            way,
            original,
            message,
            digest,
            is_repeat,
            faults: OnceCell::new(),
        }
    }

    /// The status code of a response. The digest has 0 both for `000` and where there are no three digits.
    fn status_code(&self) -> Option<u16> {
        let mut words = self.start_line().split(u8::is_ascii_whitespace).skip(1);
        let code = self.digest.status?;
        let is_sent = code > 0 || words.find(|word| !word.is_empty()) == Some(&b"000"[..]);
        is_sent.then_some(code)
    }

    fn header(&self, name: HeaderName) -> Option<Value<'_>> {
        text(self.message.headers().value(name)?)
    }

    /// The headers without the start line and the empty line behind them.
    fn head(&self) -> Option<&[u8]> {
        let bytes = self.message.bytes();
        let head = bytes.get(..self.message.headers_end())?.trim_ascii_start();
        let first = head.iter().position(|byte| *byte == b'\n')?;
        head.get(first + 1..).map(<[u8]>::trim_ascii_end)
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

    fn record(&self) -> Option<u64> {
        Some(self.way.frame).filter(|frame| *frame > 0)
    }
}

fn port(uri: Option<Uri<'_>>) -> Option<Value<'static>> {
    uri?.port.and_then(number)
}

fn user(uri: Option<Uri<'_>>) -> Option<Value<'_>> {
    text(uri?.user?)
}

/// The host of a URI. Other schemes have no known host: the text after the colon of a URN (RFC 8141) is a name.
fn host(uri: Option<Uri<'_>>) -> Option<Value<'_>> {
    let uri = uri.filter(|uri| uri.is_sip() || uri.scheme == Scheme::Other(b""))?;
    filled(uri.host)
}

/// The address of an IPv6 reference (RFC 3261, 25.1): Wireshark shows that of Via without its brackets, and those of
/// URIs with them.
fn without_brackets(host: &[u8]) -> &[u8] {
    match host {
        [b'[', address @ .., b']'] => address,
        host => host,
    }
}

fn display(address: Option<Address<'_>>) -> Option<Value<'_>> {
    filled(address?.display_unquoted())
}

impl MessageItem<'_, '_> {
    /// A port of a message over `transport`.
    fn port(&self, transport: &[SipTransport], end: SocketAddr) -> Option<Value<'static>> {
        number(end.port()).filter(|_| transport.contains(&self.way.transport))
    }
}

fn ip4(end: SocketAddr) -> Option<Value<'static>> {
    address(end.ip()).filter(|_| end.is_ipv4())
}

fn ip6(end: SocketAddr) -> Option<Value<'static>> {
    address(end.ip()).filter(|_| end.is_ipv6())
}

/// The transports over TCP.
const OVER_TCP: &[SipTransport] = &[SipTransport::Tcp, SipTransport::WebSocket];

type SipGetter = for<'i> fn(&'i MessageItem<'_, '_>) -> Option<Value<'i>>;

#[rustfmt::skip]
static FIELDS: &[ItemField<SipGetter>] = &[
    ItemField::new("frame.number", Kind::U64, |m| frame(m.way.frame),
        "Number of the record that completed the message, from 1; NULL when the end of the capture completed it", "weir"),
    ItemField::new("frame.time", Kind::Time, |m| m.way.time_ns.map(Value::Time),
        "Capture time of that record", "weir"),
    ItemField::new("flow.id", Kind::U64, |m| m.way.flow.number.and_then(number),
        "Number of the message's flow, as in flows", "weir"),
    ItemField::new("sip.transport", Kind::Text, |m| Some(Value::Text(m.way.transport.name())),
        "Transport of the message: udp, tcp, sctp or ws", "RFC 3261, 18; RFC 4168; RFC 7118"),
    ItemField::new("addr.src", Kind::Address, |m| address(m.way.source().ip()),
        "Address of the sender", "RFC 791, 3.1; RFC 8200, 3"),
    ItemField::new("port.src", Kind::U16, |m| number(m.way.source().port()),
        "Port of the sender", "RFC 768; RFC 9293, 3.1"),
    ItemField::new("addr.dst", Kind::Address, |m| address(m.way.destination().ip()),
        "Address of the receiver", "RFC 791, 3.1; RFC 8200, 3"),
    ItemField::new("port.dst", Kind::U16, |m| number(m.way.destination().port()),
        "Port of the receiver", "RFC 768; RFC 9293, 3.1"),
    ItemField::new("ip.src", Kind::Address, |m| ip4(m.way.source()),
        "IPv4 address of the sender", "RFC 791, 3.1"),
    ItemField::new("ip.dst", Kind::Address, |m| ip4(m.way.destination()),
        "IPv4 address of the receiver", "RFC 791, 3.1"),
    ItemField::new("ipv6.src", Kind::Address, |m| ip6(m.way.source()),
        "IPv6 address of the sender", "RFC 8200, 3"),
    ItemField::new("ipv6.dst", Kind::Address, |m| ip6(m.way.destination()),
        "IPv6 address of the receiver", "RFC 8200, 3"),
    ItemField::new("udp.srcport", Kind::U16, |m| m.port(&[SipTransport::Udp], m.way.source()),
        "UDP port of the sender", "RFC 768"),
    ItemField::new("udp.dstport", Kind::U16, |m| m.port(&[SipTransport::Udp], m.way.destination()),
        "UDP port of the receiver", "RFC 768"),
    ItemField::new("tcp.srcport", Kind::U16, |m| m.port(OVER_TCP, m.way.source()),
        "TCP port of the sender", "RFC 9293, 3.1"),
    ItemField::new("tcp.dstport", Kind::U16, |m| m.port(OVER_TCP, m.way.destination()),
        "TCP port of the receiver", "RFC 9293, 3.1"),
    ItemField::new("sip.method", Kind::Text, |m| if m.digest.is_request() { text(m.message.method()?.as_bytes()) } else { None },
        "Method of a request; NULL for responses, which have sip.cseq.method", "RFC 3261, 7.1"),
    ItemField::new("sip.status_code", Kind::U16, |m| m.status_code().and_then(number),
        "Status code of a response: three digits as they were sent, 100 to 699 in valid messages; NULL when there are not three", "RFC 3261, 7.2"),
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
        "Sequence number of CSeq", "RFC 3261, 20.16"),
    ItemField::new("sip.cseq.method", Kind::Text, |m| cseq_method(m.message.headers().value(HeaderName::CSeq)?),
        "Method of CSeq, in responses too", "RFC 3261, 20.16"),
    ItemField::new("sip.from", Kind::Text, |m| m.header(HeaderName::From),
        "From, as written", "RFC 3261, 20.20"),
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
        "To, as written", "RFC 3261, 20.39"),
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
        "The first Contact header, as written", "RFC 3261, 20.10"),
    ItemField::new("sip.contact.uri", Kind::Text, |m| text(m.digest.contact?.uri.text),
        "URI of the first Contact", "RFC 3261, 20.10"),
    ItemField::new("sip.via", Kind::Text, |m| text(m.digest.via?.text),
        "The topmost Via value: the last hop", "RFC 3261, 20.42"),
    ItemField::new("sip.via.transport", Kind::Text, |m| text(m.digest.via?.transport),
        "Transport of the topmost Via", "RFC 3261, 20.42"),
    ItemField::new("sip.via.sent_by.address", Kind::Text, |m| text(without_brackets(m.digest.via?.host)),
        "Host of the topmost Via; IPv6 addresses without their brackets, unlike in the hosts of URIs", "RFC 3261, 18.1.1"),
    ItemField::new("sip.via.sent_by.port", Kind::U16, |m| m.digest.via?.port.and_then(number),
        "Port of the topmost Via", "RFC 3261, 18.1.1"),
    ItemField::new("sip.via.branch", Kind::Text, |m| text(m.digest.via?.branch()?),
        "Branch of the topmost Via: names the transaction", "RFC 3261, 8.1.1.7"),
    ItemField::new("sip.via.count", Kind::U32, |m| number(m.digest.via_count),
        "Number of values of all Via headers: hops", "RFC 3261, 20.42"),
    ItemField::new("sip.max_forwards", Kind::U8, |m| m.digest.max_forwards.and_then(number),
        "Hops that a request may still take; NULL when it is not a number up to 255", "RFC 3261, 20.22"),
    ItemField::new("sip.user_agent", Kind::Text, |m| m.header(HeaderName::UserAgent),
        "User-Agent: software of the client, or of both sides", "RFC 3261, 20.41"),
    ItemField::new("sip.server", Kind::Text, |m| m.header(HeaderName::Server),
        "Server: software of the server", "RFC 3261, 20.35"),
    ItemField::new("sip.p_asserted_identity", Kind::Text, |m| m.header(HeaderName::PAssertedIdentity),
        "The first P-Asserted-Identity: the caller, as a trusted network asserts", "RFC 3325, 9.1"),
    ItemField::new("sip.diversion", Kind::Text, |m| m.header(HeaderName::Diversion),
        "The first Diversion: who was called before, and why the call was diverted", "RFC 5806"),
    ItemField::new("sip.reason", Kind::Text, |m| m.header(HeaderName::Reason),
        "The first Reason: why a call ends or fails", "RFC 3326"),
    ItemField::new("sip.msg_hdr", Kind::Text, |m| text(m.head()?),
        "All headers as written, one per line: also those without a column", "RFC 3261, 7.3"),
    ItemField::new("sip.expires", Kind::U32, |m| m.digest.expires.and_then(|it| u32::try_from(it).ok()).and_then(number),
        "Expires, in seconds", "RFC 3261, 20.19"),
    ItemField::new("sip.content_type", Kind::Text, |m| text(m.digest.content_type?),
        "Media type of the body", "RFC 3261, 20.15"),
    ItemField::new("sip.content_length", Kind::U32, |m| m.digest.content_length.and_then(|it| u32::try_from(it).ok()).and_then(number),
        "Content-Length, in bytes", "RFC 3261, 20.14"),
    ItemField::new("sip.msg_body", Kind::Text, |m| filled(m.digest.body),
        "The body, where it is UTF-8; as long as Content-Length says", "RFC 3261, 7.4"),
    ItemField::new("sip.resend", Kind::Bool, |m| Some(Value::Bool(m.is_repeat)),
        "The message is a retransmission within its transaction, between the same sockets within 32 s", "RFC 3261, 17"),
    ItemField::new("sip.faults", Kind::Text, faults,
        "Violations of the RFCs and doubtful syntax, each with its offset in the message; NULL when there are none", "RFC 3261; RFC 4475"),
];

/// The violations of the grammar and the lenient readings of a message, computed once a row.
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

/// The word after the number.
fn cseq_method(value: &[u8]) -> Option<Value<'_>> {
    let start = value.iter().position(u8::is_ascii_whitespace)?;
    text(value.get(start..)?.trim_ascii())
}
