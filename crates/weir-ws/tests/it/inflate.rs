//! Tests that the inflater restores zlib's output and the examples of RFC 7692, and that damage causes no panic.

use proptest::prelude::*;
use weir_ws::{DeflateOptions, Deflater, InflateErrorKind, InflateOptions, Inflater};

fn hex(text: &str) -> Vec<u8> {
    text.split_whitespace()
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect()
}

#[test]
fn the_examples_of_rfc_7692_section_7_2_3() {
    // Payloads in order on one connection, and what they become.
    let cases: &[(&[&str], &str)] = &[
        (&["f2 48 cd c9 c9 07 00"], "Hello"),
        (&["f2 48 cd c9 c9 07 00", "f2 00 11 00 00"], "HelloHello"),
        (
            &["f2 48 cd c9 c9 07 00", "f2 48 cd c9 c9 07 00"],
            "HelloHello",
        ),
        // 7.2.3.3: a stored block.
        (&["00 05 00 fa ff 48 65 6c 6c 6f 00"], "Hello"),
        // 7.2.3.4: BFINAL set.
        (&["f3 48 cd c9 c9 07 00 00"], "Hello"),
        (&["f3 48 cd c9 c9 07 00 00", "f2 00 11 00 00"], "HelloHello"),
        // 7.2.3.5: two blocks.
        (&["f2 48 05 00 00 00 ff ff ca c9 c9 07 00"], "Hello"),
        // 7.2.3.6: an empty message.
        (&["00"], ""),
    ];
    for (payloads, expected) in cases {
        let mut inflater = Inflater::new(InflateOptions::default());
        let mut out = Vec::new();
        for payload in *payloads {
            inflater
                .message(&hex(payload), &mut out)
                .unwrap_or_else(|error| panic!("{payloads:?}: {error}"));
        }
        assert_eq!(out, expected.as_bytes(), "{payloads:?}");
    }
}

#[test]
fn windows_are_watched() {
    // The same 200 bytes again after 600 others: a distance of 800.
    let mut random = crate::common::Random(3);
    let one: Vec<u8> = (0..200).map(|_| random.next() as u8).collect();
    let two: Vec<u8> = (0..600).map(|_| random.next() as u8).collect();
    let mut deflate = weir_zlib::Deflate::new(6, 15, 8, 0).unwrap();
    let payloads: Vec<Vec<u8>> = [&one, &two, &one]
        .iter()
        .map(|message| {
            let mut out = Vec::new();
            deflate.message(message, &mut out);
            out
        })
        .collect();
    for (window_bits, takeover) in [(15, true), (9, true), (10, true), (15, false)] {
        let mut inflater = Inflater::new(InflateOptions {
            window_bits,
            takeover,
            ..InflateOptions::default()
        });
        let mut seen = Vec::new();
        for (payload, message) in payloads.iter().zip([&one, &two, &one]) {
            let mut out = Vec::new();
            seen.push(inflater.message(payload, &mut out).unwrap());
            assert_eq!(&out, message);
        }
        assert_eq!(seen[2].distance_max, 800);
        assert_eq!(seen[2].beyond_window > 0, window_bits == 9);
        assert_eq!(seen[2].beyond_message > 0, !takeover);
    }
    // The last message refers to those before it, which this inflater does not have.
    let mut inflater = Inflater::new(InflateOptions::default());
    let error = inflater.message(&payloads[2], &mut Vec::new()).unwrap_err();
    assert_eq!(error.kind, InflateErrorKind::Distance);
}

#[test]
fn nine_bits_of_zlib_are_eight() {
    let mut random = crate::common::Random(5);
    for level in 1..=9 {
        let mut zlib = weir_zlib::Deflate::new(level, 9, 9, 0).unwrap();
        let mut rust = Deflater::new(DeflateOptions {
            window_bits: 8,
            level,
            takeover: true,
        });
        let options = InflateOptions {
            window_bits: 8,
            ..InflateOptions::default()
        };
        let (mut from_zlib, mut from_rust) = (Inflater::new(options), Inflater::new(options));
        for _ in 0..50 {
            let message: Vec<u8> = (0..random.below(3000))
                .map(|_| b'a' + random.below(3) as u8)
                .collect();
            let mut payload = Vec::new();
            zlib.message(&message, &mut payload);
            let mut out = Vec::new();
            let seen = from_zlib.message(&payload, &mut out).unwrap();
            assert_eq!((seen.beyond_window, &out), (0, &message));
            payload.clear();
            out.clear();
            rust.message(&message, &mut payload);
            let seen = from_rust.message(&payload, &mut out).unwrap();
            assert_eq!((seen.beyond_window, &out), (0, &message), "level {level}");
        }
    }
}

fn message() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..400),
        proptest::collection::vec(prop_oneof![Just(b'a'), Just(b'b')], 0..3000),
        (any::<u8>(), 0..70_000usize).prop_map(|(byte, len)| vec![byte; len]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn what_zlib_compresses_comes_back(
        messages in proptest::collection::vec(message(), 1..8),
        level in 1u8..=9, window_bits in 9u8..=15, mem_level in 1u8..=9, strategy in 0u8..=4,
    ) {
        let mut deflate = weir_zlib::Deflate::new(level, window_bits, mem_level, strategy).unwrap();
        let mut inflater = Inflater::new(InflateOptions { window_bits, ..InflateOptions::default() });
        for message in &messages {
            let mut payload = Vec::new();
            deflate.message(message, &mut payload);
            let mut out = Vec::new();
            let seen = inflater.message(&payload, &mut out).unwrap();
            prop_assert_eq!(&out, message);
            prop_assert_eq!(seen.beyond_window, 0);
        }
    }

    #[test]
    fn any_bytes_inflate_as_with_zlib_or_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut ours = Vec::new();
        let result = Inflater::new(InflateOptions { message_bytes_max: 1 << 20, ..InflateOptions::default() })
            .message(&bytes, &mut ours);
        let mut theirs = Vec::new();
        let mut whole = bytes.clone();
        whole.extend([0, 0, 0xff, 0xff]);
        let fine = weir_zlib::Inflate::new(15).unwrap().feed(&whole, &mut theirs);
        if result.is_ok() && !result.as_ref().is_ok_and(|seen| seen.final_block) {
            prop_assert!(fine);
            prop_assert_eq!(ours, theirs);
        }
    }
}
