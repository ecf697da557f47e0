//! Tests of streams with gaps: each message that is reported as whole was sent, in that order.

use weir_ws::{
    Decoder, DecoderOptions, DeflateOptions, Deflater, Event, Header, InflateOptions, Opcode,
    ViolationKind,
};

use crate::common::Random;

/// Frames of one direction, compressed or not, in fragments or not; and the messages.
fn stream(random: &mut Random, takeover: bool) -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut deflater = Deflater::new(DeflateOptions {
        takeover,
        ..DeflateOptions::default()
    });
    let (mut bytes, mut messages) = (Vec::new(), Vec::new());
    for _ in 0..40 {
        let text: String = (0..random.below(60))
            .map(|_| ["lorem ", "ipsum ", "dolor ", "sit "][random.below(4)])
            .collect();
        let compressed = random.below(4) > 0;
        let mut payload = Vec::new();
        if compressed {
            deflater.message(text.as_bytes(), &mut payload);
        } else {
            payload.extend_from_slice(text.as_bytes());
        }
        let size = match random.below(3) {
            0 => 1 + random.below(30),
            _ => payload.len().max(1),
        };
        let mut pieces: Vec<&[u8]> = payload.chunks(size).collect();
        if pieces.is_empty() {
            pieces.push(b"");
        }
        let last = pieces.len() - 1;
        for (n, piece) in pieces.iter().enumerate() {
            Header {
                fin: n == last,
                rsv1: n == 0 && compressed,
                rsv2: false,
                rsv3: false,
                opcode: if n == 0 {
                    Opcode::Text
                } else {
                    Opcode::Continuation
                },
                mask: None,
                payload_len: piece.len() as u64,
                header_len: 0,
            }
            .write(&mut bytes);
            bytes.extend_from_slice(piece);
        }
        messages.push(text.into_bytes());
    }
    (bytes, messages)
}

#[test]
fn what_is_whole_after_holes_was_sent() {
    let mut random = Random(5);
    let (mut whole, mut rounds_after) = (0, 0);
    for round in 0..400 {
        let takeover = round % 2 == 0;
        let (bytes, sent) = stream(&mut random, takeover);
        let mut options = DecoderOptions::default();
        options.inflate = Some(InflateOptions {
            takeover,
            ..InflateOptions::default()
        });
        let mut decoder = Decoder::new(options);
        let mut found: Vec<Vec<u8>> = Vec::new();
        let (mut gap_seen, mut after_gap) = (false, 0);
        let mut each = |event: Event<'_>| match event {
            Event::Message(message) if message.whole => {
                found.push(message.payload.to_vec());
                after_gap += usize::from(gap_seen);
            }
            Event::Violation(violation) => {
                gap_seen |= violation.kind == ViolationKind::Gap;
                assert!(!violation.kind.is_fault(), "{violation:?}");
            }
            _ => {}
        };
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.len().min(1 + random.below(1500)));
            decoder.feed(piece, &mut each);
            let hole = after.len().min(random.below(40));
            decoder.gap(hole as u64, &mut each);
            rest = &after[hole..];
        }
        decoder.finish(&mut each);
        let mut left = sent.iter();
        for message in &found {
            assert!(
                left.any(|sent| sent == message),
                "round {round}: {} was not sent there",
                message.escape_ascii()
            );
        }
        whole += found.len();
        rounds_after += usize::from(after_gap > 0);
    }
    assert!(
        whole > 2000 && rounds_after > 60,
        "{whole} messages, {rounds_after} rounds"
    );
}
