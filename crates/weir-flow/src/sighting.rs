//! The facts about a packet that the flow table needs.

use weir_packet::{Layer, Packet};

use crate::key::{FlowKey, Scope, Sender};
use crate::segment::{PSH, RST, SYN, Segment, URG};

/// A packet as the flow table sees it: 96 bytes of facts, so that packets can wait for others of
/// their batch while their bytes are gone.
#[derive(Clone, Copy, Debug)]
pub struct Sighting {
    /// Whose packet it is.
    pub key: FlowKey,
    /// The side that sent it.
    pub sender: Sender,
    /// Capture time, nanoseconds since 1970-01-01 UTC; `None` where the capture has none.
    pub time_ns: Option<i64>,
    /// Length in bytes of the IP packet, as its header says.
    pub ip_bytes: u32,
    /// Length in bytes of what the transport carries, captured or not.
    pub payload_bytes: u32,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// The checksum of TCP, UDP or ICMP is wrong; such a packet is noted and not counted.
    pub bad_checksum: bool,
    /// The fields of its TCP header.
    pub segment: Option<Segment>,
}

impl Sighting {
    /// The facts of a packet; `None` without IP, of a later fragment, and where the transport's
    /// header is cut.
    #[inline]
    #[must_use]
    pub fn of_packet(packet: &Packet<'_>, scope: Scope) -> Option<Self> {
        let (key, sender) = FlowKey::of_packet(packet, scope)?;
        let (ip_bytes, ttl) = ip_facts(packet)?;
        let (payload_bytes, segment) = match packet.transport() {
            Some(Layer::Tcp) => {
                let segment = tcp_facts(packet, ip_bytes)?;
                (segment.len, Some(segment))
            }
            Some(Layer::Udp) => (udp_payload_len(packet)?, None),
            Some(layer) => (
                packet.declared_len(layer)?.saturating_sub(fixed_len(layer)),
                None,
            ),
            None => (0, None),
        };
        Some(Self {
            key,
            sender,
            time_ns: packet.frame().time_ns,
            ip_bytes,
            payload_bytes,
            ttl,
            bad_checksum: false,
            segment,
        })
    }
}

/// The length in bytes of the payload of a UDP datagram, as its header states it; further bytes of the IP packet are
/// not UDP's. The length of a jumbogram is that of the IP packet (RFC 2675, 4).
#[inline]
pub(crate) fn udp_payload_len(packet: &Packet<'_>) -> Option<u32> {
    let stated = match packet.u16_be(Layer::Udp, 4)? {
        0 => packet
            .declared_len(Layer::Udp)
            .filter(|len| *len > u32::from(u16::MAX))
            .unwrap_or(0),
        stated => stated.into(),
    };
    Some(stated.saturating_sub(8))
}

/// Length and time to live of the outermost IP header.
#[inline]
fn ip_facts(packet: &Packet<'_>) -> Option<(u32, u8)> {
    match packet.network()? {
        Layer::Ipv4 => {
            let header = packet.ipv4()?;
            let len = match header.total_len()? {
                // Segmentation offload: the adapter would have filled it in.
                0 => packet.declared_len(Layer::Ipv4)?,
                len => len.into(),
            };
            Some((len, header.time_to_live()?))
        }
        _ => {
            let header = packet.ipv6()?;
            let len = match header.payload_len()? {
                // Only the padding of a short frame is behind the header.
                0 => match packet.declared_len(Layer::Ipv6)? {
                    ..=46 => 40,
                    len => len,
                },
                len => u32::from(len) + 40,
            };
            Some((len, header.hop_limit()?))
        }
    }
}

#[inline]
fn tcp_facts(packet: &Packet<'_>, ip_bytes: u32) -> Option<Segment> {
    let captured = packet.bytes(Layer::Tcp)?;
    let header = captured.first_chunk::<20>()?.first_chunk::<16>()?;
    let header_len = Segment::header_len(header);
    if header_len < 20 {
        return None;
    }
    let declared = packet.declared_len(Layer::Tcp)?;
    let mut segment = Segment::of_header(header, declared.checked_sub(header_len)?);
    segment.is_cut = segment.len > 0 && captured.len() < declared as usize;
    if segment.flags & SYN != 0 {
        segment.scale = window_scale(captured.get(20..header_len as usize).unwrap_or_default());
    }
    if matches!(ip_bytes, PADDED_BYTES | PADDED_TAGGED_BYTES) {
        let data = captured.get(header_len as usize..).unwrap_or_default();
        segment.may_be_padding = may_be_padding(&segment, data);
    }
    Some(segment)
}

/// Whether the data of a segment in a frame of the least length may be the padding of that: some adapters count it in the length of
/// the IP packet. Data that end what was written come with PSH (RFC 9293, 3.9.1.2).
#[cold]
fn may_be_padding(segment: &Segment, data: &[u8]) -> bool {
    let is_plain = segment.flags & (RST | PSH | URG) == 0;
    is_plain && segment.len > 0 && !segment.is_cut && data.iter().all(|octet| *octet == 0)
}

/// The bytes of an IP packet in the least frame of Ethernet, without its checksum: 60.
const PADDED_BYTES: u32 = 46;

/// The same where the frame had a VLAN tag.
const PADDED_TAGGED_BYTES: u32 = 42;

/// The shift that the options of a SYN offer (RFC 7323, 2.2).
#[cold]
fn window_scale(mut options: &[u8]) -> Option<u8> {
    while let [kind, rest @ ..] = options {
        options = match (*kind, rest) {
            (0, _) => return None,
            (1, _) => rest,
            (WINDOW_SCALE, [3, shift, ..]) => return Some(*shift),
            (_, [len, ..]) => options.get(usize::from(*len).max(2)..)?,
            _ => return None,
        };
    }
    None
}

/// Number of the option (IANA).
const WINDOW_SCALE: u8 = 3;

/// Length of a header that is always the same, of those whose payload is what is left.
fn fixed_len(layer: Layer) -> u32 {
    match layer {
        Layer::Udp | Layer::UdpLite | Layer::Icmp | Layer::Icmpv6 => 8,
        Layer::Sctp | Layer::Dccp => 12,
        _ => 0,
    }
}
