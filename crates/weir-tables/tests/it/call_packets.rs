//! `call_packets` has all packets of a call: fragments, segments and chunks, also those of the packets that carry them.

use std::net::{Ipv4Addr, Ipv6Addr};

use weir_packet::{Decoder, Frame, LinkType};
use weir_tables::SipMessages;
use weir_testkit::packet::{
    Chunk, Gre, Ipv4, Ipv6, Tcp, ethertype, protocol, sctp, tcp_flags, udp, vlan,
};

use crate::sip::{column, read_with_notes};
use crate::wire::{self, Connection};

mod streams;

const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// A request with a description of this many octets, at least.
fn sip(call: &str, octets: usize) -> Vec<u8> {
    let body = format!(
        "v=0\r\nc=IN IP4 {CLIENT}\r\nm=audio 4000 RTP/AVP 0\r\nm=image 4100 udptl t38\r\na=x:{}\r\n",
        "y".repeat(octets)
    );
    format!(
        "INVITE sip:b@x SIP/2.0\r\nVia: SIP/2.0/UDP {CLIENT};branch=z9hG4bK{call}\r\nFrom: <sip:a@x>;tag=1\r\n\
         To: <sip:b@x>\r\nCall-ID: {call}\r\nCSeq: 1 INVITE\r\nContent-Type: application/sdp\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn datagram(payload: &[u8]) -> Vec<u8> {
    udp(CLIENT.into(), SERVER.into(), 5060, 5060, payload)
}

/// A packet that belongs to no call.
fn other() -> Vec<u8> {
    let datagram = udp(CLIENT.into(), SERVER.into(), 9, 9, b"other");
    Ipv4::new(CLIENT, SERVER, protocol::UDP).packet(&datagram)
}

/// The rows of captures of these packets: file, number, Call-ID and protocol of each.
fn rows(captures: &[&[Vec<u8>]]) -> Vec<(usize, u64, String, String)> {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<_> = (0..captures.len())
        .map(|at| folder.path().join(format!("{at}.pcap")))
        .collect();
    for (path, packets) in paths.iter().zip(captures) {
        wire::write(packets, path);
    }
    let paths: Vec<_> = paths.iter().map(|path| &**path).collect();
    // Some of the captures give notes about missing segments.
    let (batch, _) = read_with_notes("call_packets", &paths, 100);
    let [files, numbers, calls, protocols] =
        ["frame.file", "frame.number", "sip.call_id", "call.protocol"]
            .map(|name| column(&batch, name));
    let file = |name: &String| {
        let is_it = |path: &&std::path::Path| path.to_str() == Some(name);
        paths.iter().position(is_it).unwrap()
    };
    let rows = (0..batch.num_rows()).map(|row| {
        let number = numbers[row].parse().unwrap();
        let (call, protocol) = (calls[row].clone(), protocols[row].clone());
        (file(&files[row]), number, call, protocol)
    });
    rows.collect()
}

/// Checks that a capture has these packets of the calls, by their numbers, all of them of SIP.
#[track_caller]
fn has(packets: &[Vec<u8>], expected: &[(&str, &[u64])]) {
    let found = rows(&[packets]);
    for (call, numbers) in expected {
        let of_call = found.iter().filter(|row| row.2 == *call);
        let of_call: Vec<u64> = of_call.map(|row| row.1).collect();
        assert_eq!(of_call, *numbers, "{call}");
    }
    let calls = |row: &(usize, u64, String, String)| {
        row.3 == "SIP" && expected.iter().any(|(call, _)| *call == row.2)
    };
    assert!(found.iter().all(calls), "{found:?}");
}

#[test]
fn all_fragments_of_a_datagram_are_of_its_call() {
    let v4 = Ipv4::new(CLIENT, SERVER, protocol::UDP).identification(7);
    let [from, to] = [1, 2].map(|last| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last));
    let of_v6 = udp(from.into(), to.into(), 5060, 5060, &sip("v6", 700));
    let v6 = Ipv6::new(from, to, protocol::UDP).fragments(&of_v6, 528, 9);
    let v4 = v4.fragments(&datagram(&sip("v4", 700)), 500);
    assert_eq!((v4.len(), v6.len()), (3, 3));
    let [first, second, third] = <[Vec<u8>; 3]>::try_from(v4).unwrap();
    let mut packets = vec![other(), third, other(), first, second, other()];
    packets.extend(v6);
    has(&packets, &[("v4", &[2, 4, 5]), ("v6", &[7, 8, 9])]);
    // The last fragment is missing: the others are a truncated message.
    packets.pop();
    has(&packets, &[("v4", &[2, 4, 5]), ("v6", &[7, 8])]);
}

/// Fragments within VLAN and MPLS are those of IP; those of a tunnel carry all of its contents.
#[test]
fn all_fragments_of_a_tunnel_are_of_the_calls_in_it() {
    let inner = Ipv4::new(CLIENT, SERVER, protocol::UDP).identification(8);
    let inner = inner.fragments(&datagram(&sip("tunnelled", 1_200)), 1_000);
    let mut packets = vec![other()];
    let tcp = Tcp::new(40_000, 5060)
        .flags(tcp_flags::ACK | tcp_flags::PSH)
        .numbers(1, 1);
    let segment = tcp.segment(CLIENT.into(), SERVER.into(), &sip("segment", 700));
    let segment = Ipv4::new(CLIENT, SERVER, protocol::TCP).packet(&segment);
    for (identification, packet) in (20..).zip(inner.iter().chain([&segment])) {
        let outer = Ipv4::new(SERVER, CLIENT, protocol::GRE).identification(identification);
        let carried = Gre::default().packet(ethertype::IPV4, packet);
        packets.extend(outer.fragments(&carried, 700));
        packets.push(other());
    }
    // There are two outer fragments of the first inner one, one of the second, and two of the segment.
    assert_eq!(packets.len(), 1 + 3 + 2 + 3);
    has(&packets, &[("tunnelled", &[2, 3, 5]), ("segment", &[7, 8])]);
}

#[test]
fn fragments_of_two_vlans_are_of_their_own_calls() {
    let fragments = |call: &str| {
        let packet = Ipv4::new(CLIENT, SERVER, protocol::UDP).identification(7);
        packet.fragments(&datagram(&sip(call, 700)), 500)
    };
    let of_frames: Vec<Vec<u8>> = fragments("ten")
        .iter()
        .zip(&fragments("six"))
        .flat_map(|(ten, six)| [(10, ten), (6, six)])
        .map(|(id, packet)| {
            let tagged = vlan(0, id, ethertype::IPV4, packet);
            [&[2; 12], &ethertype::VLAN.to_be_bytes()[..], &tagged].concat()
        })
        .collect();
    let mut messages = SipMessages::new();
    let mut decoder = Decoder::default();
    let mut found = Vec::new();
    for (number, data) in (1..).zip(&of_frames) {
        let mut frame = Frame::new(LinkType::ETHERNET, data);
        frame.number = number;
        messages.packet(&decoder.decode(frame), &mut |message| {
            found.push((message.others.to_vec(), message.way.frame));
        });
    }
    assert_eq!(found, [(vec![1, 3], 5), (vec![2, 4], 6)]);
}

/// Segments are cut by their number of octets, and belong to the messages that end in them.
#[test]
fn all_segments_of_a_message_are_of_its_call() {
    let (one, two) = (sip("one", 100), sip("two", 200));
    let both = [&one[..], b"\r\n\r\n", &two].concat();
    let pieces = [
        0,
        50,
        one.len() - 9,
        one.len() + 20,
        one.len() + 40,
        both.len(),
    ];
    for port in [5060, 6_000] {
        let mut packets = Vec::new();
        let mut connection = Connection::open((CLIENT, 40_000), (SERVER, port), &mut packets);
        for piece in pieces.windows(2) {
            connection.send_one(true, &both[piece[0]..piece[1]], &mut packets);
            packets.push(other());
            // A keep-alive of the other side belongs to no message.
            connection.send_one(false, b"\r\n", &mut packets);
        }
        has(&packets, &[("one", &[4, 7, 10]), ("two", &[10, 13, 16])]);
        // The second segment comes after the third, in which one message ends and the other begins.
        packets.swap(6, 9);
        has(&packets, &[("one", &[4, 7, 10]), ("two", &[7, 13, 16])]);
    }
    // The first of the small segments are too short to recognise a message.
    let mut packets = Vec::new();
    let mut connection = Connection::open((CLIENT, 40_000), (SERVER, 6_000), &mut packets);
    for octet in one.chunks(1) {
        connection.send_one(true, octet, &mut packets);
    }
    let all: Vec<u64> = (4..4 + one.len() as u64).collect();
    has(&packets, &[("one", &all)]);
}

/// A line end in a segment of its own waits for another one, with which it is a keep-alive (RFC 5626, 3.5.1): it was counted
/// as a packet of the call of the next message.
#[test]
fn a_keep_alive_in_front_of_a_message_is_not_of_its_call() {
    let (one, two) = (sip("one", 100), sip("two", 200));
    let (first, second) = one.split_at(60);
    for port in [5060, 6_000] {
        let mut packets = Vec::new();
        let mut connection = Connection::open((CLIENT, 40_000), (SERVER, port), &mut packets);
        for piece in [first, second, &b"\r\n\r"[..], b"\n", &two] {
            connection.send_one(true, piece, &mut packets);
        }
        has(&packets, &[("one", &[4, 5]), ("two", &[8])]);
    }
}

/// Line ends before the first message of a connection may be the beginning of a header of the PROXY protocol, whose octets belong to
/// no message either.
#[test]
fn what_comes_before_the_first_message_is_not_of_its_call() {
    let one = sip("one", 100);
    let (first, second) = one.split_at(60);
    let header = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";
    let cases: [(&[&[u8]], &[u64]); 6] = [
        (&[b"\r\n", &one], &[5]),
        (&[b"\r", b"\n\r\n", first, second], &[6, 7]),
        (&[b"\r\n", &one[..2], &one[2..]], &[5, 6]),
        (&[&header[..9], &header[9..], &one], &[6]),
        (
            &[&header[..9], &[&header[9..], first].concat(), second],
            &[5, 6],
        ),
        (&[b"P", b"ROXY UNKNOWN\r\n", &one], &[6]),
    ];
    for port in [5060, 6_000] {
        for (pieces, expected) in cases {
            let mut packets = Vec::new();
            let mut connection = Connection::open((CLIENT, 40_000), (SERVER, port), &mut packets);
            for piece in pieces {
                connection.send_one(true, piece, &mut packets);
            }
            has(&packets, &[("one", expected)]);
        }
    }
}

#[test]
fn a_message_that_begins_in_one_file_is_of_both() {
    let message = sip("long", 100);
    let mut packets = Vec::new();
    let mut connection = Connection::open((CLIENT, 40_000), (SERVER, 5060), &mut packets);
    for piece in message.chunks(message.len().div_ceil(3)) {
        connection.send_one(true, piece, &mut packets);
    }
    let (first, second) = packets.split_at(4);
    let expected = [(0, 4), (1, 1), (1, 2)]
        .map(|(file, number)| (file, number, "long".to_owned(), "SIP".to_owned()));
    assert_eq!(rows(&[first, second]), expected);
}

#[test]
fn all_that_sctp_hep_and_websocket_carry_a_message_in_is_of_its_call() {
    let message = sip("carried", 300);
    let pieces = || message.chunks(message.len().div_ceil(3));
    let chunks = pieces().enumerate().map(|(at, piece)| {
        let flags = u8::from(at == 0) << 1 | u8::from(at == 2);
        let head = [0, 0, 0, 1 + at as u8, 0, 1, 0, 0, 0, 0, 0, 0];
        let chunk = Chunk::Other(0, flags, [&head[..], piece].concat());
        let packet = sctp(5060, 5060, 1, &[chunk]);
        Ipv4::new(CLIENT, SERVER, protocol::SCTP).packet(&packet)
    });
    has(&chunks.collect::<Vec<_>>(), &[("carried", &[1, 2, 3])]);

    let ends = ((CLIENT, 5060).into(), (SERVER, 5060).into());
    let relayed = weir_messages::hep::write(3, ends.0, ends.1, 17, &message);
    let mut packets = Vec::new();
    let mut connection = Connection::open((CLIENT, 40_000), (SERVER, 9_060), &mut packets);
    for piece in relayed.chunks(relayed.len().div_ceil(3)) {
        connection.send_one(true, piece, &mut packets);
    }
    has(&packets, &[("carried", &[4, 5, 6])]);

    let mut packets = Vec::new();
    let mut connection = Connection::open((CLIENT, 40_000), (SERVER, 80), &mut packets);
    let request = b"GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: sip\r\n\r\n";
    let response =
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: sip\r\n\r\n";
    connection.send_one(true, request, &mut packets);
    connection.send_one(false, response, &mut packets);
    // The message is in two frames, between which there is a ping, and each in two segments; masked with zeros.
    let (first, second) = message.split_at(200);
    let frame = |head: u8, payload: &[u8]| {
        let length = (payload.len() as u16).to_be_bytes();
        [&[head, 0xfe, length[0], length[1], 0, 0, 0, 0], payload].concat()
    };
    for (head, part) in [(0x01, first), (0x80, second)] {
        for half in frame(head, part).chunks(part.len() / 2 + 5) {
            connection.send_one(true, half, &mut packets);
        }
        connection.send_one(true, &[0x89, 0x80, 0, 0, 0, 0], &mut packets);
    }
    has(&packets, &[("carried", &[6, 7, 8, 9, 10])]);
}

#[test]
fn media_and_faxes_are_of_the_call_that_announced_them() {
    let to_caller = |port: u16, payload: &[u8]| {
        let datagram = udp(SERVER.into(), CLIENT.into(), 5_000, port, payload);
        Ipv4::new(SERVER, CLIENT, protocol::UDP)
            .identification(port)
            .fragments(&datagram, 1_000)
    };
    let invite = Ipv4::new(CLIENT, SERVER, protocol::UDP).packet(&datagram(&sip("faxed", 0)));
    let mut packets = vec![invite];
    let rtp = [
        &[0x80, 0, 0, 1, 0, 0, 0, 0xa0, 0, 0, 0, 7][..],
        &[0x55; 1_600],
    ]
    .concat();
    packets.extend(to_caller(4_000, &rtp));
    packets.extend(to_caller(4_001, &[0x80, 0xc9, 0, 1, 0, 0, 0, 7]));
    packets.extend(to_caller(4_100, b"\0\x01\x01\x06\0\0"));
    packets.extend(to_caller(4_200, b"\0\x01\x01\x06\0\0"));
    let found = rows(&[&packets]);
    let found: Vec<(u64, &str, &str)> = found
        .iter()
        .map(|(_, number, call, protocol)| (*number, &**call, &**protocol))
        .collect();
    let expected = [(1, "SIP"), (2, "RTP"), (3, "RTP"), (4, "RTCP"), (5, "T.38")]
        .map(|(number, protocol)| (number, "faxed", protocol));
    assert_eq!(found, expected);
}

/// The last fragments of packets are missing where the capture ends: these packets had no rows.
#[test]
fn media_with_missing_fragments_are_of_the_call() {
    let header = |from, to| Ipv4::new(from, to, protocol::UDP);
    let fragments = |number: u8| {
        let rtp = [
            &[0x80, 0, 0, number, 0, 0, number, 0xa0, 0, 0, 0, 7][..],
            &[0x55; 1_600],
        ]
        .concat();
        let datagram = udp(SERVER.into(), CLIENT.into(), 5_000, 4_000, &rtp);
        let header = header(SERVER, CLIENT).identification(number.into());
        header.fragments(&datagram, 1_000)
    };
    let mut packets = vec![header(CLIENT, SERVER).packet(&datagram(&sip("cut", 0)))];
    packets.extend(fragments(1));
    packets.extend(fragments(2).into_iter().take(1));
    packets.extend(fragments(3));
    packets.extend(fragments(4).into_iter().take(1));
    let mut found: Vec<u64> = rows(&[&packets]).iter().map(|row| row.1).collect();
    found.sort_unstable();
    assert_eq!(found, [1, 2, 3, 4, 5, 6, 7]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.pcap");
    wire::write(&packets, &path);
    // The second packet is lost to its receiver, and the last one was captured in part.
    let all: [(&str, &str, &[&str]); 5] = [
        ("rtp", "rtp.missing", &["", "", "644", "644"]),
        ("rtp", "rtp.payload_len", &["1600"; 4]),
        ("media", "media.packets", &["3"]),
        ("media", "media.missing", &["1"]),
        ("calls", "call.lost", &["1"]),
    ];
    for (table, column_name, values) in all {
        let (batch, _) = read_with_notes(table, &[&path], 10);
        assert_eq!(column(&batch, column_name), values, "{column_name}");
    }
}
