//! Tests that additions of a later version to records survive in the encoding that they came in.

use weir_h248::{
    Arena, BinaryOptions, EncodeOptions, Encoding, ExtensionContent, TextOptions, TextStyle,
    decode_ber, decode_per, decode_text, encode, encode_ber, encode_compact, encode_per,
};

use crate::generate::Generator;

/// BER with an element of a later version at the end of every extensible record whose number is in
/// `records`; the reference is a naive walk that knows no type, so `plain` must have only records.
fn with_additions(element: &[u8], addition: &[u8]) -> Vec<u8> {
    let len = usize::from(element[1]);
    assert!(len < 0x80 && element.len() == len + 2);
    let mut out = vec![element[0], (len + addition.len()) as u8];
    out.extend_from_slice(&element[2..]);
    out.extend_from_slice(addition);
    out
}

#[test]
fn ber_keeps_elements_of_later_versions() {
    let options = BinaryOptions::default();
    // A message with one pending transaction, an addition to it, another to the message.
    let pending = with_additions(&[0xa1, 3, 0x80, 1, 9], &[0x9f, 0x55, 2, 1, 2]);
    let mut body = vec![0xa2, (pending.len() + 2) as u8, 0xa1, pending.len() as u8];
    body.extend_from_slice(&pending);
    let mut message = vec![0x80, 1, 3, 0xa1, 4, 0x83, 2, b'g', b'w'];
    message.extend_from_slice(&body);
    message.extend_from_slice(&[0x8a, 1, 7]);
    let mut input = vec![0x30, (message.len() + 2) as u8, 0xa1, message.len() as u8];
    input.extend_from_slice(&message);

    let arena = Arena::new();
    let decoded = decode_ber(&input, &arena, options).unwrap();
    let contents: Vec<ExtensionContent<'_>> = decoded
        .extensions
        .iter()
        .map(|extension| extension.content)
        .collect();
    assert_eq!(
        contents,
        [
            ExtensionContent::Ber(&[0x9f, 0x55, 2, 1, 2]),
            ExtensionContent::Ber(&[0x8a, 1, 7]),
        ]
    );
    let mut out = Vec::new();
    encode_ber(&decoded, options, &mut out).unwrap();
    assert_eq!(out, input);
    // The other encodings have no place for them.
    for encoding in [Encoding::Pretty, Encoding::Per, Encoding::Erl] {
        out.clear();
        encode(&decoded, encoding, &EncodeOptions::default(), &mut out).unwrap();
    }
}

#[test]
fn per_keeps_additions_of_later_versions() {
    let options = BinaryOptions::default();
    let mut rewritten = 0;
    for seed in 0..300 {
        let arena = Arena::new();
        let mut message = Generator::new(seed, &arena).message();
        // Records that are not there, and those without room, are refused or left out.
        let content = ExtensionContent::Per {
            index: 9,
            count: 11,
            octets: &[1, 2, 3],
        };
        let extension = weir_h248::Extension {
            record: seed as u32 % 7,
            content,
        };
        message.extensions = arena.list(&[extension]);
        let mut out = Vec::new();
        // A version 1 message has records without an extension mark.
        if encode_per(&message, options, &mut out).is_err() {
            continue;
        }
        let back = decode_per(&out, &arena, options).unwrap();
        assert_eq!(back.mid, message.mid, "seed {seed}");
        if back.extensions.is_empty() {
            continue;
        }
        rewritten += 1;
        assert_eq!(back, message, "seed {seed}");
        assert_eq!(back.extensions, message.extensions, "seed {seed}");
        let mut again = Vec::new();
        encode_per(&back, options, &mut again).unwrap();
        assert_eq!(out, again, "seed {seed}");
    }
    assert!(rewritten > 200, "{rewritten}");
}

#[test]
fn text_keeps_extension_parameters() {
    let text = "!/1 [1.2.3.4]\nT=1{C=-{SC=a{SV{MT=RS,RE=\"901\"}},\
        SC=b{SV{MT=RS,RE=\"901\",X-one=\"a b\",X+2>7}}}}T=2{C=-{SC=c{SV{MT=FO,RE=\"904\",x-3=[a,b]}}}}";
    let arena = Arena::new();
    let message = decode_text(text.as_bytes(), &arena, TextOptions::strict()).unwrap();
    let records: Vec<u32> = message
        .extensions
        .iter()
        .map(|extension| extension.record)
        .collect();
    assert_eq!(records, [1, 1, 2]);
    let mut out = Vec::new();
    encode_compact(&message, TextStyle::default(), &mut out).unwrap();
    assert_eq!(
        out.escape_ascii().to_string(),
        text.as_bytes().escape_ascii().to_string()
    );
}

/// A record that no version extends has no bit for additions, whatever version a message claims: from 9 on such a
/// bit was read, and what was found behind it could not be written again.
#[test]
fn a_version_from_9_on_adds_nothing_to_records_that_are_not_extensible() {
    let crafted: &[u8] = b"H\x80\x08#\0\0\x01\x02\x01\0\xc3\0\x07\x01\x012";
    let arena = Arena::new();
    let options = BinaryOptions::default();
    if let Ok(message) = decode_per(crafted, &arena, options) {
        let mut out = Vec::new();
        encode_per(&message, options, &mut out).unwrap();
        assert_eq!(decode_per(&out, &arena, options).unwrap(), message);
    }
    let mut lengths = std::collections::BTreeSet::new();
    for version in 4..=99 {
        let text = format!("!/{version} [8.35.0.0]:2944 PN=9{{}}");
        let message = decode_text(text.as_bytes(), &arena, TextOptions::default()).unwrap();
        let mut out = Vec::new();
        encode_per(&message, options, &mut out).unwrap();
        assert_eq!(
            decode_per(&out, &arena, options).unwrap(),
            message,
            "{version}"
        );
        lengths.insert(out.len());
    }
    assert_eq!(lengths.len(), 1, "a version changes no length: {lengths:?}");
}
