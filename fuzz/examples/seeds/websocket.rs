//! A few frames, headers, files, compressed messages and transcripts.

use crate::frames::Seed;

/// The targets with their seeds; the first bytes are what each target takes for itself.
pub(crate) fn all() -> Vec<(&'static str, Vec<Seed>)> {
    let seeds = |all: &[(&str, &[u8])]| -> Vec<Seed> {
        all.iter()
            .map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec()))
            .collect()
    };
    vec![
        (
            "websocket_frames",
            seeds(&[
                ("text", b"\x00\x03\x81\x05Hello"),
                ("masked", b"\x10\x01\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"),
                ("fragments", b"\x00\x04\x01\x03Hel\x89\x00\x80\x02lo\x88\x02\x03\xe8"),
                ("compressed", b"\x8f\x02\xc1\x07\xf2\x48\xcd\xc9\xc9\x07\x00\xc1\x05\xf2\x00\x11\x00\x00"),
                ("request", b"\x00\xffGET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n"),
            ]),
        ),
        (
            "websocket_negotiation",
            seeds(&[
                ("plain", b"\xffpermessage-deflate"),
                (
                    "two",
                    b"\x1cpermessage-deflate; client_max_window_bits; server_max_window_bits=10, \
                      permessage-deflate; client_max_window_bits=\"9\"",
                ),
                ("takeover", b"\x03permessage-deflate; server_no_context_takeover; client_no_context_takeover"),
            ]),
        ),
        (
            "websocket_input",
            seeds(&[
                ("archive", b"\x00\x05{\"log\":{\"entries\":[{\"_webSocketMessages\":[{\"type\":\"send\",\"opcode\":2,\"data\":\"AAE=\"}]}]}}"),
                ("records", b"\x01\x07{\"direction\":\"send\",\"data\":\"h\\u00e9\\ud83d\\ude00\"}\n{\"base64\":\"AAEC\"}"),
                ("flow", b"\x02\x0339:4:type,9:websocket,8:messages,1:1:1#]}"),
                ("lines", b"\x03\x02one\r\ntwo\n\nlast"),
                ("varint", b"\x07\x01\x02hi\x80\x00\x01!"),
            ]),
        ),
        (
            "websocket_inflate",
            seeds(&[
                ("fixed", b"\x0f\x07\xf2\x48\xcd\xc9\xc9\x07\x00\xf2\x00\x11\x00\x00"),
                ("final", b"\x61\x08\xf3\x48\xcd\xc9\xc9\x07\x00\x00\x00"),
                ("stored", b"\x6f\x0b\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00\x00"),
                ("dynamic", b"\x6f\xff\x04\xc0\x81\x08\x00\x00\x00\x00\x20\x7f\xeb\x03\x00"),
            ]),
        ),
        (
            "websocket_study",
            seeds(&[
                ("chat", b"\x03\x40{\"type\":\"msg\",\"n\":1}\xff{\"type\":\"msg\",\"n\":2}\xff\xffab"),
                ("fast", b"\x02\x90aaaaaaaabaaaaaaaabaaaaaaaac\xffaaaaaaaab"),
            ]),
        ),
    ]
}
