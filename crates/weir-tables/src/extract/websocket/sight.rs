//! What is seen of a WebSocket connection: its ends, and its events one by one.

use weir_flow::Endpoint;
use weir_ws::{ConnectionEvent, Handshake};

/// A connection, as far as it is known.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WebSocketEnds {
    /// The number of the TCP connection in the capture, from 1, with the stream identifier in the upper 32 bits.
    pub connection: u64,
    /// The HTTP/2 stream that carries it (RFC 8441).
    pub stream: Option<u32>,
    /// The number of its flow, as in the table `flows`.
    pub flow: u64,
    /// The end that sent the opening request, or that masks its frames.
    pub client: Endpoint,
    /// The other end.
    pub server: Endpoint,
    /// The handshake; `None` before it, and when the capture began later.
    pub handshake: Option<Handshake>,
    /// The parameters of permessage-deflate in the response of the server.
    pub agreed: Option<String>,
    /// Whether the capture began later than the connection.
    pub mid_stream: bool,
}

/// An event of a connection.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct WebSocketSight<'a> {
    /// The connection.
    pub ends: &'a WebSocketEnds,
    /// The event.
    pub event: ConnectionEvent<'a>,
    /// The time of the packet that caused it, in nanoseconds since 1970.
    pub time_ns: Option<i64>,
    /// The number of that packet in its capture; 0 after the last one.
    pub frame: u64,
    /// The numbers of the other frames that a message came in, possibly repeated. Of more than 4,096 the first are left out.
    pub others: &'a [u64],
}

/// The maximum size of a message on the wire, and of an inflated one.
pub(super) const MESSAGE_BYTES_MAX: usize = 16 << 20;
