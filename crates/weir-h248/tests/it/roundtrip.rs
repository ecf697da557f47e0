//! Arbitrary messages come back the same from every encoding.

use proptest::prelude::*;
use weir_h248::{
    Arena, BinaryOptions, DecodeOptions, EncodeOptions, Encoding, ErlOptions, OwnedMessage,
    TextStyle, decode, decode_as, detect, encode,
};

use crate::generate::Generator;

fn check(seed: u64) {
    let arena = Arena::new();
    let message = Generator::new(seed, &arena).message();
    let mut erl = ErlOptions::default();
    (erl.megaco_compressed, erl.compressed, erl.utf8_atoms) =
        (seed & 2 != 0, seed & 4 != 0, seed & 8 != 0);
    for encoding in [
        Encoding::Pretty,
        Encoding::Compact,
        Encoding::Ber,
        Encoding::Per,
        Encoding::Erl,
    ] {
        let mut options = EncodeOptions::default();
        options.erl = erl;
        let mut out = Vec::new();
        encode(&message, encoding, &options, &mut out)
            .unwrap_or_else(|error| panic!("seed {seed} {encoding:?}: {error}\n{message:#?}"));
        let back = decode_as(encoding, &out, &arena, &DecodeOptions::default());
        assert_eq!(
            back.as_ref(),
            Ok(&message),
            "seed {seed} {encoding:?} {}",
            out.escape_ascii()
        );
        let back = back.unwrap();
        let mut again = Vec::new();
        encode(&back, encoding, &options, &mut again).unwrap();
        assert!(
            out == again,
            "seed {seed} {encoding:?}: not the same octets again: {} {}",
            out.escape_ascii(),
            again.escape_ascii()
        );
        let owned = OwnedMessage::new(encoding, &out, &DecodeOptions::default()).unwrap();
        assert_eq!(owned.get(&Arena::new()), Ok(message));
    }
    // A text in Erlang's style loses case and quotes, and must still be readable.
    let mut options = EncodeOptions::default();
    options.text = TextStyle::erlang();
    options.binary = BinaryOptions::default();
    let mut out = Vec::new();
    if encode(&message, Encoding::Compact, &options, &mut out).is_ok() {
        decode_as(Encoding::Compact, &out, &arena, &DecodeOptions::default())
            .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{}", out.escape_ascii()));
    }
}

/// A comment in front of a timer or of the map was the beginning of the map, and one behind a timer an error.
#[test]
fn comments_around_timers_are_no_part_of_a_digit_map() {
    let text = |map: &str| {
        format!("MEGACO/1 [192.0.2.1]\nT=1{{C=${{MF=a{{DM=d0{{{map}}}}}}}}}").into_bytes()
    };
    let arena = Arena::new();
    let options = DecodeOptions::default();
    let plain = text("T:1,S:2,(0s|00s)");
    let plain = decode_as(Encoding::Compact, &plain, &arena, &options).unwrap();
    for map in [
        " ; a comment\r\n T:1,S:2,(0s|00s)",
        ";}\nT:1;c\n,S:2, ; c\n(0s|00s)",
        "T ; c\n:;c\n1 , S:2,;c\n;c\r\n (0s|00s) ",
    ] {
        let commented = text(map);
        let found = decode_as(Encoding::Compact, &commented, &arena, &options);
        assert_eq!(found.as_ref(), Ok(&plain), "{map}");
    }
}

/// Text with a byte order mark in front of it, as editors write it, was read as BER or PER.
#[test]
fn a_byte_order_mark_is_no_part_of_a_text() {
    let options = DecodeOptions::default();
    for text in [
        "MEGACO/1 [192.0.2.1]\nTransaction=1{Context=-{Notify=a{ObservedEvents=1{al/of}}}}",
        "!/1 [192.0.2.1]\nT=1{C=-{N=a{OE=1{al/of}}}}",
        " ; a comment\r\nMEGACO/1 [192.0.2.1]\nPending=1{}",
    ] {
        let arena = Arena::new();
        let plain = decode(text.as_bytes(), &arena, &options).unwrap();
        let marked = format!("\u{feff}{text}");
        assert_eq!(detect(marked.as_bytes()), detect(text.as_bytes()), "{text}");
        let found = decode(marked.as_bytes(), &arena, &options);
        assert_eq!(found.as_ref(), Ok(&plain), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn every_encoding_gives_the_message_back(seed: u64) {
        check(seed);
    }
}
