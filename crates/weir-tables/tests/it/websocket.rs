//! The table `websocket` has the messages that real libraries sent, and tshark sees the same.

use std::collections::{HashMap, VecDeque};
use std::io::Write;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{UInt8Type, UInt16Type, UInt64Type};
use weir_tables::{Extraction, Scan, ScanOptions, Source, Table};
use weir_testkit::Limited as _;
use weir_testkit::Rng;
use weir_testkit::capture::{Endian, PcapVariant, PcapWriter};
use weir_testkit::packet::{Ipv4, Tcp, protocol, tcp_flags};
use weir_testkit::peer::Question;

use crate::captures::{self, Capture};
use crate::sip::read_with_notes;
use crate::tshark;

mod streams;

const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// Both directions of a TCP connection, cut into segments of any size, some of them twice and some in
/// another order.
struct Conversation {
    port: u16,
    sent: [u32; 2],
    packets: Vec<Vec<u8>>,
}

impl Conversation {
    fn new(port: u16) -> Self {
        let mut conversation = Self {
            port,
            sent: [1, 1],
            packets: Vec::new(),
        };
        let (syn, ack) = (tcp_flags::SYN, tcp_flags::ACK);
        let segment = conversation.segment(true, 0, 0, syn, b"");
        conversation.packets.push(segment);
        let segment = conversation.segment(false, 0, 1, syn | ack, b"");
        conversation.packets.push(segment);
        conversation
    }

    fn segment(&self, client: bool, seq: u32, ack: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
        let (from, to) = match client {
            true => ((CLIENT, self.port), (SERVER, 8765)),
            false => ((SERVER, 8765), (CLIENT, self.port)),
        };
        let tcp = Tcp::new(from.1, to.1).numbers(seq, ack).flags(flags);
        let segment = tcp.segment(from.0.into(), to.0.into(), payload);
        Ipv4::new(from.0, to.0, protocol::TCP).packet(&segment)
    }

    fn send(&mut self, client: bool, bytes: &[u8], random: &mut Rng) {
        let mut segments = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.len().min(1 + random.below(1400) as usize));
            rest = after;
            let slot = usize::from(!client);
            let (seq, ack) = (self.sent[slot], self.sent[1 - slot]);
            segments.push(self.segment(client, seq, ack, tcp_flags::ACK, piece));
            self.sent[slot] += piece.len() as u32;
            if random.below(10) == 0 {
                segments.push(segments.last().unwrap().clone());
            }
        }
        if segments.len() > 2 && random.below(3) == 0 {
            let last = segments.len() - 1;
            segments.swap(last - 1, last);
        }
        self.packets.append(&mut segments);
    }
}

fn write(packets: impl Iterator<Item = Vec<u8>>, path: &Path) {
    let file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    // The link type is raw IP.
    let mut writer = PcapWriter::new(file, 101, 65_535, PcapVariant::Nano, Endian::Little).unwrap();
    for (n, packet) in (0u64..).zip(packets) {
        let time = 1_700_000_000_000_000_000 + n * 1_000_000;
        writer.packet(time, packet.len() as u32, &packet).unwrap();
    }
    writer.into_inner().flush().unwrap();
}

fn rows(path: &Path) -> Vec<RecordBatch> {
    let table = Table::extracted(Extraction::named("websocket").unwrap());
    let positions: Vec<usize> = (0..table.columns().len()).collect();
    let sources = vec![Source::capture(path)];
    let mut scan = Scan::new(&table, &positions, None, sources, ScanOptions::default());
    let mut batches = Vec::new();
    while let Some(batch) = scan.next_batch().unwrap() {
        batches.push(batch);
    }
    assert!(scan.take_errors().is_empty());
    assert_eq!(scan.notes(), Vec::<String>::new());
    batches
}

fn hex(text: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digit).collect()
}

/// The messages that the script prints, by the port of their connection and their direction.
type PrintedMessages = HashMap<(u16, bool), Vec<Vec<u8>>>;

fn interop(random: &mut Rng) -> Option<(Vec<Conversation>, PrintedMessages)> {
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../weir-ws/tests/it/interop.py"
    );
    let output = Command::new("python3").arg(script).output_limited().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    if !output.status.success() {
        return None;
    }
    let mut conversations: Vec<Conversation> = Vec::new();
    let mut sent = PrintedMessages::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let client = words.get(1) == Some(&"C");
        let bytes = || {
            hex(words
                .last()
                .filter(|_| words.len() > 2 + usize::from(words[0] == "sent"))
                .map_or("", |word| word))
        };
        match words[0] {
            "case" => conversations.push(Conversation::new(10_000 + conversations.len() as u16)),
            "bytes" => conversations.last_mut()?.send(client, &bytes(), random),
            _ => {
                let port = conversations.last()?.port;
                sent.entry((port, client)).or_default().push(bytes());
            }
        }
    }
    Some((conversations, sent))
}

#[test]
fn messages_of_real_libraries_come_out_of_a_capture_as_they_were_sent() {
    let mut random = Rng::new(11);
    let Some((conversations, sent)) = interop(&mut random) else {
        weir_testkit::missing("python-websockets", "messages that real libraries send");
        return;
    };
    assert!(conversations.len() >= 36);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("interop.pcap");
    // The packets of all connections are interleaved.
    let most = conversations
        .iter()
        .map(|it| it.packets.len())
        .max()
        .unwrap();
    let mut conversations = conversations;
    let packets = (0..most).flat_map(|n| {
        let packets: Vec<Vec<u8>> = conversations
            .iter_mut()
            .filter_map(|it| it.packets.get_mut(n).map(std::mem::take))
            .collect();
        packets
    });
    write(packets, &path);
    let mut found = PrintedMessages::new();
    let mut compressed = 0;
    for batch in rows(&path) {
        let column = |name: &str| batch.column_by_name(name).unwrap();
        let opcodes = column("websocket.opcode").as_primitive::<UInt8Type>();
        let texts = column("websocket.payload.text").as_string_view();
        let binaries = column("websocket.payload.binary").as_binary_view();
        let directions = column("websocket.direction").as_string_view();
        let sources = column("port.src").as_primitive::<UInt16Type>();
        let destinations = column("port.dst").as_primitive::<UInt16Type>();
        for row in 0..batch.num_rows() {
            assert!(column("websocket.violations").is_null(row));
            assert!(column("websocket.whole").as_boolean().value(row));
            compressed += u64::from(column("websocket.pmc").as_boolean().value(row));
            let client = directions.value(row) == "to_server";
            let port = match client {
                true => sources.value(row),
                false => destinations.value(row),
            };
            let messages = found.entry((port, client)).or_default();
            match opcodes.value(row) {
                1 => messages.push(texts.value(row).as_bytes().to_vec()),
                2 => messages.push(binaries.value(row).to_vec()),
                _ => {}
            }
        }
    }
    assert!(compressed > 1000, "{compressed}");
    assert_eq!(found.len(), sent.len());
    for (key, sent) in &sent {
        assert!(
            &found[key] == sent,
            "connection of port {}, from the client: {}",
            key.0,
            key.1
        );
    }
}

#[test]
fn a_missing_segment_costs_what_it_held_and_is_noted() {
    let mut conversation = upgraded(20_000, &mut Rng::new(3));
    let frame = |text: &str| [&[0x81, text.len() as u8][..], text.as_bytes()].concat();
    let long = "x".repeat(100);
    let seq = conversation.sent[1];
    let begin = [&[0x81, 100][..], &long.as_bytes()[..20]].concat();
    let after = [&long.as_bytes()[60..], &frame("and on")].concat();
    for (offset, bytes) in [(0, &begin), (62, &after)] {
        let segment = conversation.segment(false, seq + offset, 1, tcp_flags::ACK, bytes);
        conversation.packets.push(segment);
    }
    let (found, lengths, notes) = frame_rows_of(conversation);
    assert_eq!(
        found,
        [
            (long[..20].to_owned(), false, Some(GAP.to_owned())),
            ("and on".to_owned(), true, None)
        ]
    );
    assert_eq!(lengths, [20, 6]);
    assert_eq!(
        notes,
        ["40 bytes of WebSocket connections were not captured"]
    );
}

/// Until 2026-11 the rows reported missing bytes, but not that the buffer for later segments had overflowed.
#[test]
fn more_than_waits_for_a_missing_segment_is_noted() {
    let mut conversation = upgraded(20_001, &mut Rng::new(4));
    let frame = |payload: &[u8]| {
        let len = (payload.len() as u16).to_be_bytes();
        [&[0x81, 126, len[0], len[1]], payload].concat()
    };
    let seq = conversation.sent[1];
    let first = frame(&[b'a'; 1_000]);
    // The second message is missing; what follows is more than the mebibyte that waits for it.
    let missing = frame(&[b'b'; 1_000]).len() as u32;
    let later = frame(&[b'c'; 1_000]);
    let messages = (1 << 20) / later.len() as u32 + 2;
    let mut offset = 0;
    for number in 0..=messages {
        let bytes = if number == 0 { &first } else { &later };
        let segment = conversation.segment(false, seq + offset, 1, tcp_flags::ACK, bytes);
        conversation.packets.push(segment);
        offset += bytes.len() as u32 + if number == 0 { missing } else { 0 };
    }
    let (found, lengths, notes) = frame_rows_of(conversation);
    // Each segment after the missing one is a frame.
    let first = ("a".repeat(1_000), true, None);
    let later = |violation: Option<&str>| ("c".repeat(1_000), true, violation.map(str::to_owned));
    let mut expected = vec![first, later(Some(GAP))];
    expected.resize(messages as usize + 1, later(None));
    assert!(found == expected, "{} rows", found.len());
    assert_eq!(lengths, vec![1_000; expected.len()]);
    assert_eq!(
        notes,
        [
            "1004 bytes of WebSocket connections were not captured",
            "1 times a gap in a TCP stream was skipped, because more than 1 MiB of the stream, or 256 MiB in all, waited behind it"
        ]
    );
}

const GAP: &str = "bytes were not captured";

/// Returns a connection on which messages follow.
fn upgraded(port: u16, random: &mut Rng) -> Conversation {
    let mut conversation = Conversation::new(port);
    let request = b"GET /x HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\n\r\n";
    let response = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
    conversation.send(true, request, random);
    conversation.send(false, response, random);
    conversation
}

/// The text of a row, whether it is whole, and its fault.
type FrameRow = (String, bool, Option<String>);

/// Returns the rows, the lengths of their messages, and the notes at the end.
fn frame_rows_of(conversation: Conversation) -> (Vec<FrameRow>, Vec<u64>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gap.pcap");
    write(conversation.packets.into_iter(), &path);
    let (batch, notes) = read_with_notes("websocket", &[&path], 100_000);
    let text = |name: &str, row: usize| {
        let column = batch.column_by_name(name).unwrap().as_string_view();
        (!column.is_null(row)).then(|| column.value(row).to_owned())
    };
    let whole = batch
        .column_by_name("websocket.whole")
        .unwrap()
        .as_boolean();
    let found = (0..batch.num_rows())
        .map(|row| {
            let violations = text("websocket.violations", row);
            let payload = text("websocket.payload.text", row).unwrap_or_default();
            (payload, whole.value(row), violations)
        })
        .collect();
    let lengths = batch.column_by_name("websocket.message_length").unwrap();
    let lengths = lengths.as_primitive::<UInt64Type>().values().to_vec();
    (found, lengths, notes)
}

/// The capture began within the request, or a segment of it was lost.
#[test]
fn messages_behind_a_request_that_was_captured_in_part_are_read() {
    let request = b"GET /x HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\n\r\n";
    let response = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
    let mut random = Rng::new(7);
    let mut conversation = Conversation::new(40_000);
    conversation.send(true, &request[20..], &mut random);
    conversation.send(false, response, &mut random);
    conversation.send(true, b"\x81\x82\0\0\0\0hi", &mut random);
    conversation.send(false, b"\x81\x05Hello", &mut random);
    let (found, _, _) = frame_rows_of(conversation);
    assert_eq!(
        found,
        [
            ("hi".to_owned(), true, None),
            ("Hello".to_owned(), true, None)
        ]
    );
}

#[test]
fn tshark_sees_the_same_messages_in_the_captures_beside_the_checkout() {
    let listed = captures::listed("websocket/captures");
    if listed.is_empty() {
        weir_testkit::missing("captures", "messages of WebSockets that others captured");
        return;
    }
    if !tshark::is_installed() {
        weir_testkit::missing("tshark", "nothing judges messages of WebSockets");
        return;
    }
    let mut messages = 0;
    for Capture { path, .. } in listed {
        let fields = ["frame.number", "websocket.opcode", "websocket.fin"];
        let mut command = Question::to("tshark");
        command
            .args(["-n", "-T", "fields", "-E", "occurrence=a", "-r"])
            .file(&path);
        for field in fields {
            command.args(["-e", field]);
        }
        // Zeek's captures are on any port.
        let text = String::from_utf8(command.answer().unwrap().stdout).unwrap();
        let mut theirs = Vec::new();
        for line in text.lines() {
            let words: Vec<&str> = line.split('\t').collect();
            let opcodes = words.get(1).filter(|word| !word.is_empty());
            let flags = words.get(2).copied().unwrap_or_default();
            let Some(opcodes) = opcodes else { continue };
            for (opcode, fin) in opcodes.split(',').zip(flags.split(',')) {
                let opcode: u8 = opcode.parse().unwrap();
                // A continuation frame ends the message whose opcode came before.
                if matches!(fin, "1" | "True") && opcode > 0 {
                    theirs.push((words[0].parse::<u64>().unwrap(), opcode));
                }
            }
        }
        let mut ours = Vec::new();
        for batch in rows(&path) {
            let column = |name: &str| batch.column_by_name(name).unwrap();
            let fragments =
                column("websocket.fragment.count").as_primitive::<arrow::datatypes::UInt32Type>();
            for row in 0..batch.num_rows() {
                let frame = column("frame.number")
                    .as_primitive::<UInt64Type>()
                    .value(row);
                let opcode = column("websocket.opcode")
                    .as_primitive::<UInt8Type>()
                    .value(row);
                messages += 1;
                if fragments.value(row) == 1 {
                    ours.push((frame, opcode));
                }
            }
        }
        assert_eq!(ours, theirs, "{}", path.display());
    }
    assert!(messages >= 25, "{messages} messages");
}

/// A frame with a short payload: masked with a key of zeros by the client, not masked by the server.
fn frame(from_client: bool, first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first, payload.len() as u8 | u8::from(from_client) << 7];
    if from_client {
        frame.extend([0; 4]);
    }
    frame.extend(payload);
    frame
}

/// Returns the rows of frames, one a packet, after a SYN or not, and the notes.
fn without_handshake(with_syn: bool, frames: &[(bool, Vec<u8>)]) -> (RecordBatch, Vec<String>) {
    let mut conversation = Conversation::new(40_000);
    if !with_syn {
        conversation.packets.clear();
    }
    for (from_client, bytes) in frames {
        let slot = usize::from(!from_client);
        let (seq, ack) = (conversation.sent[slot], conversation.sent[1 - slot]);
        let packet = conversation.segment(*from_client, seq, ack, tcp_flags::ACK, bytes);
        conversation.packets.push(packet);
        conversation.sent[slot] += bytes.len() as u32;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("frames.pcap");
    write(conversation.packets.into_iter(), &path);
    read_with_notes("websocket", &[&path], 100_000)
}

/// The texts of packets, each with the number of its frame.
fn texts_of(packets: Vec<Vec<u8>>) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lost.pcap");
    write(packets.into_iter(), &path);
    let (batch, _) = read_with_notes("websocket", &[&path], 100_000);
    let numbers = crate::sip::column(&batch, "frame.number");
    let texts = crate::sip::column(&batch, "websocket.payload.text");
    texts.into_iter().zip(numbers).collect()
}

/// Of a connection with one direction, or without the request or the response, there were no rows, and nothing said so.
#[test]
fn connections_are_read_where_a_part_of_the_handshake_was_not_captured() {
    let mut conversation = Conversation::new(40_000);
    let request: &[u8] =
        b"GET /chat HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
    let agreed: &[u8] =
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
    let sent = [
        (true, request.to_vec()),
        (false, agreed.to_vec()),
        (true, frame(true, 0x81, b"one")),
        (false, frame(false, 0x81, b"two")),
        (true, frame(true, 0x81, b"three")),
        (false, frame(false, 0x81, b"four")),
    ];
    for (from_client, bytes) in &sent {
        let slot = usize::from(!from_client);
        let (seq, ack) = (conversation.sent[slot], conversation.sent[1 - slot]);
        let packet = conversation.segment(*from_client, seq, ack, tcp_flags::ACK, bytes);
        conversation.packets.push(packet);
        conversation.sent[slot] += bytes.len() as u32;
    }
    let packets = conversation.packets;
    let is_of_client = |packet: &Vec<u8>| packet[12..16] == CLIENT.octets();
    let expected = |rows: &[(&str, &str)]| -> Vec<(String, String)> {
        let owned = |(text, number): &(&str, &str)| ((*text).to_owned(), (*number).to_owned());
        rows.iter().map(owned).collect()
    };
    let (client, server): (Vec<_>, Vec<_>) = packets.iter().cloned().partition(is_of_client);
    assert_eq!(texts_of(client), expected(&[("one", "3"), ("three", "4")]));
    assert_eq!(texts_of(server), expected(&[("two", "3"), ("four", "4")]));
    // The request, the response, or both are missing.
    for lost in [2..3, 3..4, 2..4] {
        let first = 5 - lost.len();
        let mut packets = packets.clone();
        packets.drain(lost.clone());
        let mut found = texts_of(packets);
        found.sort_by_key(|(_, number)| number.clone());
        let rows = ["one", "two", "three", "four"].iter().zip(first..);
        let rows: Vec<(String, String)> = rows
            .map(|(text, number)| ((*text).to_owned(), number.to_string()))
            .collect();
        assert_eq!(found, rows, "{lost:?}");
    }
}

#[test]
fn one_segment_that_looked_like_frames_was_a_connection() {
    let text =
        |from_client, payload: &str| (from_client, frame(from_client, 0x81, payload.as_bytes()));
    let talk = [
        text(false, "one"),
        text(true, "two"),
        text(false, "three"),
        text(false, "four"),
    ];
    let (batch, notes) = without_handshake(false, &talk);
    assert_eq!(
        crate::sip::column(&batch, "websocket.payload.text"),
        ["one", "two", "three", "four"]
    );
    // Each row has the packet of its message, though the connection was recognised at the fourth message.
    assert_eq!(
        crate::sip::column(&batch, "frame.number"),
        ["1", "2", "3", "4"]
    );
    let times = crate::sip::column(&batch, "frame.time");
    assert!(times.is_sorted() && times[0] != times[3], "{times:?}");
    assert!(
        crate::sip::column(&batch, "websocket.mid_stream")
            .iter()
            .all(|is| is == "true")
    );
    assert_eq!(notes, Vec::<String>::new());

    let none = |with_syn, frames: &[(bool, Vec<u8>)]| {
        let (batch, notes) = without_handshake(with_syn, frames);
        assert_eq!((batch.num_rows(), notes), (0, Vec::new()), "{frames:x?}");
    };
    // A connection whose SYN was captured must begin with a handshake.
    none(true, &talk);
    // The frames are too few, of one direction only, or have an unmasked frame of the client among them.
    none(false, &talk[..3]);
    none(false, &vec![text(false, "more"); 50]);
    none(false, &vec![text(true, "more"); 50]);
    let broken = [
        text(false, "one"),
        text(true, "two"),
        (true, frame(false, 0x81, b"x")),
    ];
    none(false, &[&broken[..], &talk].concat());
    // The frames are invalid UTF-8, a reserved opcode, and a continuation without a beginning.
    for frame in [
        frame(false, 0x81, b"\xff"),
        frame(false, 0x83, b"x"),
        frame(false, 0x80, b"x"),
    ] {
        none(false, &[&talk[..2], &[(false, frame)], &talk[..]].concat());
    }
}

#[test]
fn a_connection_without_a_handshake_ends_at_its_first_violation() {
    let text =
        |from_client, payload: &str| (from_client, frame(from_client, 0x81, payload.as_bytes()));
    let frames = [
        text(true, "one"),
        text(false, "two"),
        text(true, "three"),
        text(false, "four"),
        text(true, "five"),
        (false, frame(false, 0x83, b"no opcode")),
        text(true, "six"),
    ];
    let (batch, notes) = without_handshake(false, &frames);
    let texts = ["one", "two", "three", "four", "five"];
    assert_eq!(crate::sip::column(&batch, "websocket.payload.text"), texts);
    let [note] = &notes[..] else {
        panic!("{notes:?}")
    };
    assert!(note.contains("without a handshake"), "{note}");
}

/// The handshake of a connection is found behind what precedes it: a proxy's tunnel, SOCKS, a header of the PROXY
/// protocol, and other requests.
#[test]
fn connections_behind_proxies_and_other_requests_are_read() {
    let (client, server) = (true, false);
    let request =
        b"GET /chat HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
            .to_vec();
    let agreed =
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
            .to_vec();
    let sent = |bytes: &[u8], from_client| (from_client, bytes.to_vec());
    let befores: [Vec<(bool, Vec<u8>)>; 6] = [
        vec![
            sent(b"CONNECT h:80 HTTP/1.1\r\nHost: h:80\r\n\r\n", client),
            sent(b"HTTP/1.1 200 Connection established\r\n\r\n", server),
        ],
        vec![
            sent(b"\x05\x01\0", client),
            sent(b"\x05\0", server),
            sent(b"\x05\x01\0\x01\x0a\0\0\x02\0\x50", client),
            sent(b"\x05\0\0\x01\0\0\0\0\0\0", server),
        ],
        vec![sent(b"PROXY TCP4 192.0.2.1 192.0.2.2 1 80\r\n", client)],
        vec![
            sent(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", client),
            sent(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", server),
        ],
        vec![
            sent(&request, client),
            sent(
                b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n",
                server,
            ),
        ],
        vec![],
    ];
    for before in befores {
        let mut frames = before;
        frames.push((client, request.clone()));
        frames.push((server, agreed.clone()));
        frames.push((client, frame(true, 0x81, b"one")));
        frames.push((server, frame(false, 0x81, b"two")));
        let (batch, notes) = without_handshake(true, &frames);
        let texts = crate::sip::column(&batch, "websocket.payload.text");
        assert_eq!(texts, ["one", "two"], "{frames:x?}");
        assert_eq!(notes, Vec::<String>::new());
    }
}
