//! HTTP: heads, bodies, and what has no end.

use super::*;

mod http2;
mod pairing;
mod placed;
mod searching;
mod settings;
mod streams;

use self::http2::{frame, http2_connection};

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
        // The response to HEAD has no body, whatever its length is.
        assert_eq!(found[2].response.as_ref().unwrap().body_len, 0);
    }
}

/// The version of a request whose method is not known was taken for a response where a segment began with it.
#[test]
fn requests_of_any_method_are_found_in_pieces_of_any_size() {
    for method in ["BREW", "QUERY", "PROPPATCH"] {
        let request = format!("{method} /a?b=c HTTP/1.1\r\nHost: weir.test\r\n\r\n");
        let request = request.as_bytes();
        let ends = (1..request.len()).flat_map(|one| (one..request.len()).map(move |it| (one, it)));
        for (one, other) in ends {
            let pieces = [&request[..one], &request[one..other], &request[other..]];
            for mut connection in [Connection::default(), Connection::searching()] {
                let mut found = Vec::new();
                for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
                    connection.take(0, piece, Stamp::default(), &mut |it| found.push(it));
                }
                let response = b"HTTP/1.1 204 x\r\n\r\n";
                connection.take(1, response, Stamp::default(), &mut |it| found.push(it));
                assert_eq!(found.len(), 1, "{method}, {one}, {other}");
                let line = &found[0].request.as_ref().unwrap().head.line;
                assert_eq!(
                    (line.method.as_str(), line.target.as_str()),
                    (method, "/a?b=c")
                );
                assert_eq!(found[0].response.as_ref().unwrap().head.line.code, 204);
            }
        }
    }
}

/// Of a connection of which only the server was captured, the first response took all others for its body.
#[test]
fn a_response_to_head_without_its_request_has_another_behind_it() {
    let answer = "HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno";
    let responses =
        |field: &str, body: &str| format!("HTTP/1.1 200 OK\r\n{field}\r\n\r\n{body}{answer}");
    let read_all = |requests: &[u8], responses: &str, size| {
        let (mut all, mut connection) = read(requests, responses.as_bytes(), size);
        connection.end(1, &mut |it| all.push(it));
        connection.finish(&mut |it| all.push(it));
        let responses = all.iter().map(|it| it.response.as_ref().unwrap());
        let rows = responses.map(|it| (it.head.line.code, it.body_len));
        rows.collect::<Vec<_>>()
    };
    let fields = [
        "Server: a",
        "Content-Length: 10000",
        "Content-Length: 7",
        "Transfer-Encoding: chunked",
    ];
    for field in fields {
        let both = responses(field, "");
        for size in 1..=both.len() {
            assert_eq!(read_all(b"", &both, size), [(200, 0), (404, 2)], "{field}");
        }
    }
    for size in [1, 5, 1_000] {
        // The body of a response whose request is known may be anything, and so may a body of messages.
        let get = b"GET / HTTP/1.1\r\n\r\n";
        let whole = answer.len() as u64;
        for field in ["Server: a", "Content-Length: 10000"] {
            let found = read_all(get, &responses(field, ""), size);
            assert_eq!(found, [(200, whole)], "{field}");
        }
        let of_messages = responses("Content-Length: 10000\r\nContent-Type: message/http", "");
        assert_eq!(read_all(b"", &of_messages, size), [(200, whole)]);
        // A body that begins as a response does, and goes on otherwise or ends there.
        let other = responses("Content-Length: 10", "HTTP/1.x i");
        assert_eq!(read_all(b"", &other, size), [(200, 10), (404, 2)]);
        let short = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nHTTP/";
        assert_eq!(read_all(b"", short, size), [(200, 5)]);
        let five = responses("Content-Length: 5", "HTTP/");
        assert_eq!(read_all(b"", &five, size), [(200, 5), (404, 2)]);
        let last = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHTTP/";
        assert_eq!(read_all(b"", last, size), [(200, 5)]);
    }
}

#[test]
fn the_preface_of_http_2_is_found_in_pieces() {
    for at in 1..two::PREFACE.len() {
        for mut connection in [Connection::default(), Connection::searching()] {
            let (first, rest) = two::PREFACE.split_at(at);
            for piece in [first, rest] {
                connection.take(0, piece, Stamp::default(), &mut |_| {});
            }
            assert_eq!(connection.carries(0), Carries::Http2, "{at}");
        }
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
fn the_missing_octets_of_a_body_are_counted() {
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

/// Until 2026-11 nothing of a tunnel was read (RFC 9110, 9.3.6).
#[test]
fn a_tunnel_may_carry_http() {
    const CONNECT: Seen<'_> = Seen::Client("CONNECT a:80 HTTP/1.1\r\n\r\n");
    const OPENED: Seen<'_> = Seen::Server("HTTP/1.1 200 OK\r\n\r\n");
    let expected = [("a:80", 200, None), ("/1", 201, None), ("/2", 202, None)];
    assert_pairs(&[CONNECT, OPENED, GET_1, OK_1, GET_2, OK_2], &expected);
    // One in another, and one behind other octets.
    let expected = [("a:80", 200, None), ("a:80", 200, None), ("/1", 201, None)];
    assert_pairs(&[CONNECT, OPENED, CONNECT, OPENED, GET_1, OK_1], &expected);
    let hello = || Seen::Client("\x05\x01\0");
    let expected = [("a:80", 200, None), ("/1", 201, None)];
    assert_pairs(&[CONNECT, OPENED, hello(), GET_1, OK_1], &expected);
    // A CONNECT that the proxy refuses opens no tunnel.
    let refused = Seen::Server("HTTP/1.1 407 A\r\nContent-Length: 0\r\n\r\n");
    assert_pairs(
        &[CONNECT, refused, GET_1, OK_1],
        &[("a:80", 407, None), ("/1", 201, None)],
    );
}

#[test]
fn a_tunnel_of_something_else_is_over() {
    let mut connection = Connection::default();
    let mut found = Vec::new();
    let mut each = |it| found.push(it);
    let connect = b"CONNECT a:443 HTTP/1.1\r\n\r\n";
    connection.take(0, connect, Stamp::default(), &mut each);
    let opened = b"HTTP/1.1 200 OK\r\n\r\n";
    let mut state = connection.take(1, opened, Stamp::default(), &mut each);
    let mut octets = 0;
    while state == ConnectionState::More {
        octets += 1_000;
        state = connection.take(
            octets / 1_000 % 2,
            &[0x16; 1_000],
            Stamp::default(),
            &mut each,
        );
        assert_eq!(connection.held(), 0);
    }
    assert_eq!(octets, TUNNEL_OCTETS_MAX.next_multiple_of(1_000));
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

/// A malformed message is a row with a fault, and messages after it are read.
#[test]
fn malformed_heads_are_read_as_far_as_they_can_be_understood() {
    let next = "HTTP/1.1 204 No Content\r\n\r\n";
    for (head, code, version, phrase) in [
        ("HTTP/1.2 200 OK\r\n", 200, Some("HTTP/1.2"), "OK"),
        (
            "HTTP/2.0 404 Not Found\r\n",
            404,
            Some("HTTP/2.0"),
            "Not Found",
        ),
        ("HTTP/0.9 200 OK\r\n", 200, Some("HTTP/0.9"), "OK"),
        ("HTTP/1.1 20 OK\r\n", 20, None, "OK"),
        ("HTTP/1.1 2000 OK\r\n", 2000, None, "OK"),
        ("HTTP/1.1 70000 OK\r\n", 0, None, "OK"),
        ("HTTP/1.1 2XX OK\r\n", 0, None, "OK"),
        ("HTTP/1.1\t200 OK\r\n", 200, None, "OK"),
        ("HTTP/1.1\r\n", 0, None, ""),
        ("HTTP/1.1 200 O\0K\r\n", 200, None, "O\0K"),
        ("HTTP/1.1 200 OK\r\nX: a\0b\r\n", 200, None, "OK"),
        ("HTTP/1.1 200 OK\r\nX: a\rb\r\n", 200, None, "OK"),
    ] {
        let responses = format!("{head}Content-Length: 2\r\n\r\nhi{next}");
        let requests = "GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n";
        for size in [1, 7, 1_000] {
            let (found, _) = read(requests.as_bytes(), responses.as_bytes(), size);
            assert_eq!(found.len(), 2, "{head:?} by {size}");
            let response = found[0].response.as_ref().unwrap();
            let line = &response.head.line;
            assert_eq!(line.code, code, "{head:?}");
            assert_eq!(line.version.as_deref(), version, "{head:?}");
            assert_eq!(line.phrase, phrase, "{head:?}");
            assert_eq!(response.body, b"hi", "{head:?}");
            assert_eq!(
                found[1].response.as_ref().unwrap().head.line.code,
                204,
                "{head:?}"
            );
            assert_eq!(found[1].fault, None, "{head:?}");
        }
    }
    for (head, version) in [("HTTP/1.2", "HTTP/1.2"), ("HTTP/3.0", "HTTP/3.0")] {
        let request = format!("GET /a {head}\r\nHost: a\r\n\r\n");
        let (found, _) = read(request.as_bytes(), next.as_bytes(), 5);
        let line = &found[0].request.as_ref().unwrap().head.line;
        assert_eq!(
            (line.target.as_str(), line.version.as_deref()),
            ("/a", Some(version))
        );
        assert_eq!(found[0].fault, Some(HttpFault::Malformed));
    }
}

/// First lines that break the grammar, with what was understood of them.
#[test]
fn first_lines_of_every_kind_have_rows() {
    let next = "HTTP/1.1 204 No Content\r\n\r\n";
    for (head, code, version, phrase) in [
        ("HTTP/1 200 OK\r\n", 200, Some("HTTP/1"), "OK"),
        ("HTTP/1.10 200 OK\r\n", 200, Some("HTTP/1.10"), "OK"),
        ("http/1.1 200 OK\r\n", 200, Some("http/1.1"), "OK"),
        ("ICY 200 OK\r\n", 200, Some("ICY"), "OK"),
        ("HTTP/1.1 -1 OK\r\n", 0, None, "OK"),
    ] {
        let responses = format!("{head}Content-Length: 2\r\n\r\nhi{next}");
        let requests = "GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n";
        for size in [1, 7, 1_000] {
            let (found, _) = read(requests.as_bytes(), responses.as_bytes(), size);
            assert_eq!(found.len(), 2, "{head:?} by {size}");
            let response = found[0].response.as_ref().unwrap();
            let line = &response.head.line;
            let rows = (line.code, line.version.as_deref(), line.phrase.as_str());
            assert_eq!(rows, (code, version, phrase), "{head:?}");
            assert_eq!(response.body, b"hi", "{head:?}");
            assert_eq!(found[0].fault, Some(HttpFault::Malformed), "{head:?}");
            assert_eq!(found[1].fault, None, "{head:?}");
        }
    }
    for (line, method, target, version) in [
        ("GET /a HTTP/1", "GET", "/a", Some("HTTP/1")),
        ("get /a http/1.1", "get", "/a", Some("http/1.1")),
        ("GET /a\tHTTP/1.1", "GET", "/a", None),
        ("GET\t/a\tHTTP/1.1", "GET", "/a", None),
        ("GET\u{b}/a\u{c}HTTP/1.1", "GET", "/a", None),
        ("GET /a", "GET", "/a", Some("")),
    ] {
        let request = format!("{line}\r\nHost: a\r\n\r\n");
        let mut connection = Connection::searching();
        let mut found = Vec::new();
        let mut each = |it| found.push(it);
        for (side, bytes) in [(0, request.as_str()), (1, next)] {
            connection.take(side, bytes.as_bytes(), Stamp::default(), &mut each);
        }
        connection.finish(&mut each);
        assert_eq!(found.len(), 1, "{line:?}");
        let head = &found[0].request.as_ref().unwrap().head;
        let rows = (head.line.method.as_str(), head.line.target.as_str());
        assert_eq!(rows, (method, target), "{line:?}");
        assert_eq!(head.line.version.as_deref(), version, "{line:?}");
        assert_eq!(head.field("host"), Some("a"), "{line:?}");
        assert_eq!(found[0].fault, Some(HttpFault::Malformed), "{line:?}");
        let code = found[0].response.as_ref().unwrap().head.line.code;
        assert_eq!(code, 204, "{line:?}");
    }
}

/// A field that breaks the grammar is not lost, and the body whose length it gives is not read as the next message.
#[test]
fn fields_of_every_kind_are_read_in_both_directions() {
    for (fields, name, value, is_malformed) in [
        ("X: a\r\n b\r\n\tc\r\n", "x", "a b c", true),
        ("X : a\r\n", "x", "a", true),
        ("X: a\nY: b\n", "y", "b", false),
        ("X: a\0b\r\n", "x", "a\0b", true),
        ("no field\r\nX: a\r\n", "x", "a", true),
        ("X@: a\r\nX: b\r\n", "x@", "a", true),
        (": a\r\nX: b\r\n", "x", "b", true),
        ("X:\r\n", "x", "", false),
    ] {
        let messages = |first: &str, next: &str| {
            format!("{first}\r\n{fields}Content-Length : 2\r\n\r\nhi{next}\r\n\r\n")
        };
        let requests = messages("POST /a HTTP/1.1", "GET /b HTTP/1.1");
        let responses = messages("HTTP/1.1 200", "HTTP/1.1 204");
        for size in [1, 5, 1_000] {
            let (found, _) = read(requests.as_bytes(), responses.as_bytes(), size);
            assert_eq!(found.len(), 2, "{fields:?} by {size}");
            let request = found[0].request.as_ref().unwrap();
            let response = found[0].response.as_ref().unwrap();
            assert_eq!(request.head.field(name), Some(value), "{fields:?}");
            assert_eq!(response.head.field(name), Some(value), "{fields:?}");
            let bodies = (request.body.as_slice(), response.body.as_slice());
            assert_eq!(bodies, (&b"hi"[..], &b"hi"[..]), "{fields:?}");
            assert!(request.head.is_malformed, "{fields:?}");
            if is_malformed && !fields.contains(" b\r\n") && !fields.contains("X :") {
                assert!(response.head.is_malformed, "{fields:?}");
            }
            assert_eq!(found[1].fault, None, "{fields:?}");
        }
    }
}

/// The framing of these bodies is declared twice or strangely.
#[test]
fn lengths_that_contradict_each_other_are_a_fault() {
    let chunks = "2\r\nhi\r\n0\r\n\r\n";
    let next = "HTTP/1.1 204 No Content\r\n\r\n";
    for (fields, sent, body, fault) in [
        (
            "Content-Length: 2\r\nContent-Length: 2\r\n",
            "hi",
            "hi",
            None,
        ),
        ("Content-Length: 2, 2\r\n", "hi", "hi", None),
        (
            "Content-Length: 2\r\nContent-Length: 4\r\n",
            "hi",
            "hi",
            Some(HttpFault::Length),
        ),
        (
            "Content-Length: +2\r\nContent-Length: 2\r\n",
            "hi",
            "hi",
            Some(HttpFault::Length),
        ),
        (
            "Content-Length: +2\r\n",
            "hi",
            "hi",
            Some(HttpFault::Length),
        ),
        (
            "Content-Length: 2x\r\n",
            "hi",
            "hi",
            Some(HttpFault::Length),
        ),
        ("Transfer-Encoding: CHUNKED\r\n", chunks, "hi", None),
        ("Transfer-Encoding: gzip, chunked\r\n", chunks, "hi", None),
        (
            "Transfer-Encoding: gzip\r\nTransfer-Encoding:\tChunked\r\n",
            chunks,
            "hi",
            None,
        ),
        (
            "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
            chunks,
            "hi",
            Some(HttpFault::Length),
        ),
        (
            "Transfer-Encoding: identity\r\nContent-Length: 2\r\n",
            "hi",
            "hi",
            None,
        ),
        (
            "Transfer-Encoding: chunked\r\n",
            "2;a=\"b\"\nhi\n000\nX: y\n\n",
            "hi",
            None,
        ),
        (
            "Transfer-Encoding: chunked\r\n",
            "0000000000000000000000002 \r\nhi\r\n0\r\n\r\n",
            "hi",
            None,
        ),
    ] {
        let requests = "GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n";
        let responses = format!("HTTP/1.1 200 OK\r\n{fields}\r\n{sent}{next}");
        for size in [1, 6, 1_000] {
            let (found, _) = read(requests.as_bytes(), responses.as_bytes(), size);
            assert_eq!(found.len(), 2, "{fields:?} by {size}");
            let response = found[0].response.as_ref().unwrap();
            assert_eq!(response.body, body.as_bytes(), "{fields:?}");
            assert_eq!(found[0].fault, fault, "{fields:?}");
            let code = found[1].response.as_ref().unwrap().head.line.code;
            assert_eq!(code, 204, "{fields:?}");
        }
    }
    // A body without a valid length has all octets that follow.
    for fields in [
        "Transfer-Encoding: xchunked\r\nContent-Length: 1\r\n",
        "Transfer-Encoding: chunked, gzip\r\n",
        "Content-Length: -2\r\n",
    ] {
        let responses = format!("HTTP/1.1 200 OK\r\n{fields}\r\nhi");
        let (mut found, mut connection) = read(REQUESTS, responses.as_bytes(), 1_000);
        connection.end(1, &mut |it| found.push(it));
        assert_eq!(
            found[0].response.as_ref().unwrap().body,
            b"hi",
            "{fields:?}"
        );
        assert_eq!(found[0].fault, Some(HttpFault::Length), "{fields:?}");
    }
    // A chunk without a length ends the body with a fault.
    for chunk in [
        "0x2\r\nhi",
        "-2\r\nhi",
        "+2\r\nhi",
        "\r\nhi",
        "11111111111111111\r\nhi",
        "2\r\nhi!\r\n",
    ] {
        let responses = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}");
        let (found, _) = read(b"GET /a HTTP/1.1\r\n\r\n", responses.as_bytes(), 1_000);
        assert_eq!(found[0].fault, Some(HttpFault::Chunk), "{chunk:?}");
        assert!(!found[0].response.as_ref().unwrap().is_whole, "{chunk:?}");
    }
}

/// RFC 1945, 4: a line is answered by a body, which the end of the connection ends.
#[test]
fn requests_of_http_0_9_are_answered_by_a_body() {
    for (body, is_status) in [
        ("<html>\r\nhello", false),
        ("\r\nHTTP/", false),
        ("HTTP/1.0 400 Bad\r\n\r\n", true),
    ] {
        let mut connection = Connection::searching();
        let mut found = Vec::new();
        let mut each = |it| found.push(it);
        connection.take(0, b"GET /old\r\n", Stamp::default(), &mut each);
        connection.take(1, body.as_bytes(), Stamp::default(), &mut each);
        connection.end(1, &mut each);
        connection.finish(&mut each);
        assert_eq!(found.len(), 1, "{body:?}");
        let line = &found[0].request.as_ref().unwrap().head.line;
        assert_eq!(
            (line.target.as_str(), line.version.as_deref()),
            ("/old", Some("HTTP/0.9"))
        );
        let response = found[0].response.as_ref().unwrap();
        match is_status {
            true => assert_eq!(response.head.line.code, 400),
            false => assert_eq!(response.body, body.as_bytes()),
        }
        assert_eq!(found[0].fault, None, "{body:?}");
    }
}

/// A head that ends with its connection, before a gap or with the capture is a message that was cut.
#[test]
fn heads_without_their_ends_are_messages() {
    let request = b"GET /a HTTP/1.1\r\nHost: a\r\nAccept: te";
    let whole = b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
    let of_old_software = b"HTTP/1.1 200 OK\rServer: old\r\rhi";
    type Ends = fn(&mut Connection, usize, &mut dyn FnMut(Exchange));
    let ends: [Ends; 3] = [
        |connection, side, each| connection.end(side, each),
        |connection, side, each| connection.gap(side, 100, each),
        |_, _, _| {},
    ];
    for end in ends {
        let mut found = Vec::new();
        let mut each = |it| found.push(it);
        let mut connection = Connection::default();
        let stamp = Stamp {
            time_ns: Some(5),
            frame: 7,
        };
        connection.take(0, &request[..20], Stamp::default(), &mut each);
        connection.take(0, &request[20..], stamp, &mut each);
        end(&mut connection, 0, &mut each);
        connection.finish(&mut each);
        assert_eq!(found.len(), 1);
        let asked = found[0].request.as_ref().unwrap();
        assert_eq!(asked.head.line.target, "/a");
        assert_eq!(asked.head.field("host"), Some("a"));
        assert_eq!(asked.stamp, stamp);
        assert!(!asked.is_whole);
        assert!(found[0].fault.is_some());

        let mut found = Vec::new();
        let mut each = |it| found.push(it);
        let mut connection = Connection::default();
        connection.take(0, whole, Stamp::default(), &mut each);
        connection.take(1, of_old_software, stamp, &mut each);
        end(&mut connection, 1, &mut each);
        connection.finish(&mut each);
        assert_eq!(found.len(), 1);
        let answer = found[0].response.as_ref().unwrap();
        assert_eq!(
            (answer.head.line.code, answer.head.field("server")),
            (200, Some("old"))
        );
        assert!(found[0].fault.is_some());
    }
}

/// A request that was cut within its first line had neither a row nor a count. Its target is known where more stands behind it.
#[test]
fn a_request_without_the_end_of_its_line_is_one() {
    for (begun, expected) in [
        ("GET /a HT", Some("/a")),
        ("GET /a ", Some("/a")),
        ("GET /a", Some("")),
        ("DELETE ", Some("")),
        ("DELETE", None),
        ("get /a HT", None),
    ] {
        let seen = [Seen::Client(begun), Seen::ClientGap(50)];
        let with = |fault| expected.iter().map(move |it| (*it, 0_u16, Some(fault)));
        assert_pairs(&seen, &with(HttpFault::Missing).collect::<Vec<_>>());
        assert_pairs(&seen[..1], &with(HttpFault::Cut).collect::<Vec<_>>());
    }
}

/// A head of which the end was not captured was called malformed, and so was one whose connection ended within it.
#[test]
fn a_head_that_is_cut_is_not_malformed() {
    let request = "GET /1 HTTP/1.1\r\nHost: a\r\nAccept: b\r\n\r\n";
    for end in "GET /1 ".len()..request.len() - 1 {
        let begun = Seen::Client(&request[..end]);
        assert_pairs(&[begun], &[("/1", 0, Some(HttpFault::Cut))]);
        let missing = Some(HttpFault::Missing);
        assert_pairs(&[begun, Seen::ClientGap(50)], &[("/1", 0, missing)]);
    }
    let response = "HTTP/1.1 201 A\r\nServer: a\r\nContent-Length: 2\r\n\r\nab";
    for end in "HTTP/1.1 201".len()..response.len() - 3 {
        let begun = [GET_1, Seen::Server(&response[..end])];
        assert_pairs(&begun, &[("/1", 201, Some(HttpFault::Cut))]);
        let missing = [begun[0], begun[1], Seen::ServerGap(50)];
        assert_pairs(&missing, &[("/1", 201, Some(HttpFault::Missing))]);
    }
    // What breaks the grammar does so without an end, too.
    for begun in [
        "GET /1 b HTTP/1.1\r\nHost: a",
        "GET /1 HTTP/1.1\r\nHo\u{1}st: a\r\n",
    ] {
        let seen = [Seen::Client(begun), Seen::ClientGap(50)];
        let found = pairs(&seen);
        assert_eq!(found.len(), 1, "{begun:?}");
        assert_eq!(found[0].2, Some(HttpFault::Malformed), "{begun:?}");
    }
}

/// A head after one whose lines end in carriage returns alone was taken for a part of it.
#[test]
fn a_head_ends_where_another_begins_with_a_segment() {
    let of_old_software = Seen::Server("HTTP/1.1 200 OK\rContent-Length: 2\r\rhi");
    let expected = [("/1", 200, Some(HttpFault::Malformed)), ("/2", 202, None)];
    assert_pairs(&[GET_1, of_old_software, GET_2, OK_2], &expected);
}

/// A request whose lines end in carriage returns alone was read at the end of its connection, behind its response.
#[test]
fn a_response_ends_a_request_without_line_feeds() {
    let of_old_software = Seen::Client("GET /1 HTTP/1.1\rHost: a\r\r");
    let found = [("/1", 201, Some(HttpFault::Malformed)), ("/2", 202, None)];
    assert_pairs(&[of_old_software, OK_1, GET_2, OK_2], &found);
}

/// The names of protocols in a ClientHello were a response, where a segment of a tunnel began with `http/1.1`.
#[test]
fn the_name_of_a_protocol_is_no_response() {
    let connect = Seen::Client("CONNECT a:443 HTTP/1.1\r\n\r\n");
    let opened = Seen::Server("HTTP/1.1 200 A\r\n\r\n");
    let hello = Seen::Client("\u{16}\u{3}\u{1}");
    let names = "http/1.1\0\u{b}\0\u{2}\u{1}\0\nmore\n";
    let all = [connect, opened, hello, Seen::Client(names)];
    assert_pairs(&all, &[("a:443", 200, None)]);
    let [connect, opened, hello, _] = all;
    let octets: Vec<Seen<'_>> = (0..names.len())
        .map(|at| Seen::Client(&names[at..=at]))
        .collect();
    let mut all = vec![connect, opened, hello];
    all.extend(octets);
    assert_pairs(&all, &[("a:443", 200, None)]);
    assert_pairs(&all[2..], &[]);
}

/// After a loss a response is found wherever it begins, in segments of any size: behind a body there was none in small ones.
#[test]
fn after_a_loss_responses_are_found_in_segments_of_any_size() {
    let begun = "HTTP/1.1 201 A\r\nContent-";
    let rest = "ength: 20\r\n\r\nabcdefghijabcdefghij";
    let next = "HTTP/1.1 202 A\r\nContent-Length: 2\r\n\r\nab";
    let found = |size: usize| {
        let mut seen = vec![GET_1, Seen::Server(begun), Seen::ServerGap(1)];
        for (request, text) in [(None, rest), (Some(GET_2), next)] {
            seen.extend(request);
            let pieces = text.as_bytes().chunks(size);
            seen.extend(pieces.map(|it| Seen::Server(std::str::from_utf8(it).unwrap())));
        }
        pairs(&seen)
    };
    let whole = found(1_000);
    assert!(whole.iter().any(|it| it.1 == 202), "{whole:?}");
    for size in 1..60 {
        assert_eq!(found(size), whole, "{size}");
    }
}

/// The rest of a request whose beginning was lost, from its version on, was a response of the client, whose body took all
/// further requests.
#[test]
fn the_rest_of_a_request_is_no_response() {
    let rest = " HTTP/1.1\r\nHost: a\r\n\r\n";
    for rest in [rest, &rest[1..]] {
        let lost = [Seen::ClientGap(6), Seen::Client(rest), OK_2, GET_3, OK_3];
        // Behind another request, and at the beginning of the connection.
        for before in [&[GET_1, OK_1][..], &[]] {
            let found = pairs(&[before, &lost].concat());
            let is_third = |it: &(String, u16, Option<HttpFault>)| it.0 == "/3" && it.1 == 203;
            assert!(found.iter().any(is_third), "{rest:?}: {found:?}");
            assert!(found.iter().any(|it| it.1 == 202), "{rest:?}: {found:?}");
        }
    }
}

/// A body in chunks is cut where the last one does not come, also where lines of it have no line feed.
#[test]
fn a_body_without_its_last_chunk_says_so() {
    let head = "HTTP/1.1 201 A\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (chunks, fault) in [
        ("2\r\nab\r\n0\r\n\r\n", None),
        ("2\r\nab\r\n", Some(HttpFault::Unended)),
        ("5\r\nab", Some(HttpFault::Unended)),
        ("2\rab\r0\r\r", Some(HttpFault::Unended)),
        ("", Some(HttpFault::Unended)),
    ] {
        let answer = format!("{head}{chunks}");
        assert_pairs(&[GET_1, Seen::Server(&answer)], &[("/1", 201, fault)]);
    }
}

/// RFC 9112, 8: a body with fewer octets than its length is incomplete, once nothing more of it can come.
#[test]
fn a_body_that_is_shorter_than_its_length_says_so() {
    let short = "HTTP/1.1 201 A\r\nContent-Length: 3\r\n\r\nab";
    let none = "HTTP/1.1 201 A\r\nContent-Length: 3\r\n\r\n";
    let whole = "HTTP/1.1 201 A\r\nContent-Length: 2\r\n\r\nab";
    let put = "PUT /1 HTTP/1.1\r\nContent-Length: 3\r\n\r\n";
    let expecting = "PUT /1 HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
    let get = "GET /1 HTTP/1.1\r\n\r\n";
    let head = "HEAD /1 HTTP/1.1\r\n\r\n";
    let unended = Some(HttpFault::Unended);
    for (request, response, side, fault) in [
        (get, short, 1, unended),
        (get, none, 1, unended),
        (get, whole, 1, None),
        (head, none, 1, None),
        (put, "", 0, unended),
        (put, whole, 0, unended),
        // The client leaves its body out, as it was answered before.
        (expecting, whole, 0, None),
        // The request was not captured, and may have been HEAD.
        ("", none, 1, None),
        ("", short, 1, unended),
    ] {
        for is_closed in [true, false] {
            let mut connection = Connection::searching();
            let mut found = Vec::new();
            let mut each = |it| found.push(it);
            for (sender, text) in [(0, request), (1, response)] {
                if !text.is_empty() {
                    connection.take(sender, text.as_bytes(), Stamp::default(), &mut each);
                }
            }
            match is_closed {
                true => connection.close(side, &mut each),
                // The capture may have ended before the connection.
                false => connection.end(side, &mut each),
            }
            connection.finish(&mut each);
            let faults: Vec<_> = found.iter().map(|it| it.fault).collect();
            let fault = fault.filter(|_| is_closed);
            assert_eq!(faults, [fault], "{request:?} {response:?} {is_closed}");
        }
    }
}

/// An event of a connection: octets of a side, or missing octets.
#[derive(Clone, Copy)]
enum Seen<'s> {
    Client(&'s str),
    Server(&'s str),
    ClientGap(u64),
    ServerGap(u64),
}

/// Targets, codes and faults of the exchanges of a connection.
fn pairs(seen: &[Seen<'_>]) -> Vec<(String, u16, Option<HttpFault>)> {
    pairs_of(Connection::searching(), seen)
}

/// Targets, codes and faults of the exchanges of a connection in this state.
fn pairs_of(
    mut connection: Connection,
    seen: &[Seen<'_>],
) -> Vec<(String, u16, Option<HttpFault>)> {
    let mut found = Vec::new();
    let mut each = |it| found.push(it);
    for seen in seen {
        match seen {
            Seen::Client(text) => {
                connection.take(0, text.as_bytes(), Stamp::default(), &mut each);
            }
            Seen::Server(text) => {
                connection.take(1, text.as_bytes(), Stamp::default(), &mut each);
            }
            Seen::ClientGap(octets) => connection.gap(0, *octets, &mut each),
            Seen::ServerGap(octets) => connection.gap(1, *octets, &mut each),
        }
    }
    connection.finish(&mut each);
    let rows = found.iter().map(|it| {
        let target = it.request.as_ref().map(|it| it.head.line.target.clone());
        let code = it.response.as_ref().map(|it| it.head.line.code);
        (
            target.unwrap_or_default(),
            code.unwrap_or_default(),
            it.fault,
        )
    });
    rows.collect()
}

const GET_1: Seen<'_> = Seen::Client("GET /1 HTTP/1.1\r\n\r\n");
const GET_2: Seen<'_> = Seen::Client("GET /2 HTTP/1.1\r\n\r\n");
const GET_3: Seen<'_> = Seen::Client("GET /3 HTTP/1.1\r\n\r\n");
const OK_1: Seen<'_> = Seen::Server("HTTP/1.1 201 A\r\nContent-Length: 2\r\n\r\nab");
const OK_2: Seen<'_> = Seen::Server("HTTP/1.1 202 A\r\nContent-Length: 2\r\n\r\nab");
const OK_3: Seen<'_> = Seen::Server("HTTP/1.1 203 A\r\nContent-Length: 2\r\n\r\nab");
const MISSING: Option<HttpFault> = Some(HttpFault::Missing);

#[track_caller]
fn assert_pairs(seen: &[Seen<'_>], expected: &[(&str, u16, Option<HttpFault>)]) {
    let found = pairs(seen);
    let found: Vec<_> = found
        .iter()
        .map(|(target, code, fault)| (target.as_str(), *code, *fault))
        .collect();
    assert_eq!(found, expected);
}
