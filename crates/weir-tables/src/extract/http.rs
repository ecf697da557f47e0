//! `http`: one row a request of HTTP/1 or HTTP/2 with its response.

use std::collections::VecDeque;

use weir_flow::{Carried, Chunk, Content, Interest, Payload, Sender, StreamEnd};
use weir_messages::http::{
    Connection, ConnectionState, Exchange, Head, Request, Response, Settings, setting_name,
};
use weir_messages::tls::Stamp;
use weir_packet::{Kind, Needs, Value};

use super::extraction::{Extract, Extraction, ItemField, columns, push_item};
use super::followed::Followed;
use super::list::{Cache, List, Say};
use super::messages::{Way, WithWay, columns_with_way};
use super::note::Note;
use super::opened::OpenedPayloads;
use super::tunnel::KeptAnswers;
use super::value::{filled, frame, number, seconds, span_ns};
use crate::Row;
use crate::row::Item;
use crate::rows::Rows;

pub(super) const EXTRACTION: Extraction = Extraction {
    name: "http",
    doc: "one row per HTTP/0.9, 1.0, 1.1 or 2 request with its response, on any port",
    columns: || columns_with_way(columns(&[], FIELDS)),
    needs: &[Needs::All],
    start: |settings| {
        let payloads = OpenedPayloads::with_settings(settings);
        Box::new(Http {
            payloads: payloads
                .with_segments_of_hep()
                .with_answers(KeptAnswers::Heads),
            ..Http::default()
        })
    },
    arguments: super::settings::SECRETS,
    aliases: &[],
};

struct HttpRow {
    exchange: Exchange,
    cache: Cache,
}

impl HttpRow {
    fn new(exchange: Exchange) -> Self {
        Self {
            exchange,
            cache: Cache::new(FIELDS.len()),
        }
    }
}

impl Item for HttpRow {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        self.cache.value(FIELDS, index, &self.exchange)
    }

    fn record(&self) -> Option<u64> {
        let answered = response(&self.exchange, |it| it.stamp.frame);
        let asked = request(&self.exchange, |it| it.stamp.frame);
        let mut frames = answered.into_iter().chain(asked);
        frames.find(|frame| *frame > 0)
    }
}

#[derive(Default)]
struct Http {
    payloads: OpenedPayloads,
    found: Exchanges,
    /// The exchanges that were complete only at the end of the capture.
    last: Option<VecDeque<(Exchange, Way)>>,
}

/// A TCP connection.
struct HttpConnection {
    connection: Connection,
    /// The number of octets of each side that were searched.
    seen: [usize; 2],
}

/// The number of octets of a connection in which HTTP is searched for.
const SEARCH_BYTES_MAX: usize = 1 << 16;
/// The same limit for connections between ports of HTTP that began before the capture, as long as one side has sent less
/// than the other limit: the body of a message may come first.
const SEARCH_BEHIND_BODY_BYTES_MAX: usize = 1 << 24;
/// The ports of servers (IANA: http, http-alt).
const PORTS: [u16; 3] = [80, 8_008, 8_080];

struct Exchanges {
    streams: Followed<HttpConnection>,
    dropped: u64,
    /// The number of connections with ports of HTTP in which no message was found.
    not_understood: u64,
    /// The number of blocks of fields of HTTP/2 without a row.
    unknown: u64,
    /// The number of octets of HTTP/2 that were passed over behind losses.
    passed_over: u64,
}

impl HttpConnection {
    /// A connection of which nothing was read before this chunk, from and to these ports.
    fn new(chunk: &Chunk<'_>, ports: [u16; 2]) -> Self {
        let side = usize::from(chunk.sender == Sender::High);
        let client = match ports.map(|port| PORTS.contains(&port)) {
            [false, true] => Some(side),
            [true, false] => Some(1 - side),
            _ => None,
        };
        Self {
            connection: match chunk.saw_start {
                true => Connection::searching(),
                false => Connection::within(client),
            },
            seen: [0; 2],
        }
    }

    /// Returns whether enough of a connection was searched.
    fn is_spent(&self, is_behind_body: bool) -> bool {
        let [low, high] = self.seen;
        let all = low.saturating_add(high);
        match is_behind_body {
            true => low.min(high) > SEARCH_BYTES_MAX || all > SEARCH_BEHIND_BODY_BYTES_MAX,
            false => all > SEARCH_BYTES_MAX,
        }
    }
}

impl Default for Exchanges {
    fn default() -> Self {
        Self {
            streams: Followed::new(HELD_BYTES_MAX),
            dropped: 0,
            not_understood: 0,
            unknown: 0,
            passed_over: 0,
        }
    }
}

/// The number of bytes of heads and requests under way, of all connections.
const HELD_BYTES_MAX: usize = 256 << 20;

impl Exchanges {
    fn payload(&mut self, payload: &Payload<'_>, each: &mut dyn FnMut(Exchange, Way)) -> Interest {
        let Carried::Stream(chunk) = payload.carried else {
            return Interest::Ignore;
        };
        let way = Way::of(payload);
        let Self {
            streams,
            dropped,
            not_understood,
            unknown,
            passed_over,
        } = self;
        let is_expected = way.ports().iter().any(|port| PORTS.contains(port));
        streams.chunk_or_gap(
            chunk,
            |_| Some(HttpConnection::new(chunk, way.ports())),
            |stream| {
                let side = usize::from(chunk.sender == Sender::High);
                if let (Content::Bytes(bytes), Some(seen)) =
                    (chunk.content, stream.seen.get_mut(side))
                {
                    *seen = seen.saturating_add(bytes.len());
                }
                let held = take(&mut stream.connection, chunk, &way, dropped, each);
                let is_found = stream.connection.is_found();
                let is_spent = !is_found && stream.is_spent(is_expected && !chunk.saw_start);
                if held.is_none() || is_spent {
                    *unknown = unknown.saturating_add(stream.connection.unknown());
                    let passed = stream.connection.passed_over();
                    *passed_over = passed_over.saturating_add(passed);
                    let is_other = is_expected && !is_found && stream.seen != [0; 2];
                    *not_understood = not_understood.saturating_add(is_other.into());
                }
                held.filter(|_| !is_spent)
            },
        )
    }
}

/// Reads a chunk of a connection; returns the number of bytes that stay buffered, `None` when nothing more is needed.
fn take(
    connection: &mut Connection,
    chunk: &Chunk<'_>,
    way: &Way,
    dropped: &mut u64,
    each: &mut dyn FnMut(Exchange, Way),
) -> Option<usize> {
    let side = usize::from(chunk.sender == Sender::High);
    let stamp = Stamp {
        time_ns: way.time_ns,
        frame: way.frame,
    };
    let mut found = Vec::new();
    let mut keep = |exchange| found.push(exchange);
    let before = connection.dropped();
    if chunk.saw_start {
        connection.from_start();
    }
    if chunk.lost_before > 0 && chunk.offset == 0 {
        // They may be messages, of which those that follow are the answers.
        connection.gap(side, chunk.lost_before, &mut keep);
    }
    connection.at(side, chunk.offset, chunk.acknowledged);
    let told = match chunk.content {
        Content::Bytes(bytes) => connection.take(side, bytes, stamp, &mut keep),
        Content::Gap(missing) => {
            connection.gap(side, missing, &mut keep);
            ConnectionState::More
        }
        Content::End(StreamEnd::Finished | StreamEnd::Reset) => {
            connection.close(side, &mut keep);
            ConnectionState::More
        }
        Content::End(_) => {
            connection.end(side, &mut keep);
            ConnectionState::More
        }
    };
    let is_over = chunk.is_last || told == ConnectionState::Over;
    if is_over {
        connection.finish(&mut keep);
    }
    *dropped = dropped.saturating_add(connection.dropped() - before);
    // A row has the direction of its request.
    let way = match connection.client_side() == Some(side) {
        true => *way,
        false => way.back(),
    };
    for exchange in found {
        // A response without a request has its own direction.
        let way = match exchange.over {
            Some(over) => Way {
                time_ns: over.time_ns,
                frame: over.frame,
                ..way
            },
            None => way,
        };
        each(exchange, way);
    }
    (!is_over).then(|| connection.held())
}

impl Extract for Http {
    fn keeps_records(&self) -> bool {
        true
    }

    fn packet(&mut self, row: &Row<'_>, rows: &mut Rows) {
        let Self {
            payloads, found, ..
        } = self;
        payloads.packet(row.packet, &mut |payload| {
            found.payload(payload, &mut |exchange, way| {
                let own = HttpRow::new(exchange);
                let item = WithWay {
                    way: &way,
                    own: &own,
                };
                rows.push_row(&row.with_item(&item));
            })
        });
    }

    fn finish(&mut self, rows: &mut Rows) -> bool {
        let Self {
            payloads,
            found,
            last,
        } = self;
        let last = last.get_or_insert_with(|| {
            let mut last = VecDeque::new();
            let mut keep = |exchange, way| last.push_back((exchange, way));
            payloads.finish(&mut |payload| found.payload(payload, &mut keep));
            last
        });
        rows.take_waiting(last, |rows, (exchange, way)| {
            let own = HttpRow::new(exchange);
            let item = WithWay {
                way: &way,
                own: &own,
            };
            push_item(rows, "", &item);
        })
    }

    fn notes(&self) -> Vec<Note> {
        let own = [
            (
                self.found.streams.given_up(),
                "TCP connections were dropped because incomplete messages took more than 256 MiB",
            ),
            (
                self.found.dropped,
                "requests were written without responses because more than 1,024 of a connection waited",
            ),
            (
                self.found.not_understood,
                "TCP connections on the protocol's ports carried no message that could be decoded",
            ),
            (
                self.found.unknown,
                "HEADERS of HTTP/2 have no row, because they refer to fields that were not captured, or are damaged",
            ),
            (
                self.found.passed_over,
                "octets of HTTP/2 behind others that were not captured were not read, because no frame begins with their segments",
            ),
        ];
        let counted = own.into_iter().chain(self.payloads.given_up());
        Note::of("http", counted).collect()
    }
}

fn of_request<'e>(exchange: &'e Exchange, name: &str) -> Option<Value<'e>> {
    let head = &exchange.request.as_ref()?.head;
    field(&head.fields, name)
}

fn of_response<'e>(exchange: &'e Exchange, name: &str) -> Option<Value<'e>> {
    let head = &exchange.response.as_ref()?.head;
    field(&head.fields, name)
}

/// The values of all fields of this name as one value.
fn all_of_request(exchange: &Exchange, name: &str) -> Option<String> {
    combined(&exchange.request.as_ref()?.head, name)
}

fn all_of_response(exchange: &Exchange, name: &str) -> Option<String> {
    combined(&exchange.response.as_ref()?.head, name)
}

/// The values of several fields of a name, which are one list (RFC 9110, 5.2); cookies, which HTTP/2 has in several, are parted by
/// semicolons (RFC 9113, 8.2.3).
fn combined<L>(head: &Head<L>, name: &str) -> Option<String> {
    let between = if name == "cookie" { "; " } else { ", " };
    let values: Vec<&str> = head.all(name).collect();
    (!values.is_empty()).then(|| values.join(between))
}

fn field<'f>(fields: &'f [(String, String)], name: &str) -> Option<Value<'f>> {
    let found = fields
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| Value::Text(value))
}

fn length(value: Option<Value<'_>>) -> Option<Value<'static>> {
    let Some(Value::Text(text)) = value else {
        return None;
    };
    text.trim().parse().ok().map(Value::Unsigned)
}

fn request<T>(exchange: &Exchange, get: impl FnOnce(&Request) -> T) -> Option<T> {
    exchange.request.as_ref().map(get)
}

fn response<T>(exchange: &Exchange, get: impl FnOnce(&Response) -> T) -> Option<T> {
    exchange.response.as_ref().map(get)
}

/// The version of the request, which an upgrade ends, or of the response.
fn version<'e>(
    exchange: &Exchange,
    other: &'e Option<String>,
    minor: u8,
    of_request: bool,
) -> Option<Value<'e>> {
    let was_upgraded = exchange.interim.as_ref().is_some_and(|it| it.code == 101);
    Some(Value::Text(match (exchange.stream, other) {
        (Some(_), _) if !(of_request && was_upgraded) => "HTTP/2",
        (_, Some(other)) if other.is_empty() => return None,
        (_, Some(other)) => other,
        _ if minor == 0 => "HTTP/1.0",
        _ => "HTTP/1.1",
    }))
}

/// The version of the last preliminary response: a response that agrees to an upgrade is of HTTP/1.
fn info_version(exchange: &Exchange) -> Option<Value<'_>> {
    let line = exchange.interim.as_ref()?;
    version(exchange, &line.version, line.minor, true)
}

/// The requested host: HTTP/2 may have it in the authority only (RFC 9113, 8.3.1).
fn host(exchange: &Exchange) -> Option<Value<'_>> {
    of_request(exchange, "host").or_else(|| of_request(exchange, ":authority"))
}

/// The lines of fields, as they were sent.
fn lines(fields: &[(String, String)], list: &mut List) {
    for (name, value) in fields {
        list.text(format_args!("{name}: {value}"));
    }
}

/// The settings of a side, in the form of header lines.
fn settings(settings: Option<&Settings>, list: &mut List) {
    for (identifier, value) in settings.iter().flat_map(|it| it.iter()) {
        match setting_name(*identifier) {
            Some(name) => list.text(format_args!("{name}: {value}")),
            None => list.text(format_args!("{identifier:#06x}: {value}")),
        }
    }
}

/// The user of basic authorization (RFC 7617).
fn username(exchange: &Exchange) -> Option<String> {
    let Some(Value::Text(value)) = of_request(exchange, "authorization") else {
        return None;
    };
    let (scheme, coded) = value.trim().split_once(' ')?;
    let text = scheme
        .eq_ignore_ascii_case("basic")
        .then(|| weir_messages::base64(coded.trim()))??;
    let user = text.split(|byte| *byte == b':').next()?;
    Some(weir_messages::printable(user))
}

/// The whole URI, as it would be typed.
fn full_uri(exchange: &Exchange) -> Option<String> {
    let request = exchange.request.as_ref()?;
    let target = &request.head.line.target;
    if target.is_empty() {
        return None;
    }
    if target.contains("://") {
        return Some(target.clone());
    }
    let Some(Value::Text(host)) = host(exchange) else {
        return None;
    };
    let scheme = request.head.field(":scheme").unwrap_or("http");
    Some(format!("{scheme}://{host}{target}"))
}

#[rustfmt::skip]
static FIELDS: &[ItemField<Say<Exchange>>] = &[
    ItemField::new("http.trans_depth", Kind::U32, Say::Value(|e| number(e.depth)),
        "Number of the exchange within its connection, from 1", "weir"),
    ItemField::new("http.start", Kind::Time, Say::Value(|e| match &e.request {
            Some(request) => request.stamp.time_ns.map(Value::Time),
            None => response(e, |it| it.stamp.time_ns)?.map(Value::Time),
        }), "Time of the last octet of the request's header section; of the response's where the request was not seen", "weir"),
    ItemField::new("http.time", Kind::F64, Say::Value(|e| {
            let asked_ns = request(e, |it| it.stamp.time_ns)?;
            seconds(span_ns(asked_ns, response(e, |it| it.stamp.time_ns)?)?)
        }), "Seconds from the request's header section to the response's", "weir"),
    ItemField::new("http.request.frame", Kind::U64, Say::Value(|e| frame(request(e, |it| it.stamp.frame)?)),
        "Number of the record with the last octet of the request's header section", "weir"),
    ItemField::new("http.response.frame", Kind::U64, Say::Value(|e| frame(response(e, |it| it.stamp.frame)?)),
        "Number of the record with the last octet of the response's header section", "weir"),
    ItemField::new("http.request.method", Kind::Text, Say::Value(|e| Some(Value::Text(&e.request.as_ref()?.head.line.method))),
        "Request method", "RFC 9110, 9"),
    ItemField::new("http.host", Kind::Text, Say::Value(host),
        "Host of the request", "RFC 9110, 7.2"),
    ItemField::new("http.request.uri", Kind::Text, Say::Value(|e| {
            let target = &e.request.as_ref()?.head.line.target;
            Some(Value::Text(target)).filter(|_| !target.is_empty())
        }), "Request target, as written; NULL where its end was not captured", "RFC 9112, 3.2"),
    ItemField::new("http.request.full_uri", Kind::Text, Say::Text(full_uri),
        "Request target with scheme and host", "RFC 9112, 3.3"),
    ItemField::new("http.request.version", Kind::Text, Say::Value(|e| version(e, &e.request.as_ref()?.head.line.version, request(e, |it| it.head.line.minor)?, true)),
        "Version of the request: HTTP/1.0, HTTP/1.1, HTTP/2, or another as written", "RFC 9112, 2.3; RFC 9113"),
    ItemField::new("http.user_agent", Kind::Text, Say::Value(|e| of_request(e, "user-agent")),
        "User-Agent: software of the client", "RFC 9110, 10.1.5"),
    ItemField::new("http.referer", Kind::Text, Say::Value(|e| of_request(e, "referer")),
        "Referer: page that led to the request", "RFC 9110, 10.1.3"),
    ItemField::new("http.origin", Kind::Text, Say::Value(|e| of_request(e, "origin")),
        "Origin: site that makes the request", "RFC 6454, 7"),
    ItemField::new("http.cookie", Kind::Text, Say::Text(|e| all_of_request(e, "cookie")),
        "Cookie: cookies that the client sends, of all fields", "RFC 6265, 4.2; RFC 9113, 8.2.3"),
    ItemField::new("http.accept", Kind::Text, Say::Text(|e| all_of_request(e, "accept")),
        "Accept: media types that the client accepts", "RFC 9110, 12.5.1"),
    ItemField::new("http.accept_language", Kind::Text, Say::Text(|e| all_of_request(e, "accept-language")),
        "Accept-Language: languages that the client accepts", "RFC 9110, 12.5.4"),
    ItemField::new("http.accept_encoding", Kind::Text, Say::Text(|e| all_of_request(e, "accept-encoding")),
        "Accept-Encoding: content codings that the client accepts", "RFC 9110, 12.5.3"),
    ItemField::new("http.authorization", Kind::Text, Say::Value(|e| of_request(e, "authorization")),
        "Authorization: credentials of the client", "RFC 9110, 11.6.2"),
    ItemField::new("http.username", Kind::Text, Say::Text(username),
        "User name of Basic authentication", "RFC 7617, 2"),
    ItemField::new("http.x_forwarded_for", Kind::Text, Say::Text(|e| all_of_request(e, "x-forwarded-for")),
        "X-Forwarded-For: client on whose behalf a proxy sent the request", "RFC 7239, 7.4"),
    ItemField::new("http.request.priority", Kind::Text, Say::Text(|e| all_of_request(e, "priority")),
        "Priority that the request asks for, such as u=1, i", "RFC 9218, 5"),
    ItemField::new("http.upgrade", Kind::Text, Say::Text(|e| all_of_request(e, "upgrade")),
        "Upgrade: protocols that the client would switch to", "RFC 9110, 7.8"),
    ItemField::new("http.request.connection", Kind::Text, Say::Text(|e| all_of_request(e, "connection")),
        "Connection header of the request", "RFC 9110, 7.6.1"),
    ItemField::new("http.request.content_type", Kind::Text, Say::Value(|e| of_request(e, "content-type")),
        "Content-Type of the request", "RFC 9110, 8.3"),
    ItemField::new("http.request.content_length", Kind::U64, Say::Value(|e| length(of_request(e, "content-length"))),
        "Content-Length of the request", "RFC 9110, 8.6"),
    ItemField::new("http.request.body_len", Kind::U64, Say::Value(|e| number(request(e, |it| it.body_len)?)),
        "Captured octets of the request's body, without chunk framing", "RFC 9112, 6"),
    ItemField::new("http.request.body", Kind::Bytes, Say::Value(|e| Some(Value::Bytes(&e.request.as_ref()?.body)).filter(|_| request(e, |it| !it.body.is_empty()) == Some(true))),
        "The first 256 octets of the request's body", "RFC 9112, 6"),
    ItemField::new("http.request.line", Kind::Texts, Say::List(|e, list| { request(e, |it| lines(&it.head.fields, list)); }),
        "All header fields of the request", "RFC 9112, 5"),
    ItemField::new("http.response.code", Kind::U16, Say::Value(|e| number(response(e, |it| it.head.line.code).filter(|code| *code != 0)?)),
        "Status code; NULL where it is not a number", "RFC 9110, 15"),
    ItemField::new("http.response.phrase", Kind::Text, Say::Value(|e| filled(e.response.as_ref()?.head.line.phrase.as_bytes())),
        "Reason phrase", "RFC 9112, 4"),
    ItemField::new("http.response.version", Kind::Text, Say::Value(|e| version(e, &e.response.as_ref()?.head.line.version, response(e, |it| it.head.line.minor)?, false)),
        "Version of the response", "RFC 9112, 2.3; RFC 9113"),
    ItemField::new("http.info_code", Kind::U16, Say::Value(|e| number(e.interim.as_ref()?.code)),
        "Status code of the last interim (1xx) response", "RFC 9110, 15.2"),
    ItemField::new("http.info_phrase", Kind::Text, Say::Value(|e| filled(e.interim.as_ref()?.phrase.as_bytes())),
        "Reason phrase of the last interim response", "RFC 9112, 4"),
    ItemField::new("http.info_version", Kind::Text, Say::Value(info_version),
        "Version of the last interim response", "RFC 9112, 2.3; RFC 9113"),
    ItemField::new("http.info_frame", Kind::U64, Say::Value(|e| { e.interim.as_ref()?; frame(e.interim_stamp.frame) }),
        "Number of the record with the last octet of its header section", "weir"),
    ItemField::new("http.server", Kind::Text, Say::Value(|e| of_response(e, "server")),
        "Server: software of the server", "RFC 9110, 10.2.4"),
    ItemField::new("http.content_type", Kind::Text, Say::Value(|e| of_response(e, "content-type")),
        "Content-Type of the response", "RFC 9110, 8.3"),
    ItemField::new("http.content_length", Kind::U64, Say::Value(|e| length(of_response(e, "content-length"))),
        "Content-Length of the response", "RFC 9110, 8.6"),
    ItemField::new("http.content_encoding", Kind::Text, Say::Text(|e| all_of_response(e, "content-encoding")),
        "Content-Encoding of the response", "RFC 9110, 8.4"),
    ItemField::new("http.transfer_encoding", Kind::Text, Say::Text(|e| all_of_response(e, "transfer-encoding")),
        "Transfer-Encoding of the response", "RFC 9112, 6.1"),
    ItemField::new("http.location", Kind::Text, Say::Value(|e| of_response(e, "location")),
        "Location: target of a redirection, or the new resource", "RFC 9110, 10.2.2"),
    ItemField::new("http.date", Kind::Text, Say::Value(|e| of_response(e, "date")),
        "Date: time of the response by the server's clock", "RFC 9110, 6.6.1"),
    ItemField::new("http.last_modified", Kind::Text, Say::Value(|e| of_response(e, "last-modified")),
        "Last-Modified: last change of the resource, as the server says", "RFC 9110, 8.8.2"),
    ItemField::new("http.cache_control", Kind::Text, Say::Text(|e| all_of_response(e, "cache-control")),
        "Cache-Control of the response", "RFC 9111, 5.2"),
    ItemField::new("http.response.priority", Kind::Text, Say::Text(|e| all_of_response(e, "priority")),
        "Priority that the server gives the response", "RFC 9218, 8"),
    ItemField::new("http.set_cookie", Kind::Texts, Say::List(|e, list| { response(e, |it| it.head.all("set-cookie").for_each(|cookie| list.text(cookie))); }),
        "Set-Cookie: cookies that the server sets", "RFC 6265, 4.1"),
    ItemField::new("http.www_authenticate", Kind::Text, Say::Text(|e| all_of_response(e, "www-authenticate")),
        "WWW-Authenticate: how the client is to authenticate itself", "RFC 9110, 11.6.1"),
    ItemField::new("http.response.body_len", Kind::U64, Say::Value(|e| number(response(e, |it| it.body_len)?)),
        "Captured octets of the response's body, without chunk framing", "RFC 9112, 6"),
    ItemField::new("http.response.body", Kind::Bytes, Say::Value(|e| Some(Value::Bytes(&e.response.as_ref()?.body)).filter(|_| response(e, |it| !it.body.is_empty()) == Some(true))),
        "The first 256 octets of the response's body", "RFC 9112, 6"),
    ItemField::new("http.response.line", Kind::Texts, Say::List(|e, list| { response(e, |it| lines(&it.head.fields, list)); }),
        "All header fields of the response", "RFC 9112, 5"),
    ItemField::new("http2.streamid", Kind::U32, Say::Value(|e| number(e.stream?)),
        "HTTP/2 stream of the exchange", "RFC 9113, 5.1.1"),
    ItemField::new("http2.request.settings", Kind::Texts, Say::List(|e, list| settings(e.request_settings.as_ref(), list)),
        "HTTP/2 settings of the client before the request, such as initial_window_size: 65535", "RFC 9113, 6.5.2"),
    ItemField::new("http2.response.settings", Kind::Texts, Say::List(|e, list| settings(e.response_settings.as_ref(), list)),
        "HTTP/2 settings of the server before the response, such as max_concurrent_streams: 100", "RFC 9113, 6.5.2"),
    ItemField::new("http2.stream_dependency", Kind::U32, Say::Value(|e| number(e.priority.as_ref()?.dependency?.stream)),
        "Stream that this one depends on, as the client sent it last", "RFC 7540, 5.3.1"),
    ItemField::new("http2.exclusive", Kind::Bool, Say::Value(|e| Some(Value::Bool(e.priority.as_ref()?.dependency?.is_exclusive))),
        "The dependency on that stream is exclusive", "RFC 7540, 5.3.1"),
    ItemField::new("http2.headers.weight", Kind::U8, Say::Value(|e| number(e.priority.as_ref()?.dependency?.weight)),
        "Weight among the streams that depend on the same one, less one, as sent", "RFC 7540, 5.3.2"),
    ItemField::new("http2.priority_update_field_value", Kind::Text, Say::Value(|e| Some(Value::Text(e.priority.as_ref()?.update.as_deref()?))),
        "Priority that the last PRIORITY_UPDATE gave the stream, such as u=1, i", "RFC 9218, 7.1"),
    ItemField::new("http.whole", Kind::Bool, Say::Value(|e| Some(Value::Bool(
            request(e, |it| it.is_whole && it.missing == 0) == Some(true) && response(e, |it| it.is_whole && it.missing == 0) == Some(true)))),
        "Request and response were captured completely", "weir"),
    ItemField::new("http.missing", Kind::U64, Say::Value(|e| number(request(e, |it| it.missing).unwrap_or(0) + response(e, |it| it.missing).unwrap_or(0))),
        "Octets of both bodies that were not captured", "weir"),
    ItemField::new("http.fault", Kind::Text, Say::Value(|e| e.fault.map(|fault| Value::Text(fault.as_str()))),
        "What is wrong: bytes were not captured, something other than a header section follows, a header section is malformed or has no end, a chunk has no size, a body has no end, the header section gives several lengths of the body or an invalid one, the stream was reset, fields are damaged or too long, or the response may belong to another request", "weir"),
];
