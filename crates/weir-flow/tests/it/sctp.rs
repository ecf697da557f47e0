//! User messages of SCTP.

use std::net::Ipv4Addr;

use weir_flow::{SctpLimits, SctpMessages};
use weir_testkit::Rng;
use weir_testkit::packet::{Chunk, Ipv4, protocol, sctp};

use crate::capture::{Sent, decode, shuffle};

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const IP: u32 = 101;

fn packet(chunks: &[Chunk]) -> Sent {
    tagged(7, chunks)
}

fn tagged(tag: u32, chunks: &[Chunk]) -> Sent {
    between((A, B), tag, chunks)
}

fn between((from, to): (Ipv4Addr, Ipv4Addr), tag: u32, chunks: &[Chunk]) -> Sent {
    let bytes = Ipv4::new(from, to, protocol::SCTP).packet(&sctp(2_944, 2_944, tag, chunks));
    Sent::new(0, IP, bytes)
}

/// A chunk of data with any flags: 2 begins a message, 1 ends it.
fn part(tsn: u32, stream: u16, flags: u8, payload: &[u8]) -> Chunk {
    let mut value = tsn.to_be_bytes().to_vec();
    value.extend(stream.to_be_bytes());
    value.extend([0, 0]);
    value.extend(7_u32.to_be_bytes());
    value.extend(payload);
    Chunk::Other(0, flags, value)
}

fn run(packets: &[Sent], limits: SctpLimits) -> (Vec<(u16, Vec<u8>)>, SctpMessages) {
    let mut messages = SctpMessages::new(limits);
    let mut out = Vec::new();
    decode(packets, |packet| {
        messages.packet(packet, |message| {
            assert_eq!(message.protocol, 7);
            out.push((message.stream, message.bytes.to_vec()));
        });
    });
    (out, messages)
}

#[test]
fn a_message_has_the_packet_with_its_last_octet() {
    let packets = [
        packet(&[part(8, 0, 1, b"end")]),
        packet(&[part(9, 0, 3, b"next")]),
        packet(&[part(7, 0, 2, b"begin")]),
    ];
    let mut messages = SctpMessages::new(SctpLimits::default());
    let mut found = Vec::new();
    decode(&packets, |packet| {
        messages.packet(packet, |message| {
            found.push((message.frame, message.bytes.to_vec()));
        });
    });
    assert_eq!(found, [(2, b"next".to_vec()), (1, b"beginend".to_vec())]);
}

/// The rest of a message was left out without a word where one of its chunks was lost.
#[test]
fn chunks_of_messages_that_are_not_complete_are_counted() {
    let packets = [
        packet(&[part(7, 0, 2, b"begin")]),
        packet(&[part(9, 0, 1, b"end")]),
        packet(&[part(10, 0, 3, b"next")]),
        packet(&[part(11, 1, 2, b"begin")]),
    ];
    let (found, mut messages) = run(&packets, SctpLimits::default());
    assert_eq!(found, [(0, b"next".to_vec())]);
    assert_eq!(messages.counters().unfinished, 0);
    messages.finish();
    assert_eq!((messages.counters().unfinished, messages.held()), (3, 0));
}

/// Chunks of which not even the header was captured were left out without a word.
#[test]
fn chunks_behind_what_was_captured_are_counted() {
    let whole = packet(&[
        part(7, 0, 3, b"four"),
        part(8, 0, 3, b"more"),
        part(9, 0, 3, b"next"),
    ]);
    let first = 20 + 12;
    let chunk = 16 + 4;
    // Where the packet is cut, the messages that are read, and the chunks that are counted: the last one stands for all behind it.
    let cases = [
        (first, 0, 1),
        (first + 3, 0, 1),
        (first + 10, 0, 2),
        (first + chunk - 1, 0, 2),
        (first + chunk, 1, 1),
        (first + 2 * chunk + 2, 2, 1),
        (first + 2 * chunk + 4, 2, 1),
        (first + 3 * chunk, 3, 0),
    ];
    for (octets, read, counted) in cases {
        let mut cut = whole.clone();
        cut.bytes.truncate(octets);
        let (found, messages) = run(&[cut], SctpLimits::default());
        assert_eq!(
            (found.len(), messages.counters().cut),
            (read, counted),
            "{octets}"
        );
    }
    // A chunk of another kind is cut, and what is behind it is not known.
    let mut cut = packet(&[Chunk::Other(3, 0, vec![0; 12]), part(7, 0, 3, b"four")]);
    cut.bytes.truncate(first + 8);
    assert_eq!(run(&[cut], SctpLimits::default()).1.counters().cut, 1);
    // Octets that fill up the last chunk are no part of it.
    let mut cut = packet(&[part(7, 0, 3, b"three")]);
    cut.bytes.truncate(first + 16 + 5);
    let (found, messages) = run(&[cut], SctpLimits::default());
    assert_eq!((found.len(), messages.counters().cut), (1, 0));
}

/// The messages of an association that began again with the same numbers (RFC 9260, 5.2.4), and all but the first of a capture
/// whose writer gives one number to all, were left out without a word as repetitions.
#[test]
fn chunks_with_one_number_are_repetitions_only_if_they_are_equal() {
    let packets = [
        packet(&[part(7, 0, 3, b"one")]),
        packet(&[part(7, 0, 3, b"one")]),
        packet(&[part(8, 0, 2, b"lost")]),
        // The association begins again.
        tagged(9, &[part(7, 0, 3, b"one")]),
        tagged(9, &[part(8, 0, 2, b"be")]),
        tagged(9, &[part(9, 0, 1, b"gin")]),
        tagged(9, &[part(0, 0, 3, b"two")]),
        tagged(9, &[part(0, 0, 3, b"three")]),
    ];
    let (found, messages) = run(&packets, SctpLimits::default());
    let found: Vec<_> = found.iter().map(|(_, bytes)| bytes.as_slice()).collect();
    let expected: [&[u8]; 5] = [b"one", b"one", b"begin", b"two", b"three"];
    assert_eq!(found, expected);
    assert_eq!(messages.counters().repeated, 1);
}

/// What a fast end sent again behind more than 64 chunks was a message of its own.
#[test]
fn chunks_are_repetitions_behind_thousands_of_others() {
    for (between, repeated) in [(60, 5), (1_000, 5), (3_000, 5), (9_000, 0)] {
        let start = u32::MAX - 40;
        let number = |at: u32| start.wrapping_add(at);
        let chunk = |at: u32| packet(&[part(number(at), 0, 3, &at.to_be_bytes())]);
        let mut packets: Vec<Sent> = (0..between + 5).map(chunk).collect();
        packets.extend((0..5).map(chunk));
        let (found, messages) = run(&packets, SctpLimits::default());
        assert_eq!(messages.counters().repeated, repeated, "{between}");
        let all = u64::from(between) + 10 - repeated;
        assert_eq!(found.len() as u64, all, "{between}");
    }
    // Equal numbers take one place.
    let packets: Vec<Sent> = (0..200_u32)
        .map(|at| packet(&[part(7, 0, 3, &at.to_be_bytes())]))
        .collect();
    let (found, _) = run(&packets, SctpLimits::default());
    assert_eq!(found.len(), 200);
}

/// A chunk that came again behind thousands of others stood between those of its message, which was lost.
#[test]
fn a_chunk_that_comes_late_again_leaves_its_message_whole() {
    let others = (0..5_000_u32).map(|at| packet(&[part(100 + at, 1, 3, &at.to_be_bytes())]));
    let mut packets = vec![
        packet(&[part(7, 0, 2, b"be")]),
        packet(&[part(8, 0, 0, b"gi")]),
    ];
    packets.extend(others);
    packets.push(packet(&[part(8, 0, 0, b"gi")]));
    packets.push(packet(&[part(9, 0, 1, b"n")]));
    let (found, mut messages) = run(&packets, SctpLimits::default());
    assert_eq!(found.last(), Some(&(0, b"begin".to_vec())));
    messages.finish();
    let counters = messages.counters();
    assert_eq!((counters.repeated, counters.unfinished), (1, 0));
    assert_eq!(messages.held(), 0);
}

/// What an end with several addresses sent again on another path was a second message, and chunks that came on two paths had no message.
#[test]
fn an_association_is_one_on_all_its_paths() {
    let [first, second] = [
        (A, B),
        (Ipv4Addr::new(10, 1, 0, 9), Ipv4Addr::new(10, 1, 0, 3)),
    ];
    // The ends are in the other order on the second path, as addresses go.
    let tag = 0x1234_5678;
    let packets = [
        between(first, tag, &[part(7, 0, 3, b"one")]),
        between(second, tag, &[part(7, 0, 3, b"one")]),
        between(first, tag, &[part(8, 0, 2, b"be")]),
        between(second, tag, &[part(9, 0, 1, b"gin")]),
        // Other associations: their receivers have drawn other tags.
        between((B, A), tag + 1, &[part(7, 0, 3, b"one")]),
        between((B, A), tag + 1, &[part(8, 0, 2, b"other")]),
    ];
    let (found, messages) = run(&packets, SctpLimits::default());
    let found: Vec<_> = found.iter().map(|(_, bytes)| bytes.as_slice()).collect();
    assert_eq!(found, [b"one".as_slice(), b"begin", b"one"]);
    assert_eq!(messages.counters().repeated, 1);
    // A tag that a program has written for all of them tells nothing.
    let written = [
        between(first, 1, &[part(7, 0, 3, b"one")]),
        between(second, 1, &[part(7, 0, 3, b"one")]),
    ];
    let (found, messages) = run(&written, SctpLimits::default());
    assert_eq!((found.len(), messages.counters().repeated), (2, 0));
}

#[test]
fn messages_cut_into_chunks_come_out_whole() {
    let mut random = Rng::new(1);
    for round in 0..300_u32 {
        let mut sent = Vec::new();
        let mut expected = Vec::new();
        let mut tsn = u32::MAX - random.below(20) as u32;
        for _ in 0..random.below(8) {
            let stream = random.below(3) as u16;
            let len = 1 + random.below(300) as usize;
            let message = random.bytes(len);
            let parts: Vec<&[u8]> = message.chunks(1 + random.below(100) as usize).collect();
            for (index, bytes) in parts.iter().enumerate() {
                let first = if index == 0 { 2 } else { 0 };
                let last = u8::from(index + 1 == parts.len());
                sent.push(packet(&[part(tsn, stream, first | last, bytes)]));
                tsn = tsn.wrapping_add(1);
            }
            expected.push((stream, message));
        }
        if round.is_multiple_of(2) {
            // Out of order and repeated, as far as the network does such things.
            let mut pieces: Vec<Sent> = Vec::new();
            for piece in sent.chunks(6) {
                let mut piece = piece.to_vec();
                shuffle(&mut random, &mut piece);
                piece.extend_from_within(..1.min(piece.len()));
                pieces.extend(piece);
            }
            sent = pieces;
        }
        let (mut out, messages) = run(&sent, SctpLimits::default());
        out.sort();
        expected.sort();
        assert_eq!(out, expected, "round {round}");
        assert_eq!(messages.held(), 0);
    }
}

#[test]
fn what_never_ends_stays_within_the_limits() {
    let mut limits = SctpLimits::default();
    limits.bytes_max = 10_000;
    limits.message_bytes_max = 3_000;
    limits.streams_max = 20;
    let packets: Vec<Sent> = (0..5_000_u32)
        .map(|n| packet(&[part(n, (n % 50) as u16, 2, &[1; 100])]))
        .collect();
    let mut messages = SctpMessages::new(limits);
    decode(&packets, |packet| {
        messages.packet(packet, |_| panic!("no message ends"));
        assert!(messages.held() <= 10_000);
    });
    assert!(messages.counters().dropped > 1_000);
}
