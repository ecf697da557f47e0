//! SIP and Megaco messages over any transport have the same rows as over UDP, at the packets where tshark sees them.

use std::net::Ipv4Addr;
use std::path::Path;

use arrow::array::RecordBatch;
use weir_packet::{Decoder, Frame, Layer, LinkType};
use weir_testkit::Rng;
use weir_testkit::packet::{
    Chunk, Gre, Ipv4, Ipv6, ethernet, gtp_u, protocol, sctp, tcp_flags, udp, vxlan,
};

use crate::captures::Capture;
use crate::sip::{column, read, read_with_notes, shared};
use crate::tshark;
use crate::wire::{Connection, HostPort, write};

const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// A message of a call, and whether the caller's side sent it.
type CallMessage = (bool, Vec<u8>);

/// The first messages of the calls that sipp made.
fn messages(most: usize) -> Option<Vec<CallMessage>> {
    let path = shared("sipp-1000.pcap")?;
    let mut reader = weir_capture::open(&path).unwrap();
    let mut decoder = Decoder::default();
    let mut messages = Vec::new();
    while messages.len() < most {
        let record = reader.next().unwrap().unwrap();
        let packet = decoder.decode(Frame::new(LinkType(record.link_type), record.data));
        let bytes = packet.bytes(Layer::Udp).unwrap();
        messages.push((bytes[..2] == 5071_u16.to_be_bytes(), bytes[8..].to_vec()));
    }
    Some(messages)
}

/// The columns that do not depend on the transport of a message.
const SAME: &[&str] = &[
    "sip.method",
    "sip.status_code",
    "sip.call_id",
    "sip.cseq",
    "sip.from.user",
    "sip.to.tag",
    "sip.via",
    "sip.content_length",
    "sip.msg_body",
    "sip.resend",
    "sip.faults",
];

fn same(batch: &RecordBatch) -> Vec<Vec<String>> {
    SAME.iter().map(|name| column(batch, name)).collect()
}

/// The rows of columns, sorted.
fn sorted(columns: &[Vec<String>]) -> Vec<Vec<&String>> {
    let rows = 0..columns[0].len();
    let mut rows: Vec<Vec<&String>> = rows
        .map(|row| columns.iter().map(|column| &column[row]).collect())
        .collect();
    rows.sort();
    rows
}

fn capture(folder: &tempfile::TempDir, name: &str, packets: &[Vec<u8>]) -> std::path::PathBuf {
    let path = folder.path().join(name);
    write(packets, &path);
    path
}

fn over_udp(sent: &[CallMessage]) -> Vec<Vec<u8>> {
    let datagram = |(from_client, bytes): &CallMessage| {
        let ((from, from_port), (to, to_port)) = ends(*from_client, 5060);
        let datagram = udp(from.into(), to.into(), from_port, to_port, bytes);
        Ipv4::new(from, to, protocol::UDP).packet(&datagram)
    };
    sent.iter().map(datagram).collect()
}

/// Each message in DATA chunks of up to `most` octets, one a packet (RFC 9260, 3.3.1), of the payload
/// protocol `payload`.
fn over_sctp(sent: &[CallMessage], port: u16, payload: u32, most: usize) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    let mut next = [1_u32, 1_u32];
    for (sequence, (from_client, bytes)) in sent.iter().enumerate() {
        let ((from, from_port), (to, to_port)) = ends(*from_client, port);
        let pieces = bytes.len().div_ceil(most);
        for (at, piece) in bytes.chunks(most).enumerate() {
            let tsn = &mut next[usize::from(*from_client)];
            let flags = u8::from(at == 0) << 1 | u8::from(at + 1 == pieces);
            let mut value = tsn.to_be_bytes().to_vec();
            *tsn += 1;
            value.extend([0, 1]);
            value.extend((sequence as u16).to_be_bytes());
            value.extend(payload.to_be_bytes());
            value.extend(piece);
            let packet = sctp(from_port, to_port, 1, &[Chunk::Other(0, flags, value)]);
            packets.push(Ipv4::new(from, to, protocol::SCTP).packet(&packet));
        }
    }
    packets
}

fn ends(from_client: bool, server_port: u16) -> (HostPort, HostPort) {
    let (client, server) = ((CLIENT, 40_000), (SERVER, server_port));
    match from_client {
        true => (client, server),
        false => (server, client),
    }
}

/// Frame numbers and Call-IDs of the messages that tshark sees.
fn theirs(path: &Path, id: &str, preferences: &[&str]) -> Option<Vec<(String, String)>> {
    if !tshark::is_installed() {
        weir_testkit::missing("tshark", "nothing judges where messages end");
        return None;
    }
    let fields = ["frame.number".to_owned(), id.to_owned()];
    let rows = tshark::rows(path, &fields, preferences).unwrap();
    let rows = rows.iter().filter(|row| !row[1].is_empty());
    let rows: Vec<_> = rows
        .map(|row| (row[0].to_owned(), row[1].to_owned()))
        .collect();
    Some(rows)
}

fn ours(batch: &RecordBatch, id: &str) -> Vec<(String, String)> {
    let numbers = column(batch, "frame.number").into_iter();
    numbers.zip(column(batch, id)).collect()
}

#[test]
fn sip_over_tcp_is_cut_into_the_messages_that_were_sent() {
    let Some(sent) = messages(600) else { return };
    let folder = tempfile::tempdir().unwrap();
    let udp = read(
        "sip",
        &[&capture(&folder, "udp.pcap", &over_udp(&sent))],
        1000,
    );
    let udp_calls = read("calls", &[&folder.path().join("udp.pcap")], 1000);
    assert!(udp_calls.num_rows() >= 100);
    for (port, most) in [(5060, 400), (5060, 9), (31_337, 700), (31_337, 3)] {
        let mut random = Rng::new(most);
        let mut packets = Vec::new();
        let mut connection = Connection::open((CLIENT, 40_000), (SERVER, port), &mut packets);
        for (from_client, bytes) in &sent {
            connection.send(*from_client, bytes, most, &mut random, &mut packets);
        }
        let path = capture(&folder, "tcp.pcap", &packets);
        let tcp = read("sip", &[&path], 1000);
        assert_eq!(tcp.num_rows(), sent.len(), "port {port}, up to {most}");
        assert!(same(&tcp) == same(&udp), "port {port}, up to {most}");
        for (name, value) in [
            ("sip.transport", "tcp"),
            ("flow.id", "1"),
            ("udp.srcport", ""),
        ] {
            assert!(column(&tcp, name).iter().all(|one| one == value), "{name}");
        }
        if port == 5060 {
            let theirs = theirs(&path, "sip.Call-ID", &["tcp.desegment_tcp_streams:TRUE"]);
            if let Some(theirs) = theirs {
                assert_eq!(ours(&tcp, "sip.call_id"), theirs, "up to {most}");
            }
        }
        let calls = read("calls", &[&path], 1000);
        for name in [
            "sip.call_id",
            "call.state",
            "call.messages",
            "call.ended_by",
        ] {
            assert_eq!(column(&calls, name), column(&udp_calls, name), "{name}");
        }
        assert!(column(&calls, "flow.id").iter().all(|it| it == "1"));
        // Some segments come late or twice.
        for at in (10..packets.len() - 1).step_by(7) {
            packets.swap(at, at + 1);
            packets.insert(at, packets[at].clone());
        }
        let path = capture(&folder, "shuffled.pcap", &packets);
        let shuffled = read("sip", &[&path], 1000);
        // One direction may overtake the other.
        assert!(
            sorted(&same(&shuffled)) == sorted(&same(&tcp)),
            "up to {most}"
        );
    }
}

/// Returns each message as a probe at 10.9.9.9 forwards it to a collector.
fn over_hep(sent: &[CallMessage], version: u8) -> Vec<Vec<u8>> {
    let (probe, collector) = (Ipv4Addr::new(10, 9, 9, 9), Ipv4Addr::new(10, 9, 9, 1));
    let datagram = |(from_client, bytes): &CallMessage| {
        let ((from, from_port), (to, to_port)) = ends(*from_client, 5060);
        let (from, to) = ((from, from_port).into(), (to, to_port).into());
        let message = weir_messages::hep::write(version, from, to, 17, bytes);
        let datagram = udp(probe.into(), collector.into(), 40_404, 9060, &message);
        Ipv4::new(probe, collector, protocol::UDP).packet(&datagram)
    };
    sent.iter().map(datagram).collect()
}

#[test]
fn messages_that_a_probe_sent_on_by_hep_have_the_addresses_between_which_they_went() {
    let Some(sent) = messages(200) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = capture(&folder, "udp.pcap", &over_udp(&sent));
    let (udp, calls) = (read("sip", &[&path], 1000), read("calls", &[&path], 1000));
    for version in [2, 3] {
        let path = capture(
            &folder,
            &format!("hep-{version}.pcap"),
            &over_hep(&sent, version),
        );
        let (hep, notes) = read_with_notes("sip", &[&path], 1000);
        assert_eq!((hep.num_rows(), notes.len()), (sent.len(), 0), "{notes:?}");
        assert!(same(&hep) == same(&udp), "version {version}");
        for name in [
            "ip.src",
            "ip.dst",
            "udp.srcport",
            "udp.dstport",
            "sip.transport",
        ] {
            assert_eq!(column(&hep, name), column(&udp, name), "{name}");
        }
        let of_hep = read("calls", &[&path], 1000);
        for name in [
            "sip.call_id",
            "call.state",
            "call.messages",
            "call.ended_by",
        ] {
            assert_eq!(column(&of_hep, name), column(&calls, name), "{name}");
        }
    }
}

/// Many senders over TCP split and join HEP messages in any way.
#[test]
fn messages_that_a_probe_sent_on_by_hep_over_tcp_are_read_as_over_udp() {
    let Some(sent) = messages(200) else { return };
    let folder = tempfile::tempdir().unwrap();
    let udp = read(
        "sip",
        &[&capture(&folder, "udp.pcap", &over_udp(&sent))],
        1000,
    );
    let mut random = Rng::new(7);
    for most in [7, 300, 1_400] {
        let mut packets = Vec::new();
        let (probe, collector) = (Ipv4Addr::new(10, 9, 9, 9), Ipv4Addr::new(10, 9, 9, 1));
        let mut connection = Connection::open((probe, 40_404), (collector, 9060), &mut packets);
        for three in sent.chunks(3) {
            let joined: Vec<u8> = three
                .iter()
                .flat_map(|(from_client, bytes)| {
                    let ((from, from_port), (to, to_port)) = ends(*from_client, 5060);
                    let (from, to) = ((from, from_port).into(), (to, to_port).into());
                    weir_messages::hep::write(3, from, to, 17, bytes)
                })
                .collect();
            connection.send(true, &joined, most, &mut random, &mut packets);
        }
        let path = capture(&folder, "hep.pcap", &packets);
        let (hep, notes) = read_with_notes("sip", &[&path], 1000);
        assert_eq!((hep.num_rows(), notes.len()), (sent.len(), 0), "{notes:?}");
        assert!(same(&hep) == same(&udp), "up to {most}");
        for name in [
            "ip.src",
            "ip.dst",
            "udp.srcport",
            "udp.dstport",
            "sip.transport",
        ] {
            assert_eq!(column(&hep, name), column(&udp, name), "{name}");
        }
        // The messages in a missing segment are lost, and others are found again.
        packets.remove(packets.len() / 2);
        let path = capture(&folder, "gap.pcap", &packets);
        let (batch, _) = read_with_notes("sip", &[&path], 1000);
        let lost = sent.len() - batch.num_rows();
        assert!((1..=12).contains(&lost), "{lost} of those up to {most}");
    }
}

#[test]
fn a_message_with_a_missing_segment_is_lost_and_the_next_one_is_found() {
    let Some(sent) = messages(30) else { return };
    let mut random = Rng::new(1);
    let mut packets = Vec::new();
    let mut connection = Connection::open((CLIENT, 40_000), (SERVER, 5060), &mut packets);
    for (from_client, bytes) in &sent {
        connection.send(*from_client, bytes, 300, &mut random, &mut packets);
    }
    let folder = tempfile::tempdir().unwrap();
    let whole = read("sip", &[&capture(&folder, "whole.pcap", &packets)], 1000);
    packets.remove(20);
    let path = capture(&folder, "gap.pcap", &packets);
    let (batch, notes) = read_with_notes("sip", &[&path], 1000);
    assert_eq!(batch.num_rows() + 1, whole.num_rows());
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(
        notes[0].ends_with("bytes of TCP streams are not part of a complete message"),
        "{notes:?}"
    );
    // A message that is reported at the end of the capture has the number of the record that carried it.
    let frames = column(&batch, "frame.number");
    assert!(frames.iter().all(|frame| !frame.is_empty()), "{frames:?}");
}

/// The head of a request with this Content-Length.
fn request(method: &str, length: usize) -> String {
    format!(
        "{method} sip:b@x SIP/2.0\r\nVia: SIP/2.0/TCP x;branch=z9hG4bK{length}\r\nMax-Forwards: 70\r\n\
         From: <sip:a@x>;tag=a\r\nTo: <sip:b@x>\r\nCall-ID: a\r\nCSeq: 1 {method}\r\n\
         Content-Length: {length}\r\n\r\n"
    )
}

/// A body above the limit was called short although all of it followed, and a message right behind it was lost.
#[test]
fn a_message_with_a_long_body_and_the_next_one_have_rows() {
    let body = "x y".repeat(400_000);
    let message = format!(
        "{}{body}{}",
        request("MESSAGE", body.len()),
        request("BYE", 0)
    );
    let mut packets = Vec::new();
    let mut connection = Connection::open((CLIENT, 40_000), (SERVER, 5060), &mut packets);
    for piece in message.as_bytes().chunks(60_000) {
        connection.send_one(true, piece, &mut packets);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = capture(&folder, "long.pcap", &packets);
    let (batch, notes) = read_with_notes("sip", &[&path], 100);
    let note = "sip: 1200000 bytes of TCP streams are not part of a complete message";
    assert_eq!(notes, [note]);
    assert_eq!(column(&batch, "sip.method"), ["MESSAGE", "BYE"]);
    let faults = column(&batch, "sip.faults");
    assert!(faults[0].contains("Content-Length is larger than the limit of bodies"));
    assert_eq!(faults[1], "");
}

/// A message was lost as a whole where a segment of its body was, and only a note counted its octets.
#[test]
fn a_message_with_a_gap_in_its_body_has_a_row() {
    let body = "v=0\r\n".repeat(60);
    let invite = format!("{}{body}", request("INVITE", body.len()));
    let bye = request("BYE", 0);
    let head = request("INVITE", body.len()).len();
    let mut packets = Vec::new();
    let mut connection = Connection::open((CLIENT, 40_000), (SERVER, 5060), &mut packets);
    for piece in [
        &invite[..100],
        &invite[100..head + 50],
        &invite[head + 50..head + 150],
        &invite[head + 150..],
        &bye[..],
    ] {
        connection.send_one(true, piece.as_bytes(), &mut packets);
    }
    packets.remove(5);
    let folder = tempfile::tempdir().unwrap();
    let path = capture(&folder, "gap.pcap", &packets);
    let (batch, notes) = read_with_notes("sip", &[&path], 100);
    let note = "sip: 250 bytes of TCP streams are not part of a complete message";
    assert_eq!(notes, [note]);
    assert_eq!(column(&batch, "sip.method"), ["INVITE", "BYE"]);
    // The number is that of the last packet of what there is.
    assert_eq!(column(&batch, "frame.number"), ["5", "7"]);
    assert_eq!(column(&batch, "sip.msg_body"), [&body[..50], ""]);
    let faults = column(&batch, "sip.faults");
    assert!(faults[0].contains("the body is shorter than Content-Length says"));
    assert_eq!(faults[1], "");
}

/// A Content-Length that is larger than all that follows took the messages behind it, too: there was only a note.
#[test]
fn messages_are_found_within_a_body_that_ends_with_its_connection() {
    // The default limit of a body is 1 MiB.
    let short = "the body is shorter than Content-Length says";
    let long = "Content-Length is larger than the limit of bodies";
    for (length, body, fault) in [(99_999, "v=0\r\n", short), (2_000_000, "", long)] {
        let invite = format!("{}{body}", request("INVITE", length));
        let (ack, bye) = (request("ACK", 0), request("BYE", 0));
        let mut packets = Vec::new();
        let mut connection = Connection::open((CLIENT, 40_000), (SERVER, 5060), &mut packets);
        let pieces = [
            &invite[..40],
            &invite[40..],
            &ack[..],
            &bye[..90],
            &bye[90..],
        ];
        for piece in pieces {
            connection.send_one(true, piece.as_bytes(), &mut packets);
        }
        let folder = tempfile::tempdir().unwrap();
        let open = capture(&folder, "open.pcap", &packets);
        connection.close(true, tcp_flags::FIN, &mut packets);
        let closed = capture(&folder, "closed.pcap", &packets);
        for path in [open, closed] {
            let (batch, notes) = read_with_notes("sip", &[&path], 100);
            assert_eq!(notes, Vec::<String>::new(), "{length}");
            assert_eq!(column(&batch, "sip.method"), ["INVITE", "ACK", "BYE"]);
            assert_eq!(column(&batch, "frame.number"), ["5", "6", "8"]);
            assert_eq!(column(&batch, "sip.msg_body"), [body, "", ""]);
            let faults = column(&batch, "sip.faults");
            assert!(faults[0].contains(fault), "{faults:?}");
            assert_eq!(faults[1..], ["", ""]);
        }
    }
}

#[test]
fn datagrams_in_fragments_are_whole_messages() {
    let Some(sent) = messages(60) else { return };
    let folder = tempfile::tempdir().unwrap();
    let whole = read(
        "sip",
        &[&capture(&folder, "whole.pcap", &over_udp(&sent))],
        1000,
    );
    let mut packets = Vec::new();
    for (index, (from_client, bytes)) in sent.iter().enumerate() {
        let ((from, from_port), (to, to_port)) = ends(*from_client, 5060);
        let datagram = udp(from.into(), to.into(), from_port, to_port, bytes);
        let ip = Ipv4::new(from, to, protocol::UDP).identification(index as u16);
        let mut fragments = ip.fragments(&datagram, 148);
        if index % 3 == 0 {
            fragments.reverse();
        }
        packets.append(&mut fragments);
    }
    let path = capture(&folder, "fragments.pcap", &packets);
    let batch = read("sip", &[&path], 1000);
    assert!(packets.len() > 3 * sent.len());
    assert_eq!(same(&batch), same(&whole));
    if let Some(theirs) = theirs(&path, "sip.Call-ID", &["ip.defragment:TRUE"]) {
        assert_eq!(ours(&batch, "sip.call_id"), theirs);
    }
}

#[test]
fn sip_over_websocket_is_found_behind_its_handshake() {
    let Some(sent) = messages(120) else { return };
    let folder = tempfile::tempdir().unwrap();
    let udp = read(
        "sip",
        &[&capture(&folder, "udp.pcap", &over_udp(&sent))],
        1000,
    );
    let mut random = Rng::new(5);
    let mut packets = Vec::new();
    let mut connection = Connection::open((CLIENT, 40_000), (SERVER, 8080), &mut packets);
    let request = b"GET /ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: sip\r\n\
        Sec-WebSocket-Version: 13\r\n\r\n";
    let response =
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: sip\r\n\r\n";
    connection.send(true, request, 2_000, &mut random, &mut packets);
    connection.send(false, response, 2_000, &mut random, &mut packets);
    for (from_client, bytes) in &sent {
        let masked = if *from_client { 0x80 } else { 0 };
        let mut frame = vec![0x81, masked | 126];
        frame.extend((bytes.len() as u16).to_be_bytes());
        let mut payload = bytes.clone();
        if *from_client {
            let mask = [7, 99, 200, 33];
            frame.extend(mask);
            payload
                .iter_mut()
                .zip(mask.iter().cycle())
                .for_each(|(byte, key)| *byte ^= key);
        }
        frame.extend(payload);
        connection.send(*from_client, &frame, 300, &mut random, &mut packets);
    }
    let path = capture(&folder, "ws.pcap", &packets);
    let batch = read("sip", &[&path], 1000);
    assert_eq!(same(&batch), same(&udp));
    assert!(
        column(&batch, "sip.transport")
            .iter()
            .all(|one| one == "ws")
    );
    let theirs = theirs(&path, "sip.Call-ID", &["tcp.desegment_tcp_streams:TRUE"]);
    if let Some(theirs) = theirs {
        assert_eq!(ours(&batch, "sip.call_id"), theirs);
    }
}

#[test]
fn ppp_in_gre_hid_a_message_that_tshark_sees() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/captures/found/gre.pcapng");
    if !path.exists() {
        weir_testkit::missing("captures", &path.display().to_string());
        return;
    }
    let (batch, _) = read_with_notes("sip", &[&path], 1000);
    assert_eq!(batch.num_rows(), 1);
}

#[test]
fn tunnels_are_looked_into_and_are_the_flow() {
    let Some(sent) = messages(6) else { return };
    let folder = tempfile::tempdir().unwrap();
    let plain = over_udp(&sent);
    let whole = read("sip", &[&capture(&folder, "plain.pcap", &plain)], 1000);
    let ip = |number: u8, payload: &[u8]| {
        Ipv4::new(
            Ipv4Addr::new(192, 0, 2, 1),
            Ipv4Addr::new(192, 0, 2, 2),
            number,
        )
        .packet(payload)
    };
    let in_udp = |port: u16, payload: &[u8]| {
        let (a, b) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2));
        ip(17, &udp(a.into(), b.into(), 9_999, port, payload))
    };
    let gre = Gre {
        checksum: true,
        key: Some(7),
        sequence: Some(1),
    };
    type Wrap<'w> = &'w dyn Fn(&[u8]) -> Vec<u8>;
    let ppp = |packet: &[u8]| [&[0xff, 0x03, 0x00, 0x21], packet].concat();
    let wraps: [(&str, Wrap<'_>); 9] = [
        ("IP in IP", &|packet| ip(4, packet)),
        ("GRE", &|packet| ip(47, &gre.packet(0x0800, packet))),
        ("VXLAN", &|packet| {
            let frame = ethernet([2; 6], [4; 6], 0x0800, packet);
            in_udp(4789, &vxlan(77, &frame))
        }),
        ("GTP-U", &|packet| in_udp(2152, &gtp_u(5, Some(3), packet))),
        ("GRE in IP in IP", &|packet| {
            ip(4, &ip(47, &gre.packet(0x0800, packet)))
        }),
        ("PPP in GRE", &|packet| {
            let payload = ppp(packet);
            let [high, low] = (payload.len() as u16).to_be_bytes();
            let header = [0x30, 0x01, 0x88, 0x0b, high, low, 0, 1, 0, 0, 0, 1];
            ip(47, &[&header[..], &payload].concat())
        }),
        ("GRE in UDP", &|packet| {
            in_udp(4754, &[&[0, 0, 0x08, 0x00], packet].concat())
        }),
        ("Teredo", &|packet| {
            let (a, b) = (
                "2001:0:1::1".parse().unwrap(),
                "2001:0:1::2".parse().unwrap(),
            );
            in_udp(3544, &Ipv6::new(a, b, 4).packet(packet))
        }),
        ("VXLAN from the port of DNS", &|packet| {
            let frame = ethernet([2; 6], [4; 6], 0x0800, packet);
            let (a, b) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2));
            ip(17, &udp(a.into(), b.into(), 53, 4789, &vxlan(77, &frame)))
        }),
    ];
    for (name, wrap) in wraps {
        let packets: Vec<Vec<u8>> = plain.iter().map(|packet| wrap(packet)).collect();
        let batch = read("sip", &[&capture(&folder, "tunnel.pcap", &packets)], 1000);
        assert_eq!(same(&batch), same(&whole), "{name}");
        for column_name in ["ip.src", "ip.dst", "udp.srcport", "flow.id"] {
            let (found, expected) = (
                column_of(&batch, column_name),
                column_of(&whole, column_name),
            );
            assert_eq!(found, expected, "{name}");
        }
    }
}

/// Messages of the standard's examples, alternating between both sides.
fn megaco(kind: &str) -> Option<Vec<CallMessage>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/h248/time_test")
        .join(kind);
    let Ok(entries) = std::fs::read_dir(&folder) else {
        weir_testkit::missing("h248-corpus", &folder.display().to_string());
        return None;
    };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let messages = paths.iter().enumerate();
    Some(
        messages
            .map(|(n, path)| (n % 2 == 0, std::fs::read(path).unwrap()))
            .collect(),
    )
}

fn megaco_udp(sent: &[CallMessage], port: u16) -> Vec<Vec<u8>> {
    let datagram = |(from_client, bytes): &CallMessage| {
        let ((from, from_port), (to, to_port)) = ends(*from_client, port);
        let datagram = udp(from.into(), to.into(), from_port, to_port, bytes);
        Ipv4::new(from, to, protocol::UDP).packet(&datagram)
    };
    sent.iter().map(datagram).collect()
}

const MEGACO_SAME: &[&str] = &[
    "h248.kind",
    "h248.transaction_id",
    "h248.context_id",
    "h248.command",
    "h248.content",
    "h248.reply_content",
    "h248.length",
    "h248.stopped",
];

/// Captures of the standard's examples over UDP, on the ports by which tshark recognises Megaco: no capture beside the
/// checkout has any.
pub(crate) fn megaco_captures(folder: &Path) -> Vec<Capture> {
    let kinds = [("pretty", 2944), ("compact", 2944), ("ber", 2945)];
    let made = kinds.into_iter().filter_map(|(kind, port)| {
        let name = format!("megaco-{kind}.pcap");
        let path = folder.join(&name);
        write(&megaco_udp(&megaco(kind)?, port), &path);
        Some(Capture { name, path })
    });
    made.collect()
}

/// Numbers of the records that complete the messages of a capture.
fn found_messages(path: &Path) -> Vec<String> {
    let mut finder = weir_tables::h248::MessageFinder::new();
    let mut reader = weir_capture::open(path).unwrap();
    let mut decoder = Decoder::default();
    let mut numbers = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        let mut frame = Frame::new(LinkType(record.link_type), record.data);
        frame.number = record.number;
        finder.packet(&decoder.decode(frame), &mut |message| {
            numbers.push(message.frame.to_string());
        });
    }
    finder.finish(&mut |_| panic!("nothing is left"));
    numbers
}

#[test]
fn sip_over_sctp_has_the_rows_of_udp() {
    let Some(sent) = messages(600) else { return };
    let folder = tempfile::tempdir().unwrap();
    let udp = read(
        "sip",
        &[&capture(&folder, "udp.pcap", &over_udp(&sent))],
        1000,
    );
    let udp_calls = read("calls", &[&folder.path().join("udp.pcap")], 1000);
    // RFC 4168 has no payload protocol of its own; on another port messages are recognised by their first bytes.
    for (port, most) in [(5060, 64_000), (5060, 90), (31_337, 300)] {
        let path = capture(&folder, "sctp.pcap", &over_sctp(&sent, port, 0, most));
        let sctp = read("sip", &[&path], 1000);
        assert_eq!(sctp.num_rows(), sent.len(), "port {port}, up to {most}");
        assert!(same(&sctp) == same(&udp), "port {port}, up to {most}");
        let transports = column(&sctp, "sip.transport");
        assert!(transports.iter().all(|one| one == "sctp"));
        let calls = read("calls", &[&path], 1000);
        assert_eq!(calls.num_rows(), udp_calls.num_rows());
        if port == 5060
            && let Some(theirs) = theirs(&path, "sip.Call-ID", &[])
        {
            assert_eq!(ours(&sctp, "sip.call_id"), theirs, "up to {most}");
        }
    }
}

#[test]
fn megaco_over_tcp_and_sctp_has_the_rows_of_udp() {
    for (kind, port) in [
        ("pretty", 2944),
        ("compact", 2944),
        ("ber", 2945),
        ("pretty", 20_000),
    ] {
        let Some(sent) = megaco(kind) else { return };
        assert_eq!(sent.len(), 149);
        let folder = tempfile::tempdir().unwrap();
        let udp = read(
            "h248",
            &[&capture(&folder, "udp.pcap", &megaco_udp(&sent, port))],
            1000,
        );
        assert!(udp.num_rows() > 60, "{}", udp.num_rows());
        let expected: Vec<_> = MEGACO_SAME.iter().map(|name| column(&udp, name)).collect();
        let mut random = Rng::new(9);
        let mut packets = Vec::new();
        let mut connection = Connection::open((CLIENT, 40_000), (SERVER, port), &mut packets);
        for (from_client, bytes) in &sent {
            let mut tpkt = vec![3, 0];
            tpkt.extend((bytes.len() as u16 + 4).to_be_bytes());
            tpkt.extend(bytes);
            connection.send(*from_client, &tpkt, 500, &mut random, &mut packets);
        }
        let path = capture(&folder, "tcp.pcap", &packets);
        let tcp = read("h248", &[&path], 1000);
        let found: Vec<_> = MEGACO_SAME.iter().map(|name| column(&tcp, name)).collect();
        assert!(found == expected, "{kind} over TCP");
        assert!(
            column(&tcp, "h248.transport")
                .iter()
                .all(|one| one == "tcp")
        );
        if kind == "pretty" && port == 2944 {
            let seen = theirs(&path, "tpkt.length", &["tcp.desegment_tcp_streams:TRUE"]);
            if let Some(seen) = seen {
                let seen: Vec<String> = seen.into_iter().map(|(number, _)| number).collect();
                assert_eq!(found_messages(&path), seen);
            }
        }
        let packets = over_sctp(&sent, port, 7, 100);
        let sctp = read("h248", &[&capture(&folder, "sctp.pcap", &packets)], 1000);
        let found: Vec<_> = MEGACO_SAME.iter().map(|name| column(&sctp, name)).collect();
        assert!(found == expected, "{kind} over SCTP");
        assert!(
            column(&sctp, "h248.transport")
                .iter()
                .all(|one| one == "sctp")
        );
    }
}

#[test]
fn damaged_packets_are_survived() {
    let Some(sent) = messages(60) else { return };
    let mut random = Rng::new(77);
    let gre = Gre::default();
    for round in 0..120 {
        let mut packets = over_udp(&sent);
        let mut connection = Connection::open((CLIENT, 40_000), (SERVER, 5060), &mut packets);
        let mut tpkt = Connection::open((CLIENT, 40_001), (SERVER, 2944), &mut packets);
        for (from_client, bytes) in &sent {
            connection.send(*from_client, bytes, 300, &mut random, &mut packets);
            let head = [3, 0, 1, (round % 256) as u8];
            tpkt.send(*from_client, &head, 9, &mut random, &mut packets);
            tpkt.send(*from_client, bytes, 99, &mut random, &mut packets);
        }
        let (mut sip, mut megaco) = (
            weir_tables::SipMessages::new(),
            weir_tables::h248::MessageFinder::new(),
        );
        let mut decoder = Decoder::default();
        let mut found = 0;
        for packet in &mut packets {
            if random.below(4) == 0 {
                *packet = Ipv4::new(CLIENT, SERVER, 47).packet(&gre.packet(0x0800, packet));
            }
            for _ in 0..random.below(3) {
                let at = random.below(packet.len() as u64) as usize;
                packet[at] ^= 1 << random.below(8);
            }
            if random.below(8) == 0 {
                packet.truncate(random.below(packet.len() as u64) as usize);
            }
            let mut frame = Frame::new(LinkType(101), packet);
            frame.time_ns = Some(random.below(1 << 40) as i64);
            let packet = decoder.decode(frame);
            sip.packet(&packet, &mut |_| found += 1);
            megaco.packet(&packet, &mut |_| {});
        }
        sip.finish(&mut |_| found += 1);
        megaco.finish(&mut |_| {});
        assert!(found > 0);
    }
}

#[test]
fn flow_numbers_are_those_of_the_table_of_flows() {
    for name in ["sipp-1000.pcap", "captures/zeek-wireshark.pcap"] {
        let Some(path) = shared(name) else { return };
        let flows = read("flows", &[&path], 1000);
        let ids = column(&flows, "flow.id");
        let ends: Vec<[String; 4]> = (0..flows.num_rows())
            .map(|row| {
                ["addr.src", "port.src", "addr.dst", "port.dst"]
                    .map(|name| column_of(&flows, name)[row].clone())
            })
            .collect();
        for table in ["sip", "calls"] {
            let rows = read(table, &[&path], 1000);
            let columns: Vec<Vec<String>> = ["addr.src", "port.src", "addr.dst", "port.dst"]
                .map(|name| column_of(&rows, name))
                .into();
            for (row, id) in column(&rows, "flow.id").iter().enumerate() {
                let at = ids.iter().position(|known| known == id).unwrap();
                let [a, b, c, d] = [0, 1, 2, 3].map(|it: usize| columns[it][row].clone());
                let there = [a.clone(), b.clone(), c.clone(), d.clone()];
                let back = [c, d, a, b];
                assert!(ends[at] == there || ends[at] == back, "{table}, row {row}");
            }
        }
    }
}

/// A column as text; addresses in hexadecimal digits.
fn column_of(batch: &RecordBatch, name: &str) -> Vec<String> {
    use arrow::array::AsArray;
    let array = batch.column_by_name(name).unwrap();
    match array.as_binary_view_opt() {
        Some(bytes) => bytes.iter().map(|one| format!("{one:?}")).collect(),
        None => column(batch, name),
    }
}

/// Pieces of the streams in tunnels were rows only where another table of the same reading needed all headers.
#[test]
fn streams_in_tunnels_are_streams() {
    let datagram = udp(CLIENT.into(), SERVER.into(), 7, 9, b"octets");
    let inner = Ipv4::new(CLIENT, SERVER, protocol::UDP).packet(&datagram);
    let tunnel = Gre::default().packet(0x0800, &inner);
    let outer = Ipv4::new(SERVER, CLIENT, 47).packet(&tunnel);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tunnel.pcap");
    write(&[outer], &path);
    let pieces = read("stream", &[&path], 10);
    assert_eq!(column(&pieces, "port.dst"), ["9"]);
    assert_eq!(column(&pieces, "flow.id"), ["1"]);
}
