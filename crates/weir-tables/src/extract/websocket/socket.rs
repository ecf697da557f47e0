//! One WebSocket connection, which reads octets of both directions and reports events.

use weir_flow::{Chunk, Content, Endpoint, Sender};
use weir_ws::{
    Connection, ConnectionEvent, DecoderOptions, Direction, Event, Handshake, InflateOptions,
};

use super::frames::{Arrival, MessageFrames, Occasion, WaitingPieces, slot};
use super::sight::{MESSAGE_BYTES_MAX, WebSocketEnds, WebSocketSight};

/// The status by which a server accepts the upgrade (RFC 6455, 4.2.2).
const SWITCHING_PROTOCOLS: u16 = 101;
/// The number of bits of a connection's number below those of its stream.
const STREAM_SHIFT: u32 = 32;

/// A WebSocket connection, or a possible one.
#[derive(Debug)]
pub(super) struct Socket {
    ends: WebSocketEnds,
    connection: Connection,
    /// The origins of the pieces that wait until the connection is recognised.
    waiting: Option<WaitingPieces>,
    /// The frames of the messages under way.
    frames: MessageFrames,
}

/// Both ends of a TCP connection, and which of them is the client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    connection: u64,
    flow: u64,
    client: Endpoint,
    server: Endpoint,
    client_sender: Sender,
}

/// A WebSocket that is the only content of a TCP connection.
#[derive(Debug)]
pub(super) struct OneSocket {
    route: Route,
    socket: Socket,
    /// The number of octets of the server that the client had received before its request: they answer another one, and may be
    /// captured behind it.
    before: u64,
}

impl Route {
    /// The route of a chunk that the client sent, or the server.
    pub(super) fn new(chunk: &Chunk<'_>, from_client: bool) -> Self {
        let (client, server) = match from_client {
            true => (chunk.source(), chunk.destination()),
            false => (chunk.destination(), chunk.source()),
        };
        Self {
            connection: chunk.connection,
            flow: chunk.flow,
            client,
            server,
            client_sender: match (from_client, chunk.sender) {
                (true, sender) => sender,
                (false, Sender::Low) => Sender::High,
                (false, Sender::High) => Sender::Low,
            },
        }
    }

    pub(super) fn direction(&self, sender: Sender) -> Direction {
        match sender == self.client_sender {
            true => Direction::ToServer,
            false => Direction::ToClient,
        }
    }

    /// The side of the client, 0 or 1.
    pub(super) fn client_side(&self) -> usize {
        usize::from(self.client_sender == Sender::High)
    }

    fn ends(&self, stream: Option<u32>) -> WebSocketEnds {
        WebSocketEnds {
            connection: self.connection | u64::from(stream.unwrap_or_default()) << STREAM_SHIFT,
            stream,
            flow: self.flow,
            client: self.client,
            server: self.server,
            handshake: None,
            agreed: None,
            mid_stream: false,
        }
    }
}

impl OneSocket {
    pub(super) fn new(chunk: &Chunk<'_>, from_client: bool) -> Self {
        let route = Route::new(chunk, from_client);
        Self {
            socket: Socket::new(&route, None, Connection::new),
            route,
            before: match from_client && chunk.saw_start {
                true => chunk.acknowledged.unwrap_or(0),
                false => 0,
            },
        }
    }

    pub(super) const fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Reads a chunk; returns false when nothing more is needed.
    pub(super) fn chunk(
        &mut self,
        chunk: &Chunk<'_>,
        now: Arrival<'_>,
        each: &mut dyn FnMut(&WebSocketSight<'_>),
    ) -> bool {
        let direction = self.route.direction(chunk.sender);
        let before = match direction {
            Direction::ToServer => 0,
            Direction::ToClient => self.before.saturating_sub(chunk.offset),
        };
        let content = match chunk.content {
            Content::Bytes(bytes) => {
                let before = usize::try_from(before).unwrap_or(usize::MAX);
                let rest = bytes.get(before..).unwrap_or_default();
                if rest.is_empty() {
                    return true;
                }
                Content::Bytes(rest)
            }
            Content::Gap(octets) if before >= octets => return true,
            Content::Gap(octets) => Content::Gap(octets.saturating_sub(before)),
            end @ Content::End(_) => end,
        };
        self.socket.take(direction, content, now, each)
    }
}

impl Socket {
    /// Creates the next connection, on a stream of HTTP/2 or alone.
    pub(super) fn new(
        route: &Route,
        stream: Option<u32>,
        connection: impl FnOnce(DecoderOptions) -> Connection,
    ) -> Self {
        let mut options = DecoderOptions::default();
        options.message_bytes_max = MESSAGE_BYTES_MAX;
        // Compression is assumed of connections without a handshake; frames show whether it is used.
        options.inflate = Some(InflateOptions {
            message_bytes_max: MESSAGE_BYTES_MAX,
            ..InflateOptions::default()
        });
        Self {
            ends: route.ends(stream),
            connection: connection(options),
            waiting: Some(WaitingPieces::default()),
            frames: MessageFrames::default(),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        let handshake = self.ends.handshake.as_ref();
        self.ends.mid_stream || handshake.is_some_and(|it| it.status == SWITCHING_PROTOCOLS)
    }

    /// The number of bytes that wait for the other head.
    pub(super) fn bytes_behind_heads(&self) -> u64 {
        self.connection.bytes_behind_heads()
    }

    pub(super) const fn is_mid_stream(&self) -> bool {
        self.ends.mid_stream
    }

    pub(super) fn held_bytes(&self) -> usize {
        let waiting = self.waiting.as_ref().map_or(0, WaitingPieces::held_bytes);
        let frames = self.frames.held_bytes();
        let held = self.connection.held_bytes();
        held.saturating_add(waiting).saturating_add(frames)
    }

    /// Reads the next content of a direction; returns false when nothing more is needed.
    pub(super) fn take(
        &mut self,
        direction: Direction,
        content: Content<'_>,
        now: Arrival<'_>,
        each: &mut dyn FnMut(&WebSocketSight<'_>),
    ) -> bool {
        let octets = match content {
            Content::Bytes(bytes) => Some(bytes.len()),
            _ => None,
        };
        let was_waiting = self.waiting.is_some();
        if let (Some(octets), Some(waiting)) = (octets, &mut self.waiting) {
            waiting.push(direction, octets, now);
        }
        let goes_on = self.read(
            Some(direction),
            now,
            each,
            |connection, each| match content {
                Content::Bytes(bytes) => connection.feed(direction, bytes, each),
                Content::Gap(bytes) => connection.gap(direction, bytes, each),
                Content::End(_) => connection.finish_direction(direction, each),
            },
        );
        // The frames of pieces that waited were counted before.
        if !was_waiting {
            self.frames.take(direction, octets, now, &self.connection);
        }
        goes_on
    }

    /// Reads the handshake of an HTTP/2 stream; returns false when nothing more is needed.
    pub(super) fn agree(
        &mut self,
        handshake: &Handshake,
        now: Arrival<'_>,
        each: &mut dyn FnMut(&WebSocketSight<'_>),
    ) -> bool {
        self.read(None, now, each, |connection, each| {
            connection.agree(handshake, each);
        })
    }

    /// Reports the events of a step.
    fn read(
        &mut self,
        taken: Option<Direction>,
        now: Arrival<'_>,
        each: &mut dyn FnMut(&WebSocketSight<'_>),
        step: impl FnOnce(&mut Connection, &mut dyn FnMut(ConnectionEvent<'_>)),
    ) -> bool {
        let Self {
            ends,
            connection,
            waiting,
            frames,
        } = self;
        let mut goes_on = true;
        let mut is_open = false;
        let mut occasion = now.occasion;
        // The frames of messages are looked up once a message is whole, and not with each piece of a long one.
        let mut found: Option<[Vec<u64>; 2]> = None;
        // The offsets of the last control frames.
        let mut controls = [None; 2];
        let mut hand_on = |event: ConnectionEvent<'_>| {
            match event {
                ConnectionEvent::Handshake(handshake) => {
                    ends.agreed = handshake.agreed.map(|agreed| agreed.to_string());
                    ends.handshake = Some(handshake.clone());
                    is_open = true;
                    found = Some(Default::default());
                }
                ConnectionEvent::MidStream => {
                    ends.mid_stream = true;
                    is_open = true;
                    found = Some(Default::default());
                }
                ConnectionEvent::Replay { number, bytes } => {
                    if let Some(waiting) = waiting {
                        occasion = waiting.replay(number, bytes).unwrap_or(now.occasion);
                    }
                    return;
                }
                ConnectionEvent::NotWebSocket => {
                    goes_on = false;
                    return;
                }
                _ => {}
            }
            let ConnectionEvent::Wire(direction, Event::Message(message)) = event else {
                return each(&sight(ends, event, occasion, &[]));
            };
            let found = found.get_or_insert_with(|| frames.before(taken, now));
            let others = &mut found[slot(direction)];
            let control = &mut controls[slot(direction)];
            let begin_anew = |others: &mut Vec<u64>| {
                others.clear();
                if taken == Some(direction) {
                    others.extend_from_slice(now.others);
                }
            };
            if control.is_some_and(|offset| offset < message.offset) {
                begin_anew(others);
            }
            if let Some(waiting) = waiting
                && waiting.is_replayed()
            {
                *others = waiting.frames_from(direction, message.offset);
            }
            each(&sight(ends, event, occasion, others));
            // Control frames may stand between the frames of a message (RFC 6455, 5.4).
            match message.opcode.is_control() {
                true => *control = Some(message.offset),
                false => begin_anew(others),
            }
        };
        step(connection, &mut hand_on);
        if is_open && let Some(waited) = waiting.take() {
            *frames = waited.into_frames(connection);
        }
        goes_on
    }
}

const fn sight<'a>(
    ends: &'a WebSocketEnds,
    event: ConnectionEvent<'a>,
    occasion: Occasion,
    others: &'a [u64],
) -> WebSocketSight<'a> {
    WebSocketSight {
        ends,
        event,
        time_ns: occasion.time_ns,
        frame: occasion.frame,
        others,
    }
}
