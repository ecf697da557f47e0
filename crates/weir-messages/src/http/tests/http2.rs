//! HTTP/2: streams, resets, upgrades, losses and limits.

use super::*;

/// A frame of HTTP/2.
pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// A client that asks twice, the second time with padding, priority and a head in three frames; a server that answers in
/// the other order, and promises.
pub(super) fn http2_connection() -> (Vec<u8>, Vec<u8>) {
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
    let (client, server) = http2_connection();
    for size in 1..=client.len().max(server.len()) {
        let (found, connection) = read(&client, &server, size);
        let rows: Vec<_> = found
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
        let reset = Some(HttpFault::Reset);
        assert_eq!(
            rows,
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
    let was_reset = Some(HttpFault::Reset);
    let of_client = [(0, ask(1)), (0, reset(1)), (1, answer(1))];
    assert_eq!(read(&of_client), [(1, Some(200), was_reset)]);
    let mut and_end = of_client.to_vec();
    and_end.push((1, frame(0, 1, 1, b"body")));
    and_end.push((1, reset(1)));
    assert_eq!(read(&and_end), [(1, Some(200), was_reset)]);
    let of_server = [(0, ask(1)), (1, reset(1)), (0, reset(1)), (1, answer(1))];
    assert_eq!(read(&of_server), [(1, None, was_reset)]);
    // The request is captured behind what its server sent.
    let request_last = [(1, answer(1)), (1, reset(1)), (0, ask(1))];
    assert_eq!(read(&request_last), [(1, Some(200), was_reset)]);
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
    let (client, server) = http2_connection();
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
    let (client, _) = http2_connection();
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
    assert_pairs(&[UPGRADE, AGREED, frame()], &switched);
    assert_pairs(&[UPGRADE, frame(), AGREED], &switched);
    assert_pairs(&[UPGRADE, frame(), other(), AGREED, frame()], &switched);
    assert_pairs(
        &[UPGRADE, other(), Seen::ClientGap(9), frame(), AGREED],
        &switched,
    );
    let many = "\x02\x03\n".repeat(HEAD_OCTETS_MAX);
    assert_pairs(&[UPGRADE, Seen::Client(&many), AGREED], &switched);
    // A server that does not agree continues in HTTP, and its client should have.
    let not = [("/1", 201, Some(HttpFault::Head))];
    assert_pairs(&[UPGRADE, frame(), OK_1], &not);
    assert_pairs(&[UPGRADE, Seen::Client(&many), OK_1], &not);
    assert_pairs(&[UPGRADE, OK_1, other()], &[("/1", 201, None)]);
    // A later request is one, whatever the response is, and however it is cut.
    let expected = [("/1", 201, None), ("/2", 202, None)];
    assert_pairs(&[UPGRADE, GET_2, OK_1, OK_2], &expected);
    let pieces = || [Seen::Client("GE"), Seen::Client("T /2 HTTP/1.1\r\n\r\n")];
    let [first, second] = pieces();
    assert_pairs(&[UPGRADE, first, second, OK_1, OK_2], &expected);
    let [first, second] = pieces();
    assert_pairs(&[UPGRADE, first, OK_1, second, OK_2], &expected);
    // The protocol is unknown without a response.
    assert_pairs(&[UPGRADE, frame()], &[("/1", 0, None)]);
}

#[test]
fn a_preface_may_precede_the_response_that_upgrades_to_http_2() {
    let request = b"GET /up HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: \r\n\r\n";
    let (client, _) = http2_connection();
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
        let rows: Vec<_> = found
            .iter()
            .map(|it| (it.stream, it.response.as_ref().map(|it| it.head.line.code)))
            .collect();
        assert_eq!(rows, [(Some(1), Some(200)), (Some(3), None)], "{size}");
    }
}

#[test]
fn every_prefix_of_http_2_is_read_as_far_as_it_goes() {
    let (client, server) = http2_connection();
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
fn what_is_missing_of_data_is_counted() {
    let (client, server) = http2_connection();
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
}

/// What came of a connection: octets of a side, or a gap in them.
type Came = (usize, Result<Vec<u8>, u64>);

/// The stream, the method, the code and the fault of the rows of a connection.
fn rows_of(came: &[Came]) -> Vec<(u32, String, u16, Option<HttpFault>)> {
    let mut connection = Connection::searching();
    let mut found: Vec<Exchange> = Vec::new();
    for (side, what) in came {
        let mut each = |it| found.push(it);
        match what {
            Ok(bytes) => {
                connection.take(*side, bytes, Stamp::default(), &mut each);
            }
            Err(octets) => connection.gap(*side, *octets, &mut each),
        }
    }
    connection.finish(&mut |it| found.push(it));
    let rows = found.iter().map(|it| {
        let method = it.request.as_ref().map(|it| it.head.line.method.clone());
        let code = it.response.as_ref().map_or(0, |it| it.head.line.code);
        (
            it.stream.unwrap(),
            method.unwrap_or_default(),
            code,
            it.fault,
        )
    });
    rows.collect()
}

/// All codes, or all URIs, of a direction were NULL behind its first gap, where the other direction had none.
#[test]
fn a_loss_of_one_direction_of_http_2_leaves_what_comes_behind_it() {
    let settings = || frame(4, 0, 0, b"");
    let get = |stream| -> Came { (0, Ok(frame(1, 5, stream, b"\x82\x86\x84"))) };
    let post = |stream| -> Came { (0, Ok(frame(1, 5, stream, b"\x83\x86\x84"))) };
    // The field `x: y` is put into the table, or is in it.
    let ok = |stream| -> Came { (1, Ok(frame(1, 5, stream, b"\x88\x40\x01x\x01y"))) };
    let again = |stream| -> Came { (1, Ok(frame(1, 5, stream, b"\x8d\xbe"))) };
    let begun: [Came; 2] = [
        (0, Ok([two::PREFACE, &settings()].concat())),
        (1, Ok(settings())),
    ];
    let missing = Some(HttpFault::Missing);
    let row = |stream, method: &str, code, fault| (stream, method.to_owned(), code, fault);
    let rows = |more: &[Came]| rows_of(&[&begun[..], more].concat());

    // A response is lost, whose field a later one refers to.
    let expected = [
        row(3, "POST", 404, missing),
        row(5, "GET", 200, None),
        row(7, "GET", 404, None),
        row(1, "GET", 0, missing),
    ];
    let came = [
        get(1),
        (1, Err(14)),
        post(3),
        again(3),
        get(5),
        ok(5),
        get(7),
        again(7),
    ];
    assert_eq!(rows(&came), expected);
    // A request is lost: its response has none.
    let expected = [
        row(1, "", 200, missing),
        row(3, "POST", 200, None),
        row(5, "GET", 404, None),
    ];
    let came = [(0, Err(12)), ok(1), post(3), ok(3), get(5), again(5)];
    assert_eq!(rows(&came), expected);
    // A window is lost: what waits has its response.
    let came = [get(1), (1, Err(13)), ok(1)];
    assert_eq!(rows(&came), [row(1, "GET", 200, None)]);
    // The head of a response is lost, and its last fields are not.
    let trailers = (1, Ok(frame(1, 5, 1, b"\0\x01a\x01b")));
    let came = [get(1), (1, Err(10)), trailers];
    assert_eq!(rows(&came), [row(1, "GET", 0, missing)]);
    // Nothing begins behind the loss, or what does is not read.
    let came = [get(1), (1, Err(10)), (1, Ok(b"no frames".to_vec())), get(3)];
    let expected = [row(1, "GET", 0, missing), row(3, "GET", 0, missing)];
    assert_eq!(rows(&came), expected);
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
        assert_eq!(exchange.fault, Some(HttpFault::Fields));
        assert!(exchange.request.as_ref().unwrap().head.octets() <= FIELD_OCTETS_MAX + 256 * 48);
    }
    // Streams without responses.
    let flood: Vec<u8> = (0..3_000)
        .flat_map(|number| frame(1, 5, 2 * number + 1, b"\x82\x84"))
        .collect();
    let (found, dropped) = feed(&[begin, &flood].concat());
    assert_eq!((found.len(), dropped), (3_000, 3_000 - STREAMS_MAX as u64));
}

/// A request behind a loss was not read as long as the server's frames were, and its response did not say that it lacks it.
#[test]
fn a_request_behind_a_loss_of_both_is_read_and_a_lost_one_is_missed() {
    let get = |stream| frame(1, 5, stream, b"\x82\x86\x04\x02/b");
    let ok = |stream| frame(1, 5, stream, b"\x88");
    let begun = [two::PREFACE, &frame(4, 0, 0, b"")[..], &get(1)].concat();
    let answered = [frame(4, 0, 0, b""), ok(1)].concat();
    let lost = [get(3).len(), ok(3).len()].map(|octets| octets as u64);
    let mut came = vec![
        (0, Ok(begun)),
        (1, Ok(answered)),
        (0, Err(lost[0])),
        (0, Ok(get(5))),
        (1, Err(lost[1])),
        (1, Ok(ok(5))),
    ];
    let first = (1, "GET".to_owned(), 200, None);
    let expected = [first.clone(), (5, "GET".to_owned(), 200, None)];
    assert_eq!(rows_of(&came), expected);
    drop(came.remove(3));
    let expected = [first, (5, String::new(), 200, Some(HttpFault::Missing))];
    assert_eq!(rows_of(&came), expected);
}

/// A second request of a stream has no row, and there was no word of it.
#[test]
fn a_second_request_of_a_stream_is_counted() {
    let settings = frame(4, 0, 0, b"");
    let get = frame(1, 5, 1, b"\x82\x86\x84");
    let client = [two::PREFACE, &settings[..], &get, &get].concat();
    let server = [settings, frame(1, 5, 1, b"\x88")].concat();
    let (found, connection) = read(&client, &server, 1_000);
    assert_eq!((found.len(), connection.unknown()), (1, 1));
    // The last fields behind a body are no request.
    let last = frame(1, 5, 1, b"\0\x01a\x01b");
    let get = frame(1, 4, 1, b"\x82\x86\x84");
    let client = [two::PREFACE, &server[..9], &get, &last].concat();
    let (found, connection) = read(&client, &server, 1_000);
    assert_eq!((found.len(), connection.unknown()), (1, 0));
}

/// All frames behind a damaged block of fields were left out, up to the end of their piece.
#[test]
fn frames_behind_a_damaged_block_are_read() {
    let get = |stream| frame(1, 5, stream, b"\x82\x86\x84");
    let ok = |stream| frame(1, 5, stream, b"\x88");
    let settings = frame(4, 0, 0, b"");
    let row = |stream: u32, method: &str, code: u16, fault: Option<HttpFault>| {
        (stream, method.to_owned(), code, fault)
    };
    let fields = Some(HttpFault::Fields);
    for damaged in [
        // More padding than there is, an index without an end, and a text beyond the block.
        frame(1, 13, 1, b"\xff\x88"),
        frame(1, 5, 1, b"\xff\xff\xff\xff\xff\xff\xff\xff"),
        frame(1, 5, 1, b"\x88\0\x20ab"),
    ] {
        let begun = [two::PREFACE, &settings[..], &get(1), &get(3)].concat();
        let answered = [&settings[..], &damaged, &ok(3)].concat();
        let expected = [row(3, "GET", 200, None), row(1, "GET", 0, fields)];
        assert_eq!(rows_of(&[(0, Ok(begun)), (1, Ok(answered))]), expected);
        let begun = [two::PREFACE, &settings[..], &damaged, &get(3)].concat();
        let answered = [&settings[..], &ok(1), &ok(3)].concat();
        let expected = [row(3, "GET", 200, None), row(1, "", 200, fields)];
        assert_eq!(rows_of(&[(0, Ok(begun)), (1, Ok(answered))]), expected);
    }
}

/// Settings behind a gap of the preface were those of a server, and a client whose preface was cut ended its connection.
#[test]
fn a_client_whose_preface_was_not_captured_is_the_client() {
    let settings = frame(4, 0, 0, b"");
    let get = |stream| frame(1, 5, stream, b"\x82\x86\x84");
    let ok = |stream| frame(1, 5, stream, b"\x88");
    let row = |stream: u32| -> (u32, String, u16, Option<HttpFault>) {
        (stream, "GET".to_owned(), 200, None)
    };
    let begun = [settings.clone(), get(1)].concat();
    let answered = [settings.clone(), ok(1)].concat();
    let came = [
        (0, Err(24)),
        (0, Ok(begun)),
        (1, Ok(answered.clone())),
        (0, Ok(get(3))),
        (1, Ok(ok(3))),
    ];
    assert_eq!(rows_of(&came), [row(1), row(3)]);
    let came = [
        (0, Err(24)),
        (0, Ok(settings.clone())),
        (1, Ok(settings.clone())),
        (0, Ok(get(1))),
        (1, Ok(ok(1))),
    ];
    assert_eq!(rows_of(&came), [row(1)]);
    let rest = [&two::PREFACE[10..], &settings[..], &get(1)[..]].concat();
    let came = [
        (0, Err(10)),
        (0, Ok(rest)),
        (1, Ok(answered)),
        (0, Ok(get(3))),
        (1, Ok(ok(3))),
    ];
    let first = (1, String::new(), 200, Some(HttpFault::Missing));
    assert_eq!(rows_of(&came), [first, row(3)]);
}

/// Of a head that is damaged there was no word, nor of a stream whose end does not come before that of its connection.
#[test]
fn streams_with_a_damaged_head_and_without_an_end_say_so() {
    let begun = [two::PREFACE, &frame(4, 0, 0, b"")[..]].concat();
    let mut connection = Connection::searching();
    let mut found: Vec<Exchange> = Vec::new();
    for (side, bytes) in [
        (0, begun),
        (0, frame(1, 5, 1, b"\xff\xff\xff\xff\xff")),
        (0, frame(1, 5, 3, b"\x82\x86\x84")),
        (1, frame(4, 0, 0, b"")),
        (1, frame(1, 4, 3, b"\x88")),
    ] {
        connection.take(side, &bytes, Stamp::default(), &mut |it| found.push(it));
    }
    assert_eq!(connection.unknown(), 0);
    connection.close(1, &mut |it| found.push(it));
    connection.finish(&mut |it| found.push(it));
    let faults: Vec<_> = found.iter().map(|it| (it.stream, it.fault)).collect();
    let expected = [(1, HttpFault::Fields), (3, HttpFault::Unended)];
    assert_eq!(
        faults,
        expected.map(|(stream, fault)| (Some(stream), Some(fault)))
    );
}

/// Behind a loss a head in several segments was passed over, without a word, and the line of a cut preface was a request.
#[test]
fn frames_in_several_segments_are_read_behind_a_loss() {
    let settings = frame(4, 0, 0, b"");
    let get = |stream| frame(1, 5, stream, b"\x82\x86\x04\x02/b");
    let ok = |stream| frame(1, 5, stream, b"\x88");
    let row = |stream: u32, fault| -> (u32, String, u16, Option<HttpFault>) {
        (stream, "GET".to_owned(), 200, fault)
    };
    let begun = [two::PREFACE, &settings[..], &get(1)[..]].concat();
    let answered = [settings.clone(), ok(1)].concat();
    let (head, tail) = (get(5)[..11].to_vec(), get(5)[11..].to_vec());
    let came = [
        (0, Ok(begun.clone())),
        (1, Ok(answered.clone())),
        (0, Err(15)),
        (0, Ok(head)),
        (0, Ok(tail)),
        (1, Ok(ok(5))),
    ];
    assert_eq!(rows_of(&came), [row(1, None), row(5, None)]);
    let rest = [settings.clone(), get(1)].concat();
    let came = [
        (0, Ok(two::PREFACE[..20].to_vec())),
        (0, Err(4)),
        (0, Ok(rest)),
        (1, Ok(answered)),
    ];
    assert_eq!(rows_of(&came), [row(1, None)]);

    let mut connection = Connection::searching();
    let mut found: Vec<Exchange> = Vec::new();
    let mut each = |it| found.push(it);
    let opened = [settings, frame(1, 4, 1, b"\x88")].concat();
    connection.take(0, &begun, Stamp::default(), &mut each);
    connection.take(1, &opened, Stamp::default(), &mut each);
    connection.gap(1, 100, &mut each);
    connection.take(1, b"no frame", Stamp::default(), &mut each);
    let data = frame(0, 1, 1, &[7; 20]);
    connection.take(1, &data[..15], Stamp::default(), &mut each);
    connection.take(1, &data[15..], Stamp::default(), &mut each);
    assert_eq!(connection.passed_over(), 8);
    let response = found[0].response.as_ref().unwrap();
    assert_eq!(
        (response.body_len, found[0].fault),
        (20, Some(HttpFault::Missing))
    );
}
