//! SIP: messages, streams, and the calls that come of them.

use std::hint::black_box;
use std::net::SocketAddr;

use weir_sip::{
    CallLimits, Calls, Caption, Digest, Flow, Framer, FramerEvent, Ladder, Limits, List, Message,
    Step, Uri, Via, is_failure, looks_like_sip,
};

use crate::bits::Bits;

/// One message: every value is taken apart, faults lie within the message, and being strict agrees
/// with them.
pub fn message(bytes: &[u8]) {
    black_box(looks_like_sip(bytes));
    let limits = Limits::default();
    let Ok(message) = Message::parse(bytes, &limits) else {
        return;
    };
    assert!(message.headers().len() <= limits.headers_max);
    assert!(message.headers_end() + message.body().len() <= bytes.len());
    for header in message.headers().iter() {
        assert!(!header.unfolded().contains(&b'\n'));
        for element in List::new(header.value) {
            let via = Via::parse(element);
            assert!(via.fault.is_some() || !via.host.is_empty());
            let uri = Uri::parse(element);
            assert!(uri.fault.is_some() || element.contains(&b':'));
        }
    }
    let faults = message.check();
    for fault in faults.iter() {
        assert!(fault.offset as usize <= bytes.len(), "{fault}");
    }
    let strict = Message::parse_strict(bytes, &limits);
    assert_eq!(strict.is_err(), faults.first_error().is_some());
    let digest = Digest::of(&message);
    assert_eq!(digest.from, message.from());
    assert_eq!(digest.to, message.to());
    black_box(digest.transaction());
}

/// A stream: the same in pieces of any size, every byte is in one thing that was found, and the calls
/// of its messages keep their limits.
pub fn stream(bytes: &[u8]) {
    let mut bits = Bits(bytes);
    let flags = bits.u8();
    let piece = 1 + usize::from(bits.u8());
    let mut limits = Limits::default();
    if flags & 1 != 0 {
        (limits.head_bytes_max, limits.body_bytes_max) = (300, 40);
    }
    let whole = frame(bits.0, bits.0.len().max(1), limits);
    assert_eq!(whole, frame(bits.0, piece, limits), "pieces of {piece}");
    let covered: u64 = whole.iter().map(|(_, len)| len).sum();
    assert_eq!(covered, bits.0.len() as u64);

    let mut call_limits = CallLimits::default();
    (call_limits.calls_max, call_limits.dialogs_max) = (4, 2);
    (call_limits.repeats_max, call_limits.text_bytes_max) = (8, 64);
    let mut calls = Calls::new(call_limits);
    let mut ladder = Ladder::new("fuzz");
    let (mut begun, mut told) = (0, 0);
    let mut time_ns = 0;
    let mut framer = Framer::new(limits);
    let mut each = |event: FramerEvent<'_>| {
        let FramerEvent::Message { bytes, .. } = event else {
            return;
        };
        let message = Message::parse(bytes, &limits).expect("a framed message has a start line");
        let digest = Digest::of(&message);
        // Now and then the time makes a long pause, or a step backwards.
        time_ns += (bytes.len() as i64 - 60) * 10_000_000_000;
        let socket = |port: usize| SocketAddr::from(([127, 0, 0, 1], (port % 3) as u16));
        let flow = Flow {
            src: socket(bytes.len()),
            dst: socket(bytes.len() / 3),
            number: None,
        };
        let seen = calls.take(time_ns, Some(flow), &digest, &mut |_| told += 1);
        begun = begun.max(seen.call.unwrap_or(0));
        assert!(calls.live() <= 4);
        let caption = Caption::of(&digest);
        ladder.push(Step {
            time_ns: Some(time_ns),
            from: flow.src.to_string(),
            to: flow.dst.to_string(),
            label: caption.label(),
            is_repeat: seen.is_repeat,
            is_media: bytes.len() % 5 == 0,
            is_response: caption.status.is_some(),
            is_failure: caption.status.is_some_and(|(status, _)| is_failure(status)),
            frame: Some(told),
            text: Some(String::from_utf8_lossy(bytes).into_owned()),
        });
    };
    framer.feed(bits.0, &mut each);
    framer.finish(&mut each);
    calls.finish(&mut |_| told += 1);
    assert!(told >= begun, "every call is reported");
    assert!(!ladder.text().contains('\x1b'));
    assert!(!ladder.html().contains("<script"));
}

/// The messages, keep-alives and lost bytes of a stream, each with its number of bytes.
fn frame(bytes: &[u8], piece: usize, limits: Limits) -> Vec<(Vec<u8>, u64)> {
    let mut framer = Framer::new(limits);
    let mut found = Vec::new();
    let mut each = |event: FramerEvent<'_>| {
        found.push(match event {
            FramerEvent::Message { bytes, .. } => (bytes.to_vec(), bytes.len() as u64),
            FramerEvent::Ping => (Vec::new(), 4),
            FramerEvent::Pong => (Vec::new(), 2),
            FramerEvent::Lost { bytes, .. } => (b"lost".to_vec(), bytes),
            other => panic!("{other:?}"),
        });
    };
    for part in bytes.chunks(piece) {
        framer.feed(part, &mut each);
    }
    framer.finish(&mut each);
    found
}
