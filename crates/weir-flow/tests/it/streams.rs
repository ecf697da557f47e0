//! Streams put in order, against a naive reassembler.

use std::net::Ipv4Addr;

use weir_flow::{
    Carrier, Content, Interest, Overlap, Part, Reassembler, StreamEnd, StreamLimits, Streams,
};
use weir_testkit::Rng;
use weir_testkit::packet::{Ipv4, Tcp, protocol, tcp_flags};

use crate::capture::{Sent, decode, shuffle};

/// Adds segments; returns what came out, with `None` for bytes of gaps.
fn run(overlap: Overlap, start: u32, segments: &[(u64, Vec<u8>, u32)]) -> (Vec<Option<u8>>, usize) {
    let mut stream = Reassembler::new(overlap);
    let mut out = Vec::new();
    stream.begin(start);
    let carrier = Carrier::default();
    let mut each = |offset: u64, part: Part<'_>, _: Carrier| {
        assert_eq!(offset, out.len() as u64);
        match part {
            Part::Bytes(bytes) => out.extend(bytes.iter().copied().map(Some)),
            Part::Gap(len) => out.extend(std::iter::repeat_n(None, len as usize)),
        }
    };
    for (offset, bytes, len) in segments {
        let seq = start.wrapping_add(*offset as u32);
        stream.data(seq, bytes, *len, carrier, &mut each);
    }
    stream.give_up(carrier, &mut each);
    assert_eq!(stream.held(), 0);
    (out, stream.offset() as usize)
}

#[test]
fn cut_duplicated_reordered_and_overlapped_segments_give_the_stream() {
    let mut random = Rng::new(2);
    for round in 0..3_000 {
        let len = 1 + random.below(3_000) as usize;
        let stream = random.bytes(len);
        // The wrap is often in the middle.
        let start = if round % 2 == 0 {
            0_u32.wrapping_sub(random.below(stream.len() as u64) as u32)
        } else {
            random.below(1 << 32) as u32
        };
        let mut segments = Vec::new();
        let mut at = 0;
        while at < stream.len() {
            let len = 1 + random.below(200) as usize;
            let end = (at + len).min(stream.len());
            // A segment sometimes overlaps those before it.
            let from = at.saturating_sub(random.below(3) as usize * random.below(150) as usize);
            let bytes = stream[from..end].to_vec();
            let len = bytes.len() as u32;
            segments.push((from as u64, bytes, len));
            if random.below(4) == 0 {
                segments.push(segments.last().unwrap().clone());
            }
            at = end;
        }
        match round % 3 {
            0 => shuffle(&mut random, &mut segments),
            1 => {
                for _ in 0..segments.len() {
                    let at = random.below(segments.len() as u64) as usize;
                    let other = (at + random.below(4) as usize).min(segments.len() - 1);
                    segments.swap(at, other);
                }
            }
            _ => {}
        }
        for overlap in [Overlap::First, Overlap::Last, Overlap::Drop] {
            let (out, _) = run(overlap, start, &segments);
            let out: Vec<u8> = out.into_iter().map(|byte| byte.unwrap()).collect();
            assert!(out == stream, "round {round}, {overlap:?}");
        }
    }
}

/// The result of a naive reassembler for contradicting segments: an array of bytes, written one at a time; bytes contiguous from
/// the start are final.
fn naive(overlap: Overlap, segments: &[(u64, Vec<u8>, u32)]) -> Vec<Option<u8>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Byte {
        Unknown,
        NotCaptured,
        Is(u8),
    }
    let size = segments
        .iter()
        .map(|(at, _, len)| at + u64::from(*len))
        .max();
    let mut bytes = vec![Byte::Unknown; size.unwrap_or(0) as usize];
    let mut given = 0;
    for (at, captured, len) in segments {
        let places = *at as usize..*at as usize + *len as usize;
        let differs = places.clone().zip(captured).any(|(place, byte)| {
            place >= given && matches!(bytes[place], Byte::Is(other) if other != *byte)
        });
        if overlap == Overlap::Drop && differs {
            continue;
        }
        for (index, place) in places.enumerate() {
            if place < given {
                continue;
            }
            match captured.get(index) {
                Some(byte) if overlap == Overlap::Last || !matches!(bytes[place], Byte::Is(_)) => {
                    bytes[place] = Byte::Is(*byte);
                }
                None if bytes[place] == Byte::Unknown => bytes[place] = Byte::NotCaptured,
                _ => {}
            }
        }
        while bytes.get(given).is_some_and(|byte| *byte != Byte::Unknown) {
            given += 1;
        }
    }
    // Dropped segments leave no trace.
    while bytes.pop_if(|byte| *byte == Byte::Unknown).is_some() {}
    bytes
        .into_iter()
        .map(|byte| match byte {
            Byte::Is(byte) => Some(byte),
            _ => None,
        })
        .collect()
}

#[test]
fn segments_that_contradict_each_other_are_read_by_the_policy() {
    let mut random = Rng::new(3);
    for round in 0..30_000 {
        let mut segments = Vec::new();
        for _ in 0..1 + random.below(12) {
            let len = random.below(12) as usize;
            let captured = random.bytes(len);
            let cut = if random.below(3) == 0 {
                random.below(6) as u32
            } else {
                0
            };
            let len = captured.len() as u32 + cut;
            segments.push((random.below(40), captured, len));
        }
        for overlap in [Overlap::First, Overlap::Last, Overlap::Drop] {
            let start = u32::MAX - 20;
            let (out, _) = run(overlap, start, &segments);
            let expected = naive(overlap, &segments);
            assert_eq!(out, expected, "round {round}, {overlap:?}: {segments:?}");
        }
    }
}

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const IP: u32 = 101;

fn segment(time_ms: i64, to_b: bool, flags: u8, seq: u32, ack: u32, data: &[u8]) -> Sent {
    let (from, to, ports) = if to_b {
        (A, B, (40_000, 5_060))
    } else {
        (B, A, (5_060, 40_000))
    };
    let segment = Tcp::new(ports.0, ports.1)
        .flags(flags)
        .numbers(seq, ack)
        .segment(from.into(), to.into(), data);
    let ip = Ipv4::new(from, to, protocol::TCP).packet(&segment);
    Sent::new(time_ms * 1_000_000, IP, ip)
}

const ACK: u8 = tcp_flags::ACK;
const SYN: u8 = tcp_flags::SYN;

/// The output of each direction, with gaps as `[n]` and ends as `<why>`.
fn follow(packets: &[Sent], limits: StreamLimits) -> (String, String, Streams) {
    let mut streams = Streams::new(limits);
    let mut text = [String::new(), String::new()];
    let mut note = |chunk: &weir_flow::Chunk<'_>| {
        let text = &mut text[usize::from(!chunk.from_originator)];
        match chunk.content {
            Content::Bytes(bytes) => text.push_str(std::str::from_utf8(bytes).unwrap()),
            Content::Gap(len) => *text += &format!("[{len}]"),
            Content::End(end) => *text += &format!("<{end:?}>"),
        }
        Interest::Follow
    };
    decode(packets, |packet| streams.packet(packet, &mut note));
    streams.finish(&mut note);
    let [there, back] = text;
    (there, back, streams)
}

#[test]
fn both_directions_of_a_connection() {
    let packets = [
        segment(0, true, SYN, 99, 0, b""),
        segment(1, false, SYN | ACK, 199, 100, b""),
        segment(2, true, ACK, 106, 200, b"world"),
        segment(3, true, ACK, 100, 200, b"hello "),
        segment(4, true, ACK, 100, 200, b"hello "),
        // A keep-alive.
        segment(5, true, ACK, 110, 200, b"?"),
        segment(6, false, ACK, 200, 111, b"yes"),
        segment(7, true, tcp_flags::FIN | ACK, 111, 203, b"!"),
        segment(8, false, tcp_flags::FIN | ACK, 203, 113, b""),
    ];
    let (there, back, streams) = follow(&packets, StreamLimits::default());
    assert_eq!(there, "hello world!<Finished>");
    assert_eq!(back, "yes<Finished>");
    assert!(streams.is_empty() && streams.held() == 0);
    assert_eq!(streams.counters().0.connections, 1);
}

#[test]
fn data_before_the_syn_in_the_capture_are_not_lost() {
    let packets = [
        segment(1, false, SYN | ACK, 199, 100, b""),
        segment(2, true, ACK, 103, 200, b"def"),
        segment(0, true, SYN, 99, 0, b""),
        segment(3, true, ACK, 100, 200, b"abc"),
    ];
    let (there, _, _) = follow(&packets, StreamLimits::default());
    assert_eq!(there, "abcdef<CaptureEnd>");
}

/// The capture begins in the middle of a connection: the receiver's acknowledgment says where the stream may begin.
#[test]
fn data_wait_for_what_lies_between_them_and_the_acknowledgment_before_them() {
    for start in [200, u32::MAX - 1, u32::MAX - 4] {
        let at = |offset: u32| start.wrapping_add(offset);
        let packets = [
            segment(0, true, ACK, 100, at(0), b"GET"),
            segment(1, false, ACK, at(6), 103, b"ghi"),
            segment(2, false, ACK, at(3), 103, b"def"),
            segment(3, false, ACK, at(0), 103, b"abc"),
            segment(4, true, ACK, 103, at(9), b"GET"),
            segment(5, false, ACK, at(9), 106, b"jkl"),
        ];
        let (there, back, streams) = follow(&packets, StreamLimits::default());
        assert_eq!(there, "GETGET<CaptureEnd>");
        assert_eq!(back, "abcdefghijkl<CaptureEnd>");
        assert_eq!(streams.counters().0.missing_bytes, 0);
        // The acknowledgment has no data itself.
        let mut alone = packets.to_vec();
        alone[0] = segment(0, true, ACK, 103, at(0), b"");
        alone[4] = segment(4, true, ACK, 103, at(9), b"");
        let (back, there, _) = follow(&alone, StreamLimits::default());
        assert_eq!(
            (there.as_str(), back.as_str()),
            ("<CaptureEnd>", "abcdefghijkl<CaptureEnd>")
        );
        // An acknowledgment of what comes later in the capture stands before all data.
        let mut early = packets.to_vec();
        early.insert(1, segment(0, true, ACK, 103, at(3), b""));
        let (_, back, streams) = follow(&early, StreamLimits::default());
        assert_eq!(back, "abcdefghijkl<CaptureEnd>");
        assert_eq!(streams.counters().0.missing_bytes, 0);
        // Data before the capture are not missing, and the data after them are not lost.
        for lost in [vec![3], vec![2, 3], vec![1, 3], vec![1, 2]] {
            let there = |index: &usize| !lost.contains(index);
            let kept: Vec<usize> = (0..packets.len()).filter(there).collect();
            let kept: Vec<Sent> = kept.iter().map(|index| packets[*index].clone()).collect();
            let (there, back, streams) = follow(&kept, StreamLimits::default());
            assert_eq!(there, "GETGET<CaptureEnd>");
            let expected = match lost[..] {
                [3] => "defghijkl",
                [2, 3] => "ghijkl",
                [1, 3] => "def[3]jkl",
                _ => "abc[6]jkl",
            };
            assert_eq!(back, format!("{expected}<CaptureEnd>"));
            let missing = back
                .chars()
                .filter_map(|digit| digit.to_digit(10))
                .sum::<u32>();
            assert_eq!(streams.counters().0.missing_bytes, missing.into());
        }
    }
}

#[test]
fn what_is_acknowledged_and_never_comes_is_a_gap() {
    let middle = [
        segment(0, true, ACK, 100, 7, b"ab"),
        segment(1, true, ACK, 105, 7, b"fg"),
        segment(2, false, ACK, 7, 107, b""),
    ];
    let (there, _, _) = follow(&middle, StreamLimits::default());
    assert_eq!(there, "ab[3]fg<CaptureEnd>");
    // Later acknowledgments end the wait, earlier than the capture does.
    let mut packets = middle.to_vec();
    packets.push(segment(1_100, false, ACK, 7, 107, b"late"));
    let mut streams = Streams::new(StreamLimits::default());
    let mut seen = Vec::new();
    decode(&packets, |packet| {
        streams.packet(packet, |chunk| {
            seen.push((chunk.frame, chunk.offset));
            Interest::Follow
        });
    });
    seen.sort_unstable();
    // A gap has the frame of the packet after it.
    assert_eq!(seen, [(1, 0), (2, 2), (2, 5), (4, 0)]);
    let counters = streams.counters().0;
    assert_eq!((counters.missing_bytes, counters.bytes), (3, 8));
}

/// A keep-alive whose number is that of an octet that was not captured gave its own octet as one of the stream.
#[test]
fn the_octet_of_a_keep_alive_is_no_data() {
    let packets = [
        segment(0, true, SYN, 99, 0, b""),
        segment(1, false, SYN | ACK, 199, 100, b""),
        segment(2, true, ACK, 100, 200, b"ab"),
        // Three octets in front of this acknowledgment were not captured.
        segment(3, false, ACK, 200, 105, b""),
        segment(2_004, true, ACK, 104, 200, b"\0"),
        segment(2_005, false, ACK, 200, 105, b""),
        segment(2_006, true, ACK, 105, 200, b"fg"),
        segment(2_007, false, ACK, 200, 107, b""),
    ];
    let (there, _, _) = follow(&packets, StreamLimits::default());
    assert_eq!(there, "ab[3]fg<CaptureEnd>");
    // The connection began before the capture.
    let (there, _, _) = follow(&packets[3..], StreamLimits::default());
    assert_eq!(there, "fg<CaptureEnd>");
    // An octet that was not acknowledged is data, such as the probe of a window that is closed.
    let mut probed = packets[..3].to_vec();
    probed.push(segment(3, false, ACK, 200, 102, b""));
    probed.push(segment(2_004, true, ACK, 102, 200, b"\0"));
    let (there, _, _) = follow(&probed, StreamLimits::default());
    assert_eq!(there, "ab\0<CaptureEnd>");
    // So is one that was captured right behind its acknowledgment.
    let mut late = packets[..3].to_vec();
    late.push(segment(3, false, ACK, 200, 103, b""));
    late.push(segment(4, true, ACK, 102, 200, b"\0"));
    let (there, _, _) = follow(&late, StreamLimits::default());
    assert_eq!(there, "ab\0<CaptureEnd>");
}

/// The output of both directions, each piece with its frame, and with the bytes of the other direction that its sender had
/// received.
fn pieces(packets: &[Sent], limits: StreamLimits) -> (Vec<String>, Streams) {
    let mut streams = Streams::new(limits);
    let mut found = Vec::new();
    let mut note = |chunk: &weir_flow::Chunk<'_>| {
        let what = match chunk.content {
            Content::Bytes(bytes) => std::str::from_utf8(bytes).unwrap().to_owned(),
            Content::Gap(len) => format!("[{len}]"),
            Content::End(_) => return Interest::Follow,
        };
        let time_ms = chunk.time_ns.unwrap() / 1_000_000;
        let acknowledged = chunk.acknowledged.map_or(-1, |octets| octets as i64);
        found.push(format!("{}@{time_ms} {what} {acknowledged}", chunk.frame));
        Interest::Follow
    };
    decode(packets, |packet| streams.packet(packet, &mut note));
    streams.finish(&mut note);
    (found, streams)
}

#[test]
fn a_piece_has_the_packet_that_carried_it() {
    let packets = [
        segment(0, true, SYN, 99, 0, b""),
        segment(1, false, SYN | ACK, 199, 100, b""),
        segment(2, true, ACK, 106, 200, b"world"),
        // This segment answers one that appears later in the capture, and waits for it.
        segment(3, false, ACK, 200, 111, b"yes"),
        segment(30, true, ACK, 100, 200, b"hello "),
        segment(31, false, ACK, 203, 111, b"!"),
    ];
    let (found, _) = pieces(&packets, StreamLimits::default());
    assert_eq!(
        found,
        ["5@30 hello  0", "3@2 world 0", "4@3 yes 11", "6@31 ! 11"]
    );
}

#[test]
fn an_answer_comes_behind_its_question_whatever_was_lost_before() {
    let mut packets = vec![
        segment(0, true, SYN, 99, 0, b""),
        segment(1, false, SYN | ACK, 199, 100, b""),
        segment(2, true, ACK, 106, 200, b"question"),
        segment(3, false, ACK, 200, 114, b"answer"),
    ];
    let expected = ["3@2 [6] 0", "3@2 question 0", "4@3 answer 14"];
    let (found, _) = pieces(&packets, StreamLimits::default());
    assert_eq!(found, expected, "at the end of the capture");
    let reset = segment(4, true, tcp_flags::RST | ACK, 114, 206, b"");
    packets.push(reset);
    assert_eq!(
        pieces(&packets, StreamLimits::default()).0,
        expected,
        "reset"
    );
    packets[4] = segment(1_500, true, ACK, 114, 206, b"thanks");
    packets.push(segment(1_501, false, ACK, 206, 120, b""));
    let expected = [&expected[..], &["5@1500 thanks 6"]].concat();
    // The data after the answer come after it, though they wait in the same direction as the question.
    packets[4] = segment(5, true, ACK, 114, 206, b"thanks");
    packets[5] = segment(1_501, false, ACK, 206, 120, b"");
    let early = [&expected[..3], &["5@5 thanks 6"]].concat();
    assert_eq!(pieces(&packets, StreamLimits::default()).0, early);
    packets[4] = segment(1_500, true, ACK, 114, 206, b"thanks");
    assert_eq!(
        pieces(&packets, StreamLimits::default()).0,
        expected,
        "in time"
    );
}

#[test]
fn holes_in_both_directions_end_each_other() {
    let mut packets = vec![
        segment(0, true, ACK, 100, 200, b"a"),
        segment(0, false, ACK, 200, 101, b"b"),
        segment(1, true, ACK, 105, 201, b"c"),
        segment(2, false, ACK, 205, 106, b"d"),
        segment(3, true, ACK, 106, 206, b"e"),
        segment(4, false, ACK, 206, 107, b"f"),
    ];
    let expected = [
        "1@0 a 100",
        "2@0 b 1",
        "3@1 [4] 1",
        "3@1 c 1",
        "4@2 [4] 6",
        "4@2 d 6",
        "5@3 e 6",
        "6@4 f 7",
    ];
    let mut found = pieces(&packets, StreamLimits::default()).0;
    assert_eq!(found.remove(0), "1@0 a -1", "the server was not seen yet");
    assert_eq!(found, expected[1..]);
    // The same once there was patience enough.
    packets.push(segment(2_000, true, ACK, 107, 207, b"g"));
    packets.push(segment(2_001, false, ACK, 207, 108, b"h"));
    let (found, streams) = pieces(&packets, StreamLimits::default());
    let mut sorted = found.clone();
    sorted.sort();
    assert_eq!(sorted.len(), 10, "{found:?}");
    assert_eq!(
        (sorted[8].as_str(), sorted[9].as_str()),
        ("7@2000 g 7", "8@2001 h 8")
    );
    assert_eq!(streams.held(), 0);
}

#[test]
fn what_waits_for_the_other_direction_stays_within_the_limits() {
    let mut limits = StreamLimits::default();
    limits.direction_bytes_max = 10_000;
    let mut packets = vec![
        segment(0, true, ACK, 100, 200, b"a"),
        segment(0, true, ACK, 105, 200, b"c"),
    ];
    let answer = [b'x'; 100];
    packets.extend((0..200).map(|n| segment(0, false, ACK, 200 + 100 * n, 106, &answer)));
    let mut streams = Streams::new(limits);
    let mut bytes = 0;
    decode(&packets, |packet| {
        streams.packet(packet, |chunk| {
            bytes += matches!(chunk.content, Content::Bytes(_)) as usize;
            Interest::Follow
        });
        assert!(streams.held() <= 11_000, "{}", streams.held());
    });
    assert_eq!((bytes, streams.held()), (202, 0));
    assert_eq!(streams.counters().0.overflows, 1);
}

#[test]
fn a_reset_gives_out_what_waits() {
    let packets = [
        segment(0, true, SYN, 99, 0, b""),
        segment(1, true, ACK, 103, 7, b"late"),
        segment(2, false, tcp_flags::RST, 7, 0, b""),
    ];
    let (there, back, _) = follow(&packets, StreamLimits::default());
    assert_eq!(
        (there.as_str(), back.as_str()),
        ("[3]late<Reset>", "<Reset>")
    );
}

#[test]
fn a_new_connection_of_the_same_ports_is_another_stream() {
    let packets = [
        segment(0, true, SYN, 99, 0, b""),
        segment(1, true, ACK, 100, 7, b"one"),
        segment(2, true, SYN, 5_000, 0, b""),
        segment(3, true, ACK, 5_001, 7, b"two"),
    ];
    let (there, _, streams) = follow(&packets, StreamLimits::default());
    assert_eq!(there, "one<Forgotten>two<CaptureEnd>");
    assert_eq!(streams.counters().0.connections, 2);
}

#[test]
fn connections_without_interest_cost_nothing() {
    let mut streams = Streams::new(StreamLimits::default());
    let mut chunks = 0;
    let packets: Vec<Sent> = (0..100)
        .map(|n| segment(n, n % 2 == 0, ACK, 100 + 10 * n as u32, 7, b"ten bytes!"))
        .collect();
    decode(&packets, |packet| {
        streams.packet(packet, |_| {
            chunks += 1;
            Interest::Ignore
        });
    });
    streams.finish(|_| {
        chunks += 1;
        Interest::Follow
    });
    assert_eq!((chunks, streams.held()), (1, 0));
}

#[test]
fn a_flood_of_tiny_segments_stays_within_the_limits() {
    let mut limits = StreamLimits::default();
    limits.direction_bytes_max = 10_000;
    limits.bytes_max = 15_000;
    limits.connections_max = 10;
    let mut streams = Streams::new(limits);
    let mut random = Rng::new(4);
    let mut packets = Vec::new();
    for n in 0..40_000_u32 {
        // Every other byte, so that nothing is ever contiguous; of few connections, then of many.
        let ports = if n < 20_000 { 5 } else { 20 };
        let port = 1_000 + random.below(ports) as u16;
        let tcp = Tcp::new(port, 80).numbers(2 * n, 1);
        let ip = Ipv4::new(A, B, protocol::TCP).packet(&tcp.segment(A.into(), B.into(), b"x"));
        packets.push(Sent::new(i64::from(n), IP, ip));
    }
    let mut held_max = 0;
    decode(&packets, |packet| {
        streams.packet(packet, |_| Interest::Follow);
        held_max = held_max.max(streams.held());
        assert!(streams.len() <= 10);
    });
    assert!(held_max <= 15_000, "{held_max}");
    let counters = streams.counters().0;
    assert!(
        counters.overflows > 100 && counters.evicted > 100,
        "{counters:?}"
    );
}

#[test]
fn the_reason_of_an_end_is_reported() {
    let packets = [
        segment(0, true, SYN, 99, 0, b""),
        segment(1, true, ACK, 100, 7, b"x"),
        // Much later, something else.
        {
            let tcp = Tcp::new(1, 2).segment(A.into(), B.into(), b"y");
            let ip = Ipv4::new(A, B, protocol::TCP).packet(&tcp);
            Sent::new(400 * 1_000_000_000, IP, ip)
        },
    ];
    let mut ends = Vec::new();
    let mut streams = Streams::new(StreamLimits::default());
    decode(&packets, |packet| {
        streams.packet(packet, |chunk| {
            if let Content::End(end) = chunk.content {
                ends.push(end);
            }
            Interest::Follow
        });
    });
    assert_eq!(ends, [StreamEnd::Forgotten, StreamEnd::Forgotten]);
}
