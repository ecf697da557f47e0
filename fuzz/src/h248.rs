//! Megaco messages: any bytes as each encoding, and what decodes comes back from its own encoding.

use std::hint::black_box;

use weir_h248::{
    Arena, DecodeOptions, EncodeOptions, Encoding, LocalRemote, TextOptions, decode_as,
    decode_mini, decode_text, detect, encode, sdp, tpkt,
};

/// Any bytes as text, read strictly and leniently.
pub fn text(bytes: &[u8]) {
    black_box(detect(bytes));
    black_box(LocalRemote::Sdp(bytes).lines().count());
    black_box(sdp::SdpLines::of_text(bytes).count());
    let arena = Arena::new();
    if let Ok(Some((message, used))) = tpkt(bytes) {
        assert_eq!(message.len() + 4, used);
    }
    black_box(decode_mini(bytes, &arena).is_ok());
    let lenient = decode_text(bytes, &arena, TextOptions::default());
    if decode_text(bytes, &arena, TextOptions::strict()).is_ok() {
        assert!(
            lenient.is_ok(),
            "strict reading takes what lenient does not"
        );
    }
    if let Err(error) = lenient {
        assert!(error.offset() <= bytes.len());
        assert!(error.line().is_some() && error.column().is_some());
    }
    comes_back(bytes, Encoding::Compact);
}

/// Any bytes as BER.
pub fn ber(bytes: &[u8]) {
    comes_back(bytes, Encoding::Ber);
}

/// Any bytes as PER.
pub fn per(bytes: &[u8]) {
    comes_back(bytes, Encoding::Per);
}

/// Any bytes as an Erlang term.
pub fn erl(bytes: &[u8]) {
    comes_back(bytes, Encoding::Erl);
}

/// Memory that decoding may take: a multiple of the input. Inflating multiplies once more.
const BYTES_PER_BYTE: usize = 1000;

fn comes_back(bytes: &[u8], encoding: Encoding) {
    let arena = Arena::new();
    let decoded = decode_as(encoding, bytes, &arena, &DecodeOptions::default());
    if encoding != Encoding::Erl {
        assert!(
            arena.allocated_bytes() <= BYTES_PER_BYTE * bytes.len() + 4096,
            "{} bytes for {}",
            arena.allocated_bytes(),
            bytes.len()
        );
    }
    let message = match decoded {
        Ok(message) => message,
        Err(error) => {
            let text = error.to_string();
            assert!(!text.ends_with('.'), "{text:?}");
            return;
        }
    };
    let mut out = Vec::new();
    // A message that only this encoding can carry, such as one with a name of no table, may fail to encode.
    for other in [
        Encoding::Pretty,
        Encoding::Compact,
        Encoding::Ber,
        Encoding::Per,
        Encoding::Erl,
    ] {
        out.clear();
        if encode(&message, other, &EncodeOptions::default(), &mut out).is_err() {
            assert!(out.is_empty(), "an encoder that fails appends nothing");
        } else if other == encoding {
            let again = Arena::new();
            let back = decode_as(other, &out, &again, &DecodeOptions::default());
            assert_eq!(back.as_ref(), Ok(&message), "{}", out.escape_ascii());
        }
    }
}
