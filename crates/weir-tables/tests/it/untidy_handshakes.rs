//! Handshakes of TLS of which one side was captured before what comes first on the other.

use std::net::Ipv4Addr;

use weir_testkit::Rng;
use weir_testkit::capture::{Endian, PcapVariant, PcapWriter};
use weir_testkit::packet::{
    Chunk, Gre, Ipv4, VXLAN_PORT, ethernet, ethernet_unpadded, ethertype, protocol, sctp,
    tcp_flags, udp, vlan, vxlan,
};

use crate::sip::{column, read_with_notes};
use crate::untidy_connections::{CLIENT, SERVER, rows, segment};
use crate::wire::{Connection, Sent};

/// Segments in the order in which they are sent.
fn segments(sent: &[Sent<'_>]) -> Vec<Vec<u8>> {
    let mut numbers = [1, 1];
    let mut packets = Vec::new();
    for (from_client, bytes) in sent {
        let [client, server] = numbers;
        let (from, to, own, at) = match from_client {
            true => (CLIENT, SERVER, [client, server], 0),
            false => (SERVER, CLIENT, [server, client], 1),
        };
        packets.push(segment(from, to, own, tcp_flags::ACK, bytes));
        numbers[at] += bytes.len() as u32;
    }
    packets
}

/// A record of TLS with a whole message of the handshake.
pub(crate) fn record(kind: u8, body: &[u8]) -> Vec<u8> {
    let message = [&[kind, 0, 0, body.len() as u8][..], body].concat();
    [&[22, 3, 1, 0, message.len() as u8][..], &message].concat()
}

/// The hellos of both sides (RFC 5246, 7.4.1), the client's with the name of a server.
pub(crate) fn hellos() -> [Vec<u8>; 2] {
    let begun = [&[3, 3][..], &[7; 32], &[0]].concat();
    let name = b"\0\x12\0\0\0\x0e\0\x0c\0\0\x09weir.test";
    let client = [&begun[..], b"\0\x02\xc0\x2f\x01\0", name].concat();
    let server = [&begun[..], b"\xc0\x2f\0"].concat();
    [record(1, &client), record(2, &server)]
}

#[track_caller]
fn is_read(packets: &[Vec<u8>], what: &str) {
    let columns = [
        "tls.handshake.extensions_server_name",
        "tls.cipher_number",
        "port.dst",
    ];
    let (found, notes) = rows("tls", packets, &columns);
    assert_eq!(found, [["weir.test", "49199", "8080"]], "{what}");
    assert_eq!(notes, Vec::<String>::new(), "{what}");
}

/// The answer to the request for TLS was taken for what follows the client's hello: the handshake had no row, or one without its server.
#[test]
fn the_answer_to_a_request_for_tls_may_be_captured_behind_the_hello() {
    let [client, server] = hellos();
    let texts: [&[Sent<'_>]; 3] = [
        &[
            (false, b"220 mail\r\n"),
            (true, b"STARTTLS\r\n"),
            (false, b"220 go ahead\r\n"),
        ],
        // PostgreSQL.
        &[(true, b"\0\0\0\x08\x04\xd2\x16\x2f"), (false, b"S")],
        &[
            (true, b"CONNECT h:443 HTTP/1.1\r\n\r\n"),
            (false, b"HTTP/1.1 200 OK\r\n\r\n"),
        ],
    ];
    for text in texts {
        for size in [20, 40, client.len()] {
            let pieces = client.chunks(size).map(|piece| (true, piece));
            let sent: Vec<Sent<'_>> = text
                .iter()
                .copied()
                .chain(pieces)
                .chain([(false, &server[..])])
                .collect();
            for late in text.len()..sent.len() {
                let mut packets = segments(&sent);
                let answer = packets.remove(text.len() - 1);
                packets.insert(late - 1, answer);
                let what = format!("{} by {size}, {late}", text.len());
                is_read(&packets, &what);
            }
        }
    }
}

/// What was captured of the server's hello before the client's one began was dropped.
#[test]
fn the_server_may_begin_in_the_capture() {
    let [client, server] = hellos();
    for at in 1..server.len() {
        let (begun, rest) = server.split_at(at);
        let sent = [(true, &client[..]), (false, begun), (false, rest)];
        let mut packets = segments(&sent);
        packets.swap(0, 1);
        is_read(&packets, &at.to_string());
    }
}

/// A packet of the control channel of OpenVPN, with a code of so many octets (`tls-auth`).
pub(crate) fn control(
    from_client: bool,
    operation: u8,
    code: usize,
    number: u32,
    octets: &[u8],
) -> Vec<u8> {
    let mut bytes = vec![operation << 3];
    bytes.extend([if from_client { 1 } else { 2 }; 8]);
    if code > 0 {
        bytes.extend(vec![0xa5; code]);
        bytes.extend([0, 0, 0, 1, 0x65, 0x53, 0xf1, 0]);
    }
    bytes.push(0);
    bytes.extend(number.to_be_bytes());
    bytes.extend(octets);
    bytes
}

/// The packets of a handshake, with their senders: those of the client in pieces, in another order, and one twice.
fn control_packets(code: usize) -> Vec<(bool, Vec<u8>)> {
    let [client, server] = hellos();
    let pieces: Vec<Vec<u8>> = (1..)
        .zip(client.chunks(30))
        .map(|(number, piece)| control(true, 4, code, number, piece))
        .collect();
    let mut all = vec![
        (true, control(true, 7, code, 0, b"")),
        (false, control(false, 8, code, 0, b"")),
        (true, pieces[1].clone()),
    ];
    all.extend(pieces.into_iter().map(|piece| (true, piece)));
    all.push((false, control(false, 4, code, 1, &server)));
    all
}

/// Datagrams between a client and the port of OpenVPN.
pub(crate) fn datagrams(packets: &[(bool, Vec<u8>)]) -> Vec<Vec<u8>> {
    let ends = [1, 2].map(|last| Ipv4Addr::new(10, 0, 0, last));
    let sent = packets.iter().map(|(from_client, bytes)| {
        let (from, to, ports) = match from_client {
            true => (ends[0], ends[1], (40_000, 1_194)),
            false => (ends[1], ends[0], (1_194, 40_000)),
        };
        let segment = udp(from.into(), to.into(), ports.0, ports.1, bytes);
        Ipv4::new(from, to, protocol::UDP).packet(&segment)
    });
    sent.collect()
}

/// TLS in the control channel of OpenVPN was not read.
#[test]
fn handshakes_of_openvpn_have_their_rows() {
    let columns = [
        "tls.handshake.extensions_server_name",
        "tls.cipher_number",
        "proto",
        "port.dst",
    ];
    for code in [0, 20, 32, 64] {
        let packets = control_packets(code);
        let (found, notes) = rows("tls", &datagrams(&packets), &columns);
        assert_eq!(found, [["weir.test", "49199", "udp", "1194"]], "{code}");
        assert_eq!(notes, Vec::<String>::new());
        let mut segments = Vec::new();
        let ends = [1, 2].map(|last| Ipv4Addr::new(10, 0, 0, last));
        let (client, server) = ((ends[0], 40_000), (ends[1], 1_194));
        let mut connection = Connection::open(client, server, &mut segments);
        for (from_client, packet) in &packets {
            let length = u16::try_from(packet.len()).unwrap().to_be_bytes();
            let framed = [&length[..], packet].concat();
            connection.send_one(*from_client, &framed, &mut segments);
        }
        let (found, notes) = rows("tls", &segments, &columns);
        assert_eq!(found, [["weir.test", "49199", "tcp", "1194"]], "{code}");
        assert_eq!(notes, Vec::<String>::new());
    }
    // What `tls-crypt` encrypts is counted.
    let reset = (true, control(true, 7, 32, 0, b"sealed"));
    let sealed = (true, control(true, 4, 32, 1, &[0xa5; 60]));
    let (found, notes) = rows("tls", &datagrams(&[reset, sealed]), &columns);
    assert_eq!(found, Vec::<Vec<String>>::new());
    let note = "tls: 1 connections of OpenVPN have no row because their control channel is encrypted, or was not captured from its beginning";
    assert_eq!(notes, [note]);
}

/// A packet of a prelogin message of TDS (MS-TDS, 2.2.3.1).
pub(crate) fn prelogin(body: &[u8]) -> Vec<u8> {
    let [high, low] = (8 + body.len() as u16).to_be_bytes();
    [&[0x12, 1, high, low, 0, 0, 0, 0][..], body].concat()
}

/// TLS of Microsoft SQL Server, which begins in packets of TDS, was left out without a word.
#[test]
fn handshakes_in_packets_of_tds_have_their_rows() {
    let [client, server] = hellos();
    let asked = prelogin(b"\0\0\x06\0\x06\xff\x10\0\0\0\0\0");
    let answered = prelogin(b"\0\0\x06\0\x06\xff\x0f\0\0\0\0\0");
    let (packed, (begun, rest)) = (prelogin(&client), server.split_at(40));
    let packed_server = [prelogin(begun), prelogin(rest)].concat();
    let changed = prelogin(b"\x14\x03\x03\0\x01\x01");
    let data = b"\x17\x03\x03\0\x04data";
    let columns = ["tls.handshake.extensions_server_name", "tls.cipher_number"];
    for size in [3, 50, 1_000] {
        let mut packets = Vec::new();
        let ends = [1, 2].map(|last| Ipv4Addr::new(10, 0, 0, last));
        let (from, to) = ((ends[0], 40_000), (ends[1], 1_433));
        let mut connection = Connection::open(from, to, &mut packets);
        let sent: [Sent<'_>; 8] = [
            (true, &asked),
            (false, &answered),
            (true, &packed),
            (false, &packed_server),
            (true, &changed),
            (false, &changed),
            (true, data),
            (false, data),
        ];
        for (from_client, message) in sent {
            for piece in message.chunks(size) {
                connection.send_one(from_client, piece, &mut packets);
            }
        }
        let (found, notes) = rows("tls", &packets, &columns);
        assert_eq!(found, [["weir.test", "49199"]], "{size}");
        assert_eq!(notes, Vec::<String>::new(), "{size}");
    }
}

/// A client that is asked for another hello sends it behind a change of cipher spec (RFC 8446, D.4): where nothing before that was
/// captured, its hello was not found.
#[test]
fn a_second_hello_alone_is_that_of_its_client() {
    let [client, server] = hellos();
    let changed = b"\x14\x03\x03\0\x01\x01";
    let second = [&changed[..], &client].concat();
    let packets = segments(&[(true, &second[..]), (false, &server[..])]);
    is_read(&packets, "behind a change of cipher spec");
}

/// A record of DTLS with a whole message of the handshake (RFC 6347, 4.2.2).
pub(crate) fn record_of_datagram(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = body.len() as u8;
    let message = [&[kind, 0, 0, length, 0, 0, 0, 0, 0, 0, 0, length][..], body].concat();
    let octets = message.len() as u8;
    let header = [22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, octets];
    [&header[..], &message].concat()
}

/// DTLS over SCTP, as Diameter and NGAP have it (RFC 6083), was left out without a word.
#[test]
fn handshakes_over_sctp_have_their_rows() {
    let begun = [&[0xfe, 0xfd][..], &[7; 32], &[0]].concat();
    let client = [&begun[..], b"\0\0\x02\xc0\x2f\x01\0\0\0"].concat();
    let server = [&begun[..], b"\xc0\x2f\0"].concat();
    let ends = [1, 2].map(|last| Ipv4Addr::new(10, 0, 0, last));
    let packet = |from_client: bool, tsn: u32, payload: Vec<u8>| {
        let (from, to, ports, tag) = match from_client {
            true => (ends[0], ends[1], (40_000, 5_868), 1),
            false => (ends[1], ends[0], (5_868, 40_000), 2),
        };
        let chunk = Chunk::Data {
            tsn,
            stream: 0,
            sequence: 0,
            protocol: 47,
            payload,
        };
        let packet = sctp(ports.0, ports.1, tag, &[chunk]);
        Ipv4::new(from, to, protocol::SCTP).packet(&packet)
    };
    let packets = [
        packet(true, 1, record_of_datagram(1, &client)),
        packet(true, 2, b"\x01 is no DTLS".to_vec()),
        packet(false, 1, record_of_datagram(2, &server)),
    ];
    let columns = ["tls.carrier", "tls.cipher_number", "proto", "port.dst"];
    let (found, notes) = rows("tls", &packets, &columns);
    assert_eq!(found, [["dtls", "49199", "sctp", "5868"]]);
    assert_eq!(notes, Vec::<String>::new());
}

/// DTLS between a client of TURN and its peer, through a server (RFC 8656), was left out without a word.
#[test]
fn handshakes_through_a_relay_have_their_rows() {
    let begun = [&[0xfe, 0xfd][..], &[7; 32], &[0]].concat();
    let client = [&begun[..], b"\0\0\x02\xc0\x2f\x01\0\0\0"].concat();
    let server = [&begun[..], b"\xc0\x2f\0"].concat();
    let length = |octets: usize| (octets as u16).to_be_bytes();
    // The data of a channel and of an indication.
    let on_channel = |data: &[u8]| [&[0x40, 1][..], &length(data.len()), data].concat();
    let indicated = |kind: u8, data: &[u8]| {
        let padding = vec![0; data.len().next_multiple_of(4) - data.len()];
        let attribute = [&[0, 0x13][..], &length(data.len()), data, &padding].concat();
        let header = [
            &[0, kind][..],
            &length(attribute.len()),
            b"\x21\x12\xa4\x42transaction.",
        ]
        .concat();
        [header, attribute].concat()
    };
    let (own, relay) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let packet = |is_of_client: bool, bytes: &[u8]| {
        let ((from, from_port), (to, to_port)) = match is_of_client {
            true => ((own, 40_000), (relay, 3_478)),
            false => ((relay, 3_478), (own, 40_000)),
        };
        let datagram = udp(from.into(), to.into(), from_port, to_port, bytes);
        Ipv4::new(from, to, protocol::UDP).packet(&datagram)
    };
    let [client, server] = [
        record_of_datagram(1, &client),
        record_of_datagram(2, &server),
    ];
    let columns = ["tls.carrier", "tls.cipher_number", "port.src", "port.dst"];
    for packets in [
        [
            packet(true, &on_channel(&client)),
            packet(false, &on_channel(&server)),
        ],
        [
            packet(true, &indicated(0x16, &client)),
            packet(false, &indicated(0x17, &server)),
        ],
        // The channel was bound behind the first message, and the client of TLS is the peer.
        [
            packet(false, &indicated(0x17, &client)),
            packet(true, &on_channel(&server)),
        ],
    ] {
        let is_of_client = packets[0][12..16] == own.octets();
        let (found, notes) = rows("tls", &packets, &columns);
        let ports = if is_of_client {
            ["40000", "3478"]
        } else {
            ["3478", "40000"]
        };
        assert_eq!(found, [["dtls", "49199", ports[0], ports[1]]]);
        assert_eq!(notes, Vec::<String>::new());
    }
}

/// Handshakes of DTLS that a server of TURN passes on over TCP were left out without a word.
#[test]
fn handshakes_through_a_relay_over_tcp_have_their_rows() {
    let begun = [&[0xfe, 0xfd][..], &[7; 32], &[0]].concat();
    let client = [&begun[..], b"\0\0\x02\xc0\x2f\x01\0\0\0"].concat();
    let server = [&begun[..], b"\xc0\x2f\0"].concat();
    // Over TCP the data of channels are padded (RFC 8656, 12.5).
    let on_channel = |kind: u8, message: &[u8]| {
        let record = record_of_datagram(kind, message);
        let length = (record.len() as u16).to_be_bytes();
        let padding = vec![0; record.len().next_multiple_of(4) - record.len()];
        [&[0x40, 1][..], &length, &record, &padding].concat()
    };
    let (client, server) = (on_channel(1, &client), on_channel(2, &server));
    let binding = b"\0\x01\0\0\x21\x12\xa4\x42transaction.";
    let [own, relay] = [(1, 40_000), (2, 3_478)].map(|(last, port)| {
        let address = Ipv4Addr::new(10, 0, 0, last);
        (address, port)
    });
    for most in [1, 30, 1_000] {
        let mut packets = Vec::new();
        let mut connection = Connection::open(own, relay, &mut packets);
        connection.send_one(true, binding, &mut packets);
        let mut random = Rng::new(7);
        connection.send(true, &client, most, &mut random, &mut packets);
        connection.send(false, &server, most, &mut random, &mut packets);
        let columns = ["tls.carrier", "tls.cipher_number", "port.src", "port.dst"];
        let (found, notes) = rows("tls", &packets, &columns);
        assert_eq!(found, [["dtls", "49199", "40000", "3478"]], "{most}");
        assert_eq!(notes, Vec::<String>::new(), "{most}");
    }
}

/// An attribute of RADIUS.
fn attribute(kind: u8, value: &[u8]) -> Vec<u8> {
    [&[kind, 2 + value.len() as u8][..], value].concat()
}

/// A packet of RADIUS with this code and number, and a packet of EAP with TLS that has these flags and octets.
pub(crate) fn eap(
    code: u8,
    number: u8,
    state: Option<&[u8]>,
    (flags, octets): (u8, &[u8]),
) -> Vec<u8> {
    let direction = if code == 1 { 2 } else { 1 };
    let [high, low] = (6 + octets.len() as u16).to_be_bytes();
    let message = [&[direction, number, high, low, 13, flags][..], octets].concat();
    let mut attributes = attribute(1, b"bob");
    for part in message.chunks(253) {
        attributes.extend(attribute(79, part));
    }
    attributes.extend(state.map(|state| attribute(24, state)).unwrap_or_default());
    let length = (20 + attributes.len() as u16).to_be_bytes();
    let header = [&[code, number][..], &length, &[7; 16]].concat();
    [header, attributes].concat()
}

/// TLS in EAP, which RADIUS carries, was left out. Two clients are authenticated at one time.
#[test]
fn handshakes_in_eap_have_their_rows() {
    let [client, server] = hellos();
    let total =
        |octets: &[u8], part: &[u8]| [&(octets.len() as u32).to_be_bytes()[..], part].concat();
    let (begun, rest) = client.split_at(50);
    let (begun, answer) = (total(&client, begun), total(&server, &server));
    // The numbers of the packets, and the states, of one of the clients.
    let talk = |at: u8| {
        let states = [[at, 1], [at, 2], [at, 3]];
        let [first, second, third] = states.each_ref().map(|state| Some(&state[..]));
        [
            (true, eap(1, at, None, (0, b""))),
            (false, eap(11, at, first, (0x20, b""))),
            (true, eap(1, at + 1, first, (0xc0, &begun))),
            (true, eap(1, at + 1, first, (0xc0, &begun))),
            (false, eap(11, at + 1, second, (0, b""))),
            (true, eap(1, at + 2, second, (0, rest))),
            (false, eap(11, at + 2, third, (0x80, &answer))),
        ]
    };
    let both = talk(10).into_iter().zip(talk(20));
    let sent: Vec<(bool, Vec<u8>)> = both.flat_map(|(one, other)| [one, other]).collect();
    let ends = [1, 2].map(|last| Ipv4Addr::new(10, 0, 0, last));
    let datagram = |(from_client, bytes): &(bool, Vec<u8>)| {
        let (from, to, ports) = match from_client {
            true => (ends[0], ends[1], (40_000, 1_812)),
            false => (ends[1], ends[0], (1_812, 40_000)),
        };
        let segment = udp(from.into(), to.into(), ports.0, ports.1, bytes);
        Ipv4::new(from, to, protocol::UDP).packet(&segment)
    };
    let packets: Vec<Vec<u8>> = sent.iter().map(datagram).collect();
    let columns = [
        "tls.handshake.extensions_server_name",
        "tls.cipher_number",
        "port.dst",
        "tls.fault",
    ];
    let (found, notes) = rows("tls", &packets, &columns);
    let expected = ["weir.test", "49199", "1812", ""];
    assert_eq!(found, [expected, expected]);
    assert_eq!(notes, Vec::<String>::new());
    // The server's hello is there, and the rest of its message did not come.
    let cut = total(&[0; 1_000], &server);
    let sent = [
        (true, eap(1, 1, None, (0x80, &total(&client, &client)))),
        (false, eap(11, 1, Some(&b"s"[..]), (0xc0, &cut))),
    ];
    let packets: Vec<Vec<u8>> = sent.iter().map(datagram).collect();
    let (found, _) = rows("tls", &packets, &columns);
    let missing = "bytes were not captured";
    assert_eq!(found, [["weir.test", "49199", "1812", missing]]);
}

/// The ethertype of 802.1X, and the address of all ports with it.
const EAPOL: u16 = 0x888e;
const ALL_PORTS: [u8; 6] = [1, 0x80, 0xc2, 0, 0, 3];

/// A packet of EAP with TLS in one of 802.1X (IEEE 802.1X, 11.3), with this code and number, and these flags and octets.
pub(crate) fn eapol(code: u8, number: u8, (flags, octets): (u8, &[u8])) -> Vec<u8> {
    let [high, low] = (6 + octets.len() as u16).to_be_bytes();
    let header = [2, 0, high, low, code, number, high, low, 13, flags];
    [&header[..], octets].concat()
}

/// What an authenticator (false) and a peer (true) send each other in 802.1X up to the hello of the server.
fn talk_on_link() -> Vec<(bool, Vec<u8>)> {
    let [client, server] = hellos();
    let total =
        |octets: &[u8], part: &[u8]| [&(octets.len() as u32).to_be_bytes()[..], part].concat();
    let (begun, rest) = client.split_at(50);
    let (begun, answer) = (total(&client, begun), total(&server, &server));
    vec![
        (false, eapol(1, 1, (0x20, b""))),
        (true, eapol(2, 1, (0xc0, &begun))),
        // The response did not come in time.
        (false, eapol(1, 1, (0x20, b""))),
        (true, eapol(2, 1, (0xc0, &begun))),
        (true, eapol(2, 1, (0xc0, &begun))),
        (false, eapol(1, 2, (0, b""))),
        (true, eapol(2, 2, (0, rest))),
        (false, eapol(1, 3, (0x80, &answer))),
    ]
}

/// The rows of `tls` with a server's name and cipher, and the notes, of frames of Ethernet.
fn handshakes_on_links(frames: &[Vec<u8>]) -> (Vec<[String; 5]>, Vec<String>) {
    handshakes_of(1, frames)
}

/// The same of frames with this type of link.
fn handshakes_of(link: u16, frames: &[Vec<u8>]) -> (Vec<[String; 5]>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.pcap");
    let file = std::fs::File::create(&path).unwrap();
    let mut writer =
        PcapWriter::new(file, link, 65_535, PcapVariant::Nano, Endian::Little).unwrap();
    for (frame, number) in frames.iter().zip(0..) {
        let time_ns = 1_700_000_000_000_000_000 + number * 1_000_000_u64;
        writer.packet(time_ns, frame.len() as u32, frame).unwrap();
    }
    let (batch, notes) = read_with_notes("tls", &[&path], 100);
    let columns = [
        "tls.handshake.extensions_server_name",
        "tls.cipher_number",
        "proto",
        "addr.src",
        "tls.fault",
    ];
    let columns = columns.map(|name| column(&batch, name));
    let row = |row: usize| columns.each_ref().map(|column| column[row].clone());
    ((0..batch.num_rows()).map(row).collect(), notes)
}

/// Such handshakes were left out where a cooked capture of Linux or a tunnel carries them.
#[test]
fn handshakes_in_802_1x_are_read_in_cooked_captures_and_tunnels() {
    type Carry<'c> = &'c dyn Fn((bool, Vec<u8>)) -> Vec<u8>;
    const NUMBER_OF_SLL: u16 = 113;
    const NUMBER_OF_SLL2: u16 = 276;
    let (authenticator, peer) = ([2; 6], [4; 6]);
    let expected = ["weir.test", "49199", "eapol", "", ""].map(str::to_owned);
    let cooked = |is_of_peer: bool| -> ([u8; 6], u8) {
        match is_of_peer {
            true => (peer, 0),
            false => (authenticator, 4),
        }
    };
    let in_sll = |(is_of_peer, bytes): (bool, Vec<u8>)| {
        let (from, kind) = cooked(is_of_peer);
        let first = [0, kind, 0, 1, 0, 6];
        [&first[..], &from, &[0, 0, 0x88, 0x8e], &bytes].concat()
    };
    let in_sll2 = |(is_of_peer, bytes): (bool, Vec<u8>)| {
        let (from, kind) = cooked(is_of_peer);
        let first = [0x88, 0x8e, 0, 0, 0, 0, 0, 3, 0, 1, kind, 6];
        [&first[..], &from, &[0, 0], &bytes].concat()
    };
    let inner = |(is_of_peer, bytes): (bool, Vec<u8>)| match is_of_peer {
        true => ethernet_unpadded(authenticator, peer, EAPOL, &bytes),
        false => ethernet_unpadded(peer, authenticator, EAPOL, &bytes),
    };
    let outer = |ip: Vec<u8>| ethernet([8; 6], [6; 6], ethertype::IPV4, &ip);
    let (from, to) = (CLIENT.0, SERVER.0);
    let in_vxlan = |sent: (bool, Vec<u8>)| {
        let payload = vxlan(7, &inner(sent));
        let datagram = udp(from.into(), to.into(), 50_000, VXLAN_PORT, &payload);
        outer(Ipv4::new(from, to, protocol::UDP).packet(&datagram))
    };
    let in_gre = |sent: (bool, Vec<u8>)| {
        let payload = Gre::default().packet(ethertype::BRIDGED_ETHERNET, &inner(sent));
        outer(Ipv4::new(from, to, protocol::GRE).packet(&payload))
    };
    let all: [(u16, Carry<'_>); 4] = [
        (NUMBER_OF_SLL, &in_sll),
        (NUMBER_OF_SLL2, &in_sll2),
        (1, &in_vxlan),
        (1, &in_gre),
    ];
    for (case, (link, frame)) in all.into_iter().enumerate() {
        let frames: Vec<Vec<u8>> = talk_on_link().into_iter().map(frame).collect();
        let (found, notes) = handshakes_of(link, &frames);
        assert_eq!(found, std::slice::from_ref(&expected), "{case}: {notes:?}");
    }
}

/// TLS in EAP on a link was left out without a word. Two peers are authenticated at one time, one of them behind a tag.
#[test]
fn handshakes_in_802_1x_have_their_rows() {
    let (authenticator, peers) = ([2; 6], [[4; 6], [6; 6]]);
    let mut frames = Vec::new();
    for (is_of_peer, bytes) in talk_on_link() {
        for (peer, is_tagged) in [(peers[0], false), (peers[1], true)] {
            let (from, to) = match is_of_peer {
                true => (peer, authenticator),
                false => (authenticator, peer),
            };
            frames.push(match is_tagged {
                true => ethernet(to, from, ethertype::VLAN, &vlan(0, 5, EAPOL, &bytes)),
                false => ethernet(to, from, EAPOL, &bytes),
            });
        }
    }
    let expected = ["weir.test", "49199", "eapol", "", ""].map(str::to_owned);
    let (found, notes) = handshakes_on_links(&frames);
    assert_eq!(found, [expected.clone(), expected.clone()]);
    assert_eq!(notes, Vec::<String>::new());
    // Both sides of one link send to the address of all ports.
    let sent = talk_on_link().into_iter();
    let mut frames: Vec<Vec<u8>> = sent
        .map(|(is_of_peer, bytes)| {
            let from = if is_of_peer { peers[0] } else { authenticator };
            ethernet(ALL_PORTS, from, EAPOL, &bytes)
        })
        .collect();
    let (found, notes) = handshakes_on_links(&frames);
    assert_eq!(found, [expected]);
    assert_eq!(notes, Vec::<String>::new());
    // The server's hello was cut.
    let last = frames.last_mut().unwrap();
    last.truncate(last.len() - 4);
    let (found, notes) = handshakes_on_links(&frames);
    assert_eq!((found.len(), &*found[0][1]), (1, ""));
    let note =
        "tls: 1 packets of EAP in 802.1X were not read because they were not captured completely";
    assert_eq!(notes, [note]);
}
