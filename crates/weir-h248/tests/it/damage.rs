//! Damaged input: errors with a place, and never a panic.

use weir_h248::{
    Arena, BinaryOptions, DecodeOptions, Encoding, ErrorKind, TextOptions, TextStyle, decode,
    decode_as, decode_ber, decode_text, detect, encode_ber, encode_pretty,
};

const MESSAGE: &str = "MEGACO/3 [125.125.125.111]:55555\nTransaction = 10001 {\n\tContext = - {\n\t\t\
    Modify = A4444 {\n\t\t\tEvents = 2223 {\n\t\t\t\tal/on { strict=state, NBRN{EM{SG{cg/rt}}} }\n\
    \t\t\t},\n\t\t\tMedia { Stream = 1 { LocalControl { Mode = SendReceive, nt/jit=[1:2] },\n\
    Local { v=0\r\nc=IN IP4 $\r\n } } },\n\t\t\tDigitMap = d { T:1,(0|xx) }\n\t\t}\n\t}\n}";

#[test]
fn errors_say_where_and_what() {
    for (from, to, place, expected, path) in [
        (
            "Modify",
            "Modifi",
            "Modifi",
            "Modify",
            "Transaction/Context",
        ),
        (
            "2223",
            "x",
            "x {",
            "request identifier",
            "Transaction/Context/Modify/Events",
        ),
        (
            "SendReceive",
            "Both",
            "Both",
            "Loopback",
            "Transaction/Context/Modify/Media/Stream/LocalControl",
        ),
        (
            "al/on",
            "alon",
            "alon",
            "package/item",
            "Transaction/Context/Modify/Events",
        ),
        (
            "[1:2]",
            "[1:2",
            "},\nLocal {",
            "`]`",
            "Transaction/Context/Modify/Media/Stream/LocalControl",
        ),
        ("MEGACO/3", "MEGACO/333", "MEGACO", "version", ""),
        (
            "= 10001",
            "= 99999999999",
            "9999",
            "4294967295",
            "Transaction",
        ),
        ("125.125.125.111", "1.2.3", "1.2.3", "an IP address", "mId"),
    ] {
        let text = MESSAGE.replacen(from, to, 1);
        let arena = Arena::new();
        let error = decode_text(text.as_bytes(), &arena, TextOptions::default()).unwrap_err();
        let offset = text.find(place).unwrap();
        let line = text[..offset].matches('\n').count() + 1;
        let column = offset - text[..offset].rfind('\n').map_or(0, |at| at + 1) + 1;
        assert_eq!(error.offset(), offset, "{error}");
        assert_eq!(
            (error.line(), error.column()),
            (Some(line), Some(column)),
            "{error}"
        );
        assert!(error.expected().contains(expected), "{error}");
        assert_eq!(error.path(), path, "{error}");
    }
}

#[test]
fn every_prefix_is_an_error_with_a_place() {
    let arena = Arena::new();
    assert!(decode_text(MESSAGE.as_bytes(), &arena, TextOptions::strict()).is_ok());
    for len in 0..MESSAGE.len() {
        let error = decode_text(&MESSAGE.as_bytes()[..len], &arena, TextOptions::default());
        let error = error.unwrap_err();
        assert!(error.offset() <= len, "{len}: {error}");
    }
}

#[test]
fn binary_damage_is_an_error_or_another_message() {
    let mut state = 1_u32;
    let mut random = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize
    };
    for sample in crate::corpus::samples().iter().step_by(5) {
        for (encoding, octets) in [
            (Encoding::Ber, &sample.ber),
            (Encoding::Per, &sample.per),
            (Encoding::Erl, &sample.erl_mc),
            (Encoding::Erl, &sample.erl_mc_z),
            (Encoding::Compact, &sample.compact),
        ] {
            // A truncated text that ends in a word may end in a valid shorter word.
            let ends_in_word = encoding == Encoding::Compact && !octets.contains(&b'{');
            for len in 0..if ends_in_word { 0 } else { octets.len() } {
                let arena = Arena::new();
                let cut = decode_as(encoding, &octets[..len], &arena, &DecodeOptions::default());
                assert!(cut.is_err(), "{} {encoding:?} {len}", sample.name);
            }
            for _ in 0..20 {
                let mut damaged = octets.clone();
                for _ in 0..1 + random() % 3 {
                    let at = random() % damaged.len();
                    damaged[at] = random() as u8;
                }
                let arena = Arena::new();
                // Whether it decodes is chance; that it ends is the point.
                let _ = decode_as(encoding, &damaged, &arena, &DecodeOptions::default());
                assert!(arena.allocated_bytes() < 1000 * octets.len() + 4096);
            }
        }
    }
}

#[test]
fn nesting_has_a_limit() {
    let deep = "NBRN{EM{E=1{al/on{".repeat(100);
    let text = format!("!/3 [1.2.3.4] T=1{{C=-{{MF=a{{E=1{{al/on{{{deep}");
    let arena = Arena::new();
    let error = decode_text(text.as_bytes(), &arena, TextOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
}

#[test]
fn lenient_and_strict_reading() {
    for (text, strict, lenient) in [
        ("!/1[1.2.3.4]T=1{C=-{N=a{OE=1{al/of}}}}", false, true),
        ("!/1 [1.2.3.4] P=1{C=-}\0\0", false, true),
        ("; \"a quote\"\n!/1 [1.2.3.4] P=1{C=-}", true, true),
        ("!/1 [1.2.3.4] P=1{ER=500{\"caf\u{e9}\"}}", false, true),
        ("!/1 [1.2.3.4] T=1{C=-{A=media,A=A}}", true, true),
        ("!/1 [2001:db8::1]:2944 T=1{C=-{O-W-S=*}}", true, true),
        ("!/1 MTP{ab\\}c} T=1{C=-{S=*}}", false, true),
        ("!/1 MTP{00d9f312} T=1{C=-{S=*}}", true, true),
        ("!/1 MTP{00d9f} T=1{C=-{S=*}}", false, false),
        (
            "!/1 [1.2.3.4] P=1{C=-{SC=root{SV{AD=1,MG=a}}}}",
            false,
            true,
        ),
        (
            "!/1 [1.2.3.4] T=1{C=-{SC=root{SV{MT=RS,RE=901,MG=a,AD=1}}}}",
            false,
            true,
        ),
        ("!/1 [1.2.3.4] P=1{C=-{SC=root{SV{PF=a//1}}}}", false, true),
        ("!/1 [1.2.3.4] T=1{C=0{A=a}}", false, true),
        ("!/1 [1.2.3.4] T=1{C=4294967294{A=a}}", false, true),
        ("!/1 [1.2.3.4] T=1{C=1{A=/a}}", false, true),
        ("!/1 [1.2.3.4] T=1{C=1{CA{},A=a}}", false, true),
        ("!/1 [1.2.3.4] T=1{C=1{CA{TP},A=a}}", true, true),
        ("!/1 [1.2.3.4] ER=9999{}", true, true),
        ("!/1 [1.2.3.4] ER=10000{}", false, true),
        // A stream, but no direction: `Oneway` was made up.
        ("!/3 [1.2.3.4] T=1{C=1{TP{a,b,ST=1}}}", false, false),
        ("!/3 [1.2.3.4] T=1{C=1{TP{a,b,OW,ST=1}}}", true, true),
        (
            "!/1 <mgc.example.com>:2944 T=1{C=-{AV=root{AT{}}}}",
            true,
            true,
        ),
        ("!/1 [1.2.3.4] T=1{C=1{E,E}}", false, false),
        ("", false, false),
    ] {
        let arena = Arena::new();
        let read = |options| decode_text(text.as_bytes(), &arena, options);
        assert_eq!(read(TextOptions::strict()).is_ok(), strict, "strict {text}");
        assert_eq!(
            read(TextOptions::default()).is_ok(),
            lenient,
            "lenient {text}"
        );
    }
}

#[test]
fn encodings_are_found_by_content() {
    for sample in crate::corpus::samples() {
        for (octets, expected) in [
            (&sample.pretty, Encoding::Pretty),
            (&sample.compact, Encoding::Compact),
            (&sample.ber, Encoding::Ber),
            (&sample.per, Encoding::Per),
            (&sample.erl, Encoding::Erl),
            (&sample.erl_mc_z, Encoding::Erl),
        ] {
            assert_eq!(detect(octets), Some(expected), "{}", sample.name);
            assert!(decode(octets, &Arena::new(), &DecodeOptions::default()).is_ok());
        }
    }
    assert_eq!(detect(b""), None);
    let arena = Arena::new();
    let error = decode(b"INVITE sip:a@b SIP/2.0", &arena, &DecodeOptions::default());
    assert_eq!(error.unwrap_err().kind(), ErrorKind::UnknownEncoding);
}

/// Such statistics were distinguished from the bare word, as which they are written again.
#[test]
fn statistics_without_content_come_back() {
    let arena = Arena::new();
    let read = |text: &str| {
        let text = arena.list(text.as_bytes());
        decode_text(text, &arena, TextOptions::default()).unwrap()
    };
    assert_eq!(
        read("!/3 [1.2.3.4] P=1{C=1{AV=a{SA{},PG{al-1}}}}"),
        read("!/3 [1.2.3.4] P=1{C=1{AV=a{SA,PG{al-1}}}}")
    );
}

/// Erlang refuses these, and so does the grammar: weir once took them.
#[test]
fn illegal_text_that_was_taken_is_refused() {
    for text in [
        "!/1 [1.2.3.4]: 5555\nK{9}",
        "!/1 [1.2.3.4]:\n5555\nK{9}",
        "!/1 [1.2.3.4]\nT=1{C=-{SC=root{SV{MT=RS,AD=5555-,RE=\"901\"}}}}",
        "!/1 [1.2.3.4]\nT=1{C=-{SC=root{SV{MT=RS,AD=55f55,RE=\"901\"}}}}",
        "!/3 [1.2.3.4]\nT=1{C=1{CA{tdmc/gain=2},A=1}}",
        "!/3 [1.2.3.4]\nT=1{C=1{CA{tdmc/gain>2},A=1}}",
    ] {
        let arena = Arena::new();
        let decoded = decode_text(text.as_bytes(), &arena, TextOptions::default());
        assert!(decoded.is_err(), "{text}");
    }
}

/// A value that selects contexts comes back from text; it was written where it does not belong.
#[test]
fn selecting_values_come_back() {
    let text = b"!/3 [1.2.3.4]\nT=1{C=*{CA{TP,CT{tdmc/gain=2},PR=3},AV=*{AT{}}}}";
    let arena = Arena::new();
    let message = decode_text(text, &arena, TextOptions::default()).unwrap();
    let mut out = Vec::new();
    encode_pretty(&message, TextStyle::default(), &mut out).unwrap();
    let again = decode_text(&out, &arena, TextOptions::default()).unwrap();
    assert_eq!(again, message);
    assert!(String::from_utf8_lossy(&out).contains("ContextAttr {"));
}

/// Erlang refuses these, and so does X.690: weir once took them, and lost what stood behind an alternative.
#[test]
fn illegal_ber_that_was_taken_is_refused() {
    let text = b"!/1 [1.2.3.4]:5\nP=1{C=1{S=*}}";
    let arena = Arena::new();
    let message = decode_text(text, &arena, TextOptions::strict()).unwrap();
    let mut ber = Vec::new();
    encode_ber(&message, BinaryOptions::default(), &mut ber).unwrap();
    assert_eq!(ber[4..11], [0x80, 1, 1, 0xa1, 0x0b, 0xa0, 9]);
    let expects = |ber: &[u8], expected: &str| {
        let arena = Arena::new();
        let error = decode_ber(ber, &arena, BinaryOptions::default()).unwrap_err();
        assert!(error.expected().contains(expected), "{error}");
    };
    // A second element under the tag of the mId, which is one address.
    let mut two = ber.clone();
    two[1] += 2;
    two[3] += 2;
    two[8] += 2;
    two.splice(20..20, [0x80, 0]);
    expects(&two, "the end of the element");
    // The message itself, and its address, without the constructed bit.
    for (at, expected) in [(2, "constructed bit"), (9, "an alternative of MId")] {
        let mut primitive = ber.clone();
        primitive[at] &= !0x20;
        expects(&primitive, expected);
    }
}
