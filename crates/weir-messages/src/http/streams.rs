//! The contents of streams of an HTTP/2 connection that are tunnels (RFC 8441), such as those of WebSocket.

use super::ConnectionState;
use super::stream_event::StreamEvent;
use super::two::frame::{are_frames, begins_with_settings, first_data, may_begin_with_settings};
use super::two::{self, Event, PREFACE};
use crate::tls::Stamp;

/// The side of an HTTP/2 connection that begins with some octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamsBegin {
    /// The client, with its preface.
    Client,
    /// The server, with its settings.
    Server,
    /// More octets are needed.
    Unsure,
    /// The octets are of neither side.
    Other,
}

/// Both directions of a connection of HTTP/2, read for what its streams carry.
///
/// ```
/// use weir_messages::http::{StreamEvent, Streams};
/// use weir_messages::tls::Stamp;
///
/// let settings = b"\0\0\0\x04\0\0\0\0\0";
/// let client = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &settings[..], b"\0\0\x02\0\0\0\0\0\x01hi"].concat();
/// let mut streams = Streams::new(0);
/// let mut data = Vec::new();
/// streams.take(0, &client, Stamp::default(), &mut |event| {
///     if let StreamEvent::Data { stream, octets, .. } = event {
///         data.push((stream, octets.to_vec()));
///     }
/// });
/// assert_eq!(data, [(1, b"hi".to_vec())]);
/// ```
#[derive(Debug)]
pub struct Streams {
    connection: Box<two::Http2Connection>,
}

impl Streams {
    /// The state before the first octets of both sides, of which `client` (0 or 1) begins with a preface.
    #[must_use]
    pub fn new(client: usize) -> Self {
        Self {
            connection: Box::new(two::Http2Connection::resuming(client)),
        }
    }

    /// The same of a connection whose beginning was not seen: what fields its frames have is not known, and a side is
    /// read from the first piece on that begins with frames.
    #[must_use]
    pub fn from_middle(client: usize) -> Self {
        Self {
            connection: Box::new(two::Http2Connection::from_middle(client)),
        }
    }

    /// Classifies the first octets of a connection.
    #[must_use]
    pub fn begins(bytes: &[u8]) -> StreamsBegin {
        let name = b"PRI ";
        match bytes.len() {
            0 => StreamsBegin::Other,
            1..4 if name.starts_with(bytes) => StreamsBegin::Unsure,
            _ if PREFACE.starts_with(bytes) || bytes.starts_with(PREFACE) => StreamsBegin::Client,
            _ if begins_with_settings(bytes) => StreamsBegin::Server,
            _ if may_begin_with_settings(bytes) => StreamsBegin::Unsure,
            _ => StreamsBegin::Other,
        }
    }

    /// The first data of a piece that begins with frames, from the middle of a connection.
    #[must_use]
    pub fn first_data(bytes: &[u8]) -> Option<&[u8]> {
        are_frames(bytes).then(|| first_data(bytes)).flatten()
    }

    /// Octets that are kept.
    #[must_use]
    pub fn held(&self) -> usize {
        self.connection.held()
    }

    /// How many of the last octets of a side are the header, or a part of it, of a frame whose data begin with the next octet.
    #[must_use]
    pub fn header_octets(&self, side: usize) -> usize {
        self.connection.header_octets(side)
    }

    /// The side that asks, 0 or 1.
    #[must_use]
    pub fn client_side(&self) -> usize {
        self.connection.client()
    }

    /// Adds octets of a side, and reports their contents by streams.
    pub fn take(
        &mut self,
        side: usize,
        bytes: &[u8],
        stamp: Stamp,
        each: &mut dyn FnMut(StreamEvent<'_>),
    ) -> ConnectionState {
        self.connection
            .take(side, bytes, stamp, &mut |event| hand_on(&event, each))
    }

    /// Octets of a side were not captured.
    pub fn gap(&mut self, side: usize, octets: u64, each: &mut dyn FnMut(StreamEvent<'_>)) {
        self.connection
            .gap(side, octets, &mut |event| hand_on(&event, each));
    }
}

fn hand_on(event: &Event<'_>, each: &mut dyn FnMut(StreamEvent<'_>)) {
    if let Event::Stream(event) = event {
        each(*event);
    }
}
