//! Finds Megaco messages in packets: over UDP, SCTP and TCP, by port and by content.

use weir_flow::framing::{Framed, Framer, Framing};

use weir_flow::{Carried, Chunk, Content, Interest, Payload};
use weir_h248::{Arena, DecodeOptions, Encoding, Endpoint, decode_as, detect};
use weir_packet::Packet;

use crate::extract::conversation::{Conversation, Cut, Piece};
use crate::extract::followed::{Begin, Followed, Looks};
use crate::extract::messages::Way;
use crate::extract::note::Note;
use crate::extract::opened::OpenedPayloads;
use crate::extract::settings::Settings;
use crate::extract::tunnel;

/// The ports of the protocol: text, binary (RFC 3525, D.1).
const PORTS: [u16; 2] = [2944, 2945];
/// SCTP's payload protocol identifier of H.248 (H.248.4).
const SCTP_PAYLOAD: u32 = 7;
/// The maximum size of a message behind a TPKT header.
const MESSAGE_BYTES_MAX: usize = 65_531;
/// The number of octets of messages under way, of all TCP connections.
const HELD_BYTES_MAX: usize = 256 << 20;

/// A message of a capture.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FoundMessage<'p> {
    /// The octets.
    pub octets: &'p [u8],
    /// The encoding, by the first octets.
    pub encoding: Encoding,
    /// The transport: `udp`, `tcp` or `sctp`.
    pub transport: &'static str,
    /// The sender.
    pub from: Endpoint,
    /// The receiver.
    pub to: Endpoint,
    /// The number of its flow, as in the table `flows`; 0 where that is not known.
    pub flow: u64,
    /// The time of the packet that completed it, in nanoseconds since 1970.
    pub time_ns: Option<i64>,
    /// The number of that packet's record; 0 when the capture's end completed it.
    pub frame: u64,
}

/// Finds the messages of a capture: over UDP, in SCTP user messages, and over TCP behind TPKT headers (RFC 3525, D.2), also
/// behind a request for a tunnel. A segment of TCP that is a message needs no such header. On the ports of the protocol
/// (2944, 2945), and under its SCTP identifier, each payload that looks like a message in some encoding is one; on other
/// ports of UDP and TCP it has to decode, too.
///
/// Fragments, segments and chunks are reassembled, and tunnels decoded, as [`weir_flow::Payloads`] does; messages that
/// probes forward by HEP are read in place of the forwarding packets, and a header of the PROXY protocol is skipped.
#[derive(Debug)]
pub struct MessageFinder {
    payloads: OpenedPayloads,
    streams: CarrierStreams,
}

/// The TCP connections that may carry messages.
#[derive(Debug)]
pub(in crate::extract) struct CarrierStreams {
    open: Followed<Conversation<TcpFramer>>,
    skipped: u64,
    /// The number of payloads of UDP and SCTP on the ports of the protocol, or with its identifier, in no known encoding.
    not_understood: u64,
}

impl Default for CarrierStreams {
    fn default() -> Self {
        Self {
            open: Followed::new(HELD_BYTES_MAX),
            skipped: 0,
            not_understood: 0,
        }
    }
}

impl Default for MessageFinder {
    fn default() -> Self {
        Self::with_settings(&Settings::default())
    }
}

impl MessageFinder {
    /// The state before the first packet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates the same state with the secrets of the settings, by which TLS is decrypted.
    pub(crate) fn with_settings(settings: &Settings) -> Self {
        Self {
            payloads: OpenedPayloads::with_settings(settings).with_segments_of_hep(),
            streams: CarrierStreams::default(),
        }
    }

    /// Reads the next packet of the capture, decoded to its transport header, and reports the messages that it
    /// completes, in order.
    pub fn packet(&mut self, packet: &Packet<'_>, each: &mut dyn FnMut(&FoundMessage<'_>)) {
        let streams = &mut self.streams;
        self.payloads
            .packet(packet, &mut |payload| streams.payload(payload, each));
    }

    /// Ends the capture: reports messages that waited for missing segments.
    pub fn finish(&mut self, each: &mut dyn FnMut(&FoundMessage<'_>)) {
        let streams = &mut self.streams;
        self.payloads
            .finish(&mut |payload| streams.payload(payload, each));
    }

    /// The items that were not read, or given up for limits.
    #[must_use]
    pub fn notes(&self) -> Vec<Note> {
        let counted = self.streams.counted().into_iter();
        Note::of("", counted.chain(self.payloads.given_up())).collect()
    }
}

/// Whether a payload is between ports of the protocol.
pub(in crate::extract) fn is_on_ports(payload: &Payload<'_>) -> bool {
    let ports = payload.key.ports();
    ports.iter().any(|port| PORTS.contains(port))
}

/// The message with these octets, which a payload has.
fn found_message<'p>(
    payload: &Payload<'_>,
    transport: &'static str,
    octets: &'p [u8],
    encoding: Encoding,
) -> FoundMessage<'p> {
    let (from, to) = payload.key.ends(payload.sender);
    let end = |end: weir_flow::Endpoint| Endpoint {
        address: end.address,
        port: end.port,
    };
    FoundMessage {
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

impl CarrierStreams {
    /// The counters of what was not read, or given up for limits.
    pub(in crate::extract) fn counted(&self) -> [(u64, &'static str); 3] {
        [
            (
                self.skipped,
                "octets of TCP streams are not part of a complete message of Megaco",
            ),
            (
                self.not_understood,
                "datagrams and SCTP messages of Megaco are left out because they begin as no message does",
            ),
            (
                self.open.given_up(),
                "TCP connections of Megaco were dropped because incomplete messages took more than 256 MiB",
            ),
        ]
    }

    /// Reads what is no datagram: connections on the ports of the protocol, and messages of SCTP.
    pub(in crate::extract) fn payload_on_ports(
        &mut self,
        payload: &Payload<'_>,
        each: &mut dyn FnMut(&FoundMessage<'_>),
    ) -> Interest {
        match payload.carried {
            Carried::Message { .. } => self.payload(payload, each),
            Carried::Stream(_) if is_on_ports(payload) => self.payload(payload, each),
            _ => Interest::Ignore,
        }
    }

    fn payload(
        &mut self,
        payload: &Payload<'_>,
        each: &mut dyn FnMut(&FoundMessage<'_>),
    ) -> Interest {
        let known = is_on_ports(payload);
        let transport = Way::of(payload).transport;
        let (octets, known) = match payload.carried {
            Carried::Datagram(octets) => (octets, known),
            // A message of SCTP is recognised by its payload protocol identifier or its port alone.
            Carried::Message { protocol, .. } if !known && protocol != SCTP_PAYLOAD => {
                return Interest::Ignore;
            }
            Carried::Message { bytes, .. } => (bytes, true),
            Carried::Stream(chunk) => return self.chunk(payload, chunk, known, each),
            _ => return Interest::Ignore,
        };
        match found(octets, known) {
            Some(encoding) => each(&found_message(payload, transport, octets, encoding)),
            // Line ends alone keep the binding of a NAT alive.
            None if known && !octets.trim_ascii().is_empty() => {
                self.not_understood = self.not_understood.saturating_add(1);
            }
            None => {}
        }
        Interest::Follow
    }

    fn chunk(
        &mut self,
        payload: &Payload<'_>,
        chunk: &Chunk<'_>,
        known: bool,
        each: &mut dyn FnMut(&FoundMessage<'_>),
    ) -> Interest {
        let Self { open, skipped, .. } = self;
        let known = known && !open.is_before(chunk.connection);
        // Earlier octets may be missing.
        let is_within = |offset: u64| !chunk.saw_start || offset > 0;
        let mut is_sure = false;
        let interest = open.chunk_again(
            Looks::at_beginning(chunk, false),
            (payload, chunk),
            |bytes, offset| begin(bytes, is_within(offset), known),
            |stream, payload, chunk| {
                let held = stream.chunk(chunk, skipped, &mut |octets, is_sure| {
                    let encoding = found(octets, is_sure);
                    if let Some(encoding) = encoding {
                        each(&found_message(payload, "tcp", octets, encoding));
                    }
                    encoding.is_some()
                });
                is_sure = stream.is_sure();
                held
            },
            Conversation::is_sure,
        );
        let missed = open.take_missed();
        *skipped = skipped.saturating_add(if is_sure { missed } else { 0 });
        interest
    }
}

/// Classifies octets of a connection that is not followed; those within it may be the rest of something else.
fn begin(bytes: &[u8], is_within: bool, known: bool) -> Begin<Conversation<TcpFramer>> {
    let with = |is_plain| {
        let framers = [TcpFramer::new(is_plain), TcpFramer::new(is_plain)];
        Begin::With(Conversation::new(framers, known))
    };
    match bytes {
        [] => Begin::Other,
        // Version and reserved octet of TPKT (RFC 1006, 6).
        [3, 0, ..] => with(false),
        [3] => Begin::Unsure,
        _ if found(bytes, false).is_some() => with(true),
        _ if is_within && known => with(false),
        _ if is_within => Begin::Other,
        // A proxy may lead to a gateway or its controller, also on their ports.
        _ => match tunnel::beginning(bytes) {
            tunnel::Beginning::Request => Begin::Before,
            tunnel::Beginning::Unsure => Begin::Unsure,
            tunnel::Beginning::Other if known => with(false),
            tunnel::Beginning::Other => Begin::Other,
        },
    }
}

/// Cuts one direction of a connection into messages: behind headers of TPKT, or each segment by itself.
#[derive(Debug)]
struct TcpFramer {
    tpkt: Framer,
    /// Segments without a header are messages.
    is_plain: bool,
}

impl TcpFramer {
    const fn new(is_plain: bool) -> Self {
        Self {
            tpkt: Framer::new(Framing::Tpkt, MESSAGE_BYTES_MAX),
            is_plain,
        }
    }
}

impl Cut for TcpFramer {
    fn cut(&mut self, content: Content<'_>, each: &mut dyn FnMut(Piece<'_>)) {
        if let Content::Bytes(bytes) = content
            && self.is_plain
        {
            if bytes.first() != Some(&3) {
                return each(Piece::Message(bytes));
            }
            self.is_plain = false;
        }
        let mut framed = |framed: Framed<'_>| {
            each(match framed {
                Framed::Message(octets) => Piece::Message(octets),
                Framed::Skipped(octets) => Piece::Lost(octets),
            });
        };
        match content {
            Content::Bytes(bytes) => self.tpkt.bytes(bytes, &mut framed),
            // A message that has begun will not end any more.
            Content::Gap(_) | Content::End(_) => self.tpkt.gap(&mut framed),
        }
    }

    fn held_bytes(&self) -> usize {
        self.tpkt.held()
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

/// Returns whether octets on any port are a message: they begin as only a message does, and decode.
fn surely(payload: &[u8], encoding: Encoding) -> bool {
    let begins = match encoding {
        Encoding::Pretty | Encoding::Compact => {
            let text = payload.trim_ascii_start();
            let word = text.get(..7).unwrap_or_default();
            text.starts_with(b"!/") || word.eq_ignore_ascii_case(b"MEGACO/")
        }
        // SEQUENCE, [1] message and [0] version are within the first octets, whatever the lengths are.
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
