//! IP packets of many flows, made fast: headers are computed, payloads are pieces of one pool whose
//! sums are known beforehand, so that checksums cost no pass over the bytes.

use crate::Rng;
use crate::packet::checksum::{fold, sum_words};
use crate::packet::{protocol, tcp_flags};
use crate::words::{dns, text};

/// A generator of packets.
pub(super) struct Traffic {
    pub(super) rng: Rng,
    flows: Vec<TrafficFlow>,
    pool: Vec<u8>,
    /// The places of known services' messages in the pool.
    messages: Vec<PooledMessage>,
    /// The sum of the pool's first `n` words, at index `n`.
    sums: Vec<u64>,
    header: HeaderBuilder,
}

/// A packet: headers from IP up, and payload.
pub(super) struct TracePacket<'a> {
    pub(super) ipv6: bool,
    pub(super) from_client: bool,
    /// Stays the same for a flow's life: which VLAN, which circuit.
    pub(super) place: u16,
    pub(super) header: &'a [u8],
    pub(super) payload: &'a [u8],
}

impl TracePacket<'_> {
    pub(super) const fn len(&self) -> usize {
        self.header.len() + self.payload.len()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TransportKind {
    Tcp,
    Udp,
    Icmp,
}

struct TrafficFlow {
    kind: TransportKind,
    ipv6: bool,
    /// True for a flow with an extension header, if IPv6, or with occasional fragments, if IPv4 and UDP.
    odd: bool,
    client: [u8; 16],
    server: [u8; 16],
    ports: [u16; 2],
    packets_left: u32,
    turn: u32,
    seq: [u32; 2],
    mark: u16,
    place: u16,
    /// Sum of addresses' words.
    address_sum: u64,
}

/// A header under construction.
struct HeaderBuilder {
    bytes: [u8; 80],
    len: usize,
}

impl HeaderBuilder {
    fn push(&mut self, bytes: &[u8]) {
        let end = self.len + bytes.len();
        self.bytes[self.len..end].copy_from_slice(bytes);
        self.len = end;
    }

    fn u16(&mut self, value: u16) {
        self.push(&value.to_be_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.push(&value.to_be_bytes());
    }
}

impl Traffic {
    pub(super) fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let (pool, messages) = make_pool(&mut rng);
        let mut sums = Vec::with_capacity(pool.len() / 2 + 1);
        let mut sum = 0;
        sums.push(0);
        for word in pool.chunks_exact(2) {
            sum += u64::from(u16::from_be_bytes([word[0], word[1]]));
            sums.push(sum);
        }
        let mut flows = Vec::with_capacity(FLOWS);
        while flows.len() < FLOWS {
            let mut flow = TrafficFlow::new(&mut rng);
            // The trace begins while flows are open: the longer a flow is, the more probable it is
            // that it is open then, at any of its packets.
            if rng.below(PACKETS_MAX) < u64::from(flow.packets_left) {
                flow.packets_left = 1 + rng.below(u64::from(flow.packets_left)) as u32;
                flows.push(flow);
            }
        }
        Self {
            rng,
            flows,
            pool,
            messages,
            sums,
            header: HeaderBuilder {
                bytes: [0; 80],
                len: 0,
            },
        }
    }

    /// The next packet of some flow.
    pub(super) fn next_packet(&mut self) -> TracePacket<'_> {
        let index = self.rng.below(FLOWS as u64) as usize;
        let flow = &mut self.flows[index];
        if flow.packets_left == 0 {
            *flow = TrafficFlow::new(&mut self.rng);
        }
        flow.packets_left -= 1;
        flow.turn += 1;
        flow.mark = flow.mark.wrapping_add(1);
        // A flow's first packet is its client's; short flows alternate.
        let from_client = match flow.packets_left {
            0..2 if flow.kind != TransportKind::Tcp => flow.packets_left == 1 || flow.turn == 1,
            _ => flow.turn == 1 || self.rng.percent(45),
        };
        // Offsets into the pool are counted in words.
        let (start, payload_len) = match (flow.kind, flow.ports[1]) {
            (TransportKind::Udp, 53 | 123) => {
                let known = [
                    MESSAGES * 2..MESSAGES * 2 + 1,
                    0..MESSAGES,
                    MESSAGES..MESSAGES * 2,
                ];
                let which = match flow.ports[1] {
                    123 => 0,
                    _ => 1 + usize::from(!from_client),
                };
                let range = &known[which];
                let index = range.start + self.rng.below(range.len() as u64) as usize;
                (self.messages[index].start / 2, self.messages[index].len)
            }
            _ => {
                let words = (TEXT_BYTES - PAYLOAD_BYTES_MAX) / 2;
                (
                    self.rng.below(words as u64) as usize,
                    payload_len(&mut self.rng, flow.kind),
                )
            }
        };
        let payload = &self.pool[start * 2..start * 2 + payload_len];
        let mut payload_sum = self.sums[start + payload_len / 2] - self.sums[start];
        if let (1, Some(&last)) = (payload_len % 2, payload.last()) {
            payload_sum += u64::from(last) << 8;
        }
        self.header.len = 0;
        let fragment =
            flow.odd && !flow.ipv6 && flow.kind == TransportKind::Udp && flow.turn % 4 == 3;
        flow.write_ip(&mut self.header, from_client, payload_len, fragment);
        if !fragment {
            flow.write_transport(&mut self.header, from_client, payload_len, payload_sum);
        }
        TracePacket {
            ipv6: flow.ipv6,
            from_client,
            place: flow.place,
            header: &self.header.bytes[..self.header.len],
            payload,
        }
    }
}

impl TrafficFlow {
    fn new(rng: &mut Rng) -> Self {
        let ipv6 = rng.percent(12);
        let die = rng.below(1000);
        let (kind, server_port, packets) = match die {
            0..600 => (TransportKind::Udp, 53, 2),
            600..620 => (TransportKind::Udp, 123, 2),
            620..635 => (TransportKind::Icmp, 0, rng.between(2, 20)),
            635..665 => (
                TransportKind::Udp,
                rng.between(10_000, 60_000),
                rng.between(10, 120),
            ),
            _ => {
                let ports = [
                    443_u16, 443, 443, 443, 80, 80, 22, 25, 993, 8080, 5432, 3389,
                ];
                let known = u64::from(*rng.pick(&ports));
                let port = if rng.percent(20) {
                    rng.between(1_024, 65_535)
                } else {
                    known
                };
                let packets = match rng.below(100) {
                    0..70 => rng.between(4, 12),
                    70..96 => rng.between(12, 45),
                    _ => rng.between(50, PACKETS_MAX),
                };
                (TransportKind::Tcp, port, packets)
            }
        };
        let (mut client, mut server) = ([0; 16], [0; 16]);
        let (host, peer) = (rng.below(4_000) as u16, rng.below(9_000) as u16);
        if ipv6 {
            client[..6].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8, 0, 1]);
            server[..6].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8, 0xff, 2]);
            client[14..].copy_from_slice(&host.to_be_bytes());
            server[14..].copy_from_slice(&peer.to_be_bytes());
        } else {
            client[0] = 10;
            server[0] = 198;
            server[1] = 18;
            client[2..4].copy_from_slice(&host.to_be_bytes());
            server[2..4].copy_from_slice(&peer.to_be_bytes());
        }
        Self {
            kind,
            ipv6,
            odd: rng.percent(5),
            client,
            server,
            ports: [rng.between(1_024, 65_535) as u16, server_port as u16],
            packets_left: packets as u32,
            turn: 0,
            seq: [rng.next_u32(), rng.next_u32()],
            mark: rng.next_u16(),
            place: rng.next_u16(),
            address_sum: sum_words(&client) + sum_words(&server),
        }
    }

    const fn transport_header_len(&self) -> usize {
        match self.kind {
            TransportKind::Tcp => 20,
            TransportKind::Udp | TransportKind::Icmp => 8,
        }
    }

    const fn protocol(&self) -> u8 {
        match (self.kind, self.ipv6) {
            (TransportKind::Tcp, _) => protocol::TCP,
            (TransportKind::Udp, _) => protocol::UDP,
            (TransportKind::Icmp, false) => protocol::ICMP,
            (TransportKind::Icmp, true) => protocol::ICMPV6,
        }
    }

    /// The IP header, and with `fragment` that of a later fragment, which has no ports.
    fn write_ip(
        &self,
        out: &mut HeaderBuilder,
        from_client: bool,
        payload_len: usize,
        fragment: bool,
    ) {
        let (src, dst) = match from_client {
            true => (&self.client, &self.server),
            false => (&self.server, &self.client),
        };
        let transport_len = if fragment {
            0
        } else {
            self.transport_header_len()
        };
        if self.ipv6 {
            let extension_len = if self.odd { 8 } else { 0 };
            out.u32(0x6000_0000 | u32::from(self.mark));
            out.u16((extension_len + transport_len + payload_len) as u16);
            let first = if self.odd {
                protocol::DESTINATION_OPTIONS
            } else {
                self.protocol()
            };
            out.push(&[first, 61]);
            out.push(src);
            out.push(dst);
            if self.odd {
                // Padding alone: PadN of six bytes.
                out.push(&[self.protocol(), 0, 1, 4, 0, 0, 0, 0]);
            }
        } else {
            out.push(&[0x45, 0]);
            out.u16((20 + transport_len + payload_len) as u16);
            out.u16(self.mark);
            out.u16(if fragment { 185 } else { 0x4000 });
            out.push(&[61, self.protocol(), 0, 0]);
            out.push(&src[..4]);
            out.push(&dst[..4]);
            let sum = !fold(sum_words(&out.bytes[..20]));
            out.bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        }
    }

    fn write_transport(
        &mut self,
        out: &mut HeaderBuilder,
        from_client: bool,
        payload_len: usize,
        payload_sum: u64,
    ) {
        let start = out.len;
        let side = usize::from(from_client);
        let (src_port, dst_port) = match from_client {
            true => (self.ports[0], self.ports[1]),
            false => (self.ports[1], self.ports[0]),
        };
        let checksum_at = match self.kind {
            TransportKind::Tcp => {
                let flags = match self.turn {
                    1 => tcp_flags::SYN,
                    _ if self.packets_left < 2 => tcp_flags::FIN | tcp_flags::ACK,
                    _ => tcp_flags::ACK,
                };
                out.u16(src_port);
                out.u16(dst_port);
                out.u32(self.seq[side]);
                out.u32(self.seq[1 - side]);
                out.push(&[0x50, flags, 0xfa, 0xf0, 0, 0, 0, 0]);
                self.seq[side] = self.seq[side].wrapping_add(payload_len as u32);
                16
            }
            TransportKind::Udp => {
                out.u16(src_port);
                out.u16(dst_port);
                out.u16(8 + payload_len as u16);
                out.u16(0);
                6
            }
            TransportKind::Icmp => {
                let kind = match (self.ipv6, from_client) {
                    (false, true) => 8,
                    (false, false) => 0,
                    (true, true) => 128,
                    (true, false) => 129,
                };
                out.push(&[kind, 0, 0, 0]);
                out.u16(self.ports[0]);
                out.u16(self.turn as u16);
                2
            }
        };
        let pseudo_header = match (self.kind, self.ipv6) {
            (TransportKind::Icmp, false) => 0,
            _ => {
                let len = out.len - start + payload_len;
                self.address_sum + u64::from(self.protocol()) + len as u64
            }
        };
        let header_sum = sum_words(&out.bytes[start..out.len]);
        let mut sum = !fold(header_sum + pseudo_header + payload_sum);
        if sum == 0 && self.kind == TransportKind::Udp {
            // Zero would say that there is no checksum.
            sum = 0xffff;
        }
        let at = start + checksum_at;
        out.bytes[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

/// Many small packets and some as long as Ethernet lets them be.
fn payload_len(rng: &mut Rng, kind: TransportKind) -> usize {
    let len = match kind {
        TransportKind::Icmp => 56,
        TransportKind::Udp => rng.between(100, 400),
        TransportKind::Tcp => match rng.below(1_000) {
            0..580 => 0,
            580..896 => rng.between(1, 490),
            _ => PAYLOAD_BYTES_MAX as u64,
        },
    };
    len as usize
}

/// A message within the pool, at an even offset.
#[derive(Clone, Copy)]
struct PooledMessage {
    start: usize,
    len: usize,
}

/// Words, then DNS questions, their answers, and one NTP message, so that a full decoder has
/// something sensible to decode.
fn make_pool(rng: &mut Rng) -> (Vec<u8>, Vec<PooledMessage>) {
    let mut pool = text(rng, TEXT_BYTES);
    let mut messages = vec![PooledMessage { start: 0, len: 0 }; MESSAGES * 2 + 1];
    let mut add = |index: usize, bytes: &[u8]| {
        messages[index] = PooledMessage {
            start: pool.len(),
            len: bytes.len(),
        };
        pool.extend_from_slice(bytes);
        pool.resize(pool.len().next_multiple_of(2), 0);
    };
    for index in 0..MESSAGES {
        let name = format!("host{index}.site{}.example.com", rng.below(1_000));
        let answers = rng.between(1, 8) as u16;
        let (question, answer) = dns(rng, &name, index % 2 == 1, answers);
        add(index, &question);
        add(MESSAGES + index, &answer);
    }
    let mut clock = vec![0x23, 2, 6, 0xec];
    clock.resize(48, 0);
    add(MESSAGES * 2, &clock);
    (pool, messages)
}

/// Flows that are alive at a time.
const FLOWS: usize = 4_096;
/// Packets of the longest flow.
const PACKETS_MAX: u64 = 300;
const TEXT_BYTES: usize = 64 << 10;
/// Different DNS questions.
const MESSAGES: usize = 64;
/// The largest payload that fits a frame of 1,500 bytes after the longest headers here.
const PAYLOAD_BYTES_MAX: usize = 1_430;
