//! Fragments, streams and flows: any segments and packets, in any order, within tight limits.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;

use weir_flow::{
    Carried, Carrier, Content, Defragmenter, FragmentLimits, Fragmented, Interest, Options,
    Overlap, Part, Payload, Payloads, Reassembler, SctpLimits, SctpMessages, Sender, StreamLimits,
    Streams, Tracker,
};
use weir_packet::{Decoder, Frame, LinkType, Packet};
use weir_testkit::packet::{Chunk, Ipv4, Ipv6, protocol, sctp as sctp_packet};

use crate::bits::Bits;
use crate::packet::LINK_TYPES;

const POLICIES: [Overlap; 3] = [Overlap::First, Overlap::Last, Overlap::Drop];

/// Feeds segments to a reassembler: two bytes of position, one of kind and one of length, then the captured bytes. The offsets of
/// its output have no gaps, and no data remains at the end.
pub fn reassemble(bytes: &[u8]) {
    let mut bits = Bits(bytes);
    let mut stream = Reassembler::new(bits.pick(&POLICIES));
    let start = bits.u32();
    stream.begin(start);
    let mut given = 0_u64;
    let mut each = |offset: u64, part: Part<'_>, _: Carrier| {
        assert_eq!(offset, given, "what came before is missing");
        given += match part {
            Part::Bytes(bytes) => bytes.len() as u64,
            Part::Gap(len) => len,
        };
    };
    while !bits.0.is_empty() {
        let seq = start.wrapping_add(u32::from(bits.u16())).wrapping_sub(256);
        let kind = bits.u8();
        let len = usize::from(bits.u8());
        match kind % 16 {
            0 => {
                stream.skip_hole(&mut each);
            }
            1 => {
                stream.finish(seq);
            }
            _ => {
                let captured = bits.0.get(..len.min(bits.0.len())).unwrap_or_default();
                let longer = u32::from(kind >> 4) * u32::from(kind & 1);
                let carrier = Carrier::default();
                stream.data(seq, captured, len as u32 + longer, carrier, &mut each);
                bits.0 = bits.0.get(captured.len()..).unwrap_or_default();
            }
        }
    }
    stream.give_up(Carrier::default(), &mut each);
    assert_eq!(stream.held(), 0, "memory is left behind");
    assert!(!stream.has_hole());
}

/// Packets of raw IP through everything that keeps state, each two bytes of length, one of time.
pub fn packets(bytes: &[u8]) {
    let mut bits = Bits(bytes);
    let mut fragments = FragmentLimits::default();
    fragments.overlap_v4 = bits.pick(&POLICIES);
    fragments.overlap_v6 = bits.pick(&POLICIES);
    fragments.packets_max = usize::from(bits.u8() % 4);
    fragments.bytes_max = 4_096;
    let mut options = Options::default();
    options.flows_max = 1 + usize::from(bits.u8() % 8);
    options.details_max = 4;
    options.checksums = bits.flag();
    let mut limits = StreamLimits::default();
    limits.connections_max = 1 + usize::from(bits.u8() % 4);
    limits.direction_bytes_max = 2_048;
    limits.bytes_max = 4_096;
    let mut sctp_limits = SctpLimits::default();
    sctp_limits.bytes_max = 2_048;
    sctp_limits.streams_max = 4;
    let (flows_max, connections_max) = (options.flows_max, limits.connections_max);

    let mut decoder = Decoder::default();
    let mut defragmenter = Defragmenter::new(fragments.clone());
    let mut tracker = Tracker::with_fragments(options, fragments.clone());
    tracker.analyze();
    let mut streams = Streams::with_fragments(limits, fragments);
    let mut sctp = SctpMessages::new(sctp_limits);
    let (mut begun, mut ended, mut time_ns) = (0_u64, 0_u64, 0_i64);
    let mut taken = 0_usize;
    while !bits.0.is_empty() {
        time_ns += i64::from(bits.u8()) << 26;
        let len = usize::from(bits.u16() & 0x3ff).min(bits.0.len());
        let (packet, rest) = bits.0.split_at(len);
        bits.0 = rest;
        let mut frame = Frame::new(LinkType(101), packet);
        frame.time_ns = Some(time_ns);
        let packet: Packet<'_> = decoder.decode(frame);
        if let Fragmented::Complete { bytes, .. } = defragmenter.packet(&packet) {
            assert!(bytes.len() <= 65_535);
        }
        assert!(defragmenter.waiting_bytes() <= 4_096 + 2 * 1_024 + 256);
        let seen = tracker.packet(&packet, |_| ended += 1);
        begun += u64::from(seen.is_some_and(|seen| seen.is_first));
        assert!(tracker.table().len() <= flows_max);
        let (connections, waiting) = tracker
            .analysis()
            .map_or((0, 0), |analysis| analysis.held());
        taken += 1;
        // A segment waits in one place at a time.
        assert!(connections <= flows_max + 1 && waiting <= 2 * taken);
        streams.packet(&packet, |_| Interest::Follow);
        assert!(streams.len() <= connections_max && streams.held() <= 8_192);
        sctp.packet(&packet, |message| assert!(message.bytes.len() <= 65_535));
        assert!(sctp.held() <= 2_048 + 1_024);
    }
    tracker.finish(|_| ended += 1);
    streams.finish(|_| Interest::Follow);
    assert_eq!(begun, ended, "a flow was lost or came twice");
    assert_eq!(streams.held(), 0);
}

/// Checks the reassembly of a datagram from arbitrary fragments, in any order, repeated and overlapping: it is complete as soon
/// as all its parts have arrived, and not before. Overlapping fragments have the same bytes, because they are of one datagram;
/// fragments of other datagrams, and other packets, come between them.
pub fn fragments(bytes: &[u8]) {
    let mut bits = Bits(bytes);
    let v6 = bits.flag();
    let mut limits = FragmentLimits::default();
    limits.overlap_v4 = bits.pick(&[Overlap::First, Overlap::Last]);
    limits.overlap_v6 = limits.overlap_v4;
    let len = 1 + usize::from(bits.u16() % 4_000);
    let step = bits.u8();
    let payload: Vec<u8> = (0..len)
        .map(|at| (at as u8).wrapping_mul(step) ^ (at >> 8) as u8)
        .collect();
    let mut decoder = Decoder::default();
    let mut defragmenter = Defragmenter::new(limits);
    let mut known = vec![false; len];
    let mut number = 0;
    while !bits.0.is_empty() && number < 512 {
        number += 1;
        let kind = bits.u8();
        let offset = usize::from(bits.u16()) % len / 8 * 8;
        let mut end = (offset + 8 + usize::from(bits.u8()) * 8).min(len);
        let is_other = kind & 7 == 0;
        if is_other {
            // Any bytes arrive under another identification, whole or contradicting.
            end = (offset + 1 + usize::from(bits.u8())).min(len);
        }
        let part = payload.get(offset..end).unwrap_or_default();
        let more = end < len;
        if !more && offset == 0 {
            // A packet in one piece is no fragment.
            continue;
        }
        let identification = u16::from(is_other) + 7;
        let packet = fragment(v6, identification, offset, more, part);
        let packet = decoder.decode(Frame::new(LinkType(101), &packet));
        let fragmented = defragmenter.packet(&packet);
        if is_other {
            continue;
        }
        known[offset..end].fill(true);
        match fragmented {
            Fragmented::Complete { bytes, .. } => {
                assert!(known.iter().all(|known| *known), "something is missing");
                let header = if v6 { 40 } else { 20 };
                assert_eq!(bytes.get(header..), Some(&payload[..]), "not what was cut");
                known.fill(false);
            }
            Fragmented::Waits => {
                assert!(!known.iter().all(|known| *known), "all is there");
            }
            other => panic!("a fragment is {other:?}"),
        }
    }
}

/// A fragment with the addresses 10.0.0.1 and 10.0.0.2, or `::1` and `::2`.
fn fragment(v6: bool, identification: u16, offset: usize, more: bool, part: &[u8]) -> Vec<u8> {
    let flags = offset as u16 / 8;
    if v6 {
        let (from, to) = (Ipv6Addr::from(1), Ipv6Addr::from(2));
        return Ipv6::new(from, to, protocol::UDP)
            .fragment(usize::from(flags) * 8, more, identification.into())
            .packet(part);
    }
    Ipv4::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), protocol::UDP)
        .identification(identification)
        .fragment(usize::from(flags) * 8, more)
        .packet(part)
}

/// User messages of SCTP, whole and in parts, on several streams, in any order and repeated. Each reassembled message
/// is one of the messages that were sent, and comes at most once.
pub fn sctp(bytes: &[u8]) {
    let mut bits = Bits(bytes);
    let mut limits = SctpLimits::default();
    if bits.flag() {
        limits.bytes_max = 1_024;
        limits.message_bytes_max = 512;
        limits.streams_max = 2;
    }
    // A message that comes whole is handed through.
    let held_max = limits.bytes_max + 1_024;
    // The parts of all messages, with their transmission numbers.
    let mut tsn = bits.u32();
    let (mut sent, mut parts) = (Vec::new(), Vec::new());
    for number in 0..1 + bits.u8() % 8 {
        let (stream, cuts) = (u16::from(bits.u8() % 3), 1 + usize::from(bits.u8() % 4));
        let message: Vec<u8> = (0..cuts * 8).map(|at| number << 5 | at as u8).collect();
        for (index, piece) in message.chunks(8).enumerate() {
            let first = if index == 0 { 2 } else { 0 };
            let flags = first | u8::from(index + 1 == cuts);
            parts.push((tsn, stream, flags, piece.to_vec()));
            tsn = tsn.wrapping_add(1);
        }
        sent.push((stream, message));
    }
    let mut decoder = Decoder::default();
    let mut messages = SctpMessages::new(limits);
    for _ in 0..64.min(bits.0.len()) {
        let (tsn, stream, flags, piece) = &parts[usize::from(bits.u8()) % parts.len()];
        let mut value = tsn.to_be_bytes().to_vec();
        value.extend(stream.to_be_bytes());
        value.extend([0, 0, 0, 0, 0, 7]);
        value.extend(piece);
        let packet = sctp_packet(1, 2, 3, &[Chunk::Other(0, *flags, value)]);
        let packet =
            Ipv4::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), protocol::SCTP).packet(&packet);
        messages.packet(
            &decoder.decode(Frame::new(LinkType(101), &packet)),
            |message| {
                let one = (message.stream, message.bytes.to_vec());
                let at = sent.iter().position(|sent| *sent == one);
                sent.swap_remove(at.expect("a message that was sent, and has not come yet"));
            },
        );
        assert!(messages.held() <= held_max);
    }
}

/// Frames of any link type, ATM's cells among them, through [`Payloads`]: what is carried lies within what was
/// fed, and the chunks of a stream follow each other.
pub fn payloads(bytes: &[u8]) {
    let mut bits = Bits(bytes);
    let mut decoder = Decoder::default();
    let mut payloads = Payloads::new();
    let mut streams: BTreeMap<(u64, bool), u64> = BTreeMap::new();
    let (mut fed, mut number, mut time_ns) = (0_u64, 0, 0_i64);
    let ignored = bits.u8();
    let mut each = |fed: u64, payload: &Payload<'_>| {
        match payload.carried {
            Carried::Stream(chunk) => {
                let is_high = chunk.sender == Sender::High;
                let next = streams.entry((chunk.connection, is_high)).or_default();
                assert_eq!(*next, chunk.offset, "what came before is missing");
                *next += match chunk.content {
                    Content::Bytes(bytes) => {
                        assert!(bytes.len() as u64 <= fed);
                        bytes.len() as u64
                    }
                    Content::Gap(len) => len,
                    Content::End(_) => 0,
                };
                if chunk.connection & 7 == u64::from(ignored) {
                    return Interest::Ignore;
                }
            }
            Carried::Datagram(bytes) | Carried::Message { bytes, .. } => {
                assert!(bytes.len() as u64 <= fed);
            }
            _ => {}
        }
        Interest::Follow
    };
    while !bits.0.is_empty() {
        let link_type = LinkType(bits.pick(LINK_TYPES));
        time_ns += i64::from(bits.u8()) << 24;
        let len = usize::from(bits.u8()) << 2;
        let data = bits.chunk(len);
        fed += data.len() as u64;
        number += 1;
        let mut frame = Frame::new(link_type, data);
        frame.number = number;
        frame.time_ns = Some(time_ns);
        payloads.packet(&decoder.decode(frame), &mut |payload| each(fed, payload));
    }
    payloads.finish(&mut |payload| each(fed, payload));
}
