//! Connections from their beginning to their end, in pieces of any size.

use super::*;

/// Any number of preliminary responses precede the one that agrees (RFC 9110, 15.2, and RFC 8297).
#[test]
fn preliminary_responses_are_passed_over_in_pieces_of_any_size() {
    let request = b"GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n";
    let hints = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    let agreed = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\x81\x05Hello";
    for responses in [
        agreed.to_vec(),
        [&hints[..], agreed].concat(),
        [&hints[..], hints, b"HTTP/1.0 100 Continue\r\n\r\n", agreed].concat(),
    ] {
        for size in [1, 7, 1_000] {
            let pieces = responses.chunks(size).map(down);
            let steps: Vec<TestStep<'_>> = [up(request)].into_iter().chain(pieces).collect();
            assert_eq!(texts(&steps), [b"Hello"], "by {size}");
        }
    }
    // Without its request, too, a response decides about the bytes behind it.
    let client = b"\x81\x82\0\0\0\0hi";
    let cases: [(&[u8], &[&[u8]]); 3] = [
        (agreed, &[b"Hello", b"hi"]),
        (b"HTTP/1.1 200 OK\r\nUpgrade: websocket\r\n\r\n", &[]),
        (
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n",
            &[],
        ),
    ];
    for (response, wanted) in cases {
        assert_eq!(texts(&[down(response), up(client)]), wanted);
    }
    // Another one does not agree.
    let mut connection = Connection::new(DecoderOptions::default());
    connection.feed(Direction::ToServer, request, &mut |_| {});
    let refused = b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 403 Forbidden\r\n\r\n";
    connection.feed(Direction::ToClient, refused, &mut |_| {});
    assert!(connection.is_other());
}

/// A step of a connection: bytes of a direction, or a gap in it.
type TestStep<'s> = (Direction, Option<&'s [u8]>);

fn up(bytes: &[u8]) -> TestStep<'_> {
    (Direction::ToServer, Some(bytes))
}

fn down(bytes: &[u8]) -> TestStep<'_> {
    (Direction::ToClient, Some(bytes))
}

/// The texts that steps give.
fn texts(steps: &[TestStep<'_>]) -> Vec<Vec<u8>> {
    let mut connection = Connection::new(DecoderOptions::default());
    let mut texts = Vec::new();
    let mut each = |event: ConnectionEvent<'_>| {
        if let ConnectionEvent::Wire(_, Event::Message(message)) = event {
            texts.push(message.payload.to_vec());
        }
    };
    for (direction, bytes) in steps {
        match bytes {
            Some(bytes) => connection.feed(*direction, bytes, &mut each),
            None => connection.gap(*direction, 100, &mut each),
        }
    }
    connection.finish(&mut each);
    texts
}

/// Nothing of such a connection was read.
#[test]
fn one_head_is_enough_where_the_other_one_was_not_captured() {
    let request: &[u8] = b"GET /chat HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\n\r\n";
    let agreed: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
    let (client, server): (&[u8], &[u8]) = (b"\x81\x82\0\0\0\0hi", b"\x81\x05Hello");
    let up_gap: TestStep<'_> = (Direction::ToServer, None);
    let down_gap: TestStep<'_> = (Direction::ToClient, None);
    let (hi, hello): (&[u8], &[u8]) = (b"hi", b"Hello");
    // Only one direction was captured.
    assert_eq!(texts(&[down(agreed), down(server)]), [hello]);
    assert_eq!(texts(&[up(request), up(client)]), [hi]);
    // One packet is missing, which is known sooner or later.
    for steps in [
        [down(agreed), up_gap, up(client), down(server)],
        [down(agreed), up(client), up_gap, down(server)],
        [up(request), down_gap, up(client), down(server)],
        [up(request), up(client), down_gap, down(server)],
    ] {
        assert_eq!(texts(&steps), [hi, hello], "{steps:?}");
    }
    let steps = [up(request), down_gap, down(server), up(client)];
    assert_eq!(texts(&steps), [hello, hi]);
    // The server did not agree, or it is not known whether it did.
    for steps in [
        [up(request), down_gap, up(request)],
        [up(request), down_gap, down(b"<html>")],
        [up(request), up_gap, down_gap],
        [up(request), up(request), down_gap],
    ] {
        assert_eq!(texts(&steps), Vec::<Vec<u8>>::new(), "{steps:?}");
    }
}

/// Nothing of such a connection was read.
#[test]
fn the_rest_of_a_response_behind_a_gap_in_it_is_passed_over() {
    let request: &[u8] = b"GET /chat HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\n\r\n";
    let down_gap: TestStep<'_> = (Direction::ToClient, None);
    let rests: [&[&[u8]]; 5] = [
        &[b"ocket-Accept: x\r\n\r\n", b"\x81\x05Hello"],
        &[b"ocket-Accept: x\r\n\r\n\x81\x05Hello"],
        &[b"ocket-Accept", b": x\r\n", b"\r\n", b"\x81\x05Hello"],
        &[b"ocket-Accept: x\r", b"\n\r\n\x81\x05Hello"],
        &[b"\x81\x05Hello"],
    ];
    for rest in rests {
        for begin in [&b"HTTP/1.1 101 Switching"[..], b"HTTP", b""] {
            let mut steps = vec![up(request)];
            steps.extend((!begin.is_empty()).then(|| down(begin)));
            steps.push(down_gap);
            steps.extend(rest.iter().map(|piece| down(piece)));
            steps.push(up(b"\x81\x82\0\0\0\0hi"));
            assert_eq!(texts(&steps), [&b"Hello"[..], b"hi"], "{steps:?}");
            // A server that refuses agrees on nothing.
            let refusal = [up(request), down(b"HTTP/1.1 403 Forb"), down_gap];
            let behind = rest.iter().map(|piece| down(piece));
            let refused: Vec<TestStep<'_>> = refusal.into_iter().chain(behind).collect();
            assert_eq!(texts(&refused), Vec::<Vec<u8>>::new(), "{refused:?}");
        }
    }
}

/// The events say in which piece each message came.
#[test]
fn bytes_that_waited_for_a_missing_head_are_read_in_their_pieces() {
    let request = b"GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n\x81\x82\0\0";
    let mut connection = Connection::new(DecoderOptions::default());
    let mut pieces = Vec::new();
    let mut piece = None;
    let mut each = |event: ConnectionEvent<'_>| match event {
        ConnectionEvent::Replay { number, bytes } => piece = Some((number, bytes)),
        ConnectionEvent::Wire(_, Event::Message(message)) => {
            pieces.push((piece, message.payload.to_vec()));
        }
        _ => {}
    };
    for bytes in [
        &request[..9],
        &request[9..],
        b"\0\0a",
        b"b\x81\x81\0\0\0\0c",
    ] {
        connection.feed(Direction::ToServer, bytes, &mut each);
    }
    connection.finish(&mut each);
    assert_eq!(
        pieces,
        [
            (Some((3, 8)), b"ab".to_vec()),
            (Some((3, 8)), b"c".to_vec())
        ]
    );
}

/// Frames that were captured before the head of the other direction had the number and the time of that head.
#[test]
fn bytes_that_came_before_the_other_head_are_read_in_their_pieces() {
    let request = b"GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n";
    let agreed = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\x81\x01d";
    let client = [&request[..], b"\x81\x81\0\0\0\0a"].concat();
    let later = b"\x81\x82\0\0\0\0bc";
    // By HTTP/2, the heads are read elsewhere.
    for is_of_stream in [false, true] {
        let mut connection = match is_of_stream {
            false => Connection::new(DecoderOptions::default()),
            true => Connection::without_heads(DecoderOptions::default()),
        };
        let mut pieces = Vec::new();
        let mut piece = None;
        let mut each = |event: ConnectionEvent<'_>| match event {
            ConnectionEvent::Replay { number, bytes } => piece = Some((number, bytes)),
            ConnectionEvent::Wire(_, Event::Message(message)) => {
                pieces.push((piece, message.payload.to_vec()));
            }
            _ => {}
        };
        let start = if is_of_stream { request.len() } else { 0 };
        connection.feed(Direction::ToServer, &client[start..], &mut each);
        connection.feed(Direction::ToServer, later, &mut each);
        let start = if is_of_stream { agreed.len() - 3 } else { 0 };
        connection.feed(Direction::ToClient, &agreed[start..], &mut each);
        if is_of_stream {
            let handshake = Handshake::of_heads(("/", "h"), 200, ("", ""));
            connection.agree(&handshake, &mut each);
        }
        let expected = [
            (Some((0, 7)), b"a".to_vec()),
            (Some((1, 8)), b"bc".to_vec()),
            (Some((2, 3)), b"d".to_vec()),
        ];
        assert_eq!(pieces, expected, "{is_of_stream}");
    }
}
