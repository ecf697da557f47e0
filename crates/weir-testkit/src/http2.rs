//! Frames of HTTP/2 (RFC 9113) for captures that tests make.

/// The preface of a client (RFC 9113, 3.4), which its first frame follows.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Types of frames (RFC 9113, 6).
pub mod kind {
    #![expect(missing_docs, reason = "the names are those of RFC 9113")]
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const RST_STREAM: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PING: u8 = 6;
}

/// Flags of frames (RFC 9113, 6).
pub mod flag {
    #![expect(missing_docs, reason = "the names are those of RFC 9113")]
    pub const END_STREAM: u8 = 0x01;
    pub const END_HEADERS: u8 = 0x04;
    pub const PADDED: u8 = 0x08;
}

/// A frame (RFC 9113, 4.1).
///
/// # Panics
/// When the payload has 2^24 octets or more.
#[must_use]
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    assert!(payload.len() < 1 << 24, "the length has 24 bits");
    let length = (payload.len() as u32).to_be_bytes();
    let begin = [length[1], length[2], length[3], kind, flags];
    [&begin[..], &stream.to_be_bytes(), payload].concat()
}

/// A frame of HEADERS that is whole, its fields as literals that are not indexed (RFC 7541, 6.2.2).
///
/// # Panics
/// When a name or a value has more than 126 octets.
#[must_use]
pub fn headers(stream: u32, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            assert!(
                text.len() < 127,
                "longer texts have lengths in several octets"
            );
            block.push(text.len() as u8);
            block.extend(text.as_bytes());
        }
    }
    frame(kind::HEADERS, flag::END_HEADERS, stream, &block)
}

/// A frame of SETTINGS with identifiers and values (RFC 9113, 6.5.1).
#[must_use]
pub fn settings(pairs: &[(u16, u32)]) -> Vec<u8> {
    let pairs = pairs
        .iter()
        .map(|(identifier, value)| [&identifier.to_be_bytes()[..], &value.to_be_bytes()].concat());
    frame(kind::SETTINGS, 0, 0, &pairs.collect::<Vec<_>>().concat())
}
