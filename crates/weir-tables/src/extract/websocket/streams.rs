//! WebSocket connections on streams of one HTTP/2 connection (RFC 8441).

use std::collections::BTreeMap;

use weir_flow::{Chunk, Content, Sender, StreamEnd};
use weir_messages::http::{self, Head, RequestLine, StreamEvent, StreamOrigin};
use weir_messages::tls::Stamp;
use weir_ws::{Connection, Direction, Handshake};

use super::frames::Arrival;
use super::sight::WebSocketSight;
use super::socket::{Route, Socket};
use crate::extract::came_in::CameIn;

/// The number of streams of a connection that are followed, at most.
const STREAMS_MAX: usize = 1_024;

/// An HTTP/2 connection, and its streams that are or may become WebSocket connections.
#[derive(Debug)]
pub(super) struct Streams {
    route: Route,
    http: http::Streams,
    /// The frames of the capture in which a header came whose data have not begun, of each side.
    headers: [CameIn; 2],
    sockets: Sockets,
}

/// The counters of streams that were left out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// The number of streams without a handshake that broke a rule.
    pub(super) dropped: u64,
    /// The number of streams beyond the limit.
    pub(super) refused: u64,
    /// The number of streams with data whose request or response was not seen.
    pub(super) unanswered: u64,
}

#[derive(Debug, Default)]
struct Sockets {
    streams: BTreeMap<u32, SocketStream>,
    held: usize,
    counts: Counts,
}

#[derive(Debug)]
struct SocketStream {
    /// The WebSocket connection; `None` for another stream.
    socket: Option<Socket>,
    /// The directions that have ended, to the server and to the client.
    ended: [bool; 2],
    /// Whether the data of the stream wait for the request or the response.
    is_awaited: bool,
    /// The number of its bytes that count for the limit.
    counted: usize,
}

/// The next content of a stream.
enum StreamStep<'a> {
    Take(Direction, Content<'a>),
    Agree(Handshake),
    Refuse,
}

impl Streams {
    /// Creates a connection that begins with this chunk, or continues with it.
    pub(super) fn new(chunk: &Chunk<'_>, is_whole: bool, from_client: bool) -> Self {
        let route = Route::new(chunk, from_client);
        let client = route.client_side();
        Self {
            route,
            http: match is_whole {
                true => http::Streams::new(client),
                false => http::Streams::from_middle(client),
            },
            headers: Default::default(),
            sockets: Sockets::default(),
        }
    }

    pub(super) fn held_bytes(&self) -> usize {
        let headers: usize = self.headers.iter().map(CameIn::held_bytes).sum();
        let held = self.http.held().saturating_add(self.sockets.held);
        held.saturating_add(headers)
    }

    /// The counters since the last call.
    pub(super) fn take_counts(&mut self) -> Counts {
        std::mem::take(&mut self.sockets.counts)
    }

    pub(super) fn chunk(
        &mut self,
        chunk: &Chunk<'_>,
        now: Arrival<'_>,
        each: &mut dyn FnMut(&WebSocketSight<'_>),
    ) {
        let Self {
            route,
            http,
            headers: [low, high],
            sockets,
        } = self;
        let side = usize::from(chunk.sender == Sender::High);
        let headers = match chunk.sender {
            Sender::Low => low,
            Sender::High => high,
        };
        // The header of the first data may have come before.
        let mut others = Some(headers.before(now.others));
        let mut event = |event: StreamEvent<'_>| {
            let of_data = match event {
                StreamEvent::Data { .. } => others.take(),
                _ => None,
            };
            let now = Arrival {
                others: of_data.as_deref().unwrap_or(now.others),
                ..now
            };
            sockets.event(&event, (route, now), each);
        };
        match chunk.content {
            Content::Bytes(bytes) => {
                let stamp = Stamp {
                    time_ns: chunk.time_ns,
                    frame: chunk.frame,
                };
                http.take(side, bytes, stamp, &mut event);
                let held = http.header_octets(side);
                headers.add(now.occasion.frame, now.others, bytes.len(), held);
            }
            Content::Gap(octets) => {
                http.gap(side, octets, &mut event);
                headers.keep(http.header_octets(side));
            }
            Content::End(end) => {
                sockets.end_all(route.direction(chunk.sender), end, now, each);
            }
        }
    }
}

impl Sockets {
    fn event(
        &mut self,
        event: &StreamEvent<'_>,
        (route, now): (&Route, Arrival<'_>),
        each: &mut dyn FnMut(&WebSocketSight<'_>),
    ) {
        let direction = |side: usize| match side == route.client_side() {
            true => Direction::ToServer,
            false => Direction::ToClient,
        };
        match *event {
            StreamEvent::Answered {
                stream,
                request,
                response,
            } => {
                let code = response.head.line.code;
                let step = match is_websocket(&request.head) && code / 100 == 2 {
                    true => StreamStep::Agree(handshake(request, response)),
                    false => StreamStep::Refuse,
                };
                if self.begin(stream, StreamOrigin::Awaited, route) {
                    self.step(stream, step, now, each);
                }
            }
            StreamEvent::Data {
                stream,
                side,
                octets,
                origin,
            } if self.begin(stream, origin, route) => {
                let step = StreamStep::Take(direction(side), Content::Bytes(octets));
                self.step(stream, step, now, each);
            }
            StreamEvent::Missing {
                stream,
                side,
                octets,
            } => {
                let step = StreamStep::Take(direction(side), Content::Gap(octets));
                self.step(stream, step, now, each);
            }
            StreamEvent::Ended { stream, side } => {
                let step = StreamStep::Take(direction(side), Content::End(StreamEnd::Finished));
                self.step(stream, step, now, each);
            }
            StreamEvent::Lost { side } => {
                // The share of each stream in the gap is unknown.
                let streams: Vec<u32> = self.streams.keys().copied().collect();
                for stream in streams {
                    let step = StreamStep::Take(direction(side), Content::Gap(u64::MAX));
                    self.step(stream, step, now, each);
                }
            }
            _ => {}
        }
    }

    /// Returns true for a stream that is followed; a possible WebSocket connection is followed from now on.
    fn begin(&mut self, stream: u32, origin: StreamOrigin, route: &Route) -> bool {
        if self.streams.contains_key(&stream) {
            return true;
        }
        let connection = match origin {
            StreamOrigin::Over => return false,
            StreamOrigin::Awaited => Connection::without_heads,
            StreamOrigin::Unseen => Connection::new,
        };
        if self.streams.len() >= STREAMS_MAX && !self.make_room() {
            self.counts.refused = self.counts.refused.saturating_add(1);
            return false;
        }
        let socket = Socket::new(route, Some(stream), connection);
        let stream_of = SocketStream {
            socket: Some(socket),
            ended: [false; 2],
            is_awaited: origin == StreamOrigin::Awaited,
            counted: 0,
        };
        self.streams.insert(stream, stream_of);
        true
    }

    /// Removes a stream that is no WebSocket connection, or half of which is over.
    fn make_room(&mut self) -> bool {
        let is_over = |it: &SocketStream| it.socket.is_none() || it.ended != [false; 2];
        let over = self.streams.iter().find(|(_, it)| is_over(it));
        let over = over.map(|(stream, _)| *stream);
        over.is_some_and(|stream| {
            self.remove(stream);
            true
        })
    }

    fn remove(&mut self, stream: u32) {
        if let Some(removed) = self.streams.remove(&stream) {
            self.held = self.held.saturating_sub(removed.counted);
            let unanswered = u64::from(removed.is_awaited);
            self.counts.unanswered = self.counts.unanswered.saturating_add(unanswered);
        }
    }

    fn step(
        &mut self,
        stream: u32,
        step: StreamStep<'_>,
        now: Arrival<'_>,
        each: &mut dyn FnMut(&WebSocketSight<'_>),
    ) {
        let Some(place) = self.streams.get_mut(&stream) else {
            return;
        };
        if let StreamStep::Take(direction, Content::End(_)) = step {
            let slot = usize::from(direction == Direction::ToClient);
            if let Some(ended) = place.ended.get_mut(slot)
                && std::mem::replace(ended, true)
            {
                return;
            }
        }
        if let StreamStep::Agree(_) | StreamStep::Refuse = step {
            place.is_awaited = false;
        }
        let is_gap = matches!(step, StreamStep::Take(_, Content::Gap(_)));
        let mut begins_anew = false;
        if let Some(socket) = &mut place.socket {
            let goes_on = match step {
                StreamStep::Take(direction, content) => socket.take(direction, content, now, each),
                StreamStep::Agree(handshake) => socket.agree(&handshake, now, each),
                StreamStep::Refuse => false,
            };
            let held = if goes_on { socket.held_bytes() } else { 0 };
            self.held = self.held.saturating_sub(place.counted).saturating_add(held);
            place.counted = held;
            if !goes_on {
                let broke = socket.is_mid_stream().into();
                self.counts.dropped = self.counts.dropped.saturating_add(broke);
                place.socket = None;
            }
            // A stream with missing octets may be recognised again by its later frames.
            begins_anew = is_gap && !goes_on && !place.is_awaited;
        }
        if place.ended == [true; 2] || begins_anew {
            self.remove(stream);
        }
    }

    /// Ends a direction of all streams, as that of the TCP connection is over.
    fn end_all(
        &mut self,
        direction: Direction,
        end: StreamEnd,
        now: Arrival<'_>,
        each: &mut dyn FnMut(&WebSocketSight<'_>),
    ) {
        let streams: Vec<u32> = self.streams.keys().copied().collect();
        for stream in streams {
            let step = StreamStep::Take(direction, Content::End(end));
            self.step(stream, step, now, each);
        }
    }
}

/// Returns whether a request opens a WebSocket connection (RFC 8441, 5).
fn is_websocket(head: &Head<RequestLine>) -> bool {
    let protocol = head.field(":protocol").unwrap_or_default();
    protocol.eq_ignore_ascii_case("websocket")
}

fn handshake(request: &http::Request, response: &http::Response) -> Handshake {
    const EXTENSIONS: &str = "sec-websocket-extensions";
    let offers: Vec<&str> = request.head.all(EXTENSIONS).collect();
    let answers: Vec<&str> = response.head.all(EXTENSIONS).collect();
    let host = request.head.field(":authority");
    let host = host.or_else(|| request.head.field("host"));
    Handshake::of_heads(
        (&request.head.line.target, host.unwrap_or_default()),
        response.head.line.code,
        (&offers.join(", "), &answers.join(", ")),
    )
}
