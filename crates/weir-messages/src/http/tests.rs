//! HTTP: heads, bodies, and what has no end.

use super::*;

const REQUESTS: &[u8] = b"GET /a HTTP/1.1\r\nHost: weir.test\r\n\r\n\
    POST /b HTTP/1.1\r\nHost: weir.test\r\nContent-Length: 5\r\n\r\nhello\
    HEAD /c HTTP/1.1\r\n\r\n";
const RESPONSES: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
    4;x=y\r\nwiki\r\n5\r\npedia\r\n0\r\nA: b\r\n\r\n\
    HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno\
    HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";

fn read(requests: &[u8], responses: &[u8], size: usize) -> (Vec<Exchange>, Connection) {
    let mut connection = Connection::default();
    let mut found = Vec::new();
    for (side, bytes) in [(0, requests), (1, responses)] {
        for piece in bytes.chunks(size) {
            connection.take(side, piece, Stamp::default(), &mut |it| found.push(it));
        }
    }
    (found, connection)
}

#[test]
fn pipelined_requests_find_their_responses_in_pieces_of_any_size() {
    for size in 1..=RESPONSES.len() {
        let (found, _) = read(REQUESTS, RESPONSES, size);
        assert_eq!(found.len(), 3, "{size}");
        let targets: Vec<&str> = found
            .iter()
            .map(|it| it.request.as_ref().unwrap().head.line.target.as_str())
            .collect();
        assert_eq!(targets, ["/a", "/b", "/c"]);
        let codes: Vec<u16> = found
            .iter()
            .map(|it| it.response.as_ref().unwrap().head.line.code)
            .collect();
        assert_eq!(codes, [200, 404, 200]);
        assert_eq!(found[0].response.as_ref().unwrap().body, b"wikipedia");
        assert_eq!(found[1].request.as_ref().unwrap().body, b"hello");
        assert_eq!(found[1].interim.as_ref().unwrap().code, 100);
        // The response to HEAD has no body, whatever its length says.
        assert_eq!(found[2].response.as_ref().unwrap().body_len, 0);
    }
}

#[test]
fn every_prefix_gives_what_is_whole() {
    for length in 0..RESPONSES.len() {
        let (found, mut connection) = read(REQUESTS, &RESPONSES[..length], 1_000);
        let mut rest = 0;
        connection.finish(&mut |_| rest += 1);
        assert_eq!(found.len() + rest, 3, "{length}");
    }
}

#[test]
fn a_body_that_ends_with_its_connection_is_whole_then() {
    let (mut found, mut connection) = read(
        b"GET / HTTP/1.0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\nall of it",
        7,
    );
    assert!(found.is_empty());
    connection.end(1, &mut |it| found.push(it));
    let response = found[0].response.as_ref().unwrap();
    assert!(response.is_whole);
    assert_eq!(response.body_len, 9);
}

#[test]
fn what_is_missing_of_a_body_is_said() {
    let mut connection = Connection::default();
    let mut found = Vec::new();
    let mut each = |it| found.push(it);
    connection.take(0, b"GET / HTTP/1.1\r\n\r\n", Stamp::default(), &mut each);
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab";
    connection.take(1, head, Stamp::default(), &mut each);
    connection.gap(1, 5, &mut each);
    connection.take(1, b"xyz", Stamp::default(), &mut each);
    let response = found[0].response.as_ref().unwrap();
    assert_eq!((response.body_len, response.missing), (5, 5));
}

#[test]
fn heads_without_end_and_floods_of_requests_stay_within_limits() {
    let mut connection = Connection::default();
    let mut found = 0;
    for _ in 0..10_000 {
        connection.take(0, b"GET / HTTP/1.1\r\n\r\n", Stamp::default(), &mut |_| {
            found += 1;
        });
    }
    assert_eq!(connection.dropped(), 10_000 - PIPELINE_MAX as u64);
    assert!(connection.held() < 1 << 20);
    assert_eq!(found, connection.dropped());
    let connection_found = found;
    let mut connection = Connection::default();
    connection.take(0, b"GET / HTTP/1.1\r\nA: ", Stamp::default(), &mut |_| {
        found += 1;
    });
    for _ in 0..1_000 {
        connection.take(0, &[b'a'; 1_000], Stamp::default(), &mut |_| found += 1);
        assert!(connection.held() < 4 * HEAD_OCTETS_MAX);
    }
    assert_eq!(found, connection_found);
}

#[test]
fn a_tunnel_is_over() {
    let mut connection = Connection::default();
    let mut found = Vec::new();
    let mut each = |it| found.push(it);
    connection.take(
        0,
        b"CONNECT a:443 HTTP/1.1\r\n\r\n",
        Stamp::default(),
        &mut each,
    );
    let told = connection.take(1, b"HTTP/1.1 200 OK\r\n\r\n", Stamp::default(), &mut each);
    assert_eq!(told, Told::Over);
    assert_eq!(found.len(), 1);
}

/// Until 2026-11 such a request, and all behind it, was lost.
#[test]
fn targets_with_spaces_are_read() {
    let mut connection = Connection::searching();
    let mut found = Vec::new();
    let mut each = |it| found.push(it);
    connection.take(0, b"\x05\x01\0", Stamp::default(), &mut each);
    let request = b"GET /cgi;cat /etc/passwd| HTTP/1.1\r\nHost: a\r\n\r\n";
    connection.take(0, request, Stamp::default(), &mut each);
    connection.finish(&mut each);
    let head = &found[0].request.as_ref().unwrap().head;
    assert_eq!(head.line.target, "/cgi;cat /etc/passwd|");
    assert_eq!(head.field("host"), Some("a"));
}
