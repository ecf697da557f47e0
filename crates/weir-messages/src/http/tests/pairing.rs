//! Which request a response answers: in any order of the capture, behind losses, and early.

use super::*;

/// RFC 9112, 9.3.2: responses come in the order of their requests, whichever was captured first.
#[test]
fn a_response_before_its_request_is_that_of_it() {
    let expected = [("/1", 201, None), ("/2", 202, None), ("/3", 203, None)];
    assert_pairs(&[GET_1, OK_1, OK_2, GET_2, GET_3, OK_3], &expected);
    assert_pairs(&[GET_1, OK_1, OK_2, OK_3, GET_2, GET_3], &expected);
    // The request of the first response was not captured.
    assert_pairs(&[OK_1, GET_2, OK_2], &[("", 201, None), ("/2", 202, None)]);
    // A server alone has no requests to wait for.
    assert_pairs(
        &[GET_1, OK_1, OK_2, OK_3],
        &[("/1", 201, None), ("", 202, None), ("", 203, None)],
    );
}

#[test]
fn after_a_lost_message_the_rest_is_not_shifted() {
    // A response.
    let expected = [("/1", 0, MISSING), ("/2", 202, None), ("/3", 203, None)];
    assert_pairs(
        &[GET_1, GET_2, Seen::ServerGap(38), OK_2, GET_3, OK_3],
        &expected,
    );
    assert_pairs(
        &[GET_1, GET_2, GET_3, Seen::ServerGap(38), OK_2, OK_3],
        &expected,
    );
    assert_pairs(
        &[GET_1, Seen::ServerGap(38), GET_2, OK_2, GET_3, OK_3],
        &expected,
    );
    // The response before it may be lost, too.
    assert_pairs(&[GET_1, Seen::ServerGap(25), OK_1], &[("/1", 201, MISSING)]);
    // A request, of which its response is known.
    let expected = [("/1", 201, None), ("", 202, MISSING), ("/3", 203, None)];
    assert_pairs(
        &[GET_1, OK_1, Seen::ClientGap(19), GET_3, OK_2, OK_3],
        &expected,
    );
    assert_pairs(
        &[GET_1, OK_1, OK_2, Seen::ClientGap(19), GET_3, OK_3],
        &expected,
    );
}

#[test]
fn after_a_loss_in_a_body_the_rest_is_not_shifted() {
    let chunked = Seen::Server("HTTP/1.1 201 A\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nabc");
    let expected = [("/1", 201, MISSING), ("/2", 202, None)];
    assert_pairs(
        &[
            GET_1,
            chunked,
            Seen::ServerGap(100),
            Seen::Server("rest"),
            GET_2,
            OK_2,
        ],
        &expected,
    );
    // The gap ends with a body of known length, or is longer.
    let begun = || Seen::Server("HTTP/1.1 201 A\r\nContent-Length: 10\r\n\r\nabc");
    let expected = [("/1", 201, None), ("/2", 202, None)];
    assert_pairs(
        &[GET_1, begun(), Seen::ServerGap(7), GET_2, OK_2],
        &expected,
    );
    let expected = [("/1", 201, None), ("/2", 0, MISSING), ("/3", 203, None)];
    assert_pairs(
        &[GET_1, begun(), GET_2, Seen::ServerGap(45), GET_3, OK_3],
        &expected,
    );
    // A request's.
    let post = Seen::Client("POST /1 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nabc");
    let expected = [("/1", 201, MISSING), ("/2", 202, None)];
    assert_pairs(&[post, Seen::ClientGap(100), OK_1, GET_2, OK_2], &expected);
}

#[test]
fn a_body_where_none_is_to_be_is_passed_over() {
    let head = || Seen::Client("HEAD /1 HTTP/1.1\r\n\r\n");
    let expected = [("/1", 201, None), ("/2", 202, None)];
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
        assert_pairs(&[head(), Seen::Server(&whole), GET_2, OK_2], &expected);
        assert_pairs(
            &[
                head(),
                Seen::Server(&response),
                Seen::Server(body),
                GET_2,
                OK_2,
            ],
            &expected,
        );
        // The next response is in the same segment.
        let both = format!("{whole}HTTP/1.1 202 A\r\nContent-Length: 2\r\n\r\nab");
        assert_pairs(&[head(), GET_2, Seen::Server(&both)], &expected);
        assert_pairs(
            &[
                head(),
                GET_2,
                Seen::Server(&response),
                Seen::Server(&both[response.len()..]),
            ],
            &expected,
        );
    }
    // The status says that there is none (RFC 9110, 15.3.5 and 15.4.5).
    let expected = [("/1", 304, None), ("/2", 202, None), ("/3", 203, None)];
    for end in ["", "\r\n", "tail"] {
        let response = format!("HTTP/1.1 304 A\r\nContent-Length: 5\r\n\r\nhello{end}");
        assert_pairs(
            &[GET_1, Seen::Server(&response), GET_2, OK_2, GET_3, OK_3],
            &expected,
        );
    }
}

/// The next message after a loss is found within a segment, too.
#[test]
fn behind_a_loss_messages_are_found_within_a_segment() {
    let rest = "rest of a chunk\r\n0\r\n\r\nHTTP/1.1 202 A\r\nContent-Length: 2\r\n\r\nab";
    let begun = Seen::Server("HTTP/1.1 201 A\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhead");
    let expected = [("/1", 201, MISSING), ("/2", 202, None)];
    let seen = [
        GET_1,
        GET_2,
        begun,
        Seen::ServerGap(300),
        Seen::Server(rest),
    ];
    assert_pairs(&seen, &expected);
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
    assert_pairs(&seen, &expected);
    let post = Seen::Client("POST /1 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nabc");
    let rest = Seen::Client("c\r\n0\r\n\r\nGET /2 HTTP/1.1\r\n\r\n");
    assert_pairs(&[post, Seen::ClientGap(100), rest, OK_1, OK_2], &expected);
    // The rest of a body has no line end.
    for rest in [
        "{\"a\": 1}GET /2 HTTP/1.1\r\n\r\n",
        "\r\n<a>b c</a>UNLOCK /2 HTTP/1.1\r\n\r\n",
        // It begins with what looks like a method.
        "wordGET /2 HTTP/1.1\r\n\r\n",
        "some wordsPOST /2 HTTP/1.1\r\n\r\n",
    ] {
        let rest = Seen::Client(rest);
        assert_pairs(&[post, Seen::ClientGap(100), rest, OK_1, OK_2], &expected);
    }
}

/// A request behind the rest of a body in one piece had no row where the capture begins within that body, and the response to the one that
/// the body belongs to was that of the request behind it.
#[test]
fn where_the_capture_begins_within_a_body_the_request_behind_it_is_found() {
    let next = "GET /2 HTTP/1.1\r\n\r\n";
    let texts = |seen: &[Seen<'_>], client: Option<usize>| {
        let rows = pairs_of(Connection::within(client), seen);
        let rows = rows.into_iter();
        rows.map(|(target, code, fault)| format!("{target} {code} {}", fault.is_some()))
            .collect::<Vec<_>>()
    };
    for rest in [
        "{\"a\": 1}",
        "a=1&b=2",
        "c\r\n0\r\n\r\n",
        "Host: h\r\n\r\n",
        "word",
        "some words",
    ] {
        let both = [rest, next].concat();
        let expected = [" 201 true", "/2 202 false"];
        let seen = [Seen::Client(&both), OK_1, OK_2];
        assert_eq!(texts(&seen, Some(0)), expected, "{rest}");
        // The side that asks is known by a response, whatever its port is.
        let seen = [OK_3, Seen::Client(&both), OK_1, OK_2];
        let expected = [" 203 false", " 201 true", "/2 202 false"];
        assert_eq!(texts(&seen, None), expected, "{rest}");
        assert_eq!(texts(&seen, Some(0)), expected, "{rest}");
    }
    // The rest is a piece of its own.
    let rest = Seen::Client("{\"a\": 1}");
    let expected = [" 201 true", "/2 202 false"];
    assert_eq!(texts(&[rest, GET_2, OK_1, OK_2], Some(0)), expected);
    let expected = [" 201 false", "/2 202 false"];
    assert_eq!(texts(&[rest, OK_1, GET_2, OK_2], Some(0)), expected);
    // Empty lines are the rest of nothing.
    let lines = Seen::Client("\r\n");
    let expected = ["/1 201 false", "/2 202 false"];
    assert_eq!(texts(&[lines, GET_1, OK_1, GET_2, OK_2], Some(0)), expected);
    // A connection that is read from its beginning may begin with something else.
    let both = Seen::Client("{\"a\": 1}GET /2 HTTP/1.1\r\n\r\n");
    assert_pairs(&[both], &[]);
    // The response behind the rest of another one is in one piece with it.
    let both = Seen::Server("</html>HTTP/1.1 202 A\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(texts(&[GET_2, both], Some(0)), ["/2 202 false"]);
}

/// A response behind the rest of another one in one piece was left out, without a word, where nothing of the client came before.
#[test]
fn where_the_capture_begins_within_a_response_the_one_behind_it_is_found() {
    let rest = "</html>";
    let both = [rest, &ok(1)].concat();
    let client = Some(0);
    let seen = [Seen::Server(&both), GET_2, OK_2];
    let found = pairs_of(Connection::within(client), &seen);
    assert_eq!(found, [row("", 201, None), row("/2", 202, None)]);
    // The client had received what is in front of it when it asked, or all of it.
    let before = rest.len() as u64;
    let found = read_of(
        client,
        &[(1, both.clone(), None), (0, get(1), Some(before))],
    );
    assert_eq!(found, [row("/1", 201, None)]);
    let asks = Some(get(2).len() as u64);
    let found = read_of(
        client,
        &[
            (1, both.clone(), None),
            (0, get(2), Some(both.len() as u64)),
            (1, ok(2), asks),
        ],
    );
    assert_eq!(found, [row("", 201, None), row("/2", 202, None)]);
}

fn get(n: u8) -> String {
    format!("GET /{n} HTTP/1.1\r\n\r\n")
}

fn ok(n: u8) -> String {
    format!("HTTP/1.1 20{n} A\r\nContent-Length: 0\r\n\r\n")
}

/// A row: the target of its request, the code of its response, and its fault.
fn row(target: &str, code: u16, fault: Option<HttpFault>) -> (String, u16, Option<HttpFault>) {
    (target.to_owned(), code, fault)
}

/// The rows of a connection that began before the capture. Each side has sent its octets in this order, and had received so many of
/// the other one.
fn read_within(sent: &[(usize, String, Option<u64>)]) -> Vec<(String, u16, Option<HttpFault>)> {
    read_of(None, sent)
}

/// The same, where a port tells the client.
fn read_of(
    client: Option<usize>,
    sent: &[(usize, String, Option<u64>)],
) -> Vec<(String, u16, Option<HttpFault>)> {
    let mut connection = Connection::within(client);
    let mut found = Vec::new();
    let mut each = |it: Exchange| {
        let target = it.request.map(|it| it.head.line.target);
        let code = it.response.map(|it| it.head.line.code);
        found.push(row(
            &target.unwrap_or_default(),
            code.unwrap_or_default(),
            it.fault,
        ));
    };
    let mut offsets = [0; 2];
    for (side, text, received) in sent {
        connection.at(*side, offsets[*side], *received);
        connection.take(*side, text.as_bytes(), Stamp::default(), &mut each);
        offsets[*side] += text.len() as u64;
    }
    connection.finish(&mut each);
    found
}

const UNCERTAIN: Option<HttpFault> = Some(HttpFault::Uncertain);

/// A capture begins within requests that were sent together: all but the first of them had the response to the one before, without a
/// fault.
#[test]
fn requests_that_may_follow_another_say_that_they_may_be_mixed_up() {
    let rest = "a=1&b=2".to_owned();
    let (asks, answers) = (get(1).len() as u64, ok(1).len() as u64);
    let all = Some(rest.len() as u64 + 2 * asks);
    let found = read_within(&[
        (0, rest.clone(), None),
        (0, get(2), None),
        (0, get(3), None),
        (1, ok(1), all),
        (1, ok(2), all),
        (1, ok(3), all),
        // A client that has all responses waits for nothing else.
        (0, get(4), Some(3 * answers)),
        (1, ok(4), all.map(|all| all + asks)),
    ]);
    let expected = [
        row("/2", 201, UNCERTAIN),
        row("/3", 202, UNCERTAIN),
        row("", 203, UNCERTAIN),
        row("/4", 204, None),
    ];
    assert_eq!(found, expected);
    // What came before may have been any number of requests.
    let both = Some(2 * asks);
    let found = read_within(&[
        (0, get(2), None),
        (0, get(3), None),
        (1, ok(2), both),
        (1, ok(3), both),
    ]);
    assert_eq!(
        found,
        [row("/2", 202, UNCERTAIN), row("/3", 203, UNCERTAIN)]
    );
    let behind = Some(rest.len() as u64 + asks);
    let found = read_within(&[(0, rest, None), (0, get(2), None), (1, ok(1), behind)]);
    assert_eq!(found, [row("/2", 201, UNCERTAIN)]);
    let found = read_within(&[(0, get(2), None), (1, ok(2), Some(asks))]);
    assert_eq!(found, [row("/2", 202, None)]);
}

/// The request of one of two responses was sent before the capture: the request that was captured had the first of them, without a fault.
#[test]
fn more_responses_than_requests_say_that_they_may_be_mixed_up() {
    let asks = get(1).len() as u64;
    let both = [ok(1), ok(2)].concat();
    let found = read_within(&[(0, get(2), None), (1, both, Some(asks))]);
    assert_eq!(found, [row("/2", 201, UNCERTAIN), row("", 202, UNCERTAIN)]);
    // The first row is handed on when its response is there.
    let found = read_within(&[
        (0, get(2), None),
        (1, ok(1), Some(asks)),
        (1, ok(2), Some(asks)),
    ]);
    assert_eq!(found, [row("/2", 201, None), row("", 202, UNCERTAIN)]);
    // A server sends this one without being asked.
    let timeout = "HTTP/1.1 408 A\r\nContent-Length: 0\r\n\r\n".to_owned();
    let found = read_within(&[
        (0, get(2), None),
        (1, ok(2), Some(asks)),
        (1, timeout, Some(asks)),
    ]);
    assert_eq!(found, [row("/2", 202, None), row("", 408, None)]);
}

/// A request was lost in front of the first one that was captured, before all of the server: the response may be that of the lost one.
#[test]
fn the_first_response_behind_a_lost_request_may_be_that_of_it() {
    let asks = get(1).len() as u64;
    let mut connection = Connection::searching();
    let mut found = Vec::new();
    let mut each = |it: Exchange| found.push((it.response.map(|it| it.head.line.code), it.fault));
    connection.at(0, 0, None);
    connection.gap(0, asks, &mut each);
    connection.at(0, asks, None);
    connection.take(0, get(2).as_bytes(), Stamp::default(), &mut each);
    connection.at(1, 0, Some(2 * asks));
    connection.take(1, ok(1).as_bytes(), Stamp::default(), &mut each);
    connection.finish(&mut each);
    assert_eq!(found, [(Some(201), UNCERTAIN)]);
}

/// What came with the response that opens a tunnel was left out, and the requests of the tunnel had the responses to later ones.
#[test]
fn what_comes_with_the_opening_of_a_tunnel_is_of_it() {
    let (Seen::Client(get), Seen::Server(ok)) = (GET_1, OK_1) else {
        panic!("a request and its response");
    };
    let asked = format!("CONNECT a:80 HTTP/1.1\r\n\r\n{get}");
    let opened = format!("HTTP/1.1 200 A\r\n\r\n{ok}");
    let expected = [("a:80", 200, None), ("/1", 201, None), ("/2", 202, None)];
    let seen = [Seen::Client(&asked), Seen::Server(&opened), GET_2, OK_2];
    assert_pairs(&seen, &expected);
    // A server that speaks first in the tunnel, in something else.
    let greeting = Seen::Server("HTTP/1.1 200 A\r\n\r\n220 mail\r\n");
    let connect = Seen::Client("CONNECT a:25 HTTP/1.1\r\n\r\n");
    assert_pairs(
        &[connect, greeting, GET_2, OK_2],
        &[("a:25", 200, None), ("/2", 202, None)],
    );
}

/// The capture begins in the last of several requests that were sent together: the response to a HEAD among them had the next one
/// for a broken chunk.
#[test]
fn a_response_in_place_of_a_chunk_is_the_next_one() {
    let mut connection = Connection::searching();
    let mut found = Vec::new();
    let mut each = |it: Exchange| {
        let code = it.response.as_ref().map(|it| it.head.line.code);
        found.push((code, it.fault));
    };
    let chunked = "HTTP/1.1 201 A\r\nTransfer-Encoding: chunked\r\n\r\n";
    let next = "HTTP/1.1 202 A\r\nContent-Length: 0\r\n\r\n";
    let body = "a=b&c=d";
    let asked = Some(body.len() as u64);
    let answered = chunked.len() as u64;
    for (side, text, offset, received) in [
        (0, body, 0, None),
        (1, chunked, 0, asked),
        (1, next, answered, asked),
    ] {
        connection.at(side, offset, received);
        connection.take(side, text.as_bytes(), Stamp::default(), &mut each);
    }
    connection.finish(&mut each);
    assert_eq!(found, [(Some(201), None), (Some(202), None)]);
}

/// A server that answers in something else does so with a word.
#[test]
fn an_answer_that_is_none_is_a_fault() {
    let head = Some(HttpFault::Head);
    for answer in [
        "HELLO there\r\n\r\n",
        "\u{1}\u{2}\u{3}",
        "<html>hello</html>",
    ] {
        assert_pairs(&[GET_1, Seen::Server(answer)], &[("/1", 0, head)]);
        let seen = [GET_1, Seen::Server(answer), OK_1];
        assert_pairs(&seen, &[("/1", 201, None)]);
    }
    let malformed = Some(HttpFault::Malformed);
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
        assert_pairs(&seen, &[("/1", code, malformed), ("/2", 202, None)]);
        // The segments have any size; a single space is skipped.
        let least = if version.starts_with('H') { 1 } else { 2 };
        for size in least..answer.len() {
            let mut seen = vec![GET_1];
            let pieces: Vec<&str> = (0..answer.len())
                .step_by(size)
                .map(|at| &answer[at..answer.len().min(at + size)])
                .collect();
            seen.extend(pieces.into_iter().map(Seen::Server));
            assert_pairs(&seen, &[("/1", code, malformed)]);
        }
    }
    // The octets behind the first line are missing.
    assert_pairs(
        &[GET_1, Seen::Server("HTTP/1.1 201 Created")],
        &[("/1", 201, Some(HttpFault::Cut))],
    );
    assert_pairs(&[GET_1, Seen::Server("HTTP/1.1 20")], &[("/1", 0, None)]);
}

/// Octets of a server that are no response, and that were captured in front of the request that they answer, were no fault of it.
#[test]
fn an_answer_that_is_none_is_a_fault_in_front_of_its_request_too() {
    let request = "GET /1 HTTP/1.1\r\n\r\n";
    let asked = request.len() as u64;
    // Each side has sent its octets, and had received so many of the other one.
    let read = |answer: &str, received: [u64; 2], response: &str| {
        let mut connection = Connection::searching();
        let mut found = Vec::new();
        let mut each =
            |it: Exchange| found.push((it.response.map(|it| it.head.line.code), it.fault));
        let end = answer.len() as u64;
        for (side, offset, text) in [(1, 0, answer), (0, 0, request), (1, end, response)] {
            if !text.is_empty() {
                connection.at(side, offset, Some(received[side]));
                connection.take(side, text.as_bytes(), Stamp::default(), &mut each);
            }
        }
        connection.finish(&mut each);
        found
    };
    for answer in ["HELLO there\r\n", "<html>hello</html>", "hello"] {
        let fault = Some(HttpFault::Head);
        assert_eq!(read(answer, [0, asked], ""), [(None, fault)], "{answer}");
        // The client had received these octets, or the server nothing of the request: they answer something else.
        let end = answer.len() as u64;
        assert_eq!(read(answer, [end, asked], ""), [(None, None)], "{answer}");
        assert_eq!(read(answer, [0, 0], ""), [(None, None)], "{answer}");
        // A response behind them is that of the request.
        let found = read(
            answer,
            [0, asked],
            "HTTP/1.1 201 A\r\nContent-Length: 0\r\n\r\n",
        );
        assert_eq!(found, [(Some(201), None)], "{answer}");
    }
}

/// A response to what is no request was one without a request, and without a word.
#[test]
fn a_response_to_octets_that_are_no_request_says_so() {
    let other = Seen::Client("G@T /2 HTTP/1.1\r\n\r\n");
    let expected = [
        ("/1", 201, None),
        ("", 202, Some(HttpFault::Head)),
        ("/3", 203, None),
    ];
    assert_pairs(&[GET_1, OK_1, other, OK_2, GET_3, OK_3], &expected);
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
    let rows: Vec<_> = found
        .iter()
        .map(|it| {
            (
                it.request.as_ref().unwrap().body_len,
                it.response.as_ref().unwrap().head.line.code,
            )
        })
        .collect();
    assert_eq!(rows, [(9, 413), (0, 204)]);
    // RFC 9110, 10.1.1: a client that waited for 100 does not send it.
    let expecting =
        Seen::Client("POST /1 HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n");
    let refused = Seen::Server("HTTP/1.1 413 A\r\nContent-Length: 0\r\n\r\n");
    assert_pairs(
        &[expecting, refused, GET_2, OK_2],
        &[("/1", 413, None), ("/2", 202, None)],
    );
}
