//! Where Megaco messages lie in packets: UDP, SCTP and TCP, by port and by content.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use weir_flow::framing::{Framed, Framer, Framing};
use weir_flow::{Carried, Chunk, Content, Interest, Payload, Payloads, Sender};
use weir_h248::{Arena, DecodeOptions, Encoding, Endpoint, decode_as, detect};
use weir_packet::Packet;

/// Ports of the protocol: text, binary (RFC 3525 D.1).
const PORTS: [u16; 2] = [2944, 2945];
/// SCTP's payload protocol identifier of H.248 (H.248.4).
const SCTP_PAYLOAD: u32 = 7;
/// What a TPKT can hold.
const MESSAGE_BYTES_MAX: usize = 65_531;
/// Octets of messages under way, of all TCP connections.
const HELD_BYTES_MAX: usize = 256 << 20;

/// A message of a capture.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Lifted<'p> {
    /// Its octets.
    pub octets: &'p [u8],
    /// Its encoding, as its first octets look.
    pub encoding: Encoding,
    /// What carries it: `udp`, `tcp` or `sctp`.
    pub transport: &'static str,
    /// Who sent it.
    pub from: Endpoint,
    /// Who received it.
    pub to: Endpoint,
    /// Number of its flow, as the table `flows` has it; 0 where that is not known.
    pub flow: u64,
    /// Time of the packet that completed it, in nanoseconds since 1970.
    pub time_ns: Option<i64>,
    /// Number of that packet's record; 0 when the capture's end did.
    pub frame: u64,
}

/// Finds the messages of a capture: over UDP, in SCTP user messages, and over TCP behind TPKT headers
/// (RFC 3525, D.2). On the protocol's ports (2944, 2945), and under its SCTP identifier, whatever looks
/// like a message in some encoding; elsewhere over UDP and TCP what begins as only a message does and
/// decodes.
///
/// Fragments, segments and chunks are put together, and tunnels looked into, as [`Payloads`] does.
#[derive(Debug, Default)]
pub struct Lifter {
    payloads: Payloads,
    streams: Streams,
}

/// The TCP connections that may carry messages.
#[derive(Debug, Default)]
struct Streams {
    open: HashMap<u64, Stream>,
    held_bytes: usize,
    given_up: u64,
    skipped: u64,
}

#[derive(Debug)]
struct Stream {
    framers: [Framer; 2],
    held_bytes: usize,
    /// A message was found, or the port says that there will be one.
    is_sure: bool,
}

impl Lifter {
    /// Before the first packet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next packet of the capture, decoded to its transport header, and hands on the messages
    /// that it completes, in order.
    pub fn packet(&mut self, packet: &Packet<'_>, each: &mut dyn FnMut(&Lifted<'_>)) {
        let streams = &mut self.streams;
        self.payloads
            .packet(packet, &mut |payload| streams.payload(payload, each));
    }

    /// The capture is over: hands on what waited for missing segments.
    pub fn finish(&mut self, each: &mut dyn FnMut(&Lifted<'_>)) {
        let streams = &mut self.streams;
        self.payloads
            .finish(&mut |payload| streams.payload(payload, each));
    }

    /// What was not read, or given up for the limits, in words.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        [
            (
                self.streams.skipped,
                "octets of TCP streams belong to no whole message",
            ),
            (
                self.streams.given_up,
                "TCP connections were given up because messages under way took more than 256 MiB",
            ),
        ]
        .into_iter()
        .chain(self.payloads.given_up())
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect()
    }
}

/// The message that octets are.
fn lifted<'p>(
    payload: &Payload<'_>,
    transport: &'static str,
    octets: &'p [u8],
    encoding: Encoding,
) -> Lifted<'p> {
    let (from, to) = payload.key.ends(payload.sender);
    let end = |end: weir_flow::Endpoint| Endpoint {
        address: end.address,
        port: end.port,
    };
    Lifted {
        octets,
        encoding,
        transport,
        from: end(from),
        to: end(to),
        flow: payload.flow,
        time_ns: payload.time_ns,
        frame: payload.frame,
    }
}

impl Streams {
    fn payload(&mut self, payload: &Payload<'_>, each: &mut dyn FnMut(&Lifted<'_>)) -> Interest {
        let (low, high) = (payload.key.low().port, payload.key.high().port);
        let known = PORTS.contains(&low) || PORTS.contains(&high);
        let (transport, octets, known) = match payload.carried {
            Carried::Datagram(octets) => ("udp", octets, known),
            // Nothing but its identifier or port tells it from others here.
            Carried::Message { protocol, .. } if !known && protocol != SCTP_PAYLOAD => {
                return Interest::Ignore;
            }
            Carried::Message { bytes, .. } => ("sctp", bytes, true),
            Carried::Stream(chunk) => return self.chunk(payload, chunk, known, each),
            _ => return Interest::Ignore,
        };
        if let Some(encoding) = found(octets, known) {
            each(&lifted(payload, transport, octets, encoding));
        }
        Interest::Follow
    }

    fn chunk(
        &mut self,
        payload: &Payload<'_>,
        chunk: &Chunk<'_>,
        known: bool,
        each: &mut dyn FnMut(&Lifted<'_>),
    ) -> Interest {
        let stream = match self.open.entry(chunk.connection) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let Content::Bytes(bytes) = chunk.content else {
                    return Interest::Follow;
                };
                // Version and reserved octet of TPKT (RFC 1006, 6).
                if !known && !bytes.starts_with(&[3, 0]) && bytes != [3] {
                    return Interest::Ignore;
                }
                place.insert(Stream::new(known))
            }
        };
        self.held_bytes = self.held_bytes.saturating_sub(stream.held_bytes);
        let goes_on = stream.chunk(payload, chunk, &mut self.skipped, each);
        let held = self.held_bytes.saturating_add(stream.held_bytes);
        if goes_on && held <= HELD_BYTES_MAX {
            self.held_bytes = held;
            return Interest::Follow;
        }
        self.given_up = self
            .given_up
            .saturating_add(u64::from(goes_on && !chunk.is_last));
        self.open.remove(&chunk.connection);
        Interest::Ignore
    }
}

impl Stream {
    const fn new(is_sure: bool) -> Self {
        Self {
            framers: [
                Framer::new(Framing::Tpkt, MESSAGE_BYTES_MAX),
                Framer::new(Framing::Tpkt, MESSAGE_BYTES_MAX),
            ],
            held_bytes: 0,
            is_sure,
        }
    }

    /// False when nothing more is wanted.
    fn chunk(
        &mut self,
        payload: &Payload<'_>,
        chunk: &Chunk<'_>,
        skipped: &mut u64,
        each: &mut dyn FnMut(&Lifted<'_>),
    ) -> bool {
        let side = usize::from(chunk.sender == Sender::High);
        let Some(framer) = self.framers.get_mut(side) else {
            return false;
        };
        let is_sure = &mut self.is_sure;
        let mut goes_on = true;
        let mut framed = |framed: Framed<'_>| match framed {
            Framed::Message(octets) => match found(octets, *is_sure) {
                Some(encoding) => {
                    *is_sure = true;
                    each(&lifted(payload, "tcp", octets, encoding));
                }
                None => goes_on &= *is_sure,
            },
            Framed::Skipped(octets) if *is_sure => *skipped = skipped.saturating_add(octets),
            Framed::Skipped(_) => goes_on = false,
        };
        match chunk.content {
            Content::Bytes(bytes) => framer.bytes(bytes, &mut framed),
            Content::Gap(_) => framer.gap(&mut framed),
            Content::End(_) => {
                // What was begun does not end any more.
                framer.gap(&mut framed);
            }
        }
        self.held_bytes = self.framers.iter().map(Framer::held).sum();
        goes_on && !chunk.is_last
    }
}

fn found(payload: &[u8], known: bool) -> Option<Encoding> {
    let encoding = detect(payload)?;
    if known || surely(payload, encoding) {
        Some(encoding)
    } else {
        None
    }
}

/// Whether octets on any port are a message: they begin as nothing else does, and decode.
fn surely(payload: &[u8], encoding: Encoding) -> bool {
    let begins = match encoding {
        Encoding::Pretty | Encoding::Compact => {
            let text = payload.trim_ascii_start();
            let word = text.get(..7).unwrap_or_default();
            text.starts_with(b"!/") || word.eq_ignore_ascii_case(b"MEGACO/")
        }
        // SEQUENCE, [1] message, [0] version: within the first octets, whatever the lengths.
        Encoding::Ber => {
            let head = payload.get(..16).unwrap_or(payload);
            head.windows(3)
                .any(|octets| matches!(octets, [0x80, 1, 1..=3]))
        }
        Encoding::Erl => {
            let head = payload.get(..24).unwrap_or(payload);
            head.windows(13).any(|octets| octets == b"MegacoMessage")
        }
        // Nearly everything that begins with a small octet could be PER.
        _ => false,
    };
    begins && decode_as(encoding, payload, &Arena::new(), &DecodeOptions::default()).is_ok()
}
