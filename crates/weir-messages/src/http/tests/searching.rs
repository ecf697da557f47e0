//! Tests of finding HTTP on a connection that may carry something else.

use super::*;

/// Heads of which the first line tells that they are some, or the method.
const HEADS: &[&[u8]] = &[
    b"GET / HTTP/1.1\r\n",
    b"\r\nPROPPATCH /a HTTP/1.1\r\n",
    b"VERSION-CONTROL /a b c HTTP/1.0\n",
    b"GET /simple\r\n",
    b"HTTP/1.1 200 OK\r\n",
    b"http/1.0 404\r\n",
    b"ICY 200 OK\r\n",
    b"PRI * HTTP/2.0\r\n",
];

#[test]
fn every_prefix_of_a_head_is_one_or_may_become_one() {
    for bytes in HEADS {
        assert!(head::looks_like(bytes), "{}", bytes.escape_ascii());
        // Empty lines before it are ignored.
        let first = bytes.iter().position(u8::is_ascii_graphic).unwrap() + 1;
        for length in first..bytes.len() {
            let prefix = &bytes[..length];
            let is_known = head::looks_like(prefix) || head::may_become(prefix);
            assert!(is_known, "{}", prefix.escape_ascii());
        }
    }
    let others: [&[u8]; 6] = [
        b"",
        b"\r\n",
        b"\x16\x03\x01",
        b"a word that is no head\r\n",
        b"aWordThatIsLongerThanAnyMethodMayBe",
        b"/path",
    ];
    for bytes in others {
        let is_known = head::looks_like(bytes) || head::may_become(bytes);
        assert!(!is_known, "{}", bytes.escape_ascii());
    }
}

/// Octets of another protocol precede a head, in a piece of their own.
#[test]
fn what_is_no_head_does_not_hide_the_next_one() {
    for before in [&b"\x05\x01\0"[..], b"hello world", b"UN", b"PRO", b"GET"] {
        for head in [&b"GET /a HTTP/1.1\r\n\r\n"[..], b"HTTP/1.1 200 OK\r\n\r\n"] {
            let mut connection = Connection::searching();
            let mut found = Vec::new();
            let mut each = |it| found.push(it);
            connection.take(0, before, Stamp::default(), &mut each);
            connection.take(0, head, Stamp::default(), &mut each);
            connection.finish(&mut each);
            assert_eq!(found.len(), 1, "{}", before.escape_ascii());
        }
    }
    // The rest of a word is not taken for another one.
    for (one, two, method) in [
        (&b"UN"[..], &b"LOCK /a HTTP/1.1\r\n\r\n"[..], "UNLOCK"),
        (b"PROPPATC", b"H /a HTTP/1.1\r\n\r\n", "PROPPATCH"),
        (b"SUBSCRIB", b"E /a HTTP/1.1\r\n\r\n", "SUBSCRIBE"),
    ] {
        // The first head of a side, and a later one.
        for earlier in [&b""[..], b"GET /first HTTP/1.1\r\n\r\n"] {
            let mut connection = Connection::searching();
            let mut found = Vec::new();
            let mut each = |it| found.push(it);
            connection.take(0, earlier, Stamp::default(), &mut each);
            connection.take(0, one, Stamp::default(), &mut each);
            connection.take(0, two, Stamp::default(), &mut each);
            connection.finish(&mut each);
            let request = found.last().and_then(|it| it.request.as_ref()).unwrap();
            assert_eq!(request.head.line.method, method);
        }
    }
}

/// Octets that never become a head are not kept.
#[test]
fn what_may_become_a_head_is_bounded() {
    let mut connection = Connection::searching();
    for bytes in [&b"WORD "[..], &[b'x'; 5_000], &[b'y'; 5_000], b"z", b"\xff"] {
        connection.take(0, bytes, Stamp::default(), &mut |_| {});
        assert!(connection.held() <= 1 << 14);
    }
    assert_eq!(connection.held(), 0);
}

/// AJP has the version of HTTP as a text that ends with a zero: where a segment began with it, this was a response with a fault.
#[test]
fn a_version_within_a_message_of_ajp_is_no_response() {
    let text = |bytes: &[u8]| [&[0, bytes.len() as u8][..], bytes, &[0]].concat();
    let request = [
        b"\x12\x34\0\x54\x02\x02".to_vec(),
        text(b"HTTP/1.1"),
        text(b"/pages/a"),
        text(b"192.0.2.129\x0c"),
        b"\0\xff\xff\xa0\x06".to_vec(),
        text(b"keep-alive"),
        text(b"Cache-Control"),
        text(b"max-age=0"),
    ]
    .concat();
    for size in 1..=request.len() {
        let mut connection = Connection::searching();
        let mut found = Vec::new();
        let mut each = |it: Exchange| found.push(it);
        for piece in request.chunks(size) {
            connection.take(0, piece, Stamp::default(), &mut each);
        }
        connection.finish(&mut each);
        assert!(found.is_empty(), "{size}: {found:?}");
    }
    // A zero in front of the code of a response is a fault of it.
    for line in ["HTTP/1.1\0 201 A", "HTTP/1.1\x00201 A"] {
        assert!(head::looks_like(line.as_bytes()), "{}", line.escape_debug());
    }
}

/// The octet of a keep-alive, with which a capture began, was taken for the rest of a request: each request had the response to the next.
#[test]
fn a_keep_alive_in_front_of_a_request_is_no_rest_of_another() {
    let get = |n: u8| format!("GET /{n} HTTP/1.1\r\n\r\n");
    let ok = |n: u8| format!("HTTP/1.1 20{n} A\r\nContent-Length: 0\r\n\r\n");
    let (asks, answers) = (get(1).len() as u64, ok(1).len() as u64);
    for client in [Some(0), None] {
        let mut connection = Connection::within(client);
        let mut found = Vec::new();
        let mut each = |it| found.push(it);
        for (side, text, offset, received) in [
            (0, "\0".to_owned(), 0, None),
            (0, get(1), 1, None),
            (1, ok(1), 0, Some(1 + asks)),
            (0, get(2), 1 + asks, Some(answers)),
            (1, ok(2), answers, Some(1 + 2 * asks)),
        ] {
            connection.at(side, offset, received);
            connection.take(side, text.as_bytes(), Stamp::default(), &mut each);
        }
        connection.finish(&mut each);
        let rows = found.iter().map(|it: &Exchange| {
            let target = it.request.as_ref().map(|it| it.head.line.target.as_str());
            let code = it.response.as_ref().map(|it| it.head.line.code);
            (target, code, it.fault)
        });
        let row = |target, code| (Some(target), Some(code), None::<HttpFault>);
        let expected = [row("/1", 201), row("/2", 202)];
        assert_eq!(rows.collect::<Vec<_>>(), expected, "{client:?}");
    }
}

/// The port of a request of SOCKS ends with a `P`, which is not of the method behind it, in segments of any size.
#[test]
fn a_request_behind_a_port_of_socks_has_its_own_method() {
    let socks = b"\x05\x01\0\x01\x01\x02\x03\x04\0P";
    let request = b"GET /1 HTTP/1.1\r\n\r\n";
    for size in [1, 2, 3, 5, 9] {
        let mut connection = Connection::searching();
        let mut found = Vec::new();
        let stamp = Stamp::default();
        let mut take = |side, bytes: &[u8]| {
            for piece in bytes.chunks(size) {
                connection.take(side, piece, stamp, &mut |it| found.push(it));
            }
        };
        take(0, socks);
        take(1, b"\x05\0\0\x01\0\0\0\0\0\0");
        take(0, request);
        take(1, b"HTTP/1.1 201 A\r\nContent-Length: 0\r\n\r\n");
        let asked = found[0].request.as_ref().unwrap();
        assert_eq!(asked.head.line.method, "GET", "{size}");
    }
    // A method that is not known is not taken for the end of a port.
    let mut connection = Connection::searching();
    let mut found = Vec::new();
    for piece in b"BCOPY /1 HTTP/1.1\r\n\r\n".chunks(1) {
        connection.take(0, piece, Stamp::default(), &mut |it: Exchange| {
            found.push(it);
        });
    }
    connection.finish(&mut |it| found.push(it));
    let asked = found[0].request.as_ref().unwrap();
    assert_eq!(asked.head.line.method, "BCOPY");
}

/// RFC 9110, 10.1.1: a client whose request was refused leaves out its body, however its next request is cut.
#[test]
fn a_request_behind_a_body_that_is_left_out_is_one() {
    let first = "POST /1 HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";
    let refused = "HTTP/1.1 417 A\r\nContent-Length: 0\r\n\r\n";
    let read = |behind: &str, size: usize| {
        let mut connection = Connection::default();
        let mut found = Vec::new();
        let mut each = |it: Exchange| {
            let asked = it.request.unwrap();
            found.push((asked.head.line.target, asked.body, asked.is_whole));
        };
        for (side, text) in [(0, first), (1, refused), (0, behind)] {
            for piece in text.as_bytes().chunks(size) {
                connection.take(side, piece, Stamp::default(), &mut each);
            }
        }
        connection.finish(&mut each);
        found
    };
    for size in [1, 2, 3, 7, 1_000] {
        let found = read("POST /2 HTTP/1.1\r\n\r\n", size);
        let row = |target: &str, is_whole: bool| (target.to_owned(), Vec::<u8>::new(), is_whole);
        assert_eq!(found, [row("/1", false), row("/2", true)], "{size}");
        // It may send it all the same.
        for body in ["hello", "POSTS", "GETUP"] {
            let sent = ("/1".to_owned(), body.as_bytes().to_vec(), true);
            assert_eq!(read(body, size), [sent], "{size}");
        }
    }
}

/// A request for a path that its sender's table gets, with a field of that table before it; the method, the scheme and the
/// name of the path are those of RFC 7541, Appendix A.
fn within(stream: u32, path: &[u8]) -> Vec<u8> {
    let name = [b"\x82\x86\x44", &[path.len() as u8][..], path].concat();
    frame(1, 5, stream, &[&name[..], b"\xc5"].concat())
}

/// An exchange: its parts as the test compares them, with its fault.
type ReadExchange = (u32, String, String, u16, Option<HttpFault>);

fn exchanges(pieces: &[(usize, Vec<u8>)]) -> (Vec<ReadExchange>, u64) {
    let mut connection = Connection::searching();
    let mut found = Vec::new();
    for (side, piece) in pieces {
        connection.take(*side, piece, Stamp::default(), &mut |it| found.push(it));
    }
    connection.finish(&mut |it| found.push(it));
    let exchanges = found.iter().map(|it| {
        let line = it.request.as_ref().map(|it| &it.head.line);
        let (method, target) = line.map_or_else(Default::default, |line| {
            (line.method.clone(), line.target.clone())
        });
        let code = it.response.as_ref().map_or(0, |it| it.head.line.code);
        (it.stream.unwrap(), method, target, code, it.fault)
    });
    (exchanges.collect(), connection.unknown())
}

/// There were no exchanges of a connection of HTTP/2 that began before the capture.
#[test]
fn a_connection_of_http_2_is_read_from_its_middle() {
    let client = [
        frame(0, 1, 9, b"the rest of a body"),
        within(11, b"/a"),
        frame(1, 5, 13, b"\x82\x86\xbe"),
    ]
    .concat();
    let server = [
        frame(8, 0, 9, &[0, 0, 0, 1]),
        frame(1, 4, 11, b"\x88\xc0"),
        frame(0, 1, 11, b"yes"),
        frame(1, 5, 13, b"\x8d"),
    ]
    .concat();
    let row = |stream: u32, path: &str, code: u16, fault: Option<HttpFault>| {
        (stream, "GET".to_owned(), path.to_owned(), code, fault)
    };
    let expected = vec![
        row(11, "/a", 200, Some(HttpFault::Missing)),
        row(13, "/a", 404, None),
    ];
    for order in [[0, 1], [1, 0]] {
        let pieces = order.map(|side| (side, [&client, &server][side].clone()));
        let (mut found, unknown) = exchanges(&pieces);
        found.sort_by_key(|it| it.0);
        assert_eq!((found, unknown), (expected.clone(), 0), "{order:?}");
    }
    // Later frames come in pieces of any size.
    let first = [(0, within(1, b"/1")), (1, frame(1, 5, 1, b"\x88"))];
    for size in [1, 2, 5, 100] {
        let mut pieces = first.to_vec();
        for (side, bytes) in [(0, &client), (1, &server)] {
            pieces.extend(bytes.chunks(size).map(|piece| (side, piece.to_vec())));
        }
        let (found, _) = exchanges(&pieces);
        assert_eq!(found.len(), 3, "{size}");
        assert_eq!(found[1..], expected, "{size}");
    }
    // The method is one that earlier requests have added to the table. It is not known whether the server's fields are a head.
    let put = frame(1, 5, 11, b"\xc7\x86\x04\x02/b");
    let other = frame(1, 5, 7, b"\xc0\xc1");
    let row = (
        11,
        String::new(),
        "/b".to_owned(),
        0,
        Some(HttpFault::Missing),
    );
    assert_eq!(exchanges(&[(0, put), (1, other)]), (vec![row], 1));
}

#[test]
fn other_octets_are_no_frames_of_http_2() {
    for bytes in [
        // Messages of BitTorrent and of protocols with a length in front.
        &b"\0\0\0\x05\x04\0\0\0\x07"[..],
        b"\0\0\0\x01\0\0\0\0\0",
        b"\0\0\x02\x01\x05\0\0\0\0\x82\x86",
        // A head that goes on in another frame, trailers, and damaged fields.
        b"\0\0\x02\x01\x01\0\0\0\x01\x82\x86",
        b"\0\0\x01\x01\x05\0\0\0\x01\xc0",
        b"\0\0\x02\x01\x05\0\0\0\x01\x82\x80",
        b"\0\0\x03\x01\x05\0\0\0\x01\x82\x86",
    ] {
        assert_eq!(two::is_of_client(bytes), None, "{bytes:?}");
    }
    let request = within(1, b"/");
    assert_eq!(two::is_of_client(&request), Some(true));
    let padded = frame(1, 0x2d, 1, b"\x02\0\0\0\0\x10\x88\0\0");
    assert_eq!(two::is_of_client(&padded), Some(false));
    let behind = [request, b"the rest of another piece".to_vec()].concat();
    assert_eq!(two::is_of_client(&behind), None);
}

/// Nothing more was read of a connection that had lost octets of both directions.
#[test]
fn http_2_is_read_behind_the_loss_of_both_directions() {
    let settings = frame(4, 0, 0, b"");
    let mut connection = Connection::default();
    let mut found = Vec::new();
    let stamp = Stamp::default();
    let client = [two::PREFACE, &settings].concat();
    connection.take(0, &client, stamp, &mut |it| found.push(it));
    connection.take(1, &settings, stamp, &mut |it| found.push(it));
    for side in [0, 1] {
        connection.gap(side, 50, &mut |it| found.push(it));
    }
    for stream in [5, 7] {
        connection.take(0, &within(stream, b"/a"), stamp, &mut |it| found.push(it));
        let response = frame(1, 5, stream, b"\x88");
        connection.take(1, &response, stamp, &mut |it| found.push(it));
        connection.gap(0, 50, &mut |it| found.push(it));
    }
    let streams: Vec<_> = found.iter().map(|it| (it.stream, it.fault)).collect();
    let missing = Some(HttpFault::Missing);
    assert_eq!(streams, [(Some(5), missing), (Some(7), missing)]);
}
