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
