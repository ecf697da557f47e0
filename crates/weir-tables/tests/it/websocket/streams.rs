//! WebSocket over HTTP/2 (RFC 8441): the messages of a stream are those of a connection of its own, which are compared
//! with tshark elsewhere; tshark does not read those of streams.

use weir_testkit::http2::flag::{END_STREAM, PADDED};
use weir_testkit::http2::kind::{DATA, PING, RST_STREAM};
use weir_testkit::http2::{self, frame as frame_of_stream, headers};
use weir_ws::{DeflateOptions, Deflater};

use super::*;

const EXTENSIONS: &str = "permessage-deflate; client_no_context_takeover";

fn request(stream: u32, protocol: &str) -> Vec<u8> {
    let path = format!("/{stream}");
    let fields = [
        (":method", "CONNECT"),
        (":protocol", protocol),
        (":scheme", "https"),
        (":path", &path),
        (":authority", "h"),
        ("sec-websocket-extensions", EXTENSIONS),
    ];
    headers(stream, &fields)
}

fn response(stream: u32, status: &str) -> Vec<u8> {
    let fields = [
        (":status", status),
        ("sec-websocket-extensions", EXTENSIONS),
    ];
    headers(stream, &fields)
}

/// Both sides begin with settings.
fn begun(port: u16, random: &mut Rng) -> Conversation {
    let mut conversation = Conversation::new(port);
    let settings = http2::settings(&[(8, 1)]);
    let client = [http2::PREFACE, &http2::settings(&[])].concat();
    conversation.send(true, &client, random);
    conversation.send(false, &settings, random);
    conversation
}

/// A row as text without its position, with the stream and the client's port.
type TextRow = (Option<u64>, u16, String);

/// Returns the rows of a capture, and its notes.
fn rows_of(packets: Vec<Vec<u8>>) -> (Vec<TextRow>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("streams.pcap");
    write(packets.into_iter(), &path);
    let (batch, notes) = read_with_notes("websocket", &[&path], 100_000);
    let names = [
        "websocket.direction",
        "websocket.opcode",
        "websocket.pmc",
        "websocket.fragment.count",
        "websocket.payload_length",
        "websocket.message_length",
        "websocket.payload.text",
        "websocket.payload.close.status_code",
        "websocket.whole",
        "websocket.distance_max",
        "websocket.violations",
        "websocket.host",
        "websocket.extensions",
        "websocket.mid_stream",
    ];
    let text = |name: &str, row: usize| {
        let column = batch.column_by_name(name).unwrap();
        arrow::util::display::array_value_to_string(column, row).unwrap()
    };
    let found = (0..batch.num_rows()).map(|row| {
        let all: Vec<String> = names.iter().map(|name| text(name, row)).collect();
        let ports = [text("port.src", row), text("port.dst", row)];
        let client = match text("websocket.direction", row).as_str() {
            "to_server" => &ports[0],
            _ => &ports[1],
        };
        let stream = text("http2.streamid", row).parse().ok();
        (stream, client.parse().unwrap(), all.join("|"))
    });
    (found.collect(), notes)
}

/// The messages of a direction as frames, some compressed, in fragments, with pings between.
struct Talk {
    from_client: bool,
    deflater: Deflater,
}

impl Talk {
    fn new(from_client: bool) -> Self {
        let options = DeflateOptions {
            takeover: !from_client,
            ..DeflateOptions::default()
        };
        Self {
            from_client,
            deflater: Deflater::new(options),
        }
    }

    fn frame(&self, first: u8, payload: &[u8]) -> Vec<u8> {
        let mask = u8::from(self.from_client) << 7;
        let mut frame = vec![first];
        match payload.len() {
            len @ ..126 => frame.push(len as u8 | mask),
            len => {
                frame.push(126 | mask);
                frame.extend((len as u16).to_be_bytes());
            }
        }
        if self.from_client {
            frame.extend([0; 4]);
        }
        frame.extend(payload);
        frame
    }

    fn message(&mut self, random: &mut Rng) -> Vec<u8> {
        let text: String = (0..random.below(60))
            .map(|_| format!("word{} ", random.below(9)))
            .collect();
        match random.below(4) {
            0 => self.frame(0x89, b"ping"),
            1 => self.frame(0x81, text.as_bytes()),
            _ => {
                let mut deflated = Vec::new();
                self.deflater.message(text.as_bytes(), &mut deflated);
                let (first, rest) = deflated.split_at(deflated.len() / 2);
                match random.below(2) {
                    0 => self.frame(0xc1, &deflated),
                    _ => [
                        self.frame(0x41, first),
                        self.frame(0x89, b"between"),
                        self.frame(0x80, rest),
                    ]
                    .concat(),
                }
            }
        }
    }
}

/// Returns octets as frames of data, of any length, some of which are empty or padded.
fn data(stream: u32, bytes: &[u8], random: &mut Rng) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.len().min(random.below(300) as usize));
        rest = after;
        frames.push(match random.below(3) {
            0 => {
                let padding = random.below(20) as u8;
                let padded = [&[padding], piece, &vec![0xff; padding.into()]].concat();
                frame_of_stream(DATA, PADDED, stream, &padded)
            }
            _ => frame_of_stream(DATA, 0, stream, piece),
        });
    }
    frames
}

#[test]
fn messages_of_streams_are_those_of_connections_of_their_own() {
    let mut random = Rng::new(8_441);
    let streams = [1_u32, 3, 5, 9];
    let mut all = begun(30_000, &mut random);
    let mut alone: Vec<Conversation> = Vec::new();
    for stream in streams {
        all.send(true, &request(stream, "websocket"), &mut random);
        all.send(false, &response(stream, "200"), &mut random);
        let mut conversation = Conversation::new(30_000 + stream as u16);
        let request = format!(
            "GET /{stream} HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nSec-WebSocket-Extensions: {EXTENSIONS}\r\n\r\n"
        );
        let response = format!(
            "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nSec-WebSocket-Extensions: {EXTENSIONS}\r\n\r\n"
        );
        conversation.send(true, request.as_bytes(), &mut random);
        conversation.send(false, response.as_bytes(), &mut random);
        alone.push(conversation);
    }
    let mut talks = streams.map(|_| [Talk::new(true), Talk::new(false)]);
    for _ in 0..40 {
        for from_client in [true, false] {
            // The frames of all streams are interleaved.
            let mut queues: Vec<VecDeque<Vec<u8>>> = Vec::new();
            for (at, stream) in streams.into_iter().enumerate() {
                let message = talks[at][usize::from(!from_client)].message(&mut random);
                alone[at].send(from_client, &message, &mut random);
                queues.push(data(stream, &message, &mut random).into());
            }
            let mut frames = Vec::new();
            while queues.iter().any(|queue| !queue.is_empty()) {
                let at = random.below(queues.len() as u64) as usize;
                frames.extend(queues[at].pop_front().into_iter().flatten());
            }
            all.send(from_client, &frames, &mut random);
        }
    }
    let (found, notes) = rows_of(all.packets);
    assert_eq!(notes, Vec::<String>::new());
    let packets = alone.into_iter().flat_map(|it| it.packets).collect();
    let (expected, _) = rows_of(packets);
    assert!(expected.len() > 320, "{}", expected.len());
    assert_eq!(found.len(), expected.len());
    for stream in streams {
        let of = |rows: &[(Option<u64>, u16, String)], key: (Option<u64>, u16)| {
            let rows = rows.iter().filter(|it| (it.0, it.1) == key);
            rows.map(|it| it.2.clone()).collect::<Vec<_>>()
        };
        let on_stream = of(&found, (Some(stream.into()), 30_000));
        assert_eq!(on_stream, of(&expected, (None, 30_000 + stream as u16)));
    }
}

/// A kind of end or of refusal: the sent frames, and their rows and notes.
struct Case {
    name: &'static str,
    sent: Vec<(bool, Vec<u8>)>,
    rows: &'static [&'static str],
    notes: &'static [&'static str],
}

fn cases() -> Vec<Case> {
    let text = |from_client, text: &str| frame(from_client, 0x81, text.as_bytes());
    let opened = || vec![(true, request(1, "websocket")), (false, response(1, "200"))];
    let client = |flags, bytes: &[u8]| (true, frame_of_stream(DATA, flags, 1, bytes));
    let server = |flags, bytes: &[u8]| (false, frame_of_stream(DATA, flags, 1, bytes));
    let with = |more: Vec<(bool, Vec<u8>)>| [opened(), more].concat();
    vec![
        Case {
            name: "ended by both",
            sent: with(vec![
                client(END_STREAM, &text(true, "hi")),
                server(END_STREAM, &text(false, "ho")),
                // Nothing follows on this stream.
                client(0, &text(true, "no")),
            ]),
            rows: &["to_server hi", "to_client ho"],
            notes: &[],
        },
        Case {
            name: "the server ends, and the client goes on",
            sent: with(vec![
                server(END_STREAM, &text(false, "ho")),
                client(0, &text(true, "hi")),
            ]),
            rows: &["to_client ho", "to_server hi"],
            notes: &[],
        },
        Case {
            name: "reset within a message",
            sent: with(vec![
                server(0, &text(false, "whole")),
                server(0, &text(false, "cut")[..3]),
                (false, frame_of_stream(RST_STREAM, 0, 1, &[0, 0, 0, 8])),
                client(0, &text(true, "on its way")),
            ]),
            rows: &[
                "to_client whole",
                "to_client  not read to its end",
                "to_server on its way",
            ],
            notes: &[],
        },
        Case {
            name: "refused",
            sent: vec![
                (true, request(1, "websocket")),
                (false, response(1, "403")),
                server(0, &text(false, "no")),
                client(0, &text(true, "no")),
            ],
            rows: &[],
            notes: &[],
        },
        Case {
            name: "another protocol",
            sent: vec![
                (true, request(1, "connect-udp")),
                (false, response(1, "200")),
                server(0, &text(false, "no")),
                client(0, &text(true, "no")),
            ],
            rows: &[],
            notes: &[],
        },
        Case {
            name: "bodies that look like frames",
            sent: vec![
                (true, headers(1, &[(":method", "POST"), (":path", "/")])),
                client(END_STREAM, &text(true, "no")),
                (false, headers(1, &[(":status", "200")])),
                server(END_STREAM, &text(false, "no")),
            ],
            rows: &[],
            notes: &[],
        },
        Case {
            name: "captured before the response",
            sent: vec![
                (true, request(1, "websocket")),
                client(0, &text(true, "early")),
                (false, response(1, "200")),
                client(0, &text(true, "late")),
            ],
            rows: &["to_server early", "to_server late"],
            notes: &[],
        },
        Case {
            name: "captured before the request",
            sent: vec![
                (false, response(1, "200")),
                server(0, &text(false, "ho")),
                (true, request(1, "websocket")),
                client(0, &text(true, "hi")),
            ],
            rows: &["to_client ho", "to_server hi"],
            notes: &[],
        },
        Case {
            name: "without a response",
            sent: vec![
                (true, request(1, "websocket")),
                client(0, &text(true, "hi")),
            ],
            rows: &[],
            notes: &[
                "1 HTTP/2 streams that may be WebSocket connections were not read because their request or response was not captured",
            ],
        },
    ]
}

#[test]
fn streams_of_every_kind_have_the_rows_that_they_carry() {
    for case in cases() {
        let mut random = Rng::new(5);
        let mut conversation = begun(31_000, &mut random);
        for (from_client, bytes) in &case.sent {
            conversation.send(*from_client, bytes, &mut random);
        }
        let (found, notes) = rows_of(conversation.packets);
        let found: Vec<String> = found.iter().map(|(_, _, row)| brief(row)).collect();
        assert_eq!(found, case.rows, "{}", case.name);
        assert_eq!(notes, case.notes, "{}", case.name);
    }
}

/// Returns direction, text and violations of a row.
fn brief(row: &str) -> String {
    let cells: Vec<&str> = row.split('|').collect();
    let text = [cells[0], cells[6], cells[10]].join(" ");
    text.trim_end().to_owned()
}

/// A gap within a frame of data is counted in its stream; otherwise nothing more of that direction is read, and all its
/// streams have a fault.
#[test]
fn streams_report_a_missing_segment() {
    let long = "x".repeat(60);
    for (within, expected) in [
        (
            true,
            [
                "1 to_client xxxx bytes were not captured",
                "3 to_client ho",
                "1 to_server hi",
            ],
        ),
        (
            false,
            [
                "1 to_server hi",
                "1 to_client  bytes were not captured; not read to its end",
                "3 to_client  bytes were not captured; not read to its end",
            ],
        ),
    ] {
        let mut random = Rng::new(6);
        let mut conversation = begun(32_000, &mut random);
        for stream in [1, 3] {
            conversation.send(true, &request(stream, "websocket"), &mut random);
            conversation.send(false, &response(stream, "200"), &mut random);
        }
        let first = frame_of_stream(DATA, 0, 1, &frame(false, 0x81, long.as_bytes()));
        let second = frame_of_stream(DATA, 0, 3, &frame(false, 0x81, b"ho"));
        let all = [&first[..], &second].concat();
        // The header of the frame, that of the message, and four octets of it are there.
        let missing = match within {
            true => 15..40,
            false => 15..first.len() + 3,
        };
        let seq = conversation.sent[1];
        for (offset, bytes) in [
            (0, &all[..missing.start]),
            (missing.end, &all[missing.end..]),
        ] {
            let packet = conversation.segment(false, seq + offset as u32, 1, tcp_flags::ACK, bytes);
            conversation.packets.push(packet);
        }
        conversation.sent[1] += all.len() as u32;
        conversation.send(
            true,
            &frame_of_stream(DATA, 0, 1, &frame(true, 0x81, b"hi")),
            &mut random,
        );
        let (found, notes) = rows_of(conversation.packets);
        let mut found: Vec<String> = found
            .iter()
            .map(|(stream, _, row)| format!("{} {}", stream.unwrap(), brief(row)))
            .collect();
        found.sort();
        let mut expected = expected.map(str::to_owned).to_vec();
        expected.sort();
        assert_eq!(found, expected, "within a frame: {within}");
        let octets = missing.len();
        assert_eq!(
            notes,
            [format!(
                "{octets} bytes of WebSocket connections were not captured"
            )]
        );
    }
}

/// The capture began later than the connection: neither the request nor the tables of its fields are known.
#[test]
fn streams_from_before_the_capture_are_read_by_their_frames() {
    let mut random = Rng::new(7);
    let mut conversation = Conversation::new(33_000);
    conversation.packets.clear();
    let mut expected = Vec::new();
    for number in 0..5 {
        for stream in [7, 9] {
            for from_client in [true, false] {
                let text = format!("message {number}");
                let bytes =
                    frame_of_stream(DATA, 0, stream, &frame(from_client, 0x81, text.as_bytes()));
                conversation.send(from_client, &bytes, &mut random);
                expected.push(text);
            }
            // Fields that cannot be read are skipped.
            let ping = frame_of_stream(PING, 0, 0, &[0; 8]);
            conversation.send(
                true,
                &[headers(11, &[(":method", "GET")]), ping].concat(),
                &mut random,
            );
        }
    }
    let (found, notes) = rows_of(conversation.packets);
    assert_eq!(notes, Vec::<String>::new());
    for stream in [7, 9] {
        let rows: Vec<&str> = found
            .iter()
            .filter(|it| it.0 == Some(stream))
            .map(|it| it.2.as_str())
            .collect();
        assert_eq!(rows.len(), 10, "stream {stream}: {found:?}");
        assert!(
            rows.iter()
                .all(|row| row.ends_with("|true") && row.contains("message "))
        );
    }
    assert_eq!(found.len(), expected.len());
}

/// A stream whose request was not seen is recognised by four whole messages; a gap before the fourth begins the search
/// anew.
#[test]
fn streams_from_before_the_capture_begin_anew_behind_a_gap() {
    let mut random = Rng::new(9);
    let mut conversation = Conversation::new(34_000);
    conversation.packets.clear();
    for number in 0..6 {
        for from_client in [true, false] {
            let text = format!("message {number}");
            let bytes = frame_of_stream(DATA, 0, 7, &frame(from_client, 0x81, text.as_bytes()));
            conversation.send(from_client, &bytes, &mut random);
            if number == 1 && !from_client {
                let seq = conversation.sent[1] - bytes.len() as u32;
                let is_there = |packet: &Vec<u8>| {
                    let [a, b, c, d] = packet[24..28].try_into().unwrap();
                    u32::from_be_bytes([a, b, c, d]) < seq
                        || packet[20..22] != 8_765_u16.to_be_bytes()
                };
                conversation.packets.retain(is_there);
            }
        }
    }
    let (found, _) = rows_of(conversation.packets);
    let rows: Vec<String> = found.iter().map(|(.., row)| brief(row)).collect();
    for number in 3..6 {
        for direction in ["to_server", "to_client"] {
            let row = format!("{direction} message {number}");
            assert!(rows.contains(&row), "{row}: {rows:?}");
        }
    }
    assert!(!rows.iter().any(|row| row.ends_with("message 1")));
}

/// A message of SIP over WebSocket (RFC 7118).
fn sip(start: &str, call: &str, method: &str, number: u32, body: &str) -> String {
    let to = match start.starts_with("INVITE") {
        true => "",
        false => ";tag=b",
    };
    format!(
        "{start}\r\nVia: SIP/2.0/WSS a.invalid;branch=z9hG4bK{call}{method}{number}\r\nFrom: <sip:a@x>;tag=a\r\n\
         To: <sip:b@x>{to}\r\nCall-ID: {call}\r\nCSeq: {number} {method}\r\nMax-Forwards: 70\r\n\
         Contact: <sip:a@a.invalid;transport=ws>\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Calls on streams of one connection, whose pieces are interleaved, are in `sip` and `calls`.
#[test]
fn calls_on_streams_are_calls() {
    let mut random = Rng::new(7_118);
    let mut conversation = begun(35_000, &mut random);
    let calls = [(1_u32, "one"), (3, "two"), (7, "three")];
    let mut talks = calls.map(|_| [Talk::new(true), Talk::new(false)]);
    for (stream, _) in calls {
        conversation.send(true, &request(stream, "websocket"), &mut random);
        conversation.send(false, &response(stream, "200"), &mut random);
    }
    let sdp = "v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n";
    let steps: [(bool, &str, &str, u32, &str); 6] = [
        (true, "INVITE sip:b@x SIP/2.0", "INVITE", 1, sdp),
        (false, "SIP/2.0 180 Ringing", "INVITE", 1, ""),
        (false, "SIP/2.0 200 OK", "INVITE", 1, sdp),
        (true, "ACK sip:b@x SIP/2.0", "ACK", 1, ""),
        (true, "BYE sip:b@x SIP/2.0", "BYE", 2, ""),
        (false, "SIP/2.0 200 OK", "BYE", 2, ""),
    ];
    for (from_client, start, method, number, body) in steps {
        let mut queues: Vec<VecDeque<Vec<u8>>> = Vec::new();
        for (at, (stream, call)) in calls.into_iter().enumerate() {
            let text = sip(start, call, method, number, body);
            let talk = &mut talks[at][usize::from(!from_client)];
            let frame = match stream {
                // The message is compressed, as the fields of both sides agree.
                3 => {
                    let mut deflated = Vec::new();
                    talk.deflater.message(text.as_bytes(), &mut deflated);
                    talk.frame(0xc1, &deflated)
                }
                _ => talk.frame(0x81, text.as_bytes()),
            };
            queues.push(data(stream, &frame, &mut random).into());
        }
        let mut frames = Vec::new();
        while queues.iter().any(|queue| !queue.is_empty()) {
            let at = random.below(queues.len() as u64) as usize;
            frames.extend(queues[at].pop_front().into_iter().flatten());
        }
        conversation.send(from_client, &frames, &mut random);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.pcap");
    write(conversation.packets.into_iter(), &path);
    let (batch, notes) = read_with_notes("sip", &[&path], 100);
    assert_eq!((batch.num_rows(), notes), (18, Vec::new()));
    let ids = crate::sip::column(&batch, "sip.call_id");
    for (_, call) in calls {
        assert_eq!(ids.iter().filter(|id| *id == call).count(), 6, "{ids:?}");
    }
    let (batch, notes) = read_with_notes("calls", &[&path], 100);
    assert_eq!(notes, Vec::<String>::new());
    let mut ids = crate::sip::column(&batch, "sip.call_id");
    ids.sort();
    assert_eq!(ids, ["one", "three", "two"]);
    assert_eq!(crate::sip::column(&batch, "call.state"), ["completed"; 3]);
}
