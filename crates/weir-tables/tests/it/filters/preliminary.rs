//! Filters over preliminary responses of HTTP.

use weir_testkit::http2;

use super::are_selected;

/// Filters over preliminary responses, with the packets of [`preliminary`] that they select.
const OF_PRELIMINARY: &[(&str, &[u64])] = &[
    ("http.response", &[5, 7, 10, 12, 17]),
    ("http.response.code == 100", &[5]),
    ("http.response.code == 103", &[10]),
    ("http.response.code == 101", &[17]),
    ("http.response.code < 200", &[5, 10, 17]),
    ("http.response.code == 200", &[12]),
    ("http.response.phrase == \"Continue\"", &[5]),
    ("http.response.phrase contains \"Hints\"", &[10]),
    ("http.response.version == \"HTTP/1.1\"", &[5, 7, 10, 12, 17]),
    ("http2.headers.status == 103", &[20]),
    ("http2.headers.status < 300", &[20, 21]),
];

/// Requests with preliminary responses: of HTTP/1.1, of an upgrade, and of HTTP/2 after that.
pub(super) fn preliminary() -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    let ends = [([10, 0, 0, 1], 40_000), ([10, 0, 0, 2], 80)];
    let [client, server] = ends.map(|(address, port)| (address.into(), port));
    let sent: [(bool, &[u8]); 9] = [
        (
            true,
            b"POST /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n",
        ),
        (false, b"HTTP/1.1 100 Continue\r\n\r\n"),
        (true, b"ok"),
        (false, b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"),
        (true, b"GET /b HTTP/1.1\r\n"),
        (true, b"Host: h\r\n\r\n"),
        (false, b"HTTP/1.1 103 Early Hints\r\nLink: </c>\r\n\r\n"),
        (false, b"HTTP/1.1 200 OK\r\n"),
        (false, b"Content-Length: 0\r\n\r\n"),
    ];
    let mut one = crate::wire::Connection::open(client, server, &mut packets);
    for (from_client, bytes) in sent {
        one.send_one(from_client, bytes, &mut packets);
    }
    let mut two = crate::wire::Connection::open((client.0, 40_001), server, &mut packets);
    let preface = [http2::PREFACE, &http2::settings(&[])].concat();
    let request = b"GET /c HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: \r\n\r\n";
    let agreed = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n";
    let hints = http2::frame(1, 4, 3, b"\x08\x03103");
    let sent: [(bool, &[u8]); 6] = [
        (true, request),
        (false, agreed),
        (
            true,
            &[preface, http2::frame(1, 5, 3, b"\x82\x86\x84")].concat(),
        ),
        (false, &http2::settings(&[])),
        (false, &hints),
        (false, &http2::frame(1, 5, 3, b"\x88")),
    ];
    for (from_client, bytes) in sent {
        two.send_one(from_client, bytes, &mut packets);
    }
    packets
}

/// Until 2026-11 a response counted only where no other one followed.
#[test]
fn preliminary_responses_are_selected() {
    are_selected(&preliminary(), OF_PRELIMINARY, &[]);
}
