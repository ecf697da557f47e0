//! SIP messages in the packets of a capture.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use weir_capture::Record;
use weir_clf::{Flags, Passage, Retransmission, Time, Transport};
use weir_packet::{Decoder, Frame, Layer, LinkType, Packet};
use weir_sip::{Framer, FramerEvent, looks_like_sip};

/// Finds the messages of UDP datagrams and TCP streams, on any port, by how they begin. A stream is
/// read in the order of the capture: what was sent again is passed over, a segment that comes early
/// makes a gap. Fragments of IP packets are not put together.
#[derive(Default)]
pub(super) struct Packets {
    decoder: Decoder,
    streams: HashMap<(SocketAddr, SocketAddr), Stream>,
    fragments: u64,
    forgotten: u64,
    gaps: u64,
}

struct Stream {
    framer: Framer,
    next: u32,
}

/// Streams that are followed at a time; when there are more, all are forgotten.
const STREAMS_MAX: usize = 4096;

impl Packets {
    /// Calls `each` with the messages that the packet completes.
    pub(super) fn take(&mut self, record: &Record<'_>, each: &mut dyn FnMut(&[u8], &Passage)) {
        let Self {
            decoder,
            streams,
            fragments,
            forgotten,
            gaps,
        } = self;
        let frame = Frame::new(LinkType(record.link_type), record.data);
        let packet = decoder.decode(frame);
        let Some((source, destination)) = ends(&packet) else {
            let fragment = [Layer::Ipv4, Layer::Ipv6]
                .into_iter()
                .any(|layer| packet.is_fragment(layer));
            *fragments = fragments.saturating_add(u64::from(fragment));
            return;
        };
        let mut passage = Passage {
            time: Time::from_nanoseconds(record.time_ns.unwrap_or(0)),
            source: Some(source),
            destination: Some(destination),
            // Who looks on keeps no transactions.
            flags: Flags {
                retransmission: Retransmission::Stateless,
                ..Flags::default()
            },
        };
        if let Some(payload) = packet.bytes(Layer::Udp).and_then(|udp| udp.get(8..)) {
            if looks_like_sip(payload) {
                each(payload, &passage);
            }
            return;
        }
        let Some(segment) = packet.bytes(Layer::Tcp).and_then(Segment::of) else {
            return;
        };
        passage.flags.transport = Transport::Tcp;
        let key = (source, destination);
        if segment.begins {
            streams.remove(&key);
        }
        if segment.payload.is_empty() {
            return;
        }
        if !streams.contains_key(&key) {
            if !looks_like_sip(segment.payload) {
                return;
            }
            if streams.len() >= STREAMS_MAX {
                *forgotten = forgotten.saturating_add(streams.len() as u64);
                streams.clear();
            }
        }
        let stream = streams.entry(key).or_insert_with(|| Stream {
            framer: Framer::default(),
            next: segment.sequence,
        });
        let mut event = |event: FramerEvent<'_>| {
            if let FramerEvent::Message { bytes, .. } = event {
                each(bytes, &passage);
            }
        };
        let ahead = segment.sequence.wrapping_sub(stream.next).cast_signed();
        let mut payload = segment.payload;
        if ahead > 0 {
            *gaps = gaps.saturating_add(1);
            stream
                .framer
                .gap(u64::from(ahead.unsigned_abs()), &mut event);
        } else {
            let known = usize::try_from(ahead.unsigned_abs()).unwrap_or(usize::MAX);
            payload = payload.get(known..).unwrap_or_default();
        }
        if !payload.is_empty() {
            stream.framer.feed(payload, &mut event);
            let len = u32::try_from(segment.payload.len()).unwrap_or(0);
            stream.next = segment.sequence.wrapping_add(len);
        }
    }

    /// What was not read.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        [
            (
                self.fragments,
                "fragments of IP packets were not put together",
            ),
            (self.gaps, "TCP segments were missing or came early"),
            (
                self.forgotten,
                "TCP streams were given up, for there were too many",
            ),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, text)| format!("{count} {text}"))
    }
}

struct Segment<'a> {
    sequence: u32,
    begins: bool,
    payload: &'a [u8],
}

impl<'a> Segment<'a> {
    /// Out of a TCP header with what it carries (RFC 9293, section 3.1).
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let sequence = u32::from_be_bytes(*bytes.get(4..)?.first_chunk()?);
        let header = usize::from(bytes.get(12)? >> 4).saturating_mul(4);
        let begins = bytes.get(13)? & 2 != 0;
        Some(Self {
            sequence,
            begins,
            payload: bytes.get(header..)?,
        })
    }
}

/// Source and destination of a packet with ports.
fn ends(packet: &Packet<'_>) -> Option<(SocketAddr, SocketAddr)> {
    let layer = [Layer::Udp, Layer::Tcp]
        .into_iter()
        .find(|layer| packet.bytes(*layer).is_some())?;
    let ports = (packet.u16_be(layer, 0)?, packet.u16_be(layer, 2)?);
    let (source, destination): (IpAddr, IpAddr) = match packet.bytes(Layer::Ipv4) {
        Some(header) => {
            let four = |at: usize| Some(Ipv4Addr::from(*header.get(at..)?.first_chunk::<4>()?));
            (four(12)?.into(), four(16)?.into())
        }
        None => {
            let header = packet.bytes(Layer::Ipv6)?;
            let six = |at: usize| Some(Ipv6Addr::from(*header.get(at..)?.first_chunk::<16>()?));
            (six(8)?.into(), six(24)?.into())
        }
    };
    Some((
        SocketAddr::new(source, ports.0),
        SocketAddr::new(destination, ports.1),
    ))
}
