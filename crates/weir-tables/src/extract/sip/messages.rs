//! The SIP messages of a capture: packets in, messages out.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::SocketAddr;

use weir_flow::{Carried, Chunk, Content, Interest, Payload, Payloads, Sender};
use weir_packet::Packet;
use weir_sip::{Flow, Framer, FramerEvent, looks_like_sip};
use weir_ws::{ConnectionEvent, Event, Opcode};

use crate::extract::websocket::{Connections, WebSocketSight, is_from_client};

/// Finds the SIP messages of a capture, on any port: in datagrams of UDP (RFC 3261, 18), in TCP streams,
/// cut by Content-Length (18.3), in messages of SCTP (RFC 4168) and of WebSocket connections (RFC 7118).
///
/// Fragments and segments are put together, and tunnels looked into, as [`Payloads`] does. What streams
/// keep besides is limited to 256 MiB of messages under way.
#[derive(Debug, Default)]
pub struct SipMessages {
    payloads: Payloads,
    followed: Followed,
}

/// A message, and the way that it took.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SipMessage<'m> {
    /// Its bytes.
    pub bytes: &'m [u8],
    /// The way that it took.
    pub way: SipWay,
}

/// The way that a message took, and when.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SipWay {
    /// Its sockets, with the number of their flow as the table `flows` has it.
    pub flow: Flow,
    /// What carries it.
    pub transport: SipTransport,
    /// Time of the packet that completed it, in nanoseconds since 1970.
    pub time_ns: Option<i64>,
    /// Number of that packet's record; 0 when the capture's end did.
    pub frame: u64,
}

/// What carries a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SipTransport {
    /// UDP.
    Udp,
    /// TCP.
    Tcp,
    /// SCTP.
    Sctp,
    /// WebSocket over TCP.
    WebSocket,
}

impl SipTransport {
    /// Its name in Via headers, in lower case: `udp`, `tcp`, `sctp`, `ws`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::Tcp => "tcp",
            Self::Sctp => "sctp",
            Self::WebSocket => "ws",
        }
    }
}

/// The TCP connections that may carry messages.
#[derive(Debug, Default)]
struct Followed {
    streams: HashMap<u64, Stream>,
    web_sockets: Connections,
    held_bytes: usize,
    given_up: u64,
    lost_bytes: u64,
}

/// What a connection carries.
#[derive(Debug)]
enum Stream {
    Sip(Box<Framed>),
    WebSocket,
}

/// Both directions of a connection.
#[derive(Debug, Default)]
struct Framed {
    framers: [Framer; 2],
    held_bytes: usize,
    /// A message was found, or the port says that there will be one.
    is_sure: bool,
}

/// Bytes of messages under way, of all streams.
const HELD_BYTES_MAX: usize = 256 << 20;
const SIP_PORT: u16 = 5060;
/// Longest first line of what may become a message.
const LINE_BYTES_MAX: usize = 8_192;

impl SipMessages {
    /// Before the first packet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next packet of the capture, decoded to its transport header, and hands on the messages
    /// that it completes.
    pub fn packet(&mut self, packet: &Packet<'_>, each: &mut dyn FnMut(&SipMessage<'_>)) {
        let followed = &mut self.followed;
        self.payloads
            .packet(packet, &mut |payload| followed.payload(payload, each));
    }

    /// The capture is over: hands on what waited for missing segments.
    pub fn finish(&mut self, each: &mut dyn FnMut(&SipMessage<'_>)) {
        let followed = &mut self.followed;
        self.payloads
            .finish(&mut |payload| followed.payload(payload, each));
    }

    /// What was not read, or given up for the limits, in words.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        [
            (
                self.followed.given_up,
                "TCP connections were given up because messages under way took more than 256 MiB",
            ),
            (
                self.followed.lost_bytes,
                "bytes of TCP streams belong to no whole message",
            ),
        ]
        .into_iter()
        .chain(self.payloads.given_up())
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect()
    }
}

/// The way that a payload took.
fn way(payload: &Payload<'_>, transport: SipTransport) -> SipWay {
    let (src, dst) = payload.key.ends(payload.sender);
    SipWay {
        flow: Flow {
            src: src.into(),
            dst: dst.into(),
            number: (payload.flow > 0).then_some(payload.flow),
        },
        transport,
        time_ns: payload.time_ns,
        frame: payload.frame,
    }
}

impl Followed {
    fn payload(
        &mut self,
        payload: &Payload<'_>,
        each: &mut dyn FnMut(&SipMessage<'_>),
    ) -> Interest {
        let (bytes, transport) = match payload.carried {
            Carried::Datagram(bytes) => (bytes, SipTransport::Udp),
            Carried::Message { bytes, .. } => (bytes, SipTransport::Sctp),
            Carried::Stream(chunk) => return self.chunk(payload, chunk, each),
            _ => return Interest::Ignore,
        };
        if looks_like_sip(bytes) {
            each(&SipMessage {
                bytes,
                way: way(payload, transport),
            });
        }
        Interest::Follow
    }

    fn chunk(
        &mut self,
        payload: &Payload<'_>,
        chunk: &Chunk<'_>,
        each: &mut dyn FnMut(&SipMessage<'_>),
    ) -> Interest {
        let stream = match self.streams.entry(chunk.connection) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let Content::Bytes(bytes) = chunk.content else {
                    return Interest::Follow;
                };
                let ports = [chunk.source().port, chunk.destination().port];
                let Some(stream) = Stream::begins(bytes, ports.contains(&SIP_PORT)) else {
                    return Interest::Ignore;
                };
                place.insert(stream)
            }
        };
        let interest = match stream {
            Stream::Sip(framed) => {
                self.held_bytes = self.held_bytes.saturating_sub(framed.held_bytes);
                let way = way(payload, SipTransport::Tcp);
                let goes_on = framed.chunk(chunk, &mut self.lost_bytes, &mut |bytes| {
                    each(&SipMessage { bytes, way });
                });
                let held = self.held_bytes.saturating_add(framed.held_bytes);
                let fits = held <= HELD_BYTES_MAX;
                self.given_up = self.given_up.saturating_add(u64::from(goes_on && !fits));
                if goes_on && fits {
                    self.held_bytes = held;
                    Interest::Follow
                } else {
                    Interest::Ignore
                }
            }
            Stream::WebSocket => self.web_sockets.chunk(chunk, &mut |sight| {
                if let Some(bytes) = message_in(sight) {
                    each(&SipMessage {
                        bytes,
                        way: way(payload, SipTransport::WebSocket),
                    });
                }
            }),
        };
        if interest == Interest::Ignore {
            self.streams.remove(&chunk.connection);
        }
        interest
    }
}

/// The SIP message that a WebSocket message is (RFC 7118, 5.2).
fn message_in<'m>(sight: &WebSocketSight<'m>) -> Option<&'m [u8]> {
    match sight.event {
        ConnectionEvent::Wire(_, Event::Message(message))
            if matches!(message.opcode, Opcode::Text | Opcode::Binary)
                && looks_like_sip(message.payload) =>
        {
            Some(message.payload)
        }
        _ => None,
    }
}

impl Stream {
    /// What a connection may carry whose first bytes are these.
    fn begins(bytes: &[u8], is_known: bool) -> Option<Self> {
        let text = bytes.trim_ascii_start();
        let sip = |is_sure| {
            let framed = Framed {
                is_sure,
                ..Framed::default()
            };
            Some(Self::Sip(Box::new(framed)))
        };
        if text.is_empty() || looks_like_sip(text) {
            return sip(is_known);
        }
        if is_from_client(bytes).is_some() {
            return Some(Self::WebSocket);
        }
        // The first line may go on in the next segment.
        let line_goes_on = text.len() < LINE_BYTES_MAX
            && text.iter().all(|byte| matches!(byte, b' '..=b'~'))
            && text.first().is_some_and(u8::is_ascii_uppercase);
        if is_known || line_goes_on {
            return sip(is_known);
        }
        None
    }
}

impl Framed {
    /// False when nothing more is wanted.
    fn chunk(
        &mut self,
        chunk: &Chunk<'_>,
        lost_bytes: &mut u64,
        each: &mut dyn FnMut(&[u8]),
    ) -> bool {
        let side = usize::from(chunk.sender == Sender::High);
        let Some(framer) = self.framers.get_mut(side) else {
            return false;
        };
        let is_sure = &mut self.is_sure;
        let mut goes_on = true;
        let mut event = |event: FramerEvent<'_>| match event {
            FramerEvent::Message { bytes, .. } => {
                *is_sure = true;
                each(bytes);
            }
            FramerEvent::Lost { bytes, .. } if *is_sure => {
                *lost_bytes = lost_bytes.saturating_add(bytes);
            }
            FramerEvent::Lost { .. } => goes_on = false,
            _ => {}
        };
        match chunk.content {
            Content::Bytes(bytes) => framer.feed(bytes, &mut event),
            Content::Gap(missing) => framer.gap(missing, &mut event),
            Content::End(_) => {
                framer.finish(&mut event);
            }
        }
        self.held_bytes = self.framers.iter().map(Framer::held_bytes).sum();
        goes_on && !chunk.is_last
    }
}

impl<'m> SipMessage<'m> {
    pub(crate) const fn new(bytes: &'m [u8], way: SipWay) -> Self {
        Self { bytes, way }
    }
}

impl SipWay {
    /// Who sent it.
    #[must_use]
    pub const fn source(&self) -> SocketAddr {
        self.flow.src
    }

    /// Who received it.
    #[must_use]
    pub const fn destination(&self) -> SocketAddr {
        self.flow.dst
    }
}
