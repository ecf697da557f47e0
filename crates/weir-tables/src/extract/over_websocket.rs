//! The contents of WebSocket messages as pieces of the stream of another protocol, such as MQTT (MQTT 5.0, 6).

use std::collections::HashMap;

use weir_flow::{Chunk, Content, Interest, Payload, Sender, StreamEnd};
use weir_ws::{ConnectionEvent, Direction, Event, Opcode};

use super::websocket::{Connections, WebSocketSight};

/// Reads TCP connections as they are, and the binary messages of those that become WebSocket connections as streams of
/// their own. Those over HTTP/2 are not read.
#[derive(Debug, Default)]
pub(super) struct OverWebSocket {
    connections: Connections,
    /// The streams of binary messages, by the numbers of their TCP connections.
    streams: HashMap<u64, MessageStream>,
    /// The connections of which nothing more is wanted as they are, or as those of WebSocket.
    unwanted: HashMap<u64, [bool; 2]>,
}

/// A stream of binary messages.
#[derive(Clone, Copy, Debug, Default)]
struct MessageStream {
    /// The number of octets of each side so far.
    octets: [u64; 2],
    is_unwanted: bool,
}

/// The bit by which the numbers of these streams differ from those of their TCP connections.
const MESSAGES: u64 = 1 << 62;

/// The callback for a piece of a stream.
type OnPiece<'e> = dyn FnMut(&Payload<'_>, &Chunk<'_>) -> Interest + 'e;

impl OverWebSocket {
    /// The counters of what was not read.
    pub(super) const fn counted(&self) -> [(u64, &'static str); 3] {
        self.connections.counted()
    }

    /// Reads a chunk of a TCP connection, and reports it, and the pieces that its WebSocket messages are.
    pub(super) fn chunk(
        &mut self,
        payload: &Payload<'_>,
        chunk: &Chunk<'_>,
        each: &mut OnPiece<'_>,
    ) -> Interest {
        let known = self.unwanted.get(&chunk.connection).copied();
        let [mut plain, mut messages] = known.unwrap_or_default();
        plain = plain || each(payload, chunk) == Interest::Ignore;
        messages = messages || self.messages(payload, chunk, each) == Interest::Ignore;
        if plain && messages || chunk.is_last {
            self.unwanted.remove(&chunk.connection);
            self.end(payload, chunk, each);
            return Interest::Ignore;
        }
        if plain || messages {
            self.unwanted.insert(chunk.connection, [plain, messages]);
        }
        Interest::Follow
    }

    /// Reports the pieces that the WebSocket messages of a chunk are.
    fn messages(
        &mut self,
        payload: &Payload<'_>,
        chunk: &Chunk<'_>,
        each: &mut OnPiece<'_>,
    ) -> Interest {
        let streams = &mut self.streams;
        self.connections
            .chunk(payload, chunk, &mut |sight: &WebSocketSight<'_>| {
                let ConnectionEvent::Wire(direction, Event::Message(message)) = sight.event else {
                    return;
                };
                let is_binary = matches!(message.opcode, Opcode::Binary);
                if !is_binary || sight.ends.stream.is_some() {
                    return;
                }
                let stream = streams.entry(chunk.connection).or_default();
                let is_low = payload.key.low() == sight.ends.client;
                let sender = match (direction, is_low) {
                    (Direction::ToServer, true) | (Direction::ToClient, false) => Sender::Low,
                    (Direction::ToServer, false) | (Direction::ToClient, true) => Sender::High,
                };
                // What a server sends first answers octets of its client, which are captured behind it in captures out of order.
                let is_answer = direction == Direction::ToClient && stream.octets == [0; 2];
                let offset = stream.add(sender, message.payload.len());
                if stream.is_unwanted {
                    return;
                }
                let piece = Chunk {
                    connection: chunk.connection | MESSAGES,
                    sender,
                    from_originator: chunk.from_originator == (sender == chunk.sender),
                    time_ns: sight.time_ns,
                    frame: sight.frame,
                    acknowledged: is_answer.then_some(1),
                    offset,
                    saw_start: !sight.ends.mid_stream,
                    is_last: false,
                    content: Content::Bytes(message.payload),
                    ..*chunk
                };
                let mut of_message = payload.with_stream(&piece);
                of_message.sender = sender;
                of_message.time_ns = sight.time_ns;
                of_message.frame = sight.frame;
                of_message.others = sight.others;
                stream.is_unwanted = each(&of_message, &piece) == Interest::Ignore;
            })
    }

    /// Ends the stream of binary messages of a connection.
    fn end(&mut self, payload: &Payload<'_>, chunk: &Chunk<'_>, each: &mut OnPiece<'_>) {
        let Some(stream) = self.streams.remove(&chunk.connection) else {
            return;
        };
        if stream.is_unwanted {
            return;
        }
        for (sender, offset) in [Sender::Low, Sender::High].into_iter().zip(stream.octets) {
            let piece = Chunk {
                connection: chunk.connection | MESSAGES,
                sender,
                acknowledged: None,
                offset,
                is_last: sender == Sender::High,
                content: Content::End(StreamEnd::Finished),
                ..*chunk
            };
            each(&payload.with_stream(&piece), &piece);
        }
    }
}

impl MessageStream {
    /// Adds octets of a side; returns the number of those before them.
    fn add(&mut self, sender: Sender, octets: usize) -> u64 {
        let side = usize::from(sender == Sender::High);
        let Some(all) = self.octets.get_mut(side) else {
            return 0;
        };
        let before = *all;
        *all = before.saturating_add(octets as u64);
        before
    }
}
