//! Messages of DNS, TLS, HTTP, RTP and small protocols.

use super::frames::Seed;

/// The seeds of each target.
pub(super) fn all() -> Vec<(&'static str, Vec<Seed>)> {
    let named = |name: &str, bytes: &[u8]| (name.to_owned(), bytes.to_vec());
    let question = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x03www\x04weir\x04test\0\0\x01\0\x01";
    let answer = b"\x12\x34\x81\x80\0\x01\0\x02\0\0\0\x01\x03www\x04weir\x04test\0\0\x01\0\x01\
        \xc0\x0c\0\x05\0\x01\0\0\x01\x2c\0\x04\x01a\xc0\x10\
        \xc0\x2b\0\x01\0\x01\0\0\x01\x2c\0\x04\xc0\0\x02\x01\0\0\x29\x10\0\0\0\x80\0\0\0";
    let loops = b"\0\x01\x01\0\0\x01\0\0\0\0\0\0\x01a\xc0\x0c\0\x01\0\x01";
    let mut hello = vec![0x03, 0x03];
    hello.extend([7; 32]);
    hello.extend([0, 0, 4, 0x13, 0x01, 0xc0, 0x2f, 1, 0, 0, 18]);
    hello.extend(b"\0\0\0\x0e\0\x0c\0\0\x09weir.test");
    let message = [&[1, 0, 0, hello.len() as u8][..], &hello].concat();
    let record = [&[22, 3, 1, 0, message.len() as u8][..], &message].concat();
    let page = "GET /a HTTP/1.1\r\nHost: weir.test\r\n\r\nHEAD /b HTTP/1.1\r\n\r\n\
        HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nweir\r\n0\r\n\r\n";
    let two = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\0\0\x04\x01\x01\0\0\0\x01\x82\x84\x86\x41\
        \0\0\x03\x09\x04\0\0\0\x01\x01a\xbe\0\0\x02\0\x01\0\0\0\x03hi";
    vec![
        (
            "messages_dns",
            vec![named("question", question), named("answer", answer), named("loops", loops)],
        ),
        (
            "messages_tls",
            vec![
                named("hello", &[&[0, 200][..], &record].concat()),
                named("pieces", &[&[0, 3][..], &record].concat()),
            ],
        ),
        (
            "messages_http",
            vec![
                named("page", &[&[1, 255][..], page.as_bytes()].concat()),
                named("pieces", &[&[1, 2][..], page.as_bytes()].concat()),
                named("two", &[&[0, 255][..], two].concat()),
            ],
        ),
        (
            "messages_rtp",
            vec![
                named("packet", b"\x90\x80\0\x01\0\0\0\xa0\0\0\0\x07\xbe\xde\0\x01\x01\x02\x03\x04sound"),
                named(
                    "reports",
                    b"\x81\xc9\0\x07\0\0\0\x07\0\0\0\x08\x10\xff\xff\xfe\0\x01\0\x05\0\0\0\x0c\x33\x44\x55\x66\0\x01\0\0\
                    \x81\xca\0\x03\0\0\0\x07\x01\x03a@b\0\0\0\x81\xcb\0\x01\0\0\0\x07",
                ),
                named(
                    "description",
                    b"v=0\nc=IN IP4 192.0.2.1\nm=audio 30000 RTP/AVP 0 101\na=rtpmap:101 telephone-event/8000\n",
                ),
            ],
        ),
        (
            "messages_small",
            vec![
                named("radius", b"\x01\x07\0\x1f0123456789abcdef\x01\x05bob\x04\x06\xc0\0\x02\x01"),
                named(
                    "snmp",
                    b"\x30\x2c\x02\x01\0\x04\x06public\xa0\x1f\x02\x01\x26\x02\x01\0\x02\x01\0\x30\x14\x30\x12\
                    \x06\x08\x2b\x06\x01\x02\x01\x01\x02\0\x06\x06\x2b\x06\x01\x84\x0c\x02",
                ),
                named("mqtt", b"\x82\x0c\0\x01\0\x01a\x01\0\x03b/#\0"),
                named("stun", b"\x01\x01\0\x0c\x21\x12\xa4\x420123456789ab\0\x20\0\x08\0\x01\xa1\x47\xe1\x12\xa6\x43"),
            ],
        ),
        (
            "messages_telephone",
            vec![
                named(
                    "diameter",
                    b"\x01\0\0\x40\xc0\0\x01\x10\0\0\0\x04\0\0\0\x07\0\0\0\x08\0\0\x01\x07\x40\0\0\x0aab\0\0\
                    \0\0\x01\xbb\x40\0\0\x14\0\0\x01\xc2\x40\0\0\x0c\0\0\0\x01\0\0\x01\xa0\x40\0\0\x0c\0\0\0\x01",
                ),
                named("mgcp", b"DLCX 1210 a/1@x MGCP 1.0\r\nC: A3\r\nP: PS=1, PL=1\r\n.\r\n200 7 OK\r\n\r\nv=0\r\n"),
                named(
                    "m3ua",
                    b"\x01\0\x01\x01\0\0\0\x44\0\x06\0\x08\0\0\0\x0a\x02\x10\0\x31\0\0\x04\x01\0\0\x08\x02\x03\x02\0\x05\
                    \x09\0\x03\x05\x09\x02\x42\x06\x04\x43\x01\x04\x08\x13\x62\x11\x48\x01\x07\x6c\x0c\xa1\x0a\x02\x01\x01\
                    \x02\x01\x02\x30\x02\x04\0\0\0\0",
                ),
                named(
                    "sccp",
                    b"\x09\0\x03\x05\x09\x02\x42\x06\x04\x43\x01\x04\x08\x13\x62\x11\x48\x01\x07\x6c\x0c\xa1\x0a\x02\x01\x01\
                    \x02\x01\x02\x30\x02\x04\0",
                ),
                named("tcap", b"\x62\x80\x48\x01\x07\x6c\x80\xa1\x06\x02\x01\x01\x02\x01\x02\0\0\0\0"),
            ],
        ),
    ]
}
