//! Promises that hold for any bytes.

use proptest::prelude::*;
use weir_sip::{Digest, Framer, FramerEvent, HeaderName, Limits, List, Message, Uri, Via};

use crate::torture;

const SAMPLES: &[&[u8]] = &[
    b"INVITE sip:bob@[2001:db8::1]:5060;transport=tcp SIP/2.0\r\nv: SIP/2.0/UDP h;branch=z9hG4bK1,\r\n \
      SIP/2.0/TCP [::1]:5061 ;received=10.0.0.1\r\nf: \"A \\\"x\\\"\" <sip:alice@h>;tag=1\r\nt: <tel:+1;a=b>\r\n\
      i: x@h\r\nCSeq: 1 INVITE\r\nm: <sip:a@h>;q=0.5, *\r\nMax-Forwards: 70\r\nc: application/sdp\r\nl: 4\r\n\r\nv=0\n",
    b"SIP/2.0 180 Ringing\nVia: SIP/2.0/UDP h\nFrom: sip:a@h;tag=1\nTo: sip:b@h;tag=2\nCall-ID: x\n\
      CSeq: 1 INVITE\nDate: Sat, 15 Oct 2005 04:44:56 GMT\nWarning: 301 h \"x\"\n\n",
];

/// Every accessor, and what must hold of each message.
fn look(bytes: &[u8]) -> Option<String> {
    let limits = Limits::default();
    let message = Message::parse(bytes, &limits).ok()?;
    assert!(message.headers_end() <= bytes.len());
    assert!(message.body().len() <= bytes.len() - message.headers_end());
    for header in message.headers().iter() {
        assert!(!matches!(
            header.value.first(),
            Some(b' ' | b'\t' | b'\r' | b'\n')
        ));
        assert!(!header.unfolded().contains(&b'\n'));
        List::new(header.value).for_each(|element| {
            let via = Via::parse(element);
            assert!(via.fault.is_some() || !via.host.is_empty());
            let uri = Uri::parse(element);
            assert!(uri.fault.is_some() || element.contains(&b':'));
        });
        let found = message.headers().named(header.text).unwrap();
        assert!(found.text.eq_ignore_ascii_case(header.text));
    }
    let faults = message.check();
    assert!(
        faults
            .iter()
            .all(|fault| fault.offset as usize <= bytes.len())
    );
    assert!(faults.count() >= message.faults().count());
    assert_eq!(
        Message::parse_strict(bytes, &limits).is_err(),
        faults.first_error().is_some()
    );
    assert_eq!(
        message.vias().count(),
        message
            .headers()
            .all(HeaderName::Via)
            .flat_map(|via| List::new(via.value))
            .count()
    );
    let digest = Digest::of(&message);
    assert_eq!(digest.is_request(), message.method().is_some());
    assert_eq!(digest.from, message.from());
    assert_eq!(digest.to, message.to());
    Some(format!("{digest:?} {:?} {faults:?}", digest.transaction()))
}

fn samples() -> Vec<Vec<u8>> {
    let torture = torture::messages().into_iter().map(|(_, bytes)| bytes);
    SAMPLES
        .iter()
        .map(|bytes| bytes.to_vec())
        .chain(torture)
        .collect()
}

#[test]
fn every_prefix_is_understood_as_far_as_it_goes() {
    for sample in samples() {
        assert!(look(&sample).is_some());
        let first_line = sample.iter().position(|byte| *byte == b'\n').unwrap();
        for len in 0..sample.len() {
            let is_message = look(&sample[..len]).is_some();
            assert!(is_message || len <= first_line, "{len}");
        }
    }
}

#[derive(Debug, PartialEq)]
enum Found {
    Message(u64, Vec<u8>),
    KeepAlive(bool),
    Lost(u64, u64),
}

fn frame<'p>(limits: Limits, pieces: impl Iterator<Item = &'p [u8]>) -> Vec<Found> {
    let mut framer = Framer::new(limits);
    let mut found = Vec::new();
    let mut each = |event: FramerEvent<'_>| {
        found.push(match event {
            FramerEvent::Message { offset, bytes } => Found::Message(offset, bytes.to_vec()),
            FramerEvent::Lost { offset, bytes } => Found::Lost(offset, bytes),
            other => Found::KeepAlive(other == FramerEvent::Ping),
        });
    };
    for piece in pieces {
        framer.feed(piece, &mut each);
        assert!(framer.held_bytes() <= limits.head_bytes_max.max(8192) + limits.body_bytes_max);
    }
    framer.finish(&mut each);
    found
}

/// Every byte of a stream is in exactly one thing that was found.
fn assert_covers(found: &[Found], stream: &[u8]) {
    let mut at = 0;
    for item in found {
        let (offset, len) = match item {
            Found::Message(offset, bytes) => {
                assert_eq!(bytes, &stream[at as usize..at as usize + bytes.len()]);
                (*offset, bytes.len() as u64)
            }
            Found::KeepAlive(is_ping) => (at, if *is_ping { 4 } else { 2 }),
            Found::Lost(offset, len) => (*offset, *len),
        };
        assert_eq!(offset, at);
        at += len;
    }
    assert_eq!(at, stream.len() as u64);
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let samples = samples();
    let part = prop_oneof![
        4 => (0..samples.len()).prop_map(move |index| samples[index].clone()),
        2 => Just(b"\r\n\r\n".to_vec()),
        1 => Just(b"\r\n".to_vec()),
        1 => Just(b"BYE sip:h SIP/2.0\r\nl: 5\r\n\r\nhello".to_vec()),
        1 => Just(b"INFO sip:h SIP/2.0\r\nl: 99999999999999999999\r\n\r\n".to_vec()),
        2 => prop::collection::vec(any::<u8>(), 0..40),
        1 => "[ -~\r\n]{0,80}".prop_map(String::into_bytes),
    ];
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_changes_break_no_promise(
        index in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..3), 0..12),
    ) {
        let samples = samples();
        let mut bytes = index.get(&samples).clone();
        for (at, byte, how) in changes {
            let at = at.index(bytes.len().max(1));
            match how {
                0 if at < bytes.len() => bytes[at] = byte,
                1 => bytes.insert(at, b" \t\r\n<>\",;:@[]\\=?"[usize::from(byte) % 16]),
                _ if at < bytes.len() => { bytes.remove(at); }
                _ => {}
            }
        }
        look(&bytes);
    }

    #[test]
    fn random_bytes_break_no_promise(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        look(&bytes);
        let line = [b"BYE sip:h SIP/2.0\r\n", &bytes[..]].concat();
        prop_assert!(look(&line).is_some());
    }

    #[test]
    fn a_stream_in_pieces_is_the_whole(
        stream in stream(),
        sizes in prop::collection::vec(1_usize..40, 1..20),
        small in any::<bool>(),
    ) {
        let mut limits = Limits::default();
        if small {
            limits.head_bytes_max = 200;
            limits.body_bytes_max = 150;
        }
        let whole = frame(limits, std::iter::once(&stream[..]));
        assert_covers(&whole, &stream);
        let mut rest = &stream[..];
        let mut sizes = sizes.iter().cycle();
        let pieces = std::iter::from_fn(|| {
            let (piece, behind) = rest.split_at(rest.len().min(*sizes.next()?));
            rest = behind;
            (!piece.is_empty()).then_some(piece)
        });
        prop_assert_eq!(frame(limits, pieces), whole);
    }
}

#[test]
fn framed_messages_parse() {
    let stream: Vec<u8> = SAMPLES.concat();
    let found = frame(Limits::default(), stream.chunks(7));
    assert_eq!(found.len(), 2);
    for (item, sample) in found.iter().zip(SAMPLES) {
        let Found::Message(_, bytes) = item else {
            panic!("{item:?}");
        };
        assert_eq!(bytes, sample);
        assert!(look(bytes).is_some());
    }
}
