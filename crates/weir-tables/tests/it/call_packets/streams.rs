//! Several WebSocket connections at once over one connection of HTTP/2 (RFC 8441), and those that began before the capture.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use weir_testkit::Rng;
use weir_testkit::http2::{self, flag, kind};

use super::*;
use crate::sip::ipv4_column;

/// A frame of WebSocket (RFC 6455, 5.2), masked with zeros by the client.
fn frame(from_client: bool, first: u8, payload: &[u8]) -> Vec<u8> {
    let mask = u8::from(from_client) << 7;
    let length = match payload.len() {
        short @ ..126 => vec![short as u8 | mask],
        long => [&[126 | mask][..], &(long as u16).to_be_bytes()].concat(),
    };
    let key = vec![0; 4 * usize::from(from_client)];
    [&[first][..], &length, &key, payload].concat()
}

/// Octets of one direction, each with the message that it belongs to.
type Octets = Vec<(u8, Option<String>)>;

/// The frames of data of a message: that of WebSocket in one frame or several with pings between, in frames of HTTP/2 of any size,
/// with padding and without. The padding behind its last octet is not of the message.
fn data_of(
    stream: u32,
    from_client: bool,
    (call, message): (&str, &[u8]),
    random: &mut Rng,
) -> VecDeque<Octets> {
    let mut octets = Vec::new();
    let at = random.below(message.len() as u64) as usize;
    match random.below(3) {
        0 => octets.extend(frame(from_client, 0x81, message)),
        1 => {
            octets.extend(frame(from_client, 0x01, &message[..at]));
            octets.extend(frame(from_client, 0x80, &message[at..]));
        }
        _ => {
            octets.extend(frame(from_client, 0x01, &message[..at]));
            octets.extend(frame(from_client, 0x89, b"ping"));
            octets.extend(frame(from_client, 0x80, &message[at..]));
        }
    }
    let mut frames = VecDeque::new();
    let mut rest = octets.as_slice();
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(rest.len().min(1 + random.below(400) as usize));
        rest = behind;
        let (data, padding) = match random.below(4) {
            0 => {
                let padded = [&[5][..], piece, &[0; 5]].concat();
                (http2::frame(kind::DATA, flag::PADDED, stream, &padded), 5)
            }
            _ => (http2::frame(kind::DATA, 0, stream, piece), 0),
        };
        let end = match rest.is_empty() {
            true => data.len() - padding,
            false => data.len(),
        };
        let of = |at: usize| (at < end).then(|| call.to_owned());
        let tagged = data.iter().enumerate().map(|(at, octet)| (*octet, of(at)));
        frames.push_back(tagged.collect());
    }
    frames
}

/// What one side sends on all streams, in turn.
fn side(streams: &[u32], from_client: bool, most: u64, random: &mut Rng) -> Octets {
    let mut of_streams: Vec<VecDeque<Octets>> = Vec::new();
    for stream in streams {
        let mut frames = VecDeque::new();
        for number in 0..3 {
            let call = format!("{stream}-{number}-{from_client}");
            let message = sip(&call, random.below(most) as usize);
            frames.extend(data_of(*stream, from_client, (&call, &message), random));
            if random.below(2) == 0 {
                let ping = frame(from_client, 0x89, b"");
                let ping = http2::frame(kind::DATA, 0, *stream, &ping);
                frames.push_back(ping.into_iter().map(|octet| (octet, None)).collect());
            }
        }
        of_streams.push(frames);
    }
    let mut sent = Octets::new();
    while !of_streams.is_empty() {
        let at = random.below(of_streams.len() as u64) as usize;
        match of_streams[at].pop_front() {
            Some(data) => sent.extend(data),
            None => drop(of_streams.remove(at)),
        }
    }
    sent
}

/// Until 2026-11 a message that was whole on one stream took the segments of what was under way on the others with it, and those of
/// all streams were of the next one.
#[test]
fn each_of_several_streams_has_all_segments_of_its_own_messages() {
    for seed in 0..40 {
        let mut random = Rng::new(seed);
        let streams: Vec<u32> = (0..2 + random.below(3) as u32)
            .map(|at| 2 * at + 1)
            .collect();
        let mut packets = Vec::new();
        let mut connection = Connection::open((CLIENT, 40_000), (SERVER, 443), &mut packets);
        let preface = [http2::PREFACE, &http2::settings(&[])].concat();
        connection.send_one(true, &preface, &mut packets);
        connection.send_one(false, &http2::settings(&[(8, 1)]), &mut packets);
        for stream in &streams {
            let request = [
                (":method", "CONNECT"),
                (":protocol", "websocket"),
                (":scheme", "https"),
                (":path", "/"),
                (":authority", "h"),
            ];
            let request = http2::headers(*stream, &request);
            connection.send_one(true, &request, &mut packets);
            let response = http2::headers(*stream, &[(":status", "200")]);
            connection.send_one(false, &response, &mut packets);
        }
        let most = [10, 1_500][random.below(2) as usize];
        let sides = [true, false].map(|client| side(&streams, client, most, &mut random));
        let mut expected: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
        let mut rest = sides.each_ref().map(Vec::as_slice);
        // Segments of a few octets and large ones.
        let longest = [3, 60, 1_400][random.below(3) as usize];
        while rest.iter().any(|rest| !rest.is_empty()) {
            let at = random.below(2) as usize;
            let length = rest[at].len().min(1 + random.below(longest) as usize);
            let (segment, behind) = rest[at].split_at(length);
            rest[at] = behind;
            if segment.is_empty() {
                continue;
            }
            let octets: Vec<u8> = segment.iter().map(|(octet, _)| *octet).collect();
            connection.send_one(at == 0, &octets, &mut packets);
            for call in segment.iter().filter_map(|(_, call)| call.as_deref()) {
                let numbers = expected.entry(call).or_default();
                numbers.insert(packets.len() as u64);
            }
        }
        assert_eq!(expected.len(), streams.len() * 6);
        let expected: Vec<(&str, Vec<u64>)> = expected
            .into_iter()
            .map(|(call, numbers)| (call, numbers.into_iter().collect()))
            .collect();
        let expected: Vec<(&str, &[u64])> = expected
            .iter()
            .map(|(call, numbers)| (*call, numbers.as_slice()))
            .collect();
        println!("seed {seed}");
        has(&packets, &expected);
        the_tables_have_them(&packets, (&streams, expected.len()));
    }
}

/// The other tables of what the streams carry: each message is there once, from its sender, whole.
fn the_tables_have_them(packets: &[Vec<u8>], (streams, messages): (&[u32], usize)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("streams.pcap");
    wire::write(packets, &path);
    let found = crate::sip::read("sip", &[&path], 100);
    let calls = column(&found, "sip.call_id");
    let sources = ipv4_column(&found, "ip.src");
    assert_eq!(calls.iter().collect::<BTreeSet<_>>().len(), messages);
    for (call, source) in calls.iter().zip(&sources) {
        let sender = if call.ends_with("true") {
            CLIENT
        } else {
            SERVER
        };
        assert_eq!(*source, sender.to_string(), "{call}");
    }
    let found = crate::sip::read("websocket", &[&path], 100);
    let [opcodes, whole, of] =
        ["websocket.opcode", "websocket.whole", "http2.streamid"].map(|name| column(&found, name));
    let data = opcodes.iter().filter(|opcode| *opcode == "1").count();
    assert_eq!((calls.len(), data), (messages, messages));
    assert!(whole.iter().all(|is_whole| is_whole == "true"));
    let of: BTreeSet<u32> = of.iter().map(|stream| stream.parse().unwrap()).collect();
    assert!(of.iter().eq(streams));
    let found = crate::sip::read("http", &[&path], 100);
    let codes = column(&found, "http.response.code");
    assert_eq!(codes, vec!["200"; streams.len()]);
}

/// Until 2026-11 the messages before the one by which such a connection is known had its sender, its packet and those of all.
#[test]
fn messages_of_a_connection_from_before_the_capture_are_of_their_own_packets() {
    let messages = [
        ("a", true),
        ("b", false),
        ("c", true),
        ("d", false),
        ("e", true),
    ];
    let mut packets = Vec::new();
    let mut connection = Connection::open((CLIENT, 40_000), (SERVER, 80), &mut packets);
    packets.clear();
    let mut numbers: Vec<Vec<u64>> = Vec::new();
    for (call, client) in messages {
        let before = packets.len() as u64;
        let message = frame(client, 0x81, &sip(call, 100));
        for piece in message.chunks(200) {
            connection.send_one(client, piece, &mut packets);
        }
        numbers.push((before + 1..=packets.len() as u64).collect());
    }
    let expected: Vec<(&str, &[u64])> = messages
        .iter()
        .zip(&numbers)
        .map(|((call, _), numbers)| (*call, numbers.as_slice()))
        .collect();
    has(&packets, &expected);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("middle.pcap");
    wire::write(&packets, &path);
    let found = crate::sip::read("sip", &[&path], 100);
    let [calls, frames] = ["sip.call_id", "frame.number"].map(|name| column(&found, name));
    let sources = ipv4_column(&found, "ip.src");
    let found: Vec<_> = calls.iter().zip(&sources).zip(&frames).collect();
    for (((call, client), last), found) in messages.iter().zip(&numbers).zip(found) {
        let sender = if *client { CLIENT } else { SERVER }.to_string();
        let last = last.last().unwrap().to_string();
        assert_eq!(found, ((&(*call).to_owned(), &sender), &last));
    }
}
