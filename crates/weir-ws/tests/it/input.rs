//! Every input format gives its messages, in pieces of any size.

use weir_ws::{Direction, Format, InputErrorKind, InputOptions, InputReader, InputReport, Prefix};

use crate::common::shared;

type FoundMessage = (u64, Option<Direction>, u8, Vec<u8>);

fn read(
    format: Format,
    bytes: &[u8],
    piece: usize,
) -> (Vec<FoundMessage>, Result<InputReport, InputErrorKind>) {
    let mut options = InputOptions::default();
    options.message_bytes_max = 100;
    let mut reader = InputReader::new(format, options);
    let mut found = Vec::new();
    let mut each = |message: &weir_ws::InputMessage<'_>| {
        found.push((
            message.connection,
            message.direction,
            message.opcode.bits(),
            message.payload.to_vec(),
        ));
    };
    for piece in bytes.chunks(piece) {
        if let Err(error) = reader.feed(piece, &mut each) {
            return (found, Err(error.kind()));
        }
    }
    let report = reader.finish(&mut each).map_err(|error| error.kind());
    (found, report)
}

fn check(
    format: Format,
    bytes: &[u8],
    expected: &[(u64, Option<Direction>, u8, &[u8])],
) -> InputReport {
    let (whole, report) = read(format, bytes, bytes.len().max(1));
    let found: Vec<_> = whole
        .iter()
        .map(|f| (f.0, f.1, f.2, f.3.as_slice()))
        .collect();
    assert_eq!(found, expected);
    for piece in [1, 2, 3, 7, 64] {
        assert_eq!(
            (&whole, &report),
            (&read(format, bytes, piece).0, &report),
            "pieces of {piece}"
        );
    }
    report.unwrap()
}

#[test]
fn lines() {
    let long = vec![b'x'; 200];
    let mut text = b"one\r\n\ntwo\n".to_vec();
    text.extend(&long);
    text.extend(b"\nlast");
    let report = check(
        Format::Lines,
        &text,
        &[
            (0, None, 1, b"one"),
            (0, None, 1, b""),
            (0, None, 1, b"two"),
            (0, None, 1, b"last"),
        ],
    );
    assert_eq!(
        (report.messages, report.too_long, report.connections),
        (4, 1, 1)
    );
}

#[test]
fn records() {
    let text = br#"{"direction":"send","data":"h\u00e9\ud83d\ude00\n","connection":3}
{"base64":"AAEC","direction":"receive"}
{"no":"payload"}
{"payload":"x","opcode":2}"#;
    use Direction::{ToClient, ToServer};
    let report = check(
        Format::Records,
        text,
        &[
            (3, Some(ToServer), 1, "hé😀\n".as_bytes()),
            (0, Some(ToClient), 2, &[0, 1, 2]),
            (0, None, 2, b"x"),
        ],
    );
    assert_eq!((report.damaged, report.connections), (1, 4));
}

#[test]
fn prefixed() {
    let cases: &[(Prefix, &[u8])] = &[
        (Prefix::U16, b"\0\x02hi\0\0\0\x01!"),
        (Prefix::U32, b"\0\0\0\x02hi\0\0\0\0\0\0\0\x01!"),
        (Prefix::U32Le, b"\x02\0\0\0hi\0\0\0\0\x01\0\0\0!"),
        (Prefix::Varint, b"\x02hi\x80\0\x01!"),
    ];
    for &(prefix, bytes) in cases {
        check(
            Format::Prefixed(prefix),
            bytes,
            &[(0, None, 2, b"hi"), (0, None, 2, b""), (0, None, 2, b"!")],
        );
        let cut = read(Format::Prefixed(prefix), &bytes[..bytes.len() - 1], 4).1;
        assert_eq!(cut, Err(InputErrorKind::Cut));
    }
}

#[test]
fn mitmproxy() {
    // Made by a small writer of typed netstrings.
    let string = |text: &[u8]| [format!("{}:", text.len()).as_bytes(), text, b","].concat();
    let typed = |text: &str, kind: &str| format!("{}:{text}{kind}", text.len()).into_bytes();
    let holder = |items: &[Vec<u8>], kind: &str| {
        let inner = items.concat();
        [
            format!("{}:", inner.len()).as_bytes(),
            &inner,
            kind.as_bytes(),
        ]
        .concat()
    };
    let message = |opcode: &str, client: &str, content: &[u8]| {
        holder(
            &[
                typed(opcode, "#"),
                typed(client, "!"),
                string(content),
                typed("1.5", "^"),
            ],
            "]",
        )
    };
    let messages = holder(
        &[
            message("1", "true", b"ask"),
            message("2", "false", b"\0\xff"),
        ],
        "]",
    );
    let socket = holder(&[string(b"messages"), messages.clone()], "}");
    let new = holder(
        &[
            string(b"type"),
            string(b"http"),
            string(b"websocket"),
            socket,
        ],
        "}",
    );
    let old = holder(
        &[
            string(b"type"),
            string(b"websocket"),
            string(b"messages"),
            messages,
        ],
        "}",
    );
    let plain = holder(&[string(b"type"), string(b"http")], "}");
    let file = [new, plain, old].concat();
    assert_eq!(Format::sniff(&file), Format::Mitmproxy);
    use Direction::{ToClient, ToServer};
    check(
        Format::Mitmproxy,
        &file,
        &[
            (0, Some(ToServer), 1, b"ask"),
            (0, Some(ToClient), 2, b"\0\xff"),
            (1, Some(ToServer), 1, b"ask"),
            (1, Some(ToClient), 2, b"\0\xff"),
        ],
    );
    assert_eq!(
        read(Format::Mitmproxy, b"12x", 3).1,
        Err(InputErrorKind::Syntax)
    );
}

#[test]
fn archives() {
    let text = br#"{"log":{"entries":[
        {"response":{"headers":[{"name":"Sec-WebSocket-Extensions","value":"permessage-deflate"}]},
         "_webSocketMessages":[{"type":"send","time":1.5,"opcode":1,"data":"a\"b"},{"type":"receive","opcode":2,"data":"AAE="}]},
        {"_webSocketMessages":[{"type":"receive","opcode":2,"data":"!"},{"type":"receive","opcode":1,"data":"c"}]}]}}"#;
    assert_eq!(Format::sniff(text), Format::Har);
    use Direction::{ToClient, ToServer};
    let report = check(
        Format::Har,
        text,
        &[
            (0, Some(ToServer), 1, b"a\"b"),
            (0, Some(ToClient), 2, &[0, 1]),
            (1, Some(ToClient), 1, b"c"),
        ],
    );
    assert_eq!((report.connections, report.damaged), (2, 1));
    assert_eq!(report.extensions, ["permessage-deflate"]);
}

/// Chrome writes its errors about a connection among the messages.
#[test]
fn errors_of_a_browser_are_no_messages() {
    let text = br#"{"log":{"creator":{},"entries":[{"_webSocketMessages":[
        {"type":"send","time":1.5,"opcode":1,"data":"a"},
        {"type":"error","time":2.5,"opcode":-1,"data":"net::ERR_CONNECTION_RESET"}]}]}}"#;
    let sent = [(0, Some(Direction::ToServer), 1, &b"a"[..])];
    let report = check(Format::Har, text, &sent);
    assert_eq!((report.messages, report.damaged), (1, 0));
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_text() {
    let of = |text: &[u8]| [b"\xef\xbb\xbf", text].concat();
    let archive = of(br#"{"log":{"creator":{},"entries":[{"_webSocketMessages":[
        {"type":"send","opcode":1,"data":"a"}]}]}}"#);
    assert_eq!(Format::sniff(&archive), Format::Har);
    let sent = [(0, Some(Direction::ToServer), 1, &b"a"[..])];
    check(Format::Har, &archive, &sent);
    let records = of(b"{\"direction\":\"send\",\"data\":\"a\"}\n");
    assert_eq!(Format::sniff(&records), Format::Records);
    check(Format::Records, &records, &sent);
    check(
        Format::Lines,
        &of(b"a\nb"),
        &[(0, None, 1, b"a"), (0, None, 1, b"b")],
    );
    // A text that only starts like the mark stays text.
    check(
        Format::Lines,
        b"\xef\xbba\nb",
        &[(0, None, 1, b"\xef\xbba"), (0, None, 1, b"b")],
    );
    check(Format::Lines, b"\xef\xbb", &[(0, None, 1, b"\xef\xbb")]);
    check(Format::Lines, b"", &[]);
}

/// The reader reported what a browser had requested as agreed on, and a refused upgrade as a connection. Entries have
/// their members in any order, as Chrome's have the messages first.
#[test]
fn archives_name_the_agreed_parameters_and_the_server() {
    let headers =
        |value: &str| format!(r#"[{{"name":"Sec-WebSocket-Extensions","value":"{value}"}}]"#);
    let request = format!(r#""request":{{"headers":{}}}"#, headers("asked"));
    let response = |status: &str, value: &str| {
        format!(
            r#""response":{{"status":{status},"headers":{},"content":{{"size":0}}}}"#,
            headers(value)
        )
    };
    let messages = |all: &str| format!(r#""_webSocketMessages":[{all}]"#);
    let one = r#"{"type":"send","opcode":1,"data":"hi"}"#;
    let entries = [
        [messages(one), request.clone(), response("101", "agreed")],
        // Over HTTP/2 (RFC 8441).
        [request.clone(), response("200", "agreed too"), messages("")],
        [messages(""), request.clone(), response("403", "declined")],
        [request.clone(), response("0", "failed"), messages("")],
        [response("101", "again"), messages(one), request.clone()],
    ];
    let entries: Vec<String> = entries
        .iter()
        .map(|members| format!("{{{}}}", members.join(",")))
        .collect();
    let text = format!(r#"{{"log":{{"entries":[{}]}}}}"#, entries.join(","));
    use Direction::ToServer;
    let expected = [
        (0, Some(ToServer), 1, &b"hi"[..]),
        (2, Some(ToServer), 1, b"hi"),
    ];
    let report = check(Format::Har, text.as_bytes(), &expected);
    assert_eq!(report.extensions, ["agreed", "agreed too", "again"]);
    assert_eq!(report.connections, 3);
}

#[test]
fn the_archive_beside_the_checkout() {
    let Some(bytes) = shared("websocket.har") else {
        return;
    };
    assert_eq!(Format::sniff(&bytes), Format::Har);
    let (found, report) = read(Format::Har, &bytes, 1000);
    let report = report.unwrap();
    assert!(report.connections >= 3 && report.damaged == 0, "{report:?}");
    assert_eq!(found[0].3, br#"{"error":"Unknown api key"}"#);
    assert!(
        found
            .iter()
            .any(|f| f.1 == Some(Direction::ToServer) && f.3 == b"foo")
    );
}
