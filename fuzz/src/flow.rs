//! Fragments, streams and flows: any segments and packets, in any order, within tight limits.

use weir_flow::{
    Defragmenter, FragmentLimits, Fragmented, Interest, Options, Overlap, Part, Reassembler,
    SctpLimits, SctpMessages, StreamLimits, Streams, Tracker,
};
use weir_packet::{Decoder, Frame, LinkType, Packet};

use crate::bits::Bits;

const POLICIES: [Overlap; 3] = [Overlap::First, Overlap::Last, Overlap::Drop];

/// Segments into a reassembler: each three bytes of place, one of length, one of what was captured.
/// Offsets go up without a hole, and nothing is left behind.
pub fn reassemble(bytes: &[u8]) {
    let mut bits = Bits(bytes);
    let mut stream = Reassembler::new(bits.pick(&POLICIES));
    let start = bits.u32();
    stream.begin(start);
    let mut given = 0_u64;
    let mut each = |offset: u64, part: Part<'_>| {
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
            0 => drop(stream.skip_hole(&mut each)),
            1 => stream.finish(seq),
            _ => {
                let captured = bits.0.get(..len.min(bits.0.len())).unwrap_or_default();
                let longer = u32::from(kind >> 4) * u32::from(kind & 1);
                stream.data(seq, captured, len as u32 + longer, &mut each);
                bits.0 = bits.0.get(captured.len()..).unwrap_or_default();
            }
        }
    }
    stream.give_up(&mut each);
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
    let mut streams = Streams::with_fragments(limits, fragments);
    let mut sctp = SctpMessages::new(sctp_limits);
    let (mut begun, mut ended, mut time_ns) = (0_u64, 0_u64, 0_i64);
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
