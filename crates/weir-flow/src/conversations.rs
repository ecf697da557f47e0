//! The numbers that Wireshark gives conversations of TCP and UDP (`tcp.stream`, `udp.stream`), and what depends
//! on where they began.
//!
//! Conversations are numbered from 0 in the order of their first packets, each protocol by itself, and do not end by
//! silence: one that goes on after a day has its number still. A SYN whose number is not that of the conversation
//! begins another one of the same ends. Fragments count when they are put together; headers in tunnels, and those that
//! errors of ICMP quote, count as all others do: but a segment that is quoted was sent before, and says nothing of what its
//! connection sends.

use std::net::IpAddr;

use weir_dict::Dict;
use weir_packet::{Layer, Packet};

use crate::analysis::{Analysis, Analyzed};
use crate::fragment::{Defragmenter, FragmentLimits, Fragmented, Nested, frame_of};
use crate::key::{Endpoint, FlowKey, Sender};
use crate::options::TUNNELS_MAX;
use crate::segment::{ACK, FIN, SYN, Segment};
use crate::sighting::Sighting;

/// The conversation of one header of TCP or UDP, and its place in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conversed {
    /// True of TCP, false of UDP.
    pub is_tcp: bool,
    /// The number of its conversation, from 0.
    pub stream: u64,
    /// Nanoseconds since the conversation's first packet, and since the one before this (0 of the first). Datagrams that
    /// an error quotes have none, nor headers that are shorter than they may be.
    pub times_ns: Option<[i64; 2]>,
    /// Numbers of TCP, counted from where the conversation began.
    pub numbers: Option<Relative>,
    /// The findings of the analysis of a segment, if [`Conversations::analyze`] is on.
    pub analyzed: Option<Analyzed>,
}

/// The numbers of a segment, relative to the beginning of its direction. A segment that an ICMP error quotes has absolute numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relative {
    /// The relative number of the first octet.
    pub seq: u32,
    /// Octets of data.
    pub len: u32,
    /// Further fields of a header that is whole.
    pub more: Option<More>,
}

/// See [`Relative`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct More {
    /// The relative number of the octet after the segment; `None` for a quoted segment, as in Wireshark.
    pub next_seq: Option<u32>,
    /// The relative acknowledgment number; absolute when the ACK flag is not set.
    pub ack: u32,
    /// The window in octets, by the scale of the handshake where that was seen.
    pub window: u32,
}

/// Numbers conversations.
#[derive(Debug)]
pub struct Conversations {
    known: Dict<FlowKey, KnownConversation>,
    known_max: usize,
    /// The numbers of conversations of TCP and of UDP.
    counts: [u64; 2],
    unnumbered: u64,
    defragmenter: Defragmenter,
    nested: Nested,
    analysis: Option<Analysis>,
    scale: Option<fn(&Packet<'_>) -> Option<u8>>,
}

/// The maximum number of conversations, each of which takes some 130 bytes.
const CONVERSATIONS_MAX: usize = 2 << 20;

#[derive(Clone, Copy, Debug)]
struct KnownConversation {
    stream: u64,
    first_ns: i64,
    last_ns: i64,
    ends: [DirectionState; 2],
}

impl KnownConversation {
    /// Learns from a segment the first numbers of both directions and, from a SYN, the window scale.
    fn learn(&mut self, side: usize, segment: &Segment, scale: Option<u8>) {
        let has = |flags: u8| segment.flags & flags != 0;
        let [low, high] = &mut self.ends;
        let (end, peer) = match side {
            0 => (low, high),
            _ => (high, low),
        };
        if has(SYN) {
            end.start = Some(segment.seq);
            end.scale = scale.map_or(Scale::None, Scale::By);
            // Both must offer it (RFC 7323, 2.2).
            if has(ACK) && [end.scale, peer.scale].contains(&Scale::None) {
                (end.scale, peer.scale) = (Scale::None, Scale::None);
            }
        }
        end.start.get_or_insert(segment.seq.wrapping_sub(1));
        if has(ACK) {
            peer.start.get_or_insert(segment.ack.wrapping_sub(1));
        }
    }
}

/// The state of a TCP direction.
#[derive(Clone, Copy, Debug, Default)]
struct DirectionState {
    /// The number from which others are counted.
    start: Option<u32>,
    scale: Scale,
}

/// The shift of windows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Scale {
    /// The SYN was not seen.
    #[default]
    Unknown,
    /// One side did not offer it.
    None,
    By(u8),
}

/// The callback for each header that was found.
type OnConversation<'e> = dyn FnMut(&Conversed) + 'e;

impl Default for Conversations {
    fn default() -> Self {
        Self::new()
    }
}

impl Conversations {
    /// The state before the first packet, with default limits.
    #[must_use]
    pub fn new() -> Self {
        Self {
            known: Dict::new(),
            known_max: CONVERSATIONS_MAX,
            counts: [0; 2],
            unnumbered: 0,
            defragmenter: Defragmenter::new(FragmentLimits::default()),
            nested: Nested::default(),
            analysis: None,
            scale: crate::analysis::window_scale(),
        }
    }

    /// Analyses TCP from now on.
    pub fn analyze(&mut self) {
        self.analysis = Some(Analysis::new(CONVERSATIONS_MAX));
    }

    /// The number of headers without a number, because there were more conversations than the maximum.
    #[must_use]
    pub const fn unnumbered(&self) -> u64 {
        self.unnumbered
    }

    /// Connections whose analysis began anew, as too many others came between.
    #[must_use]
    pub fn forgotten(&self) -> u64 {
        self.analysis.as_ref().map_or(0, Analysis::forgotten)
    }

    /// Reads the next packet, decoded to its innermost header, and reports each of its TCP and UDP headers.
    pub fn packet(&mut self, packet: &Packet<'_>, each: &mut OnConversation<'_>) {
        self.walk(packet, 0, each);
    }

    fn walk(&mut self, packet: &Packet<'_>, depth: usize, each: &mut OnConversation<'_>) {
        match self.defragmenter.packet(packet) {
            Fragmented::Whole | Fragmented::Cut => self.level(packet, depth, each),
            Fragmented::Waits => {}
            Fragmented::Complete { bytes, layer, .. } => {
                let bytes = bytes.to_vec();
                let mut decoder = self.nested.take();
                let packet = decoder.decode_as(frame_of(packet, &bytes), layer);
                self.level(&packet, depth, each);
                self.nested.put(decoder);
            }
        }
    }

    /// Walks the headers down to the packet that a tunnel carries, and then that packet, which may be a fragment.
    fn level(&mut self, packet: &Packet<'_>, depth: usize, each: &mut OnConversation<'_>) {
        let mut headers = self.nested.take_headers();
        let inside = match depth < TUNNELS_MAX {
            true => packet.inside(&mut headers).map(|(inside, _)| inside),
            false => None,
        };
        let behind = inside.as_ref().map_or(0, |inside| inside.headers().count());
        let own = packet.headers().count().saturating_sub(behind);
        self.headers(packet, own, each);
        if let Some(inside) = inside {
            self.walk(&inside, depth + 1, each);
        }
        self.nested.put_headers(headers);
    }

    /// The first `own` headers of a packet.
    fn headers(&mut self, packet: &Packet<'_>, own: usize, each: &mut OnConversation<'_>) {
        let (mut addresses, mut quote) = (None, None);
        let (mut of_tcp, mut of_udp) = (Vec::new(), Vec::new());
        for (layer, header) in packet.headers().take(own) {
            match layer {
                Layer::Ipv4 => addresses = ends::<4>(header, 12),
                Layer::Ipv6 => addresses = ends::<16>(header, 8),
                Layer::Tcp => {
                    let key = key(addresses, header, TCP);
                    let key = key.filter(|_| quote != Some(Quote::OfRedirect));
                    of_tcp.push(key.map(|(key, sender)| (key, sender, quote.is_some())));
                }
                Layer::Udp | Layer::UdpLite => {
                    let key = key(addresses, header, UDP);
                    of_udp.extend(key.map(|(key, _)| (key, quote.is_some())));
                }
                Layer::Icmp if header.first() == Some(&REDIRECT) => {
                    quote = Some(Quote::OfRedirect);
                }
                Layer::Icmp | Layer::Icmpv6 => quote = Some(Quote::OfError),
                _ => {}
            }
        }
        let time_ns = packet.frame().time_ns;
        for (key, is_quoted) in of_udp {
            if let Some(mut conversed) = self.number(key, time_ns, UDP) {
                conversed.times_ns = conversed.times_ns.filter(|_| !is_quoted);
                each(&conversed);
            }
        }
        let mut keys = of_tcp.into_iter();
        packet.each_of(Layer::Tcp, &mut |one| match keys.next() {
            Some(key) => {
                let conversed = key.and_then(|(key, sender, is_quoted)| {
                    self.segment(one, (key, sender), is_quoted)
                });
                if let Some(conversed) = conversed {
                    each(&conversed);
                }
                true
            }
            None => false,
        });
    }

    /// The conversation of a key, which may begin.
    fn number(&mut self, key: FlowKey, time_ns: Option<i64>, protocol: u8) -> Option<Conversed> {
        let count = usize::from(protocol == UDP);
        if let Some(known) = self.known.get_mut(&key) {
            let now_ns = time_ns.unwrap_or(known.last_ns);
            let conversed = Conversed {
                is_tcp: protocol == TCP,
                stream: known.stream,
                times_ns: Some([
                    now_ns.saturating_sub(known.first_ns),
                    now_ns.saturating_sub(known.last_ns),
                ]),
                ..Conversed::default()
            };
            known.last_ns = now_ns;
            return Some(conversed);
        }
        if self.known.len() >= self.known_max {
            self.unnumbered = self.unnumbered.saturating_add(1);
            return None;
        }
        let stream = self.next_number(count)?;
        let now_ns = time_ns.unwrap_or(0);
        let known = KnownConversation {
            stream,
            first_ns: now_ns,
            last_ns: now_ns,
            ends: [DirectionState::default(); 2],
        };
        self.known.insert(key, known);
        Some(Conversed {
            is_tcp: protocol == TCP,
            stream,
            times_ns: Some([0; 2]),
            ..Conversed::default()
        })
    }

    fn next_number(&mut self, count: usize) -> Option<u64> {
        let next = self.counts.get_mut(count)?;
        let number = *next;
        *next = next.saturating_add(1);
        Some(number)
    }

    /// Reads a TCP header; returns `None` when it is cut before its window.
    fn segment(
        &mut self,
        packet: &Packet<'_>,
        (key, sender): (FlowKey, Sender),
        is_quoted: bool,
    ) -> Option<Conversed> {
        let segment = segment(packet)?;
        let has = |flags: u8| segment.flags & flags != 0;
        let side = usize::from(sender == Sender::High);
        if has(SYN) && !has(ACK) {
            let known = self.known.get(&key);
            let start = known.and_then(|known| known.ends.get(side)?.start);
            if start.is_some_and(|start| start != segment.seq) {
                self.known.remove(&key);
            }
        }
        let is_whole = is_whole(packet);
        let time_ns = packet.frame().time_ns.filter(|_| is_whole);
        let mut conversed = self.number(key, time_ns, TCP)?;
        if is_quoted {
            conversed.times_ns = conversed.times_ns.filter(|_| is_whole);
            conversed.numbers = Some(as_sent(&segment, is_whole));
            return Some(conversed);
        }
        let known = self.known.get_mut(&key)?;
        let scale = self.scale.filter(|_| has(SYN)).and_then(|get| get(packet));
        known.learn(side, &segment, scale);
        let [end, peer] = match (known.ends, side) {
            (ends, 0) => ends,
            ([low, high], _) => [high, low],
        };
        let seq = segment.seq.wrapping_sub(end.start.unwrap_or(0));
        if !is_whole {
            conversed.times_ns = None;
            conversed.numbers = Some(Relative {
                seq,
                ..Relative::default()
            });
            return Some(conversed);
        }
        let shift = match end.scale {
            Scale::By(shift) if !has(SYN) => shift.min(14),
            _ => 0,
        };
        let takes = segment.len.wrapping_add(u32::from(has(SYN | FIN)));
        conversed.numbers = Some(Relative {
            seq,
            len: segment.len,
            more: Some(More {
                next_seq: Some(seq.wrapping_add(takes)),
                ack: match has(ACK) {
                    true => segment.ack.wrapping_sub(peer.start.unwrap_or(0)),
                    false => segment.ack,
                },
                window: u32::from(segment.window) << shift,
            }),
        });
        if let Some(analysis) = &mut self.analysis {
            let sighting = Sighting {
                key,
                sender,
                time_ns: packet.frame().time_ns,
                ip_bytes: 0,
                payload_bytes: segment.len,
                ttl: 0,
                bad_checksum: false,
                segment: Some(segment),
            };
            conversed.analyzed = analysis.packet(packet, &sighting, packet.frame().number);
        }
        Some(conversed)
    }
}

/// The kind of message that quotes a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quote {
    OfError,
    /// Wireshark shows only the ports of segments that a redirect quotes.
    OfRedirect,
}

/// The type of a redirect (RFC 792).
const REDIRECT: u8 = 5;

/// The absolute numbers of a segment that an ICMP error quotes: its octets are not those of a direction.
const fn as_sent(segment: &Segment, is_whole: bool) -> Relative {
    let more = More {
        next_seq: None,
        ack: segment.ack,
        window: segment.window as u32,
    };
    Relative {
        seq: segment.seq,
        len: 0,
        more: if is_whole { Some(more) } else { None },
    }
}

const TCP: u8 = 6;
/// UDP-Lite shares its conversations.
const UDP: u8 = 17;

/// The addresses of an IP header, which begin at `at`.
fn ends<const N: usize>(header: &[u8], at: usize) -> Option<[IpAddr; 2]>
where
    IpAddr: From<[u8; N]>,
{
    let (source, rest) = header.get(at..)?.split_first_chunk::<N>()?;
    let destination = rest.first_chunk::<N>()?;
    Some([IpAddr::from(*source), IpAddr::from(*destination)])
}

fn key(addresses: Option<[IpAddr; 2]>, header: &[u8], protocol: u8) -> Option<(FlowKey, Sender)> {
    let [source, destination] = addresses?;
    let [s1, s0, d1, d0] = *header.first_chunk::<4>()?;
    let end = |address, port| Endpoint { address, port };
    Some(FlowKey::new(
        end(source, u16::from_be_bytes([s1, s0])),
        end(destination, u16::from_be_bytes([d1, d0])),
        protocol,
        0,
    ))
}

/// True unless the header says that it is shorter than it must be.
fn is_whole(packet: &Packet<'_>) -> bool {
    packet
        .u8(Layer::Tcp, 12)
        .is_some_and(|offset| offset >> 4 >= 5)
}

/// The outermost TCP header, up to its window.
fn segment(packet: &Packet<'_>) -> Option<Segment> {
    let header = packet.bytes(Layer::Tcp)?.first_chunk::<16>()?;
    let declared = packet.declared_len(Layer::Tcp).unwrap_or(0);
    let len = declared.saturating_sub(Segment::header_len(header));
    Some(Segment::of_header(header, len))
}

#[cfg(test)]
mod tests {
    use weir_packet::{Decoder, Frame, LinkType};

    use super::*;

    /// A segment of 10.0.0.1 with this port, or the answer to it.
    fn tcp(port: u16, is_answer: bool, seq: u32, flags: u8) -> Vec<u8> {
        let mut ends = [([10, 0, 0, 1], port), ([10, 0, 0, 2], 80)];
        if is_answer {
            ends.reverse();
        }
        let [source, destination] = ends;
        let mut bytes = vec![0x45, 0, 0, 40, 0, 1, 0, 0, 64, 6, 0, 0];
        bytes.extend(source.0);
        bytes.extend(destination.0);
        bytes.extend(source.1.to_be_bytes());
        bytes.extend(destination.1.to_be_bytes());
        bytes.extend(seq.to_be_bytes());
        bytes.extend([0, 0, 0, 0, 0x50, flags, 1, 0, 0, 0, 0, 0]);
        bytes
    }

    struct TestConversations(Conversations, Decoder);

    impl TestConversations {
        fn new() -> Self {
            Self(Conversations::new(), Decoder::default())
        }

        fn numbers(&mut self, bytes: &[u8]) -> Vec<u64> {
            let mut numbers = Vec::new();
            let packet = self.1.decode(Frame::new(LinkType(101), bytes));
            self.0
                .packet(&packet, &mut |conversed| numbers.push(conversed.stream));
            numbers
        }
    }

    #[test]
    fn a_syn_with_another_number_begins_another_conversation() {
        let mut run = TestConversations::new();
        assert_eq!(run.numbers(&tcp(1, false, 100, SYN)), [0]);
        assert_eq!(run.numbers(&tcp(2, false, 100, SYN)), [1]);
        assert_eq!(run.numbers(&tcp(1, true, 500, SYN | ACK)), [0]);
        assert_eq!(run.numbers(&tcp(1, false, 100, SYN)), [0]);
        assert_eq!(run.numbers(&tcp(1, false, 7_000, SYN)), [2]);
        assert_eq!(run.numbers(&tcp(1, true, 900, SYN | ACK)), [2]);
        assert_eq!(run.numbers(&tcp(2, false, 101, ACK)), [1]);
    }

    #[test]
    fn more_conversations_than_the_limit_have_no_number() {
        let mut run = TestConversations::new();
        run.0.known_max = 100;
        for port in 0..5_000 {
            let wanted: &[u64] = match port {
                0..100 => &[port],
                _ => &[],
            };
            assert_eq!(run.numbers(&tcp(port as u16, false, 1, SYN)), wanted);
        }
        assert_eq!((run.0.known.len(), run.0.unnumbered()), (100, 4_900));
        assert_eq!(run.numbers(&tcp(7, true, 1, SYN | ACK)), [7]);
    }

    #[test]
    fn numbers_are_counted_from_where_a_conversation_began() {
        let mut run = TestConversations::new();
        let mut seen = Vec::new();
        for bytes in [
            tcp(1, false, u32::MAX, SYN),
            tcp(1, false, 0, ACK),
            tcp(1, true, 7, ACK),
        ] {
            let packet = run.1.decode(Frame::new(LinkType(101), &bytes));
            run.0.packet(&packet, &mut |conversed| {
                let numbers = conversed.numbers.unwrap();
                seen.push((numbers.seq, numbers.more.unwrap().next_seq.unwrap()));
            });
        }
        // The first acknowledgment of the other side was of number 0, so that it began before that.
        assert_eq!(seen, [(0, 1), (1, 1), (8, 8)]);
    }
}
