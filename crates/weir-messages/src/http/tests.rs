//! HTTP: heads, bodies, and what has no end.

use super::*;

mod placed;
mod searching;
mod settings;
mod streams;

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

/// Until 2026-11 nothing of a tunnel was read (RFC 9110, 9.3.6).
#[test]
fn a_tunnel_may_carry_http() {
    const CONNECT: Seen<'_> = Seen::Client("CONNECT a:80 HTTP/1.1\r\n\r\n");
    const OPENED: Seen<'_> = Seen::Server("HTTP/1.1 200 OK\r\n\r\n");
    let told = [("a:80", 200, None), ("/1", 201, None), ("/2", 202, None)];
    are(&[CONNECT, OPENED, GET_1, OK_1, GET_2, OK_2], &told);
    // One in another, and one behind other octets.
    let told = [("a:80", 200, None), ("a:80", 200, None), ("/1", 201, None)];
    are(&[CONNECT, OPENED, CONNECT, OPENED, GET_1, OK_1], &told);
    let hello = || Seen::Client("\x05\x01\0");
    let told = [("a:80", 200, None), ("/1", 201, None)];
    are(&[CONNECT, OPENED, hello(), GET_1, OK_1], &told);
    // A CONNECT that the proxy refuses opens no tunnel.
    let refused = Seen::Server("HTTP/1.1 407 A\r\nContent-Length: 0\r\n\r\n");
    are(
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
    let mut told = connection.take(1, opened, Stamp::default(), &mut each);
    let mut octets = 0;
    while told == ConnectionState::More {
        octets += 1_000;
        told = connection.take(
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
        assert_eq!(found[0].fault, Some(Fault::Malformed));
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
            let told = (line.code, line.version.as_deref(), line.phrase.as_str());
            assert_eq!(told, (code, version, phrase), "{head:?}");
            assert_eq!(response.body, b"hi", "{head:?}");
            assert_eq!(found[0].fault, Some(Fault::Malformed), "{head:?}");
            assert_eq!(found[1].fault, None, "{head:?}");
        }
    }
    for (line, method, target, version) in [
        ("GET /a HTTP/1", "GET", "/a", Some("HTTP/1")),
        ("get /a http/1.1", "get", "/a", Some("http/1.1")),
        ("GET /a\tHTTP/1.1", "GET", "/a", None),
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
        let told = (head.line.method.as_str(), head.line.target.as_str());
        assert_eq!(told, (method, target), "{line:?}");
        assert_eq!(head.line.version.as_deref(), version, "{line:?}");
        assert_eq!(head.field("host"), Some("a"), "{line:?}");
        assert_eq!(found[0].fault, Some(Fault::Malformed), "{line:?}");
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
            Some(Fault::Length),
        ),
        (
            "Content-Length: +2\r\nContent-Length: 2\r\n",
            "hi",
            "hi",
            Some(Fault::Length),
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
            Some(Fault::Length),
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
        assert_eq!(found[0].fault, Some(Fault::Length), "{fields:?}");
    }
    // A chunk without a length ends the body with a fault.
    for chunk in [
        "0x2\r\nhi",
        "-2\r\nhi",
        "\r\nhi",
        "11111111111111111\r\nhi",
        "2\r\nhi!\r\n",
    ] {
        let responses = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}");
        let (found, _) = read(b"GET /a HTTP/1.1\r\n\r\n", responses.as_bytes(), 1_000);
        assert_eq!(found[0].fault, Some(Fault::Chunk), "{chunk:?}");
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
    for (begun, told) in [
        ("GET /a HT", Some("/a")),
        ("GET /a ", Some("/a")),
        ("GET /a", Some("")),
        ("DELETE ", Some("")),
        ("DELETE", None),
        ("get /a HT", None),
    ] {
        let seen = [Seen::Client(begun), Seen::ClientGap(50)];
        let told: Vec<_> = told
            .iter()
            .map(|it| (*it, 0, Some(Fault::Malformed)))
            .collect();
        are(&seen, &told);
        are(&seen[..1], &told);
    }
}

/// A head after one whose lines end in carriage returns alone was taken for a part of it.
#[test]
fn a_head_ends_where_another_begins_with_a_segment() {
    let of_old_software = Seen::Server("HTTP/1.1 200 OK\rContent-Length: 2\r\rhi");
    let told = [("/1", 200, Some(Fault::Malformed)), ("/2", 202, None)];
    are(&[GET_1, of_old_software, GET_2, OK_2], &told);
}

/// An event of a connection: octets of a side, or missing octets.
enum Seen<'s> {
    Client(&'s str),
    Server(&'s str),
    ClientGap(u64),
    ServerGap(u64),
}

/// Targets, codes and faults of the exchanges of a connection.
fn pairs(seen: &[Seen<'_>]) -> Vec<(String, u16, Option<Fault>)> {
    let mut connection = Connection::searching();
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
    let told = found.iter().map(|it| {
        let target = it.request.as_ref().map(|it| it.head.line.target.clone());
        let code = it.response.as_ref().map(|it| it.head.line.code);
        (
            target.unwrap_or_default(),
            code.unwrap_or_default(),
            it.fault,
        )
    });
    told.collect()
}

const GET_1: Seen<'_> = Seen::Client("GET /1 HTTP/1.1\r\n\r\n");
const GET_2: Seen<'_> = Seen::Client("GET /2 HTTP/1.1\r\n\r\n");
const GET_3: Seen<'_> = Seen::Client("GET /3 HTTP/1.1\r\n\r\n");
const OK_1: Seen<'_> = Seen::Server("HTTP/1.1 201 A\r\nContent-Length: 2\r\n\r\nab");
const OK_2: Seen<'_> = Seen::Server("HTTP/1.1 202 A\r\nContent-Length: 2\r\n\r\nab");
const OK_3: Seen<'_> = Seen::Server("HTTP/1.1 203 A\r\nContent-Length: 2\r\n\r\nab");
const MISSING: Option<Fault> = Some(Fault::Missing);

#[track_caller]
fn are(seen: &[Seen<'_>], told: &[(&str, u16, Option<Fault>)]) {
    let found = pairs(seen);
    let found: Vec<_> = found
        .iter()
        .map(|(target, code, fault)| (target.as_str(), *code, *fault))
        .collect();
    assert_eq!(found, told);
}

/// RFC 9112, 9.3.2: responses come in the order of their requests, whichever was captured first.
#[test]
fn a_response_before_its_request_is_that_of_it() {
    let told = [("/1", 201, None), ("/2", 202, None), ("/3", 203, None)];
    are(&[GET_1, OK_1, OK_2, GET_2, GET_3, OK_3], &told);
    are(&[GET_1, OK_1, OK_2, OK_3, GET_2, GET_3], &told);
    // One whose request is not there at all.
    are(&[OK_1, GET_2, OK_2], &[("", 201, None), ("/2", 202, None)]);
    // A server alone has no requests to wait for.
    are(
        &[GET_1, OK_1, OK_2, OK_3],
        &[("/1", 201, None), ("", 202, None), ("", 203, None)],
    );
}

#[test]
fn after_a_lost_message_the_rest_is_not_shifted() {
    // A response.
    let told = [("/1", 0, MISSING), ("/2", 202, None), ("/3", 203, None)];
    are(
        &[GET_1, GET_2, Seen::ServerGap(38), OK_2, GET_3, OK_3],
        &told,
    );
    are(
        &[GET_1, GET_2, GET_3, Seen::ServerGap(38), OK_2, OK_3],
        &told,
    );
    are(
        &[GET_1, Seen::ServerGap(38), GET_2, OK_2, GET_3, OK_3],
        &told,
    );
    // The response before it may be lost, too.
    are(&[GET_1, Seen::ServerGap(25), OK_1], &[("/1", 201, MISSING)]);
    // A request, of which its response is known.
    let told = [("/1", 201, None), ("", 202, MISSING), ("/3", 203, None)];
    are(
        &[GET_1, OK_1, Seen::ClientGap(19), GET_3, OK_2, OK_3],
        &told,
    );
    are(
        &[GET_1, OK_1, OK_2, Seen::ClientGap(19), GET_3, OK_3],
        &told,
    );
}

#[test]
fn after_a_loss_in_a_body_the_rest_is_not_shifted() {
    let chunked = Seen::Server("HTTP/1.1 201 A\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nabc");
    let told = [("/1", 201, MISSING), ("/2", 202, None)];
    are(
        &[
            GET_1,
            chunked,
            Seen::ServerGap(100),
            Seen::Server("rest"),
            GET_2,
            OK_2,
        ],
        &told,
    );
    // The gap ends with a body of known length, or is longer.
    let begun = || Seen::Server("HTTP/1.1 201 A\r\nContent-Length: 10\r\n\r\nabc");
    let told = [("/1", 201, None), ("/2", 202, None)];
    are(&[GET_1, begun(), Seen::ServerGap(7), GET_2, OK_2], &told);
    let told = [("/1", 201, None), ("/2", 0, MISSING), ("/3", 203, None)];
    are(
        &[GET_1, begun(), GET_2, Seen::ServerGap(45), GET_3, OK_3],
        &told,
    );
    // A request's.
    let post = Seen::Client("POST /1 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nabc");
    let told = [("/1", 201, MISSING), ("/2", 202, None)];
    are(&[post, Seen::ClientGap(100), OK_1, GET_2, OK_2], &told);
}

#[test]
fn a_body_where_none_is_to_be_is_passed_over() {
    let head = || Seen::Client("HEAD /1 HTTP/1.1\r\n\r\n");
    let told = [("/1", 201, None), ("/2", 202, None)];
    for body in [
        "xxxxxxxxxxxxxxxxxxxx",
        "x\r\ny\r\n\r\nz",
        "x",
        "hello",
        "HTTP",
        "a b c",
        "<html>HTTP/1.1 is a protocol</html>",
    ] {
        let response = format!("HTTP/1.1 201 A\r\nContent-Length: {}\r\n\r\n", body.len());
        let whole = format!("{response}{body}");
        are(&[head(), Seen::Server(&whole), GET_2, OK_2], &told);
        are(
            &[
                head(),
                Seen::Server(&response),
                Seen::Server(body),
                GET_2,
                OK_2,
            ],
            &told,
        );
        // The next response is in the same segment.
        let both = format!("{whole}HTTP/1.1 202 A\r\nContent-Length: 2\r\n\r\nab");
        are(&[head(), GET_2, Seen::Server(&both)], &told);
        are(
            &[
                head(),
                GET_2,
                Seen::Server(&response),
                Seen::Server(&both[response.len()..]),
            ],
            &told,
        );
    }
    // The status says that there is none (RFC 9110, 15.3.5 and 15.4.5).
    let told = [("/1", 304, None), ("/2", 202, None), ("/3", 203, None)];
    for end in ["", "\r\n", "tail"] {
        let response = format!("HTTP/1.1 304 A\r\nContent-Length: 5\r\n\r\nhello{end}");
        are(
            &[GET_1, Seen::Server(&response), GET_2, OK_2, GET_3, OK_3],
            &told,
        );
    }
}

/// The next message after a loss is found within a segment, too.
#[test]
fn behind_a_loss_messages_are_found_within_a_segment() {
    let rest = "rest of a chunk\r\n0\r\n\r\nHTTP/1.1 202 A\r\nContent-Length: 2\r\n\r\nab";
    let begun = Seen::Server("HTTP/1.1 201 A\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhead");
    let told = [("/1", 201, MISSING), ("/2", 202, None)];
    let seen = [
        GET_1,
        GET_2,
        begun,
        Seen::ServerGap(300),
        Seen::Server(rest),
    ];
    are(&seen, &told);
    // A text that mentions a version is no message.
    let rest = "about HTTP/1.1 and HTTP/1.0 200s\r\nGET / HTTP/1.1 is one";
    let begun = Seen::Server("HTTP/1.1 201 A\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhead");
    let seen = [
        GET_1,
        begun,
        Seen::ServerGap(300),
        Seen::Server(rest),
        GET_2,
        OK_2,
    ];
    are(&seen, &told);
    let post = Seen::Client("POST /1 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nabc");
    let rest = Seen::Client("c\r\n0\r\n\r\nGET /2 HTTP/1.1\r\n\r\n");
    are(&[post, Seen::ClientGap(100), rest, OK_1, OK_2], &told);
}

/// A server that answers in something else does so with a word.
#[test]
fn an_answer_that_is_none_is_a_fault() {
    let head = Some(Fault::Head);
    for answer in [
        "HELLO there\r\n\r\n",
        "\u{1}\u{2}\u{3}",
        "<html>hello</html>",
    ] {
        are(&[GET_1, Seen::Server(answer)], &[("/1", 0, head)]);
        let seen = [GET_1, Seen::Server(answer), OK_1];
        are(&seen, &[("/1", 201, None)]);
    }
    let malformed = Some(Fault::Malformed);
    for version in [
        "HTTP/+1.1",
        " HTTP/1.1",
        "HTTP/ 1.1",
        "\tHTTP/1.1",
        "HTTP/-1.1",
        "HTTP/1.1\u{b}",
    ] {
        let answer = format!("{version} 201 A\r\nContent-Length: 2\r\n\r\nab");
        let code = if version == "HTTP/ 1.1" { 0 } else { 201 };
        let seen = [GET_1, Seen::Server(&answer), GET_2, OK_2];
        are(&seen, &[("/1", code, malformed), ("/2", 202, None)]);
        // The segments have any size; a single space is skipped.
        let least = if version.starts_with('H') { 1 } else { 2 };
        for size in least..answer.len() {
            let mut seen = vec![GET_1];
            let pieces: Vec<&str> = (0..answer.len())
                .step_by(size)
                .map(|at| &answer[at..answer.len().min(at + size)])
                .collect();
            seen.extend(pieces.into_iter().map(Seen::Server));
            are(&seen, &[("/1", code, malformed)]);
        }
    }
    // Nothing behind the first line came.
    are(
        &[GET_1, Seen::Server("HTTP/1.1 201 Created")],
        &[("/1", 201, malformed)],
    );
    are(&[GET_1, Seen::Server("HTTP/1.1 20")], &[("/1", 0, None)]);
}

#[test]
fn a_request_that_is_answered_early_keeps_its_body() {
    let mut connection = Connection::default();
    let mut found = Vec::new();
    let mut each = |it| found.push(it);
    let stamp = Stamp::default();
    let refused = b"HTTP/1.1 413 A\r\nContent-Length: 0\r\n\r\n";
    connection.take(
        0,
        b"POST /1 HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc",
        stamp,
        &mut each,
    );
    connection.take(1, refused, stamp, &mut each);
    connection.take(0, b"defghiGET /2 HTTP/1.1\r\n\r\n", stamp, &mut each);
    connection.take(1, b"HTTP/1.1 204 A\r\n\r\n", stamp, &mut each);
    let told: Vec<_> = found
        .iter()
        .map(|it| {
            (
                it.request.as_ref().unwrap().body_len,
                it.response.as_ref().unwrap().head.line.code,
            )
        })
        .collect();
    assert_eq!(told, [(9, 413), (0, 204)]);
    // RFC 9110, 10.1.1: a client that waited for 100 does not send it.
    let expecting =
        Seen::Client("POST /1 HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n");
    let refused = Seen::Server("HTTP/1.1 413 A\r\nContent-Length: 0\r\n\r\n");
    are(
        &[expecting, refused, GET_2, OK_2],
        &[("/1", 413, None), ("/2", 202, None)],
    );
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// A client that asks twice, the second time with padding, priority and a head in three frames; a server that answers in
/// the other order, and promises.
fn two() -> (Vec<u8>, Vec<u8>) {
    let settings = frame(4, 0, 0, &[0, 1, 0, 0, 0x10, 0]);
    let get = b"\x82\x86\x84\x41\x01a";
    let post = [
        b"\x03\0\0\0\0\x10\x83\x86\x04\x02/b".as_slice(),
        b"\x40\x03x-y\x01z",
        &[0; 3],
    ]
    .concat();
    let client = [
        two::PREFACE.to_vec(),
        settings.clone(),
        frame(1, 0x05, 1, get),
        frame(1, 0x28, 3, &post),
        frame(9, 0, 3, b"\xbe"),
        frame(9, 4, 3, b""),
        frame(6, 0, 0, &[7; 8]),
        frame(0, 0x09, 3, b"\x02hello\0\0"),
    ];
    let server = [
        settings,
        frame(1, 4, 3, b"\x48\x03100"),
        frame(1, 4, 3, b"\x88"),
        frame(5, 4, 3, b"\0\0\0\x02\x82\x84"),
        frame(0, 0, 3, b"thanks"),
        frame(0, 1, 3, b""),
        frame(1, 5, 1, b"\x8d"),
        frame(1, 4, 2, b"\x88"),
        frame(3, 0, 2, &[0; 4]),
    ];
    (client.concat(), server.concat())
}

#[test]
fn streams_of_http_2_find_their_responses_in_pieces_of_any_size() {
    let (client, server) = two();
    for size in 1..=client.len().max(server.len()) {
        let (found, connection) = read(&client, &server, size);
        let told: Vec<_> = found
            .iter()
            .map(|it| {
                let (request, response) =
                    (it.request.as_ref().unwrap(), it.response.as_ref().unwrap());
                (
                    it.stream.unwrap(),
                    &*request.head.line.method,
                    response.head.line.code,
                    it.fault,
                )
            })
            .collect();
        let reset = Some(Fault::Reset);
        assert_eq!(
            told,
            [
                (3, "POST", 200, None),
                (1, "GET", 404, None),
                (2, "GET", 200, reset)
            ],
            "{size}"
        );
        let post = found[0].request.as_ref().unwrap();
        assert_eq!((post.body.as_slice(), post.is_whole), (&b"hello"[..], true));
        assert_eq!(post.head.all("x-y").collect::<Vec<_>>(), ["z", "z"]);
        assert_eq!(found[0].interim.as_ref().unwrap().code, 100);
        assert_eq!(found[0].response.as_ref().unwrap().body, b"thanks");
        assert_eq!(
            found[1].request.as_ref().unwrap().head.field(":authority"),
            Some("a")
        );
        assert_eq!(connection.client_side(), Some(0));
    }
}

/// RFC 9113, 5.4.2: what the server sent before it knew that its client gave a stream up comes behind.
#[test]
fn a_stream_that_is_reset_has_one_row() {
    let ask = |stream: u32| frame(1, 5, stream, b"\x82\x84");
    let answer = |stream: u32| frame(1, 4, stream, b"\x88");
    let reset = |stream: u32| frame(3, 0, stream, &[0, 0, 0, 8]);
    let read = |pieces: &[(usize, Vec<u8>)]| {
        let mut connection = Connection::default();
        let mut found = Vec::new();
        let mut each = |it: Exchange| {
            let code = it.response.as_ref().map(|it| it.head.line.code);
            found.push((it.stream.unwrap(), code, it.fault));
        };
        let stamp = Stamp::default();
        connection.take(0, two::PREFACE, stamp, &mut each);
        for (side, bytes) in pieces {
            connection.take(*side, bytes, stamp, &mut each);
        }
        connection.finish(&mut each);
        found
    };
    let was_reset = Some(Fault::Reset);
    let of_client = [(0, ask(1)), (0, reset(1)), (1, answer(1))];
    assert_eq!(read(&of_client), [(1, Some(200), was_reset)]);
    let mut and_end = of_client.to_vec();
    and_end.push((1, frame(0, 1, 1, b"body")));
    and_end.push((1, reset(1)));
    assert_eq!(read(&and_end), [(1, Some(200), was_reset)]);
    let of_server = [(0, ask(1)), (1, reset(1)), (0, reset(1)), (1, answer(1))];
    assert_eq!(read(&of_server), [(1, None, was_reset)]);
    // The oldest of many reset streams do not wait, and begin nothing.
    let many = (0..20).map(|n| 2 * n + 1);
    let pieces = many.clone().flat_map(|n| [(0, ask(n)), (0, reset(n))]);
    let all: Vec<_> = pieces.chain(many.map(|n| (1, answer(n)))).collect();
    let found = read(&all);
    assert_eq!(found.len(), 20);
    assert_eq!(found.iter().filter(|it| it.1 == Some(200)).count(), 16);
}

#[test]
fn a_server_of_http_2_may_begin() {
    let (client, server) = two();
    let mut connection = Connection::searching();
    let mut found = Vec::new();
    for (side, bytes) in [(1, &server[..15]), (0, &client[..]), (1, &server[15..])] {
        connection.take(side, bytes, Stamp::default(), &mut |it| found.push(it));
    }
    assert_eq!(found.len(), 3);
}

#[test]
fn an_upgraded_request_has_its_response_on_the_first_stream() {
    let request = b"GET /up HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: \r\n\r\n";
    let (client, _) = two();
    let client = [request, &client[..]].concat();
    let server = [
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n".to_vec(),
        frame(4, 0, 0, b""),
        frame(1, 5, 1, b"\x88"),
    ]
    .concat();
    // The client continues when the server has permitted it.
    for size in 1..=server.len() {
        let mut connection = Connection::default();
        let mut found = Vec::new();
        connection.take(0, &client[..request.len()], Stamp::default(), &mut |it| {
            found.push(it);
        });
        for piece in server.chunks(size) {
            connection.take(1, piece, Stamp::default(), &mut |it| found.push(it));
        }
        connection.take(0, &client[request.len()..], Stamp::default(), &mut |it| {
            found.push(it);
        });
        let exchange = &found[0];
        assert_eq!(exchange.request.as_ref().unwrap().head.line.target, "/up");
        assert_eq!(exchange.response.as_ref().unwrap().head.line.code, 200);
        assert_eq!(exchange.interim.as_ref().unwrap().code, 101);
        connection.finish(&mut |it| found.push(it));
        assert_eq!(found.len(), 3);
    }
}

/// RFC 9110, 7.8: what a client sends behind a request to upgrade is of the other protocol where the response, which was
/// captured behind it, agrees, and no HTTP where it does not.
#[test]
fn what_precedes_the_response_to_an_upgrade_is_what_that_makes_it() {
    const UPGRADE: Seen<'_> =
        Seen::Client("GET /1 HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    const AGREED: Seen<'_> = Seen::Server(
        "HTTP/1.1 101 A\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x01\x02hi",
    );
    // Masked frames, one with the end of a line in it.
    let frame = || Seen::Client("\x01\u{02}abcd\t\x08");
    let other = || Seen::Client("\x02\x03\n\r\n\r\x08\x09\x0a");
    let switched = [("/1", 101, None)];
    are(&[UPGRADE, AGREED, frame()], &switched);
    are(&[UPGRADE, frame(), AGREED], &switched);
    are(&[UPGRADE, frame(), other(), AGREED, frame()], &switched);
    are(
        &[UPGRADE, other(), Seen::ClientGap(9), frame(), AGREED],
        &switched,
    );
    let many = "\x02\x03\n".repeat(HEAD_OCTETS_MAX);
    are(&[UPGRADE, Seen::Client(&many), AGREED], &switched);
    // A server that does not agree continues in HTTP, and its client should have.
    let not = [("/1", 201, Some(Fault::Head))];
    are(&[UPGRADE, frame(), OK_1], &not);
    are(&[UPGRADE, Seen::Client(&many), OK_1], &not);
    are(&[UPGRADE, OK_1, other()], &[("/1", 201, None)]);
    // A later request is one, whatever the response is, and however it is cut.
    let told = [("/1", 201, None), ("/2", 202, None)];
    are(&[UPGRADE, GET_2, OK_1, OK_2], &told);
    let pieces = || [Seen::Client("GE"), Seen::Client("T /2 HTTP/1.1\r\n\r\n")];
    let [first, second] = pieces();
    are(&[UPGRADE, first, second, OK_1, OK_2], &told);
    let [first, second] = pieces();
    are(&[UPGRADE, first, OK_1, second, OK_2], &told);
    // The protocol is unknown without a response.
    are(&[UPGRADE, frame()], &[("/1", 0, None)]);
}

#[test]
fn a_preface_may_precede_the_response_that_upgrades_to_http_2() {
    let request = b"GET /up HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: \r\n\r\n";
    let (client, _) = two();
    let server = [
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n".to_vec(),
        frame(4, 0, 0, b""),
        frame(1, 5, 1, b"\x88"),
    ]
    .concat();
    for size in [5, 17, 1_000] {
        let mut connection = Connection::default();
        let mut found = Vec::new();
        let stamp = Stamp::default();
        for piece in [&request[..]].into_iter().chain(client.chunks(size)) {
            connection.take(0, piece, stamp, &mut |it| found.push(it));
        }
        connection.take(1, &server, stamp, &mut |it| found.push(it));
        connection.finish(&mut |it| found.push(it));
        let told: Vec<_> = found
            .iter()
            .map(|it| (it.stream, it.response.as_ref().map(|it| it.head.line.code)))
            .collect();
        assert_eq!(told, [(Some(1), Some(200)), (Some(3), None)], "{size}");
    }
}

#[test]
fn every_prefix_of_http_2_is_read_as_far_as_it_goes() {
    let (client, server) = two();
    for end in 0..server.len() {
        let (found, mut connection) = read(&client, &server[..end], 7);
        let mut all = found.len();
        connection.finish(&mut |_| all += 1);
        assert!((2..=3).contains(&all), "{end}");
    }
    for end in 0..client.len() {
        let (found, _) = read(&client[..end], b"", 5);
        assert!(found.is_empty());
    }
}

#[test]
fn what_is_missing_of_data_is_counted_and_what_is_missing_of_fields_ends_the_direction() {
    let (client, server) = two();
    let data = server
        .windows(6)
        .position(|window| window == b"thanks")
        .unwrap();
    let mut connection = Connection::default();
    let mut found = Vec::new();
    connection.take(0, &client, Stamp::default(), &mut |it| found.push(it));
    connection.take(1, &server[..data + 2], Stamp::default(), &mut |it| {
        found.push(it);
    });
    connection.gap(1, 3, &mut |it| found.push(it));
    connection.take(1, &server[data + 5..], Stamp::default(), &mut |it| {
        found.push(it);
    });
    let response = found[0].response.as_ref().unwrap();
    assert_eq!(
        (response.missing, response.body_len, found.len()),
        (3, 3, 3)
    );

    let mut connection = Connection::default();
    let mut found = Vec::new();
    connection.take(0, &client, Stamp::default(), &mut |it| found.push(it));
    connection.gap(1, 3, &mut |it| found.push(it));
    connection.take(1, &server, Stamp::default(), &mut |it| found.push(it));
    assert!(found.is_empty());
    connection.finish(&mut |it| found.push(it));
    assert!(found.iter().all(|it| it.fault == Some(Fault::Missing)));
    assert_eq!(found.len(), 2);
}

#[test]
fn bombs_of_http_2_stay_within_their_limits() {
    let begin = two::PREFACE;
    let feed = |client: &[u8]| {
        let (mut found, mut connection) = read(client, b"", 10_000);
        assert!(connection.held() <= 4 << 20, "{}", connection.held());
        connection.finish(&mut |it| found.push(it));
        (found, connection.dropped())
    };
    // The head is continued without end.
    let mut flood = [begin, &frame(1, 0, 1, b"\x82")].concat();
    for _ in 0..2_000 {
        flood.extend(frame(9, 0, 1, &[0x82; 1_000]));
    }
    assert!(feed(&flood).0.is_empty());
    // The same flood without octets: nothing is kept.
    let mut flood = [begin, &frame(1, 0, 1, b"\x82")].concat();
    for _ in 0..100_000 {
        flood.extend(frame(9, 0, 1, b""));
    }
    assert!(feed(&flood).0.is_empty());
    // A long field that is named again and again by one octet each.
    let mut bomb = b"\x82\x84\x40\x01x\x7f\x81\x1c".to_vec();
    bomb.extend(vec![b'y'; 3_712]);
    bomb.extend(vec![0xbe; 60_000]);
    let flood: Vec<u8> = (0..20)
        .flat_map(|number| frame(1, 5, 2 * number + 1, &bomb))
        .collect();
    let (found, _) = feed(&[begin, &flood].concat());
    assert_eq!(found.len(), 20);
    for exchange in &found {
        assert_eq!(exchange.fault, Some(Fault::Fields));
        assert!(exchange.request.as_ref().unwrap().head.octets() <= FIELD_OCTETS_MAX + 256 * 48);
    }
    // Streams without responses.
    let flood: Vec<u8> = (0..3_000)
        .flat_map(|number| frame(1, 5, 2 * number + 1, b"\x82\x84"))
        .collect();
    let (found, dropped) = feed(&[begin, &flood].concat());
    assert_eq!((found.len(), dropped), (3_000, 3_000 - STREAMS_MAX as u64));
}
